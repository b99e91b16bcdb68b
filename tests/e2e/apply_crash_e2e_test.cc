// Kills programs in the middle of an apply or rollback. Afterwards a host is as
// before or as planned, and the history says which.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "config/audit/audit_chain.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/change_cluster.h"
#include "tests/support/wait/telling.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

HistoryEntry EntryOf(const ChangeCluster& cluster, const std::string& id) {
  for (const HistoryEntry& entry : cluster.History()) {
    if (entry.id() == id) return entry;
  }
  ADD_FAILURE() << "no entry " << id;
  return HistoryEntry();
}

TEST(KilledControllerTest, LeavesAnInterruptedRunThatTheHostFinishes) {
  ChangeCluster cluster(2);
  cluster.Break("server0", {"3:address=192.168.9.9"});
  cluster.Break("server1", {"3:address=192.168.9.8"});
  cluster.StartAllAndPlan();
  const ServerState before0 = cluster.Server("server0");
  const ServerState before1 = cluster.Server("server1");
  DeviceGate gate(cluster.Root("server0"));
  const auto apply = cluster.StartApply({"--wave", "1"});
  const std::string id = WaitForRunId(apply.get());
  ASSERT_TRUE(cluster.WaitForJournal("server0", id, 2));
  cluster.controller().EndBy(SIGKILL);
  const ChangeOutcome cut = FinishChange(apply.get());
  EXPECT_EQ(cut.process.exit_status, 2);
  EXPECT_THAT(cut.process.standard_error,
              HasSubstr(absl::StrCat("clusterctl show ", id)));

  cluster.StartController();
  for (int i = 0; i < 2; ++i) {
    cluster.controller().ExpectError(": attached from");
  }
  EXPECT_EQ(EntryOf(cluster, id).outcome(), "interrupted");
  const ApplyReport lost = cluster.Show(id);
  EXPECT_EQ(lost.outcome(), ApplyReport::INTERRUPTED);
  EXPECT_EQ(lost.hosts(0).outcome(), ApplyResult::LOST);
  EXPECT_EQ(lost.hosts(1).outcome(), ApplyResult::NOT_STARTED);

  gate.Open();
  EXPECT_TRUE(WaitUntil([&] {
    return cluster.Show(id).hosts(0).outcome() == ApplyResult::APPLIED;
  })) << cluster.ShowText(id);
  EXPECT_EQ(EntryOf(cluster, id).outcome(), "interrupted");
  EXPECT_THAT(DifferencesFrom(before0, cluster.Server("server0")),
              Not(IsEmpty()));
  EXPECT_THAT(DifferencesFrom(before1, cluster.Server("server1")), IsEmpty());
  const ChangeOutcome back = cluster.RollBack(id);
  EXPECT_EQ(back.process.exit_status, 0) << back.process.standard_output;
  EXPECT_THAT(DifferencesFrom(before0, cluster.Server("server0")), IsEmpty());
}

// Ctrl-C acts like `clusterctl cancel`.
TEST(CancelledApplyTest, FinishesItsWaveAndLeavesTheOtherHostsAlone) {
  for (const bool from_elsewhere : {false, true}) {
    ChangeCluster cluster(2);
    cluster.Break("server0", {"3:address=192.168.9.9"});
    cluster.Break("server1", {"3:address=192.168.9.8"});
    cluster.StartAllAndPlan();
    const ServerState before1 = cluster.Server("server1");
    DeviceGate gate(cluster.Root("server0"));
    const auto apply = cluster.StartApply({"--canary", "1"});
    const std::string id = WaitForRunId(apply.get());
    ASSERT_TRUE(cluster.WaitForJournal("server0", id, 2));
    if (from_elsewhere) {
      const ProcessResult cancel = cluster.RunClusterctl({"cancel", id});
      EXPECT_EQ(cancel.exit_status, 0) << cancel.standard_error;
      EXPECT_THAT(cancel.standard_output, HasSubstr("1 host is not started"));
    } else {
      apply->Signal(SIGINT);
    }
    apply->ExpectError("cancelled by admin in wave 1 of 2");
    gate.Open();
    const ChangeOutcome outcome = FinishChange(apply.get());
    EXPECT_EQ(outcome.process.exit_status, 2);
    EXPECT_EQ(outcome.report.outcome(), ApplyReport::CANCELLED);
    EXPECT_EQ(outcome.Host("server0").outcome(), ApplyResult::APPLIED);
    EXPECT_EQ(outcome.Host("server1").outcome(), ApplyResult::NOT_STARTED);
    EXPECT_THAT(DifferencesFrom(before1, cluster.Server("server1")), IsEmpty());
    EXPECT_EQ(EntryOf(cluster, id).outcome(), "cancelled");
    EXPECT_EQ(cluster.RunClusterctl({"cancel", id}).exit_status, 3);
    // The same plan continues where it stopped.
    const ChangeOutcome rest = cluster.Apply();
    EXPECT_EQ(rest.process.exit_status, 0) << rest.process.standard_error;
    EXPECT_EQ(rest.Host("server1").outcome(), ApplyResult::APPLIED);
  }
}

