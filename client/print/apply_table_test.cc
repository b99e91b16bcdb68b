#include "client/print/apply_table.h"

#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/support/client/sample_plan.h"

namespace clusterd {
namespace {

Style Utf8() {
  Style style;
  style.utf8 = true;
  return style;
}

std::string Printed(const ApplyReport& report, const Style& style) {
  std::ostringstream out;
  PrintApplyTable(report, style, out);
  return out.str();
}

ApplyReport StoppedRun() {
  ApplyResult failed = ResultOf("node3", ApplyResult::UNDONE_WITH_RESIDUES,
                                "step 2: Read-only file system");
  failed.add_residues("net.core.somaxconn is 128, was 4096");
  failed.add_forced("device 0 is used by python3 (pid 4711)");
  StepOutcome& step = *failed.add_steps();
  step.set_step(1);
  step.set_state(StepOutcome::DONE);
  step.set_detail("the file's mode was put back");
  return ReportOf(
      ApplyReport::STOPPED,
      {failed, ResultOf("node1", ApplyResult::APPLIED),
       ResultOf("node2", ApplyResult::APPLIED),
       ResultOf("node4", ApplyResult::LOST, "no answer in 90s"),
       ResultOf("node5", ApplyResult::NOT_STARTED, "wave 1 failed"),
       ResultOf("node6", ApplyResult::NOT_STARTED, "wave 1 failed")});
}

TEST(ApplyTableTest, FoldsHostsOfOneEndAndPutsFailuresLast) {
  EXPECT_EQ(
      Printed(StoppedRun(), Utf8()),
      "Cluster demo, apply 3fa2c4d5e6f70812 of plan 9c41d2e3f4051627 by ann\n"
      "\n"
      "Hosts\n"
      "  - not started           node[5-6]  wave 1 failed\n"
      "  √ applied               node[1-2]  2 steps\n"
      "  ? lost                  node4      no answer in 90s\n"
      "  × undone with residues  node3      step 2: Read-only file system\n"
      "    step     1 done: the file's mode was put back\n"
      "    residue  net.core.somaxconn is 128, was 4096\n"
      "    forced   device 0 is used by python3 (pid 4711)\n"
      "\n"
      "STOPPED: 2 not started, 2 applied, 1 lost, 1 undone with residues of 6 "
      "hosts in 12 s\n"
      "to roll back, run: clusterctl rollback 3fa2c4d5e6f70812\n");
}

TEST(ApplyTableTest, SpeaksChinese) {
  const InLanguage chinese(Language::kChinese);
  EXPECT_EQ(
      Printed(StoppedRun(), Utf8()),
      "集群 demo，执行变更 3fa2c4d5e6f70812，变更计划 "
      "9c41d2e3f4051627，操作者 ann\n"
      "\n"
      "主机\n"
      "  - 未开始          node[5-6]  wave 1 failed\n"
      "  √ 已执行          node[1-2]  2 步\n"
      "  ? 失联            node4      no answer in 90s\n"
      "  × 已撤销但有残留  node3      step 2: Read-only file system\n"
      "    步骤     1 完成：the file's mode was put back\n"
      "    残留     net.core.somaxconn is 128, was 4096\n"
      "    强制     device 0 is used by python3 (pid 4711)\n"
      "\n"
      "已停止：2 台未开始，2 台已执行，1 台失联，1 台已撤销但有残留，共 6 "
      "台主机，用时 12 s\n"
      "如需回退，执行：clusterctl rollback 3fa2c4d5e6f70812\n");
}

TEST(ApplyTableTest, TellsWavesAndFoldsThoseThatEndedTheSame) {
  ApplyReport report = ReportOf(
      ApplyReport::CANCELLED,
      {ResultOf("node1", ApplyResult::APPLIED),
       ResultOf("node2", ApplyResult::APPLIED),
       ResultOf("node3", ApplyResult::APPLIED),
       ResultOf("node4", ApplyResult::APPLIED),
       ResultOf("node5", ApplyResult::NOTHING_TO_DO),
       ResultOf("node6", ApplyResult::NOT_STARTED, "cancelled by bob")});
  report.set_wave_size(2);
  EXPECT_FALSE(absl::StrContains(Printed(StoppedRun(), Utf8()), "Waves"));
  EXPECT_TRUE(absl::StrContains(Printed(report, Utf8()),
                                "\nWaves\n"
                                "  1-2 of 3  node[1-4]  applied\n"
                                "  3 of 3    node[5-6]  1 nothing to do, 1 not "
                                "started\n"
                                "\nCANCELLED: "))
      << Printed(report, Utf8());
  report.set_canary(1);
  EXPECT_TRUE(absl::StrContains(Printed(report, Utf8()),
                                "  1-2 of 4  node[1-3]  applied\n"))
      << Printed(report, Utf8());
  EXPECT_EQ(SupportedVerdict(report), UNKNOWN);
}

TEST(ApplyTableTest, TellsARollback) {
  ApplyReport report = ReportOf(
      ApplyReport::SUCCEEDED, {ResultOf("node1", ApplyResult::ROLLED_BACK),
                               ResultOf("node2", ApplyResult::NOTHING_TO_DO)});
  report.set_rollback(true);
  report.set_run_id("77770000aaaabbbb");
  report.set_force(true);
  report.add_notes("hosts are simulated");
  Style ascii;
  EXPECT_EQ(Printed(report, ascii),
            "Cluster demo, rollback 77770000aaaabbbb of apply "
            "3fa2c4d5e6f70812 by ann, forced\n"
            "note: hosts are simulated\n"
            "\n"
            "Hosts\n"
            "  + rolled back    node1\n"
            "  + nothing to do  node2\n"
            "\n"
            "SUCCEEDED: 1 rolled back, 1 nothing to do of 2 hosts in 12 s\n");
}

TEST(ApplyTableTest, SaysThatAHostWasAlreadySo) {
  ApplyResult so = ResultOf("node1", ApplyResult::NOTHING_TO_DO);
  for (const uint32_t id : {1, 2}) {
    so.add_steps()->set_step(id);
    so.mutable_steps()->rbegin()->set_state(StepOutcome::ALREADY_SO);
  }
  EXPECT_TRUE(absl::StrContains(
      Printed(ReportOf(ApplyReport::SUCCEEDED, {so}), Utf8()),
      "  √ nothing to do  node1  2 steps, 2 already in place\n"
      "\n"
      "SUCCEEDED: 1 nothing to do of 1 host in 12 s\n"));
}

TEST(ApplyTableTest, FoldsAReasonThatNamesItsOwnHost) {
  EXPECT_TRUE(absl::StrContains(
      Printed(
          ReportOf(
              ApplyReport::STOPPED,
              {ResultOf("node1", ApplyResult::REFUSED, "node1: facts moved"),
               ResultOf("node2", ApplyResult::REFUSED, "node2: facts moved")}),
          Utf8()),
      "  × refused  node[1-2]  facts moved\n"));
}

TEST(ApplyTableTest, DoesNotCallFailedWhatALaterRollbackTookBack) {
  const std::string printed =
      Printed(ReportOf(ApplyReport::SUCCEEDED,
                       {ResultOf("node1", ApplyResult::APPLIED),
                        ResultOf("node2", ApplyResult::ROLLED_BACK)}),
              Utf8());
  EXPECT_TRUE(absl::StrContains(printed, "  - rolled back  node2\n"))
      << printed;
  EXPECT_TRUE(absl::StrContains(printed,
                                "PARTLY ROLLED BACK: 1 rolled back, 1 applied"))
      << printed;
}

TEST(ApplyTableTest, StaysReadableWhenEveryHostFailsInItsOwnWay) {
  std::vector<ApplyResult> hosts;
  for (int i = 0; i < 10'000; ++i) {
    hosts.push_back(ResultOf(absl::StrCat("node", i), ApplyResult::UNDONE,
                             absl::StrCat("reason ", i)));
  }
  const std::string printed =
      Printed(ReportOf(ApplyReport::STOPPED, hosts), Utf8());
  const std::vector<std::string> lines = absl::StrSplit(printed, '\n');
  EXPECT_LT(lines.size(), 60u);
  EXPECT_TRUE(absl::StrContains(printed, "9960 more groups; -o json has all"));
  EXPECT_TRUE(absl::StrContains(printed, "STOPPED: 10000 undone of 10000"));
}

TEST(ApplyTableTest, KeepsToTheWindow) {
  Style style = Utf8();
  style.width = 60;
  ApplyReport report = StoppedRun();
  report.mutable_hosts(0)->set_error(
      "step 2: a long reason that goes on and on and on until the line is full "
      "and then some");
  for (const absl::string_view line :
       absl::StrSplit(Printed(report, style), '\n')) {
    // Leaves out the two lines to be copied; a symbol has up to three bytes.
    if (absl::StartsWith(line, "Cluster")) continue;
    EXPECT_LE(line.size(), 62u) << line;
  }
}

TEST(ApplyTableTest, IsSafeForATerminal) {
  ApplyReport report = StoppedRun();
  ApplyResult& host = *report.mutable_hosts(0);
  host.set_host("\x1b[2J");
  host.set_error("a\nb\x1b");
  host.set_residues(0, "\x1b");
  report.set_actor("\x1b");
  report.add_notes("\x1b");
  report.set_run_id("\x1b");
  report.set_apply_id("\x1b");
  EXPECT_EQ(Printed(report, Utf8()).find('\x1b'), std::string::npos);
  EXPECT_EQ(ApplyShort(report).find('\x1b'), std::string::npos);
  EXPECT_EQ(HostEndLine(host, false, Utf8()).find('\x1b'), std::string::npos);
}

TEST(ApplyShortTest, IsOneLine) {
  EXPECT_EQ(ApplyShort(StoppedRun()),
            "demo: apply 3fa2c4d5e6f70812 STOPPED: 2 not started, 2 applied, 1 "
            "lost, 1 undone with residues of 6 hosts in 12 s");
}

TEST(HostEndLineTest, SaysHowTheHostEndedAndWhy) {
  EXPECT_EQ(HostEndLine(ResultOf("node1", ApplyResult::APPLIED), false, Utf8()),
            "√ applied  node1  2 steps (1.2 s)");
  EXPECT_EQ(HostEndLine(ResultOf("node1", ApplyResult::REFUSED,
                                 "sysctl is not allowed (allow)"),
                        false, Utf8()),
            "× refused  node1  sysctl is not allowed (allow) (1.2 s)");
}

TEST(ApplyShortTest, NamesNoClusterWhereNoneIsSet) {
  ApplyReport report = StoppedRun();
  report.clear_cluster();
  EXPECT_EQ(ApplyShort(report).rfind("apply ", 0), 0u) << ApplyShort(report);
}

}  // namespace
}  // namespace clusterd
