#include "daemon/controller/change/change_order.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "config/plan/make_plan.h"
#include "config/values/version.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/history/history_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/plan_steps.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kId[] = "9c41d2e3f4051627";

ClusterPlan PlanTo(const std::string& value) {
  ClusterPlan plan;
  plan.set_schema_version(kPlanSchemaVersion);
  plan.set_cluster("test");
  *plan.add_hosts()->add_steps() =
      RunningStep("net.core.somaxconn", "128", value);
  plan.set_plan_id(kId);
  plan.set_digest(PlanDigest(plan));
  return plan;
}

std::unique_ptr<HistoryStore> HistoryWith(const ClusterPlan& plan,
                                          HistoryLimits limits = {}) {
  auto history = OpenStore(NewStateFolder(), limits);
  const absl::Status kept = history->Add(RecordOfPlan(plan, 0));
  EXPECT_TRUE(kept.ok()) << kept;
  return history;
}

absl::Status Refusal(const HistoryStore& history, const std::string& id,
                     const std::string& digest) {
  const auto plan = ReadKeptPlan(history, id, digest);
  EXPECT_FALSE(plan.ok());
  return plan.status();
}

TEST(HostChangeDeadlineTest, IsGenerousAndNeverUnderTwoMinutes) {
  EXPECT_EQ(HostChangeDeadline(0, 5000), absl::Minutes(2));
  EXPECT_EQ(HostChangeDeadline(30, 5000), absl::Minutes(12));
  EXPECT_EQ(HostChangeDeadline(4096, 0xffffffff), absl::Hours(24));
}

TEST(ReadKeptPlanTest, GivesThePlanThatWasKept) {
  const ClusterPlan plan = PlanTo("65535");
  const auto history = HistoryWith(plan);
  const auto kept = ReadKeptPlan(*history, kId, plan.digest()).value();
  EXPECT_EQ(kept->SerializeAsString(), plan.SerializeAsString());
}

TEST(ReadKeptPlanTest, RefusesAnEditedPlanWhoseDigestIsRight) {
  const ClusterPlan plan = PlanTo("65535");
  const ClusterPlan edited = PlanTo("1");
  ASSERT_TRUE(VerifyPlan(edited).ok());
  const auto history = HistoryWith(plan);
  const absl::Status refused = Refusal(*history, kId, edited.digest());
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  // The right digest would only help an attacker who edits plans.
  EXPECT_THAT(refused, AllOf(HasText(kId), HasText(edited.digest()),
                             HasText("edited, plan again"),
                             Not(HasText(plan.digest()))));
  EXPECT_TRUE(absl::IsInvalidArgument(Refusal(*history, kId, "")));
}

TEST(ReadKeptPlanTest, RefusesAPlanThatIsNotKept) {
  const ClusterPlan plan = PlanTo("65535");
  const auto history = HistoryWith(plan);
  for (const char* const id : {"0123456789abcdef", "9c41", "9c41d2e3f405162"}) {
    const absl::Status refused = Refusal(*history, id, plan.digest());
    EXPECT_EQ(refused.code(), absl::StatusCode::kAborted) << id;
    EXPECT_THAT(refused.message(), Tells("msg-change-plan-not-kept"));
  }
}

TEST(ReadKeptPlanTest, RefusesAPlanThatHasMadeRoom) {
  const ClusterPlan plan = PlanTo("65535");
  const auto history = HistoryWith(plan, HistoryLimits{1, 512 << 20});
  ASSERT_TRUE(history->Add(TestCheck(TestId(1))).ok());
  EXPECT_TRUE(absl::IsAborted(Refusal(*history, kId, plan.digest())));
}

TEST(ReadKeptPlanTest, RefusesWhatIsNoPlanAndNoId) {
  const ClusterPlan plan = PlanTo("65535");
  const auto history = HistoryWith(plan);
  ASSERT_TRUE(history->Add(TestCheck(TestId(1))).ok());
  for (const std::string& id :
       {TestId(1), std::string(), std::string("no"), std::string("a\nb c d")}) {
    const absl::Status refused = Refusal(*history, id, "");
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << id;
    EXPECT_THAT(std::string(refused.message()), Not(HasSubstr("\n")));
  }
}

TEST(ReadKeptPlanTest, SaysThatTheHistoryIsClosed) {
  const auto closed =
      HistoryStore::Closed(absl::DataLossError("history.db: damaged"));
  const absl::Status refused = Refusal(*closed, kId, "");
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("history.db: damaged"));
}

ClusterPlan PlanOf(const PlanStep& step) {
  ClusterPlan plan;
  *plan.add_hosts()->add_steps() = step;
  return plan;
}

absl::StatusOr<Confirmation> Confirming(const ClusterPlan& plan,
                                        absl::Duration wished, bool automatic,
                                        bool stays, size_t waves) {
  ApplyPlanRequest options;
  options.set_confirm_within_ms(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(wished)));
  options.set_auto_confirm(automatic);
  options.set_no_confirm(stays);
  return ConfirmationOf(plan, options, waves);
}

TEST(ConfirmationOfTest, IsTheDefaultOfWhatCanCutAHostOff) {
  const ClusterPlan firewall = PlanOf(StopStep(UFW));
  const auto by_default =
      Confirming(firewall, absl::ZeroDuration(), false, false, 1).value();
  EXPECT_EQ(by_default.within_ms(), 300000u);
  EXPECT_EQ(by_default.state(), Confirmation::PENDING);
  EXPECT_EQ(
      Confirming(firewall, absl::ZeroDuration(), false, true, 1)->within_ms(),
      0u);
  const ClusterPlan kernel =
      PlanOf(RunningStep("net.core.somaxconn", "128", "65535"));
  EXPECT_EQ(
      Confirming(kernel, absl::ZeroDuration(), true, false, 1)->within_ms(),
      0u);
  const auto wished =
      Confirming(kernel, absl::Minutes(2), true, false, 1).value();
  EXPECT_EQ(wished.within_ms(), 120000u);
  EXPECT_TRUE(wished.automatic());
}

TEST(ConfirmationOfTest, IsByDefaultLongEnoughForItsWaves) {
  const ClusterPlan firewall = PlanOf(StopStep(UFW));
  const auto within = [&firewall](size_t waves) {
    return absl::Milliseconds(
        Confirming(firewall, absl::ZeroDuration(), false, false, waves)
            ->within_ms());
  };
  EXPECT_EQ(within(10), kDefaultConfirmWithin);
  EXPECT_EQ(within(41), 41 * kDefaultConfirmPerWave);
  EXPECT_EQ(within(10000), kLongestConfirmWithin);
  EXPECT_EQ(
      Confirming(firewall, absl::Minutes(2), false, false, 41)->within_ms(),
      120000u);
}

TEST(ConfirmationOfTest, IsNoLessThanAMinuteAndNoMoreThanADay) {
  const ClusterPlan plan = PlanOf(StopStep(UFW));
  for (const absl::Duration wrong :
       {absl::Seconds(59), absl::Hours(24) + absl::Milliseconds(1)}) {
    EXPECT_THAT(Confirming(plan, wrong, false, false, 1),
                Fails(absl::StatusCode::kInvalidArgument,
                      HasText("expected 1m to 24h")));
  }
  EXPECT_TRUE(Confirming(plan, absl::Hours(24), false, false, 1).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(
      Confirming(plan, absl::Minutes(5), false, true, 1).status()));
}

}  // namespace
}  // namespace clusterd
