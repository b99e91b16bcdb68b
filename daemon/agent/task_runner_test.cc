#include "daemon/agent/task_runner.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/process/manual_scheduler.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// Answers with the request's deadline, after the test lets it.
class GatedObserver final : public HostObserver {
 public:
  HostFacts Observe(const std::string& host,
                    const ObserveRequest& request) override {
    if (gate_ != nullptr) gate_->WaitForNotification();
    HostFacts facts;
    facts.set_host(host);
    facts.set_elapsed_ms(request.host_ms());
    return facts;
  }
  void HoldUntil(absl::Notification* gate) { gate_ = gate; }

 private:
  absl::Notification* gate_ = nullptr;
};

// One result that somebody waits for.
class Answer {
 public:
  TaskRunner::Done Expect() {
    return [this](TaskResult result) {
      result_ = std::move(result);
      done_.Notify();
    };
  }
  const TaskResult& Wait() {
    EXPECT_TRUE(done_.WaitForNotificationWithTimeout(absl::Seconds(30)));
    return result_;
  }
  bool arrived() const { return done_.HasBeenNotified(); }

 private:
  TaskResult result_;
  absl::Notification done_;
};

Task ObserveTask(uint64_t id, uint32_t deadline_ms) {
  Task task;
  task.set_task_id(id);
  task.set_deadline_ms(deadline_ms);
  task.mutable_observe();
  return task;
}

absl::StatusCode CodeOf(const TaskResult& result) {
  return static_cast<absl::StatusCode>(result.error().code());
}

TEST(TaskRunnerTest, AnswersObserveWithFactsUnderOwnName) {
  GatedObserver observer;
  ManualScheduler scheduler;
  Answer answer;
  WorkerPool pool(1, 4);
  const auto runner =
      std::make_shared<TaskRunner>("server0", &observer, &pool, &scheduler);
  runner->Run(ObserveTask(7, 5000), answer.Expect());
  EXPECT_EQ(answer.Wait().task_id(), 7u);
  EXPECT_EQ(answer.Wait().facts().host(), "server0");
  EXPECT_EQ(answer.Wait().facts().elapsed_ms(), 5000u);
  EXPECT_EQ(scheduler.pending(), 0);
}

TEST(TaskRunnerTest, AnswersUnknownTaskAsUnsupported) {
  GatedObserver observer;
  ManualScheduler scheduler;
  Answer answer;
  WorkerPool pool(1, 4);
  const auto runner =
      std::make_shared<TaskRunner>("server0", &observer, &pool, &scheduler);
  Task task;
  task.set_task_id(8);
  task.set_deadline_ms(5000);
  runner->Run(task, answer.Expect());
  EXPECT_EQ(answer.Wait().task_id(), 8u);
  EXPECT_THAT(answer.Wait().unsupported(), HasSubstr("no such task"));
}

