// The one answer to a call, in a slot of its user that is held until the client
// has all of it, or has gone; who does not take it is cut off
// (hosts/write_deadline.h).
#ifndef DAEMON_CONTROLLER_HOSTS_UNARY_ANSWER_H_
#define DAEMON_CONTROLLER_HOSTS_UNARY_ANSWER_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "config/identity/grpc_status.h"
#include "daemon/controller/hosts/slots.h"
#include "daemon/controller/hosts/write_deadline.h"
#include "daemon/process/scheduler.h"
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

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_UNARY_ANSWER_H_
