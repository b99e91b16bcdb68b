#include "daemon/agent/apply_tasks.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/notification.h"
#include "config/audit/audit_chain.h"
#include "config/plan/settings.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/process/test_audit.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::EndsWith, ::testing::HasSubstr,
    ::testing::IsEmpty, ::testing::Not;

const std::string kNothing = "nothing is applied on this host: ";

class Answer {
 public:
  ApplyTasks::Done Expect() {
    return [this](ApplyResult result) {
      result_ = std::move(result);
      done_.Notify();
    };
  }
  const ApplyResult& Wait() {
    EXPECT_TRUE(done_.WaitForNotificationWithTimeout(kPatience));
    return result_;
  }
  bool arrived() const { return done_.HasBeenNotified(); }

 private:
  ApplyResult result_;
  absl::Notification done_;
};

class ApplyTasksTest : public ::testing::Test {
 protected:
  ApplyTasksTest() { Restart(); }
  ~ApplyTasksTest() override { tasks_.reset(); }

  // Simulates a new process, which has lost its memory.
  void Restart() {
    tasks_.reset();
    applier_ = std::make_unique<Applier>(
        ScenarioOptions(), scenario_->Access(), [this] { return veto_; },
        [this] {
          if (before_users_) before_users_();
          return users_;
        });
    tasks_ = std::make_unique<ApplyTasks>(kScenarioHost, applier_.get(), &log_,
                                          &record_, audit_->log());
  }

  FakeMachine& machine() { return scenario_->machine; }

  ApplyTask Task(const std::string& id = "a1") {
    ApplyTask task;
    task.set_apply_id(id);
    *task.mutable_plan() = scenario_->Plan();
    task.set_plan_digest("digest");
    task.set_actor("ada");
    return task;
  }
  ApplyResult Apply(const ApplyTask& task) {
    Answer answer;
    tasks_->Apply(task, nullptr, answer.Expect());
    return answer.Wait();
  }
  ApplyResult RollBack(const std::string& id = "a1") {
    RollbackTask task;
    task.set_apply_id(id);
    task.set_actor("bob");
    Answer answer;
    tasks_->RollBack(task, answer.Expect());
    return answer.Wait();
  }

  // The error of a task that is refused.
  std::string Refusal(const ApplyTask& task) {
    const ApplyResult result = Apply(task);
    EXPECT_EQ(result.outcome(), ApplyResult::REFUSED);
    EXPECT_EQ(result.apply_id(), task.apply_id());
    EXPECT_EQ(result.host(), kScenarioHost);
    EXPECT_THAT(result.error(), Not(HasSubstr("\n")));
    return result.error();
  }
  // "a1 APPLIED" and so on, as a controller gets them.
  std::vector<std::string> Past() const {
    std::vector<std::string> texts;
    const PastApplies past = tasks_->Past();
    for (const ApplyResult& result : past.results()) {
      texts.push_back(absl::StrCat(
          result.apply_id(), " ", ApplyResult::Outcome_Name(result.outcome())));
    }
    return texts;
  }

  // A new process on another machine, such as one whose last process crashed.
  void RestartOn(std::unique_ptr<Scenario> scenario) {
    tasks_.reset();
    scenario_ = std::move(scenario);
    Restart();
  }
  // Begins apply a1, which waits after its first step.
  void BeginHeld(Answer* answer) {
    tasks_->Apply(
        Task(),
        [this](const StepOutcome&) {
          if (!begun_.HasBeenNotified()) begun_.Notify();
          go_on_.WaitForNotification();
        },
        answer->Expect());
    begun_.WaitForNotification();
  }

  absl::Notification begun_;
  absl::Notification go_on_;
  std::unique_ptr<Scenario> scenario_ = OpenUfwScenario();
  HostAllows veto_ = AllowsAll();
  absl::StatusOr<std::vector<DeviceUser>> users_ = std::vector<DeviceUser>();
  std::function<void()> before_users_;
  CapturedLog log_;
  std::unique_ptr<TestAudit> audit_ = std::make_unique<TestAudit>();
  std::unique_ptr<Applier> applier_;
  AppliesRecord record_;
  std::unique_ptr<ApplyTasks> tasks_;
};

class RecoveredTasksTest : public ApplyTasksTest {
 protected:
  RecoveredTasksTest() { tasks_->Recover(); }
};

