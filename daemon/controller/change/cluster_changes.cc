#include "daemon/controller/change/cluster_changes.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "config/plan/waves.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/hosts/fact_run.h"
#include "daemon/controller/hosts/spec_holder.h"

namespace clusterd {
namespace {

using Followed = std::vector<std::shared_ptr<PendingChange>>;

// Null: none of them has this run.
std::shared_ptr<PendingChange> FindIn(const Followed& pending,
                                      const std::string& run_id) {
  const auto* const found = FirstWith(pending, &PendingChange::run_id, run_id);
  return found == nullptr ? nullptr : *found;
}

AuditEntry Audited(AuditEntry caller, const ApplyReport& report) {
  caller.set_subject(absl::StrCat(
      report.run_id(),
      report.rollback() ? absl::StrCat(" of ", report.apply_id()) : ""));
  caller.set_digest(report.plan_digest());
  return caller;
}

size_t WaveCountOf(const ClusterPlan& plan, const ApplyReport& head) {
  const auto hosts = absl::c_count_if(
      plan.hosts(), [](const HostPlan& host) { return !host.steps().empty(); });
  return Waves(static_cast<size_t>(hosts), head.canary(), head.wave_size())
      .count();
}

// The error for a run that can no longer be cancelled.
absl::Status AlreadyOver(const ApplyReport& report) {
  return InvalidWords(
      "msg-change-already-over", ChangeWords(report),
      Worded(report.outcome() == ApplyReport::RUNNING
                 ? "hub-end-not-kept"
                 : absl::StrCat("history-outcome-", RunOutcomeName(report))));
}

absl::Status WhyNot(const absl::Status& refused, const ApplyRun& run) {
  return absl::IsFailedPrecondition(refused) ? AlreadyOver(run.report())
                                             : refused;
}

}  // namespace

ChangeRequest EnforcedChange(std::shared_ptr<const ClusterPlan> plan) {
  ChangeRequest request;
  request.caller =
      MakeAuditEntry("enforce", "", ControllerActor(plan->cluster()));
  request.plan = std::move(plan);
  request.from = "enforce of the spec";
  request.enforced = true;
  request.options.set_no_confirm(true);
  return request;
}

void ClusterChanges::EndChange() {
  std::optional<Current> ended;
  absl::MutexLock lock(&mutex_);
  ended.swap(current_);
}

absl::StatusOr<std::shared_ptr<ApplyRun>> ClusterChanges::Start(
    const ChangeRequest& request, ApplyWatcher watcher) {
  const CallbackGate::Pass pass(gate_);
  ApplyReport report;
  report.set_run_id(NewRunId());
  report.set_rollback(request.plan == nullptr);
  if (!report.rollback()) report.set_apply_id(report.run_id());
  report.set_cluster(parts_.spec->cluster());
  report.set_actor(request.caller.who());
  report.set_force(request.options.force());
  report.set_enforced(request.enforced);
  const uint32_t wave_size = request.options.wave_size();
  report.set_wave_size(wave_size == 0 ? kDefaultWaveSize : wave_size);
  // First, since the history must not change while it is read below.
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) return UnavailableWords("msg-hub-stopping");
    if (current_.has_value()) {
      return UnavailableWords("msg-change-one-at-a-time", current_->what,
                              UtcText(current_->since));
    }
    current_ = Current{ChangeWords(report), parts_.scheduler->Now(), nullptr};
  }
  auto run = StartRun(report, request, std::move(watcher));
  if (!run.ok()) EndChange();
  return run;
}

