#include "daemon/agent/run_daemon.h"

#include <random>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "config/identity/regular_file.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/values/version.h"
#include "config/words/message.h"
#include "daemon/agent/apply/machine.h"
#include "daemon/agent/identity/leaf_renewal.h"
#include "daemon/agent/local/local_server.h"
#include "daemon/agent/metrics/metrics_file.h"
#include "daemon/agent/self_check.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/files/text_file.h"
#include "daemon/host/identity_observer.h"
#include "daemon/process/watchdog.h"

namespace clusterd {
namespace {

constexpr int kWorkers = 4;
constexpr size_t kMaxQueuedWork = 16;
// Every deadline of a task is shorter than half of that.
constexpr absl::Duration kLongestWork = absl::Minutes(25);

Applier MakeApplier(const AgentFlags& flags, const std::string& host,
                    const DaemonParts& parts) {
  return Applier(
      OptionsOf(host, flags.root, flags.state), parts.access,
      [config = flags.config, log = parts.log] {
        return ReadHostAllows(config, log);
      },
      parts.device_users);
}

// The arguments must outlive the tasks.
OtherTasks TasksFor(const std::string& host, TicketTasks* tickets,
                    AuditLog* audit) {
  OtherTasks tasks;
  tasks.read_logs = [tickets](const LogsTask& task, absl::Duration deadline) {
    return tickets->ReadLogs(task, deadline);
  };
  tasks.record = [host, tickets](const RecordTask& task,
                                 absl::Duration deadline) {
    return tickets->Record(host, task, deadline);
  };
  tasks.audit = audit;
  return tasks;
}

// The controller's last waivers; null: none since the start. Access it only
// with std::atomic_load and std::atomic_store.
using SentWaivers = std::shared_ptr<const HostWaivers>;

// Answers a scheduler's hooks. All its arguments must outlive it.
struct Hooks {
  Hooks(const AgentFlags& flags, const SpiffeId& self, const DaemonParts& parts,
        HostObserver* observer, const std::shared_ptr<AgentStream>& stream,
        AuditLog* audit, const SentWaivers* waivers)
      : line(stream),
        verdicts({absl::StrCat(flags.state, "/verdicts"), self.cluster,
                  [&flags] { return ReadRegularFile(flags.tls.ca); }},
                 parts.access.files, parts.access.clock),
        drainer(parts.access.runner, parts.log, audit),
        service(
            {self.name,
             [observer, host = self.name](absl::Duration deadline) {
               return ObserveSelf(observer, host, deadline);
             },
             [waivers, clock = parts.access.clock](const HostFacts& facts,
                                                   const JobSpec* job) {
               return JudgeSelf(facts, job, std::atomic_load(waivers).get(),
                                clock->Now());
             },
             [&flags, log = parts.log] { return ReadHooks(flags.config, log); },
             &line, &verdicts, &drainer, parts.access.clock, parts.log,
             [waivers] { return std::atomic_load(waivers); }}) {}

