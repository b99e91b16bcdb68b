// How calls of one question and one answer end: at once, or later from the
// pool, and how many of them may be under way.
#ifndef DAEMON_CONTROLLER_UNARY_ANSWER_H_
#define DAEMON_CONTROLLER_UNARY_ANSWER_H_

#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "config/identity/grpc_status.h"
#include "daemon/process/worker_pool.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

namespace clusterd {

// How many of something may be under way at once. Safe for concurrent use.
class Slots {
 public:
  explicit Slots(int count) : free_(count) {}

  // False if none is free.
  bool TryTake() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (free_ == 0) return false;
    --free_;
    return true;
  }
  // REQUIRES: one was taken.
  void Give() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++free_;
  }

 private:
  absl::Mutex mutex_;
  int free_ ABSL_GUARDED_BY(mutex_);
};

// Holds a slot until its client has the whole answer, or has gone.
class SlotReactor final : public grpc::ServerUnaryReactor {
 public:
  explicit SlotReactor(Slots* taken) : taken_(taken) {}

  void OnDone() override {
    taken_->Give();
    delete this;
  }

 private:
  Slots* const taken_;
};

inline grpc::ServerUnaryReactor* FinishWith(
    grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// Fills in the response from a thread of the pool, for what waits for the disk.
// `done` is called once, when the response is as it is sent; with
// ResourceExhausted at once if the pool is full.
template <typename Response>
void AnswerOnPool(WorkerPool* pool, Response* response,
                  std::function<absl::StatusOr<Response>()> read,
                  const std::function<void(const absl::Status& status)>& done) {
  const bool taken = pool->TryRun([response, read = std::move(read), done] {
    absl::StatusOr<Response> answer = read();
    const absl::Status status = answer.status();
    if (status.ok()) *response = *std::move(answer);
    done(status);
  });
  if (!taken) {
    done(absl::ResourceExhaustedError(
        "the controller has too much to do, try again later"));
  }
}

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_UNARY_ANSWER_H_
