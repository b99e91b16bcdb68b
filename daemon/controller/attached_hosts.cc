#include "daemon/controller/attached_hosts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "daemon/controller/fact_limits.h"

namespace clusterd {
namespace {

// Hosts that are gone and still remembered; only holders of a certificate get
// here, so this bounds a mistake more than an attack.
constexpr size_t kMaxPast = 100000;

bool SameMachine(const Hello& a, const Hello& b) {
  return a.machine_id() == b.machine_id() && a.boot_id() == b.boot_id();
}

// "ipv4:10.0.0.1:5000" as people write it.
absl::string_view PeerAddress(absl::string_view peer) {
  if (!absl::ConsumePrefix(&peer, "ipv4:")) absl::ConsumePrefix(&peer, "ipv6:");
  return peer;
}

// Enough of an id to tell two machines apart on one line.
absl::string_view ShortId(const std::string& id) {
  return id.empty() ? "none" : absl::string_view(id).substr(0, 16);
}

Missing::Reason ReasonOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kDeadlineExceeded:
      return Missing::TIMED_OUT;
    case absl::StatusCode::kResourceExhausted:
      return Missing::BUSY;
    case absl::StatusCode::kPermissionDenied:
      return Missing::NOT_PERMITTED;
    case absl::StatusCode::kUnimplemented:
      return Missing::NOT_SUPPORTED;
    case absl::StatusCode::kInvalidArgument:
      return Missing::UNREADABLE;
    default:
      return Missing::NO_ANSWER;
  }
}

// The task as Hello.tasks names it; null: every clusterd knows it, or says that
// it does not.
const char* NameOf(const Task& task) {
  if (task.has_apply()) return "apply";
  if (task.has_rollback()) return "rollback";
  return nullptr;
}

bool Knows(const Hello& hello, const std::string& task) {
  return std::find(hello.tasks().begin(), hello.tasks().end(), task) !=
         hello.tasks().end();
}

absl::Status DoesNotKnow(const Hello& hello, absl::string_view task) {
  return absl::UnimplementedError(absl::StrCat(
      "clusterd ", hello.clusterd_version(), " does not know the ", task));
}

// What the host sent as its answer, fit to be handed on.
absl::StatusOr<TaskResult> Checked(TaskResult result, const Hello& hello) {
  if (result.has_unsupported()) return DoesNotKnow(hello, "task");
  if (result.outcome_case() == TaskResult::OUTCOME_NOT_SET) {
    return absl::InvalidArgumentError(
        "clusterd sent an answer without an outcome");
  }
  // Facts have limits of their own, and one more owner of their texts.
  const absl::Status limits = result.has_facts()
                                  ? CheckFactLimits(result.facts())
                                  : CheckTextLimits(result);
  if (!limits.ok()) return limits;
  if (!result.has_facts()) EscapeTexts(&result);
  return result;
}

// The host answers before we give up, and its observation ends before it must
// answer, so that the part that is known gets here.
Task ObserveTask(const Observation& observation) {
  const int64_t total_ms = absl::ToInt64Milliseconds(observation.deadline);
  Task task;
  task.set_deadline_ms(
      static_cast<uint32_t>(std::max<int64_t>(1, total_ms * 95 / 100)));
  *task.mutable_observe() = observation.request;
  task.mutable_observe()->set_host_ms(
      static_cast<uint32_t>(std::max<int64_t>(1, total_ms * 90 / 100)));
  return task;
}

}  // namespace

AttachedHosts::AttachedHosts(Scheduler* scheduler, Log* log, HostLimits limits,
                             HostHooks hooks)
    : scheduler_(scheduler),
      log_(log),
      limits_(limits),
      hooks_(std::move(hooks)) {}

AttachedHosts::~AttachedHosts() = default;

