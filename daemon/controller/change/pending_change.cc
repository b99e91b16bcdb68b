#include "daemon/controller/change/pending_change.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/change/change_order.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/hosts/fact_limits.h"
#include "daemon/controller/hosts/spec_holder.h"

namespace clusterd {
namespace {

// A host writes one line and syncs it.
constexpr absl::Duration kTellDeadline = absl::Seconds(10);

// The state that lasts; waits_for is computed at each read.
std::string KeptBytes(Confirmation confirmation) {
  confirmation.clear_waits_for_words();
  return confirmation.SerializeAsString();
}

}  // namespace

PendingChange::PendingChange(ApplyReport report,
                             std::shared_ptr<const ClusterPlan> plan,
                             const ControllerParts& parts, Callbacks callbacks)
    : head_(std::move(report)),
      plan_(std::move(plan)),
      parts_(parts),
      callbacks_(std::move(callbacks)),
      confirmation_(head_.confirmation()),
      // The last host to begin did so before the run ended.
      last_deadline_(std::max(
          absl::FromUnixMillis(confirmation_.deadline_ms()),
          absl::FromUnixMillis(head_.started_at_ms() +
                               static_cast<int64_t>(head_.elapsed_ms()) +
                               confirmation_.within_ms()))) {
  saved_ = KeptBytes(confirmation_);
  caller_.set_who(confirmation_.confirmed_by());
  const auto& pending = confirmation_.pending();
  const bool confirmed = confirmation_.state() == Confirmation::CONFIRMED;
  for (const ApplyResult& host : head_.hosts()) {
    HostState& state = hosts_[host.host()];
    state.unknown = host.outcome() == ApplyResult::LOST;
    state.gone = host.not_confirmed();
    if (host.reverts_in_ms() == 0) continue;
    state.notified = confirmed && !absl::c_linear_search(pending, host.host());
    state.waits = !state.notified && host.outcome() == ApplyResult::APPLIED;
  }
}

void PendingChange::WorkSoon() {
  gate_.RunSoon(
      parts_.pool, parts_.scheduler,
      [self = shared_from_this()] { self->Work(); }, WorkerPool::Place::kFirst);
}

void PendingChange::Work() {
  const FactQueue::Ticket ticket = parts_.queue->NewTicket();
  std::shared_ptr<FactOrder> check;
  std::vector<std::string> to_tell;
  std::vector<Answered> answered;
  Confirmation now;
  bool over = false;
  {
    const absl::MutexLock one_at_a_time(&working_);
    bool changed = false;
    {
      absl::MutexLock lock(&mutex_);
      if (over_) return;
      StepLocked();
      to_tell = TakePendingHostsLocked();
      check = TakeCheckLocked(ticket);
      over = over_ = IsOverLocked();
      if (over) parts_.scheduler->Cancel(timer_);
      if (over || !AnyAskedLocked()) answered.swap(waiting_);
      now = NowLocked();
      std::string to_save = KeptBytes(confirmation_);
      changed = to_save != saved_;
      saved_ = std::move(to_save);
    }
    if (changed) callbacks_.save(now);
  }
  if (check != nullptr) BeginCheck(ticket, std::move(check));
  Tell(to_tell, absl::ZeroDuration());
  for (const Answered& answer : answered) answer(now);
  if (!over) {
    absl::MutexLock lock(&mutex_);
    if (over_) return;
    parts_.scheduler->Cancel(timer_);
    timer_ = parts_.scheduler->RunAfter(
        kPendingRound,
        gate_.Wrap([self = shared_from_this()] { self->WorkSoon(); }));
    return;
  }
  parts_.log->Notice(ChangeText(head_), ": ", EndOfConfirmation(now));
  callbacks_.on_end(now);
}

// The hosts decide by their own clocks; this clock only predicts that.
void PendingChange::StepLocked() {
  const absl::Time now = parts_.scheduler->Now();
  const bool late = now >= absl::FromUnixMillis(confirmation_.deadline_ms());
  if (confirmation_.state() == Confirmation::PENDING &&
      confirmation_.check_passed() && !late &&
      (confirmation_.automatic() || confirmation_.confirmed_at_ms() > 0)) {
    if (confirmation_.confirmed_at_ms() == 0) {
      caller_ = AuditEntry();
      caller_.set_who(ControllerActor(head_.cluster()));
      confirmation_.set_confirmed_by(caller_.who());
      confirmation_.set_confirmed_at_ms(absl::ToUnixMillis(now));
    }
    confirmation_.set_state(Confirmation::CONFIRMED);
  }
  const bool all_gone =
      absl::c_any_of(hosts_,
                     [](const auto& host) { return host.second.gone; }) &&
      absl::c_none_of(hosts_,
                      [](const auto& host) { return IsOpen(host.second); });
  if (confirmation_.state() == Confirmation::PENDING && (late || all_gone) &&
      extends_by_ == absl::ZeroDuration()) {
    confirmation_.set_state(Confirmation::REVERTING);
  }
  if (confirmation_.state() != Confirmation::CONFIRMED) return;
  confirmation_.clear_pending();
  for (const auto& [name, host] : hosts_) {
    if (IsOpen(host) || host.gone) confirmation_.add_pending(name);
  }
  confirmation_.set_deadlines_passed(now >= last_deadline_);
}

bool PendingChange::IsOverLocked() const {
  if (confirmation_.state() == Confirmation::PENDING) return false;
  if (parts_.scheduler->Now() >= last_deadline_ + kRevertGrace) return true;
  const bool may_come = confirmation_.state() == Confirmation::CONFIRMED &&
                        absl::c_any_of(hosts_, [](const auto& host) {
                          return host.second.unknown;
                        });
  return !may_come && PendingHostsLocked().empty() && !AnyAskedLocked();
}

std::vector<std::string> PendingChange::PendingHostsLocked() const {
  std::vector<std::string> pending;
  for (const auto& [name, host] : hosts_) {
    if (host.waits) pending.push_back(name);
  }
  return pending;
}

std::vector<std::string> PendingChange::TakePendingHostsLocked() {
  std::vector<std::string> taken;
  if (confirmation_.state() != Confirmation::CONFIRMED) return taken;
  for (auto& [name, host] : hosts_) {
    if (!host.waits || host.asked ||
        parts_.scheduler->Now() < host.not_before ||
        !parts_.hosts->IsAttached(name)) {
      continue;
    }
    host.asked = true;
    taken.push_back(name);
  }
  return taken;
}

std::vector<std::string> PendingChange::AwayLocked() const {
  std::vector<std::string> away;
  for (const std::string& host : PendingHostsLocked()) {
    if (!parts_.hosts->IsAttached(host)) away.push_back(host);
  }
  return away;
}

bool PendingChange::AnyAskedLocked() const {
  return absl::c_any_of(hosts_,
                        [](const auto& host) { return host.second.asked; });
}

Confirmation PendingChange::NowLocked() const {
  Confirmation now = confirmation_;
  now.clear_waits_for_words();
  if (now.state() != Confirmation::PENDING) return now;
  FindingValue waits;
  if (const auto away = AwayLocked(); !away.empty()) {
    waits = Worded("hub-waits-attach", NameList(away));
  } else if (!confirmation_.check_passed()) {
    waits = check_failed_.words().empty()
                ? Worded("hub-waits-check")
                : Worded("hub-waits-check-failed", check_failed_);
  }
  if (!confirmation_.automatic() && confirmation_.confirmed_at_ms() == 0) {
    const FindingValue person = Worded("hub-waits-person");
    waits = waits.words().empty() ? person : Worded("hub-and", waits, person);
  }
  if (!waits.words().empty()) *now.mutable_waits_for_words() = waits;
  return now;
}

bool PendingChange::IsOpenOn(const std::string& host) const {
  absl::MutexLock lock(&mutex_);
  const auto found = hosts_.find(host);
  return found != hosts_.end() && IsOpen(found->second);
}

void PendingChange::CheckSoonLocked() {
  check_wait_ = absl::ZeroDuration();
  next_check_ = absl::InfinitePast();
}

std::shared_ptr<FactOrder> PendingChange::TakeCheckLocked(
    FactQueue::Ticket ticket) {
  const absl::Time now = parts_.scheduler->Now();
  if (confirmation_.state() != Confirmation::PENDING ||
      confirmation_.check_passed() || check_ != 0 || now < next_check_ ||
      !AwayLocked().empty()) {
    return nullptr;
  }
  const auto order = std::make_shared<FactOrder>();
  order->run_id = NewRunId();
  order->actor = ControllerActor(head_.cluster());
  order->spec = parts_.spec->spec();
  order->hosts = PendingHostsLocked();
  if (order->hosts.empty()) return nullptr;
  if (plan_ != nullptr && !plan_->hosts().empty()) {
    order->network_namespace = plan_->hosts(0).network_namespace();
  }
  check_ = ticket;
  return order;
}

void PendingChange::BeginCheck(FactQueue::Ticket ticket,
                               std::shared_ptr<FactOrder> order) {
  FactQueue::Question question;
  question.of = CallClass::kConfirm;
  question.key = order->run_id;
  question.who = order->actor;
  FactQueue::Work<void> work;
  work.prepare = [order = std::move(order)] { return order; };
  work.conclude = [self = shared_from_this(),
                   ticket](const Gathered& gathered) {
    const CallbackGate::Pass pass(self->gate_);
    if (pass) self->OnFacts(ticket, gathered.order, gathered.facts);
    return nullptr;
  };
  FactQueue::Caller<void> caller;
  caller.on_end = [self = shared_from_this(), ticket](const auto& /*end*/) {
    self->parts_.queue->Leave(ticket);
    absl::MutexLock lock(&self->mutex_);
    if (self->check_ == ticket) self->check_ = 0;
  };
  parts_.queue->Ask(ticket, question, std::move(work), std::move(caller));
}

void PendingChange::OnFacts(FactQueue::Ticket ticket, const FactOrder& order,
                            const std::vector<HostFacts>& facts) {
  static const ClusterPlan* const kNoPlan = new ClusterPlan;
  const ClusterPlan& plan = plan_ == nullptr ? *kNoPlan : *plan_;
  Report report = MakeCheckReport(order, TouchedRules(plan), facts,
                                  parts_.scheduler->Now());
  const FindingValue wrong =
      WhatIsWrong(plan, {order.hosts.begin(), order.hosts.end()}, report);
  bool keep;
  {
    absl::MutexLock lock(&mutex_);
    if (check_ != ticket) return;  // Another check replaces it.
    check_ = 0;
    // A host that came meanwhile was not asked: check all at once.
    const bool of_all = order.hosts == PendingHostsLocked();
    const bool passed = of_all && wrong.words().empty();
    // Keep the first and the passing check; others would fill the history.
    keep = passed || confirmation_.check_run_id().empty();
    if (keep) confirmation_.set_check_run_id(order.run_id);
    confirmation_.set_check_passed(passed);
    check_failed_ = wrong;
    if (of_all) {
      check_wait_ =
          std::clamp(2 * check_wait_, kFirstCheckWait, kLongestCheckWait);
      const absl::Time now = parts_.scheduler->Now();
      const absl::Time last =
          absl::FromUnixMillis(confirmation_.deadline_ms()) - kFirstCheckWait;
      next_check_ = now + check_wait_;
      if (now < last) next_check_ = std::min(next_check_, last);
    }
  }
  if (keep) {
    parts_.history
        ->AddOrLog(RecordOfCheck(std::move(report), order.actor), parts_.log)
        .IgnoreError();
  }
  if (!wrong.words().empty()) {
    parts_.log->Warning(ChangeText(head_), ": not confirmed, check ",
                        order.run_id, ": ", ValueText(wrong));
  }
  Work();
}

void PendingChange::Tell(const std::vector<std::string>& hosts,
                         absl::Duration extend_by) {
  AuditEntry caller;
  {
    absl::MutexLock lock(&mutex_);
    caller = caller_;
  }
  for (const std::string& host : hosts) {
    HostTask task;
    task.host = host;
    task.deadline = kTellDeadline;
    ConfirmTask* const confirm = task.task.mutable_confirm();
    if (parts_.audit != nullptr) {
      FillInAsker(caller, parts_.audit->head_to_tell(), confirm);
    }
    confirm->set_apply_id(head_.apply_id());
    confirm->set_actor(caller.who());
    confirm->set_extend_by_ms(ToMs(extend_by));
    parts_.hosts->RunTask(
        std::move(task),
        gate_.Wrap([self = shared_from_this(), host,
                    extend_by](const absl::StatusOr<TaskResult>& answer) {
          self->OnAnswer(host, extend_by, answer);
        }));
  }
}

void PendingChange::OnAnswer(const std::string& host, absl::Duration extend_by,
                             const absl::StatusOr<TaskResult>& answer) {
  const bool done = answer.ok() && answer->has_apply() &&
                    answer->apply().apply_id() == head_.apply_id() &&
                    answer->apply().outcome() == ApplyResult::APPLIED;
  FindingValue why_not;
  if (!done) {
    why_not = !answer.ok()          ? MessageWords(answer.status())
              : answer->has_apply() ? ErrorWords(answer->apply())
                                    : MessageWords(answer->error());
  }
  bool is_news;
  bool all;
  {
    absl::MutexLock lock(&mutex_);
    HostState& state = hosts_[host];
    state.asked = false;
    is_news = !done && ValueText(state.why_not) != ValueText(why_not);
    state.why_not = why_not;
    state.refused = !done;
    if (!done) state.not_before = parts_.scheduler->Now() + kPendingRound;
    if (done && extend_by == absl::ZeroDuration()) {
      state.notified = true;
      state.waits = false;
    }
    all = !AnyAskedLocked();
  }
  if (is_news) {
    parts_.log->Warning(
        ChangeText(head_), ": host ", host, " was not notified that it ",
        extend_by > absl::ZeroDuration() ? "rolls back later: " : "stays: ",
        ValueText(why_not));
  }
  if (!all) return;
  if (extend_by > absl::ZeroDuration()) EndExtend();
  WorkSoon();
}

void PendingChange::EndExtend() {
  std::vector<FindingValue> refused;
  Answered answered;
  Confirmation now;
  {
    absl::MutexLock lock(&mutex_);
    last_deadline_ += extends_by_;
    for (const auto& [name, host] : hosts_) {
      if (!host.waits || !host.refused) continue;
      refused.push_back(Worded("hub-with-why", name, host.why_not));
    }
    if (refused.empty()) {
      const int64_t by_ms = absl::ToInt64Milliseconds(extends_by_);
      confirmation_.set_deadline_ms(confirmation_.deadline_ms() + by_ms);
      confirmation_.set_within_ms(confirmation_.within_ms() +
                                  static_cast<uint32_t>(by_ms));
      CheckSoonLocked();
    }
    extends_by_ = absl::ZeroDuration();
    answered = std::move(extending_);
    extending_ = nullptr;
    now = NowLocked();
  }
  if (answered == nullptr) return;
  if (refused.empty()) return answered(now);
  answered(UnavailableWords("msg-change-not-extended", ChangeWords(head_),
                            Listed(refused, 20)));
}

void PendingChange::Confirm(const AuditEntry& caller, Answered answered) {
  const CallbackGate::Pass pass(gate_);
  {
    absl::MutexLock lock(&mutex_);
    const bool late = parts_.scheduler->Now() >=
                      absl::FromUnixMillis(confirmation_.deadline_ms());
    if (!over_ && (confirmation_.state() == Confirmation::CONFIRMED ||
                   (confirmation_.state() == Confirmation::PENDING && !late))) {
      if (confirmation_.confirmed_at_ms() == 0) {
        caller_ = caller;
        confirmation_.set_confirmed_by(caller.who());
        confirmation_.set_confirmed_at_ms(
            absl::ToUnixMillis(parts_.scheduler->Now()));
      }
      CheckSoonLocked();
      waiting_.push_back(std::move(answered));
      answered = nullptr;
    }
  }
  if (answered == nullptr) return Work();
  answered(PreconditionWords("msg-change-deadline-passed", ChangeWords(head_)));
}

void PendingChange::Extend(const AuditEntry& caller, absl::Duration by,
                           const Answered& answered) {
  const CallbackGate::Pass pass(gate_);
  const FindingValue change = ChangeWords(head_);
  absl::Status refused;
  std::vector<std::string> hosts;
  {
    absl::MutexLock lock(&mutex_);
    const absl::Duration within =
        absl::Milliseconds(confirmation_.within_ms()) + by;
    hosts = PendingHostsLocked();
    const std::vector<std::string> away = AwayLocked();
    const bool late = parts_.scheduler->Now() >=
                      absl::FromUnixMillis(confirmation_.deadline_ms());
    if (over_ || late || confirmation_.state() != Confirmation::PENDING) {
      refused =
          PreconditionWords(confirmation_.state() == Confirmation::CONFIRMED
                                ? "msg-change-confirmed"
                                : "msg-change-deadline-passed",
                            change);
    } else if (by < kShortestConfirmWithin || within > kLongestConfirmWithin) {
      refused = InvalidWords("msg-change-extended-too-far", change,
                             absl::FormatDuration(within),
                             absl::FormatDuration(kLongestConfirmWithin));
    } else if (hosts.empty()) {
      refused = PreconditionWords("msg-change-no-host-has-it", change);
    } else if (!away.empty()) {
      refused = PreconditionWords("msg-change-hosts-detached", change,
                                  NameList(away));
    } else if (AnyAskedLocked()) {
      refused = UnavailableWords("msg-change-being-notified", change);
    } else {
      for (const std::string& host : hosts) {
        hosts_[host].asked = true;
        hosts_[host].refused = false;
        hosts_[host].why_not.Clear();
      }
      if (confirmation_.confirmed_at_ms() == 0) caller_ = caller;
      extends_by_ = by;
      extending_ = answered;
    }
  }
  if (!refused.ok()) return answered(refused);
  Tell(hosts, by);
}

Confirmation PendingChange::GiveUp() {
  std::vector<Answered> answered;
  Confirmation now;
  {
    absl::MutexLock lock(&mutex_);
    over_ = true;
    // Even a confirmed one, so that the next controller does not confirm it.
    confirmation_.set_state(Confirmation::REVERTING);
    answered.swap(waiting_);
    now = NowLocked();
  }
  Stop();
  for (const Answered& answer : answered) answer(now);
  return now;
}

bool PendingChange::BeginWaitLocked(HostState* state) {
  // Leave out a host that has reverted: it could fail every check.
  if (state->notified || state->waits || state->gone) return false;
  state->waits = true;
  if (confirmation_.state() == Confirmation::PENDING) {
    // The check that passed did not ask this host.
    confirmation_.set_check_passed(false);
    next_check_ = absl::InfinitePast();
  }
  return true;
}

void PendingChange::TakeDeadlineLocked(const std::string& host, absl::Time at) {
  const absl::Time first = absl::FromUnixMillis(
      head_.started_at_ms() + int64_t{confirmation_.within_ms()});
  if (at < first - kRevertGrace || at > last_deadline_ + kRevertGrace) {
    parts_.log->Warning(ChangeText(head_), ": host ", host,
                        " says that it rolls back at ", absl::FormatTime(at),
                        ", which was not agreed");
  } else if (at < absl::FromUnixMillis(confirmation_.deadline_ms())) {
    confirmation_.set_deadline_ms(absl::ToUnixMillis(at));
  }
}

void PendingChange::OnPastApplies(const std::string& host,
                                  const PastApplies& past) {
  bool news = false;
  FactQueue::Ticket without_it = 0;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = hosts_.find(host);
    if (over_ || found == hosts_.end()) return;
    HostState& state = found->second;
    const bool was_unknown = state.unknown;
    const bool had_waited = state.waits;
    // The host has never begun the apply.
    if (past.knows_all() && past.at_work() != head_.apply_id() &&
        !absl::c_linear_search(past.journals(), head_.apply_id())) {
      state.unknown = false;
    }
    for (const ApplyResult& result : past.results()) {
      if (result.apply_id() != head_.apply_id() || result.of_rollback()) {
        continue;
      }
      state.unknown = false;
      if (result.outcome() == ApplyResult::APPLIED) {
        // The host was lost, but has the apply.
        if (result.reverts_in_ms() > 0) news |= BeginWaitLocked(&state);
        continue;
      }
      news |= state.waits;
      state.gone |= result.not_confirmed();
      state.waits = false;
    }
    if (past.waits_for_confirmation() == head_.apply_id() && !state.notified) {
      news |= BeginWaitLocked(&state);
      if (!had_waited) {
        TakeDeadlineLocked(host, parts_.scheduler->Now() +
                                     absl::Milliseconds(past.reverts_in_ms()));
      }
      state.unknown = false;
    }
    news |= was_unknown && !state.unknown;
    if (had_waited && !state.waits) {
      // Do not wait for its answer: another check is due for the others.
      if (check_ != 0) next_check_ = absl::InfinitePast();
      without_it = std::exchange(check_, 0);
    }
  }
  if (without_it != 0) parts_.queue->Leave(without_it);
  if (news) WorkSoon();
}

void PendingChange::Stop() {
  FactQueue::Ticket check = 0;
  std::vector<Answered> answered;
  {
    absl::MutexLock lock(&mutex_);
    over_ = true;
    std::swap(check, check_);
    answered.swap(waiting_);
    if (extending_ != nullptr) answered.push_back(std::move(extending_));
    extending_ = nullptr;
    parts_.scheduler->Cancel(timer_);
  }
  if (check != 0) parts_.queue->Leave(check);
  for (const Answered& answer : answered) {
    answer(UnavailableWords("msg-hub-stopping"));
  }
  gate_.Close();
}

}  // namespace clusterd
