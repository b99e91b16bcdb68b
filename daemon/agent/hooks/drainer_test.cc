#include "daemon/agent/hooks/drainer.h"

#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/test_audit.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// scontrol with one node, n1, which shows what it was set to.
class FakeSlurm final : public CommandRunner {
 public:
  absl::StatusOr<CommandResult> Run(const Command& command) override {
    absl::MutexLock lock(&mutex_);
    commands_.push_back(absl::StrJoin(command.argv, " "));
    if (!cannot_start_.ok()) return cannot_start_;
    CommandResult result;
    const std::vector<std::string>& argv = command.argv;
    if (absl::c_linear_search(argv, "show")) {
      result.standard_output =
          absl::StrCat("NodeName=n1 Arch=x86_64 State=", state_, " Weight=1");
      if (!reason_.empty()) {
        absl::StrAppend(&result.standard_output, " Reason=", reason_,
                        " [root@2026-11-23T22:43:49]");
      }
    } else if (absl::c_linear_search(argv, "State=UNDRAIN")) {
      state_ = "IDLE";
      reason_ = "";
    } else if (!ignores_ && absl::c_linear_search(argv, "State=DRAIN")) {
      state_ = "IDLE+DRAIN";
      reason_ = std::string(absl::StripPrefix(argv.back(), "Reason="));
    }
    return result;
  }

  void Set(const std::string& state, const std::string& reason) {
    absl::MutexLock lock(&mutex_);
    state_ = state;
    reason_ = reason;
  }
  void CannotStart(absl::Status why) { cannot_start_ = std::move(why); }
  void IgnoreDrains() { ignores_ = true; }
  std::string state() {
    absl::MutexLock lock(&mutex_);
    return state_;
  }
  std::string reason() {
    absl::MutexLock lock(&mutex_);
    return reason_;
  }
  std::vector<std::string> commands() {
    absl::MutexLock lock(&mutex_);
    return commands_;
  }

 private:
  absl::Mutex mutex_;
  std::string state_ = "IDLE";
  std::string reason_;
  bool ignores_ = false;
  absl::Status cannot_start_;
  std::vector<std::string> commands_;
};

class DrainerTest : public testing::Test {
 protected:
  void Drain(const std::string& reason) {
    EXPECT_TRUE(drainer_.Drain(settings_, "n1", reason, kPatience).ok());
    drainer_.Settle();
  }
  void Recheck(bool holds) {
    EXPECT_TRUE(drainer_
                    .Recheck(settings_, "n1",
                             [this, holds](const std::string& rule) {
                               asked_.push_back(rule);
                               return holds;
                             })
                    .ok());
    drainer_.Settle();
  }

  DrainerTest() {
    root_.WriteProgram("/bin/scontrol", "#!/bin/sh\n");
    settings_.scontrol = root_.path() + "/bin/scontrol";
  }

  ScratchRoot root_;
  HookSettings settings_;
  FakeSlurm slurm_;
  CapturedLog log_;
  std::vector<std::string> asked_;
  TestAudit audit_;
  Drainer drainer_{&slurm_, &log_, audit_.log()};
};

constexpr char kReason[] = "clusterd: link: device 3: DOWN";
constexpr char kOurs[] = "clusterd: link: device 3: DOWN (until fixed)";

TEST_F(DrainerTest, SetsOurReasonAndReadsItBack) {
  Drain(kReason);
  EXPECT_EQ(slurm_.state(), "IDLE+DRAIN");
  EXPECT_EQ(slurm_.reason(), kOurs);
  EXPECT_THAT(slurm_.commands(),
              ElementsAre(settings_.scontrol + " show node n1 -o",
                          absl::StrCat(settings_.scontrol,
                                       " update NodeName=n1 State=DRAIN "
                                       "Reason=",
                                       kOurs),
                          settings_.scontrol + " show node n1 -o"));
  EXPECT_THAT(log_.Lines(), HasSubstr("n1 drained: clusterd: link: "));
}

TEST_F(DrainerTest, AuditsEachChangeOfTheNodeAndNothingElse) {
  Drain(kReason);
  Drain(kReason);
  Recheck(true);
  const std::string drain =
      absl::StrCat("self drain n1: State=DRAIN Reason=", kOurs);
  EXPECT_THAT(audit_.Lines(),
              ElementsAre(absl::StrCat(drain, ": begins"),
                          absl::StrCat(drain, ": done"),
                          "self undrain n1: State=UNDRAIN: begins",
                          "self undrain n1: State=UNDRAIN: done"));
}

