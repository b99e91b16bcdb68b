// Whatever a controller sends: a task has one answer, and what was applied can
// be taken back, to the byte.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "daemon/agent/task_runner.h"
#include "daemon/process/worker_pool.h"
#include "tests/fuzz/inputs.pb.h"
#include "tests/fuzz/message_input.h"
#include "tests/fuzz/require.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/process/manual_scheduler.h"

namespace clusterd {
namespace {

constexpr int kMaxMessages = 16;

class EmptyObserver final : public HostObserver {
 public:
  HostFacts Observe(const std::string& host, const ObserveRequest&) override {
    HostFacts facts;
    facts.set_host(host);
    return facts;
  }
};

// Of tasks that change nothing.
void RunTasks(const HubInput& input) {
  static auto* const pool = new WorkerPool(1, 64);
  ManualScheduler scheduler;
  EmptyObserver observer;
  OtherTasks others;
  others.record = [](const RecordTask&, absl::Duration) {
    return HostRecording();
  };
  const auto runner = std::make_shared<TaskRunner>(kScenarioHost, &observer,
                                                   pool, &scheduler, others);
  std::atomic<int> answers{0};
  int tasks = 0;
  for (int i = 0; i < input.messages_size() && i < kMaxMessages; ++i) {
    const HubMessage& message = input.messages(i);
    if (message.has_cancel()) runner->Cancel(message.cancel().task_id());
    if (!message.has_task()) continue;
    ++tasks;
    runner->Run(message.task(), [&answers](const TaskResult& result) {
      Require(result.outcome_case() != TaskResult::OUTCOME_NOT_SET);
      ++answers;
    });
  }
  pool->Drain();
  scheduler.Advance(absl::Hours(24 * 60));
  runner->CancelAll();
  Require(answers <= tasks);
}

struct Host {
  void Apply(const ApplyTask& task) {
    ApplyRequest request;
    request.plan = task.plan();
    request.apply_id = task.apply_id();
    request.actor = task.actor();
    request.force = task.force();
    const auto result = applier->Apply(request);
    if (!result.ok()) return Require(!result.status().message().empty());
    if (result->outcome() == ApplyResult::APPLIED) {
      applied.push_back(task.apply_id());
    }
  }

  // Newest first; true: all came back clean.
  bool RollBackAll() {
    bool is_clean = true;
    for (auto id = applied.rbegin(); id != applied.rend(); ++id) {
      RollbackRequest request;
      request.apply_id = *id;
      request.force = true;
      const auto result = applier->Rollback(request);
      Require(result.ok());
      is_clean = is_clean && result->residues().empty();
    }
    return is_clean;
  }

  const std::unique_ptr<Scenario> scenario = OpenUfwScenario();
  const std::unique_ptr<Applier> applier = scenario->MakeApplier();
  std::vector<std::string> applied;
};

void RunChanges(const HubInput& input) {
  Host host;
  host.scenario->machine.files().Put("/etc/shadow", "secret");
  const auto before = host.scenario->State();
  for (int i = 0; i < input.messages_size() && i < kMaxMessages; ++i) {
    const Task& task = input.messages(i).task();
    if (task.has_apply()) host.Apply(task.apply());
    if (task.has_rollback()) {
      RollbackRequest request;
      request.apply_id = task.rollback().apply_id();
      host.applier->Rollback(request).status().IgnoreError();
    }
  }
  if (host.RollBackAll()) Require(host.scenario->State() == before);
  Require(host.scenario->machine.files().Content("/etc/shadow") == "secret");
}

bool Changes(const HubInput& input) {
  for (const HubMessage& message : input.messages()) {
    if (message.task().has_apply() || message.task().has_rollback())
      return true;
  }
  return false;
}

}  // namespace
}  // namespace clusterd

CLUSTERD_FUZZ_MESSAGE(HubInput) {
  clusterd::RunTasks(input);
  if (clusterd::Changes(input)) clusterd::RunChanges(input);
  return 0;
}
