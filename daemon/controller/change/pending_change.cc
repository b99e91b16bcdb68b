#include "daemon/controller/change/pending_change.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "config/change/touched_rules.h"
#include "config/report/verdict.h"
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

ApplyReport HeadOf(ApplyReport report) {
  report.clear_hosts();
  return report;
}

bool NeedsWork(const Confirmation& confirm) {
  return confirm.state() == Confirmation::PENDING ||
         (confirm.state() == Confirmation::CONFIRMED &&
          !confirm.pending().empty());
}

}  // namespace

PendingChange::PendingChange(ApplyReport report,
                             std::shared_ptr<const ClusterPlan> plan,
                             const ControllerParts& parts, Save save)
    : head_(HeadOf(report)),
      plan_(std::move(plan)),
      parts_(parts),
      save_(std::move(save)),
      record_(std::move(report), plan_ != nullptr),
      // The last host to begin did so before the run ended.
      last_deadline_(std::max(
          absl::FromUnixMillis(head_.confirmation().deadline_ms()),
          absl::FromUnixMillis(head_.started_at_ms() +
                               static_cast<int64_t>(head_.elapsed_ms()) +
                               head_.confirmation().within_ms()))),
      over_(!NeedsWork(head_.confirmation())) {
  caller_.set_who(head_.confirmation().confirmed_by());
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
  ConfirmResponse now;
  bool ends = false;
  {
    const absl::MutexLock one_at_a_time(&working_);
    {
      absl::MutexLock lock(&mutex_);
      if (!over_) {
        StepLocked();
        to_tell = TakePendingHostsLocked();
        check = TakeCheckLocked(ticket);
        ends = over_ = IsOverLocked();
        // Its end may be all that is new.
        is_news_ |= ends;
        if (over_ || !AnyAskedLocked()) answered.swap(waiting_);
        now = NowLocked();
      }
    }
    SaveNews();
  }
  if (check != nullptr) BeginCheck(ticket, std::move(check));
  Tell(to_tell, absl::ZeroDuration());
  for (const Answered& answer : answered) answer(now);
  if (ends) {
    const Confirmation& over = now.confirmation();
    parts_.log->Notice(ChangeText(head_), ": ",
                       over.state() == Confirmation::CONFIRMED
                           ? ValueText(ConfirmedWords(over))
                           : "not confirmed in time, its hosts roll back");
  }
  absl::MutexLock lock(&mutex_);
  parts_.scheduler->Cancel(timer_);
  if (over_) return;
  timer_ = parts_.scheduler->RunAfter(
      kPendingRound,
      gate_.Wrap([self = shared_from_this()] { self->WorkSoon(); }));
}

void PendingChange::SaveNews() {
  ApplyReport report;
  bool is_settled = false;
  {
    absl::MutexLock lock(&mutex_);
    if (!std::exchange(is_news_, false)) return;
    report = record_.report();
    is_settled = over_ && !IsOpen(report);
  }
  save_(report, is_settled);
}

bool PendingChange::IsLateLocked() const {
  return parts_.scheduler->Now() >=
         absl::FromUnixMillis(KeptLocked().deadline_ms());
}

// The hosts decide by their own clocks; this clock only predicts that.
void PendingChange::StepLocked() {
  const absl::Time now = parts_.scheduler->Now();
  const Confirmation& kept = KeptLocked();
  if (kept.state() == Confirmation::PENDING && kept.check_passed() &&
      !IsLateLocked() && (kept.automatic() || kept.confirmed_at_ms() > 0)) {
    Confirmation* const confirmed = EditLocked();
    if (kept.confirmed_at_ms() == 0) {
      caller_ = AuditEntry();
      caller_.set_who(ControllerActor(head_.cluster()));
      confirmed->set_confirmed_by(caller_.who());
      confirmed->set_confirmed_at_ms(absl::ToUnixMillis(now));
    }
    confirmed->set_state(Confirmation::CONFIRMED);
  }
  const bool all_gone = !record_.AnyIn(kOpenStates) &&
                        FirstWith(record_.report().hosts(),
                                  &ApplyResult::not_confirmed, true) != nullptr;
  if (kept.state() == Confirmation::PENDING && (IsLateLocked() || all_gone) &&
      extends_by_ == absl::ZeroDuration()) {
    EditLocked()->set_state(Confirmation::REVERTING);
  }
  if (kept.state() == Confirmation::CONFIRMED && now >= last_deadline_ &&
      !kept.deadlines_passed()) {
    EditLocked()->set_deadlines_passed(true);
  }
  if (kept.state() == Confirmation::REVERTING || kept.deadlines_passed()) {
    is_news_ |= record_.MoveAll(HostEvent::kDue);
  }
  is_news_ |= record_.UpdatePending();
}

bool PendingChange::IsOverLocked() const {
  const Confirmation& kept = KeptLocked();
  if (kept.state() == Confirmation::PENDING) return false;
  if (parts_.scheduler->Now() >= last_deadline_ + kRevertGrace) return true;
  const bool may_come =
      kept.state() == Confirmation::CONFIRMED && record_.AnyIn({HOST_LOST});
  return !may_come && !record_.AnyIn(kMayRevert) && !AnyAskedLocked();
}

