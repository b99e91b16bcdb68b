#include "daemon/controller/hosts/attached_hosts.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "config/identity/tls_credentials.h"
#include "config/spec/host_names.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"
#include "daemon/controller/hosts/fact_limits.h"
#include "daemon/controller/hosts/fact_run.h"
#include "daemon/controller/hosts/spec_holder.h"

namespace clusterd {
namespace {

// The most remembered hosts, attached or detached. Only holders of a
// certificate get here, so this bounds mistakes rather than attacks.
constexpr size_t kMaxRemembered = 100000;
// How long hosts that are asked to leave have to disconnect.
constexpr absl::Duration kLeaveTime = absl::Milliseconds(500);

Missing::Reason ReasonOf(absl::StatusCode code) {
  static const auto* const reasons =
      new std::map<absl::StatusCode, Missing::Reason>{
          {absl::StatusCode::kDeadlineExceeded, Missing::TIMED_OUT},
          {absl::StatusCode::kResourceExhausted, Missing::BUSY},
          {absl::StatusCode::kPermissionDenied, Missing::NOT_PERMITTED},
          {absl::StatusCode::kUnimplemented, Missing::NOT_SUPPORTED},
          {absl::StatusCode::kInvalidArgument, Missing::UNREADABLE}};
  const auto found = reasons->find(code);
  return found == reasons->end() ? Missing::NO_ANSWER : found->second;
}

// The task's name in Hello.tasks, if older clusterds lack it, such as automatic
// rollback. Null: every clusterd knows it, or answers that it does not.
const char* NameOf(const Task& task) {
  if (task.has_apply() && task.apply().confirm_within_ms() == 0) return "apply";
  if (task.has_rollback()) return "rollback";
  if (task.has_apply() || task.has_confirm()) return "confirm";
  if (task.has_logs()) return "logs";
  if (task.has_record()) return "record";
  return nullptr;
}

absl::Status DoesNotKnow(const Hello& hello, const FindingValue& task) {
  return UnimplementedWords("msg-hub-clusterd-too-old",
                            hello.clusterd_version(), task);
}

// The host's answer, checked and cleaned.
absl::StatusOr<TaskResult> Checked(TaskResult result,
                                   const Attachment& sender) {
  if (result.has_unsupported()) {
    return DoesNotKnow(sender.hello, Worded("hub-the-asked-task"));
  }
  if (result.outcome_case() == TaskResult::OUTCOME_NOT_SET) {
    return InvalidWords("msg-hub-answer-without-outcome");
  }
  if (result.has_recording()) {
    RETURN_IF_ERROR(
        CleanFacts(sender.host, result.mutable_recording()->mutable_facts()));
  }
  RETURN_IF_ERROR(result.has_facts()
                      ? CleanFacts(sender.host, result.mutable_facts())
                      : CleanMessage(&result));
  return result;
}

constexpr int kMaxAwayListed = 20;
// Hosts processed under one lock, for which all messages of hosts wait.
constexpr size_t kAtOnce = 64;

}  // namespace

void AttachedHosts::Detach(SessionId session, const FindingValue& reason) {
  std::unique_ptr<Session> removed;
  {
    absl::MutexLock lock(&mutex_);
    if (sessions_.count(session) == 0) return;
    removed = RemoveLocked(session, reason);
  }
  log_->Info("host ", removed->attachment.host,
             ": detached: ", ValueText(reason));
  EndPending(std::move(removed), reason);
}

std::unique_ptr<AttachedHosts::Session> AttachedHosts::RemoveLocked(
    SessionId id, const FindingValue& reason) {
  const auto found = hosts_.find(sessions_[id]->attachment.host);
  Host& host = found->second;
  std::unique_ptr<Session> session = std::move(host.session);
  sessions_.erase(id);
  // EndPending calls their callbacks without the lock.
  for (const auto& [task, pending] : session->pending) tasks_.erase(task);
  host.entry.set_attached(false);
  host.entry.clear_attached_since_ms();
  host.entry.clear_peer();
  host.entry.set_last_seen_ms(absl::ToUnixMillis(scheduler_->Now()));
  *host.entry.mutable_detached_reason_words() = reason;
  if (hosts_.size() > kMaxRemembered) hosts_.erase(found);
  return session;
}

void AttachedHosts::EndPending(std::unique_ptr<Session> session,
                               const FindingValue& reason) {
  for (auto& [task, pending] : session->pending) {
    scheduler_->Cancel(pending.timer);
    pending.done(UnavailableWords("msg-hub-connection-ended", reason));
  }
}

AttachedHosts::Session* AttachedHosts::HearLocked(SessionId id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return nullptr;
  hosts_[found->second->attachment.host].entry.set_last_seen_ms(
      absl::ToUnixMillis(scheduler_->Now()));
  ++found->second->heard;
  return found->second;
}

absl::Status AttachedHosts::OnResult(SessionId id, TaskResult result) {
  Pending pending;
  Attachment sender;
  {
    absl::MutexLock lock(&mutex_);
    Session* const session = HearLocked(id);
    if (session == nullptr) return absl::OkStatus();
    // Search only this session: a host may answer only its own tasks.
    const auto found = session->pending.find(result.task_id());
    if (found != session->pending.end()) {
      session->unsolicited = 0;
      pending = std::move(found->second);
      session->pending.erase(found);
      tasks_.erase(result.task_id());
      sender = session->attachment;
    } else if (++session->unsolicited > limits_.max_unsolicited) {
      return InvalidWords("msg-hub-unknown-answers", session->unsolicited);
    }
  }
  if (pending.done) {
    scheduler_->Cancel(pending.timer);
    pending.done(Checked(std::move(result), sender));
    return absl::OkStatus();
  }
  // Late facts are useless; a late result of an apply always counts.
  if (!result.has_apply()) return absl::OkStatus();
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
    // An abandoned apply still reports steps: do not count them.
    if (found == session->pending.end()) return absl::OkStatus();
    tell = found->second.progress;
  }
  RETURN_IF_ERROR(CleanMessage(&progress));
  tell(std::move(*progress.mutable_step()));
  return absl::OkStatus();
}

