// The one answer to a call. It holds a slot of its user until the client has
// all of it or has gone; a client that does not take it is cut off
// (hosts/write_deadline.h).
#ifndef DAEMON_CONTROLLER_HOSTS_UNARY_ANSWER_H_
#define DAEMON_CONTROLLER_HOSTS_UNARY_ANSWER_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "config/identity/grpc_status.h"
#include "daemon/controller/hosts/slots.h"
#include "daemon/controller/hosts/write_deadline.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "google/protobuf/message.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

namespace clusterd {

// Ends a call that has no slot.
inline grpc::ServerUnaryReactor* FinishWith(
    grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// Deletes itself when the call is done.
class UnaryAnswer final : public grpc::ServerUnaryReactor {
 public:
  // A slot of that user is taken. All must outlive the call.
  UnaryAnswer(grpc::CallbackServerContext* context, Scheduler* scheduler,
              Slots* slots, std::string who)
      : slots_(slots), who_(std::move(who)), deadline_(context, scheduler) {}

  // Once, from any thread, when the response is as it is sent.
  void Answer(const absl::Status& status,
              const google::protobuf::Message& response) {
    const size_t bytes = status.ok() ? response.ByteSizeLong() : 0;
    {
      absl::MutexLock lock(&mutex_);
      deadline_.Begin(bytes);
    }
    Finish(ToGrpcStatus(status));
  }

  void OnDone() override {
    {
      absl::MutexLock lock(&mutex_);
      deadline_.End();
    }
    slots_->Give(who_);
    delete this;
  }

 private:
  Slots* const slots_;
  const std::string who_;
  absl::Mutex mutex_;
  WriteDeadline deadline_ ABSL_GUARDED_BY(mutex_);
};

// Why a call is refused while the pool is full.
inline absl::Status TooMuchToDo() {
  return absl::ResourceExhaustedError(
      "the controller has too much to do, try again later");
}

// Fills in the response from a thread of the pool, which may wait for the disk,
// and then calls `done`. If the pool is full, calls `refused` and `done` at
// once with ResourceExhausted.
template <typename Response>
void AnswerOnPool(
    WorkerPool* pool, WorkerPool::Place place, Response* response,
    std::function<absl::StatusOr<Response>()> read,
    const std::function<void(const absl::Status& status)>& done,
    const std::function<void(const absl::Status& full)>& refused = nullptr) {
  const bool taken = pool->TryRun(
      [response, read = std::move(read), done] {
        absl::StatusOr<Response> answer = read();
        const absl::Status status = answer.status();
        if (status.ok()) *response = *std::move(answer);
        done(status);
      },
      place);
  if (taken) return;
  const absl::Status full = TooMuchToDo();
  if (refused) refused(full);
  done(full);
}

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_UNARY_ANSWER_H_
