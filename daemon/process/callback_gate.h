// Ends an object that timers, streams and pool threads call back: later
// callbacks find the gate closed, and Close waits for running ones.
//   void OnTimer() {
//     const CallbackGate::Pass pass(gate_);
//     if (!pass) return;
//     ...
//   }
//   void Stop() { gate_.Close(); }
#ifndef DAEMON_PROCESS_CALLBACK_GATE_H_
#define DAEMON_PROCESS_CALLBACK_GATE_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"

namespace clusterd {

// Copies share one gate, so a callback that holds one may outlive the object.
// Safe for concurrent use.
class CallbackGate {
 private:
  struct State {
    absl::Mutex mutex;
    int inside ABSL_GUARDED_BY(mutex) = 0;
    bool closed ABSL_GUARDED_BY(mutex) = false;
  };

 public:
  // Delays Close; false if the gate is closed. Passes may be nested.
  class Pass {
   public:
    explicit Pass(const CallbackGate& gate) : state_(gate.state_) {
      absl::MutexLock lock(&state_->mutex);
      open_ = !state_->closed;
      if (open_) ++state_->inside;
    }
    ~Pass() {
      absl::MutexLock lock(&state_->mutex);
      if (open_) --state_->inside;
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    explicit operator bool() const { return open_; }

   private:
    const std::shared_ptr<State> state_;
    bool open_ = false;
  };

  // Returns the function, which does nothing once the gate is closed.
  template <typename Function>
  auto Wrap(Function function) const {
    return [gate = *this, function = std::move(function)](auto&&... arguments) {
      const Pass pass(gate);
      if (pass) function(std::forward<decltype(arguments)>(arguments)...);
    };
  }

  // Runs `work` on the pool with a pass; retries every 100 ms while the pool is
  // full. For threads of gRPC, which must not wait for the disk. Does not use
  // pool or scheduler once the gate is closed.
  void RunSoon(WorkerPool* pool, Scheduler* scheduler,
               std::function<void()> work,
               WorkerPool::Place place = WorkerPool::Place::kInTurn) const {
    const Pass pass(*this);
    if (!pass || pool->TryRun(Wrap(work), place)) return;
    scheduler->RunAfter(
        absl::Milliseconds(100),
        [gate = *this, pool, scheduler, work = std::move(work), place] {
          gate.RunSoon(pool, scheduler, work, place);
        });
  }

  // Refuses new passes and waits for held ones. Must not be called with a pass.
  void Close() const {
    absl::MutexLock lock(&state_->mutex);
    state_->closed = true;
    const auto empty = [this]() ABSL_SHARED_LOCKS_REQUIRED(state_->mutex) {
      return state_->inside == 0;
    };
    state_->mutex.Await(absl::Condition(&empty));
  }

 private:
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace clusterd

#endif  // DAEMON_PROCESS_CALLBACK_GATE_H_
