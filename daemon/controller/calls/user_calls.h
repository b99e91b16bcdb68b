// Users' calls of one service: authorisation, slots, the thread that makes the
// answer, and sending it.
#ifndef DAEMON_CONTROLLER_CALLS_USER_CALLS_H_
#define DAEMON_CONTROLLER_CALLS_USER_CALLS_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "config/identity/certificate.h"
#include "config/identity/grpc_status.h"
#include "config/words/message.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/calls/call_limits.h"
#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/stream/event_stream.h"
#include "daemon/controller/stream/stream_writer.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "google/protobuf/message.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

namespace clusterd {

using CallContext = grpc::CallbackServerContext;
using UnaryCall = grpc::ServerUnaryReactor;
template <typename Event>
using StreamCall = grpc::ServerWriteReactor<Event>;

// Ends a call without a slot.
inline UnaryCall* FinishWith(CallContext* context, const absl::Status& status) {
  UnaryCall* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// The one answer to a call. It holds a slot of its user until the client has
// all of it or has left, and disconnects a client that does not take it
// (WriteDeadline). Deletes itself when the call is done.
class UnaryAnswer final : public UnaryCall {
 public:
  // REQUIRES: a slot of that user is taken. All must outlive the call.
  UnaryAnswer(CallContext* context, Scheduler* scheduler, CallSlots* slots,
              CallClass of, std::string who)
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

// Calls done(read()) on a thread of the pool, where `read` may wait for the
// disk; `done` at once, with ResourceExhausted, if the pool is full.
template <typename Response>
void AnswerOnPool(
    WorkerPool* pool, WorkerPool::Place place,
    std::function<absl::StatusOr<Response>()> read,
    const std::function<void(absl::StatusOr<Response> answer)>& done) {
  if (pool->TryRun([read = std::move(read), done] { done(read()); }, place)) {
    return;
  }
  done(TooMuchToDo());
}

// A call as its handler has got it; `request` exists as long as the call.
struct UserCall {
  CallContext* context;
  const char* name;
  const google::protobuf::Message& request;
  // Whose slot it takes, or whose places its run.
  CallClass of = CallClass::kLists;
};

// Safe for concurrent use.
class UserCalls {
 public:
  // `service`: as call_roles.h names it. `also`: a further reason to refuse
  // calls; null if there is none. The parts must outlive all calls.
  UserCalls(absl::string_view service, const ControllerParts& parts,
            std::function<absl::Status(absl::string_view call)> also = nullptr)
      : service_(service), parts_(parts), also_(std::move(also)) {}

  // The calling user, if the row of the call allows it. A refusal is audited,
  // and logged with the address.
  absl::StatusOr<SpiffeId> Admit(const UserCall& call) const;

  // Audits a call that is refused after it was admitted. Returns `why`.
  absl::Status Refused(const UserCall& call, const absl::Status& why) const;

  // Takes a slot of the call's class for an admitted user. ResourceExhausted,
  // audited, if none is free.
  absl::Status TakeSlot(const UserCall& call, const SpiffeId& user) const;
  CallSlots* slots() const { return &slots_; }

  // Takes a slot and calls run(user, answered), which calls `answered` once,
  // from any thread, with the response or an error.
  template <typename Response, typename Run>
  UnaryCall* AnswerLater(const UserCall& call, Response* response,
                         const Run& run) const {
    const absl::StatusOr<SpiffeId> user = Admit(call);
    const absl::Status may = user.ok() ? TakeSlot(call, *user) : user.status();
    if (!may.ok()) return FinishWith(call.context, may);
    auto* const answer = new UnaryAnswer(call.context, parts_.scheduler,
                                         &slots_, call.of, user->name);
    run(*user, [answer, response](absl::StatusOr<Response> result) {
      const absl::Status status = result.status();
      if (status.ok()) *response = *std::move(result);
      answer->Answer(status, *response);
    });
    return answer;
  }

  // Answers with read(user), on a thread of the pool or on this one.
  template <typename Response, typename Read>
  UnaryCall* Answer(const UserCall& call, Response* response, Read read) const {
    return AnswerLater(
        call, response, [&](const SpiffeId& user, const auto& answered) {
          const bool taken =
              parts_.pool->TryRun([read = std::move(read), user,
                                   answered] { answered(read(user)); },
                                  PlaceOf(user));
          if (!taken) answered(Refused(call, TooMuchToDo()));
        });
  }

  // The same for a change, with a line of the audit file before and after it.
  template <typename Response, typename Change>
  UnaryCall* AnswerAudited(const UserCall& call, absl::string_view subject,
                           Response* response, Change change) const {
    return Answer(call, response,
                  [audit = parts_.audit,
                   entry = AuditCaller(*call.context, call.name, subject),
                   change = std::move(change)](const SpiffeId& user) {
                    return RunAudited(audit, entry,
                                      [&]() -> absl::StatusOr<Response> {
                                        return change(user);
                                      });
                  });
  }

  // Opens the stream of a call, and calls start(stream, user), whose error ends
  // it. When the gate no longer admits the user, the stream ends with the
  // reason and the audit file gets a line.
  template <typename Event, typename Start>
  StreamCall<Event>* Stream(const UserCall& call, const Start& start) const {
    const auto stream =
        EventStream<Event>::Create(call.context, parts_.scheduler);
    const absl::StatusOr<SpiffeId> user = Admit(call);
    const absl::Status started =
        user.ok() ? start(stream, *user) : user.status();
    if (started.ok()) {
      WatchUser(call, stream, [open = stream.get()](const absl::Status& why) {
        open->EndForGood(why);
      });
    } else {
      stream->End(started);
    }
    return stream.get();
  }

 private:
  // Users who may change hosts go first, since they also read for that.
  static WorkerPool::Place PlaceOf(const SpiffeId& user) {
    return user.role == Role::kOperator || user.role == Role::kAdmin
               ? WorkerPool::Place::kFirst
               : WorkerPool::Place::kInTurn;
  }

  // Calls `end` and audits it when the user of an open stream is no longer
  // admitted.
  void WatchUser(const UserCall& call, const std::shared_ptr<void>& stream,
                 std::function<void(const absl::Status& why)> end) const;

  const absl::string_view service_;
  const ControllerParts& parts_;
  const std::function<absl::Status(absl::string_view call)> also_;
  mutable CallSlots slots_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CALLS_USER_CALLS_H_
