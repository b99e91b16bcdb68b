#include "tests/component/scripted_host.h"

#include <utility>

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
  thread_ = std::thread([this] { Run(); });
}

ScriptedHost::~ScriptedHost() {
  host_.Kill();
  thread_.join();
}

void ScriptedHost::Run() {
  HubMessage message;
  while (host_.Receive(&message)) {
    if (message.has_task()) Answer(message.task());
    message.Clear();
  }
}

void ScriptedHost::Answer(const Task& task) {
  if (task.has_observe()) {
    AgentMessage answer;
    answer.mutable_result()->set_task_id(task.task_id());
    *answer.mutable_result()->mutable_facts() = options_.facts;
    host_.Send(answer);
    return;
  }
  if (!options_.is_silent) {
    AnswerChange(task, task.has_apply() ? ApplyResult::APPLIED
                                        : ApplyResult::ROLLED_BACK);
  }
  absl::MutexLock lock(&mutex_);
  tasks_.push_back(task);
}

void ScriptedHost::AnswerChange(const Task& task,
                                ApplyResult::Outcome outcome) {
  AgentMessage answer;
  ApplyResult result;
  result.set_apply_id(ApplyIdOf(task));
  result.set_outcome(outcome);
  for (const PlanStep& step : task.apply().plan().steps()) {
    AgentMessage progress;
    progress.mutable_progress()->set_task_id(task.task_id());
    StepOutcome* const sent = progress.mutable_progress()->mutable_step();
    sent->set_step(step.id());
    sent->set_state(StepOutcome::DONE);
    *result.add_steps() = *sent;
    host_.Send(progress);
  }
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
