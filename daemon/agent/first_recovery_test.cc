#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/audit/audit_chain.h"
#include "config/words/words.h"
#include "daemon/agent/run_daemon.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/process/captured_log.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kPointers[] = "/var/lib/clusterd/state-folders";

class FirstRecoveryTest : public ::testing::Test {
 protected:
  FakeFileSystem& files() { return scenario_->machine.files(); }

  FirstRecovery Start(const std::string& state = "") {
    return StartOn(scenario_.get(), state);
  }
  FirstRecovery StartOn(Scenario* scenario, const std::string& state = "") {
    AgentFlags flags;
    flags.root = root_.path();
    flags.state = state;
    DaemonParts parts;
    parts.access = scenario->Access();
    parts.device_users = [this] { return users_; };
    parts.log = &log_;
    return FirstRecovery(flags, "node-07.example", parts);
  }

  // Moves the crash's journal, as if its clusterd had kept it there.
  void MoveJournals(const std::string& state) {
    const std::string journal = "/apply/a1.journal";
    const auto content = files().Content("/var/lib/clusterd" + journal);
    ASSERT_TRUE(content.has_value());
    files().Put(state + journal, *content, 0600);
    ASSERT_TRUE(files().Remove("/var/lib/clusterd" + journal).ok());
  }

  // "WHO WHAT SUBJECT: RESULT" of each line of an audit file.
  std::vector<std::string> Audited(
      const std::string& state = "/var/lib/clusterd") {
    std::vector<std::string> lines;
    std::ifstream file(AuditPath(root_.path(), state));
    for (std::string line; std::getline(file, line);) {
      const AuditEntry entry = ReadAuditLine(line).value_or(AuditEntry());
      lines.push_back(absl::StrCat(entry.who(), " ", entry.what(), " ",
                                   entry.subject(), ": ", entry.result()));
    }
    return lines;
  }

  ScratchRoot root_;  // Folder of audit files.
  const std::unique_ptr<Scenario> untouched_ = OpenUfwScenario();
  const std::unique_ptr<Scenario> scenario_ = AlmostAppliedScenario();
  std::vector<DeviceUser> users_;
  CapturedLog log_;
};

TEST_F(FirstRecoveryTest, NeedsNothingButTheDefaultFolderAlsoUnderAJob) {
  users_ = {{1, 4711, "python"}};
  Start().Run();
  EXPECT_EQ(scenario_->State(), untouched_->State());
  EXPECT_THAT(log_.Lines(), HasSubstr(kInterruptedLine));
  EXPECT_THAT(Audited(),
              ElementsAre("clusterd recovery a1: begins",
                          HasSubstr("clusterd recovery a1: UNDONE")));
}

TEST_F(FirstRecoveryTest, ReadsTheStateOfTheCommandLine) {
  MoveJournals("/srv/state");
  Start("/srv/state").Run();
  EXPECT_THAT(log_.Lines(), HasSubstr(kInterruptedLine));
  EXPECT_THAT(Audited("/srv/state"), SizeIs(2));
}

// A host with an apply that waits five minutes for its confirmation.
class WaitingRecoveryTest : public FirstRecoveryTest {
 protected:
  WaitingRecoveryTest() {
    ApplyRequest request = RequestFor(waiting_->Plan(), "a1");
    request.confirm_within = absl::Minutes(5);
    const auto applied = waiting_->MakeApplier()->Apply(request);
    EXPECT_TRUE(applied.ok()) << applied.status();
    applied_ = waiting_->State();
    EXPECT_NE(applied_, untouched_->State());
  }

  FirstRecovery Restart() { return StartOn(waiting_.get()); }

  const std::unique_ptr<Scenario> waiting_ = OpenUfwScenario();
  std::map<std::string, std::string> applied_;
};

