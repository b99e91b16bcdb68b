// The part of ApplyTasks that rolls back unconfirmed applies automatically.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "config/words/subject_text.h"
#include "config/words/words.h"
#include "daemon/agent/apply_tasks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/process/test_audit.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ConfirmTasksTest : public ::testing::Test {
 protected:
  ConfirmTasksTest() { Restart(); }
  ~ConfirmTasksTest() override { tasks_.reset(); }

  void Restart() {
    tasks_.reset();
    scheduler_ = std::make_unique<ManualScheduler>();
    applier_ = std::make_unique<Applier>(
        ScenarioOptions(), scenario_->Access(),
        [this] {
          if (meanwhile_) meanwhile_();
          return AllowsAll();
        },
        [] { return std::vector<DeviceUser>(); });
    tasks_ = std::make_unique<ApplyTasks>(kScenarioHost, applier_.get(), &log_,
                                          &record_, audit_.log());
    tasks_->Recover(scheduler_.get());
  }
  // Advances both clocks.
  void Pass(absl::Duration time) {
    scenario_->clock.Advance(time);
    scheduler_->Advance(time);
  }
  template <typename Begin>
  ApplyResult Answer(const Begin& begin) {
    ApplyResult result;
    absl::Notification done;
    begin([&](ApplyResult answered) {
      result = std::move(answered);
      done.Notify();
    });
    EXPECT_TRUE(done.WaitForNotificationWithTimeout(kPatience));
    return result;
  }
  ApplyResult Apply(const std::string& id = "a1",
                    const ApplyTasks::Progress& progress = nullptr) {
    ApplyTask task;
    task.set_apply_id(id);
    *task.mutable_plan() = scenario_->Plan();
    task.set_actor("ada");
    task.set_confirm_within_ms(300000);
    return Answer([&](const ApplyTasks::Done& done) {
      tasks_->Apply(task, progress, done);
    });
  }
  ApplyResult Confirm(uint32_t extend_by_ms = 0, const char* id = "a1") {
    ConfirmTask task;
    task.set_apply_id(id);
    task.set_actor("bob");
    task.set_extend_by_ms(extend_by_ms);
    return Answer(
        [&](const ApplyTasks::Done& done) { tasks_->Confirm(task, done); });
  }

  // Until apply a1 is rolled back; 0: it does not wait.
  uint32_t LeftMs() {
    const PastApplies past = tasks_->Past();
    const ApplyResult* const a1 =
        FirstWith(past.results(), &ApplyResult::apply_id, "a1");
    return a1 == nullptr ? 0 : a1->reverts_in_ms();
  }

  // Waits until apply a1 is rolled back, and stops.
  void ExpectBack() {
    ASSERT_TRUE(log_.WaitFor(kNotConfirmedLine));
    tasks_->Stop();
    EXPECT_EQ(scenario_->State(), before_);
  }

  const std::unique_ptr<Scenario> scenario_ = OpenUfwScenario();
  const std::map<std::string, std::string> before_ = scenario_->State();
  std::function<void()> meanwhile_;  // Runs while an apply is checked.
  CapturedLog log_;
  TestAudit audit_;
  std::unique_ptr<ManualScheduler> scheduler_;
  std::unique_ptr<Applier> applier_;
  AppliesRecord record_;
  std::unique_ptr<ApplyTasks> tasks_;
};