absl::Status AttachedHosts::OnDrift(SessionId id, DriftReport report) {
  RETURN_IF_ERROR(CleanMessage(&report));
  // The drift of every host is kept as long as the controller runs.
  TrimDrift(report.mutable_drift());
  std::string host;
  {
    absl::MutexLock lock(&mutex_);
    const Session* const session = HearLocked(id);
    if (session == nullptr) return absl::OkStatus();
    host = session->attachment.host;
    HostEntry& entry = hosts_[host].entry;
    *entry.mutable_drift() = report.drift();
    entry.set_drift_observed_at_ms(report.observed_at_ms());
  }
  hooks_.drift(host, std::move(report));
  return absl::OkStatus();
}

absl::Status AttachedHosts::OnPastApplies(SessionId id, PastApplies past) {
  RETURN_IF_ERROR(CheckCount("past applies", past.results_size(), "results",
                             kMaxPastApplies));
  RETURN_IF_ERROR(CheckCount("past applies", past.journals_size(), "journals",
                             kMaxJournalIds));
  RETURN_IF_ERROR(CleanMessage(&past));
  std::string host;
  {
    absl::MutexLock lock(&mutex_);
    const Session* const session = HearLocked(id);
    if (session == nullptr) return absl::OkStatus();
    host = session->attachment.host;
  }
  // Ignore the name that it sends: a host speaks only for itself.
  for (ApplyResult& result : *past.mutable_results()) result.set_host(host);
  hooks_.past_applies(host, std::move(past));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<HostLink>> AttachedHosts::AdmitTaskLocked(
    const HostTask& task, TaskId id, const TaskDone& done) {
  const auto known = hosts_.find(task.host);
  if (known == hosts_.end()) {
    return PreconditionWords("msg-hub-never-attached");
  }
  Session* const session = known->second.session.get();
  if (session == nullptr) {
    const HostEntry& entry = known->second.entry;
    return PreconditionWords("msg-hub-detached", UtcText(entry.last_seen_ms()),
                             entry.detached_reason_words());
  }
  const Hello& hello = session->attachment.hello;
  const char* const name = NameOf(task.task);
  if (name != nullptr && !absl::c_linear_search(hello.tasks(), name)) {
    return DoesNotKnow(hello, Worded("hub-task-named", name));
  }
  const bool changes = task.task.has_apply() || task.task.has_rollback() ||
                       task.task.has_confirm() || task.task.has_ping();
  if (session->pending.size() >= limits_.max_pending && !changes) {
    return ExhaustedWords("msg-hub-too-many-tasks", limits_.max_pending);
  }
  session->pending[id] = Pending{
      done, task.progress, TimerOf(id, task.deadline, "msg-hub-no-answer")};
  tasks_[id] = session;
  return session->attachment.link;
}

Scheduler::TimerId AttachedHosts::TimerOf(TaskId task, absl::Duration deadline,
                                          const char* none) {
  return scheduler_->RunAfter(deadline, [this, task, deadline, none] {
    const std::optional<Pending> late = TakeTask(task);
    if (!late) return;
    late->done(DeadlineWords(none, absl::FormatDuration(deadline)));
  });
}

void AttachedHosts::Extend(TaskId task, absl::Duration deadline) {
  absl::MutexLock lock(&mutex_);
  const auto found = tasks_.find(task);
  if (found == tasks_.end()) return;
  Scheduler::TimerId& timer = found->second->pending[task].timer;
  scheduler_->Cancel(timer);
  timer = TimerOf(task, deadline, "msg-hub-no-step");
}

AttachedHosts::TaskId AttachedHosts::RunTask(HostTask task,
                                             const TaskDone& done) {
  absl::StatusOr<std::shared_ptr<HostLink>> link = nullptr;
  TaskId id = 0;
  {
    absl::MutexLock lock(&mutex_);
    id = ++last_id_;
    link = AdmitTaskLocked(task, id, done);
  }
  if (!link.ok()) {
    done(link.status());
    return id;
  }
  HubMessage message;
  *message.mutable_task() = std::move(task.task);
  message.mutable_task()->set_task_id(id);
  if (message.task().deadline_ms() == 0) {
    message.mutable_task()->set_deadline_ms(ToMs(task.deadline));
  }
  (*link)->Send(std::move(message));
  return id;
}

AttachedHosts::TaskId AttachedHosts::Observe(const HostTask& task, Done done) {
  return RunTask(task,
                 [this, host = task.host, asked = scheduler_->Now(),
                  done = std::move(done)](absl::StatusOr<TaskResult> result) {
                   done(hooks_.facts(FactsOf(host, asked, std::move(result))));
                 });
}

HostFacts AttachedHosts::FactsOf(const std::string& host, absl::Time asked,
                                 absl::StatusOr<TaskResult> result) {
  HostFacts facts;
  if (!result.ok()) {
    FindingValue why = MessageWords(result.status());
    if (absl::IsDeadlineExceeded(result.status())) {
      why = Worded("hub-deadline", why, "deadlines.host");
    }
    facts = MissingFacts(host, ReasonOf(result.status().code()), why);
  } else if (result->has_facts()) {
    facts = std::move(*result->mutable_facts());
    if (facts.observed_at_ms() != 0) {
      const absl::Time now = scheduler_->Now();
      // The observation began only after this wait for others.
      asked = std::min(now, asked + absl::Milliseconds(result->waited_ms()));
      *facts.mutable_clock() = CompareClocks(facts, asked, now);
    }
  } else if (result->has_error()) {
    facts = MissingFacts(
        host, ReasonOf(static_cast<absl::StatusCode>(result->error().code())),
        Worded("hub-clusterd-answered", MessageWords(result->error())));
  } else {
    facts = MissingFacts(host, Missing::UNREADABLE,
                         Worded("hub-clusterd-other-question"));
  }
  absl::MutexLock lock(&mutex_);
  const HostEntry entry = EntryLocked(host);
  facts.set_conflict(EnglishText(entry.conflict_words()));
  if (entry.has_conflict_words()) {
    *facts.mutable_conflict_words() = entry.conflict_words();
  }
  const absl::Time end = absl::FromUnixMillis(entry.certificate_ends_ms());
  const bool ends_soon = entry.attached() && entry.certificate_ends_ms() > 0 &&
                         !entry.certificate_renews() &&
                         end - scheduler_->Now() <= kCertificateNotice;
  facts.set_certificate_notice(ends_soon ? UtcMinute(end) : "");
  if (facts.simulation().empty()) facts.set_simulation(entry.simulation());
  return facts;
}

std::optional<AttachedHosts::Pending> AttachedHosts::TakeTask(TaskId task) {
  std::optional<Pending> pending;
  std::shared_ptr<HostLink> link;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = tasks_.find(task);
    if (found == tasks_.end()) return std::nullopt;
    Session& session = *found->second;
    pending = std::move(session.pending[task]);
    session.pending.erase(task);
    tasks_.erase(found);
    link = session.attachment.link;
  }
  // Cancel even after a deadline, so that the host stops useless work.
  HubMessage cancel;
  cancel.mutable_cancel()->set_task_id(task);
  link->Send(std::move(cancel));
  return pending;
}