absl::StatusOr<AttachedHosts::SessionId> AttachedHosts::Attach(
    Attachment attachment) {
  const std::string host = attachment.host;
  const std::string peer = attachment.peer;
  std::unique_ptr<Session> replaced;
  absl::StatusOr<SessionId> id = absl::InternalError("");
  {
    absl::MutexLock lock(&mutex_);
    id = AdmitLocked(std::move(attachment), &replaced);
  }
  if (!id.ok()) {
    log_->Warning(absl::StrCat("host ", host, ": refused from ", peer, ": ",
                               id.status().message()));
    return id;
  }
  if (replaced != nullptr) {
    const std::shared_ptr<HostLink> old = replaced->attachment.link;
    EndPending(std::move(replaced), "the host attached again");
    old->Close(absl::AbortedError("this machine has attached again"));
  }
  log_->Info(absl::StrCat("host ", host, ": attached from ", peer));
  return id;
}

absl::StatusOr<AttachedHosts::SessionId> AttachedHosts::AdmitLocked(
    Attachment attachment, std::unique_ptr<Session>* replaced) {
  const std::string host = attachment.host;
  const Hello& hello = attachment.hello;
  const absl::Time now = scheduler_->Now();
  const auto holder = sessions_.find(host);
  if (holder != sessions_.end()) {
    if (!SameMachine(holder->second->attachment.hello, hello)) {
      conflicts_[host] =
          Conflict{hello.machine_id(), hello.boot_id(), attachment.peer, now};
      return absl::FailedPreconditionError(
          absl::StrCat("two machines present themselves as ", host, ": ",
                       ConflictTextLocked(host)));
    }
    *replaced = RemoveLocked(host, "the same machine attached again");
  }
  if (sessions_.size() >= limits_.max_attached) {
    return absl::ResourceExhaustedError(
        absl::StrCat(sessions_.size(),
                     " hosts are attached, and this controller takes no more"));
  }
  // The machine that tried before may be the one that is here now.
  const auto rival = conflicts_.find(host);
  if (rival != conflicts_.end() &&
      rival->second.machine_id == hello.machine_id() &&
      rival->second.boot_id == hello.boot_id()) {
    conflicts_.erase(rival);
  }
  auto session = std::make_unique<Session>();
  session->id = ++last_id_;
  session->attachment = std::move(attachment);
  session->attached_since = now;
  session->last_seen = now;
  const SessionId id = session->id;
  host_of_session_[id] = host;
  sessions_[host] = std::move(session);
  return id;
}

void AttachedHosts::Detach(SessionId session, absl::string_view reason) {
  std::unique_ptr<Session> removed;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = host_of_session_.find(session);
    if (found == host_of_session_.end()) return;
    const std::string host = found->second;
    removed = RemoveLocked(host, reason);
  }
  log_->Info(
      absl::StrCat("host ", removed->attachment.host, ": detached: ", reason));
  EndPending(std::move(removed), reason);
}

std::unique_ptr<AttachedHosts::Session> AttachedHosts::RemoveLocked(
    const std::string& host, absl::string_view reason) {
  const auto found = sessions_.find(host);
  std::unique_ptr<Session> session = std::move(found->second);
  sessions_.erase(found);
  host_of_session_.erase(session->id);
  for (const auto& [task, pending] : session->pending) {
    host_of_task_.erase(task);
  }
  if (past_.size() < kMaxPast || past_.count(host) > 0) {
    past_[host] = Past{std::string(reason), scheduler_->Now(),
                       session->attachment.hello.clusterd_version(),
                       session->attachment.hello.simulation()};
  }
  return session;
}

void AttachedHosts::EndPending(std::unique_ptr<Session> session,
                               absl::string_view reason) {
  for (auto& [task, pending] : session->pending) {
    scheduler_->Cancel(pending.timer);
    pending.done(
        absl::UnavailableError(absl::StrCat("its connection ended: ", reason)));
  }
}

AttachedHosts::Session* AttachedHosts::HearLocked(SessionId id) {
  const auto host = host_of_session_.find(id);
  if (host == host_of_session_.end()) return nullptr;
  Session* const session = sessions_.find(host->second)->second.get();
  session->last_seen = scheduler_->Now();
  return session;
}

std::string AttachedHosts::Hear(SessionId id) {
  absl::MutexLock lock(&mutex_);
  const Session* const session = HearLocked(id);
  return session == nullptr ? "" : session->attachment.host;
}