TEST_F(WaitingRecoveryTest, TakesBackAfterARebootWhatIsOverdue) {
  waiting_->clock.Advance(absl::Minutes(4));
  waiting_->machine.PowerCycle();
  Restart().Run();
  EXPECT_EQ(waiting_->State(), applied_);
  waiting_->clock.Advance(absl::Minutes(1));
  waiting_->machine.PowerCycle();
  Restart().Run();
  EXPECT_EQ(waiting_->State(), untouched_->State());
  EXPECT_THAT(log_.Lines(),
              HasSubstr(absl::StrCat(kNotConfirmedLine, ": ",
                                     Say("msg-step-not-confirmed"))));
  EXPECT_THAT(Audited(), ElementsAre("clusterd recovery a1: begins",
                                     HasSubstr("recovery a1: ROLLED_BACK")));
}

TEST_F(WaitingRecoveryTest, LeavesToTheDaemonWhatItGoesOnWith) {
  FirstRecovery first = Restart();
  first.Run();
  first.Finish("/var/lib/clusterd");
  EXPECT_EQ(waiting_->State(), applied_);
}

// agent.yaml has a mistake, or another folder: no clusterd would roll back.
TEST_F(WaitingRecoveryTest, TakesBackAtOnceWhereNoDaemonGoesOnWithTheFolder) {
  FirstRecovery first = Restart();
  first.Run();
  first.Finish("/srv/other");
  EXPECT_EQ(waiting_->State(), untouched_->State());
}

TEST_F(FirstRecoveryTest, UndoesAlsoWhereTheAuditFileCannotBeWritten) {
  root_.MakeFolder("/var/lib/clusterd/audit.jsonl");
  Start().Run();
  EXPECT_EQ(scenario_->State(), untouched_->State());
  EXPECT_THAT(log_.Lines(),
              AllOf(HasSubstr("audit.jsonl: "), HasSubstr(": Is a directory; "),
                    HasSubstr("not written: recovery a1: "),
                    HasSubstr(kInterruptedLine)));
}

// agent.yaml had /srv/state, and is now unreadable.
TEST_F(FirstRecoveryTest, ReadsTheStateOfTheLastStart) {
  MoveJournals("/srv/state");
  Start().Remember("/srv/state");
  EXPECT_EQ(files().Content(kPointers), "/srv/state\n");
  Start().Run();
  EXPECT_THAT(log_.Lines(), HasSubstr(kInterruptedLine));
}

TEST_F(FirstRecoveryTest, BelievesNoPointerThatOthersCanWrite) {
  MoveJournals("/srv/state");
  Start().Remember("/srv/state");
  files().SetOwner(kPointers, 12345, 0644);
  Start().Run();
  EXPECT_THAT(log_.Lines(), HasSubstr("state-folders: not "));
  EXPECT_NE(scenario_->State(), untouched_->State());
}

TEST_F(FirstRecoveryTest, ForgetsAFolderOnlyWhenNothingOfItIsLeft) {
  MoveJournals("/srv/old");
  Start().Remember("/srv/old");
  files().SetOwner("/srv/old/apply", 12345, 0700);
  FirstRecovery unsafe = Start();
  unsafe.Run();
  EXPECT_NE(scenario_->State(), untouched_->State());
  unsafe.Remember("/srv/new");
  EXPECT_EQ(files().Content(kPointers), "/srv/new\n/srv/old\n");
  files().SetOwner("/srv/old/apply", 0, 0700);
  FirstRecovery safe = Start();
  safe.Run();
  safe.Remember("/var/lib/clusterd");
  EXPECT_EQ(files().Content(kPointers), "/var/lib/clusterd\n");
}

TEST_F(FirstRecoveryTest, WritesNothingWhereNothingNeedsIt) {
  Start().Run();
  Start().Remember("/var/lib/clusterd");
  EXPECT_EQ(files().Content(kPointers), std::nullopt);
  FirstRecovery elsewhere = Start("/srv/never-made");
  elsewhere.Run();
  EXPECT_FALSE(files().Stat("/srv/never-made").ok());
}

}  // namespace
}  // namespace clusterd
