#include "tests/component/scripted_host.h"

#include <utility>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

std::string ApplyIdOf(const Task& task) {
  return task.has_apply() ? task.apply().apply_id()
                          : task.rollback().apply_id();
}

}  // namespace

ScriptedHost::ScriptedHost(const Options& options)
    : options_(options), host_(options.controller, options.tls) {
  AgentMessage hello = RawHost::Hello();
  for (const char* task : {"observe", "apply", "rollback"}) {
    hello.mutable_hello()->add_tasks(task);
  }
  HubMessage welcome;
  EXPECT_TRUE(host_.Send(hello) && host_.Receive(&welcome) &&
              welcome.has_welcome());
  if (!options_.past.empty() || options_.knows_all) {
    AgentMessage past;
    past.mutable_past_applies()->set_knows_all(options_.knows_all);
    for (const ApplyResult& result : options_.past) {
      *past.mutable_past_applies()->add_results() = result;
    }
    EXPECT_TRUE(host_.Send(past));
  }
  thread_ = std::thread([this] { Run(); });
}

ScriptedHost::~ScriptedHost() {
  host_.Kill();
  thread_.join();
}

void ScriptedHost::Run() {
  HubMessage message;
  while (host_.Receive(&message)) {
    if (message.has_task() && !Answer(message.task())) host_.Kill();
    message.Clear();
  }
}

bool ScriptedHost::Answer(const Task& task) {
  if (task.has_observe()) {
    AgentMessage answer;
    answer.mutable_result()->set_task_id(task.task_id());
    *answer.mutable_result()->mutable_facts() = options_.facts;
    host_.Send(answer);
    return true;
  }
  switch (options_.way) {
    case Way::kSucceeds:
      AnswerChange(task, task.has_apply() ? ApplyResult::APPLIED
                                          : ApplyResult::ROLLED_BACK);
      break;
    case Way::kFails:
      AnswerChange(task, ApplyResult::UNDONE);
      break;
    case Way::kRefuses:
      AnswerChange(task, ApplyResult::REFUSED);
      break;
    case Way::kNotFound: {
      if (task.has_rollback()) {
        AnswerChange(task, ApplyResult::REFUSED, /*no_journal=*/true);
        break;
      }
      AgentMessage answer;
      answer.mutable_result()->set_task_id(task.task_id());
      answer.mutable_result()->mutable_error()->set_code(
          static_cast<int>(absl::StatusCode::kNotFound));
      host_.Send(answer);
      break;
    }
    case Way::kDies:
    case Way::kIsSilent:
      break;
  }
  absl::MutexLock lock(&mutex_);
  tasks_.push_back(task);
  return options_.way != Way::kDies;
}

void ScriptedHost::AnswerChange(const Task& task, ApplyResult::Outcome outcome,
                                bool no_journal) {
  AgentMessage answer;
  ApplyResult result;
  result.set_apply_id(ApplyIdOf(task));
  result.set_outcome(outcome);
  result.set_no_journal(no_journal);
  for (const PlanStep& step : task.apply().plan().steps()) {
    AgentMessage progress;
    progress.mutable_progress()->set_task_id(task.task_id());
    StepOutcome* const sent = progress.mutable_progress()->mutable_step();
    sent->set_step(step.id());
    sent->set_state(outcome == ApplyResult::APPLIED ? StepOutcome::DONE
                                                    : StepOutcome::FAILED);
    *result.add_steps() = *sent;
    host_.Send(progress);
  }
  if (outcome == ApplyResult::UNDONE) result.set_error("step 1: no effect");
  if (outcome == ApplyResult::REFUSED) result.set_error("not allowed here");
  answer.mutable_result()->set_task_id(task.task_id());
  *answer.mutable_result()->mutable_apply() = std::move(result);
  host_.Send(answer);
}

bool ScriptedHost::WaitForTasks(size_t count) {
  absl::MutexLock lock(&mutex_);
  const auto reached = [this, count]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return tasks_.size() >= count;
  };
  return mutex_.AwaitWithTimeout(absl::Condition(&reached), kPatience);
}

std::vector<Task> ScriptedHost::tasks() {
  absl::MutexLock lock(&mutex_);
  return tasks_;
}

void ScriptedHost::Finish(ApplyResult::Outcome outcome) {
  const std::vector<Task> all = tasks();
  ASSERT_FALSE(all.empty());
  AnswerChange(all.back(), outcome);
}

ScriptedHost::Options HealthyHost(TestController& controller,
                                  TestCertificates& certificates, int server) {
  const auto spec = controller.spec().spec();
  ScriptedHost::Options options;
  options.controller = controller.address();
  options.tls = certificates.Host(spec->servers(server).host());
  options.facts = MakeHealthyHost(*spec, spec->servers(server));
  return options;
}

ScriptedHost::Options LowSomaxconnHost(TestController& controller,
                                       TestCertificates& certificates,
                                       int server) {
  ScriptedHost::Options options = HealthyHost(controller, certificates, server);
  options.facts.mutable_kernel()->mutable_somaxconn()->set_value(128);
  return options;
}

}  // namespace clusterd
