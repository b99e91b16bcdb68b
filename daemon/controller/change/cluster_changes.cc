#include "daemon/controller/change/cluster_changes.h"

#include <algorithm>
#include <iterator>
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

// The most runs with lost hosts that are remembered, newest first.
constexpr size_t kMaxUnsettled = 64;

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

// True if the host may still report that it reverted automatically.
bool MayRevert(const ApplyReport& report, const ApplyResult& host) {
  const Confirmation& confirm = report.confirmation();
  return host.outcome() == ApplyResult::APPLIED && host.reverts_in_ms() > 0 &&
         (confirm.state() != Confirmation::CONFIRMED ||
          absl::c_linear_search(confirm.pending(), host.host()));
}

}  // namespace

ChangeRequest EnforcedChange(std::shared_ptr<const ClusterPlan> plan) {
  ChangeRequest request;
  request.actor = ControllerActor(plan->cluster());
  request.plan = std::move(plan);
  request.caller = MakeAuditEntry("enforce", "", request.actor);
  request.from = "enforce of the spec";
  request.enforced = true;
  request.no_confirm = true;
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
  report.set_actor(request.actor);
  report.set_force(request.force);
  report.set_enforced(request.enforced);
  report.set_wave_size(request.wave_size == 0 ? kDefaultWaveSize
                                              : request.wave_size);
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
    canary = ChooseCanary(*request.plan, request.canary, head.wave_size());
    head.set_canary(static_cast<uint32_t>(canary.size));
    if (!canary.why.words().empty()) AddNote(canary.why, &head);
    ASSIGN_OR_RETURN(confirm,
                     ConfirmationOf(*request.plan, request.confirm_within,
                                    request.auto_confirm, request.no_confirm,
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
  if (parts_.audit != nullptr) RETURN_IF_ERROR(parts_.audit->Begin(audited));
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
  AuditEnd(audited, absl::StrCat("not begun: ", started.message()));
  if (stopping) return started;
  parts_.log->Error(ChangeText(report),
                    ": not begun, the history: ", started.message());
  return started;
}

void ClusterChanges::AuditEnd(const AuditEntry& audited,
                              absl::string_view result) const {
  if (parts_.audit != nullptr) parts_.audit->End(audited, result);
}

std::shared_ptr<ApplyRun> ClusterChanges::MakeRun(ApplyOrder order,
                                                  const AuditEntry& audited,
                                                  ApplyWatcher watcher) {
  ApplyRun::Callbacks callbacks;
  // The first save makes the entry, the later ones replace it.
  callbacks.save = [this, network_namespace = order.network_namespace,
                    added = std::make_shared<bool>(false)](
                       const ApplyReport& to_save) {
    const HistoryRecord record = RecordOfApply(to_save, network_namespace);
    if (*added) return parts_.history->Update(record);
    const absl::Status saved = parts_.history->Add(record);
    *added = saved.ok();
    // Take over the waiting apply before asking any host to roll back.
    const auto pending = saved.ok() ? TakePending(to_save.apply_id()) : nullptr;
    if (pending != nullptr) {
      SaveConfirmation(pending->head().run_id(), pending->GiveUp());
    }
    return saved;
  };
  callbacks.on_end = [this, audited,
                      plan = order.plan](const ApplyReport& ended) {
    OnRunEnd(ended, audited);
    if (ended.confirmation().state() == Confirmation::PENDING) {
      BeginPending(ended, plan);
    }
    EndChange();
  };
  callbacks.watcher = std::move(watcher);
  return std::make_shared<ApplyRun>(std::move(order), parts_,
                                    std::move(callbacks));
}

void ClusterChanges::OnRunEnd(const ApplyReport& report,
                              const AuditEntry& audited) {
  parts_.log->Notice(ChangeText(report), ": ", RunOutcomeName(report));
  AuditEnd(
      audited,
      absl::StrCat(RunOutcomeName(report), ": ",
                   ValueText(HostCounts(
                       report, 0, static_cast<size_t>(report.hosts_size())))));
  {
    absl::MutexLock lock(&mutex_);
    ++ended_[RunOutcomeName(report)];
    RememberLostLocked(report);
    for (const ApplyResult& host : report.hosts()) {
      if (report.rollback() && IsTakenBack(host.outcome())) {
        corrections_[report.apply_id()].push_back({host, report.run_id()});
        ForgetRevertsLocked(report.apply_id(), {host.host()});
      }
    }
  }
  // A second rollback must see these marks, so correct them first.
  CorrectAll();
}

void ClusterChanges::RememberLostLocked(const ApplyReport& report) {
  Unsettled unsettled;
  unsettled.apply_id = report.apply_id();
  unsettled.rollback = report.rollback();
  for (const ApplyResult& host : report.hosts()) {
    if (host.outcome() == ApplyResult::LOST) {
      unsettled.hosts.insert(host.host());
    } else if (MayRevert(report, host)) {
      unsettled.may_revert.insert(host.host());
    }
  }
  if (unsettled.IsSettled() || unsettled_.size() >= kMaxUnsettled) return;
  unsettled_[report.run_id()] = std::move(unsettled);
}

void ClusterChanges::ForgetRevertsLocked(const std::string& run_id,
                                         const std::set<std::string>& hosts) {
  const auto found = unsettled_.find(run_id);
  if (found == unsettled_.end()) return;
  for (const std::string& host : hosts) found->second.may_revert.erase(host);
  if (found->second.IsSettled()) unsettled_.erase(found);
}

void ClusterChanges::Recover() {
  absl::StatusOr<RunningRecords> running = parts_.history->FindRunning();
  // A closed history was already logged when it was opened.
  if (absl::IsFailedPrecondition(running.status())) return;
  if (!running.ok()) {
    return parts_.log->Error("history: ", running.status().message());
  }
  for (absl::StatusOr<HistoryRecord>& record : *running) {
    if (record.ok()) {
      Interrupt(*std::move(record));
      continue;
    }
    parts_.log->Error(
        "history: an apply or rollback was cut off by the end of the last "
        "controller, and its hosts are not known: ",
        record.status().message());
  }
  // Hosts of old runs may report for the first time when they attach.
  ListHistoryRequest newest;
  newest.add_kinds(HISTORY_APPLY);
  newest.add_kinds(HISTORY_ROLLBACK);
  newest.set_limit(kMaxUnsettled);
  const absl::StatusOr<ListHistoryResponse> list = parts_.history->List(newest);
  if (!list.ok()) return;
  bool is_newest_apply = true;
  for (const HistoryEntry& entry : list->entries()) {
    // While an apply waits to be confirmed, no other begins. Others may begin
    // while hosts are notified of a confirmation.
    const absl::Time pending_until = absl::FromUnixMillis(
        entry.started_at_ms() + static_cast<int64_t>(entry.elapsed_ms()) +
        absl::ToInt64Milliseconds(kLongestConfirmWithin + kRevertGrace));
    const bool may_wait =
        entry.kind() == HISTORY_APPLY &&
        (is_newest_apply || parts_.scheduler->Now() < pending_until);
    if (entry.kind() == HISTORY_APPLY) is_newest_apply = false;
    if (entry.outcome() == "succeeded" && !may_wait) continue;
    const absl::StatusOr<HistoryRecord> record =
        parts_.history->Get(entry.id());
    if (!record.ok()) continue;
    {
      absl::MutexLock lock(&mutex_);
      RememberLostLocked(record->apply());
    }
    if (may_wait) RecoverPending(record->apply());
  }
}

void ClusterChanges::Interrupt(HistoryRecord record) {
  if (!record.has_apply()) return;
  const std::string network_namespace = record.entry().network_namespace();
  ApplyReport report = std::move(*record.mutable_apply());
  report.set_outcome(ApplyReport::INTERRUPTED);
  AddNote(Worded("hub-controller-ended"), &report);
  ExplainNotStarted(&report);
  if (!report.rollback()) CloseConfirmation(parts_.scheduler->Now(), &report);
  AuditEnd(Audited(MakeAuditEntry(report.rollback() ? "RollBack" : "ApplyPlan",
                                  "", report.actor()),
                   report),
           "interrupted: the controller ended while it ran");
  const std::string what = ChangeText(report);
  {
    absl::MutexLock lock(&mutex_);
    ++ended_[RunOutcomeName(report)];
  }
  const absl::Status kept = parts_.history->Update(
      RecordOfApply(std::move(report), network_namespace));
  parts_.log->Warning(what, ": interrupted, the controller ended while it ran",
                      kept.ok() ? "" : "; not kept: ", kept.message());
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
  const ApplyReport report = run->report();
  if (absl::IsFailedPrecondition(cancelled.status())) {
    return AlreadyOver(report);
  }
  if (!cancelled.ok()) return cancelled;
  parts_.log->Notice(
      ChangeText(report), ": cancelled by ", ActorName(actor), " (", from,
      ") in wave ", cancelled->cancelled().wave(), " of ", cancelled->waves(),
      cancelled->cancelled().actor() == actor
          ? ""
          : absl::StrCat(", after ",
                         ActorName(cancelled->cancelled().actor())));
  return cancelled;
}

absl::StatusOr<AbortApplyResponse> ClusterChanges::Abort(
    const std::string& id, const std::string& actor, const std::string& from) {
  ASSIGN_OR_RETURN(const std::shared_ptr<ApplyRun> run, FindCurrent(id));
  absl::StatusOr<AbortApplyResponse> aborted = run->Abort(actor);
  const ApplyReport report = run->report();
  if (absl::IsFailedPrecondition(aborted.status())) return AlreadyOver(report);
  if (!aborted.ok()) return aborted;
  parts_.log->Notice(ChangeText(report), ": aborted by ", actor, " (", from,
                     "), ", aborted->given_up_size(),
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
  const std::vector<std::shared_ptr<PendingChange>> waiting = AllPending();
  ASSIGN_OR_RETURN(HistoryRecord record, parts_.history->Get(id));
  for (const auto& pending : waiting) {
    if (record.entry().id() != pending->head().run_id()) continue;
    *record.mutable_apply()->mutable_confirmation() = pending->confirmation();
    ForgetPendingHosts(record.mutable_apply());
  }
  if (run == nullptr || record.entry().id() != run->run_id()) return record;
  return RecordOfApply(run->report(), record.entry().network_namespace());
}

void ClusterChanges::OnPastApplies(const std::string& host,
                                   const PastApplies& reported) {
  PastApplies past = reported;
  for (ApplyResult& result : *past.mutable_results()) {
    // The journal lacks this: it was written before the deadline was known.
    if (result.outcome() == ApplyResult::APPLIED &&
        past.waits_for_confirmation() == result.apply_id()) {
      result.set_reverts_in_ms(std::max<uint32_t>(1, past.reverts_in_ms()));
    }
  }
  std::shared_ptr<ApplyRun> run;
  std::vector<std::shared_ptr<PendingChange>> waiting;
  bool news = false;
  {
    absl::MutexLock lock(&mutex_);
    if (current_.has_value()) run = current_->run;
    waiting = pending_;
    for (const ApplyResult& result : past.results()) {
      for (auto& [run_id, unsettled] : unsettled_) {
        if (unsettled.apply_id != result.apply_id() ||
            !SettlesHost(unsettled.rollback, result)) {
          continue;
        }
        const bool reverted =
            result.not_confirmed() && unsettled.may_revert.erase(host) > 0;
        if (unsettled.hosts.erase(host) == 0 && !reverted) continue;
        if (result.reverts_in_ms() > 0) unsettled.may_revert.insert(host);
        corrections_[run_id].push_back({result, ""});
        news = true;
      }
    }
    // A host settles a run once; later reports are about later changes.
    for (auto each = unsettled_.begin(); each != unsettled_.end();) {
      each =
          each->second.IsSettled() ? unsettled_.erase(each) : std::next(each);
    }
  }
  if (news) {
    gate_.RunSoon(
        parts_.pool, parts_.scheduler, [this] { CorrectAll(); },
        WorkerPool::Place::kFirst);
  }
  if (run != nullptr) run->OnPastApplies(host, past);
  for (const auto& pending : waiting) pending->OnPastApplies(host, past);
}

// Rewrites each kept report once, for all hosts that have reported.
void ClusterChanges::CorrectAll() {
  const absl::MutexLock one_at_a_time(&correcting_);
  while (true) {
    std::map<std::string, std::vector<Correction>> due;
    {
      absl::MutexLock lock(&mutex_);
      due.swap(corrections_);
    }
    if (due.empty()) return;
    for (const auto& [run_id, corrections] : due) Correct(run_id, corrections);
  }
}

void ClusterChanges::Correct(const std::string& run_id,
                             const std::vector<Correction>& corrections) {
  absl::StatusOr<HistoryRecord> record = parts_.history->Get(run_id);
  if (!record.ok() || !record->has_apply()) return;
  ApplyReport report = std::move(*record->mutable_apply());
  std::map<std::string, ApplyResult*> by_host;
  for (ApplyResult& host : *report.mutable_hosts()) {
    by_host[host.host()] = &host;
  }
  std::set<std::string> rollbacks;
  std::vector<std::string> came_back;
  for (const Correction& correction : corrections) {
    const auto found = by_host.find(correction.result.host());
    if (found == by_host.end()) continue;
    ApplyResult* const host = found->second;
    // Keep the steps that the apply reported, but not the host's outcome.
    if (!correction.rolled_back_by.empty()) {
      host->set_outcome(correction.result.outcome());
      *host->mutable_residues() = correction.result.residues();
      rollbacks.insert(correction.rolled_back_by);
    } else if (host->outcome() == ApplyResult::APPLIED &&
               correction.result.not_confirmed()) {
      host->set_outcome(correction.result.outcome());
      *host->mutable_error_words() = ErrorWords(correction.result);
      *host->mutable_residues() = correction.result.residues();
      host->set_not_confirmed(true);
    } else if (host->outcome() == ApplyResult::LOST) {
      *host = correction.result;
      host->clear_facts_after();
      host->clear_of_rollback();
      came_back.push_back(host->host());
    }
  }
  if (!came_back.empty()) {
    AddNote(Worded("hub-came-back", NameList(came_back)), &report);
    const bool all_well =
        absl::c_all_of(report.hosts(), [&report](const ApplyResult& host) {
          return IsGoodOutcome(report.rollback(), host.outcome());
        });
    // The run had failed only because a result was unknown.
    if (all_well) report.set_outcome(ApplyReport::SUCCEEDED);
  }
  for (const std::string& rollback : rollbacks) {
    AddNote(Worded("hub-rolled-back-by", rollback), &report);
  }
  const bool any_left =
      absl::c_any_of(report.hosts(), [](const ApplyResult& host) {
        return host.reverts_in_ms() > 0 &&
               host.outcome() == ApplyResult::APPLIED;
      });
  if (!rollbacks.empty() && report.has_confirmation() && !any_left &&
      report.confirmation().state() == Confirmation::REVERTING) {
    report.mutable_confirmation()->set_state(Confirmation::NOT_NEEDED);
  }
  if (!rollbacks.empty() && FirstWith(report.hosts(), &ApplyResult::outcome,
                                      ApplyResult::APPLIED) == nullptr) {
    DropKeptNote(&report);
  }
  ForgetPendingHosts(&report);
  const absl::Status kept = parts_.history->Update(
      RecordOfApply(std::move(report), record->entry().network_namespace()));
  if (!kept.ok()) {
    parts_.log->Error("history: what hosts report of ", run_id,
                      " is not kept: ", kept.message());
  }
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
  std::vector<std::shared_ptr<PendingChange>> waiting;
  {
    absl::MutexLock lock(&mutex_);
    waiting.swap(pending_);
  }
  for (const auto& pending : waiting) pending->Stop();
  gate_.Close();
}

}  // namespace clusterd
