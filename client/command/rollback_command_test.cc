// clusterctl rollback from command line to exit status. apply_command_test.cc
// tests its common part with apply.
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/client/sample_plan.h"

namespace clusterd {
namespace {

constexpr char kApply[] = "3fa2c4d5e6f70812";
constexpr char kRollback[] = "77770000aaaabbbb";

// The history has an apply that never asked server2, and its rollback.
ProgramWorld WorldWith(ApplyReport::Outcome outcome, const ApplyResult& first,
                       const ApplyResult& second) {
  ProgramWorld world;
  HistoryRecord& record = world.script.record;
  record.mutable_entry()->set_id(kApply);
  record.mutable_entry()->set_kind(HISTORY_APPLY);
  *record.mutable_apply() = ReportOf(
      ApplyReport::STOPPED, {ResultOf("server0", ApplyResult::APPLIED),
                             ResultOf("server1", ApplyResult::LOST),
                             ResultOf("server2", ApplyResult::NOT_STARTED)});
  ApplyReport report = ReportOf(outcome, {first, second});
  report.set_rollback(true);
  report.set_run_id(kRollback);
  ApplyProgress progress;
  progress.set_run_id(kRollback);
  world.script.apply_events = {EventOf(progress), EventOf(first),
                               EventOf(second), EventOf(report)};
  return world;
}

ProgramWorld GoodWorld() {
  return WorldWith(ApplyReport::SUCCEEDED,
                   ResultOf("server0", ApplyResult::ROLLED_BACK),
                   ResultOf("server1", ApplyResult::NOTHING_TO_DO));
}

TEST(RollbackCommandTest, TakesAnApplyBackByTheStartOfItsId) {
  ProgramWorld world = GoodWorld();
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output = RunProgram(
      {"rollback", "3fa2", "--yes", "--wave", "1", "--force"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(controller.record_id(), "3fa2");
  const RollBackRequest request = controller.roll_back_request().value();
  EXPECT_EQ(request.apply_id(), kApply);
  EXPECT_EQ(request.wave_size(), 1u);
  EXPECT_TRUE(request.force());
  EXPECT_EQ(output.err,
            "clusterctl rollback: Roll back apply 3fa2c4d5e6f70812 on 2 hosts "
            "in 2 waves, with force\n"
            "clusterctl rollback: run 77770000aaaabbbb\n"
            "√ rolled back  server0 (1.2 s)\n"
            "√ nothing to do  server1 (1.2 s)\n");
  EXPECT_EQ(output.out,
            "Cluster demo, rollback 77770000aaaabbbb of apply "
            "3fa2c4d5e6f70812 by ann\n"
            "\n"
            "Hosts\n"
            "  √ rolled back    server0\n"
            "  √ nothing to do  server1\n"
            "\n"
            "SUCCEEDED: 1 rolled back, 1 nothing to do of 2 hosts in 12 s\n");
}

TEST(RollbackCommandTest, ShowsTheApplyAndAsks) {
  ProgramWorld world = GoodWorld();
  FakeController controller(world.script);
  world.controller = &controller;
  world.terminal.in_is_terminal = true;
  world.terminal.err_is_terminal = true;
  world.answer = std::string("no");
  world.environment["NO_COLOR"] = "1";
  const ProgramOutput output = RunProgram({"rollback", kApply}, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_TRUE(absl::StrContains(output.err, "? lost         server1"))
      << output.err;
  EXPECT_FALSE(absl::StrContains(output.err, "to roll back"));
  EXPECT_TRUE(absl::StrContains(
      output.err,
      "\nRoll back apply 3fa2c4d5e6f70812 on 2 hosts in 1 wave? [y/N] "))
      << output.err;
  EXPECT_FALSE(controller.roll_back_request().has_value());
}

TEST(RollbackCommandTest, ExitsWithOneWhereSomethingIsLeft) {
  ApplyResult left =
      ResultOf("server0", ApplyResult::ROLLED_BACK_WITH_RESIDUES);
  left.add_residues("/etc/hccn.conf is not as it was: Read-only file system");
  const ProgramOutput output =
      RunProgram({"rollback", kApply, "--yes"},
                 WorldWith(ApplyReport::STOPPED, left,
                           ResultOf("server1", ApplyResult::ROLLED_BACK)));
  EXPECT_EQ(output.status, 1);
  EXPECT_TRUE(absl::StrContains(
      output.out,
      "  × rolled back with residues  server0\n"
      "    residue  /etc/hccn.conf is not as it was: Read-only file system\n"))
      << output.out;
}

struct ExitCase {
  const char* name;
  ApplyResult::Outcome first;
  int status;
  const char* help;  // Words of the help about that status.
};

class RollbackExitTest : public testing::TestWithParam<ExitCase> {};

TEST_P(RollbackExitTest, FollowsTheHosts) {
  const bool well = GetParam().status == 0;
  const ProgramOutput output =
      RunProgram({"rollback", kApply, "--yes"},
                 WorldWith(well ? ApplyReport::SUCCEEDED : ApplyReport::STOPPED,
                           ResultOf("server0", GetParam().first),
                           ResultOf("server1", ApplyResult::ROLLED_BACK)));
  EXPECT_EQ(output.status, GetParam().status);
  const std::string help = HelpOfStatus("rollback", GetParam().status);
  EXPECT_TRUE(absl::StrContains(help, GetParam().help)) << help;
}

INSTANTIATE_TEST_SUITE_P(
    Ends, RollbackExitTest,
    testing::Values(
        ExitCase{"RolledBack", ApplyResult::ROLLED_BACK, 0,
                 "ended as requested"},
        ExitCase{"Refused", ApplyResult::REFUSED, 1, "a host refused"},
        ExitCase{"NotAttached", ApplyResult::NOT_STARTED, 1, "is not attached"},
        ExitCase{"Residues", ApplyResult::ROLLED_BACK_WITH_RESIDUES, 1,
                 "could not restore"},
        ExitCase{"Lost", ApplyResult::LOST, 2, "a host is lost"}),
    [](const auto& info) { return std::string(info.param.name); });

// The controller asks every host, whatever the results before.
TEST(RollbackCommandTest, HelpDoesNotSayThatAFailedWaveStopsTheNext) {
  const std::string help = RunProgram({"rollback", "--help"}).out;
  EXPECT_FALSE(absl::StrContains(help, "not begun;")) << help;
  EXPECT_TRUE(absl::StrContains(help, "does not stop the next")) << help;
  EXPECT_TRUE(absl::StrContains(HelpOfStatus("rollback", 1),
                                "still asked all other hosts"));
}

TEST(RollbackCommandTest, TakesOnlyAnApply) {
  ProgramWorld world = GoodWorld();
  world.script.record.mutable_entry()->set_kind(HISTORY_CHECK);
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output = RunProgram({"rollback", "3fa2", "--yes"}, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(output.err,
            "clusterctl rollback: APPLY_ID: \"3fa2\" is a check, expected an "
            "apply\n");
  EXPECT_FALSE(controller.roll_back_request().has_value());
}

TEST(RollbackCommandTest, SaysThatNobodyKnowsTheId) {
  ProgramWorld world;
  world.script.record_status =
      grpc::Status(grpc::StatusCode::NOT_FOUND, "no run \"3fa2\"");
  const ProgramOutput output = RunProgram({"rollback", "3fa2", "--yes"}, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_TRUE(absl::StrContains(output.err, "no run \"3fa2\"\n"));
}

TEST(RollbackCommandTest, HasNothingToTakeBackWhereNoHostIsApplied) {
  ProgramWorld world = GoodWorld();
  for (ApplyResult& host :
       *world.script.record.mutable_apply()->mutable_hosts()) {
    host.set_outcome(ApplyResult::NOT_STARTED);
  }
  const ProgramOutput output = RunProgram({"rollback", "3fa2", "--yes"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::StrContains(output.err, "no host of it is applied"));
  EXPECT_TRUE(
      absl::StrContains(HelpOfStatus("rollback", 2), "no host holds anything"));
}

TEST(RollbackCommandTest, CtrlCCancelsTheRunAndTheSecondOneLeavesIt) {
  ProgramWorld world = GoodWorld();
  CancelResponse cancelled;
  cancelled.mutable_cancelled()->set_actor("ann");
  cancelled.mutable_cancelled()->set_wave(1);
  cancelled.set_waves(2);
  cancelled.set_not_started(1);
  world.script.apply_events.resize(2);
  world.script.events_of_cancel = {EventOf(cancelled)};
  world.script.apply_hangs = true;
  FakeController controller(world.script);
  world.controller = &controller;
  world.interrupt_at = "√ rolled back  server0";
  world.interrupt_again_at = "cancelled by ann in wave 1 of 2: 0 hosts finish";
  const ProgramOutput output = RunProgram({"rollback", kApply, "--yes"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_EQ(controller.cancelled_id(), "77770000aaaabbbb");
  EXPECT_TRUE(absl::EndsWith(
      output.err,
      "clusterctl rollback: run 77770000aaaabbbb is cancelled and ends in the "
      "controller after what is under way; look with: clusterctl show "
      "77770000aaaabbbb\n"))
      << output.err;
}

TEST(RollbackCommandTest, NamesEveryMistake) {
  const ProgramOutput output = RunProgram(
      {"rollback", "XYZ", "--wave", "x", "--timeout", "y", "-o", "z"});
  EXPECT_EQ(output.status, 3);
  for (const char* text :
       {"APPLY_ID: \"XYZ\", expected 4 to 16 characters 0-9 and a-f",
        "--wave: \"x\"", "--timeout: \"y\"", "--output: \"z\"",
        "--yes: is missing"}) {
    EXPECT_TRUE(absl::StrContains(output.err, text)) << text << output.err;
  }
}

}  // namespace
}  // namespace clusterd
