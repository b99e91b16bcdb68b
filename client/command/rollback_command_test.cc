// clusterctl rollback from command line to exit status. apply_command_test.cc
// tests its common part with apply.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/client/sample_plan.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::EndsWith, ::testing::HasSubstr, ::testing::Not;

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

// The question before the rollback of kApply on two hosts.
FindingValue Question(size_t waves, const FindingValue& force = {}) {
  return Worded("ctl-question", Worded("ctl-roll-back", kApply),
                Counted(2, "host"), Counted(waves, "wave"), "", force, "");
}

TEST(RollbackCommandTest, TakesAnApplyBackByTheStartOfItsId) {
  ProgramWorld world = GoodWorld();
  WatchedController controller(world);
  EXPECT_THAT(
      RunProgram({"rollback", "3fa2", "--yes", "--wave", "1", "--force"},
                 world),
      Ends(0,
           Err(absl::StrCat(
               Line("rollback", Question(2, Worded("ctl-with-force"))),
               Line("rollback", Worded("ctl-run", kRollback)),
               "√ rolled back  server0 (1.2 s)\n"
               "√ nothing to do  server1 (1.2 s)\n")),
           Out(HasSubstr("SUCCEEDED: 1 rolled back, 1 nothing to do"))));
  EXPECT_EQ(controller.record_id(), "3fa2");
  const RollBackRequest request = controller.roll_back_request().value();
  EXPECT_EQ(request.apply_id(), kApply);
  EXPECT_EQ(request.wave_size(), 1u);
  EXPECT_TRUE(request.force());
}

TEST(RollbackCommandTest, ShowsTheApplyAndAsks) {
  ProgramWorld world = GoodWorld();
  WatchedController controller(world);
  world.terminal.in_is_terminal = true;
  world.terminal.err_is_terminal = true;
  world.answer = std::string("no");
  world.environment["NO_COLOR"] = "1";
  EXPECT_THAT(RunProgram({"rollback", kApply}, world),
              Ends(3, Err(HasSubstr("? lost         server1")),
                   Err(Not(HasSubstr("to roll back"))),
                   Err(HasSubstr("\n" + Say("ctl-ask-yes", Question(1))))));
  EXPECT_FALSE(controller.roll_back_request().has_value());
}

TEST(RollbackCommandTest, ExitsWithOneWhereSomethingIsLeft) {
  ApplyResult left =
      ResultOf("server0", ApplyResult::ROLLED_BACK_WITH_RESIDUES);
  left.add_residues("hccn.conf is not as it was");
  EXPECT_THAT(
      RunProgram({"rollback", kApply, "--yes"},
                 WorldWith(ApplyReport::STOPPED, left,
                           ResultOf("server1", ApplyResult::ROLLED_BACK))),
      Ends(1, Out(HasSubstr(absl::StrCat(
                  "  × ", Say("apply-rolled-back-residues"),
                  "  server0\n    residue  ", left.residues(0), "\n")))));
}

struct ExitCase {
  const char* name;
  ApplyResult::Outcome first;
  int status;
  const char* help;  // Words of the help about that status.
};

TEST(RollbackExitTest, FollowsTheHosts) {
  const ExitCase kExitCases[] = {
      {"RolledBack", ApplyResult::ROLLED_BACK, 0, "ended as requested"},
      {"Refused", ApplyResult::REFUSED, 1, "a host refused"},
      {"NotAttached", ApplyResult::NOT_STARTED, 1, "is not attached"},
      {"Residues", ApplyResult::ROLLED_BACK_WITH_RESIDUES, 1,
       "could not restore"},
      {"Lost", ApplyResult::LOST, 2, "a host is lost"}};
  for (const ExitCase& each : kExitCases) {
    SCOPED_TRACE(each.name);
    const bool well = each.status == 0;
    EXPECT_EQ(
        RunProgram(
            {"rollback", kApply, "--yes"},
            WorldWith(well ? ApplyReport::SUCCEEDED : ApplyReport::STOPPED,
                      ResultOf("server0", each.first),
                      ResultOf("server1", ApplyResult::ROLLED_BACK)))
            .status,
        each.status);
    const std::string help = HelpOfStatus("rollback", each.status);
    EXPECT_THAT(help, HasSubstr(each.help));
  }
}

// The controller asks every host, whatever the results before.
TEST(RollbackCommandTest, HelpDoesNotSayThatAFailedWaveStopsTheNext) {
  const std::string help = RunProgram({"rollback", "--help"}).out;
  EXPECT_THAT(help, Not(HasSubstr("not begun;")));
  EXPECT_THAT(help, HasSubstr("does not stop\nthe next wave"));
  EXPECT_THAT(HelpOfStatus("rollback", 1), HasSubstr("still asked all other"));
}

TEST(RollbackCommandTest, TakesOnlyAnApply) {
  ProgramWorld world = GoodWorld();
  world.script.record.mutable_entry()->set_kind(HISTORY_CHECK);
  WatchedController controller(world);
  EXPECT_THAT(RunProgram({"rollback", "3fa2", "--yes"}, world),
              Ends(3, Err(Line("rollback", Worded("msg-run-not-an-apply",
                                                  "3fa2", "check")))));
  EXPECT_FALSE(controller.roll_back_request().has_value());
}

TEST(RollbackCommandTest, HasNothingToTakeBackWhereNoHostIsApplied) {
  ProgramWorld world = GoodWorld();
  for (ApplyResult& host :
       *world.script.record.mutable_apply()->mutable_hosts()) {
    host.set_outcome(ApplyResult::NOT_STARTED);
  }
  EXPECT_THAT(RunProgram({"rollback", "3fa2", "--yes"}, world),
              Ends(2, Err(Tells("ctl-apply-on-no-host", kApply))));
  EXPECT_THAT(HelpOfStatus("rollback", 2), HasSubstr("no host holds anything"));
}

TEST(RollbackCommandTest, CtrlCCancelsTheRunAndTheSecondOneLeavesIt) {
  ProgramWorld world = GoodWorld();
  auto cancelled = FromText<CancelResponse>(
      R"(cancelled {actor: "ann" wave: 1} waves: 2 not_started: 1)");
  world.script.apply_events.resize(2);
  world.script.events_of_cancel = {EventOf(cancelled)};
  world.script.apply_hangs = true;
  WatchedController controller(world);
  world.interrupt_at = "√ rolled back  server0";
  world.interrupt_again_at = "cancelled by ann in wave 1 of 2: 0 hosts finish";
  EXPECT_THAT(RunProgram({"rollback", kApply, "--yes"}, world),
              Ends(2, Err(EndsWith(Line("rollback", Worded("msg-run-cancelled",
                                                           kRollback))))));
  EXPECT_EQ(controller.cancelled_id(), kRollback);
}

TEST(RollbackCommandTest, NamesEveryMistake) {
  EXPECT_THAT(
      RunProgram(
          {"rollback", "XYZ", "--wave", "x", "--timeout", "y", "-o", "z"}),
      Ends(3, Err(Tells("msg-run-id-not-valid", "APPLY_ID", "XYZ")),
           Err(HasSubstr("--wave: \"x\"")), Err(HasSubstr("--timeout: \"y\"")),
           Err(HasSubstr("--output: \"z\"")), Err(Tells("msg-yes-missing"))));
}

}  // namespace
}  // namespace clusterd
