#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/files/user_files.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/client/sample_plan.h"

namespace clusterd {
namespace {

using Arguments = std::vector<std::string>;

ProgramWorld WorldOf(HistoryKind kind) {
  ProgramWorld world;
  HistoryEntry& entry = *world.script.record.mutable_entry();
  entry.set_id("3fa2c4d5e6f70812");
  entry.set_kind(kind);
  entry.set_actor("ann");
  entry.set_started_at_ms(1735689600000);
  entry.set_outcome("pass");
  return world;
}

TEST(ShowCommandTest, PrintsACheckAsCheckDoes) {
  ProgramWorld world = WorldOf(HISTORY_CHECK);
  *world.script.record.mutable_report() = PassingReport({"server0"});
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output = RunProgram({"show", "3fa2"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(controller.record_id(), "3fa2");
  EXPECT_TRUE(absl::StartsWith(
      output.out,
      "check 3fa2c4d5e6f70812 by ann, 2025-01-01 00:00:00 +00:00: pass\n\n"
      "Cluster demo, atlas-training, 1 host: server0\n"))
      << output.out;
  EXPECT_TRUE(absl::StrContains(output.out, "PASS: 1 passed of 1 rule"));
  EXPECT_EQ(RunProgram({"show", "3fa2", "-o", "short"}, world).out,
            "demo: PASS: 1 passed; 1 host in 1.3 s\n");
}

TEST(ShowCommandTest, PrintsAPlanAndGivesItBackAsAFile) {
  ProgramWorld world = WorldOf(HISTORY_PLAN);
  *world.script.record.mutable_plan() = EveryStepPlan();
  const ProgramOutput output = RunProgram({"show", "3fa2", "--verbose"}, world);
  EXPECT_TRUE(
      absl::StrContains(output.out, "net.core.somaxconn: 4096 -> 65535"));
  EXPECT_TRUE(absl::StrContains(output.out, "undo    write 4096"));
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
    const ProgramOutput output =
        RunProgram({"show", "3fa2", "-o", format}, world);
    EXPECT_EQ(output.status, 0) << output.err;
    EXPECT_TRUE(absl::StrContains(output.out, text)) << output.out;
  }
}

TEST(ShowCommandTest, RefusesTheFormatsOfACheckForAnythingElse) {
  ProgramWorld world = WorldOf(HISTORY_PLAN);
  *world.script.record.mutable_plan() = EveryStepPlan();
  for (const char* format : {"jsonl", "junit", "markdown", "html"}) {
    const ProgramOutput output =
        RunProgram({"show", "3fa2", "-o", format}, world);
    EXPECT_EQ(output.status, 3);
    EXPECT_EQ(output.out, "");
    EXPECT_TRUE(absl::StrContains(
        output.err,
        absl::StrCat("--output: ", format,
                     " is for the report of a check, and "
                     "this is not one, expected table, short, json, yaml\n")))
        << output.err;
  }
  EXPECT_TRUE(absl::StrContains(
      RunProgram({"show", "3fa2", "-o", "yaml"}, world).out, "\ndigest: "));
}

TEST(ShowCommandTest, GivesAnErrorInTheFormatThatWasAskedFor) {
  ProgramWorld world;
  world.script.record_status =
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
  EXPECT_TRUE(absl::StrContains(
      RunProgram({"show", "3fa2", "-o", "yaml"}, world).out,
      "\nerror: \"controller head:7443: away\"\nexit_status: 2\n"));
  EXPECT_TRUE(
      absl::StartsWith(RunProgram({"show", "3fa2", "-o", "jsonl"}, world).out,
                       "{\"kind\": \"error\", "));
}

TEST(ShowCommandTest, PrintsAnApplyThatIsUnderWay) {
  ProgramWorld world = WorldOf(HISTORY_APPLY);
  *world.script.record.mutable_apply() = ReportOf(
      ApplyReport::RUNNING,
      {ResultOf("server0", ApplyResult::APPLIED), ResultOf("server1", {})});
  const ProgramOutput output = RunProgram({"show", "3fa2"}, world);
  EXPECT_EQ(output.status, 0);
  EXPECT_TRUE(absl::StrContains(
      output.out, "RUNNING: 1 applied, 1 no answer yet of 2 hosts"))
      << output.out;
  EXPECT_TRUE(
      absl::StrContains(RunProgram({"show", "3fa2", "-o", "json"}, world).out,
                        "\"run_id\": \"3fa2c4d5e6f70812\""));
}

TEST(ShowCommandTest, NeverCallsARunningHostLost) {
  ProgramWorld world = WorldOf(HISTORY_APPLY);
  *world.script.record.mutable_apply() = ReportOf(
      ApplyReport::RUNNING, {ResultOf("server0", ApplyResult::APPLIED),
                             ResultOf("server1", ApplyResult::RUNNING,
                                      "asked, and has not answered yet")});
  const ProgramOutput output = RunProgram({"show", "3fa2"}, world);
  EXPECT_TRUE(absl::StrContains(
      output.out, "  ? running  server1  asked, and has not answered yet\n"))
      << output.out;
  EXPECT_TRUE(absl::StrContains(output.out, "RUNNING: 1 applied, 1 running of"))
      << output.out;
}

TEST(ShowCommandTest, SaysWhenNoMoreIsKept) {
  const ProgramWorld world = WorldOf(HISTORY_ROLLBACK);
  EXPECT_TRUE(absl::EndsWith(RunProgram({"show", "3fa2"}, world).out,
                             "\n\nno more is kept of it\n"));
  EXPECT_TRUE(absl::StartsWith(
      RunProgram({"show", "3fa2", "-o", "short"}, world).out, "rollback 3fa2"));
}

TEST(ShowCommandTest, ExitsWithThreeForAnIdThatNobodyKnows) {
  ProgramWorld world;
  world.script.record_status =
      grpc::Status(grpc::StatusCode::NOT_FOUND, "no run \"3fa2\"");
  const ProgramOutput output = RunProgram({"show", "3fa2"}, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(output.err,
            "clusterctl show: controller head:7443: no run \"3fa2\"\n");
}

TEST(ShowCommandTest, ExitsWithTwoWhenTheControllerIsAway) {
  ProgramWorld world;
  world.script.record_status =
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
  EXPECT_EQ(RunProgram({"show", "3fa2"}, world).status, 2);
}

TEST(ShowCommandTest, NamesEveryMistake) {
  const ProgramOutput output =
      RunProgram({"show", "3f", "--timeout", "y", "-o", "z"});
  EXPECT_EQ(output.status, 3);
  for (const char* text : {"ID: \"3f\", expected 4 to 16 characters",
                           "--timeout: \"y\"", "--output: \"z\""}) {
    EXPECT_TRUE(absl::StrContains(output.err, text)) << text << "\n"
                                                     << output.err;
  }
}

}  // namespace
}  // namespace clusterd
