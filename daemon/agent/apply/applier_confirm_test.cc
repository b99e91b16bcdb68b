// An apply that rolls back automatically unless it is confirmed.
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "config/plan/kernel_parameters.h"
#include "config/words/message.h"
#include "daemon/agent/apply/applier.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kWithin = absl::Minutes(5);

class ApplierConfirmTest : public ::testing::Test {
 protected:
  ApplierConfirmTest() { Restart(); }

  void Restart() {
    applier_ = std::make_unique<Applier>(ScenarioOptions(), scenario_->Access(),
                                         AllowsAll, [this] { return users_; });
  }
  FakeMachine& machine() { return scenario_->machine; }
  FakeClock& clock() { return scenario_->clock; }

  absl::StatusOr<ApplyResult> Apply(const std::string& id = "a1",
                                    absl::Duration within = kWithin) {
    ApplyRequest request = RequestFor(scenario_->Plan(), id);
    request.actor = "ada";
    request.confirm_within = within;
    return applier_->Apply(request);
  }
  absl::StatusOr<ApplyResult> Confirm(
      absl::Duration extend_by = absl::ZeroDuration()) {
    KeepRequest request;
    request.apply_id = "a1";
    request.actor = "bob";
    request.extend_by = extend_by;
    return applier_->Confirm(request);
  }
  void MustApply() {
    const ApplyResult applied = Got(Apply());
    ASSERT_EQ(applied.outcome(), ApplyResult::APPLIED) << applied.error();
    EXPECT_EQ(applied.reverts_in_ms(), 300000u);
    applied_ = scenario_->State();
    ASSERT_NE(applied_, before_);
  }
  // True if the host rolls back now.
  bool Reverts() {
    const auto recovered = applier_->Recover();
    EXPECT_TRUE(recovered.ok()) << recovered.status();
    if (!recovered.ok() || recovered->empty()) {
      EXPECT_EQ(scenario_->State(), applied_);
      return false;
    }
    EXPECT_EQ((*recovered)[0].outcome(), ApplyResult::ROLLED_BACK)
        << (*recovered)[0].ShortDebugString();
    EXPECT_TRUE((*recovered)[0].not_confirmed());
    EXPECT_THAT((*recovered)[0].error(),
                HasSubstr(Say("msg-step-not-confirmed")));
    EXPECT_EQ(scenario_->State(), before_);
    return true;
  }

  const std::unique_ptr<Scenario> scenario_ = OpenUfwScenario();
  const std::map<std::string, std::string> before_ = scenario_->State();
  std::map<std::string, std::string> applied_;
  std::vector<DeviceUser> users_;
  std::unique_ptr<Applier> applier_;
};

std::string NotWaiting(const char* why) {
  return Say("msg-step-does-not-wait", "a1", Worded(why));
}

