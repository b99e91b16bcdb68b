#include "client/print/apply_table.h"

#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/words/number_text.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/client/golden.h"
#include "tests/support/client/sample_plan.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Printed(const ApplyReport& report, const Style& style = Utf8()) {
  std::ostringstream out;
  PrintApplyTable(report, style, out);
  return out.str();
}

ApplyReport StoppedRun() {
  ApplyResult failed = ResultOf("node3", ApplyResult::UNDONE_WITH_RESIDUES,
                                "step 2: Read-only file system");
  failed.add_residues("net.core.somaxconn is 128, was 4096");
  failed.add_forced("device 0 is used by python3 (pid 4711)");
  MergeText(
      R"(steps {step: 1 state: DONE detail: "the file's mode was put back"})",
      &failed);
  return ReportOf(
      ApplyReport::STOPPED,
      {failed, ResultOf("node1", ApplyResult::APPLIED),
       ResultOf("node2", ApplyResult::APPLIED),
       ResultOf("node4", ApplyResult::LOST, "no answer in 90s"),
       ResultOf("node5", ApplyResult::NOT_STARTED, "wave 1 failed"),
       ResultOf("node6", ApplyResult::NOT_STARTED, "wave 1 failed")});
}

TEST(ApplyTableTest, FoldsHostsOfOneEndAndPutsFailuresLast) {
  ExpectGoldenInBoth("tables/apply", [] {
    return absl::StrCat(Printed(StoppedRun()), ApplyShort(StoppedRun()), "\n");
  });
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
  ExpectGolden("tables/apply-waves.txt", Printed(report));
  report.set_canary(1);
  EXPECT_THAT(Printed(report), HasSubstr("  1-2 of 4  node[1-3]  applied\n"));
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
  ExpectGolden("tables/apply-rollback.txt", Printed(report, Style()));
}

TEST(ApplyTableTest, SaysThatAHostWasAlreadySo) {
  ApplyResult so = ResultOf("node1", ApplyResult::NOTHING_TO_DO);
  for (const uint32_t id : {1, 2}) {
    so.add_steps()->set_step(id);
    so.mutable_steps()->rbegin()->set_state(StepOutcome::ALREADY_SO);
  }
  ExpectGolden("tables/apply-already.txt",
               Printed(ReportOf(ApplyReport::SUCCEEDED, {so})));
}

TEST(ApplyTableTest, ShowsTheErrorOfAFailedStepOnce) {
  ApplyResult failed = ResultOf("node1", ApplyResult::UNDONE, "第 2 步：why");
  StepOutcome& step = *failed.add_steps();
  step.set_step(2);
  step.set_state(StepOutcome::FAILED);
  step.set_detail("why it failed");
  const auto printed = [&] {
    return Printed(ReportOf(ApplyReport::STOPPED, {failed}));
  };
  EXPECT_THAT(printed(), Not(HasSubstr("why it failed")));
  failed.clear_error();
  EXPECT_THAT(printed(), HasSubstr("why it failed"));
}

TEST(ApplyTableTest, DoesNotCallFailedWhatALaterRollbackTookBack) {
  const std::string printed =
      Printed(ReportOf(ApplyReport::SUCCEEDED,
                       {ResultOf("node1", ApplyResult::APPLIED),
                        ResultOf("node2", ApplyResult::ROLLED_BACK)}),
              Utf8());
  EXPECT_THAT(printed, HasSubstr("  - rolled back  node2\n"));
  EXPECT_THAT(printed,
              HasSubstr("PARTLY ROLLED BACK: 1 rolled back, 1 applied"));
}

TEST(ApplyTableTest, StaysReadableWhenEveryHostFailsInItsOwnWay) {
  std::vector<ApplyResult> hosts;
  for (int i = 0; i < 10'000; ++i) {
    hosts.push_back(ResultOf(absl::StrCat("node", i), ApplyResult::UNDONE,
                             absl::StrCat("reason ", i)));
  }
  const std::string printed = Printed(ReportOf(ApplyReport::STOPPED, hosts));
  const std::vector<std::string> lines = absl::StrSplit(printed, '\n');
  EXPECT_LT(lines.size(), 60u);
  EXPECT_THAT(printed, HasSubstr(Say("list-more-groups-json",
                                     Count(9960, "more group"))));
  EXPECT_THAT(printed, HasSubstr("STOPPED: 10000 undone of 10000"));
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
  MergeText(R"(actor: "\x1b" notes: "\x1b" run_id: "\x1b" apply_id: "\x1b")",
            &report);
  EXPECT_EQ(Printed(report).find('\x1b'), std::string::npos);
  EXPECT_EQ(ApplyShort(report).find('\x1b'), std::string::npos);
  EXPECT_EQ(HostEndLine(host, false, Utf8()).find('\x1b'), std::string::npos);
}

TEST(HostEndLineTest, SaysHowTheHostEndedAndWhy) {
  EXPECT_EQ(HostEndLine(ResultOf("node1", ApplyResult::APPLIED), false, Utf8()),
            "√ applied  node1  2 steps (1.2 s)");
  EXPECT_EQ(HostEndLine(ResultOf("node1", ApplyResult::REFUSED, "not allowed"),
                        false, Utf8()),
            "× refused  node1  not allowed (1.2 s)");
}

TEST(ApplyShortTest, NamesNoClusterWhereNoneIsSet) {
  ApplyReport report = StoppedRun();
  report.clear_cluster();
  EXPECT_EQ(ApplyShort(report).rfind("apply ", 0), 0u) << ApplyShort(report);
}

}  // namespace
}  // namespace clusterd
