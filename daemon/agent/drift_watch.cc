#include "daemon/agent/drift_watch.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace clusterd {
namespace {

// When the pool is full: soon, but not at once.
constexpr absl::Duration kRetry = absl::Seconds(10);
constexpr double kJitter = 0.1;

}  // namespace

class DriftWatch::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(absl::Duration interval, Parts parts)
      : interval_(interval), parts_(std::move(parts)) {}

  void OnAttached(bool attached) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    attached_ = attached;
    if (attached) {
      BeginLocked();
    } else {
      SetTimerLocked(absl::InfiniteDuration());
    }
  }

  // It is time to look, or there may be something new to see.
  void OnChanged() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    BeginLocked();
  }

  void Stop() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    SetTimerLocked(absl::InfiniteDuration());
    const auto idle = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return !at_work_;
    };
    mutex_.Await(absl::Condition(&idle));
  }

 private:
  // Infinite: none.
  void SetTimerLocked(absl::Duration delay)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    parts_.scheduler->Cancel(timer_);
    timer_ = 0;
    if (delay == absl::InfiniteDuration() || stopped_) return;
    timer_ = parts_.scheduler->RunAfter(delay, [weak = weak_from_this()] {
      if (const auto core = weak.lock()) core->OnChanged();
    });
  }

  absl::Duration NextDelay() const {
    if (interval_ == absl::ZeroDuration()) return absl::InfiniteDuration();
    return interval_ * (1 - kJitter + 2 * kJitter * parts_.random());
  }

  void BeginLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (stopped_ || !attached_) return;
    if (looking_) {
      again_ = true;
      return;
    }
    // The end of the change begins the next look.
    if (parts_.record->change_count() % 2 != 0) {
      SetTimerLocked(NextDelay());
      return;
    }
    looking_ =
        parts_.pool->TryRun([self = shared_from_this()] { self->Look(); });
    SetTimerLocked(looking_ ? absl::InfiniteDuration() : kRetry);
  }

  void Look() ABSL_LOCKS_EXCLUDED(mutex_);

  const absl::Duration interval_;
  const Parts parts_;

  absl::Mutex mutex_;
  bool attached_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool looking_ ABSL_GUARDED_BY(mutex_) = false;  // Or about to.
  bool at_work_ ABSL_GUARDED_BY(mutex_) = false;
  // What is seen now may be old news: look once more.
  bool again_ ABSL_GUARDED_BY(mutex_) = false;
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
};

void DriftWatch::Core::Look() {
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) return;
    at_work_ = true;
  }
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
    wanted = attached_ && !stopped_ && is_of_one_time;
  }
  if (wanted) parts_.send(std::move(report));
  absl::MutexLock lock(&mutex_);
  at_work_ = false;
  looking_ = false;
  if (!attached_) return;
  SetTimerLocked(NextDelay());
  if (std::exchange(again_, false)) BeginLocked();
}

DriftWatch::DriftWatch(absl::Duration interval, Parts parts)
    : core_(std::make_shared<Core>(interval, std::move(parts))) {}

DriftWatch::~DriftWatch() { Stop(); }

void DriftWatch::OnAttached(bool attached) { core_->OnAttached(attached); }

void DriftWatch::OnChanged() { core_->OnChanged(); }

void DriftWatch::Stop() { core_->Stop(); }

}  // namespace clusterd