TEST_F(ApplierConfirmTest, RevertsAtItsDeadlineAndNotBefore) {
  MustApply();
  clock().Advance(kWithin - absl::Seconds(1));
  EXPECT_FALSE(Reverts());
  clock().Advance(absl::Seconds(1));
  EXPECT_TRUE(Reverts());
  EXPECT_TRUE(applier_->Recover()->empty());
  EXPECT_EQ(Confirm().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ApplierConfirmTest, RevertsAlsoInAProcessThatStartsLater) {
  MustApply();
  Restart();
  EXPECT_FALSE(Reverts());
  clock().Advance(kWithin);
  Restart();
  EXPECT_TRUE(Reverts());
}

TEST_F(ApplierConfirmTest, StaysOnceItIsConfirmed) {
  MustApply();
  for (int i = 0; i < 2; ++i) {
    const ApplyResult confirmed = Got(Confirm());
    EXPECT_EQ(confirmed.outcome(), ApplyResult::APPLIED);
    EXPECT_EQ(confirmed.reverts_in_ms(), 0u);
  }
  machine().PowerCycle();
  Restart();
  clock().Advance(absl::Hours(1000));
  EXPECT_FALSE(Reverts());
  EXPECT_THAT(std::string(Confirm(kWithin).status().message()),
              HasSubstr(NotWaiting("plan-say-was-confirmed")));
}

TEST_F(ApplierConfirmTest, ConfirmsNothingThatDoesNotWait) {
  EXPECT_EQ(Confirm().status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(Apply("a1", absl::ZeroDuration()).ok());
  EXPECT_THAT(Confirm().status(), HasText(NotWaiting("plan-say-stays")));
  ASSERT_TRUE(applier_->Rollback(RollbackOf("a1")).ok());
  EXPECT_THAT(Confirm().status(), HasText(NotWaiting("plan-say-was-undone")));
}

TEST_F(ApplierConfirmTest, ConfirmsNothingWhoseDeadlineHasPassed) {
  MustApply();
  clock().Advance(kWithin);
  EXPECT_THAT(std::string(Confirm().status().message()),
              HasSubstr(NotWaiting("plan-say-deadline-passed")));
  EXPECT_TRUE(Reverts());
}

TEST_F(ApplierConfirmTest, IsNotConfirmedWhereTheDiskIsFull) {
  MustApply();
  machine().files().SetFreeBytes(10);
  EXPECT_THAT(Confirm().status(), HasText(Say("msg-step-not-in-journal", "")));
  machine().files().SetFreeBytes(std::nullopt);
  Restart();
  clock().Advance(kWithin);
  EXPECT_TRUE(Reverts());
}

TEST_F(ApplierConfirmTest, RevertsAlsoIfTheJournalCannotGrow) {
  MustApply();
  clock().Advance(kWithin);
  machine().files().FailChanges(
      absl::StrCat(kScenarioStateFolder, "/a1.journal"),
      absl::ResourceExhaustedError("No space left on device"));
  EXPECT_TRUE(Reverts());
  // An apply that was rolled back cannot be confirmed afterwards.
  machine().files().FailChanges(
      absl::StrCat(kScenarioStateFolder, "/a1.journal"), absl::OkStatus());
  EXPECT_FALSE(Confirm().ok());
  EXPECT_TRUE(Reverts());
  EXPECT_TRUE(applier_->Recover()->empty());
}

TEST_F(ApplierConfirmTest, CanBeExtendedUpToADayInAll) {
  MustApply();
  clock().Advance(absl::Minutes(4));
  EXPECT_EQ(Got(Confirm(absl::Minutes(10))).reverts_in_ms(), 11 * 60 * 1000u);
  clock().Advance(absl::Minutes(10));
  EXPECT_FALSE(Reverts());
  const absl::Status over = Confirm(absl::Hours(24)).status();
  EXPECT_EQ(over.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(over.message()), HasSubstr("expected at most 24h"));
  // Thousands of extensions would make the journal too long to be read.
  EXPECT_TRUE(absl::IsInvalidArgument(Confirm(absl::Seconds(59)).status()));
  clock().Advance(absl::Minutes(1));
  EXPECT_TRUE(Reverts());
}

TEST_F(ApplierConfirmTest, LetsNothingElseBeginMeanwhile) {
  MustApply();
  clock().Advance(absl::Minutes(1));
  machine().sysctl()[kSomaxconnKey] = "128";
  EXPECT_THAT(Apply("a2"),
              Fails(absl::StatusCode::kFailedPrecondition,
                    HasText(Say("msg-step-other-waits", "a1", "ada", "4m"))));
}

TEST_F(ApplierConfirmTest, CanBeRolledBackInsteadAndThenWaitsNoMore) {
  MustApply();
  const ApplyResult taken_back = Got(applier_->Rollback(RollbackOf("a1")));
  EXPECT_EQ(taken_back.outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_FALSE(taken_back.not_confirmed());
  clock().Advance(kWithin);
  EXPECT_TRUE(applier_->Recover()->empty());
  EXPECT_TRUE(Apply("a2").ok());
}

TEST_F(ApplierConfirmTest, OneThatFailsIsUndoneAndWaitsForNothing) {
  machine().firewall(UFW).ignores_commands = true;
  const ApplyResult failed = Got(Apply());
  EXPECT_EQ(failed.outcome(), ApplyResult::UNDONE);
  EXPECT_EQ(failed.reverts_in_ms(), 0u);
  clock().Advance(kWithin);
  EXPECT_TRUE(applier_->Recover()->empty());
}

TEST_F(ApplierConfirmTest, KeepsWhatIsLeftOverAReboot) {
  MustApply();
  clock().Advance(absl::Minutes(4));
  machine().PowerCycle();
  Restart();
  EXPECT_FALSE(Reverts());
  // From now on this boot's clock counts.
  clock().SetWall(clock().Now() + absl::Hours(1));
  EXPECT_FALSE(Reverts());
  clock().Advance(absl::Minutes(1));
  EXPECT_TRUE(Reverts());
}

TEST_F(ApplierConfirmTest, RevertsIfTheDeadlineCannotBeWrittenAfterABoot) {
  MustApply();
  machine().PowerCycle();
  machine().files().FailChanges(
      absl::StrCat(kScenarioStateFolder, "/a1.journal"),
      absl::ResourceExhaustedError("No space left on device"));
  EXPECT_TRUE(Reverts());
}

TEST_F(ApplierConfirmTest, RevertsUnderAJobThatUsesADeviceAndNamesIt) {
  MustApply();
  users_ = {{1, 4711, "python"}};
  clock().Advance(kWithin);
  const ApplyResult back = OnlyOne(applier_->Recover());
  EXPECT_EQ(back.outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_THAT(back.forced(),
              ElementsAre(Say("plan-say-in-use", 1, 4711, "python")));
  EXPECT_EQ(scenario_->State(), before_);
  EXPECT_FALSE(Confirm().ok());
}

TEST_F(ApplierConfirmTest, RefusesADeadlineOverADay) {
  const absl::Status status = Apply("a1", absl::Hours(25)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(scenario_->State(), before_);
}

TEST_F(ApplierConfirmTest, RefusesADeadlineIfTheBootIsUnknown) {
  ASSERT_TRUE(machine().files().Remove("/proc/sys/kernel/random/boot_id").ok());
  EXPECT_THAT(Apply().status(), HasText(Say("msg-step-boot-not-known")));
  EXPECT_TRUE(Apply("a2", absl::ZeroDuration()).ok());
}

TEST_F(ApplierConfirmTest, BeginsNothingWhereTheDeadlineCannotBeWritten) {
  for (uint64_t bytes = 100; bytes < 100000; bytes += 100) {
    SCOPED_TRACE(bytes);
    machine().files().SetFreeBytes(bytes);
    const auto applied = Apply(absl::StrCat("b", bytes));
    machine().files().SetFreeBytes(std::nullopt);
    ASSERT_TRUE(applier_->Recover().ok());
    EXPECT_EQ(scenario_->State(), before_);
    if (applied.ok()) return;  // It began before the disk was full.
  }
  ADD_FAILURE() << "it never began";
}

}  // namespace
}  // namespace clusterd
