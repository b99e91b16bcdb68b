// The undo of a cut-off apply while a job uses a device of it.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/plan/setting_rows.h"
#include "daemon/agent/apply/applier.h"
#include "daemon/agent/apply/journal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/apply/apply_scenarios.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::SizeIs;
using ::testing::StartsWith;

// The crashed host, and who uses its devices.
class ApplierWaitTest : public ::testing::Test {
 protected:
  ApplierWaitTest() { Restart(); }

  // Another applier on the same journals.
  void Restart(const UndoWaits& waiting = {}) {
    ApplierOptions options;
    options.host = kScenarioHost;
    options.state_folder = kScenarioStateFolder;
    options.waiting = waiting;
    applier_ = std::make_unique<Applier>(
        options, scenario_->Access(), [] { return HostAllows(); },
        [this] { return users_; });
  }

  // Recovers; what the watch was told goes to `told_`.
  absl::Status Watched() {
    UndoWatch watch;
    watch.begins = [this](const std::string& id) {
      told_.push_back(absl::StrCat(id, " begins"));
    };
    watch.ends = [this](const std::string& id,
                        const absl::StatusOr<ApplyResult>& result) {
      told_.push_back(absl::StrCat(
          id, " ",
          result.ok() ? ApplyResult::Outcome_Name(result->outcome())
                      : std::string(result.status().message())));
    };
    return applier_->Recover(/*force=*/false, watch).status();
  }

  FakeMachine& machine() { return scenario_->machine; }

  const std::unique_ptr<Scenario> untouched_ = OpenUfwScenario();
  const std::unique_ptr<Scenario> scenario_ = AlmostAppliedScenario();
  absl::StatusOr<std::vector<DeviceUser>> users_ =
      std::vector<DeviceUser>{{1, 4711, "python"}};
  std::unique_ptr<Applier> applier_;
  std::vector<std::string> told_;
};

TEST_F(ApplierWaitTest, LeavesDevicesToTheJobAndUndoesTheRest) {
  const std::string changed = machine().device(1).gateway;
  ASSERT_NE(changed, untouched_->machine.device(1).gateway);
  ASSERT_NE(machine().sysctl(), untouched_->machine.sysctl());
  const absl::Status waits = applier_->Recover().status();
  EXPECT_EQ(waits.code(), absl::StatusCode::kFailedPrecondition) << waits;
  EXPECT_THAT(std::string(waits.message()),
              AllOf(HasSubstr("the undo of apply a1 waits: "),
                    HasSubstr("device 1 is in use by process 4711 (python)")));
  EXPECT_EQ(machine().device(1).gateway, changed);
  EXPECT_EQ(machine().sysctl(), untouched_->machine.sysctl());
}

TEST_F(ApplierWaitTest, UndoesAllOnceTheJobHasEnded) {
  ASSERT_FALSE(applier_->Recover().ok());
  ASSERT_FALSE(applier_->Recover().ok());
  users_ = std::vector<DeviceUser>();
  const auto recovered = applier_->Recover();
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  ASSERT_EQ(recovered->size(), 1u);
  EXPECT_EQ((*recovered)[0].outcome(), ApplyResult::UNDONE);
  EXPECT_EQ((*recovered)[0].host(), kScenarioHost);
  EXPECT_EQ(scenario_->State(), untouched_->State());
}

TEST_F(ApplierWaitTest, LetsAPersonForceIt) {
  const auto recovered = applier_->Recover(/*force=*/true);
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  ASSERT_EQ((*recovered)[0].forced_size(), 1);
  EXPECT_THAT((*recovered)[0].forced(0), HasSubstr("process 4711"));
  EXPECT_EQ(scenario_->State(), untouched_->State());
}

// Else nothing would ever end it where nobody can see who uses the devices.
TEST_F(ApplierWaitTest, DoesNotWaitOnceSomebodyHasForcedIt) {
  users_ = absl::PermissionDeniedError("/proc: of this container only");
  ASSERT_FALSE(applier_->Recover().ok());
  {
    const auto journal = Journal::Open(
        &machine().files(), absl::StrCat(kScenarioStateFolder, "/a1.journal"));
    ASSERT_TRUE(journal.ok()) << journal.status();
    JournalEntry cut_off;
    cut_off.mutable_undo()->add_forced("device 1 is in use");
    ASSERT_TRUE((*journal)->Append(cut_off).ok());
  }
  const auto recovered = applier_->Recover();
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  ASSERT_EQ(recovered->size(), 1u);
  EXPECT_THAT((*recovered)[0].forced(0), HasSubstr("of this container only"));
  EXPECT_EQ(scenario_->State(), untouched_->State());
}

TEST_F(ApplierWaitTest, WaitsTooWhenItCannotBeToldWhoUsesThem) {
  users_ = absl::PermissionDeniedError("/proc/4711/fd: may not be looked into");
  EXPECT_THAT(std::string(applier_->Recover().status().message()),
              HasSubstr("whether a process uses its devices cannot be told"));
}

// Users decide how many processes and open files there are to look through.
TEST_F(ApplierWaitTest, DoesNotWaitForASearchThatTakesTooLong) {
  users_ = absl::DeadlineExceededError("processes that use NPUs: not found");
  const auto recovered = applier_->Recover();
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  EXPECT_THAT((*recovered)[0].forced(0), HasSubstr("not found"));
  EXPECT_EQ(scenario_->State(), untouched_->State());
}

// A user who may open hccn.conf can hold its lock for ever.
TEST_F(ApplierWaitTest, WaitsForNobodyWhoHoldsTheLockOfHccnConf) {
  users_ = std::vector<DeviceUser>();
  machine().files().SetLockedElsewhere("/etc/hccn.conf", true);
  const auto recovered = applier_->Recover();
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  EXPECT_EQ((*recovered)[0].outcome(), ApplyResult::UNDONE)
      << (*recovered)[0].ShortDebugString();
  EXPECT_EQ(scenario_->State(), untouched_->State());
}

