// Any input of a controller. Each task and each question has one answer,
// unsigned verdicts are not believed, and changes can be rolled back to the
// byte.
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "config/identity/signing_request.h"
#include "daemon/agent/agent_stream.h"
#include "daemon/agent/hooks/hook_service.h"
#include "daemon/agent/identity/enrolment_call.h"
#include "daemon/agent/task_runner.h"
#include "daemon/process/worker_pool.h"
#include "grpcpp/server_builder.h"
#include "tests/fuzz/messages/inputs.pb.h"
#include "tests/fuzz/messages/message_input.h"
#include "tests/fuzz/require.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/config/test_authority.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_file_system.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

constexpr int kMaxMessages = 16;

class EmptyObserver final : public HostObserver {
 public:
  HostFacts ObserveFor(const std::string& host, const ObserveRequest&,
                       const Asker&) override {
    HostFacts facts;
    facts.set_host(host);
    return facts;
  }
};

OtherTasks OtherTasksOfHost() {
  OtherTasks others;
  others.record = [](const RecordTask&, absl::Duration) {
    return HostRecording();
  };
  others.read_logs = [](const LogsTask&, absl::Duration) { return HostLogs(); };
  return others;
}

// Runs tasks that change nothing.
void RunTasks(const HubInput& input) {
  static auto* const pool = new WorkerPool(1, 64);
  ManualScheduler scheduler;
  EmptyObserver observer;
  const auto runner = std::make_shared<TaskRunner>(
      kScenarioHost, &observer, pool, &scheduler, OtherTasksOfHost());
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

// A controller that sends the input, whatever it receives.
class ScriptedHub final : public AgentHub::Service {
 public:
  ScriptedHub() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    Require(server_ != nullptr);
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  // The next stream's input; notifies `said` when all is sent.
  void Say(const HubInput& input, absl::Notification* said) {
    absl::MutexLock lock(&mutex_);
    input_ = input;
    said_ = said;
  }

  grpc::Status Attach(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<HubMessage, AgentMessage>* stream) override {
    HubInput input;
    absl::Notification* said;
    {
      absl::MutexLock lock(&mutex_);
      input = input_;
      said = std::exchange(said_, nullptr);
    }
    AgentMessage heard;
    bool open = said != nullptr && stream->Read(&heard);
    for (int i = 0; open && i < input.messages_size() && i < kMaxMessages;
         ++i) {
      open = stream->Write(input.messages(i));
      // Its questions, which the next ones may answer; none if it has left.
      for (int asked = 0; i == 0 && asked < 3 && open; ++asked) {
        open = stream->Read(&heard);
      }
    }
    if (said != nullptr) said->Notify();
    return grpc::Status(grpc::StatusCode::ABORTED, "all is said");
  }

 private:
  int port_ = 0;
  absl::Mutex mutex_;
  HubInput input_ ABSL_GUARDED_BY(mutex_);
  absl::Notification* said_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::unique_ptr<grpc::Server> server_;  // Last: uses the others.
};

// A host's state for believing an answer: all that is constant over inputs.
struct Believer {
  // An input cannot have signatures of this CA, or of this key.
  void Judge(const absl::StatusOr<HubMessage>& answer) {
    if (!answer.ok()) return Require(!answer.status().message().empty());
    const auto proved = verdicts.Prove(answer->job_answer().verdict(),
                                       absl::Hours(24 * 365 * 1000));
    Require(!proved.ok() && !proved.status().message().empty());
    const Enrolled& enrolled = answer->certificate_answer().enrolled();
    const Roots roots =
        TakeRootBundles({ca, ""}, enrolled.root_bundles(), enrolled.roots_pem(),
                        "test", absl::Now());
    Require(roots.pem == ca && roots.bundle.empty());
    const auto pair = CheckedPair(enrolled, "test", roots, key, absl::Now());
    Require(!pair.ok() && !pair.status().message().empty());
  }

  const std::string ca = TestAuthority::Create()->certificate_pem();
  const std::string key = *MakePrivateKey();
  FakeClock clock;
  FakeFileSystem files;
  VerdictStore verdicts{
      {"/state/verdicts", "test",
       [this]() -> absl::StatusOr<std::string> { return ca; }},
      &files,
      &clock};
};

// clusterd's own stream, from the welcome on, with three questions open.
void RunStream(const HubInput& input) {
  static auto* const hub = new ScriptedHub();
  static auto* const believer = new Believer();
  static auto* const log = new CapturedLog();
  static auto* const loop = new EventLoop();
  static auto* const scheduler = new ThreadScheduler();
  static auto* const pool = new WorkerPool(1, 64);
  static auto* const observer = new EmptyObserver();
  absl::Notification said;
  hub->Say(input, &said);
  absl::Mutex mutex;
  int attached = 0;  // And not detached.
  int answers = 0;
  int questions = 0;
  std::shared_ptr<AgentStream> stream;
  const auto ask = [&](AgentMessage question) {
    {
      absl::MutexLock lock(&mutex);
      ++questions;
    }
    stream->Ask(std::move(question), absl::Minutes(1),
                [&](absl::StatusOr<HubMessage> answer) {
                  believer->Judge(answer);
                  absl::MutexLock lock(&mutex);
                  ++answers;
                });
  };
  AgentStreamOptions options;
  options.dial.controller = hub->address();
  options.cluster = "test";
  options.host = "server0";
  options.backoff = {absl::Hours(1), absl::Hours(1), absl::Hours(1)};
  options.on_change = [&](bool is_attached) {
    if (is_attached) {
      AgentMessage question;
      question.mutable_job_question();
      ask(question);
      question.mutable_drain_question();
      ask(question);
      question.mutable_certificate_request();
      ask(question);
    }
    absl::MutexLock lock(&mutex);
    attached += is_attached ? 1 : -1;
  };
  AgentStreamParts parts{observer, loop, scheduler,
                         pool,     log,  [] { return 0.5; }};
  parts.others = OtherTasksOfHost();
  options.credentials = [] { return grpc::InsecureChannelCredentials(); };
  stream = std::make_shared<AgentStream>(std::move(options), parts);
  stream->Start();
  Require(said.WaitForNotificationWithTimeout(kPatience));
  {
    absl::MutexLock lock(&mutex);
    const auto is_over = [&attached] { return attached == 0; };
    Require(mutex.AwaitWithTimeout(absl::Condition(&is_over), kPatience));
  }
  stream->Stop();
  absl::MutexLock lock(&mutex);
  Require(answers == questions);
}

struct Host {
  void Apply(const ApplyTask& task) {
    ApplyRequest request;
    request.plan = task.plan();
    request.apply_id = task.apply_id();
    request.actor = task.actor();
    request.force = task.force();
    request.confirm_within = absl::Milliseconds(task.confirm_within_ms());
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
    if (task.has_confirm()) {
      KeepRequest request;
      request.apply_id = task.confirm().apply_id();
      request.extend_by = absl::Milliseconds(task.confirm().extend_by_ms());
      host.applier->Confirm(request).status().IgnoreError();
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

FUZZ_MESSAGE(hub_tasks, 2, HubInput, "tests/testdata/messages/hub-*.txtpb") {
  RunTasks(input);
  RunStream(input);
  if (Changes(input)) RunChanges(input);
}

}  // namespace
}  // namespace clusterd