TEST_F(RecoveredTasksTest, TellsEachStepAndThenTheResult) {
  const ApplyTask task = Task();
  std::vector<StepOutcome> steps;
  Answer answer;
  tasks_->Apply(
      task,
      [&](const StepOutcome& step) {
        EXPECT_FALSE(answer.arrived());
        steps.push_back(step);
      },
      answer.Expect());
  const ApplyResult result = answer.Wait();
  EXPECT_EQ(result.outcome(), ApplyResult::APPLIED) << result.error();
  EXPECT_EQ(result.apply_id(), "a1");
  EXPECT_EQ(result.host(), kScenarioHost);
  ASSERT_EQ(static_cast<int>(steps.size()), task.plan().steps_size());
  for (size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i].step(), i + 1);
  EXPECT_THAT(log_.Lines(), HasSubstr("a1 of ada ended: APPLIED"));
}

TEST_F(RecoveredTasksTest, TakesBackOnceWhatItApplied) {
  const auto before = scenario_->State();
  const ApplyResult applied = Apply(Task());
  ASSERT_EQ(applied.outcome(), ApplyResult::APPLIED);
  EXPECT_THAT(applied.facts_after(), IsEmpty());
  EXPECT_NE(scenario_->State(), before);
  const ApplyResult back = RollBack();
  EXPECT_EQ(back.outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_THAT(back.facts_after(), IsEmpty());
  EXPECT_EQ(scenario_->State(), before);
  const ApplyResult again = RollBack();
  EXPECT_EQ(again.outcome(), ApplyResult::NOTHING_TO_DO);
  EXPECT_EQ(again.error_words().words(), "plan-say-undone-before");
  EXPECT_FALSE(again.no_journal());
}

TEST_F(RecoveredTasksTest, RefusesToCallWhatItHasNoJournalOfTakenBack) {
  ASSERT_EQ(Apply(Task()).outcome(), ApplyResult::APPLIED);
  const auto applied = scenario_->State();
  // Simulates a replaced disk, or a person who cleaned up.
  ASSERT_TRUE(machine()
                  .files()
                  .Remove(absl::StrCat(kScenarioStateFolder, "/a1.journal"))
                  .ok());
  const ApplyResult lost = RollBack();
  EXPECT_EQ(lost.outcome(), ApplyResult::REFUSED);
  EXPECT_TRUE(lost.no_journal());
  EXPECT_EQ(lost.error(),
            Say("msg-step-no-journal", "a1", kScenarioStateFolder, 512));
  EXPECT_EQ(scenario_->State(), applied);
}

TEST_F(RecoveredTasksTest, AnswersEveryRefusalWithItsReasonInOneLine) {
  const auto before = scenario_->State();
  veto_ = AllowsOnly({CHANGE_OBSERVE});
  EXPECT_THAT(Refusal(Task()), HasSubstr("this host does not allow"));
  EXPECT_EQ(RollBack("../etc").outcome(), ApplyResult::REFUSED);
  // Overlong texts of a controller are neither kept nor sent whole.
  ApplyTask endless = Task();
  endless.set_apply_id(std::string(1 << 20, 'x'));
  endless.set_actor(std::string(1 << 20, 'y'));
  const ApplyResult cut = Apply(endless);
  EXPECT_EQ(cut.outcome(), ApplyResult::REFUSED);
  EXPECT_LT(cut.ByteSizeLong(), 2048u);
  EXPECT_LT(log_.Lines().size(), 1u << 16);
  veto_ = AllowsAll();
  ApplyTask elsewhere = Task();
  elsewhere.mutable_plan()->set_host("node-08\nnode-09");
  EXPECT_THAT(Refusal(elsewhere),
              HasSubstr(Say("msg-step-of-another-host", "node-08\\nnode-09",
                            kScenarioHost)));
  EXPECT_EQ(scenario_->State(), before);
  EXPECT_THAT(log_.Lines(), HasSubstr("a1 of ada ended: REFUSED: "));
}

TEST_F(RecoveredTasksTest, ForcesWhatTheTaskAllowsAndSaysSo) {
  users_ = std::vector<DeviceUser>{{1, 4711, "python3"}};
  ApplyTask task = Task();
  task.set_force(true);
  const ApplyResult result = Apply(task);
  EXPECT_EQ(result.outcome(), ApplyResult::APPLIED) << result.error();
  EXPECT_EQ(result.forced_size(), 1);
  EXPECT_THAT(log_.Lines(),
              HasSubstr(Say("plan-say-in-use", 1, 4711, "python3")));
}

TEST_F(RecoveredTasksTest, RefusesASecondTaskWhileOneRuns) {
  Answer first;
  BeginHeld(&first);
  ApplyTask second;
  second.set_apply_id("a2");
  EXPECT_EQ(Refusal(second), Say("msg-step-busy"));
  EXPECT_EQ(RollBack("a1").outcome(), ApplyResult::REFUSED);
  go_on_.Notify();
  EXPECT_EQ(first.Wait().outcome(), ApplyResult::APPLIED);
  // After an answer the next task may come.
  EXPECT_EQ(RollBack("a1").outcome(), ApplyResult::ROLLED_BACK);
}

TEST_F(RecoveredTasksTest, StopsAfterTheTaskThatRunsHasBeenAnswered) {
  Answer running;
  BeginHeld(&running);
  bool was_answered = false;
  std::thread stopper([&] {
    tasks_->Stop();
    was_answered = running.arrived();
  });
  // Once Stop has begun its refusal replaces the other one.
  std::string refusal;
  do {
    ApplyTask other;
    other.set_apply_id("a2");
    refusal = Apply(other).error();
  } while (refusal == Say("msg-step-busy"));
  EXPECT_EQ(refusal, Say("msg-step-stopping"));
  go_on_.Notify();
  stopper.join();
  EXPECT_TRUE(was_answered);
  EXPECT_EQ(running.Wait().outcome(), ApplyResult::APPLIED);
}

TEST_F(ApplyTasksTest, FinishesAnInterruptedApplyBeforeAnythingElse) {
  const auto before = scenario_->State();
  RestartOn(CrashedScenario());
  ASSERT_NE(scenario_->State(), before);
  tasks_->Recover();
  EXPECT_EQ(scenario_->State(), before);
  EXPECT_THAT(log_.Lines(), HasSubstr(kInterruptedLine));
  EXPECT_THAT(audit_->Lines(),
              ElementsAre("self recovery a1: begins",
                          HasSubstr("self recovery a1: UNDONE")));
  EXPECT_THAT(Past(), ElementsAre("a1 UNDONE"));
  EXPECT_EQ(Apply(Task("a2")).outcome(), ApplyResult::APPLIED);
}

// A host whose daemon crashed in an apply; others can write its journals.
class WaitingUndoTest : public ApplyTasksTest {
 protected:
  WaitingUndoTest() {
    tasks_.reset();
    scenario_ = AlmostAppliedScenario();
    OwnJournals(12345);
    Restart();
    tasks_->Recover(&scheduler_);
  }
  ~WaitingUndoTest() override { tasks_.reset(); }

  void OwnJournals(uint32_t uid) {
    machine().files().SetOwner(kScenarioStateFolder, uid, 0700);
  }
  DriftFact Drift() {
    return record_.DriftOf(scenario_->machine.ReadHost(),
                           record_.change_count());
  }

  const std::map<std::string, std::string> before_ = OpenUfwScenario()->State();
  ManualScheduler scheduler_;
};

TEST_F(WaitingUndoTest, IsReportedInLogStatusAndFacts) {
  const std::string why = tasks_->Unfinished();
  EXPECT_THAT(why, HasSubstr(kScenarioStateFolder));
  EXPECT_THAT(log_.Lines(), HasSubstr(kNothing + why));
  EXPECT_THAT(Drift().missing().detail(), HasSubstr(kScenarioStateFolder));
  EXPECT_NE(scenario_->State(), before_);
}

TEST_F(WaitingUndoTest, FailsDriftWhileAJournalIsDamaged) {
  OwnJournals(0);
  machine().files().Put(absl::StrCat(kScenarioStateFolder, "/old.journal"),
                        "no journal\n");
  scheduler_.Advance(kUndoRetry);
  ASSERT_TRUE(log_.WaitFor(kInterruptedLine));
  tasks_->Stop();
  EXPECT_THAT(Drift().value().unfinished(), HasSubstr("old.journal"));
}

TEST_F(WaitingUndoTest, IsDoneSoonAfterTheJournalsAreRootsAgain) {
  int changes = 0;
  std::vector<std::string> reported;
  record_.Listen([&changes] { ++changes; });
  tasks_->ListenForUndone(
      [this, &reported] { reported.push_back(absl::StrJoin(Past(), ", ")); });
  scheduler_.Advance(kUndoRetry);
  ASSERT_TRUE(scheduler_.WaitForPending(1));
  // Listeners are not called without a change.
  EXPECT_EQ(changes, 0);
  EXPECT_THAT(reported, IsEmpty());
  EXPECT_NE(scenario_->State(), before_);
  OwnJournals(0);
  scheduler_.Advance(kUndoRetry);
  ASSERT_TRUE(log_.WaitFor(kInterruptedLine));
  tasks_->Stop();
  EXPECT_EQ(scenario_->State(), before_);
  EXPECT_EQ(tasks_->Unfinished(), "");
  EXPECT_EQ(Drift().value().unfinished(), "");
  // As in Past(), for a controller that waits for it.
  EXPECT_THAT(reported, ElementsAre("a1 UNDONE"));
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(WaitingUndoTest, RefusesTasksAndIsTriedFirstAtTheNext) {
  EXPECT_THAT(Refusal(Task("a2")), HasSubstr(tasks_->Unfinished()));
  OwnJournals(0);
  EXPECT_EQ(RollBack("a1").outcome(), ApplyResult::NOTHING_TO_DO);
  EXPECT_EQ(scenario_->State(), before_);
}

TEST_F(RecoveredTasksTest, AuditsEachChangeBeforeItAndAfterItWithWhoAsked) {
  ApplyTask task = Task();
  task.set_actor("spiffe://demo/ada");
  task.mutable_controller_audit()->set_sequence(17);
  task.set_actor_certificate("04d2");
  task.set_actor_peer("ipv4:10.0.0.9:5123");
  ASSERT_EQ(Apply(task).outcome(), ApplyResult::APPLIED);
  ASSERT_EQ(RollBack().outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_THAT(
      audit_->Lines(),
      ElementsAre("spiffe://demo/ada apply a1: begins",
                  "spiffe://demo/ada apply a1: APPLIED",
                  "bob rollback a1: begins", "bob rollback a1: ROLLED_BACK"));
  const AuditEntry first = audit_->entries().at(0);
  EXPECT_THAT(first, HasFields(R"(
      digest: "digest" certificate: "04d2" peer: "ipv4:10.0.0.9:5123")"));
  // An older controller reports no address.
  EXPECT_EQ(audit_->entries().back().peer(), "controller");
  ASSERT_EQ(first.heads_size(), 1);
  EXPECT_EQ(first.heads(0).of(), kControllerFile);
  EXPECT_EQ(first.heads(0).sequence(), 17u);
}

TEST_F(RecoveredTasksTest, HasOneLineOfAllRollbacksThatAControllerMakesUp) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(RollBack(absl::StrCat("made-up-", i)).no_journal());
  }
  EXPECT_THAT(audit_->Lines(),
              ElementsAre(HasSubstr("rollback made-up-0: refused: ")));
}

TEST_F(ApplyTasksTest, ChangesNothingWhileTheAuditFileCannotBeWritten) {
  tasks_.reset();
  audit_ = std::make_unique<TestAudit>(/*writable=*/false);
  Restart();
  tasks_->Recover();
  const auto before = scenario_->State();
  EXPECT_THAT(Refusal(Task()),
              testing::AllOf(HasSubstr(kUnwritableAudit),
                             HasSubstr("nothing is changed until")));
  EXPECT_EQ(scenario_->State(), before);
}

TEST_F(ApplyTasksTest, FinishesAnUndoAlsoWithoutAnAuditFile) {
  tasks_.reset();
  const auto before = scenario_->State();
  audit_ = std::make_unique<TestAudit>(/*writable=*/false);
  RestartOn(CrashedScenario());
  tasks_->Recover();
  EXPECT_EQ(scenario_->State(), before);
}

TEST_F(ApplyTasksTest, RefusesWithTheReasonUntilADamagedJournalIsGone) {
  const std::string path = absl::StrCat(kScenarioStateFolder, "/old.journal");
  machine().files().Put(path, "no journal\n");
  const auto before = scenario_->State();
  tasks_->Recover();
  EXPECT_THAT(log_.Lines(), HasSubstr(kNothing));
  EXPECT_THAT(Refusal(Task()), HasSubstr(path));
  EXPECT_EQ(scenario_->State(), before);
  ASSERT_TRUE(machine().files().Remove(path).ok());
  EXPECT_EQ(Apply(Task()).outcome(), ApplyResult::APPLIED);
}

bool AnyUnfinished(Applier* applier) {
  const auto states = applier->ListApplies();
  EXPECT_TRUE(states.ok()) << states.status();
  for (const JournalState& state : *states) {
    if (state.unfinished()) return true;
  }
  return false;
}

TEST_F(ApplyTasksTest, GoesOnWithoutARestartAfterTheDiskWasFullInAnApply) {
  int interrupted = 0;
  for (uint64_t bytes = 200; bytes < 40000; bytes += 700) {
    SCOPED_TRACE(bytes);
    RestartOn(OpenUfwScenario());
    tasks_->Recover();
    const auto before = scenario_->State();
    const ApplyTask task = Task("a1");
    machine().files().SetFreeBytes(bytes);
    if (Apply(task).outcome() == ApplyResult::APPLIED) break;
    if (AnyUnfinished(applier_.get())) {
      ++interrupted;
      machine().files().SetFreeBytes(0);
      EXPECT_THAT(Refusal(Task("a2")),
                  HasSubstr(Say("msg-step-other-unfinished", "a1",
                                kScenarioStateFolder)));
    }
    machine().files().SetFreeBytes(std::nullopt);
    // Undoes first, whatever the task is.
    EXPECT_NE(RollBack("a1").outcome(), ApplyResult::ROLLED_BACK);
    EXPECT_EQ(scenario_->State(), before);
    const ApplyResult after = Apply(Task("a3"));
    EXPECT_EQ(after.outcome(), ApplyResult::APPLIED) << after.error();
    EXPECT_EQ(RollBack("a3").outcome(), ApplyResult::ROLLED_BACK);
    EXPECT_EQ(scenario_->State(), before);
  }
  EXPECT_GT(interrupted, 0);
  EXPECT_THAT(log_.Lines(), HasSubstr(kInterruptedLine));
}

TEST_F(RecoveredTasksTest, RemembersHowTheNewestSixteenEnded) {
  EXPECT_THAT(tasks_->Past().results(), IsEmpty());
  for (int i = 0; i < 9; ++i) {
    scenario_->clock.SleepFor(absl::Seconds(1));
    ASSERT_EQ(Apply(Task(absl::StrCat("done", i))).outcome(),
              ApplyResult::APPLIED);
    ASSERT_EQ(RollBack(absl::StrCat("done", i)).outcome(),
              ApplyResult::ROLLED_BACK);
    scenario_->clock.SleepFor(absl::Seconds(1));
    machine().device(1).fault = FakeMachine::Fault::kDeviceRefuses;
    ASSERT_EQ(Apply(Task(absl::StrCat("undone", i))).outcome(),
              ApplyResult::UNDONE);
    machine().device(1).fault = FakeMachine::Fault::kNone;
  }
  Restart();
  tasks_->Recover();
  const PastApplies past = tasks_->Past();
  ASSERT_EQ(past.results_size(), 16);
  EXPECT_EQ(Past().front(), "done1 ROLLED_BACK");
  EXPECT_EQ(Past().back(), "undone8 UNDONE");
  EXPECT_EQ(past.results(15).host(), kScenarioHost);
  EXPECT_THAT(past.results(15).error(), HasSubstr("step "));
  EXPECT_THAT(past.results(15).facts_after(), IsEmpty());
}

// A stream can lose answers, and a refusal has no journal.
TEST_F(ApplyTasksTest, RemembersWhatItRefused) {
  EXPECT_FALSE(tasks_->Past().knows_all());
  tasks_->Recover();
  EXPECT_TRUE(tasks_->Past().knows_all());
  EXPECT_EQ(tasks_->Past().at_work(), "");
  ASSERT_EQ(Apply(Task("a1")).outcome(), ApplyResult::APPLIED);
  ASSERT_EQ(tasks_->Past().results_size(), 1);
  EXPECT_FALSE(tasks_->Past().results(0).of_rollback());
  users_ = std::vector<DeviceUser>{{1, 4711, "python3"}};
  ASSERT_EQ(RollBack("a1").outcome(), ApplyResult::REFUSED);
  ASSERT_EQ(RollBack("a9").outcome(), ApplyResult::REFUSED);
  // The result of the apply comes before that of its rollback.
  ASSERT_THAT(Past(), ElementsAre("a1 APPLIED", "a1 REFUSED", "a9 REFUSED"));
  const PastApplies past = tasks_->Past();
  EXPECT_TRUE(past.results(1).of_rollback());
  EXPECT_THAT(past.results(1).error(), HasSubstr("process 4711"));
  EXPECT_TRUE(past.results(2).no_journal());
  EXPECT_THAT(past.journals(), ElementsAre("a1"));
  users_ = std::vector<DeviceUser>();
  ASSERT_EQ(RollBack("a1").outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_THAT(Past(), ElementsAre("a1 ROLLED_BACK", "a9 REFUSED"));
  ASSERT_EQ(RollBack("a1").outcome(), ApplyResult::NOTHING_TO_DO);
  EXPECT_EQ(tasks_->Past().results(2).outcome(), ApplyResult::NOTHING_TO_DO);
  for (int i = 0; i < 40; ++i) RollBack(absl::StrCat("b", i));
  EXPECT_EQ(tasks_->Past().results_size(), 9);
  EXPECT_EQ(tasks_->Past().results(8).apply_id(), "b39");
}

TEST_F(RecoveredTasksTest, TellsNothingOfTheApplyThatIsAtWork) {
  ASSERT_EQ(Apply(Task("a0")).outcome(), ApplyResult::APPLIED);
  ASSERT_EQ(RollBack("a0").outcome(), ApplyResult::ROLLED_BACK);
  ASSERT_EQ(Apply(Task("a1")).outcome(), ApplyResult::APPLIED);
  // The first rollback leaves residues, so it can be tried again.
  machine().device(1).fault = FakeMachine::Fault::kDeviceRefuses;
  ASSERT_EQ(RollBack("a1").outcome(), ApplyResult::ROLLED_BACK_WITH_RESIDUES);
  machine().device(1).fault = FakeMachine::Fault::kNone;
  ASSERT_EQ(tasks_->Past().results_size(), 2);
  before_users_ = [this] {
    begun_.Notify();
    go_on_.WaitForNotification();
  };
  RollbackTask again;
  again.set_apply_id("a1");
  again.set_force(true);
  Answer answer;
  tasks_->RollBack(again, answer.Expect());
  begun_.WaitForNotification();
  EXPECT_THAT(Past(), ElementsAre("a0 ROLLED_BACK"));
  EXPECT_EQ(tasks_->Past().at_work(), "a1");
  go_on_.Notify();
  EXPECT_EQ(answer.Wait().outcome(), ApplyResult::ROLLED_BACK)
      << answer.Wait().ShortDebugString();
  EXPECT_THAT(Past(), ElementsAre(testing::_, EndsWith(" ROLLED_BACK")));
}

TEST(BoundResultTest, KeepsEveryResidueOfAResultThatIsTooLong) {
  ApplyResult result;
  result.set_error(std::string(100000, 'e'));
  for (int i = 0; i < 1000; ++i) {
    result.add_steps()->set_detail(std::string(2000, 'd'));
    result.add_residues(absl::StrCat(i, std::string(2000, '\x01')));
    result.add_forced(std::string(2000, 'f'));
  }
  BoundResult(&result);
  EXPECT_LE(result.ByteSizeLong(), kMaxResultBytes);
  EXPECT_LE(result.error().size(), 16384u);
  ASSERT_EQ(result.residues_size(), 1000);
  EXPECT_THAT(result.residues(999), HasSubstr("999\\x01"));
  EXPECT_THAT(result.residues(999), EndsWith("..."));
  EXPECT_EQ(result.forced_size(), 1000);
}

TEST_F(RecoveredTasksTest, LeavesTheFactsOutOfAResultThatIsTooLargeToSend) {
  std::string file;
  for (int i = 0; i < 20000; ++i) {
    absl::StrAppend(&file, "net.core.somaxconn = 512\n");
  }
  machine().files().Put("/etc/sysctl.d/10-site.conf", file);
  const ApplyTask task = Task();
  ASSERT_GT(task.plan().ByteSizeLong(), kMaxResultBytes);
  const ApplyResult result = Apply(task);
  EXPECT_EQ(result.outcome(), ApplyResult::APPLIED) << result.error();
  EXPECT_THAT(result.facts_after(), IsEmpty());
  EXPECT_THAT(result.steps(), Not(IsEmpty()));
  EXPECT_LE(result.ByteSizeLong(), kMaxResultBytes);
}

}  // namespace
}  // namespace clusterd