absl::Status AttachedHosts::UnsolicitedLocked(Session* session) {
  if (++session->unsolicited <= limits_.max_unsolicited) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(session->unsolicited, " answers to nothing in a row"));
}

absl::Status AttachedHosts::OnResult(SessionId id, TaskResult result) {
  Pending pending;
  std::string host;
  Hello hello;
  absl::Status unsolicited;
  {
    absl::MutexLock lock(&mutex_);
    Session* const session = HearLocked(id);
    if (session == nullptr) return absl::OkStatus();
    host = session->attachment.host;
    // Looked up in this session alone: a host answers only for itself.
    const auto found = session->pending.find(result.task_id());
    if (found == session->pending.end()) {
      unsolicited = UnsolicitedLocked(session);
    } else {
      session->unsolicited = 0;
      pending = std::move(found->second);
      session->pending.erase(found);
      host_of_task_.erase(result.task_id());
      hello = session->attachment.hello;
    }
  }
  if (pending.done) {
    scheduler_->Cancel(pending.timer);
    pending.done(Checked(std::move(result), hello));
    return absl::OkStatus();
  }
  if (!unsolicited.ok() || !result.has_apply()) return unsolicited;
  PastApplies late;
  *late.add_results() = std::move(*result.mutable_apply());
  return OnPastApplies(id, std::move(late));
}

absl::Status AttachedHosts::OnProgress(SessionId id, TaskProgress progress) {
  std::function<void(StepOutcome)> tell;
  {
    absl::MutexLock lock(&mutex_);
    Session* const session = HearLocked(id);
    if (session == nullptr) return absl::OkStatus();
    const auto found = session->pending.find(progress.task_id());
    // A long apply that nobody waits for any more goes on telling: that is as
    // usual as a late answer, but has no end in sight, so it is not counted.
    if (found == session->pending.end()) return absl::OkStatus();
    tell = found->second.progress;
  }
  const absl::Status limits = CheckTextLimits(progress);
  if (!limits.ok()) return limits;
  EscapeTexts(&progress);
  if (tell) tell(std::move(*progress.mutable_step()));
  return absl::OkStatus();
}

absl::Status AttachedHosts::OnDrift(SessionId id, DriftReport report) {
  const std::string host = Hear(id);
  if (host.empty()) return absl::OkStatus();
  const absl::Status limits = CheckTextLimits(report);
  if (!limits.ok()) return limits;
  EscapeTexts(&report);
  TrimDrift(report.mutable_drift());
  {
    absl::MutexLock lock(&mutex_);
    if (drifts_.size() < kMaxPast || drifts_.count(host) > 0) {
      drifts_[host] = report;
    }
  }
  if (hooks_.drift) hooks_.drift(host, std::move(report));
  return absl::OkStatus();
}

absl::Status AttachedHosts::OnPastApplies(SessionId id, PastApplies past) {
  const std::string host = Hear(id);
  if (host.empty()) return absl::OkStatus();
  if (past.results_size() > kMaxPastApplies) {
    return absl::InvalidArgumentError(
        absl::StrCat("past applies: ", past.results_size(),
                     " results, expected at most ", kMaxPastApplies));
  }
  const absl::Status limits = CheckTextLimits(past);
  if (!limits.ok()) return limits;
  EscapeTexts(&past);
  // A host speaks for itself, whatever name it writes.
  for (ApplyResult& result : *past.mutable_results()) result.set_host(host);
  if (hooks_.past_applies) hooks_.past_applies(host, std::move(past));
  return absl::OkStatus();
}

absl::Status AttachedHosts::AdmitTaskLocked(const HostTask& task, TaskId id,
                                            const TaskDone& done) {
  const auto found = sessions_.find(task.host);
  if (found == sessions_.end()) {
    return absl::FailedPreconditionError(WhyNotAttachedLocked(task.host));
  }
  Session& session = *found->second;
  const char* const name = NameOf(task.task);
  if (name != nullptr && !Knows(session.attachment.hello, name)) {
    return DoesNotKnow(session.attachment.hello, absl::StrCat("task ", name));
  }
  if (session.pending.size() >= limits_.max_pending) {
    return absl::ResourceExhaustedError(
        absl::StrCat(limits_.max_pending, " tasks wait for it already"));
  }
  const Scheduler::TimerId timer = scheduler_->RunAfter(
      task.deadline,
      [this, id, deadline = task.deadline] { OnDeadline(id, deadline); });
  session.pending[id] = Pending{done, task.progress, timer};
  host_of_task_[id] = task.host;
  return absl::OkStatus();
}

