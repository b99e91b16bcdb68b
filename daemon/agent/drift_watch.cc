#include "daemon/agent/drift_watch.h"

#include <utility>

namespace clusterd {
namespace {

// When the pool is full: soon, but not at once.
constexpr absl::Duration kRetry = absl::Seconds(10);
constexpr double kJitter = 0.1;

}  // namespace

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

void DriftWatch::OnChanged() {
  const CallbackGate::Pass pass(gate_);
  if (!pass) return;
  absl::MutexLock lock(&mutex_);
  BeginLocked();
}

void DriftWatch::Stop() {
  gate_.Close();
  absl::MutexLock lock(&mutex_);
  SetTimerLocked(absl::InfiniteDuration());
}

void DriftWatch::SetTimerLocked(absl::Duration delay) {
  parts_.scheduler->Cancel(timer_);
  timer_ = 0;
  if (delay == absl::InfiniteDuration()) return;
  timer_ =
      parts_.scheduler->RunAfter(delay, gate_.Wrap([this] { OnChanged(); }));
}

absl::Duration DriftWatch::NextDelay() const {
  if (interval_ == absl::ZeroDuration()) return absl::InfiniteDuration();
  return interval_ * (1 - kJitter + 2 * kJitter * parts_.random());
}

void DriftWatch::BeginLocked() {
  if (!attached_) return;
  if (looking_) {
    again_ = true;
    return;
  }
  // The end of the change begins the next look.
  if (parts_.record->change_count() % 2 != 0) {
    SetTimerLocked(NextDelay());
    return;
  }
  looking_ = parts_.pool->TryRun(gate_.Wrap([this] { Look(); }));
  SetTimerLocked(looking_ ? absl::InfiniteDuration() : kRetry);
}

void DriftWatch::Look() {
  const uint64_t count = parts_.record->change_count();
  // A host that nothing was applied to is not looked at: a device that hangs
  // would only be kept from those who ask about it.
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
  looking_ = false;
  if (!attached_) return;
  SetTimerLocked(NextDelay());
  if (std::exchange(again_, false)) BeginLocked();
}

}  // namespace clusterd