absl::StatusOr<std::shared_ptr<ApplyRun>> ClusterChanges::StartRun(
    ApplyReport head, const ChangeRequest& request, ApplyWatcher watcher) {
  Confirmation confirm;
  Canary canary;
  if (request.plan != nullptr) {
    RETURN_IF_ERROR(CheckPending(ApplyOrder()));
    canary =
        ChooseCanary(*request.plan, request.options.canary(), head.wave_size());
    head.set_canary(static_cast<uint32_t>(canary.size));
    if (!canary.why.words().empty()) AddNote(canary.why, &head);
    ASSIGN_OR_RETURN(confirm, ConfirmationOf(*request.plan, request.options,
                                             WaveCountOf(*request.plan, head)));
  }
  ASSIGN_OR_RETURN(ApplyOrder order,
                   request.plan != nullptr
                       ? OrderOfApply(parts_, request.plan, confirm)
                       : OrderOfRollback(parts_, request.rollback_of));
  RETURN_IF_ERROR(CheckPending(order));
  order.report.MergeFrom(head);
  absl::c_stable_partition(order.hosts, [&canary](const auto& host) {
    return canary.hosts.count(host.name) > 0;
  });
  order.caller = request.caller;
  const ApplyReport report = order.report;
  parts_.log->Notice(
      ChangeText(report), " (", request.from, "): ",
      report.rollback() ? absl::StrCat("takes back apply ", report.apply_id())
                        : absl::StrCat("applies plan ", report.plan_id()),
      " on ", order.hosts.size(), " hosts, ", report.wave_size(), " at once",
      report.canary() > 0 ? absl::StrCat(", first ", report.canary()) : "",
      report.force() ? ", forced" : "", report.enforced() ? ", enforced" : "",
      report.has_confirmation()
          ? absl::StrCat(", to be confirmed within ",
                         absl::FormatDuration(absl::Milliseconds(
                             report.confirmation().within_ms())))
          : "");
  const AuditEntry audited = Audited(request.caller, report);
  RETURN_IF_ERROR(parts_.audit->Begin(audited));
  const std::shared_ptr<ApplyRun> run =
      MakeRun(std::move(order), audited, std::move(watcher));
  bool stopping = false;
  {
    absl::MutexLock lock(&mutex_);
    // Stop breaks it off from here on.
    if (!stopped_) current_->run = run;
    stopping = stopped_;
  }
  const absl::Status started =
      stopping ? UnavailableWords("msg-hub-stopping") : run->Start();
  if (started.ok()) return run;
  parts_.audit->End(audited, absl::StrCat("not begun: ", started.message()));
  if (stopping) return started;
  parts_.log->Error(ChangeText(report),
                    ": not begun, the history: ", started.message());
  return started;
}

std::shared_ptr<ApplyRun> ClusterChanges::MakeRun(ApplyOrder order,
                                                  const AuditEntry& audited,
                                                  ApplyWatcher watcher) {
  ApplyRun::Callbacks callbacks;
  // The first save makes the entry, the later ones replace it.
  callbacks.save = [this, added = std::make_shared<bool>(false)](
                       const ApplyReport& to_save) {
    const HistoryRecord record = RecordOfApply(to_save);
    if (*added) return parts_.history->Update(record);
    const absl::Status saved = parts_.history->Add(record);
    *added = saved.ok();
    // Take over the waiting apply before asking any host to roll back.
    const auto pending =
        saved.ok() ? FindIn(AllPending(), to_save.apply_id()) : nullptr;
    if (pending != nullptr) pending->GiveUp();
    return saved;
  };
  callbacks.on_end = [this, audited,
                      plan = order.plan](const ApplyReport& ended) {
    OnRunEnd(ended, audited);
    if (IsOpen(ended)) Follow(ended, plan);
    EndChange();
  };
  callbacks.watcher = std::move(watcher);
  return std::make_shared<ApplyRun>(std::move(order), parts_,
                                    std::move(callbacks));
}

void ClusterChanges::OnRunEnd(const ApplyReport& report,
                              const AuditEntry& audited) {
  parts_.log->Notice(ChangeText(report), ": ", RunOutcomeName(report));
  parts_.audit->End(
      audited,
      absl::StrCat(RunOutcomeName(report), ": ",
                   ValueText(HostCounts(
                       report, 0, static_cast<size_t>(report.hosts_size())))));
  {
    absl::MutexLock lock(&mutex_);
    ++ended_[RunOutcomeName(report)];
  }
  // A second rollback must see this, so note it first.
  if (report.rollback()) TakeBack(report);
}

void ClusterChanges::TakeBack(const ApplyReport& rollback) {
  const auto pending = FindIn(AllPending(), rollback.apply_id());
  if (pending != nullptr) return pending->TakeBack(rollback);
  absl::StatusOr<HistoryRecord> record =
      parts_.history->Get(rollback.apply_id());
  if (!record.ok() || !record->has_apply()) return;
  ChangeRecord change(std::move(*record->mutable_apply()));
  if (!change.TakeBack(rollback)) return;
  Keep(change.report());
}

void ClusterChanges::Keep(const ApplyReport& report) {
  const absl::Status kept = parts_.history->Update(RecordOfApply(report));
  if (kept.ok()) return;
  parts_.log->Error("history: what has become of ", report.run_id(),
                    " is not kept: ", kept.message());
}

void ClusterChanges::Follow(const ApplyReport& report,
                            std::shared_ptr<const ClusterPlan> plan) {
  const auto pending = std::make_shared<PendingChange>(
      report, std::move(plan), parts_,
      [this](const ApplyReport& now, bool is_settled) {
        Keep(now);
        if (!is_settled) return;
        absl::MutexLock lock(&mutex_);
        DropIf(&pending_, [&now](const auto& each) {
          return each->run_id() == now.run_id();
        });
      });
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) return;  // The next controller continues.
    if (pending_.size() >= kMaxOpenRecords &&
        report.confirmation().state() != Confirmation::PENDING) {
      return;
    }
    pending_.push_back(pending);
  }
  pending->Start();
}

