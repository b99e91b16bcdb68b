// The answer to one call that streams events: progress, single events, then one
// last event or a status. Progress is sent at most every 50 ms, and no faster
// than it is read. Producers never wait for the client (stream_writer.h): a
// slow one misses single events. SendBudget bounds large last events to one
// user.
#ifndef DAEMON_CONTROLLER_STREAM_EVENT_STREAM_H_
#define DAEMON_CONTROLLER_STREAM_EVENT_STREAM_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/words/message.h"
#include "daemon/controller/stream/send_budget.h"
#include "daemon/controller/stream/stream_writer.h"
#include "daemon/process/scheduler.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

namespace clusterd {

// Safe for concurrent use; calls no callback under its lock.
template <typename Event>
class EventStream final
    : public StreamWriter<EventStream<Event>, grpc::ServerWriteReactor<Event>,
                          Event> {
  using Writer =
      StreamWriter<EventStream<Event>, grpc::ServerWriteReactor<Event>, Event>;
  using Writer::end_;
  using Writer::mutex_;
  using Writer::write_;

 public:
  static constexpr absl::Duration kProgressInterval = absl::Milliseconds(50);

  // Both must outlive the call.
  static std::shared_ptr<EventStream> Create(
      grpc::CallbackServerContext* context, Scheduler* scheduler) {
    std::shared_ptr<EventStream> stream(new EventStream(context, scheduler));
    stream->Hold();
    return stream;
  }

  // Call it before the handler returns.
  void Begin(EventStreamOptions options) { options_ = std::move(options); }

  // `progress` fills in the progress. It is never called after on_end.
  void Show(std::function<void(Event* event)> progress)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    show_ = std::move(progress);
  }

  // The progress has changed. The first call sends it at once.
  void NoteProgress() ABSL_LOCKS_EXCLUDED(mutex_) {
    bool first;
    {
      absl::MutexLock lock(&mutex_);
      if (timer_set_ || IsEndingLocked()) return;
      first = !sent_any_;
      sent_any_ = true;
      timer_set_ = !first;
      progress_due_ |= first;
    }
    if (first) return this->Advance();
    this->scheduler_->RunAfter(kProgressInterval,
                               [weak = this->weak_from_this()] {
                                 if (const auto stream = weak.lock())
                                   stream->OnProgressDue();
                               });
  }

  // Queues a single event, or drops it if the queue is full.
  void Add(Event event) ABSL_LOCKS_EXCLUDED(mutex_) {
    const size_t bytes = event.ByteSizeLong();
    {
      absl::MutexLock lock(&mutex_);
      if (IsEndingLocked() || queue_.size() >= options_.max_queued ||
          queued_bytes_ + bytes > options_.max_queued_bytes) {
        return;
      }
      queued_bytes_ += bytes;
      queue_.push_back(std::move(event));
    }
    this->Advance();
  }

  size_t queued() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return queue_.size();
  }

  // Sends the last event, after queued events and the last progress.
  void End(Event last) { End(std::make_shared<const Event>(std::move(last))); }
  void End(std::shared_ptr<const Event> last) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (IsEndingLocked()) return;
      progress_due_ = sent_any_;
      last_ = std::move(last);
    }
    this->Advance();
  }

  // Ends the call with a status, even if events are queued.
  void End(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (end_.has_value()) return;
      end_ = why;
    }
    this->Advance();
  }

  void OnCancel() override { Leave(); }

 private:
  // Whether the bytes of the last event are taken.
  enum class Budget { kNone, kWaits, kHas, kOver };

  using Writer::Writer;

  bool IsEndingLocked() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return end_.has_value() || last_ != nullptr;
  }

  void OnProgressDue() ABSL_LOCKS_EXCLUDED(mutex_) {
    mutex_.Lock();
    timer_set_ = false;
    progress_due_ = true;
    mutex_.Unlock();
    this->Advance();
  }

  void Leave() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (end_.has_value()) return;
      end_ = CancelledWords("msg-hub-client-left");
    }
    options_.on_leave();
    this->Advance();
  }

  // False: Advance is called once there is budget for the last event.
  bool HasBudgetLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const size_t bytes = last_->ByteSizeLong();
    SendBudget* const budget = options_.budget;
    if (budget == nullptr || bytes <= SendBudget::kSmall) return true;
    if (budget_ == Budget::kNone) {
      const auto taken = [weak = this->weak_from_this(), budget,
                          who = options_.who, bytes] {
        const auto stream = weak.lock();
        if (stream != nullptr && stream->TakeBudget()) return stream->Advance();
        budget->Give(who, bytes);
      };
      budget_bytes_ = bytes;
      budget_ = budget->Take(options_.who, bytes, taken) ? Budget::kHas
                                                         : Budget::kWaits;
    }
    return budget_ == Budget::kHas;
  }

  // False: the call is over, so it needs no budget.
  bool TakeBudget() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (budget_ != Budget::kWaits) return false;
    budget_ = Budget::kHas;
    return true;
  }

  const Event* TakeNextLocked(std::function<void()>* fill) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!queue_.empty()) {
      write_ = std::move(queue_.front());
      queue_.pop_front();
      queued_bytes_ -= write_.ByteSizeLong();
      return &write_;
    }
    if (progress_due_) {
      progress_due_ = false;
      *fill = [this, progress = show_] { progress(&write_); };
      return &write_;
    }
    if (last_ == nullptr || !HasBudgetLocked()) return nullptr;
    end_ = absl::OkStatus();
    return last_.get();
  }

  void OnTaken(bool ok) override {
    if (!ok) Leave();
    options_.on_written();
  }

  void OnOver() override {
    size_t bytes = 0;
    {
      absl::MutexLock lock(&mutex_);
      if (std::exchange(budget_, Budget::kOver) == Budget::kHas) {
        bytes = budget_bytes_;
      }
    }
    if (bytes > 0) options_.budget->Give(options_.who, bytes);
    options_.on_end();
  }

  EventStreamOptions options_;  // Constant once the handler returns.

  std::function<void(Event*)> show_ ABSL_GUARDED_BY(mutex_);
  std::deque<Event> queue_ ABSL_GUARDED_BY(mutex_);  // Single events.
  size_t queued_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool sent_any_ ABSL_GUARDED_BY(mutex_) = false;
  bool timer_set_ ABSL_GUARDED_BY(mutex_) = false;
  bool progress_due_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const Event> last_ ABSL_GUARDED_BY(mutex_);
  Budget budget_ ABSL_GUARDED_BY(mutex_) = Budget::kNone;
  size_t budget_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_STREAM_EVENT_STREAM_H_