TEST_F(ConfirmTasksTest, TakesBackByItselfWhatNobodyConfirms) {
  std::vector<ApplyResult> reported;
  tasks_->ListenForUndone([&] {
    const PastApplies past = tasks_->Past();
    reported.assign(past.results().begin(), past.results().end());
  });
  ASSERT_EQ(Apply().reverts_in_ms(), 300000u);
  EXPECT_EQ(LeftMs(), 300000u);
  Pass(absl::Minutes(4));
  EXPECT_EQ(LeftMs(), 60000u);
  EXPECT_NE(scenario_->State(), before_);
  Pass(absl::Minutes(1));
  ExpectBack();
  ASSERT_EQ(reported.size(), 1u);
  EXPECT_EQ(reported[0].outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_TRUE(reported[0].not_confirmed());
  EXPECT_EQ(LeftMs(), 0u);
  EXPECT_THAT(
      audit_.Lines(),
      ElementsAre("ada apply a1: begins", "ada apply a1: APPLIED",
                  "self recovery a1: begins",
                  HasSubstr("ROLLED_BACK: " + Say("msg-step-not-confirmed"))));
  EXPECT_EQ(scheduler_->pending(), 0);
}

TEST_F(ConfirmTasksTest, TakesItBackAlsoAfterItWasKilled) {
  ASSERT_EQ(Apply().outcome(), ApplyResult::APPLIED);
  Pass(absl::Minutes(4));
  Restart();
  EXPECT_EQ(LeftMs(), 60000u);
  Pass(absl::Minutes(1));
  ExpectBack();
}

// Timers stop during a suspend.
TEST_F(ConfirmTasksTest, TakesItBackSoonAfterTheMachineWasSuspended) {
  ASSERT_EQ(Apply().outcome(), ApplyResult::APPLIED);
  scenario_->clock.Advance(absl::Hours(1));
  scheduler_->Advance(kDeadlineRound);
  ExpectBack();
}

TEST_F(ConfirmTasksTest, KeepsWhatIsConfirmed) {
  ASSERT_EQ(Apply().outcome(), ApplyResult::APPLIED);
  const auto applied = scenario_->State();
  const ApplyResult confirmed = Confirm();
  EXPECT_EQ(confirmed.outcome(), ApplyResult::APPLIED) << confirmed.error();
  EXPECT_EQ(LeftMs(), 0u);
  Pass(absl::Hours(1));
  tasks_->Stop();
  EXPECT_EQ(scenario_->State(), applied);
  EXPECT_THAT(audit_.Lines().back(), "bob confirm a1: APPLIED");
  EXPECT_EQ(scheduler_->pending(), 0);
}

TEST_F(ConfirmTasksTest, TakesBackLaterWhatIsExtended) {
  ASSERT_EQ(Apply().outcome(), ApplyResult::APPLIED);
  EXPECT_EQ(Confirm(600000).reverts_in_ms(), 900000u);
  EXPECT_THAT(audit_.Lines().back(), "bob extend a1: APPLIED");
  Pass(absl::Minutes(14));
  EXPECT_NE(scenario_->State(), before_);
  Pass(absl::Minutes(1));
  ExpectBack();
}

// Past() is of applies: a refusal would read as that of the apply.
TEST_F(ConfirmTasksTest, RemembersNoConfirmationThatItRefused) {
  ASSERT_EQ(Apply().outcome(), ApplyResult::APPLIED);
  ASSERT_EQ(Confirm().outcome(), ApplyResult::APPLIED);
  EXPECT_EQ(Confirm(1000).outcome(), ApplyResult::REFUSED);
  const ApplyResult unknown = Confirm(0, "a9");
  EXPECT_EQ(unknown.outcome(), ApplyResult::REFUSED);
  EXPECT_EQ(unknown.error_words().words(), "msg-step-no-journal");
  ASSERT_EQ(tasks_->Past().results_size(), 1);
  EXPECT_EQ(tasks_->Past().results(0).outcome(), ApplyResult::APPLIED);
}

TEST_F(ConfirmTasksTest, TakesBackWhatTookLongerThanItsDeadline) {
  const ApplyResult late = Apply("a1", [this](const StepOutcome& step) {
    if (step.step() == 1) scenario_->clock.Advance(absl::Minutes(5));
  });
  ASSERT_EQ(late.outcome(), ApplyResult::APPLIED) << late.error();
  Pass(kUndoRetry);
  ExpectBack();
}

TEST_F(ConfirmTasksTest, TakesBackWhatBecameDueDuringARefusedTask) {
  ASSERT_EQ(Apply().outcome(), ApplyResult::APPLIED);
  meanwhile_ = [this] { Pass(absl::Minutes(5)); };
  EXPECT_EQ(Apply("a2").error_words().words(), "msg-step-other-waits");
  meanwhile_ = nullptr;
  Pass(kUndoRetry);
  ExpectBack();
}

TEST_F(ConfirmTasksTest, ClosesTheJournalOnceTheDiskHasRoomAgain) {
  absl::Notification back;
  absl::Notification closed;
  tasks_->ListenForUndone([&] {
    if (tasks_->Past().knows_all()) return closed.Notify();
    back.Notify();
  });
  ASSERT_EQ(Apply().outcome(), ApplyResult::APPLIED);
  const std::string journal = std::string(kScenarioStateFolder) + "/a1.journal";
  scenario_->machine.files().FailChanges(
      journal, absl::ResourceExhaustedError("No space left on device"));
  Pass(absl::Minutes(5));
  ASSERT_TRUE(back.WaitForNotificationWithTimeout(kPatience));
  EXPECT_EQ(scenario_->State(), before_);
  const PastApplies past = tasks_->Past();
  EXPECT_EQ(past.results(past.results_size() - 1).outcome(),
            ApplyResult::ROLLED_BACK);
  // Not every few seconds: each retry reloads the firewall.
  EXPECT_EQ(scheduler_->UntilNext(), kUnclosedRetry);
  scenario_->machine.files().FailChanges(journal, absl::OkStatus());
  Pass(kUnclosedRetry);
  ASSERT_TRUE(closed.WaitForNotificationWithTimeout(kPatience));
  EXPECT_EQ(scheduler_->pending(), 0);
  EXPECT_EQ(scenario_->State(), before_);
  tasks_->Stop();
}

}  // namespace
}  // namespace clusterd
