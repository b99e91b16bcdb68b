#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/host/hccn_query/query_facts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

std::string RisesAt(CounterMemory* memory, int minute, uint64_t retries) {
  const CounterRisesFact::Rises rises =
      memory->Compare(3, absl::Minutes(minute),
                      {{"roce_new_pkt_rty_num", retries},
                       {"mac_rx_bad_pkt_num", 7},
                       {"roce_rx_all_pkt_num", 1000 * retries}});
  if (!rises.has_seconds()) return rises.not_compared();
  std::string text = absl::StrCat(rises.seconds(), "s");
  for (const CounterRise& each : rises.rises()) {
    absl::StrAppend(&text, " ", each.name(), "+", each.rise());
  }
  return text;
}

TEST(CounterMemoryTest, FirstReadComparesNothingAndTheNextTellsRiseAndSpan) {
  CounterMemory memory;
  EXPECT_THAT(RisesAt(&memory, 0, 100), HasSubstr("for the first time"));
  EXPECT_EQ(RisesAt(&memory, 1, 100), "60s");
  EXPECT_EQ(RisesAt(&memory, 5, 112), "300s roce_new_pkt_rty_num+12");
  // Each device has its own memory.
  EXPECT_FALSE(memory.Compare(4, absl::Minutes(6), {}).has_seconds());
}

TEST(CounterMemoryTest, SteadyRiseDoesNotVanishBetweenChecksInQuickFollow) {
  CounterMemory memory;
  RisesAt(&memory, 0, 0);
  EXPECT_EQ(RisesAt(&memory, 6, 6), "360s roce_new_pkt_rty_num+6");
  EXPECT_EQ(RisesAt(&memory, 7, 6), "420s roce_new_pkt_rty_num+6");
  EXPECT_EQ(RisesAt(&memory, 11, 7), "300s roce_new_pkt_rty_num+1");
  // A rise is reported for a limited time.
  EXPECT_EQ(RisesAt(&memory, 1000, 7), "59340s");
}

TEST(CounterMemoryTest, CounterThatFellBeginsAnew) {
  CounterMemory memory;
  RisesAt(&memory, 0, 10);
  RisesAt(&memory, 6, 100);
  EXPECT_EQ(RisesAt(&memory, 7, 50),
            "roce_new_pkt_rty_num fell, so it was reset");
  EXPECT_EQ(RisesAt(&memory, 8, 51), "60s roce_new_pkt_rty_num+1");
}

class AskCountersTest : public ::testing::Test {
 protected:
  CounterRisesFact Ask(
      NpuToolFacts::Generation generation = NpuToolFacts::CLASSIC) {
    HccnSession session("/usr/bin/hccn_tool", generation, 3, &runner_, &clock_,
                        &budget_, &locks_);
    return AskCounters(3, &session, &clock_, &memory_);
  }

  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
  TimeBudget budget_{&clock_, absl::Seconds(10), absl::Minutes(30)};
  DeviceLocks locks_;
  CounterMemory memory_;
};

TEST_F(AskCountersTest, TellsWhatRoseSinceTheLastAnswer) {
  constexpr char kStat[] = "hccn_tool -i 3 -stat -g";
  runner_.Answers(kStat, "packet statistics:\nroce_rx_err_pkt_num:1\n");
  EXPECT_FALSE(Ask().value().has_seconds());
  clock_.Advance(absl::Minutes(5));
  runner_.NowAnswers(kStat, "packet statistics:\nroce_rx_err_pkt_num:13\n");
  const CounterRisesFact fact = Ask();
  ASSERT_EQ(fact.value().rises_size(), 1) << fact.ShortDebugString();
  EXPECT_EQ(fact.value().rises(0).rise(), 12u);
  EXPECT_EQ(fact.value().seconds(), 300u);
}

TEST_F(AskCountersTest, ToolWithoutTheQueryIsNotSupported) {
  runner_.Fails("hccn_tool -i 3 -stat -g", 3,
                "Get invalid major cmd.\nEnter [ hccn_tool -h ] for more "
                "details.\n");
  EXPECT_EQ(Ask().missing().reason(), Missing::NOT_SUPPORTED);
  EXPECT_EQ(Ask(NpuToolFacts::ASCEND_950).missing().reason(),
            Missing::NOT_SUPPORTED);
}

}  // namespace
}  // namespace clusterd