AttachedHosts::TaskId AttachedHosts::RunTask(HostTask task,
                                             const TaskDone& done) {
  std::shared_ptr<HostLink> link;
  absl::Status refused;
  TaskId id = 0;
  {
    absl::MutexLock lock(&mutex_);
    id = ++last_id_;
    refused = AdmitTaskLocked(task, id, done);
    if (refused.ok()) link = sessions_[task.host]->attachment.link;
  }
  if (!refused.ok()) {
    done(refused);
    return id;
  }
  HubMessage message;
  *message.mutable_task() = std::move(task.task);
  message.mutable_task()->set_task_id(id);
  if (message.task().deadline_ms() == 0) {
    message.mutable_task()->set_deadline_ms(
        static_cast<uint32_t>(absl::ToInt64Milliseconds(task.deadline)));
  }
  link->Send(std::move(message));
  return id;
}

AttachedHosts::TaskId AttachedHosts::Observe(const Observation& observation,
                                             Done done) {
  HostTask task;
  task.host = observation.host;
  task.task = ObserveTask(observation);
  task.deadline = observation.deadline;
  return RunTask(std::move(task), [this, observation, done = std::move(done)](
                                      absl::StatusOr<TaskResult> result) {
    done(FactsOf(observation, std::move(result)));
  });
}

HostFacts AttachedHosts::FactsOf(const Observation& observation,
                                 absl::StatusOr<TaskResult> result) {
  const std::string& host = observation.host;
  HostFacts facts;
  HostEntry entry;
  {
    absl::MutexLock lock(&mutex_);
    FillEntryLocked(host, &entry);
  }
  if (!result.ok()) {
    std::string why(result.status().message());
    if (absl::IsDeadlineExceeded(result.status())) {
      absl::StrAppend(&why, " (", observation.deadline_setting, ")");
    }
    facts = MissingFacts(host, ReasonOf(result.status().code()), why);
  } else if (result->has_facts()) {
    facts = std::move(*result->mutable_facts());
  } else if (result->has_error()) {
    facts = MissingFacts(
        host, ReasonOf(static_cast<absl::StatusCode>(result->error().code())),
        absl::StrCat("clusterd answered: ", result->error().message()));
  } else {
    facts = MissingFacts(host, Missing::UNREADABLE,
                         "clusterd answered another question");
  }
  CleanFacts(host, &facts);
  facts.set_conflict(entry.conflict());
  if (result.ok() && facts.simulation().empty()) {
    facts.set_simulation(entry.simulation());
  }
  return facts;
}

std::optional<AttachedHosts::Pending> AttachedHosts::TakeTask(TaskId task) {
  std::optional<Pending> pending;
  std::shared_ptr<HostLink> link;
  {
    absl::MutexLock lock(&mutex_);
    const auto host = host_of_task_.find(task);
    if (host == host_of_task_.end()) return std::nullopt;
    Session& session = *sessions_[host->second];
    const auto found = session.pending.find(task);
    pending = std::move(found->second);
    session.pending.erase(found);
    host_of_task_.erase(host);
    link = session.attachment.link;
  }
  HubMessage cancel;
  cancel.mutable_cancel()->set_task_id(task);
  link->Send(std::move(cancel));
  return pending;
}

void AttachedHosts::OnDeadline(TaskId task, absl::Duration deadline) {
  const std::optional<Pending> pending = TakeTask(task);
  if (!pending) return;
  pending->done(absl::DeadlineExceededError(
      absl::StrCat("no answer in ", absl::FormatDuration(deadline))));
}

void AttachedHosts::Cancel(TaskId task) {
  const std::optional<Pending> pending = TakeTask(task);
  if (pending) scheduler_->Cancel(pending->timer);
}

