// The part of ClusterChanges that knows which apply waits to be confirmed.
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/values/status_macros.h"
#include "config/words/subject_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/change/cluster_changes.h"
#include "daemon/controller/history/history_entry.h"

namespace clusterd {
namespace {

ConfirmResponse ResponseOf(const std::string& run_id, Confirmation now) {
  ConfirmResponse response;
  response.set_schema_version(1);
  response.set_run_id(run_id);
  *response.mutable_confirmation() = std::move(now);
  return response;
}

PendingChange::Answered AnswerTo(const std::string& run_id,
                                 const ClusterChanges::Confirmed& answered) {
  return [run_id, answered](absl::StatusOr<Confirmation> now) {
    if (!now.ok()) return answered(now.status());
    answered(ResponseOf(run_id, *std::move(now)));
  };
}

}  // namespace

void ClusterChanges::BeginPending(const ApplyReport& report,
                                  std::shared_ptr<const ClusterPlan> plan) {
  PendingChange::Callbacks callbacks;
  callbacks.save = [this, id = report.run_id()](const Confirmation& now) {
    SaveConfirmation(id, now);
  };
  std::set<std::string> hosts;
  for (const ApplyResult& host : report.hosts()) hosts.insert(host.host());
  callbacks.on_end = [this, id = report.run_id(),
                      hosts](const Confirmation& now) {
    TakePending();
    if (now.state() != Confirmation::CONFIRMED) return;
    std::set<std::string> told = hosts;
    for (const std::string& untold : now.untold()) told.erase(untold);
    absl::MutexLock lock(&mutex_);
    ForgetGoBackLocked(id, told);
  };
  const auto pending = std::make_shared<PendingChange>(
      report, std::move(plan), parts_, std::move(callbacks));
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) return;  // The next controller goes on.
    pending_ = pending;
  }
  pending->Start();
}

void ClusterChanges::RecoverPending(const ApplyReport& report) {
  const Confirmation& confirm = report.confirmation();
  const bool waits =
      confirm.state() == Confirmation::PENDING ||
      (confirm.state() == Confirmation::CONFIRMED && !confirm.untold().empty());
  if (!waits) return;
  const absl::StatusOr<HistoryRecord> plan =
      parts_.history->Get(report.plan_id());
  const bool known = plan.ok() && plan->plan().digest() == report.plan_digest();
  BeginPending(report, known ? std::make_shared<const ClusterPlan>(plan->plan())
                             : nullptr);
}

std::shared_ptr<PendingChange> ClusterChanges::TakePending() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(pending_, nullptr);
}

void ClusterChanges::GiveUpPending() {
  const auto pending = TakePending();
  if (pending == nullptr) return;
  SaveConfirmation(pending->head().run_id(), pending->GiveUp());
}

absl::Status ClusterChanges::CheckPending(
    const std::string& rolled_back_apply) const {
  std::shared_ptr<PendingChange> pending;
  {
    absl::MutexLock lock(&mutex_);
    pending = pending_;
  }
  if (pending == nullptr || pending->apply_id() == rolled_back_apply) {
    return absl::OkStatus();
  }
  const Confirmation now = pending->confirmation();
  return absl::UnavailableError(absl::StrCat(
      "apply ", pending->apply_id(), " of ", ActorName(pending->head().actor()),
      now.state() == Confirmation::PENDING ? " waits to be confirmed until "
      : now.state() == Confirmation::CONFIRMED
          ? " is not told to all hosts, until "
          : " goes back since ",
      absl::FormatTime(absl::RFC3339_sec,
                       absl::FromUnixMillis(now.deadline_ms()),
                       absl::UTCTimeZone()),
      ", and only one may wait at a time"));
}

absl::StatusOr<std::shared_ptr<PendingChange>> ClusterChanges::FindPending(
    const std::string& id) {
  std::shared_ptr<PendingChange> pending;
  {
    absl::MutexLock lock(&mutex_);
    pending = pending_;
  }
  // A history that cannot be read keeps nobody from saying that it stays.
  if (pending != nullptr && pending->apply_id() == id) return pending;
  ASSIGN_OR_RETURN(const HistoryRecord record, parts_.history->FindApply(id));
  const ApplyReport& report = record.apply();
  if (pending != nullptr && pending->apply_id() == report.apply_id()) {
    return pending;
  }
  const Confirmation& confirm = report.confirmation();
  return absl::FailedPreconditionError(absl::StrCat(
      "apply ", report.run_id(), " of ", ActorName(report.actor()),
      ": does not wait to be confirmed: ",
      report.outcome() == ApplyReport::RUNNING ? "it runs still"
      : !report.has_confirmation()             ? "it stays by itself"
      : confirm.state() == Confirmation::CONFIRMED
          ? absl::StrCat("confirmed by ", ActorName(confirm.confirmed_by()))
      : confirm.state() == Confirmation::NOT_NEEDED
          ? "no host has anything of it to keep"
          : "its deadline has passed, or it was rolled back"));
}

void ClusterChanges::SaveConfirmation(const std::string& run_id,
                                      const Confirmation& confirmation) {
  // What hosts tell is written there, too.
  const absl::MutexLock one_at_a_time(&correcting_);
  absl::StatusOr<HistoryRecord> record = parts_.history->Get(run_id);
  absl::Status kept = record.status();
  if (kept.ok()) {
    ApplyReport report = std::move(*record->mutable_apply());
    *report.mutable_confirmation() = confirmation;
    kept = parts_.history->Update(
        RecordOfApply(std::move(report), record->entry().network_namespace()));
  }
  if (kept.ok()) return;
  parts_.log->Error(
      absl::StrCat("history: how apply ", run_id,
                   " is confirmed is not kept: ", kept.message()));
}

void ClusterChanges::Confirm(const std::string& id, const AuditEntry& caller,
                             const Confirmed& answered) {
  const auto pending = FindPending(id);
  if (!pending.ok()) return answered(pending.status());
  parts_.log->Notice(absl::StrCat("apply ", (*pending)->apply_id(),
                                  ": confirmed by ", ActorName(caller.who())));
  (*pending)->Confirm(caller, AnswerTo((*pending)->apply_id(), answered));
}

void ClusterChanges::Extend(const std::string& id, const AuditEntry& caller,
                            absl::Duration by, const Confirmed& answered) {
  const auto pending = FindPending(id);
  if (!pending.ok()) return answered(pending.status());
  parts_.log->Notice(absl::StrCat(
      "apply ", (*pending)->apply_id(), ": to be confirmed ",
      absl::FormatDuration(by), " later, by ", ActorName(caller.who())));
  (*pending)->Extend(caller, by, AnswerTo((*pending)->apply_id(), answered));
}

std::vector<ConfirmResponse> ClusterChanges::Pending() {
  std::shared_ptr<PendingChange> pending;
  {
    absl::MutexLock lock(&mutex_);
    pending = pending_;
  }
  if (pending == nullptr) return {};
  return {ResponseOf(pending->apply_id(), pending->confirmation())};
}

}  // namespace clusterd