TEST_F(DrainerTest, ChangesNoNodeWhileTheAuditFileCannotBeWritten) {
  TestAudit unwritable(/*writable=*/false);
  Drainer drainer(&slurm_, &log_, unwritable.log());
  EXPECT_TRUE(drainer.Drain(settings_, "n1", kReason, kPatience).ok());
  drainer.Settle();
  EXPECT_EQ(slurm_.state(), "IDLE");
  EXPECT_THAT(log_.Lines(), HasSubstr(kUnwritableAudit));
}

TEST_F(DrainerTest, NamesSlurmsConfigurationWhereItIsElsewhere) {
  root_.Write("/opt/slurm.conf", "");
  settings_.slurm_conf = root_.path() + "/opt/slurm.conf";
  Drain(kReason);
  EXPECT_THAT(
      slurm_.commands(),
      AllOf(SizeIs(3), Each(StartsWith(absl::StrCat(
                           "/usr/bin/env SLURM_CONF=", settings_.slurm_conf,
                           " ", settings_.scontrol, " ")))));
}

// The file names libraries that scontrol loads as root.
TEST_F(DrainerTest, ReadsNoSlurmConfigurationThatOthersCanChange) {
  root_.Write("/opt/slurm.conf", "", 0666);
  settings_.slurm_conf = root_.path() + "/opt/slurm.conf";
  Drain(kReason);
  root_.SetMode("/opt/slurm.conf", 0644);
  root_.SetMode("/opt", 0777);
  Drain(kReason);
  EXPECT_THAT(slurm_.commands(), IsEmpty());
  EXPECT_THAT(log_.Lines(), HasSubstr("/slurm.conf: not trusted"));
  root_.SetMode("/opt", 0755);
  Drain(kReason);
  EXPECT_EQ(slurm_.state(), "IDLE+DRAIN");
}

TEST_F(DrainerTest, RunsNoProgramThatOthersCanWrite) {
  root_.SetMode("/bin/scontrol", 0757);
  Drain(kReason);
  EXPECT_THAT(slurm_.commands(), IsEmpty());
  EXPECT_THAT(log_.Lines(), AllOf(HasSubstr("is not drained"),
                                  HasSubstr("scontrol: not trusted, ")));
}

// The group is another's: a package of Slurm's own user may leave that.
TEST_F(DrainerTest, RunsNoProgramThatAnotherGroupCanWrite) {
  if (chown(settings_.scontrol.c_str(), static_cast<uid_t>(-1), 12345) != 0) {
    GTEST_SKIP() << "only root gives a file to a group that it is not in";
  }
  root_.SetMode("/bin/scontrol", 0775);
  Drain(kReason);
  EXPECT_THAT(slurm_.commands(), IsEmpty());
}

