#include "daemon/agent/applies_record.h"

namespace clusterd {
namespace {

DriftFact MissingDrift(Missing::Reason reason, absl::string_view detail) {
  DriftFact fact;
  fact.mutable_missing()->set_reason(reason);
  fact.mutable_missing()->set_detail(std::string(detail));
  return fact;
}

}  // namespace

void AppliesRecord::EndChange(
    const absl::StatusOr<std::vector<JournalState>>& journals) {
  auto ended = std::make_shared<Applies>();
  const size_t count = journals.ok() ? journals->size() : 0;
  for (size_t i = 0; i < count; ++i) {
    const JournalState& state = (*journals)[i];
    // Only what holds: a journal is large, and most of it are old values.
    if (state.phase != JournalState::Phase::kApplied) continue;
    ended->push_back({state.begin, state.end});
    ended->back().begin.mutable_plan()->clear_facts();
    ended->back().end.clear_facts_after();
  }
  std::function<void()> changed;
  {
    absl::MutexLock lock(&mutex_);
    changes_ = (changes_ | 1) + 1;
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
  {
    absl::MutexLock lock(&mutex_);
    applies = applies_;
    changes = changes_;
  }
  if (changes != count_before || changes % 2 != 0) {
    return MissingDrift(Missing::NOT_QUERIED,
                        "an apply or rollback was running on this host");
  }
  if (!applies.ok()) {
    return MissingDrift(absl::IsPermissionDenied(applies.status())
                            ? Missing::NOT_PERMITTED
                            : Missing::UNREADABLE,
                        applies.status().message());
  }
  return FindAppliedDrift(**applies, facts);
}

HostFacts AgentObserver::Observe(const std::string& host,
                                 const ObserveRequest& request) {
  const uint64_t count = record_->change_count();
  HostFacts facts = observer_->Observe(host, request);
  if (!facts.has_missing()) *facts.mutable_allows() = read_allows_();
  if (request.has_network_namespace()) return facts;
  *facts.mutable_drift() = record_->DriftOf(facts, count);
  return facts;
}

}  // namespace clusterd
