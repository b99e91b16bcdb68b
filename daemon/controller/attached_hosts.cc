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
    default:
      return Missing::NO_ANSWER;
  }
}

// The outcome of a task as facts about `host`.
HostFacts FactsOf(const std::string& host, TaskResult result,
                  const std::string& version) {
  switch (result.outcome_case()) {
    case TaskResult::kFacts: {
      const absl::Status limits = CheckFactLimits(result.facts());
      if (!limits.ok()) {
        return MissingFacts(host, Missing::UNREADABLE, limits.message());
      }
      HostFacts facts = std::move(*result.mutable_facts());
      CleanFacts(host, &facts);
      return facts;
    }
    case TaskResult::kError: {
      HostFacts facts = MissingFacts(
          host, ReasonOf(static_cast<absl::StatusCode>(result.error().code())),
          absl::StrCat("clusterd answered: ",
                       result.error().message().substr(0, kMaxTextBytes)));
      CleanFacts(host, &facts);
      return facts;
    }
    case TaskResult::kUnsupported:
      return MissingFacts(
          host, Missing::NOT_SUPPORTED,
          absl::StrCat("clusterd ", version, " does not know the task"));
    case TaskResult::OUTCOME_NOT_SET:
      break;
  }
  return MissingFacts(host, Missing::UNREADABLE,
                      "clusterd sent an answer without an outcome");
}

// The host answers before we give up, and its observation ends before it must
// answer, so that the part that is known gets here.
HubMessage ObserveTask(uint64_t id, const Observation& observation) {
  const int64_t total_ms = absl::ToInt64Milliseconds(observation.deadline);
  HubMessage message;
  Task* const task = message.mutable_task();
  task->set_task_id(id);
  task->set_deadline_ms(
      static_cast<uint32_t>(std::max<int64_t>(1, total_ms * 95 / 100)));
  *task->mutable_observe() = observation.request;
  task->mutable_observe()->set_host_ms(
      static_cast<uint32_t>(std::max<int64_t>(1, total_ms * 90 / 100)));
  return message;
}

}  // namespace

AttachedHosts::AttachedHosts(Scheduler* scheduler, Log* log, HostLimits limits)
    : scheduler_(scheduler), log_(log), limits_(limits) {}

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
    const std::string host = pending.host;
    Complete(pending,
             MissingFacts(host, Missing::NO_ANSWER,
                          absl::StrCat("its connection ended: ", reason)));
  }
}

AttachedHosts::Session* AttachedHosts::FindSessionLocked(SessionId id) {
  const auto host = host_of_session_.find(id);
  if (host == host_of_session_.end()) return nullptr;
  return sessions_.find(host->second)->second.get();
}

absl::Status AttachedHosts::OnResult(SessionId id, TaskResult result) {
  Pending pending;
  std::string version;
  std::string simulation;
  {
    absl::MutexLock lock(&mutex_);
    Session* const session = FindSessionLocked(id);
    if (session == nullptr) return absl::OkStatus();
    session->last_seen = scheduler_->Now();
    // Looked up in this session alone: a host answers only for itself.
    const auto found = session->pending.find(result.task_id());
    if (found == session->pending.end()) {
      if (++session->unsolicited <= limits_.max_unsolicited) {
        return absl::OkStatus();
      }
      return absl::InvalidArgumentError(
          absl::StrCat(session->unsolicited, " answers to nothing in a row"));
    }
    session->unsolicited = 0;
    pending = std::move(found->second);
    session->pending.erase(found);
    host_of_task_.erase(result.task_id());
    version = session->attachment.hello.clusterd_version();
    simulation = session->attachment.hello.simulation();
  }
  scheduler_->Cancel(pending.timer);
  const std::string host = pending.host;
  HostFacts facts = FactsOf(host, std::move(result), version);
  if (facts.simulation().empty()) facts.set_simulation(simulation);
  Complete(pending, std::move(facts));
  return absl::OkStatus();
}

AttachedHosts::TaskId AttachedHosts::Observe(const Observation& observation,
                                             Done done) {
  const std::string& host = observation.host;
  std::shared_ptr<HostLink> link;
  HostFacts refused;
  TaskId id = 0;
  {
    absl::MutexLock lock(&mutex_);
    id = ++last_id_;
    const auto found = sessions_.find(host);
    if (found == sessions_.end()) {
      refused =
          MissingFacts(host, Missing::NO_ANSWER, WhyNotAttachedLocked(host));
    } else if (found->second->pending.size() >= limits_.max_pending) {
      refused = MissingFacts(
          host, Missing::BUSY,
          absl::StrCat(limits_.max_pending, " tasks wait for it already"));
    } else {
      link = found->second->attachment.link;
      const Scheduler::TimerId timer = scheduler_->RunAfter(
          observation.deadline,
          [this, id, observation] { OnDeadline(id, observation); });
      found->second->pending[id] = Pending{host, done, timer};
      host_of_task_[id] = host;
    }
  }
  if (link == nullptr) {
    Complete(Pending{host, std::move(done), 0}, std::move(refused));
  } else {
    link->Send(ObserveTask(id, observation));
  }
  return id;
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

void AttachedHosts::OnDeadline(TaskId task, const Observation& observation) {
  std::optional<Pending> pending = TakeTask(task);
  if (!pending) return;
  Complete(*pending,
           MissingFacts(observation.host, Missing::TIMED_OUT,
                        absl::StrCat("no answer in ",
                                     absl::FormatDuration(observation.deadline),
                                     " (", observation.deadline_setting, ")")));
}

void AttachedHosts::Cancel(TaskId task) {
  const std::optional<Pending> pending = TakeTask(task);
  if (pending) scheduler_->Cancel(pending->timer);
}

void AttachedHosts::Complete(const Pending& pending, HostFacts facts) {
  {
    absl::MutexLock lock(&mutex_);
    facts.set_conflict(ConflictTextLocked(pending.host));
  }
  pending.done(std::move(facts));
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
