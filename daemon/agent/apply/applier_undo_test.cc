// An undo without a writable journal; a rollback never overwrites changes.
#include <gtest/gtest.h>

#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/plan/kernel_parameters.h"
#include "config/words/words.h"
#include "daemon/agent/apply/applier.h"
#include "tests/support/apply/apply_scenarios.h"

namespace clusterd {
namespace {

constexpr char kJournal[] = "/var/lib/clusterd/apply/a1.journal";
constexpr char kUfwRules[] = "/etc/ufw/user.rules";
constexpr char kZone[] = "/etc/firewalld/zones/public.xml";

const absl::Status& NoSpace() {
  static const absl::Status* const status =
      new absl::Status(absl::ResourceExhaustedError("No space left on device"));
  return *status;
}

std::unique_ptr<Scenario> Applied(std::unique_ptr<Scenario> scenario) {
  EXPECT_EQ(Got(scenario->Apply()).outcome(), ApplyResult::APPLIED);
  return scenario;
}

void AddLine(Scenario* scenario, const std::string& path,
             const std::string& line) {
  FakeFileSystem& files = scenario->machine.files();
  files.Put(path, files.Content(path).value_or("") + line, 0640);
}

TEST(ApplierUndoTest, RecoveryUndoesWhenTheJournalCannotGrow) {
  auto scenario = AlmostAppliedScenario();
  const auto before = OpenUfwScenario()->State();
  ASSERT_NE(scenario->State(), before);
  FakeFileSystem& files = scenario->machine.files();
  files.FailChanges(kJournal, NoSpace());
  const ApplyResult recovered = OnlyOne(scenario->MakeApplier()->Recover());
  EXPECT_EQ(recovered.outcome(), ApplyResult::UNDONE)
      << recovered.ShortDebugString();
  EXPECT_TRUE(absl::StrContains(recovered.error(),
                                Say("msg-step-journal-not-closed", "")))
      << recovered.error();
  EXPECT_EQ(scenario->State(), before);
  // The journal is not closed, so the next start finds it again.
  files.FailChanges(kJournal, absl::OkStatus());
  ASSERT_EQ(scenario->MakeApplier()->Recover()->size(), 1u);
  EXPECT_EQ(scenario->State(), before);
  EXPECT_TRUE(scenario->MakeApplier()->Recover()->empty());
}

TEST(ApplierUndoTest, RecoveryOnAFullDiskUndoesWhatNeedsNoRoom) {
  auto scenario = AlmostAppliedScenario();
  auto untouched = OpenUfwScenario();
  FakeMachine& machine = scenario->machine;
  ASSERT_NE(machine.sysctl(), untouched->machine.sysctl());
  ASSERT_NE(machine.device(1).gateway, untouched->machine.device(1).gateway);
  machine.files().SetFreeBytes(0);
  ASSERT_EQ(scenario->MakeApplier()->Recover()->size(), 1u);
  EXPECT_EQ(machine.sysctl(), untouched->machine.sysctl());
  EXPECT_EQ(machine.device(1).gateway, untouched->machine.device(1).gateway);
  machine.files().SetFreeBytes(std::nullopt);
  ASSERT_EQ(scenario->MakeApplier()->Recover()->size(), 1u);
  EXPECT_EQ(scenario->State(), untouched->State());
}

TEST(ApplierUndoTest, RecoveryEndsARollbackWhenTheJournalCannotGrow) {
  const auto before = OpenUfwScenario()->State();
  auto scenario = Applied(OpenUfwScenario());
  EffectLog log;
  log.CrashAt(2, CrashPoint::kAfter);
  (void)scenario->MakeApplier(&log)->Rollback(RollbackOf("a1"));
  ASSERT_TRUE(log.dead());
  ASSERT_NE(scenario->State(), before);
  scenario->machine.files().FailChanges(kJournal, NoSpace());
  EXPECT_EQ(OnlyOne(scenario->MakeApplier()->Recover()).outcome(),
            ApplyResult::ROLLED_BACK);
  EXPECT_EQ(scenario->State(), before);
}

TEST(ApplierUndoTest, ARollbackDoesNotBeginWithoutItsJournal) {
  auto scenario = Applied(OpenUfwScenario());
  const auto applied = scenario->State();
  scenario->machine.files().FailChanges(kJournal, NoSpace());
  const auto refused = scenario->Rollback();
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status())) << refused.status();
  EXPECT_EQ(scenario->State(), applied);
}

TEST(ApplierUndoTest, RefusesToRollBackOverWhatSomebodyAdded) {
  const struct {
    std::unique_ptr<Scenario> (*make)();
    const char* path;
  } cases[] = {{&DisableFirewallsScenario, kUfwRules},
               {&OpenUfwScenario, kUfwRules},
               {&OpenFirewalldScenario, kZone},
               {&OpenUfwScenario, kSysctlFile}};
  for (const auto& each : cases) {
    auto scenario = each.make();
    const auto before = scenario->State();
    scenario = Applied(std::move(scenario));
    AddLine(scenario.get(), each.path, "443:443/tcp from 10.9.0.0/16\n");
    const auto changed = scenario->State();
    const auto refused = scenario->Rollback();
    EXPECT_TRUE(absl::IsAborted(refused.status())) << refused.status();
    EXPECT_TRUE(absl::StrContains(refused.status().message(),
                                  absl::StrCat(each.path, ": SHA-256")))
        << refused.status();
    EXPECT_EQ(scenario->State(), changed);
    const ApplyResult forced = Got(scenario->Rollback(/*force=*/true));
    EXPECT_EQ(forced.outcome(), ApplyResult::ROLLED_BACK)
        << forced.ShortDebugString();
    ASSERT_EQ(forced.forced_size(), 1);
    EXPECT_TRUE(absl::StrContains(forced.forced(0), each.path));
    EXPECT_EQ(scenario->State(), before);
  }
}

}  // namespace
}  // namespace clusterd
