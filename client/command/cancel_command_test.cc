// Early ends of a run: cancel, apply --abort, and Ctrl-C during an apply.
#include "absl/strings/str_cat.h"
#include "client/files/user_files.h"
#include "config/values/version.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/client/sample_plan.h"
#include "tests/support/config/plan_steps.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::EndsWith, ::testing::HasSubstr;

constexpr char kRun[] = "3fa2c4d5e6f70812";

CancelResponse CancelOf(uint32_t wave, uint32_t at_work, uint32_t left) {
  auto response = FromText<CancelResponse>(
      "schema_version: 1 actor: 'ann' cancelled {actor: 'bob'} waves: 3");
  response.set_run_id(kRun);
  response.mutable_cancelled()->set_wave(wave);
  response.set_at_work(at_work);
  response.set_not_started(left);
  return response;
}

TEST(CancelCommandTest, SaysWhatIsFinishedAndWhatIsLeftOut) {
  ProgramWorld world;
  world.script.cancelled = CancelOf(1, 2, 4);
  WatchedController controller(world);
  EXPECT_THAT(
      RunProgram({"cancel", "3fa2"}, world),
      Ends(0, Out(absl::StrCat(
                  Say("apply-of-apply-run", kRun, "ann",
                      Worded("apply-cancelled", "bob", 1, 3,
                             Worded("apply-busy", 2), Worded("apply-rest", 4))),
                  "\n", Say("apply-to-show", kRun), "\n"))));
  EXPECT_EQ(controller.cancelled_id(), "3fa2");
}

TEST(CancelCommandTest, SaysThatTheLastWaveLeavesNothingOut) {
  ProgramWorld world;
  world.script.cancelled = CancelOf(3, 1, 0);
  world.script.cancelled.set_rollback(true);
  EXPECT_THAT(RunProgram({"cancel", "3fa2", "-o", "short"}, world).out,
              Tells("apply-of-rollback-run", kRun, "ann",
                    Worded("apply-cancelled-last", "bob", 3, 3,
                           Worded("apply-busy", 1))));
}

TEST(CancelCommandTest, JsonHasASchemaVersion) {
  ProgramWorld world;
  world.script.cancelled = CancelOf(1, 2, 4);
  const auto response = FromJson<CancelResponse>(
      RunProgram({"cancel", "3fa2", "-o", "json"}, world).out);
  EXPECT_EQ(response.schema_version(), kReportSchemaVersion);
  EXPECT_EQ(response.cancelled().actor(), "bob");
}

TEST(CancelCommandTest, WrongIdIsNotAsked) {
  ProgramWorld world;
  WatchedController controller(world);
  EXPECT_THAT(RunProgram({"cancel", "XYZ"}, world),
              Ends(3, Err(Tells("msg-run-id-not-valid", "ID", "XYZ"))));
  EXPECT_EQ(controller.cancelled_id(), "");
}

AbortApplyResponse AbortOf(std::vector<std::string> hosts, uint32_t left) {
  auto response = FromText<AbortApplyResponse>(
      "schema_version: 1 actor: 'ann' aborted_by: 'bob'");
  response.set_run_id(kRun);
  for (std::string& host : hosts) response.add_given_up(std::move(host));
  response.set_not_started(left);
  return response;
}

TEST(AbortTest, SaysWhoIsNotWaitedForAndWhatIsLeftOut) {
  ProgramWorld world;
  world.script.aborted = AbortOf({"node01", "node02"}, 4);
  WatchedController controller(world);
  EXPECT_THAT(RunProgram({"apply", "--abort", "3fa2"}, world),
              Ends(0, Out(absl::StrCat(
                          Say("apply-of-apply-run", kRun, "ann",
                              absl::StrCat(Say("apply-aborted", "bob"), "; ",
                                           Say("apply-given-up", "node[01-02]"),
                                           "; ", Say("apply-rest", 4))),
                          "\n", Say("apply-to-show", kRun), "\n"))));
  EXPECT_EQ(controller.aborted_id(), "3fa2");
  EXPECT_FALSE(controller.apply_request().has_value());
}

TEST(AbortTest, JsonIsTheControllersAnswer) {
  ProgramWorld world;
  world.script.aborted = AbortOf({"node01"}, 0);
  const auto response = FromJson<AbortApplyResponse>(
      RunProgram({"apply", "--abort", "3fa2", "-o", "json"}, world).out);
  EXPECT_EQ(response.schema_version(), 1u);
  EXPECT_EQ(response.given_up(0), "node01");
}

TEST(AbortTest, StandsAlone) {
  ProgramWorld world;
  WatchedController controller(world);
  for (const std::vector<std::string>& with :
       {std::vector<std::string>{"plan.json"}, {"--force"}, {"--wave", "2"}}) {
    EXPECT_THAT(RunProgram(With({"apply", "--abort", "3fa2"}, with), world),
                Ends(3, Err(Tells("msg-abort-alone",
                                  with[0][0] == '-' ? with[0] : "PLANFILE"))));
  }
  EXPECT_EQ(RunProgram({"apply", "--abort", "XYZ"}, world).status, 3);
  EXPECT_EQ(controller.aborted_id(), "");
}