  StreamLine line;
  VerdictStore verdicts;
  Drainer drainer;
  HookService service;
};

// Without the thread of applies: each of its commands has a deadline, but there
// may be thousands. Killing it half way is worse than waiting.
std::vector<WatchdogPart> PartsToWatch(EventLoop* loop, Scheduler* scheduler,
                                       WorkerPool* pool,
                                       const AgentStream* stream) {
  return {{"the connection",
           [loop](std::function<void()> done) { loop->Post(std::move(done)); }},
          TimersPart(scheduler, [stream] { stream->Status(); }),
          WorkersPart(pool, kLongestWork)};
}

// Sets the line that `systemctl status` shows.
void TellUnfinished(const std::string& socket, const std::string& unfinished,
                    Log* log) {
  const absl::Status sent = NotifySystemd(
      socket, absl::StrCat(
                  "STATUS=",
                  unfinished.empty() ? "" : "nothing is applied on this host: ",
                  absl::StrReplaceAll(unfinished, {{"\n", "; "}})));
  if (!sent.ok()) log->Warning(sent.message());
}

// Draws from [0, 1); not safe for concurrent use.
std::function<double()> MakeRandom() {
  return [generator = std::mt19937_64(std::random_device{}())]() mutable {
    return std::uniform_real_distribution<>()(generator);
  };
}

LeafRenewal::Parts RenewalParts(const AgentFlags& flags, HeldIdentity* identity,
                                const std::shared_ptr<AgentStream>& stream,
                                const AgentStreamParts& parts) {
  return {identity,
          flags.tls,
          flags.controller,
          [stream](AgentMessage question, absl::Duration wait,
                   LeafRenewal::Answered answered) {
            stream->Ask(std::move(question), wait, std::move(answered));
          },
          [stream] { stream->ReattachIfIdle(); },
          MakeRandom(),
          parts.scheduler,
          parts.pool,
          parts.log,
          parts.audit};
}

MetricsFile::Parts MetricsParts(const AgentFlags& flags,
                                const std::string& host,
                                std::function<AgentStatus()> status,
                                const AgentStreamParts& parts) {
  const auto write = [root = flags.root,
                      path = flags.metrics_file](const std::string& text) {
    return ReplaceTextFile(root, path, text);
  };
  return {flags.tls,
          std::move(status),
          [observer = parts.observer, host] {
            return CheckSelf(observer, host, {});
          },
          write,
          MakeRandom(),
          parts.scheduler,
          parts.pool,
          parts.log};
}

// Runs before the identity is read, with an audit file that is closed again
// before the daemon opens its own.
void RenewBeforeAll(const AgentFlags& flags, const DaemonParts& parts) {
  const absl::Time now = absl::Now();
  if (!HasEnded(flags.tls, now)) return;
  MakeStateFolder(flags.state, parts.access.files);
  ThreadScheduler scheduler;
  AuditLog audit(AuditPath(flags.root, flags.state),
                 {kMaxAuditBytes, kHostAuditMinuteBytes}, "clusterd",
                 &scheduler, parts.log);
  const absl::Status late =
      RenewIfEnded(flags.tls, flags.controller, now, &audit, parts.log);
  if (late.ok()) return;
  parts.log->Warning(
      "this host's certificate has ended and is not renewed yet: ",
      late.message());
}

}  // namespace

absl::StatusOr<HubMessage> StreamLine::Ask(AgentMessage question,
                                           absl::Duration wait) {
  struct Reply {
    absl::StatusOr<HubMessage> answer;
    absl::Notification is_there;
  };
  const auto reply = std::make_shared<Reply>();
  stream_->Ask(std::move(question), wait,
               [reply](absl::StatusOr<HubMessage> answer) {
                 reply->answer = std::move(answer);
                 reply->is_there.Notify();
               });
  reply->is_there.WaitForNotification();
  return std::move(reply->answer);
}

absl::StatusOr<SignedVerdict> StreamLine::AskJob(JobQuestion question,
                                                 absl::Duration wait) {
  AgentMessage message;
  *message.mutable_job_question() = std::move(question);
  ASSIGN_OR_RETURN(HubMessage answer, Ask(std::move(message), wait));
  return VerdictIn(std::move(answer));
}

absl::StatusOr<DrainAnswer> StreamLine::AskDrain(DrainQuestion question,
                                                 absl::Duration wait) {
  AgentMessage message;
  *message.mutable_drain_question() = std::move(question);
  ASSIGN_OR_RETURN(HubMessage answer, Ask(std::move(message), wait));
  return DrainAnswerIn(std::move(answer));
}

absl::StatusOr<SignedVerdict> VerdictIn(HubMessage answer) {
  if (answer.job_answer().has_error()) {
    const TaskError& error = answer.job_answer().error();
    if (error.code() == 0) return UnknownWords("agent-error-without-code");
    return WithWords(
        absl::Status(static_cast<absl::StatusCode>(error.code()), ""),
        PrintableWords(error.has_message_words()
                           ? error.message_words()
                           : ToFindingValue(error.message())));
  }
  if (!answer.job_answer().has_verdict()) {
    return UnknownWords("agent-answer-without-verdict");
  }
  return std::move(*answer.mutable_job_answer()->mutable_verdict());
}

absl::StatusOr<DrainAnswer> DrainAnswerIn(HubMessage answer) {
  if (!answer.has_drain_answer()) {
    return UnknownWords("agent-answer-without-drain");
  }
  return std::move(*answer.mutable_drain_answer());
}

std::string AuditPath(absl::string_view root, absl::string_view state) {
  return absl::StrCat(absl::StripSuffix(root, "/"), state, "/", kAuditFileName);
}

Hello ReadMachineIds(const std::string& root) {
  // Both ids are one short line; a longer file is invalid.
  static const LazyRE2 kId = {"([0-9A-Za-z-]{0,126})"};
  static const LazyRE2 kBootTime = {R"((?s)(?:.*\n)?btime (\d+)(?:\n.*)?)"};
  const FileReader files(root);
  const auto read = [&files](const char* path, const RE2& form, auto* value) {
    HasForm(files.ReadTrimmed(path).value_or(""), form, value);
  };
  Hello hello;
  read("/etc/machine-id", *kId, hello.mutable_machine_id());
  read("/proc/sys/kernel/random/boot_id", *kId, hello.mutable_boot_id());
  hello.set_simulation(ReadSimulation(files));
  int64_t booted_at_s = 0;
  read("/proc/stat", *kBootTime, &booted_at_s);
  hello.set_booted_at_s(booted_at_s);
  return hello;
}

void MakeStateFolder(const std::string& folder, FileSystem* files) {
  std::string path;
  for (absl::string_view part :
       absl::StrSplit(folder, '/', absl::SkipEmpty())) {
    absl::StrAppend(&path, "/", part);
    files->MakeDirectory(path, path == folder ? 0700 : 0755).IgnoreError();
  }
}

ApplierOptions OptionsOf(const std::string& host, const std::string& root,
                         const std::string& state) {
  ApplierOptions options;
  options.host = host;
  options.state_folder = absl::StrCat(state, "/apply");
  options.find_paths = [paths = HostPaths{root}] {
    return FindMachinePaths(paths);
  };
  return options;
}

absl::Status RunDaemon(const AgentFlags& flags,
                       const std::string& notify_socket,
                       const DaemonParts& parts) {
  const Hello machine = ReadMachineIds(flags.root);
  RenewBeforeAll(flags, parts);
  ASSIGN_OR_RETURN(
      const SpiffeId self,
      ReadOwnIdentity(flags.tls, flags.cluster, IdentityKind::kHost));
  ASSIGN_OR_RETURN(const TlsPem pair, ReadPairOf(self, flags.tls));
  HeldIdentity identity(flags.tls, self, pair, parts.log);
  MakeStateFolder(flags.state, parts.access.files);
  Applier applier = MakeApplier(flags, self.name, parts);
  EventLoop loop;
  ThreadScheduler scheduler;
  AuditLog audit(AuditPath(flags.root, flags.state),
                 {kMaxAuditBytes, kHostAuditMinuteBytes}, self.ToString(),
                 &scheduler, parts.log);
  AppliesRecord record;
  AgentObserver observer(
      parts.observer, &record,
      [&flags] { return ReadHostAllows(flags.config); }, &audit,
      [&flags] { return ReadRoots(flags.tls); });
  ApplyTasks applies(self.name, &applier, parts.log, &record, &audit);
  applies.Recover(&scheduler);
  TicketTasks tickets(
      {flags.root, parts.access.runner, parts.access.clock, parts.access.locks,
       [&flags] { return ReadHostAllows(flags.config); }, &audit});
  WorkerPool pool(kWorkers, kMaxQueuedWork);
  // These and the stream call each other.
  std::optional<DriftWatch> watch;
  std::optional<LeafRenewal> renewal;
  std::optional<MetricsFile> metrics;
  SentWaivers waivers;
  AgentStreamOptions options;
  options.dial.controller = flags.controller;
  options.cluster = self.cluster;
  options.tls = flags.tls;
  options.host = self.name;
  options.hello = machine;
  options.first_dial_within = absl::Seconds(1);
  options.credentials = [&identity] { return identity.ForDial(); };
  options.on_offered_roots = [&renewal](uint64_t bundle) {
    renewal->OnOfferedRoots(bundle);
  };
  options.on_waivers = [&waivers](HostWaivers sent) {
    std::atomic_store(&waivers,
                      std::make_shared<const HostWaivers>(std::move(sent)));
  };
  options.on_change = [&watch, &renewal, &metrics](bool attached) {
    if (watch) watch->OnAttached(attached);
    if (metrics) metrics->OnChanged(/*round=*/false);
    if (attached) renewal->Start();
  };
  const AgentStreamParts stream_parts = {
      &observer,  &loop,
      &scheduler, &pool,
      parts.log,  MakeRandom(),
      &applies,   TasksFor(self.name, &tickets, &audit),
      &audit};
  const auto stream = std::make_shared<AgentStream>(options, stream_parts);
  const auto status = [stream, &applies] {
    AgentStatus now = stream->Status();
    now.set_unfinished(applies.Unfinished());
    return now;
  };
  if (parts.read_host) {
    watch.emplace(flags.drift_interval.value_or(kDefaultDriftInterval),
                  DriftWatch::Parts{parts.read_host, &record,
                                    [&stream](DriftReport report) {
                                      stream->SendDrift(std::move(report));
                                    },
                                    MakeRandom(), &scheduler, &pool});
  }
  if (!flags.metrics_file.empty()) {
    metrics.emplace(MetricsParts(flags, self.name, status, stream_parts));
  }
  record.Listen([&] {
    TellUnfinished(notify_socket, applies.Unfinished(), parts.log);
    if (watch) watch->OnChanged();
    if (metrics) metrics->OnChanged(/*round=*/true);
  });
  applies.ListenForUndone([&stream] { stream->SendPast(); });
  Hooks hooks(flags, self, parts, &observer, stream, &audit, &waivers);
  ASSIGN_OR_RETURN(
      const auto local,
      LocalServer::Start(
          flags.socket,
          {status,
           [&observer, self] { return CheckSelf(&observer, self.name, {}); },
           [&hooks](const HookRequest& request,
                    const std::function<bool()>& gone) {
             return hooks.service.Answer(request, gone);
           },
           [log = parts.log](const std::string& call) {
             log->Notice("local call: ", call);
           }}));
  RunEvery(&scheduler, absl::Hours(24), [&flags, log = parts.log] {
    if (LeafRenewal::Renews(flags.tls)) return;  // It logs that itself.
    for (const auto& line : EndingCertificates(flags.tls, absl::Now())) {
      log->Warning(EnglishText(line));
    }
  });
  renewal.emplace(RenewalParts(flags, &identity, stream, stream_parts));
  stream->Start();
  renewal->Start();
  if (metrics) metrics->OnChanged(/*round=*/true);
  parts.log->Notice("clusterd ", kClusterdVersion, ": host ", self.name,
                    " of cluster ", self.cluster);
  const absl::Status ready = NotifySystemd(notify_socket, "READY=1");
  if (!ready.ok()) parts.log->Warning(ready.message());
  const std::string unfinished = applies.Unfinished();
  if (!unfinished.empty()) TellUnfinished(notify_socket, unfinished, parts.log);
  const Watchdog watchdog(
      parts.watchdog, PartsToWatch(&loop, &scheduler, &pool, stream.get()),
      [&notify_socket] {
        NotifySystemd(notify_socket, "WATCHDOG=1").IgnoreError();
      },
      parts.log);
  while (parts.signals->Wait() != DaemonSignal::kStop) continue;
  parts.log->Notice("stopping");
  renewal->Stop();
  hooks.service.Stop();
  // Stop these first: the controller still gets the result of a running apply.
  applies.Stop();
  applies.ListenForUndone(nullptr);
  record.Listen(nullptr);
  if (watch) watch->Stop();
  if (metrics) metrics->Stop();
  stream->Stop();
  return NotifySystemd(notify_socket, "STOPPING=1");
}

}  // namespace clusterd