void AttachedHosts::Cancel(TaskId task) {
  const std::optional<Pending> pending = TakeTask(task);
  if (pending) scheduler_->Cancel(pending->timer);
}

bool AttachedHosts::IsAttached(const std::string& host) {
  absl::MutexLock lock(&mutex_);
  return SessionLocked(host) != nullptr;
}

const AttachedHosts::Session* AttachedHosts::SessionLocked(
    const std::string& host) const {
  const auto known = hosts_.find(host);
  return known == hosts_.end() ? nullptr : known->second.session.get();
}

std::optional<Hello> AttachedHosts::HelloOf(const std::string& host) {
  absl::MutexLock lock(&mutex_);
  const Session* const session = SessionLocked(host);
  if (session == nullptr) return std::nullopt;
  return session->attachment.hello;
}

absl::Status AttachedHosts::Forget(const std::string& host) {
  absl::MutexLock lock(&mutex_);
  const auto known = hosts_.find(host);
  if (known == hosts_.end()) {
    return NotFoundWords("msg-hub-host-unknown", host);
  }
  if (known->second.session != nullptr) {
    return PreconditionWords("msg-hub-host-attached", host);
  }
  hosts_.erase(known);
  return absl::OkStatus();
}

HostEntry AttachedHosts::EntryLocked(const std::string& name) const {
  const auto known = hosts_.find(name);
  HostEntry entry;
  if (known != hosts_.end()) {
    entry = known->second.entry;
    if (auto conflict = ConflictLocked(known->second)) {
      *entry.mutable_conflict_words() = *std::move(conflict);
    }
  }
  entry.set_host(name);
  return entry;
}