TEST_F(DrainerTest, LeavesWhatAPersonHasSet) {
  slurm_.Set("IDLE+DRAIN", "broken fan");
  Drain(kReason);
  EXPECT_EQ(slurm_.reason(), "broken fan");
  EXPECT_THAT(log_.Lines(), HasSubstr("left as it is"));
  Recheck(true);
  EXPECT_EQ(slurm_.state(), "IDLE+DRAIN");
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(DrainerTest, LeavesAReasonOfOursThatAPersonHasAddedTo) {
  const std::string changed = absl::StrCat(kOurs, "; ticket 4711, ann");
  slurm_.Set("IDLE+DRAIN", changed);
  Recheck(true);
  EXPECT_EQ(slurm_.state(), "IDLE+DRAIN");
  Drain("clusterd: device-health: device 3: ALARM");
  EXPECT_EQ(slurm_.reason(), changed);
}

TEST_F(DrainerTest, ReplacesNoReasonByOneThatIsTakenBackMoreEasily) {
  Drain("clusterd: ip-unique: 10.0.0.1");
  EXPECT_EQ(slurm_.reason(), DrainReason("clusterd: ip-unique: 10.0.0.1"));
  EXPECT_THAT(log_.Lines(),
              HasSubstr("then: scontrol update NodeName=n1 State=RESUME"));
  Drain(kReason);
  EXPECT_THAT(slurm_.reason(), HasSubstr("ip-unique"));
  slurm_.Set("IDLE", "");
  Drain(kReason);
  Drain("clusterd: ports-reserved: 60000-60015 are not");
  EXPECT_THAT(slurm_.reason(), HasSubstr("ports-reserved"));
  Drain(kReason);
  EXPECT_THAT(slurm_.reason(), HasSubstr("ports-reserved"));
}

TEST_F(DrainerTest, ReplacesWhatSlurmWroteAboutOurRefusal) {
  slurm_.Set("IDLE+DRAIN", "Prolog error");
  Drain(kReason);
  EXPECT_EQ(slurm_.reason(), kOurs);
}

TEST_F(DrainerTest, DrainsOnceForOneRule) {
  Drain(kReason);
  Drain("clusterd: link: devices 3-4: DOWN");
  EXPECT_EQ(slurm_.reason(), kOurs);
  Drain("clusterd: device-health: device 3: ALARM");
  EXPECT_EQ(slurm_.reason(),
            DrainReason("clusterd: device-health: device 3: ALARM"));
}

TEST_F(DrainerTest, ClearsItsOwnDrainOnceTheRuleHolds) {
  Drain(kReason);
  Recheck(false);
  EXPECT_EQ(slurm_.state(), "IDLE+DRAIN");
  EXPECT_THAT(asked_, ElementsAre("link"));
  Recheck(true);
  EXPECT_EQ(slurm_.state(), "IDLE");
  EXPECT_THAT(log_.Lines(), HasSubstr("node n1 is used again"));
}

TEST_F(DrainerTest, ClearsADrainOfTheDaemonBeforeIt) {
  slurm_.Set("DOWN+DRAIN+NOT_RESPONDING", kOurs);
  Recheck(true);
  EXPECT_THAT(slurm_.commands().back(), HasSubstr("State=UNDRAIN"));
}

TEST_F(DrainerTest, ChecksAHealthyNodeOnceAndThenLeavesSlurmAlone) {
  for (int i = 0; i < 5; ++i) Recheck(true);
  EXPECT_THAT(slurm_.commands(), SizeIs(1));
}

TEST_F(DrainerTest, LeavesAReasonOfOursThatNamesNoRule) {
  slurm_.Set("IDLE+DRAIN", "clusterd: because (until RESUME)");
  Recheck(true);
  EXPECT_EQ(slurm_.state(), "IDLE+DRAIN");
}

TEST_F(DrainerTest, PutsNothingButANameOnTheCommandLine) {
  EXPECT_TRUE(absl::IsInvalidArgument(
      drainer_.Drain(settings_, "n1 State=RESUME", kReason, absl::Seconds(1))));
  EXPECT_TRUE(absl::IsInvalidArgument(
      drainer_.Recheck(settings_, "n[1-9]", [](const auto&) { return true; })));
  EXPECT_THAT(slurm_.commands(), IsEmpty());
}

TEST_F(DrainerTest, SaysWhatWentWrongAndSaysItOnce) {
  slurm_.CannotStart(absl::NotFoundError("scontrol: is not there"));
  for (int i = 0; i < 3; ++i) Recheck(true);
  const std::string lines = log_.Lines();
  EXPECT_THAT(lines, HasSubstr("scontrol: is not there"));
  EXPECT_EQ(lines.find("is not there"), lines.rfind("is not there"));
}

TEST_F(DrainerTest, BelievesNoStatusButTheNode) {
  slurm_.IgnoreDrains();
  Drain(kReason);
  EXPECT_THAT(log_.Lines(), AllOf(HasSubstr("is not drained"),
                                  HasSubstr("expected DRAIN and ")));
}

TEST_F(DrainerTest, CalledByManyPrologsAtOnceItSetsOneReason) {
  std::vector<std::thread> prologs;
  for (int i = 0; i < 64; ++i) {
    prologs.emplace_back([this] {
      EXPECT_TRUE(drainer_.Drain(settings_, "n1", kReason, kPatience).ok());
    });
  }
  for (std::thread& prolog : prologs) prolog.join();
  drainer_.Settle();
  EXPECT_EQ(slurm_.reason(), kOurs);
  int updates = 0;
  for (const std::string& command : slurm_.commands()) {
    updates += absl::StrContains(command, "update") ? 1 : 0;
  }
  EXPECT_EQ(updates, 1);
}

}  // namespace
}  // namespace clusterd