bool AttachedHosts::IsAttached(const std::string& host) {
  absl::MutexLock lock(&mutex_);
  return sessions_.count(host) > 0;
}

std::string AttachedHosts::ConflictTextLocked(const std::string& host) const {
  const auto conflict = conflicts_.find(host);
  if (conflict == conflicts_.end() ||
      scheduler_->Now() - conflict->second.last_try > limits_.conflict_memory) {
    return "";
  }
  const auto holder = sessions_.find(host);
  if (holder == sessions_.end()) return "";
  const Attachment& first = holder->second->attachment;
  const bool other_machine =
      first.hello.machine_id() != conflict->second.machine_id;
  const std::string what = other_machine ? "machine id" : "boot id";
  return absl::StrCat(
      PeerAddress(first.peer), " (", what, " ",
      ShortId(other_machine ? first.hello.machine_id() : first.hello.boot_id()),
      ") is attached, ", PeerAddress(conflict->second.peer), " (", what, " ",
      ShortId(other_machine ? conflict->second.machine_id
                            : conflict->second.boot_id),
      ") was refused");
}

std::string AttachedHosts::WhyNotAttachedLocked(const std::string& host) const {
  const auto past = past_.find(host);
  if (past == past_.end()) {
    return "never attached since this controller started";
  }
  return absl::StrCat(
      "detached at ",
      absl::FormatTime(absl::RFC3339_sec, past->second.last_seen,
                       absl::UTCTimeZone()),
      ": ", past->second.detached_reason);
}

void AttachedHosts::FillEntryLocked(const std::string& host,
                                    HostEntry* entry) const {
  entry->set_host(host);
  const auto drift = drifts_.find(host);
  if (drift != drifts_.end()) {
    *entry->mutable_drift() = drift->second.drift();
    entry->set_drift_observed_at_ms(drift->second.observed_at_ms());
  }
  const auto found = sessions_.find(host);
  if (found != sessions_.end()) {
    const Session& session = *found->second;
    entry->set_attached(true);
    entry->set_attached_since_ms(absl::ToUnixMillis(session.attached_since));
    entry->set_last_seen_ms(absl::ToUnixMillis(session.last_seen));
    entry->set_clusterd_version(session.attachment.hello.clusterd_version());
    entry->set_peer(session.attachment.peer);
    entry->set_simulation(session.attachment.hello.simulation());
    entry->set_conflict(ConflictTextLocked(host));
    return;
  }
  const auto past = past_.find(host);
  if (past == past_.end()) return;
  entry->set_last_seen_ms(absl::ToUnixMillis(past->second.last_seen));
  entry->set_clusterd_version(past->second.clusterd_version);
  entry->set_simulation(past->second.simulation);
  entry->set_detached_reason(past->second.detached_reason);
}

std::vector<HostEntry> AttachedHosts::Entries(const ClusterSpec& spec) {
  std::vector<HostEntry> entries;
  std::set<std::string> named;
  absl::MutexLock lock(&mutex_);
  for (const ServerSpec& server : spec.servers()) {
    named.insert(server.host());
    HostEntry& entry = entries.emplace_back();
    FillEntryLocked(server.host(), &entry);
    entry.set_in_spec(true);
  }
  for (const auto& [host, session] : sessions_) {
    if (named.count(host) > 0) continue;
    FillEntryLocked(host, &entries.emplace_back());
  }
  return entries;
}

HostEntry AttachedHosts::Entry(const ClusterSpec& spec,
                               const std::string& host) {
  HostEntry entry;
  for (const ServerSpec& server : spec.servers()) {
    if (server.host() == host) entry.set_in_spec(true);
  }
  absl::MutexLock lock(&mutex_);
  FillEntryLocked(host, &entry);
  return entry;
}

size_t AttachedHosts::attached_count() {
  absl::MutexLock lock(&mutex_);
  return sessions_.size();
}

void AttachedHosts::CloseAll(const absl::Status& why) {
  std::vector<std::shared_ptr<HostLink>> links;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [host, session] : sessions_) {
      links.push_back(session->attachment.link);
    }
  }
  for (const std::shared_ptr<HostLink>& link : links) link->Close(why);
}

}  // namespace clusterd
