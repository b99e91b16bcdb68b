// The undo of a cut-off apply on a host whose users try to delay it.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/plan/settings.h"
#include "config/words/words.h"
#include "daemon/agent/apply/applier.h"
#include "daemon/agent/apply/journal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;

// The crashed host, and the processes that use its devices.
class ApplierWaitTest : public ::testing::Test {
 protected:
  ApplierWaitTest() {
    applier_ = std::make_unique<Applier>(
        ScenarioOptions(), scenario_->Access(), [] { return HostAllows(); },
        [this] { return users_; });
  }

  // Recovers; the calls of the watch are recorded in `calls_`.
  absl::Status Watched() {
    UndoWatch watch;
    watch.begins = [this](const std::string& id) {
      calls_.push_back(absl::StrCat(id, " begins"));
    };
    watch.ends = [this](const std::string& id,
                        const absl::StatusOr<ApplyResult>& result) {
      calls_.push_back(absl::StrCat(
          id, " ",
          result.ok() ? ApplyResult::Outcome_Name(result->outcome())
                      : std::string(result.status().message())));
    };
    return applier_->Recover(watch).status();
  }

  FakeMachine& machine() { return scenario_->machine; }

  const std::unique_ptr<Scenario> untouched_ = OpenUfwScenario();
  const std::unique_ptr<Scenario> scenario_ = AlmostAppliedScenario();
  absl::StatusOr<std::vector<DeviceUser>> users_ =
      std::vector<DeviceUser>{{1, 4711, "python"}};
  std::unique_ptr<Applier> applier_;
  std::vector<std::string> calls_;
};

// Otherwise a user who may open a device would keep the host half applied.
TEST_F(ApplierWaitTest, WaitsForNoProcessThatKeepsADeviceOpen) {
  const ApplyResult recovered = OnlyOne(applier_->Recover());
  EXPECT_EQ(recovered.outcome(), ApplyResult::UNDONE);
  EXPECT_EQ(recovered.host(), kScenarioHost);
  EXPECT_THAT(recovered.forced(),
              ElementsAre(Say("plan-say-in-use", 1, 4711, "python")));
  EXPECT_EQ(scenario_->State(), untouched_->State());
  EXPECT_EQ(applier_->ListApplies().value()[0].end.forced_size(), 1);
}

// Users decide how many processes and open files there are to search, so
// everything is put back before the search.
TEST_F(ApplierWaitTest, SearchesForProcessesOnlyWhenAllIsBack) {
  for (const absl::Status& cannot :
       {absl::DeadlineExceededError("processes that use NPUs: not found"),
        absl::PermissionDeniedError("/proc/4711/fd: may not be looked into")}) {
    SCOPED_TRACE(cannot);
    const auto scenario = AlmostAppliedScenario();
    std::map<std::string, std::string> seen;
    Applier applier(
        ScenarioOptions(), scenario->Access(), [] { return HostAllows(); },
        [&]() -> absl::StatusOr<std::vector<DeviceUser>> {
          seen = scenario->State();
          return cannot;
        });
    const auto recovered = applier.Recover().value();
    EXPECT_EQ(seen, untouched_->State());
    EXPECT_THAT(recovered[0].forced(),
                ElementsAre(Say("plan-say-users-not-known", cannot.message())));
  }
}

// A user who may open hccn.conf can hold its lock forever.
TEST_F(ApplierWaitTest, WaitsForNobodyWhoHoldsTheLockOfHccnConf) {
  users_ = std::vector<DeviceUser>();
  machine().files().SetLockedElsewhere("/etc/hccn.conf", true);
  const auto recovered = applier_->Recover().value();
  EXPECT_EQ(recovered[0].outcome(), ApplyResult::UNDONE)
      << recovered[0].ShortDebugString();
  EXPECT_EQ(scenario_->State(), untouched_->State());
}

// An apply does not fail over that either, or leave the file closed to readers.
TEST_F(ApplierWaitTest, AppliesWhileSomebodyHoldsTheLockOfHccnConf) {
  for (const NamedScenario& named : AllScenarios()) {
    SCOPED_TRACE(named.name);
    const auto free = named.make();
    const auto held = named.make();
    held->machine.files().SetLockedElsewhere("/etc/hccn.conf", true);
    for (Scenario* scenario : {free.get(), held.get()}) {
      EXPECT_EQ(Got(scenario->Apply()).outcome(), ApplyResult::APPLIED);
    }
    EXPECT_EQ(held->State(), free->State());
  }
}

TEST_F(ApplierWaitTest, TellsWhatItUndidBesideAJournalThatIsDamaged) {
  machine().files().Put(absl::StrCat(kScenarioStateFolder, "/old.journal"),
                        "no journal\n");
  EXPECT_THAT(Watched(),
              Fails(absl::StatusCode::kDataLoss, HasText("old.journal")));
  EXPECT_THAT(calls_, ElementsAre("a1 begins", "a1 UNDONE"));
}

// A job on a device that the plan does not change.
TEST_F(ApplierWaitTest, NamesNoJobOnAnotherDevice) {
  users_ = std::vector<DeviceUser>{{7, 4711, "python"}};
  EXPECT_EQ(applier_->Recover().value()[0].forced_size(), 0);
  EXPECT_EQ(scenario_->State(), untouched_->State());
}

}  // namespace
}  // namespace clusterd