std::vector<std::string> PendingChange::TakePendingHostsLocked() {
  std::vector<std::string> taken;
  if (KeptLocked().state() != Confirmation::CONFIRMED) return taken;
  const std::vector<std::string> pending = record_.HostsIn(kMayRevert);
  for (const std::string& name : pending) {
    Notice& notice = notices_[name];
    if (notice.asked || parts_.scheduler->Now() < notice.not_before ||
        !parts_.hosts->IsAttached(name)) {
      continue;
    }
    notice.asked = true;
    taken.push_back(name);
  }
  return taken;
}

std::vector<std::string> PendingChange::AwayLocked() const {
  std::vector<std::string> away = record_.HostsIn(kMayRevert);
  DropIf(&away, [this](const std::string& host) {
    return parts_.hosts->IsAttached(host);
  });
  return away;
}

bool PendingChange::AnyAskedLocked() const {
  return absl::c_any_of(notices_,
                        [](const auto& each) { return each.second.asked; });
}

ConfirmResponse PendingChange::NowLocked() const {
  ConfirmResponse response;
  response.set_schema_version(1);
  response.set_run_id(head_.run_id());
  Confirmation& now = *response.mutable_confirmation();
  now = KeptLocked();
  if (over_ || now.state() != Confirmation::PENDING) return response;
  FindingValue waits;
  if (const auto away = AwayLocked(); !away.empty()) {
    waits = Worded("hub-waits-attach", NameList(away));
  } else if (!now.check_passed()) {
    waits = check_failed_.words().empty()
                ? Worded("hub-waits-check")
                : Worded("hub-waits-check-failed", check_failed_);
  }
  if (!now.automatic() && now.confirmed_at_ms() == 0) {
    const FindingValue person = Worded("hub-waits-person");
    waits = waits.words().empty() ? person : Worded("hub-and", waits, person);
  }
  if (!waits.words().empty()) *now.mutable_waits_for_words() = waits;
  return response;
}

ApplyReport PendingChange::report() const {
  absl::MutexLock lock(&mutex_);
  ApplyReport report = record_.report();
  if (report.has_confirmation()) {
    *report.mutable_confirmation() = NowLocked().confirmation();
  }
  return report;
}

void PendingChange::CheckSoonLocked() {
  check_wait_ = absl::ZeroDuration();
  next_check_ = absl::InfinitePast();
}

