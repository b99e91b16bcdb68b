// The answer to one call that streams events: progress, at most every 50 ms and
// never faster than the client reads it; single events in between; then one
// last event or a status. Whoever works never waits for the client: one that
// reads too slowly misses single events, one that stops reading is cut off
// (write_deadline.h), and large last events to one user go by SendRoom.
#ifndef DAEMON_CONTROLLER_EVENT_STREAM_H_
#define DAEMON_CONTROLLER_EVENT_STREAM_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/identity/grpc_status.h"
#include "daemon/controller/hosts/write_deadline.h"
#include "daemon/controller/send_room.h"
#include "daemon/process/scheduler.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

namespace clusterd {

// gRPC calls the On... members and owns the object until OnDone. Safe for
// concurrent use; calls nothing under its lock.
template <typename Event>
class EventStream final
    : public grpc::ServerWriteReactor<Event>,
      public std::enable_shared_from_this<EventStream<Event>> {
 public:
  static constexpr absl::Duration kProgressInterval = absl::Milliseconds(50);

  // Both must outlive the call.
  static std::shared_ptr<EventStream> Create(
      grpc::CallbackServerContext* context, Scheduler* scheduler) {
    std::shared_ptr<EventStream> stream(new EventStream(context, scheduler));
    absl::MutexLock lock(&stream->mutex_);
    stream->self_ = stream;
    return stream;
  }

  // Before the handler returns.
  void Begin(EventStreamOptions options) { options_ = std::move(options); }

  // What fills in how far the work has come. Never called after on_end.
  void Show(std::function<void(Event* event)> progress)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    show_ = std::move(progress);
  }

  // There is progress to tell, as Show has said how; the first time at once.
  void NoteProgress() ABSL_LOCKS_EXCLUDED(mutex_) {
    bool first;
    {
      absl::MutexLock lock(&mutex_);
      if (timer_set_ || IsEndingLocked()) return;
      first = !told_;
      told_ = true;
      timer_set_ = !first;
      progress_due_ |= first;
    }
    if (first) return Advance();
    scheduler_->RunAfter(kProgressInterval, [weak = this->weak_from_this()] {
      if (const auto stream = weak.lock()) stream->OnProgressDue();
    });
  }

  // Queues a single event, or drops it.
  void Add(Event event) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (IsEndingLocked() || !queue_.Push(std::move(event), options_)) return;
    }
    Advance();
  }

  size_t queued() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return queue_.size();
  }

  // The last event, after what is queued and the last progress.
  void End(Event last) { End(std::make_shared<const Event>(std::move(last))); }
  void End(std::shared_ptr<const Event> last) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (IsEndingLocked()) return;
      progress_due_ = told_;
      last_ = std::move(last);
    }
    Advance();
  }

  // Ends the call with a status, whatever is queued.
  void End(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (end_.has_value()) return;
      end_ = why;
    }
    Advance();
  }

  // Cuts off a client that does not take what is being written.
  void BreakOff() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (finishing_ || !writing_) return;
      // The context lives until the call has finished: that has to wait.
      cancelling_ = true;
    }
    context_->TryCancel();
    {
      absl::MutexLock lock(&mutex_);
      cancelling_ = false;
    }
    Advance();
  }

  void OnWriteDone(bool ok) override {
    mutex_.Lock();
    writing_ = false;
    deadline_.End();
    mutex_.Unlock();
    if (!ok) Leave();
    options_.on_written();
    Advance();
  }

  void OnCancel() override { Leave(); }

  void OnDone() override {
    std::shared_ptr<EventStream> self;
    mutex_.Lock();
    self.swap(self_);
    deadline_.End();
    mutex_.Unlock();
    if (options_.room != nullptr) options_.room->GiveBack();
    options_.on_end();
  }

 private:
  EventStream(grpc::CallbackServerContext* context, Scheduler* scheduler)
      : context_(context),
        scheduler_(scheduler),
        deadline_(context, scheduler) {}

  bool IsEndingLocked() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return end_.has_value() || last_ != nullptr;
  }

  void OnProgressDue() ABSL_LOCKS_EXCLUDED(mutex_) {
    mutex_.Lock();
    timer_set_ = false;
    progress_due_ = true;
    mutex_.Unlock();
    Advance();
  }

  void Leave() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (end_.has_value()) return;
      end_ = absl::CancelledError("the client went away");
    }
    options_.on_leave();
    Advance();
  }

  // False: Advance is called when the last event may go.
  bool HasRoomLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto go = [weak = this->weak_from_this()] {
      if (const auto stream = weak.lock()) stream->Advance();
    };
    return !options_.room || options_.room->Take(last_->ByteSizeLong(), go);
  }

  void Advance() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::function<void(Event*)> progress;
    std::optional<absl::Status> finish;
    const Event* next = &write_;
    {
      absl::MutexLock lock(&mutex_);
      if (writing_ || finishing_ || cancelling_) return;
      if (end_.has_value()) {
        finishing_ = true;
        finish = end_;
        deadline_.Begin(0);
      } else if (!TakeNextLocked(&progress, &next)) {
        return;
      }
    }
    if (finish.has_value()) return this->Finish(ToGrpcStatus(*finish));
    if (progress) progress(&write_);
    this->StartWrite(next);
  }

  // Puts what is next into write_, or says how to: progress; or where it is.
  bool TakeNextLocked(std::function<void(Event*)>* progress, const Event** next)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (queue_.Pop(&write_)) {
      // It is in write_.
    } else if (progress_due_) {
      progress_due_ = false;
      *progress = show_;
    } else if (last_ != nullptr && HasRoomLocked()) {
      *next = last_.get();
      end_ = absl::OkStatus();
    } else {
      return false;
    }
    writing_ = true;
    deadline_.Begin(*progress ? 0 : (*next)->ByteSizeLong());
    return true;
  }

  grpc::CallbackServerContext* const context_;
  Scheduler* const scheduler_;
  EventStreamOptions options_;  // Constant once the handler returns.
  Event write_;                 // Only touched by who set writing_.

  mutable absl::Mutex mutex_;
  std::shared_ptr<EventStream> self_ ABSL_GUARDED_BY(mutex_);  // Until OnDone.
  std::function<void(Event*)> show_ ABSL_GUARDED_BY(mutex_);
  EventQueue<Event> queue_ ABSL_GUARDED_BY(mutex_);
  bool told_ ABSL_GUARDED_BY(mutex_) = false;
  bool timer_set_ ABSL_GUARDED_BY(mutex_) = false;
  bool progress_due_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelling_ ABSL_GUARDED_BY(mutex_) = false;
  WriteDeadline deadline_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const Event> last_ ABSL_GUARDED_BY(mutex_);
  // Set: the call ends with this.
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_EVENT_STREAM_H_