// The audit lines of server0 about the undo of that apply. The file must be
// intact.
std::vector<std::string> AuditedUndo(const ChangeCluster& cluster,
                                     const std::string& apply_id) {
  const std::string text =
      TextOfFile(cluster.Root("server0") + "/var/lib/clusterd/audit.jsonl");
  EXPECT_THAT(VerifyAudit(std::vector<AuditText>{{"host", text}}, {}).breaks,
              IsEmpty());
  std::vector<std::string> results;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const AuditEntry entry = ReadAuditLine(line).value_or(AuditEntry());
    if (entry.what() == "recovery" && entry.subject() == apply_id) {
      results.push_back(entry.result());
    }
  }
  return results;
}

class KilledHostTest : public testing::Test {
 protected:
  KilledHostTest() : cluster_(1) {
    cluster_.Break("server0", {"host:somaxconn=128", "host:persistent=none",
                               "3:address=192.168.9.9", "5:detect=none"});
    cluster_.StartAll();
    steps_ = static_cast<size_t>(cluster_.Plan().hosts(0).steps_size());
    before_ = cluster_.Server("server0");
  }

  // The host must match its result in the run's report.
  void ExpectAsReported(const ChangeOutcome& outcome) {
    const ApplyResult result = outcome.Host("server0");
    const std::vector<std::string> changed =
        DifferencesFrom(before_, cluster_.Server("server0"));
    EXPECT_THAT(result.residues(), IsEmpty());
    const ApplyReport kept = cluster_.Show(outcome.report.run_id());
    EXPECT_EQ(kept.hosts(0).outcome(), result.outcome());
    if (result.outcome() == ApplyResult::APPLIED) {
      EXPECT_THAT(DifferencesFrom(planned_, cluster_.Server("server0")),
                  IsEmpty());
      return;
    }
    EXPECT_EQ(result.outcome(), ApplyResult::UNDONE) << result.DebugString();
    EXPECT_EQ(outcome.process.exit_status, 1);
    EXPECT_THAT(result.error(), Tells("msg-step-interrupted"));
    EXPECT_THAT(changed, IsEmpty());
    EXPECT_THAT(AuditedUndo(cluster_, result.apply_id()),
                ElementsAre("begins", StartsWith("UNDONE: clusterd ended")));
  }

  // While it hangs, an apply stays in its second step, with device 3 changed.
  void HangAtDevice5(bool hangs) {
    cluster_.SetFault("server0",
                      hangs ? "5:state=hang.set=1" : "5:state=hang.set=0");
  }

  // Applies, and kills clusterd once its journal has this many entries. Returns
  // the apply's id; apply_ waits for it.
  std::string KillAt(size_t entries) {
    // An apply that does not hang may also end.
    HangAtDevice5(entries <= kEntriesAtDevice5);
    apply_ = cluster_.StartApply();
    std::string id = WaitForRunId(apply_.get());
    EXPECT_TRUE(cluster_.WaitForJournal("server0", id, entries));
    cluster_.KillHost("server0");
    HangAtDevice5(false);
    return id;
  }

  // The beginning, both entries of device 3, and the intent of device 5.
  static constexpr size_t kEntriesAtDevice5 = 4;

  ChangeCluster cluster_;
  std::unique_ptr<Process> apply_;
  size_t steps_ = 0;
  ServerState before_;
  ServerState planned_;
};

TEST_F(KilledHostTest, IsAsBeforeOrAsPlannedWheneverItIsKilled) {
  const ChangeOutcome whole = cluster_.Apply();
  ASSERT_EQ(whole.process.exit_status, 0) << whole.process.standard_output;
  planned_ = cluster_.Server("server0");
  // The beginning, an intent and an outcome of each step, and the end.
  const size_t last =
      cluster_.Journal("server0", whole.report.apply_id()).size();
  ASSERT_EQ(last, 2 * steps_ + 2);
  ASSERT_GE(last, 8u);
  ASSERT_EQ(cluster_.RollBack(whole.report.apply_id()).process.exit_status, 0);

  std::map<ApplyResult::Outcome, int> seen;
  for (const size_t entries : {size_t{1}, size_t{2}, size_t{3}, size_t{4},
                               size_t{6}, last - 1, last}) {
    SCOPED_TRACE(absl::StrCat("killed at entry ", entries, " of ", last));
    KillAt(entries);
    cluster_.StartHost("server0");
    const ChangeOutcome outcome = FinishChange(apply_.get());
    ExpectAsReported(outcome);
    const ApplyResult::Outcome end = outcome.Host("server0").outcome();
    ++seen[end];
    if (end == ApplyResult::APPLIED) {
      const ChangeOutcome back = cluster_.RollBack(outcome.report.apply_id());
      ASSERT_EQ(back.process.exit_status, 0) << back.process.standard_output;
    }
    ASSERT_THAT(DifferencesFrom(before_, cluster_.Server("server0")),
                IsEmpty());
  }
  // Both ends were seen; if nothing hangs, the last entry is a race.
  EXPECT_GE(seen[ApplyResult::UNDONE], 1);
  EXPECT_GE(seen[ApplyResult::APPLIED], 1);
}

