// Early ends of a run: cancel, apply --abort, and Ctrl-C during an apply.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/files/user_files.h"
#include "config/values/version.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/client/sample_plan.h"
#include "tests/support/config/plan_steps.h"

namespace clusterd {
namespace {

constexpr char kRun[] = "3fa2c4d5e6f70812";

CancelResponse CancelOf(uint32_t wave, uint32_t at_work, uint32_t left) {
  CancelResponse response;
  response.set_schema_version(1);
  response.set_run_id("3fa2c4d5e6f70812");
  response.set_actor("ann");
  response.mutable_cancelled()->set_actor("bob");
  response.mutable_cancelled()->set_wave(wave);
  response.set_waves(3);
  response.set_at_work(at_work);
  response.set_not_started(left);
  return response;
}

TEST(CancelCommandTest, SaysWhatIsFinishedAndWhatIsLeftOut) {
  ProgramWorld world;
  world.script.cancelled = CancelOf(1, 2, 4);
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output = RunProgram({"cancel", "3fa2"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(controller.cancelled_id(), "3fa2");
  EXPECT_EQ(output.out,
            "apply 3fa2c4d5e6f70812 of ann: cancelled by bob in wave 1 of 3: 2 "
            "hosts finish what is under way, 4 hosts are not started\n"
            "for its status, run: clusterctl show 3fa2c4d5e6f70812\n");
}

TEST(CancelCommandTest, SaysThatTheLastWaveLeavesNothingOut) {
  ProgramWorld world;
  world.script.cancelled = CancelOf(3, 1, 0);
  world.script.cancelled.set_rollback(true);
  const std::string line =
      RunProgram({"cancel", "3fa2", "-o", "short"}, world).out;
  for (const char* text :
       {"rollback 3fa2c4d5e6f70812", "of ann", "by bob",
        "wave 3 of 3, the last", "1 host finishes", "no host is left out\n"}) {
    EXPECT_TRUE(absl::StrContains(line, text)) << text << ": " << line;
  }
}

TEST(CancelCommandTest, JsonHasASchemaVersion) {
  ProgramWorld world;
  world.script.cancelled = CancelOf(1, 2, 4);
  const ProgramOutput output =
      RunProgram({"cancel", "3fa2", "-o", "json"}, world);
  CancelResponse response;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(output.out, &response).ok())
      << output.out;
  EXPECT_EQ(response.schema_version(), kReportSchemaVersion);
  EXPECT_EQ(response.cancelled().actor(), "bob");
}

TEST(CancelCommandTest, UnknownOrFinishedRunIsStatus3) {
  for (const grpc::Status& refused :
       {grpc::Status(grpc::StatusCode::NOT_FOUND, "no entry 3fa2"),
        grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                     "apply 3fa2c4d5e6f70812 of ann: is already over")}) {
    ProgramWorld world;
    world.script.cancel_status = refused;
    const ProgramOutput output = RunProgram({"cancel", "3fa2"}, world);
    EXPECT_EQ(output.status, 3);
    EXPECT_EQ(output.out, "");
    EXPECT_TRUE(absl::StrContains(output.err, refused.error_message()))
        << output.err;
  }
  EXPECT_TRUE(
      absl::StrContains(HelpOfStatus("cancel", 3), "that is already over"));
}

TEST(CancelCommandTest, RoleThatIsNotEnoughIsStatus2) {
  ProgramWorld world;
  world.script.cancel_status = grpc::Status(grpc::StatusCode::PERMISSION_DENIED,
                                            "Cancel needs role operator");
  EXPECT_EQ(RunProgram({"cancel", "3fa2"}, world).status, 2);
  EXPECT_TRUE(
      absl::StrContains(HelpOfStatus("cancel", 2), "role is not sufficient"));
}

TEST(CancelCommandTest, WrongIdIsNotAsked) {
  ProgramWorld world;
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output = RunProgram({"cancel", "XYZ"}, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(controller.cancelled_id(), "");
  EXPECT_TRUE(absl::StrContains(output.err, "ID: \"XYZ\", expected 4 to 16"));
}

AbortApplyResponse AbortOf(std::vector<std::string> hosts, uint32_t left) {
  AbortApplyResponse response;
  response.set_schema_version(1);
  response.set_run_id("3fa2c4d5e6f70812");
  response.set_actor("ann");
  response.set_aborted_by("bob");
  for (std::string& host : hosts) response.add_given_up(std::move(host));
  response.set_not_started(left);
  return response;
}

TEST(AbortTest, SaysWhoIsNotWaitedForAndWhatIsLeftOut) {
  ProgramWorld world;
  world.script.aborted = AbortOf({"node01", "node02"}, 4);
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output = RunProgram({"apply", "--abort", "3fa2"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(controller.aborted_id(), "3fa2");
  EXPECT_FALSE(controller.apply_request().has_value());
  EXPECT_EQ(output.out,
            "apply 3fa2c4d5e6f70812 of ann: aborted by bob; the controller no "
            "longer waits for node[01-02], where what began is finished or "
            "undone; 4 hosts are not started\n"
            "for its status, run: clusterctl show 3fa2c4d5e6f70812\n");
}

TEST(AbortTest, JsonIsTheControllersAnswer) {
  ProgramWorld world;
  world.script.aborted = AbortOf({"node01"}, 0);
  const ProgramOutput output =
      RunProgram({"apply", "--abort", "3fa2", "-o", "json"}, world);
  AbortApplyResponse response;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(output.out, &response).ok())
      << output.out;
  EXPECT_EQ(response.schema_version(), 1u);
  EXPECT_EQ(response.given_up(0), "node01");
}

TEST(AbortTest, StandsAlone) {
  ProgramWorld world;
  FakeController controller(world.script);
  world.controller = &controller;
  for (const std::vector<std::string>& with :
       {std::vector<std::string>{"plan.json"}, {"--force"}, {"--wave", "2"}}) {
    std::vector<std::string> words = {"apply", "--abort", "3fa2"};
    words.insert(words.end(), with.begin(), with.end());
    const ProgramOutput output = RunProgram(words, world);
    EXPECT_EQ(output.status, 3) << with[0];
    EXPECT_TRUE(absl::StrContains(output.err, "--abort: stands alone"))
        << output.err;
  }
  EXPECT_EQ(RunProgram({"apply", "--abort", "XYZ"}, world).status, 3);
  EXPECT_EQ(controller.aborted_id(), "");
}

TEST(AbortTest, RoleThatIsNotEnoughIsStatus2AndARunThatIsOverStatus3) {
  ProgramWorld world;
  world.script.abort_status = grpc::Status(grpc::StatusCode::PERMISSION_DENIED,
                                           "AbortApply needs role admin");
  EXPECT_EQ(RunProgram({"apply", "--abort", "3fa2"}, world).status, 2);
  world.script.abort_status =
      grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "is already over");
  EXPECT_EQ(RunProgram({"apply", "--abort", "3fa2"}, world).status, 3);
}

std::string PlanPath() {
  return TestFile("plan.json",
                  PlanFileText(SysctlPlan({"server0", "server1"})).value());
}

ApplyEvent Begun() {
  ApplyProgress progress;
  progress.set_run_id(kRun);
  progress.set_wave(1);
  progress.set_waves(1);
  progress.set_pending(2);
  progress.add_at_work("server1");
  return EventOf(progress);
}

CancelResponse Cancelled(const std::string& by) {
  CancelResponse cancelled;
  cancelled.set_schema_version(1);
  cancelled.set_run_id(kRun);
  cancelled.set_actor("ann");
  cancelled.mutable_cancelled()->set_actor(by);
  cancelled.mutable_cancelled()->set_wave(1);
  cancelled.set_waves(2);
  cancelled.set_at_work(1);
  cancelled.set_not_started(1);
  return cancelled;
}

ApplyWave Wave(uint32_t wave, const std::string& result) {
  ApplyWave told;
  told.set_wave(wave);
  told.set_waves(2);
  told.add_hosts(absl::StrCat("server", wave - 1));
  told.set_result(result);
  return told;
}

// A run of two waves; the second begins only without a cancel.
ProgramWorld CancelledWorld(const std::string& by) {
  ProgramWorld world;
  const ApplyResult first = ResultOf("server0", ApplyResult::APPLIED);
  ApplyReport report = ReportOf(
      ApplyReport::CANCELLED,
      {first, ResultOf("server1", ApplyResult::NOT_STARTED,
                       absl::StrCat("cancelled by ", by, " after wave 1"))});
  report.set_wave_size(1);
  *report.mutable_cancelled() = Cancelled(by).cancelled();
  world.script.apply_events = {Begun(), EventOf(Wave(1, ""))};
  world.script.cancelled = Cancelled(by);
  world.script.events_of_cancel = {EventOf(Cancelled(by)), EventOf(first),
                                   EventOf(Wave(1, "1 applied")),
                                   EventOf(report)};
  return world;
}

TEST(CtrlCTest, EndsTheRunAfterWhatIsUnderWay) {
  ProgramWorld world = CancelledWorld("ann");
  FakeController controller(world.script);
  world.controller = &controller;
  world.interrupt_at = "run 3fa2c4d5e6f70812";
  const ProgramOutput output =
      RunProgram({"apply", PlanPath(), "--yes", "--wave", "1"}, world);
  EXPECT_EQ(controller.cancelled_id(), kRun);
  EXPECT_EQ(output.status, 2);
  EXPECT_EQ(output.err,
            "clusterctl apply: Apply 4 steps on 2 hosts in 2 waves\n"
            "clusterctl apply: run 3fa2c4d5e6f70812\n"
            "clusterctl apply: wave 1 of 2 begins: server0\n"
            "clusterctl apply: cancelled by ann in wave 1 of 2: 1 host "
            "finishes what is under way, 1 host is not started; Ctrl-C leaves "
            "that to the controller\n"
            "√ applied  server0  2 steps (1.2 s)\n"
            "clusterctl apply: wave 1 of 2 ended: 1 applied\n");
  EXPECT_TRUE(absl::StrContains(
      output.out,
      "Hosts\n"
      "  - not started  server1  cancelled by ann after wave 1\n"
      "  √ applied      server0  2 steps\n"
      "\n"
      "Waves\n"
      "  1 of 2  server0  applied\n"
      "  2 of 2  server1  not started\n"
      "\n"
      "CANCELLED: 1 not started, 1 applied of 2 hosts in 12 s\n"
      "to roll back, run: clusterctl rollback 3fa2c4d5e6f70812\n"))
      << output.out;
  EXPECT_TRUE(
      absl::StrContains(HelpOfStatus("apply", 2), "the run was cancelled"));
}

TEST(CtrlCTest, SecondLeavesTheCancelledRunToTheController) {
  const std::string report_path = TestFile("report.json", "old");
  ProgramWorld world = CancelledWorld("ann");
  world.script.events_of_cancel.resize(2);  // Without the end of the wave.
  world.script.apply_hangs = true;
  FakeController controller(world.script);
  world.controller = &controller;
  world.interrupt_at = "run 3fa2c4d5e6f70812";
  world.interrupt_again_at = "√ applied  server0";
  const ProgramOutput output = RunProgram(
      {"apply", PlanPath(), "--yes", "--report", report_path}, world);
  EXPECT_EQ(controller.cancelled_id(), kRun);
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::EndsWith(
      output.err,
      "clusterctl apply: interrupted\n"
      "clusterctl apply: run 3fa2c4d5e6f70812 is cancelled and ends in the "
      "controller after what is under way; look with: clusterctl show "
      "3fa2c4d5e6f70812\n"))
      << output.err;
  EXPECT_TRUE(
      absl::StrContains(output.out,
                        "  √ applied        server0  2 steps\n"
                        "  ? no answer yet  server1\n"
                        "\n"
                        "RUNNING: 1 applied, 1 no answer yet of 2 hosts\n"))
      << output.out;
  ApplyReport report;
  const std::string text = FileContent(report_path);
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(text, &report).ok())
      << text;
  EXPECT_EQ(report.outcome(), ApplyReport::RUNNING);
  EXPECT_EQ(report.run_id(), kRun);
  EXPECT_EQ(report.notes(0), "interrupted");
}

TEST(CtrlCTest, OnARunThatSomebodyCancelledLeavesIt) {
  ProgramWorld world = CancelledWorld("bob");
  world.script.apply_events = {Begun(), EventOf(Cancelled("bob"))};
  world.script.events_of_cancel.clear();
  world.script.apply_hangs = true;
  FakeController controller(world.script);
  world.controller = &controller;
  world.interrupt_at = "cancelled by bob in wave 1 of 2";
  const ProgramOutput output =
      RunProgram({"apply", PlanPath(), "--yes"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_EQ(controller.cancelled_id(), "");
  EXPECT_TRUE(absl::EndsWith(
      output.err,
      "clusterctl apply: run 3fa2c4d5e6f70812 is cancelled and ends in the "
      "controller after what is under way; look with: clusterctl show "
      "3fa2c4d5e6f70812\n"))
      << output.err;
}

TEST(CtrlCTest, ThatDoesNotReachTheControllerSaysThatTheRunGoesOn) {
  ProgramWorld world = CancelledWorld("ann");
  world.script.events_of_cancel.clear();
  world.script.apply_hangs = true;
  world.script.cancel_status =
      grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no such call");
  world.interrupt_at = "run 3fa2c4d5e6f70812";
  const ProgramOutput output =
      RunProgram({"apply", PlanPath(), "--yes"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::EndsWith(
      output.err,
      "clusterctl apply: run 3fa2c4d5e6f70812 could not be cancelled: no such "
      "call\n"
      "clusterctl apply: interrupted\n"
      "clusterctl apply: run 3fa2c4d5e6f70812 continues in the controller, "
      "wave after wave; clusterctl show 3fa2c4d5e6f70812 shows it, and "
      "clusterctl cancel 3fa2c4d5e6f70812 ends it\n"))
      << output.err;
}

}  // namespace
}  // namespace clusterd
