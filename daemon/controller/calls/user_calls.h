// Users' calls of one service: authorisation, slots, the thread that makes the
// answer, and sending it.
#ifndef DAEMON_CONTROLLER_CALLS_USER_CALLS_H_
#define DAEMON_CONTROLLER_CALLS_USER_CALLS_H_

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "config/identity/certificate.h"
#include "config/identity/grpc_status.h"
#include "config/words/message.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/calls/call_limits.h"
#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/stream/stream_writer.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "google/protobuf/message.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

namespace clusterd {

// Ends a call without a slot.
inline grpc::ServerUnaryReactor* FinishWith(
    grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// The one answer to a call. It holds a slot of its user until the client has
// all of it or has left, and disconnects a client that does not take it
// (WriteDeadline). Deletes itself when the call is done.
class UnaryAnswer final : public grpc::ServerUnaryReactor {
 public:
  // REQUIRES: a slot of that user is taken. All must outlive the call.
  UnaryAnswer(grpc::CallbackServerContext* context, Scheduler* scheduler,
              CallSlots* slots, CallClass of, std::string who)
      : slots_(slots),
        of_(of),
        who_(std::move(who)),
        deadline_(context, scheduler) {}

  // Call once, from any thread, when the response is final.
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
    slots_->Give(of_, who_);
    delete this;
  }

 private:
  CallSlots* const slots_;
  const CallClass of_;
  const std::string who_;
  absl::Mutex mutex_;
  WriteDeadline deadline_ ABSL_GUARDED_BY(mutex_);
};

// The error of a call while the pool is full.
inline absl::Status TooMuchToDo() {
  return ExhaustedWords("msg-hub-too-much-to-do");
}

// Fills in the response on a thread of the pool, which may wait for the disk,
// then calls `done`. If the pool is full, calls `refused` and `done` at once
// with ResourceExhausted.
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

// Safe for concurrent use.
class UserCalls {
 public:
  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;
  // An admitted call, in a slot of its user.
  struct Begun {
    SpiffeId user;
    UnaryAnswer* answer;
  };

  // `service`: as call_roles.h names it. `also`: a further reason to refuse
  // calls; null if there is none. The parts must outlive all calls.
  UserCalls(absl::string_view service, const ControllerParts& parts,
            std::function<absl::Status(absl::string_view call)> also = nullptr)
      : service_(service), parts_(parts), also_(std::move(also)) {}

  // The calling user, if the row of `call` allows it. A refusal is audited, and
  // logged with the address.
  absl::StatusOr<SpiffeId> Admit(
      const Context& context, absl::string_view call,
      const google::protobuf::Message& request) const;

  // Audits a call that is refused after it was admitted. Returns `why`.
  absl::Status Refused(const Context& context, absl::string_view call,
                       const absl::Status& why) const;

  // As Admit; ResourceExhausted if the user's slots are taken.
  absl::StatusOr<Begun> Begin(Context* context, absl::string_view call,
                              const google::protobuf::Message& request,
                              CallClass of) const;

  // The places of the service's calls.
  CallSlots* slots() const { return &slots_; }

  // Answers with read(user), on a thread of the pool or on this one. `request`
  // exists as long as the call.
  template <typename Response, typename Read>
  Unary* Answer(Context* context, const char* call,
                const google::protobuf::Message& request, CallClass of,
                Response* response, Read read) const {
    const absl::StatusOr<Begun> begun = Begin(context, call, request, of);
    if (!begun.ok()) return FinishWith(context, begun.status());
    UnaryAnswer* const answer = begun->answer;
    AnswerOnPool<Response>(
        parts_.pool, PlaceOf(begun->user), response,
        [read = std::move(read), user = begun->user]()
            -> absl::StatusOr<Response> { return read(user); },
        [answer, response](const absl::Status& status) {
          answer->Answer(status, *response);
        },
        [this, context, call](const absl::Status& full) {
          Refused(*context, call, full).IgnoreError();
        });
    return answer;
  }

  // The same for a change, with a line of the audit file before and after it.
  template <typename Response, typename Change>
  Unary* AnswerAudited(Context* context, const char* call,
                       const google::protobuf::Message& request,
                       absl::string_view subject, CallClass of,
                       Response* response, Change change) const {
    return Answer(
        context, call, request, of, response,
        [audit = parts_.audit, entry = AuditCaller(*context, call, subject),
         change = std::move(change)](const SpiffeId& user) {
          return RunAudited(audit, entry, [&]() -> absl::StatusOr<Response> {
            return change(user);
          });
        });
  }

 private:
  // Users who may change hosts go first, since they also read for that.
  static WorkerPool::Place PlaceOf(const SpiffeId& user) {
    return user.role == Role::kOperator || user.role == Role::kAdmin
               ? WorkerPool::Place::kFirst
               : WorkerPool::Place::kInTurn;
  }

  const absl::string_view service_;
  const ControllerParts& parts_;
  const std::function<absl::Status(absl::string_view call)> also_;
  mutable CallSlots slots_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CALLS_USER_CALLS_H_