// Kills only clusterd: there may be no service manager that ends its tools.
TEST_F(KilledHostTest, IsAsBeforeWhenAToolWasAtWork) {
  DeviceGate gate(cluster_.Root("server0"));
  const auto apply = cluster_.StartApply();
  const std::string id = WaitForRunId(apply.get());
  const auto at_device = [&] {
    for (const JournalEntry& entry : cluster_.Journal("server0", id)) {
      for (const SavedResource& saved : entry.intent().saved()) {
        if (saved.has_device()) return true;
      }
    }
    return false;
  };
  ASSERT_TRUE(WaitUntil(at_device));
  const pid_t clusterd = cluster_.host("server0").pid();
  ASSERT_TRUE(WaitUntil([&] { return !ChildrenOf(clusterd).empty(); }));
  const std::vector<pid_t> tools = ChildrenOf(clusterd);
  cluster_.host("server0").EndBy(SIGKILL);
  cluster_.StartHost("server0");
  const ChangeOutcome outcome = FinishChange(apply.get());
  gate.Open();
  for (const pid_t tool : tools) {
    // Also if the first process of this machine does not collect its status.
    const std::string words = absl::StrCat("/proc/", tool, "/cmdline");
    EXPECT_TRUE(WaitUntil([&] { return TextOfFile(words).empty(); }));
  }
  EXPECT_EQ(outcome.Host("server0").outcome(), ApplyResult::UNDONE);
  ExpectAsReported(outcome);
}

TEST_F(KilledHostTest, FinishesARollback) {
  const ChangeOutcome applied = cluster_.Apply();
  ASSERT_EQ(applied.process.exit_status, 0) << applied.process.standard_output;
  const std::string id = applied.report.apply_id();
  const size_t entries = cluster_.Journal("server0", id).size();
  DeviceGate gate(cluster_.Root("server0"));
  Process rollback(
      cluster_.Clusterctl({"rollback", id, "--yes", "-o", "json"}));
  ASSERT_TRUE(cluster_.WaitForJournal("server0", id, entries + 1));
  cluster_.KillHost("server0");
  gate.Open();
  cluster_.StartHost("server0");
  const ChangeOutcome back = FinishChange(&rollback);
  EXPECT_EQ(back.process.exit_status, 0) << back.process.standard_output;
  EXPECT_EQ(back.Host("server0").outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_THAT(DifferencesFrom(before_, cluster_.Server("server0")), IsEmpty());
  EXPECT_EQ(EntryOf(cluster_, back.report.run_id()).outcome(), "succeeded");
}

// Later steps of clusterd's start cannot prevent the undo.
TEST_F(KilledHostTest, IsAsBeforeThoughItsConfigAndCertificateAreWrong) {
  const std::string config = cluster_.folder() + "/server0.yaml";
  const std::string good = TextOfFile(config);
  for (const bool wrong_config : {true, false}) {
    SCOPED_TRACE(wrong_config ? "agent.yaml" : "certificate");
    const std::string id = KillAt(kEntriesAtDevice5);
    ASSERT_THAT(DifferencesFrom(before_, cluster_.Server("server0")),
                Not(IsEmpty()));
    if (wrong_config) std::ofstream(config) << "allow: [observe\nstat: /srv\n";
    Process& daemon = cluster_.StartHostAs(
        "server0", wrong_config ? "server0" : "no-such-certificate");
    EXPECT_EQ(daemon.Wait().exit_status, wrong_config ? 3 : 1);
    EXPECT_THAT(DifferencesFrom(before_, cluster_.Server("server0")),
                IsEmpty());
    EXPECT_THAT(AuditedUndo(cluster_, id),
                ElementsAre("begins", StartsWith("UNDONE: clusterd ended")));
    std::ofstream(config) << good;
    cluster_.StartHost("server0");
    EXPECT_EQ(FinishChange(apply_.get()).Host("server0").outcome(),
              ApplyResult::UNDONE);
  }
}

// A user who may open a device cannot keep the host half applied.
TEST_F(KilledHostTest, IsAsBeforeThoughAProcessKeepsTheDeviceOpen) {
  const std::string id = KillAt(kEntriesAtDevice5);
  const int device = open((cluster_.Root("server0") + "/dev/davinci3").c_str(),
                          O_RDONLY | O_CLOEXEC);
  ASSERT_GE(device, 0);
  cluster_.StartHost("server0");
  const ApplyResult undone = FinishChange(apply_.get()).Host("server0");
  EXPECT_EQ(undone.outcome(), ApplyResult::UNDONE);
  EXPECT_THAT(undone.forced(), ElementsAre(Tells("plan-say-in-use", 3)));
  EXPECT_THAT(DifferencesFrom(before_, cluster_.Server("server0")), IsEmpty());
  EXPECT_THAT(AuditedUndo(cluster_, id),
              ElementsAre("begins", StartsWith("UNDONE: clusterd ended")));
  close(device);
}

}  // namespace
}  // namespace clusterd