std::vector<HostEntry> AttachedHosts::Entries(const ClusterSpec& spec) {
  auto names = Each<std::string>(spec.servers(), &ServerSpec::host);
  const std::set<std::string> in_spec(names.begin(), names.end());
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [name, host] : hosts_) {
      if (in_spec.count(name) == 0) names.push_back(name);
    }
  }
  const auto in_maintenance = HostsInMaintenance(spec, scheduler_->Now());
  std::vector<HostEntry> entries;
  entries.reserve(names.size());
  for (size_t i = 0; i < names.size(); i += kAtOnce) {
    absl::MutexLock lock(&mutex_);
    for (size_t j = i; j < std::min(names.size(), i + kAtOnce); ++j) {
      const bool named = j < static_cast<size_t>(spec.servers_size());
      if (!named && hosts_.count(names[j]) == 0) continue;
      entries.push_back(EntryLocked(names[j]));
      entries.back().set_in_spec(named);
      entries.back().set_maintenance(in_maintenance.count(names[j]) > 0);
    }
  }
  return entries;
}

HostEntry AttachedHosts::Entry(const ClusterSpec& spec,
                               const std::string& host) {
  absl::MutexLock lock(&mutex_);
  HostEntry entry = EntryLocked(host);
  entry.set_in_spec(NamesHost(spec, host));
  return entry;
}

