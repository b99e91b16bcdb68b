#include "daemon/agent/drift_watch.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "config/values/change_kind.h"
#include "config/words/fact_text.h"
#include "config/words/quoted_text.h"
#include "daemon/host/files/file_reader.h"

namespace clusterd {

void AppliesRecord::EndChange(
    const absl::StatusOr<std::vector<JournalState>>& journals,
    const FindingValue& unfinished) {
  auto ended = std::make_shared<Applies>();
  const size_t count = journals.ok() ? journals->size() : 0;
  for (size_t i = 0; i < count; ++i) {
    const JournalState& state = (*journals)[i];
    // Keep only applies in effect: a journal is large, and mostly old values.
    if (!state.applied()) continue;
    ended->push_back({state.begin, state.end});
    ended->back().begin.mutable_plan()->clear_facts();
    ended->back().end.clear_facts_after();
  }
  std::function<void()> changed;
  {
    absl::MutexLock lock(&mutex_);
    changes_ = (changes_ | 1) + 1;
    unfinished_ = unfinished;
    if (journals.ok()) {
      applies_ = std::shared_ptr<const Applies>(std::move(ended));
    } else {
      applies_ = journals.status();
    }
    changed = changed_;
  }
  if (changed) changed();
}

DriftFact AppliesRecord::DriftOf(const HostFacts& facts,
                                 uint64_t count_before) const {
  absl::StatusOr<std::shared_ptr<const Applies>> applies;
  uint64_t changes = 0;
  FindingValue unfinished;
  {
    absl::MutexLock lock(&mutex_);
    applies = applies_;
    unfinished = unfinished_;
    changes = changes_;
  }
  if (changes != count_before || changes % 2 != 0) {
    return MissingFact<DriftFact>(
        MakeMissing(Missing::NOT_QUERIED, Worded("fact-changing")));
  }
  if (!applies.ok()) {
    return MissingFact<DriftFact>(MakeMissing(
        absl::IsPermissionDenied(applies.status()) ? Missing::NOT_PERMITTED
                                                   : Missing::UNREADABLE,
        MessageWords(applies.status())));
  }
  DriftFact drift = FindAppliedDrift(**applies, facts);
  if (IsSaid(unfinished)) {
    drift.mutable_value()->set_unfinished(OutcomeText(EnglishText(unfinished)));
    *drift.mutable_value()->mutable_unfinished_words() = unfinished;
  }
  return drift;
}

HostFacts AgentObserver::ObserveFor(const std::string& host,
                                    const ObserveRequest& request,
                                    const Asker& asker) {
  const uint64_t count = record_->change_count();
  const HostAllows allows = read_allows_();
  const bool may_log_in = AllowedKinds(allows).count(CHANGE_SSH_LOGIN) > 0;
  ObserveRequest allowed = request;
  const bool logs_in = request.has_ssh() && audit_ != nullptr;
  const SshQuestion& ssh = request.ssh();
  const AuditEntry entry =
      MakeAuditEntry("ssh-login",
                     absl::StrCat("as user ", QuotedText(ssh.user()),
                                  " to servers of a job of ", ssh.peers_size()),
                     ssh.actor(), "controller");
  absl::Status written;
  if (logs_in && may_log_in) written = audit_->Begin(entry);
  if (logs_in && !may_log_in) {
    audit_->Refuse(entry, absl::PermissionDeniedError("ssh-login"));
  }
  if (!may_log_in || !written.ok()) allowed.clear_ssh();
  HostFacts facts = observer_->ObserveFor(host, allowed, asker);
  if (logs_in && allowed.has_ssh()) {
    audit_->End(entry,
                absl::StrCat("ended: ", facts.ssh().value().logins_size(),
                             " logins tried"));
  }
  if (!facts.has_missing()) *facts.mutable_allows() = allows;
  if (!facts.has_missing() && read_roots_)
    *facts.mutable_roots() = read_roots_();
  if (request.has_ssh() && !may_log_in && !facts.has_missing()) {
    std::set<ChangeKind> wanted = AllowedKinds(allows);
    wanted.insert(CHANGE_SSH_LOGIN);
    SetMissing(Missing::NOT_PERMITTED,
               Worded("fact-no-ssh-login", HowToAllow(allows, wanted)),
               facts.mutable_ssh());
  }
  if (!written.ok() && !facts.has_missing()) {
    SetMissing(Missing::NOT_QUERIED, MessageWords(written),
               facts.mutable_ssh());
  }
  if (request.has_network_namespace()) return facts;
  *facts.mutable_drift() = record_->DriftOf(facts, count);
  return facts;
}

void DriftWatch::OnAttached(bool attached) {
  const CallbackGate::Pass pass(gate_);
  if (!pass) return;
  absl::MutexLock lock(&mutex_);
  attached_ = attached;
  if (attached) {
    BeginLocked();
  } else {
    SetTimerLocked(absl::InfiniteDuration());
  }
}

void DriftWatch::BeginLocked() {
  if (!attached_) return;
  if (in_round_) {
    again_ = true;
    return;
  }
  // The end of the change starts the next check.
  if (parts_.record->change_count() % 2 != 0) {
    return SetTimerLocked(NextDelay());
  }
  in_round_ = parts_.pool->TryRun(gate_.Wrap([this] { RunRound(); }));
  // If the pool is full, retry soon, but not immediately.
  SetTimerLocked(in_round_ ? absl::InfiniteDuration() : absl::Seconds(10));
}

void DriftWatch::RunRound() {
  const uint64_t count = parts_.record->change_count();
  // A host without applies is not read: a hanging device would only be kept
  // from those who ask about it.
  HostFacts facts;
  if (parts_.record->needs_facts()) {
    facts = parts_.observe();
  } else {
    facts.set_observed_at_ms(absl::ToUnixMillis(parts_.scheduler->Now()));
  }
  DriftReport report;
  *report.mutable_drift() = parts_.record->DriftOf(facts, count);
  report.set_observed_at_ms(facts.observed_at_ms());
  const bool is_of_one_time =
      count % 2 == 0 && parts_.record->change_count() == count;
  bool wanted = false;
  {
    absl::MutexLock lock(&mutex_);
    wanted = attached_ && is_of_one_time;
  }
  if (wanted) parts_.send(std::move(report));
  absl::MutexLock lock(&mutex_);
  in_round_ = false;
  if (!attached_) return;
  SetTimerLocked(NextDelay());
  if (std::exchange(again_, false)) BeginLocked();
}

}  // namespace clusterd