TEST(TaskRunnerTest, AnswersAtDeadlineWhenWorkNeverEnds) {
  absl::Notification release;
  GatedObserver observer;
  observer.HoldUntil(&release);
  ManualScheduler scheduler;
  Answer answer;
  WorkerPool pool(1, 4);
  const auto runner =
      std::make_shared<TaskRunner>("server0", &observer, &pool, &scheduler);
  runner->Run(ObserveTask(1, 2000), answer.Expect());
  scheduler.Advance(absl::Milliseconds(1999));
  EXPECT_FALSE(answer.arrived());
  scheduler.Advance(absl::Milliseconds(1));
  EXPECT_EQ(CodeOf(answer.Wait()), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(answer.Wait().error().message(), HasSubstr("did not end in 2s"));
  release.Notify();
}

TEST(TaskRunnerTest, NeverAnswersCancelledTask) {
  absl::Notification release;
  GatedObserver observer;
  observer.HoldUntil(&release);
  ManualScheduler scheduler;
  Answer cancelled;
  Answer after;
  WorkerPool pool(1, 4);
  const auto runner =
      std::make_shared<TaskRunner>("server0", &observer, &pool, &scheduler);
  runner->Run(ObserveTask(1, 2000), cancelled.Expect());
  runner->Cancel(1);
  runner->Cancel(1);
  release.Notify();
  // One thread: when the second task is done, so is the first.
  runner->Run(ObserveTask(2, 2000), after.Expect());
  after.Wait();
  EXPECT_FALSE(cancelled.arrived());
}

TEST(TaskRunnerTest, RefusesMoreThanItsLimitAlsoAfterDeadlines) {
  absl::Notification release;
  GatedObserver observer;
  observer.HoldUntil(&release);
  ManualScheduler scheduler;
  std::vector<std::unique_ptr<Answer>> answers;
  for (int i = 0; i <= kMaxRunningTasks; ++i) {
    answers.push_back(std::make_unique<Answer>());
  }
  WorkerPool pool(1, kMaxRunningTasks);
  const auto runner =
      std::make_shared<TaskRunner>("server0", &observer, &pool, &scheduler);
  for (int i = 0; i < kMaxRunningTasks; ++i) {
    runner->Run(ObserveTask(i, 1000), answers[i]->Expect());
  }
  // Answered, but the work behind them still hangs.
  scheduler.Advance(absl::Seconds(1));
  runner->Run(ObserveTask(kMaxRunningTasks, 1000), answers.back()->Expect());
  EXPECT_EQ(CodeOf(answers.back()->Wait()),
            absl::StatusCode::kResourceExhausted);
  release.Notify();
}

TEST(TaskRunnerTest, RefusesRepeatedId) {
  absl::Notification release;
  GatedObserver observer;
  observer.HoldUntil(&release);
  ManualScheduler scheduler;
  Answer first;
  Answer second;
  WorkerPool pool(1, 4);
  const auto runner =
      std::make_shared<TaskRunner>("server0", &observer, &pool, &scheduler);
  runner->Run(ObserveTask(1, 1000), first.Expect());
  runner->Run(ObserveTask(1, 1000), second.Expect());
  EXPECT_EQ(CodeOf(second.Wait()), absl::StatusCode::kAlreadyExists);
  release.Notify();
  EXPECT_TRUE(first.Wait().has_facts());
}

TEST(TaskRunnerTest, RefusesTaskWithoutDeadline) {
  GatedObserver observer;
  ManualScheduler scheduler;
  Answer answer;
  WorkerPool pool(1, 4);
  const auto runner =
      std::make_shared<TaskRunner>("server0", &observer, &pool, &scheduler);
  runner->Run(ObserveTask(1, 0), answer.Expect());
  EXPECT_EQ(CodeOf(answer.Wait()), absl::StatusCode::kInvalidArgument);
}

TEST(NormalizeObserveRequestTest, FillsInDefaultsAndBoundsByDeadline) {
  const auto filled = NormalizeObserveRequest({}, absl::Minutes(1));
  ASSERT_TRUE(filled.ok());
  EXPECT_EQ(filled->command_ms(), 10000u);
  EXPECT_EQ(filled->host_ms(), 30000u);
  ObserveRequest greedy;
  greedy.set_command_ms(4000000000u);
  greedy.set_host_ms(4000000000u);
  const auto bounded = NormalizeObserveRequest(greedy, absl::Seconds(3));
  ASSERT_TRUE(bounded.ok());
  EXPECT_EQ(bounded->command_ms(), 3000u);
  EXPECT_EQ(bounded->host_ms(), 3000u);
}

TEST(NormalizeObserveRequestTest, RefusesMalformedPortRanges) {
  ObserveRequest backwards;
  backwards.add_socket_ports()->set_first(2);
  EXPECT_THAT(std::string(NormalizeObserveRequest(backwards, absl::Seconds(1))
                              .status()
                              .message()),
              HasSubstr("port range 2-0"));
  ObserveRequest high;
  high.add_socket_ports()->set_last(65536);
  EXPECT_FALSE(NormalizeObserveRequest(high, absl::Seconds(1)).ok());
  ObserveRequest many;
  for (int i = 0; i < 65; ++i) many.add_socket_ports();
  EXPECT_FALSE(NormalizeObserveRequest(many, absl::Seconds(1)).ok());
}

}  // namespace
}  // namespace clusterd
