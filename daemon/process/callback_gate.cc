#include "daemon/process/callback_gate.h"

#include "absl/time/time.h"

namespace clusterd {

CallbackGate::Pass::Pass(const CallbackGate& gate) : state_(gate.state_) {
  absl::MutexLock lock(&state_->mutex);
  open_ = !state_->closed;
  if (open_) ++state_->inside;
}

CallbackGate::Pass::~Pass() {
  absl::MutexLock lock(&state_->mutex);
  if (open_) --state_->inside;
}

void CallbackGate::RunSoon(WorkerPool* pool, Scheduler* scheduler,
                           std::function<void()> work,
                           WorkerPool::Place place) const {
  const Pass pass(*this);
  if (!pass) return;
  if (pool->TryRun(Wrap(work), place)) return;
  scheduler->RunAfter(absl::Milliseconds(100),
                      [gate = *this, pool, scheduler, work = std::move(work),
                       place] { gate.RunSoon(pool, scheduler, work, place); });
}

void CallbackGate::Close() const {
  absl::MutexLock lock(&state_->mutex);
  state_->closed = true;
  const auto empty = [this]() ABSL_SHARED_LOCKS_REQUIRED(state_->mutex) {
    return state_->inside == 0;
  };
  state_->mutex.Await(absl::Condition(&empty));
}

}  // namespace clusterd
