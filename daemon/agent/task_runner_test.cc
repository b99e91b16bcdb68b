#include "daemon/agent/task_runner.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/process/test_audit.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// Answers with the request's deadline once the gate opens or `unwanted` is set.
class GatedObserver final : public HostObserver {
 public:
  HostFacts ObserveFor(const std::string& host, const ObserveRequest& request,
                       const Asker& asker) override {
    const std::atomic<bool> never{false};
    const std::atomic<bool>& unwanted =
        asker.unwanted == nullptr || is_deaf_ ? never : *asker.unwanted;
    ++begun_;
    while (gate_ != nullptr && !unwanted &&
           !gate_->WaitForNotificationWithTimeout(absl::Milliseconds(1))) {
    }
    stopped_ += unwanted ? 1 : 0;
    HostFacts facts;
    facts.set_host(host);
    facts.set_elapsed_ms(request.host_ms());
    return facts;
  }
  void HoldUntil(absl::Notification* gate) { gate_ = gate; }
  // Ignores `unwanted`.
  void BeDeaf() { is_deaf_ = true; }
  int begun() const { return begun_; }
  int stopped() const { return stopped_; }

 private:
  bool is_deaf_ = false;
  std::atomic<int> begun_{0};
  std::atomic<int> stopped_{0};
  absl::Notification* gate_ = nullptr;
};

class Answer {
 public:
  TaskRunner::Done Expect() {
    return [this](TaskResult result) {
      result_ = std::move(result);
      done_.Notify();
    };
  }
  const TaskResult& Wait() {
    EXPECT_TRUE(done_.WaitForNotificationWithTimeout(kPatience));
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

// A runner of tasks with its threads and the tasks that may wait. Lives shorter
// than the answers that it gives.
struct Host {
  explicit Host(int threads = 1, int waiting = 4, OtherTasks others = {})
      : pool(threads, waiting),
        runner(std::make_shared<TaskRunner>("server0", &observer, &pool,
                                            &scheduler, std::move(others))) {}

  // Keeps observations from ending until `release`.
  void Hold() { observer.HoldUntil(&release); }

  absl::Notification release;
  GatedObserver observer;
  ManualScheduler scheduler;
  WorkerPool pool;
  const std::shared_ptr<TaskRunner> runner;
};

absl::StatusCode CodeOf(const TaskResult& result) {
  return static_cast<absl::StatusCode>(result.error().code());
}

TEST(TaskRunnerTest, AnswersObserveWithFactsUnderOwnName) {
  Answer answer;
  Host host;
  host.runner->Run(ObserveTask(7, 5000), answer.Expect());
  EXPECT_EQ(answer.Wait().task_id(), 7u);
  EXPECT_EQ(answer.Wait().facts().host(), "server0");
  EXPECT_EQ(answer.Wait().facts().elapsed_ms(), 5000u);
  EXPECT_EQ(host.scheduler.pending(), 0);
}

TEST(TaskRunnerTest, AnswersUnknownTaskAsUnsupported) {
  Answer answer;
  Host host;
  Task task;
  task.set_task_id(8);
  task.set_deadline_ms(5000);
  host.runner->Run(task, answer.Expect());
  EXPECT_EQ(answer.Wait().task_id(), 8u);
  EXPECT_THAT(answer.Wait().unsupported(), Tells("agent-task-unknown"));
}

TEST(TaskRunnerTest, HasALineOfEachTaskThatIsUnknownOrRefused) {
  struct Row {
    const char* name;
    Task task;
    const char* error;
  };
  Task unknown;
  unknown.set_deadline_ms(5000);
  Task logs;
  logs.mutable_logs()->set_actor("ada");
  Task ports = ObserveTask(0, 5000);
  ports.mutable_observe()->add_socket_ports()->set_first(9);
  const Row rows[] = {
      {"unknown", unknown, " unknown task : refused: UNIMPLEMENTED: "},
      {"not offered", logs, "ada read-logs : refused: UNIMPLEMENTED: "},
      {"malformed", ports, " observe : refused: INVALID_ARGUMENT: "},
      {"no deadline", ObserveTask(0, 0),
       " observe : refused: INVALID_ARGUMENT: task: no deadline"},
      {"too much", ObserveTask(0, 5000),
       " observe : refused: RESOURCE_EXHAUSTED: "}};
  for (const Row& row : rows) {
    TestAudit audit;
    OtherTasks others;
    others.audit = audit.log();
    Answer answer;
    Host host(1, /*waiting=*/0, others);  // Takes no work.
    host.runner->Run(row.task, answer.Expect());
    answer.Wait();
    EXPECT_THAT(audit.Lines(), testing::ElementsAre(HasSubstr(row.error)))
        << row.name;
  }
}

// A ping shows that the stream works, however busy the host is.
TEST(TaskRunnerTest, AnswersAPingAtOnceAlsoWithoutADeadline) {
  TestAudit audit;
  OtherTasks others;
  others.audit = audit.log();
  Task ping;
  ping.set_task_id(7);
  ping.mutable_ping();
  std::vector<TaskResult> answers;
  Host host(1, /*waiting=*/0, others);  // Takes no work.
  host.runner->Run(ping, [&answers](const TaskResult& answer) {
    answers.push_back(answer);
  });
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].task_id(), 7u);
  EXPECT_TRUE(answers[0].pong());
  EXPECT_TRUE(audit.Lines().empty());
}

