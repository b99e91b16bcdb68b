#include "daemon/controller/admission/admission.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

AdmissionLimits Limits() {
  AdmissionLimits limits;
  limits.handshakes = 4;
  limits.handshakes_of_address = 3;
  limits.connections = 100;
  limits.waiting = 10;
  limits.rate = 1000;
  return limits;
}

absl::Time At(double seconds) {
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

TEST(AdmissionTest, AdmitsAtOnceWhereNobodyElseIs) {
  Admission admission(Limits());
  EXPECT_EQ(admission.Arrive(7, "a"), std::nullopt);
  EXPECT_THAT(admission.Decide(At(0)).admitted, ElementsAre(7));
  EXPECT_EQ(admission.waiting(), 0u);
  EXPECT_EQ(admission.Next(), absl::InfiniteFuture());
}

TEST(AdmissionTest, AddressesTakeTurnsAndEachServesItsOldest) {
  Admission admission(Limits());
  for (const Admission::Id id : {1, 2, 3, 4}) admission.Arrive(id, "flood");
  admission.Arrive(5, "host");
  EXPECT_THAT(admission.Decide(At(0)).admitted, ElementsAre(1, 5, 2, 3));
}

TEST(AdmissionTest, OneAddressHasNoMoreHandshakesThanItMay) {
  Admission admission(Limits());
  for (const Admission::Id id : {1, 2, 3, 4}) admission.Arrive(id, "a");
  EXPECT_THAT(admission.Decide(At(0)).admitted, ElementsAre(1, 2, 3));
  EXPECT_THAT(admission.Decide(At(1)).admitted, IsEmpty());
  EXPECT_TRUE(admission.Begin(2, At(1)));
  EXPECT_THAT(admission.Decide(At(1)).admitted, ElementsAre(4));
}

TEST(AdmissionTest, WhoHasLeftMakesRoomInWhateverState) {
  Admission admission(Limits());
  for (const Admission::Id id : {1, 2, 3, 4, 5}) admission.Arrive(id, "a");
  admission.Decide(At(0));
  admission.Leave(1);  // Shook hands.
  admission.Leave(4);  // Waited.
  admission.Leave(4);
  EXPECT_THAT(admission.Decide(At(0)).admitted, ElementsAre(5));
  EXPECT_EQ(admission.handshakes(), 3u);
}

TEST(AdmissionTest, HoldsTheRateAndTellsWhenTheNextIsDue) {
  AdmissionLimits limits = Limits();
  limits.rate = 10;  // One at once, then one in 0.1 s.
  Admission admission(limits);
  admission.Arrive(1, "a");
  admission.Arrive(2, "b");
  EXPECT_THAT(admission.Decide(At(0)).admitted, ElementsAre(1));
  EXPECT_EQ(admission.Next(), At(0.1));
  EXPECT_THAT(admission.Decide(At(0.05)).admitted, IsEmpty());
  EXPECT_THAT(admission.Decide(At(0.1001)).admitted, ElementsAre(2));
}

TEST(AdmissionTest, RateFollowsHowLongHandshakesTake) {
  Admission admission(Limits());
  Admission::Id id = 0;
  const auto shake = [&](absl::Time begin, absl::Duration took) {
    admission.Arrive(++id, "a");
    EXPECT_THAT(admission.Decide(begin).admitted, ElementsAre(id));
    EXPECT_TRUE(admission.Begin(id, begin + took));
  };
  shake(At(0), absl::Milliseconds(10));
  EXPECT_DOUBLE_EQ(admission.rate(), 1001);
  shake(At(10), absl::Seconds(2));
  EXPECT_NEAR(admission.rate(), 700.7, 0.1);
  // Handshakes of one crowd slow the rate once, not each.
  shake(At(10.5), absl::Seconds(2));
  EXPECT_NEAR(admission.rate(), 700.7, 0.1);
  for (int i = 2; i < 40; ++i) shake(At(10 * i), absl::Seconds(2));
  EXPECT_DOUBLE_EQ(admission.rate(), Limits().least_rate);
}

TEST(AdmissionTest, SlowHandshakesEndOnlyWhereOthersWait) {
  Admission admission(Limits());
  for (const Admission::Id id : {1, 2, 3}) admission.Arrive(id, "a");
  admission.Decide(At(0));
  EXPECT_THAT(admission.Decide(At(60)).gone, IsEmpty());
  admission.Arrive(4, "a");
  EXPECT_EQ(admission.Next(), At(10));
  const Admission::Decision decision = admission.Decide(At(60));
  EXPECT_THAT(decision.gone, ElementsAre(1, 2, 3));
  EXPECT_THAT(decision.admitted, ElementsAre(4));
}

TEST(AdmissionTest, TooManyWhoWaitCostTheNewestOfWhoHasMost) {
  Admission admission(Limits());
  admission.Arrive(1, "quiet");
  for (Admission::Id id = 2; id <= 10; ++id) {
    EXPECT_EQ(admission.Arrive(id, "flood"), std::nullopt);
  }
  EXPECT_EQ(admission.Arrive(11, "flood"), 11u);
  EXPECT_EQ(admission.Arrive(12, "quiet"), 10u);
  EXPECT_EQ(admission.waiting(), 10u);
}

TEST(AdmissionTest, WhereItIsFullThoseLongestWithoutACallGo) {
  AdmissionLimits limits = Limits();
  limits.connections = 3;
  Admission admission(limits);
  for (const Admission::Id id : {1, 2, 3}) admission.Arrive(id, "a");
  admission.Decide(At(0));
  for (const Admission::Id id : {1, 2, 3}) admission.Begin(id, At(0));
  admission.Idle(3, At(1));
  admission.Idle(1, At(2));
  admission.Arrive(4, "b");
  const Admission::Decision decision = admission.Decide(At(3));
  EXPECT_THAT(decision.gone, ElementsAre(3));
  EXPECT_THAT(decision.admitted, ElementsAre(4));
  // A connection that has a call again stays.
  EXPECT_FALSE(admission.Begin(1, At(4)));
  admission.Begin(4, At(4));
  admission.Arrive(5, "b");
  EXPECT_THAT(admission.Decide(At(5)).gone, ElementsAre(5));
  EXPECT_EQ(admission.waiting(), 0u);
}

TEST(AdmissionTest, WhereItIsFullOfHandshakesTheyAreWaitedFor) {
  AdmissionLimits limits = Limits();
  limits.connections = 1;
  Admission admission(limits);
  admission.Arrive(1, "a");
  admission.Arrive(2, "a");
  EXPECT_THAT(admission.Decide(At(0)).admitted, ElementsAre(1));
  EXPECT_THAT(admission.Decide(At(1)).gone, IsEmpty());
  EXPECT_THAT(admission.Decide(At(10)).admitted, ElementsAre(2));
}

TEST(AdmissionTest, TenThousandOfOneAddressAllComeIn) {
  AdmissionLimits limits;
  Admission admission(limits);
  for (Admission::Id id = 1; id <= 10000; ++id) {
    ASSERT_EQ(admission.Arrive(id, "rack"), std::nullopt);
  }
  absl::Time now = At(0);
  size_t in = 0;
  while (in < 10000 && now < At(60)) {
    const std::vector<Admission::Id> admitted = admission.Decide(now).admitted;
    EXPECT_LE(admission.handshakes(), limits.handshakes_of_address);
    in += admitted.size();
    now += absl::Milliseconds(20);
    for (const Admission::Id id : admitted) admission.Begin(id, now);
  }
  EXPECT_EQ(in, 10000u);
  EXPECT_LT(now, At(20));
}

}  // namespace
}  // namespace clusterd