void ClusterChanges::Recover() {
  absl::StatusOr<OpenRecords> open = parts_.history->FindOpen();
  // A closed history was already logged when it was opened.
  if (absl::IsFailedPrecondition(open.status())) return;
  if (!open.ok()) {
    return parts_.log->Error("history: ", open.status().message());
  }
  for (absl::StatusOr<HistoryRecord>& record : *open) {
    if (!record.ok()) {
      parts_.log->Error(
          "history: an apply or rollback was cut off by the end of the last "
          "controller, or waits for hosts, and they are not known: ",
          record.status().message());
    } else if (record->has_apply()) {
      Resume(ChangeRecord(std::move(*record->mutable_apply())));
    }
  }
}

void ClusterChanges::Resume(ChangeRecord change) {
  const ApplyReport& report = change.report();
  if (change.is_running()) {
    change.Interrupt(parts_.scheduler->Now());
    parts_.audit->End(
        Audited(MakeAuditEntry(report.rollback() ? "RollBack" : "ApplyPlan", "",
                               report.actor()),
                report),
        "interrupted: the controller ended while it ran");
    {
      absl::MutexLock lock(&mutex_);
      ++ended_[RunOutcomeName(report)];
    }
    Keep(report);
    parts_.log->Warning(ChangeText(report),
                        ": interrupted, the controller ended while it ran");
  }
  if (!IsOpen(report)) return;
  const auto plan =
      ReadKeptPlan(*parts_.history, report.plan_id(), report.plan_digest());
  Follow(report, plan.ok() ? *plan : nullptr);
}

std::shared_ptr<ApplyRun> ClusterChanges::CurrentRun() const {
  absl::MutexLock lock(&mutex_);
  return current_.has_value() ? current_->run : nullptr;
}

absl::StatusOr<std::shared_ptr<ApplyRun>> ClusterChanges::FindCurrent(
    const std::string& id) {
  // Get the run first: if it ends meanwhile, it still has its result.
  const std::shared_ptr<ApplyRun> run = CurrentRun();
  // An unreadable history must not prevent a cancel.
  if (run != nullptr && run->run_id() == id) return run;
  ASSIGN_OR_RETURN(const HistoryRecord record, parts_.history->Get(id));
  const HistoryEntry& entry = record.entry();
  if (!record.has_apply()) {
    return InvalidWords("msg-change-cannot-be-cancelled",
                        HistoryKindName(entry.kind()), entry.id());
  }
  if (run != nullptr && run->run_id() == entry.id()) return run;
  return AlreadyOver(record.apply());
}

absl::StatusOr<CancelResponse> ClusterChanges::Cancel(const std::string& id,
                                                      const std::string& actor,
                                                      const std::string& from) {
  ASSIGN_OR_RETURN(const std::shared_ptr<ApplyRun> run, FindCurrent(id));
  absl::StatusOr<CancelResponse> cancelled = run->Cancel(actor);
  if (!cancelled.ok()) return WhyNot(cancelled.status(), *run);
  const std::string& first = cancelled->cancelled().actor();
  parts_.log->Notice(
      ChangeText(run->report()), ": cancelled by ", ActorName(actor), " (",
      from, ") in wave ", cancelled->cancelled().wave(), " of ",
      cancelled->waves(),
      first == actor ? "" : absl::StrCat(", after ", ActorName(first)));
  return cancelled;
}

absl::StatusOr<AbortApplyResponse> ClusterChanges::Abort(
    const std::string& id, const std::string& actor, const std::string& from) {
  ASSIGN_OR_RETURN(const std::shared_ptr<ApplyRun> run, FindCurrent(id));
  absl::StatusOr<AbortApplyResponse> aborted = run->Abort(actor);
  if (!aborted.ok()) return WhyNot(aborted.status(), *run);
  parts_.log->Notice(ChangeText(run->report()), ": aborted by ", actor, " (",
                     from, "), ", aborted->given_up_size(),
                     " hosts not waited for any more");
  return aborted;
}

FindingValue ClusterChanges::Running() {
  absl::MutexLock lock(&mutex_);
  return current_.has_value() ? current_->what : FindingValue();
}

absl::StatusOr<HistoryRecord> ClusterChanges::Show(const std::string& id) {
  // Get the run first: if it ends meanwhile, it still has its result.
  const std::shared_ptr<ApplyRun> run = CurrentRun();
  const Followed all = AllPending();
  ASSIGN_OR_RETURN(HistoryRecord record, parts_.history->Get(id));
  const HistoryEntry& entry = record.entry();
  if (const auto pending = FindIn(all, entry.id()); pending != nullptr) {
    return RecordOfApply(pending->report());
  }
  if (run == nullptr || entry.id() != run->run_id()) return record;
  return RecordOfApply(run->report());
}

