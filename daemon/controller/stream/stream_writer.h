// The sending half of a stream that the controller serves: one write at a time,
// then the end. Senders never wait for the peer: the writer fetches the next
// message after the last write, and disconnects a peer that does not take it.
//
//   writing     a message is with gRPC, until OnWriteDone
//   cancelling  the context is in use: it is destroyed when the call is done
//   finishing   gRPC has the status; only OnDone follows
#ifndef DAEMON_CONTROLLER_STREAM_STREAM_WRITER_H_
#define DAEMON_CONTROLLER_STREAM_STREAM_WRITER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/identity/grpc_status.h"
#include "daemon/process/scheduler.h"
#include "grpc/grpc.h"
#include "grpcpp/server_context.h"

namespace clusterd {

// Ends a call whose peer does not take a written message (scheduler.h).
// Otherwise it would wait forever for a closed window. One write at a time.
// REQUIRES: calls are serial, for example under their owner's lock.
class WriteDeadline {
 public:
  // Both must outlive the call.
  WriteDeadline(grpc::ServerContextBase* context, Scheduler* scheduler)
      : context_(context), scheduler_(scheduler) {}

  // A message of this size is about to be written. The call has not ended.
  void Begin(size_t bytes) {
    // The context ends with the call, perhaps while the timer runs; the
    // reference keeps the call itself.
    grpc_call* const call = context_->c_call();
    grpc_call_ref(call);
    timer_ = scheduler_->RunAfter(
        WriteTimeFor(bytes),
        [call = std::shared_ptr<grpc_call>(call, &grpc_call_unref)] {
          grpc_call_cancel(call.get(), nullptr);
        });
  }
  // Call after each Begin, once the message is taken or the call is done.
  void End() {
    scheduler_->Cancel(timer_);
    timer_ = 0;
  }

 private:
  grpc::ServerContextBase* const context_;
  Scheduler* const scheduler_;
  Scheduler::TimerId timer_ = 0;
};

// How long a peer that may have stopped reading has to take a last message.
inline constexpr absl::Duration kFlushTimeout = absl::Seconds(5);

// `Reactor` is gRPC's class for a stream that sends a `Message`. gRPC calls the
// On... members, and owns the object from Hold to OnDone. Safe for concurrent
// use; calls nothing of gRPC's under its lock.
template <typename Self, typename Reactor, typename Message>
class StreamWriter : public Reactor, public std::enable_shared_from_this<Self> {
 public:
  // Ends the call with `why`, unless it is ending. If the peer does not take
  // the current write, the call soon ends anyway.
  void EndForGood(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (!end_.has_value()) end_ = why;
      if (writing_) {
        scheduler_->RunAfter(kFlushTimeout, [weak = this->weak_from_this()] {
          if (const auto stuck = weak.lock()) stuck->BreakOff();
        });
      }
    }
    Advance();
  }

  void OnWriteDone(bool ok) override {
    {
      absl::MutexLock lock(&mutex_);
      writing_ = false;
      deadline_.End();
      write_ = Message();  // Free the memory of a long report.
    }
    OnTaken(ok);
    Advance();
  }

  void OnDone() override {
    std::shared_ptr<Self> self;
    {
      absl::MutexLock lock(&mutex_);
      self.swap(self_);
      deadline_.End();
    }
    OnOver();
  }

 protected:
  // Both must outlive the call.
  StreamWriter(grpc::CallbackServerContext* context, Scheduler* scheduler)
      : context_(context),
        scheduler_(scheduler),
        deadline_(context, scheduler) {}

  void Hold() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    self_ = this->shared_from_this();
  }

  // The next message: write_, or one that lives until OnTaken; null: none. If
  // `fill` is set, it runs before the write, without the lock.
  virtual const Message* TakeNextLocked(std::function<void()>* fill)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // The peer has taken the message; false: it never will.
  virtual void OnTaken(bool ok) = 0;
  // The call is over; nothing is called after it.
  virtual void OnOver() {}

  // Starts a write or end that is due. Call it whenever there may be one.
  void Advance() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::function<void()> fill;
    std::optional<absl::Status> finish;
    const Message* next = nullptr;
    {
      absl::MutexLock lock(&mutex_);
      if (writing_ || finishing_ || cancelling_) return;
      finish = end_;
      if (!finish.has_value()) next = TakeNextLocked(&fill);
      finishing_ = finish.has_value();
      writing_ = next != nullptr;
      if (!finishing_ && !writing_) return;
      deadline_.Begin(!writing_ || fill ? 0 : next->ByteSizeLong());
    }
    if (finish.has_value()) return this->Finish(ToGrpcStatus(*finish));
    if (fill) fill();
    this->StartWrite(next);
  }

  grpc::CallbackServerContext* const context_;
  Scheduler* const scheduler_;
  Message write_;  // Only the writing thread uses it.

  mutable absl::Mutex mutex_;
  // Set: the call ends with this, and queued messages are dropped.
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;

 private:
  // Ends the call of a peer that does not take the current write.
  void BreakOff() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (finishing_ || !writing_) return;
      cancelling_ = true;
    }
    context_->TryCancel();
    {
      absl::MutexLock lock(&mutex_);
      cancelling_ = false;
    }
    Advance();
  }

  std::shared_ptr<Self> self_ ABSL_GUARDED_BY(mutex_);  // Until OnDone.
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelling_ ABSL_GUARDED_BY(mutex_) = false;
  WriteDeadline deadline_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_STREAM_STREAM_WRITER_H_