void AttachedHosts::CloseHost(const std::string& host,
                              const absl::Status& why) {
  std::shared_ptr<HostLink> link;
  {
    absl::MutexLock lock(&mutex_);
    const Session* const session = SessionLocked(host);
    if (session == nullptr) return;
    link = session->attachment.link;
  }
  link->Close(why);
}

std::vector<std::pair<std::string, std::shared_ptr<HostLink>>>
AttachedHosts::Links() {
  std::vector<std::pair<std::string, std::shared_ptr<HostLink>>> links;
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, session] : sessions_) {
    links.emplace_back(session->attachment.host, session->attachment.link);
  }
  return links;
}

void AttachedHosts::TellWaivers(const ClusterSpec& spec) {
  for (const auto& [host, link] : Links()) {
    HubMessage message;
    *message.mutable_waivers() = WaiversOfHost(spec, host);
    link->Send(std::move(message));
  }
}

void AttachedHosts::CloseAll(const absl::Status& why,
                             absl::Duration come_back_within) {
  const auto links = Links();
  HubMessage leave;
  leave.mutable_leave()->set_come_back_within_ms(ToMs(come_back_within));
  for (const auto& [host, link] : links) link->Send(leave);
  {
    absl::MutexLock lock(&mutex_);  // Let hosts get it first.
    const auto none = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return sessions_.empty();
    };
    mutex_.AwaitWithTimeout(absl::Condition(&none), kLeaveTime);
  }
  // Closing detaches the host, which takes the lock again.
  for (const auto& [host, link] : links) link->Close(why);
}

void AttachedHosts::CountHosts(const ClusterSpec& spec, ClusterNow* now) {
  absl::flat_hash_map<absl::string_view, size_t> places;
  for (const ServerSpec& server : spec.servers()) {
    places.emplace(server.host(), places.size());
  }
  std::vector<bool> attached(places.size());
  uint32_t drifted = 0;
  uint32_t unexpected = 0;
  std::string last;
  for (bool more = true; more;) {
    absl::MutexLock lock(&mutex_);
    auto it = last.empty() ? hosts_.begin() : hosts_.upper_bound(last);
    for (size_t i = 0; i < kAtOnce && it != hosts_.end(); ++i, ++it) {
      const auto& [name, host] = *it;
      const auto place = places.find(name);
      if (place == places.end()) {
        if (host.session != nullptr) ++unexpected;
        continue;
      }
      attached[place->second] = host.session != nullptr;
      if (!host.entry.drift().value().drifts().empty()) ++drifted;
    }
    more = it != hosts_.end();
    if (more) last = std::prev(it)->first;
  }
  now->set_hosts_expected(static_cast<uint32_t>(attached.size()));
  now->set_hosts_attached(static_cast<uint32_t>(absl::c_count(attached, true)));
  now->set_hosts_unexpected(unexpected);
  now->set_hosts_drifted(drifted);
  now->set_hosts_in_maintenance(static_cast<uint32_t>(
      HostsInMaintenance(spec, scheduler_->Now()).size()));
  for (size_t i = 0; i < attached.size(); ++i) {
    if (attached[i] || now->away_size() == kMaxAwayListed) continue;
    now->add_away(spec.servers(static_cast<int>(i)).host());
  }
}

}  // namespace clusterd