void ClusterChanges::OnPastApplies(const std::string& host,
                                   const PastApplies& reported) {
  const std::shared_ptr<ApplyRun> run = CurrentRun();
  const Followed all = AllPending();
  if (run != nullptr) run->OnPastApplies(host, reported);
  for (const auto& pending : all) pending->OnPastApplies(host, reported);
}

Followed ClusterChanges::AllWaiting() const {
  Followed waiting = AllPending();
  DropIf(&waiting, [](const auto& each) { return !each->IsWaiting(); });
  return waiting;
}

absl::Status ClusterChanges::CheckPending(const ApplyOrder& order) const {
  const Followed waiting = AllWaiting();
  const bool full =
      order.report.has_confirmation() && waiting.size() >= kMaxPendingChanges;
  for (const auto& pending : waiting) {
    if (pending->run_id() == order.report.apply_id()) continue;
    const Confirmation now = pending->response().confirmation();
    const FindingValue change = ChangeWords(pending->head());
    const std::string time = UtcText(now.deadline_ms());
    if (now.state() == Confirmation::PENDING) {
      return UnavailableWords("msg-change-waits-for-confirmation", change,
                              time);
    }
    std::vector<std::string> open;
    for (const ApplyOrder::Host& host : order.hosts) {
      if (pending->IsOpenOn(host.name)) open.push_back(host.name);
    }
    // Unnotified hosts would refuse the change; the others do not revert.
    const bool confirmed = now.state() == Confirmation::CONFIRMED;
    if (!open.empty()) {
      return confirmed ? UnavailableWords("msg-change-not-notified", change,
                                          NameList(open), time)
                       : UnavailableWords("msg-change-rolls-back", change,
                                          open.front(), time);
    }
    if (confirmed && full) {
      return UnavailableWords("msg-change-too-many-not-notified", change, time,
                              kMaxPendingChanges);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<PendingChange>> ClusterChanges::FindWaiting(
    const std::string& id) {
  const Followed waiting = AllWaiting();
  // An unreadable history must not prevent a confirmation.
  if (auto found = FindIn(waiting, id); found != nullptr) return found;
  ASSIGN_OR_RETURN(const HistoryRecord record, parts_.history->FindApply(id));
  const ApplyReport& report = record.apply();
  if (auto found = FindIn(waiting, report.run_id()); found != nullptr) {
    return found;
  }
  const Confirmation& confirm = report.confirmation();
  return PreconditionWords(
      "msg-change-does-not-wait", ChangeWords(report),
      confirm.state() == Confirmation::CONFIRMED
          ? Worded("apply-confirmed", ActorName(confirm.confirmed_by()))
          : Worded(report.outcome() == ApplyReport::RUNNING ? "hub-still-runs"
                   : !report.has_confirmation() ? "hub-needs-no-confirmation"
                   : confirm.state() == Confirmation::NOT_NEEDED
                       ? "hub-nothing-to-keep"
                       : "hub-deadline-or-rolled-back"));
}

void ClusterChanges::Confirm(const std::string& id, const AuditEntry& caller,
                             const Confirmed& answered) {
  const auto pending = FindWaiting(id);
  if (!pending.ok()) return answered(pending.status());
  parts_.log->Notice("apply ", (*pending)->run_id(), ": confirmed by ",
                     ActorName(caller.who()));
  (*pending)->Confirm(caller, answered);
}

void ClusterChanges::Extend(const std::string& id, const AuditEntry& caller,
                            absl::Duration by, const Confirmed& answered) {
  const auto pending = FindWaiting(id);
  if (!pending.ok()) return answered(pending.status());
  parts_.log->Notice("apply ", (*pending)->run_id(), ": to be confirmed ",
                     absl::FormatDuration(by), " later, by ",
                     ActorName(caller.who()));
  (*pending)->Extend(caller, by, answered);
}

std::vector<ConfirmResponse> ClusterChanges::Pending() {
  return Each<ConfirmResponse>(AllWaiting(), &PendingChange::response);
}

void ClusterChanges::Stop() {
  std::shared_ptr<ApplyRun> run;
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    if (current_.has_value()) run = current_->run;
  }
  if (run != nullptr && run->Stop()) EndChange();
  // Take these only now: the ended run may have added one.
  Followed all;
  {
    absl::MutexLock lock(&mutex_);
    all.swap(pending_);
  }
  for (const auto& pending : all) pending->Stop();
  gate_.Close();
}

}  // namespace clusterd