std::shared_ptr<FactOrder> PendingChange::TakeCheckLocked(
    FactQueue::Ticket ticket) {
  const absl::Time now = parts_.scheduler->Now();
  if (KeptLocked().state() != Confirmation::PENDING ||
      KeptLocked().check_passed() || check_ != 0 || now < next_check_ ||
      !AwayLocked().empty()) {
    return nullptr;
  }
  const auto order = std::make_shared<FactOrder>();
  order->actor = ControllerActor(head_.cluster());
  order->spec = parts_.spec->spec();
  order->hosts = record_.HostsIn(kMayRevert);
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
    const bool of_all = order.hosts == record_.HostsIn(kMayRevert);
    const bool passed = of_all && wrong.words().empty();
    // Keep the first and the passing check; others would fill the history.
    keep = passed || KeptLocked().check_run_id().empty();
    if (keep) EditLocked()->set_check_run_id(order.run_id);
    if (passed) EditLocked()->set_check_passed(true);
    check_failed_ = wrong;
    if (of_all) {
      check_wait_ =
          std::clamp(2 * check_wait_, kFirstCheckWait, kLongestCheckWait);
      const absl::Time now = parts_.scheduler->Now();
      const absl::Time last =
          absl::FromUnixMillis(KeptLocked().deadline_ms()) - kFirstCheckWait;
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
    FillInAsker(caller, parts_.audit->head_to_tell(), confirm);
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
    Notice& notice = notices_[host];
    notice.asked = false;
    is_news = !done && (!notice.why_not.has_value() ||
                        ValueText(*notice.why_not) != ValueText(why_not));
    notice.why_not.reset();
    const std::optional<size_t> index = record_.IndexOf(host);
    if (!done) {
      notice.why_not = why_not;
      notice.not_before = parts_.scheduler->Now() + kPendingRound;
    } else if (extend_by == absl::ZeroDuration() && index.has_value()) {
      is_news_ |= record_.Move(*index, HostEvent::kKept);
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
  ConfirmResponse now;
  {
    absl::MutexLock lock(&mutex_);
    last_deadline_ += extends_by_;
    for (const auto& [name, notice] : notices_) {
      if (!notice.why_not.has_value() || !record_.IsIn(name, kMayRevert)) {
        continue;
      }
      refused.push_back(Worded("hub-with-why", name, *notice.why_not));
    }
    if (refused.empty()) {
      const int64_t by_ms = absl::ToInt64Milliseconds(extends_by_);
      Confirmation* const later = EditLocked();
      later->set_deadline_ms(later->deadline_ms() + by_ms);
      later->set_within_ms(later->within_ms() + static_cast<uint32_t>(by_ms));
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
    const Confirmation& kept = KeptLocked();
    if (!over_ &&
        (kept.state() == Confirmation::CONFIRMED ||
         (kept.state() == Confirmation::PENDING && !IsLateLocked()))) {
      if (kept.confirmed_at_ms() == 0) {
        caller_ = caller;
        Confirmation* const confirmed = EditLocked();
        confirmed->set_confirmed_by(caller.who());
        confirmed->set_confirmed_at_ms(
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
    const Confirmation& kept = KeptLocked();
    const absl::Duration within = absl::Milliseconds(kept.within_ms()) + by;
    hosts = record_.HostsIn(kMayRevert);
    const std::vector<std::string> away = AwayLocked();
    if (over_ || IsLateLocked() || kept.state() != Confirmation::PENDING) {
      refused = PreconditionWords(kept.state() == Confirmation::CONFIRMED
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
        notices_[host] = Notice();
        notices_[host].asked = true;
      }
      if (kept.confirmed_at_ms() == 0) caller_ = caller;
      extends_by_ = by;
      extending_ = answered;
    }
  }
  if (!refused.ok()) return answered(refused);
  Tell(hosts, by);
}

std::vector<PendingChange::Answered> PendingChange::EndLocked(
    FactQueue::Ticket* check) {
  over_ = true;
  parts_.scheduler->Cancel(timer_);
  *check = std::exchange(check_, 0);
  std::vector<Answered> answered = std::exchange(waiting_, {});
  if (extending_ != nullptr) answered.push_back(std::move(extending_));
  extending_ = nullptr;
  return answered;
}

void PendingChange::GiveUp() {
  std::vector<Answered> answered;
  Answered extension;
  FindingValue hosts;
  FactQueue::Ticket check = 0;
  {
    const absl::MutexLock one_at_a_time(&working_);
    {
      absl::MutexLock lock(&mutex_);
      if (over_) return;
      extension = std::exchange(extending_, nullptr);
      hosts = NameList(record_.HostsIn(kMayRevert));
      answered = EndLocked(&check);
      // Even a confirmed one, so that the next controller does not confirm it.
      EditLocked()->set_state(Confirmation::REVERTING);
      record_.MoveAll(HostEvent::kDue);
    }
    SaveNews();
  }
  if (check != 0) parts_.queue->Leave(check);
  for (const Answered& answer : answered) answer(response());
  if (extension == nullptr) return;
  extension(
      UnavailableWords("msg-change-not-extended", ChangeWords(head_), hosts));
}

void PendingChange::TakeBack(const ApplyReport& rollback) {
  const absl::MutexLock one_at_a_time(&working_);
  {
    absl::MutexLock lock(&mutex_);
    is_news_ |= record_.TakeBack(rollback);
  }
  SaveNews();
}

void PendingChange::AddHostLocked(const std::string& host, absl::Time at) {
  const Confirmation& kept = KeptLocked();
  const absl::Time first =
      absl::FromUnixMillis(head_.started_at_ms() + int64_t{kept.within_ms()});
  if (at < first - kRevertGrace || at > last_deadline_ + kRevertGrace) {
    parts_.log->Warning(ChangeText(head_), ": host ", host,
                        " says that it rolls back at ", absl::FormatTime(at),
                        ", which was not agreed");
  } else if (at < absl::FromUnixMillis(kept.deadline_ms())) {
    EditLocked()->set_deadline_ms(absl::ToUnixMillis(at));
  }
  if (kept.state() != Confirmation::PENDING) return;
  // The check that passed did not ask this host.
  EditLocked()->set_check_passed(false);
  next_check_ = absl::InfinitePast();
}

void PendingChange::OnPastApplies(const std::string& host,
                                  const PastApplies& past) {
  FactQueue::Ticket without_it = 0;
  {
    absl::MutexLock lock(&mutex_);
    const bool had_it = record_.IsIn(host, kMayRevert);
    if (!record_.Merge(host, past)) return;
    is_news_ = true;
    const bool has_it = record_.IsIn(host, kMayRevert);
    if (has_it && !had_it && !over_) {
      const ApplyResult& known = record_.host(*record_.IndexOf(host));
      AddHostLocked(host, parts_.scheduler->Now() +
                              absl::Milliseconds(known.reverts_in_ms()));
    } else if (had_it && !has_it) {
      // Do not wait for its answer: another check is due for the others.
      if (check_ != 0) next_check_ = absl::InfinitePast();
      without_it = std::exchange(check_, 0);
    }
  }
  if (without_it != 0) parts_.queue->Leave(without_it);
  WorkSoon();
}

void PendingChange::Stop() {
  FactQueue::Ticket check = 0;
  std::vector<Answered> answered;
  {
    absl::MutexLock lock(&mutex_);
    answered = EndLocked(&check);
  }
  if (check != 0) parts_.queue->Leave(check);
  for (const Answered& answer : answered) {
    answer(UnavailableWords("msg-hub-stopping"));
  }
  gate_.Close();
}

}  // namespace clusterd