TEST_F(ApplierWaitTest, RunsNoFirewallAnewAtEveryTry) {
  ASSERT_FALSE(applier_->Recover().ok());
  const size_t commands = machine().commands().size();
  ASSERT_FALSE(applier_->Recover().ok());
  EXPECT_EQ(machine().commands().size(), commands);
}

// A daemon that cannot start is started again every few seconds.
TEST_F(ApplierWaitTest, LeavesAloneAfterARestartWhatIsAlreadyAsItWas) {
  ASSERT_FALSE(Watched().ok());
  EXPECT_THAT(told_, ElementsAre("a1 begins",
                                 StartsWith("a1 the undo of apply a1 waits")));
  const size_t commands = machine().commands().size();
  const auto state = scenario_->State();
  for (int i = 0; i < 2; ++i) {
    Restart();
    ASSERT_FALSE(Watched().ok());
    EXPECT_THAT(applier_->Waiting(), ElementsAre(Key("a1")));
  }
  EXPECT_EQ(machine().commands().size(), commands);
  EXPECT_EQ(scenario_->State(), state);
  EXPECT_THAT(told_, SizeIs(2));
}

TEST_F(ApplierWaitTest, PutsBackAfterARestartOnlyWhatIsNotSo) {
  ASSERT_FALSE(applier_->Recover().ok());
  const size_t commands = machine().commands().size();
  machine().sysctl()[kReservedPortsKey] = "1";
  Restart();
  ASSERT_FALSE(Watched().ok());
  EXPECT_EQ(machine().sysctl(), untouched_->machine.sysctl());
  EXPECT_EQ(machine().commands().size(), commands);
  EXPECT_THAT(told_, SizeIs(2));
}

// The one of the daemon, after the one that came before its certificates.
TEST_F(ApplierWaitTest, LooksAtNothingThatAnotherHasFoundToWait) {
  ASSERT_FALSE(applier_->Recover().ok());
  machine().sysctl()[kReservedPortsKey] = "1";
  Restart(applier_->Waiting());
  ASSERT_FALSE(Watched().ok());
  EXPECT_EQ(machine().sysctl()[kReservedPortsKey], "1");
  users_ = std::vector<DeviceUser>();
  EXPECT_TRUE(Watched().ok());
  EXPECT_EQ(scenario_->State(), untouched_->State());
  EXPECT_THAT(told_, ElementsAre("a1 begins", "a1 UNDONE"));
  EXPECT_THAT(applier_->Waiting(), IsEmpty());
}

// Whoever may open a device would keep the host half applied for ever.
TEST_F(ApplierWaitTest, DoesNotWaitLongerForAProcessThatKeepsADeviceOpen) {
  ASSERT_FALSE(applier_->Recover().ok());
  scenario_->clock.Advance(kMaxUndoWait - absl::Seconds(1));
  ASSERT_FALSE(applier_->Recover().ok());
  scenario_->clock.Advance(absl::Seconds(1));
  const auto recovered = applier_->Recover();
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  ASSERT_EQ((*recovered)[0].forced_size(), 1);
  EXPECT_THAT((*recovered)[0].forced(0),
              HasSubstr("device 1 is in use by process 4711 (python)"));
  EXPECT_EQ(scenario_->State(), untouched_->State());
}

TEST_F(ApplierWaitTest, BeginsNoNewWaitAtARestart) {
  for (int i = 0; i < 4; ++i) {
    Restart();
    const absl::Status waits = Watched();
    EXPECT_THAT(
        std::string(waits.message()),
        HasSubstr("after 10 min it is undone while the device is in use"));
    scenario_->clock.Advance(kMaxUndoWait / 4);
  }
  Restart();
  EXPECT_TRUE(Watched().ok());
  EXPECT_EQ(scenario_->State(), untouched_->State());
}

// A user may fill the disk, and set no clock.
TEST_F(ApplierWaitTest, WaitsNoLongerWhereTheJournalCannotBeWritten) {
  machine().files().SetFreeBytes(0);
  ASSERT_FALSE(applier_->Recover().ok());
  scenario_->clock.SetWall(scenario_->clock.Now() - absl::Hours(1));
  ASSERT_FALSE(applier_->Recover().ok());
  scenario_->clock.Advance(kMaxUndoWait);
  machine().files().SetFreeBytes(std::nullopt);
  EXPECT_TRUE(applier_->Recover().ok());
  EXPECT_EQ(scenario_->State(), untouched_->State());
}

TEST_F(ApplierWaitTest, TellsWhatItUndidBesideAJournalThatIsDamaged) {
  machine().files().Put(absl::StrCat(kScenarioStateFolder, "/old.journal"),
                        "no journal\n");
  const absl::Status waits = Watched();
  EXPECT_EQ(waits.code(), absl::StatusCode::kDataLoss) << waits;
  EXPECT_THAT(
      std::string(waits.message()),
      AllOf(HasSubstr("old.journal"), HasSubstr("the undo of apply a1 waits")));
  told_.clear();
  users_ = std::vector<DeviceUser>();
  EXPECT_EQ(Watched().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(told_, ElementsAre("a1 begins", "a1 UNDONE"));
}

// Of another device, or of an apply that had touched none yet.
TEST_F(ApplierWaitTest, MindsNoJobOnAnotherDevice) {
  users_ = std::vector<DeviceUser>{{7, 4711, "python"}};
  EXPECT_TRUE(applier_->Recover().ok());
  EXPECT_EQ(scenario_->State(), untouched_->State());
}

}  // namespace
}  // namespace clusterd