std::string PlanPath() {
  return TestFile("plan.json",
                  PlanFileText(SysctlPlan({"server0", "server1"})).value());
}

ApplyEvent Begun() {
  ApplyProgress progress;
  progress.set_run_id(kRun);
  MergeText("wave: 1 waves: 1 pending: 2 at_work: 'server1'", &progress);
  return EventOf(progress);
}

CancelResponse Cancelled(const std::string& by) {
  auto cancelled = FromText<CancelResponse>(
      "schema_version: 1 actor: 'ann' cancelled {wave: 1} waves: 2 at_work: 1 "
      "not_started: 1");
  cancelled.set_run_id(kRun);
  cancelled.mutable_cancelled()->set_actor(by);
  return cancelled;
}

ApplyWave Wave(uint32_t wave, const std::string& result) {
  ApplyWave sent;
  sent.set_wave(wave);
  sent.set_waves(2);
  sent.add_hosts(absl::StrCat("server", wave - 1));
  sent.set_result(result);
  return sent;
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

// The line of `clusterctl apply` about its run.
std::string RunLine(absl::string_view row) {
  return Line("apply", Worded(row, kRun));
}

TEST(CtrlCTest, EndsTheRunAfterWhatIsUnderWay) {
  ProgramWorld world = CancelledWorld("ann");
  WatchedController controller(world);
  world.interrupt_at = "run 3fa2c4d5e6f70812";
  const FindingValue cancelled =
      Worded("apply-cancelled", "ann", 1, 2, Worded("apply-busy", 1),
             Worded("apply-rest", 1));
  EXPECT_THAT(
      RunProgram({"apply", PlanPath(), "--yes", "--wave", "1"}, world),
      Ends(2,
           Err(EndsWith(absl::StrCat(
               RunLine("ctl-run"),
               Line("apply", Worded("apply-wave-begins", 1, 2, "server0")),
               Line("apply", Worded("ctl-cancelled", cancelled)),
               "√ applied  server0  2 steps (1.2 s)\n",
               Line("apply", Worded("apply-wave-ended", 1, 2, "1 applied"))))),
           Out(HasSubstr("CANCELLED: 1 not started, 1 applied of 2")),
           Out(Tells("apply-to-roll-back", kRun))));
  EXPECT_EQ(controller.cancelled_id(), kRun);
  EXPECT_THAT(HelpOfStatus("apply", 2), HasSubstr("the run was cancelled"));
}

TEST(CtrlCTest, SecondLeavesTheCancelledRunToTheController) {
  const std::string report_path = TestFile("report.json", "old");
  ProgramWorld world = CancelledWorld("ann");
  world.script.events_of_cancel.resize(2);  // Without the end of the wave.
  world.script.apply_hangs = true;
  WatchedController controller(world);
  world.interrupt_at = "run 3fa2c4d5e6f70812";
  world.interrupt_again_at = "√ applied  server0";
  EXPECT_THAT(
      RunProgram({"apply", PlanPath(), "--yes", "--report", report_path},
                 world),
      Ends(2,
           Err(EndsWith(absl::StrCat(Line("apply", Worded("msg-interrupted")),
                                     RunLine("msg-run-cancelled")))),
           Out(HasSubstr("  ? no answer yet  server1\n"))));
  EXPECT_EQ(controller.cancelled_id(), kRun);
  const auto report = FromJson<ApplyReport>(FileContent(report_path));
  EXPECT_EQ(report.outcome(), ApplyReport::RUNNING);
  EXPECT_EQ(report.run_id(), kRun);
  EXPECT_EQ(report.notes(0), "interrupted");
}

TEST(CtrlCTest, OnARunThatSomebodyCancelledLeavesIt) {
  ProgramWorld world = CancelledWorld("bob");
  world.script.apply_events = {Begun(), EventOf(Cancelled("bob"))};
  world.script.events_of_cancel.clear();
  world.script.apply_hangs = true;
  WatchedController controller(world);
  world.interrupt_at = "cancelled by bob in wave 1 of 2";
  EXPECT_THAT(RunProgram({"apply", PlanPath(), "--yes"}, world),
              Ends(2, Err(EndsWith(RunLine("msg-run-cancelled")))));
  EXPECT_EQ(controller.cancelled_id(), "");
}

TEST(CtrlCTest, ThatDoesNotReachTheControllerSaysThatTheRunGoesOn) {
  ProgramWorld world = CancelledWorld("ann");
  world.script.events_of_cancel.clear();
  world.script.apply_hangs = true;
  world.script.cancel_status = {grpc::StatusCode::UNIMPLEMENTED, "no call"};
  world.interrupt_at = "run 3fa2c4d5e6f70812";
  EXPECT_THAT(
      RunProgram({"apply", PlanPath(), "--yes"}, world),
      Ends(2,
           Err(EndsWith(absl::StrCat(
               Line("apply", Worded("msg-run-not-cancelled", kRun, "no call")),
               Line("apply", Worded("msg-interrupted")),
               RunLine("msg-run-goes-on"))))));
}

}  // namespace
}  // namespace clusterd