TEST(TaskRunnerTest, AnswersAtDeadlineWhenWorkNeverEnds) {
  Answer answer;
  Host host;
  host.Hold();
  host.runner->Run(ObserveTask(1, 2000), answer.Expect());
  host.scheduler.Advance(absl::Milliseconds(1999));
  EXPECT_FALSE(answer.arrived());
  host.scheduler.Advance(absl::Milliseconds(1));
  EXPECT_EQ(CodeOf(answer.Wait()), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(answer.Wait().error().message(), HasSubstr("did not end in 2s"));
  host.release.Notify();
}

TEST(TaskRunnerTest, NeverAnswersCancelledTask) {
  Answer cancelled;
  Answer after;
  Host host;
  host.Hold();
  host.runner->Run(ObserveTask(1, 2000), cancelled.Expect());
  host.runner->Cancel(1);
  host.runner->Cancel(1);
  host.release.Notify();
  // One thread: when the second task is done, so is the first.
  host.runner->Run(ObserveTask(2, 2000), after.Expect());
  after.Wait();
  EXPECT_FALSE(cancelled.arrived());
}

TEST(TaskRunnerTest, ObservationThatNobodyWaitsForStops) {
  Answer cancelled;
  Answer late;
  Host host(2, 4);
  host.Hold();
  host.runner->Run(ObserveTask(1, 2000), cancelled.Expect());
  host.runner->Run(ObserveTask(2, 3000), late.Expect());
  host.runner->Cancel(1);
  host.scheduler.Advance(absl::Seconds(3));
  EXPECT_EQ(CodeOf(late.Wait()), absl::StatusCode::kDeadlineExceeded);
  // Would hang if they did not stop.
  host.pool.Drain();
  EXPECT_EQ(host.observer.stopped(), host.observer.begun());
  EXPECT_FALSE(cancelled.arrived());
}

TEST(TaskRunnerTest, EqualObservationsShareTheNextAndNeverOneThatHasBegun) {
  Answer answers[4];
  Answer another;
  Host host(4, 4);
  host.Hold();
  host.runner->Run(ObserveTask(0, 5000), answers[0].Expect());
  EXPECT_TRUE(WaitUntil([&] { return host.observer.begun() > 0; }));
  for (int i = 1; i < 4; ++i) {
    host.runner->Run(ObserveTask(i, 5000), answers[i].Expect());
  }
  host.runner->Cancel(2);
  // Another question does not wait for them.
  host.runner->Run(ObserveTask(9, 6000), another.Expect());
  EXPECT_TRUE(WaitUntil([&] { return host.observer.begun() > 1; }));
  host.scheduler.Advance(absl::Seconds(1));
  host.release.Notify();
  host.pool.Drain();
  EXPECT_EQ(host.observer.begun(), 3);
  EXPECT_EQ(answers[0].Wait().waited_ms(), 0u);
  EXPECT_EQ(answers[1].Wait().task_id(), 1u);
  EXPECT_EQ(answers[1].Wait().waited_ms(), 1000u);
  EXPECT_EQ(answers[3].Wait().facts().host(), "server0");
  // Its wait is subtracted from its time.
  EXPECT_EQ(answers[3].Wait().facts().elapsed_ms(), 4000u);
  EXPECT_FALSE(answers[2].arrived());
  EXPECT_TRUE(another.arrived());
}

TEST(TaskRunnerTest, ObservationThatHangsHoldsUpNoEqualOneForLong) {
  absl::Notification release;
  // Ignores `unwanted`.
  class Hanging final : public HostObserver {
   public:
    explicit Hanging(absl::Notification* release) : release_(release) {}
    HostFacts ObserveFor(const std::string&, const ObserveRequest&,
                         const Asker&) override {
      if (begun_++ == 0) release_->WaitForNotification();
      return {};
    }
    int begun() const { return begun_; }

   private:
    absl::Notification* const release_;
    std::atomic<int> begun_{0};
  } observer(&release);
  ManualScheduler scheduler;
  Answer first;
  Answer second;
  Answer third;
  WorkerPool pool(2, 4);
  const auto runner =
      std::make_shared<TaskRunner>("server0", &observer, &pool, &scheduler);
  runner->Run(ObserveTask(1, 2000), first.Expect());
  EXPECT_TRUE(WaitUntil([&] { return observer.begun() > 0; }));
  scheduler.Advance(absl::Seconds(1));
  runner->Run(ObserveTask(2, 2000), second.Expect());
  scheduler.Advance(absl::Seconds(1));
  EXPECT_EQ(CodeOf(first.Wait()), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(second.Wait().has_facts());
  runner->Run(ObserveTask(3, 2000), third.Expect());
  EXPECT_TRUE(third.Wait().has_facts());
  release.Notify();
  pool.Drain();
}

TEST(TaskRunnerTest, KeepsOnlySoManyTasksThatAreNotAnswered) {
  Host host;
  host.Hold();
  for (size_t i = 0; i < kMaxOpenTasks; ++i) {
    host.runner->Run(ObserveTask(i, 1000), [](const TaskResult&) {});
  }
  Answer refused;
  host.runner->Run(ObserveTask(kMaxOpenTasks, 1000), refused.Expect());
  EXPECT_EQ(CodeOf(refused.Wait()), absl::StatusCode::kResourceExhausted);
  host.release.Notify();
  host.pool.Drain();
}

TEST(TaskRunnerTest, RefusesMoreThanItsLimitAlsoAfterDeadlines) {
  std::vector<std::unique_ptr<Answer>> answers;
  for (int i = 0; i <= kMaxRunningTasks; ++i) {
    answers.push_back(std::make_unique<Answer>());
  }
  Host host(1, kMaxRunningTasks);
  host.Hold();
  host.observer.BeDeaf();
  // Different requests, since equal ones would be merged.
  for (int i = 0; i < kMaxRunningTasks; ++i) {
    Task task = ObserveTask(i, 1000);
    task.mutable_observe()->set_host_ms(i + 1);
    host.runner->Run(task, answers[i]->Expect());
  }
  // A task without callers is not begun.
  EXPECT_TRUE(WaitUntil([&] { return host.observer.begun() > 0; }));
  // Answered, but the work behind them still hangs.
  host.scheduler.Advance(absl::Seconds(1));
  host.runner->Run(ObserveTask(kMaxRunningTasks, 1000),
                   answers.back()->Expect());
  EXPECT_EQ(CodeOf(answers.back()->Wait()),
            absl::StatusCode::kResourceExhausted);
  host.release.Notify();
}

TEST(TaskRunnerTest, RefusesRepeatedId) {
  Answer first;
  Answer second;
  Host host;
  host.Hold();
  host.runner->Run(ObserveTask(1, 1000), first.Expect());
  host.runner->Run(ObserveTask(1, 1000), second.Expect());
  EXPECT_EQ(CodeOf(second.Wait()), absl::StatusCode::kAlreadyExists);
  host.release.Notify();
  EXPECT_TRUE(first.Wait().has_facts());
}

TEST(NormalizeObserveRequestTest, FillsInDefaultsAndBoundsByDeadline) {
  const auto filled = NormalizeObserveRequest({}, absl::Minutes(1)).value();
  EXPECT_EQ(filled.command_ms(), 10000u);
  EXPECT_EQ(filled.host_ms(), 30000u);
  ObserveRequest greedy;
  greedy.set_command_ms(4000000000u);
  greedy.set_host_ms(4000000000u);
  const auto bounded =
      NormalizeObserveRequest(greedy, absl::Seconds(3)).value();
  EXPECT_EQ(bounded.command_ms(), 3000u);
  EXPECT_EQ(bounded.host_ms(), 3000u);
}

TEST(NormalizeObserveRequestTest, RefusesBadPortRangesAndEndlessQuestions) {
  const auto refusal = [](const ObserveRequest& request) {
    return std::string(
        NormalizeObserveRequest(request, absl::Seconds(1)).status().message());
  };
  ObserveRequest backwards;
  backwards.add_socket_ports()->set_first(2);
  EXPECT_THAT(refusal(backwards), HasSubstr("port range 2-0"));
  ObserveRequest high;
  high.add_socket_ports()->set_last(65536);
  EXPECT_NE(refusal(high), "");
  ObserveRequest many;
  for (int i = 0; i < 65; ++i) many.add_socket_ports();
  EXPECT_NE(refusal(many), "");
  ObserveRequest endless;
  endless.mutable_ssh()->set_user(std::string(2 << 20, 'x'));
  EXPECT_THAT(refusal(endless), HasSubstr("expected at most 1048576"));
}

}  // namespace
}  // namespace clusterd
