#include "absl/strings/str_cat.h"
#include "client/files/user_files.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/client/sample_plan.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::EndsWith, ::testing::HasSubstr,
    ::testing::StartsWith;

constexpr char kRun[] = "3fa2c4d5e6f70812";

ProgramWorld WorldOf(HistoryKind kind) {
  ProgramWorld world;
  HistoryEntry& entry = *world.script.record.mutable_entry();
  entry.set_id(kRun);
  entry.set_kind(kind);
  entry.set_actor("ann");
  entry.set_started_at_ms(1735689600000);
  entry.set_outcome("pass");
  return world;
}

TEST(ShowCommandTest, PrintsACheckAsCheckDoes) {
  ProgramWorld world = WorldOf(HISTORY_CHECK);
  *world.script.record.mutable_report() = PassingReport({"server0"});
  WatchedController controller(world);
  EXPECT_THAT(RunProgram({"show", "3fa2"}, world),
              Ends(0,
                   Out(StartsWith(Say("history-entry", "check", kRun, "ann",
                                      "2025-01-01 00:00:00 +00:00", "pass"))),
                   Out(HasSubstr("\n\nCluster demo, atlas-training, 1 host")),
                   Out(HasSubstr("PASS: 1 passed of 1 rule"))));
  EXPECT_EQ(controller.record_id(), "3fa2");
  EXPECT_THAT(RunProgram({"show", "3fa2", "-o", "short"}, world).out,
              StartsWith("demo: PASS: 1 passed;"));
}

TEST(ShowCommandTest, PrintsAPlanAndGivesItBackAsAFile) {
  ProgramWorld world = WorldOf(HISTORY_PLAN);
  *world.script.record.mutable_plan() = EveryStepPlan();
  const ProgramOutput output = RunProgram({"show", "3fa2", "--verbose"}, world);
  EXPECT_THAT(output.out, HasSubstr("net.core.somaxconn: 4096 -> 65535"));
  EXPECT_THAT(output.out, HasSubstr("undo    write 4096"));
  const ProgramOutput json = RunProgram({"show", "3fa2", "-o", "json"}, world);
  EXPECT_EQ(ParsePlanFile(json.out)->digest(), EveryStepPlan().digest());
}

TEST(ShowCommandTest, PrintsACheckInEveryFormat) {
  ProgramWorld world = WorldOf(HISTORY_CHECK);
  *world.script.record.mutable_report() = PassingReport({"server0"});
  for (const auto& [format, text] :
       {std::pair("yaml", "\ncluster: demo\n"),
        std::pair("jsonl", "{\"kind\": \"host\", "),
        std::pair("junit", "name=\"link: server0\""),
        std::pair("markdown", "## PASS: `demo` is ready\n"),
        std::pair("html", "PASS: demo is ready</h1>")}) {
    EXPECT_THAT(RunProgram({"show", "3fa2", "-o", format}, world),
                Ends(0, Out(HasSubstr(text))));
  }
}

TEST(ShowCommandTest, RefusesTheFormatsOfACheckForAnythingElse) {
  ProgramWorld world = WorldOf(HISTORY_PLAN);
  *world.script.record.mutable_plan() = EveryStepPlan();
  for (const char* format : {"jsonl", "junit", "markdown", "html"}) {
    EXPECT_THAT(RunProgram({"show", "3fa2", "-o", format}, world),
                Ends(3, Out(""),
                     Err(Tells("msg-format-of-other-report", format,
                               "table, short, json, yaml"))));
  }
  EXPECT_THAT(RunProgram({"show", "3fa2", "-o", "yaml"}, world).out,
              HasSubstr("\ndigest: "));
}

TEST(ShowCommandTest, GivesAnErrorInTheFormatThatWasAskedFor) {
  ProgramWorld world;
  world.script.record_status = Away();
  const std::string why = ValueText(FromController("away"));
  EXPECT_THAT(RunProgram({"show", "3fa2", "-o", "yaml"}, world),
              Ends(2, Out(HasSubstr(absl::StrCat("\nerror: \"", why,
                                                 "\"\nexit_status: 2\n")))));
  EXPECT_THAT(RunProgram({"show", "3fa2", "-o", "jsonl"}, world).out,
              StartsWith("{\"kind\": \"error\", "));
}

TEST(ShowCommandTest, PrintsAnApplyThatIsUnderWay) {
  ProgramWorld world = WorldOf(HISTORY_APPLY);
  *world.script.record.mutable_apply() = ReportOf(
      ApplyReport::RUNNING,
      {ResultOf("server0", ApplyResult::APPLIED), ResultOf("server1", {})});
  EXPECT_THAT(RunProgram({"show", "3fa2"}, world),
              Ends(0, Out(HasSubstr("RUNNING: 1 applied, 1 no answer"))));
  EXPECT_THAT(RunProgram({"show", "3fa2", "-o", "json"}, world).out,
              HasSubstr("\"run_id\": \"3fa2c4d5e6f70812\""));
}

TEST(ShowCommandTest, NeverCallsARunningHostLost) {
  ProgramWorld world = WorldOf(HISTORY_APPLY);
  *world.script.record.mutable_apply() =
      ReportOf(ApplyReport::RUNNING,
               {ResultOf("server0", ApplyResult::APPLIED),
                ResultOf("server1", ApplyResult::RUNNING, "was asked")});
  EXPECT_THAT(RunProgram({"show", "3fa2"}, world).out,
              AllOf(HasSubstr("  ? running  server1  was asked\n"),
                    HasSubstr("RUNNING: 1 applied, 1 running of")));
}

TEST(ShowCommandTest, SaysWhenNoMoreIsKept) {
  const ProgramWorld world = WorldOf(HISTORY_ROLLBACK);
  EXPECT_THAT(RunProgram({"show", "3fa2"}, world).out,
              EndsWith(absl::StrCat("\n\n", Say("history-no-more"), "\n")));
  EXPECT_THAT(RunProgram({"show", "3fa2", "-o", "short"}, world).out,
              StartsWith("rollback 3fa2"));
}

TEST(ShowCommandTest, ExitsWithThreeForAnIdThatNobodyKnows) {
  ProgramWorld world;
  world.script.record_status = {grpc::StatusCode::NOT_FOUND, "no run \"3fa2\""};
  EXPECT_THAT(RunProgram({"show", "3fa2"}, world),
              Ends(3, Err(Line("show", FromController("no run \"3fa2\"")))));
}

TEST(ShowCommandTest, NamesEveryMistake) {
  EXPECT_THAT(RunProgram({"show", "3f", "--timeout", "y", "-o", "z"}),
              Ends(3, Err(Tells("msg-run-id-not-valid", "ID", "3f")),
                   Err(HasSubstr("--timeout: \"y\"")),
                   Err(HasSubstr("--output: \"z\""))));
}

}  // namespace
}  // namespace clusterd
