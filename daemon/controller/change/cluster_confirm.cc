// The part of ClusterChanges that knows which apply waits to be confirmed.
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"
#include "daemon/controller/change/cluster_changes.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/hosts/fact_run.h"

namespace clusterd {
namespace {

using Waiting = std::vector<std::shared_ptr<PendingChange>>;

Waiting::iterator FindIn(Waiting& waiting, const std::string& apply_id) {
  return absl::c_find_if(waiting, [&apply_id](const auto& each) {
    return each->apply_id() == apply_id;
  });
}

// The hosts of the order that are not yet notified of that apply.
std::vector<std::string> PendingHostsIn(const Confirmation& confirmation,
                                        const ApplyOrder& order) {
  std::vector<std::string> both;
  for (const ApplyOrder::Host& host : order.hosts) {
    if (absl::c_linear_search(confirmation.pending(), host.name)) {
      both.push_back(host.name);
    }
  }
  return both;
}

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
    TakePending(id);
    if (now.state() != Confirmation::CONFIRMED) return;
    std::set<std::string> notified = hosts;
    for (const std::string& host : now.pending()) notified.erase(host);
    absl::MutexLock lock(&mutex_);
    ForgetRevertsLocked(id, notified);
  };
  const auto pending = std::make_shared<PendingChange>(
      report, std::move(plan), parts_, std::move(callbacks));
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) return;  // The next controller continues.
    pending_.push_back(pending);
  }
  pending->Start();
}

void ClusterChanges::RecoverPending(const ApplyReport& report) {
  const Confirmation& confirm = report.confirmation();
  const bool waits = confirm.state() == Confirmation::PENDING ||
                     (confirm.state() == Confirmation::CONFIRMED &&
                      !confirm.pending().empty());
  if (!waits) return;
  const absl::StatusOr<HistoryRecord> plan =
      parts_.history->Get(report.plan_id());
  const bool known = plan.ok() && plan->plan().digest() == report.plan_digest();
  BeginPending(report, known ? std::make_shared<const ClusterPlan>(plan->plan())
                             : nullptr);
}

std::shared_ptr<PendingChange> ClusterChanges::TakePending(
    const std::string& apply_id) {
  absl::MutexLock lock(&mutex_);
  const auto found = FindIn(pending_, apply_id);
  if (found == pending_.end()) return nullptr;
  std::shared_ptr<PendingChange> taken = *found;
  pending_.erase(found);
  return taken;
}

absl::Status ClusterChanges::CheckPending(const ApplyOrder& order) const {
  const Waiting waiting = AllPending();
  const bool full =
      order.report.has_confirmation() && waiting.size() >= kMaxPendingChanges;
  for (const auto& pending : waiting) {
    if (pending->apply_id() == order.report.apply_id()) continue;
    const Confirmation now = pending->confirmation();
    const FindingValue change = ChangeWords(pending->head());
    const std::string time = UtcText(now.deadline_ms());
    if (now.state() == Confirmation::CONFIRMED) {
      // Unnotified hosts would refuse the change; the others do not revert.
      const std::vector<std::string> both = PendingHostsIn(now, order);
      if (both.empty() && !full) continue;
      return both.empty() ? UnavailableWords("msg-change-too-many-not-notified",
                                             change, time, kMaxPendingChanges)
                          : UnavailableWords("msg-change-not-notified", change,
                                             NameList(both), time);
    }
    if (now.state() != Confirmation::PENDING) {
      const auto open = absl::c_find_if(
          order.hosts, [&pending](const ApplyOrder::Host& host) {
            return pending->IsOpenOn(host.name);
          });
      if (open == order.hosts.end()) continue;
      return UnavailableWords("msg-change-rolls-back", change, open->name,
                              time);
    }
    return UnavailableWords("msg-change-waits-for-confirmation", change, time);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<PendingChange>> ClusterChanges::FindPending(
    const std::string& id) {
  Waiting waiting = AllPending();
  auto found = FindIn(waiting, id);
  // An unreadable history must not prevent a confirmation.
  if (found != waiting.end()) return *found;
  ASSIGN_OR_RETURN(const HistoryRecord record, parts_.history->FindApply(id));
  const ApplyReport& report = record.apply();
  found = FindIn(waiting, report.apply_id());
  if (found != waiting.end()) return *found;
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

void ClusterChanges::SaveConfirmation(const std::string& run_id,
                                      const Confirmation& confirmation) {
  // Corrections from hosts hold it, too.
  const absl::MutexLock one_at_a_time(&correcting_);
  absl::StatusOr<HistoryRecord> record = parts_.history->Get(run_id);
  absl::Status kept = record.status();
  if (kept.ok()) {
    ApplyReport report = std::move(*record->mutable_apply());
    *report.mutable_confirmation() = confirmation;
    ForgetPendingHosts(&report);
    kept = parts_.history->Update(
        RecordOfApply(std::move(report), record->entry().network_namespace()));
  }
  if (kept.ok()) return;
  parts_.log->Error("history: how apply ", run_id,
                    " is confirmed is not kept: ", kept.message());
}

void ClusterChanges::Confirm(const std::string& id, const AuditEntry& caller,
                             const Confirmed& answered) {
  const auto pending = FindPending(id);
  if (!pending.ok()) return answered(pending.status());
  parts_.log->Notice("apply ", (*pending)->apply_id(), ": confirmed by ",
                     ActorName(caller.who()));
  (*pending)->Confirm(caller, AnswerTo((*pending)->apply_id(), answered));
}

void ClusterChanges::Extend(const std::string& id, const AuditEntry& caller,
                            absl::Duration by, const Confirmed& answered) {
  const auto pending = FindPending(id);
  if (!pending.ok()) return answered(pending.status());
  parts_.log->Notice("apply ", (*pending)->apply_id(), ": to be confirmed ",
                     absl::FormatDuration(by), " later, by ",
                     ActorName(caller.who()));
  (*pending)->Extend(caller, by, AnswerTo((*pending)->apply_id(), answered));
}

std::vector<ConfirmResponse> ClusterChanges::Pending() {
  std::vector<ConfirmResponse> responses;
  for (const auto& pending : AllPending()) {
    responses.push_back(
        ResponseOf(pending->apply_id(), pending->confirmation()));
  }
  return responses;
}

}  // namespace clusterd
