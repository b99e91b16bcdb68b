// For the files that implement ControllerService.
#ifndef DAEMON_CONTROLLER_ANSWER_IN_SLOT_H_
#define DAEMON_CONTROLLER_ANSWER_IN_SLOT_H_

#include <functional>
#include <utility>

#include "config/identity/grpc_status.h"
#include "daemon/controller/controller_service.h"
#include "daemon/controller/hosts/unary_answer.h"

namespace clusterd {

template <typename Response>
grpc::ServerUnaryReactor* ControllerService::AnswerInSlot(
    grpc::CallbackServerContext* context, const char* call,
    const SpiffeId& user, Slots* slots, Response* response,
    std::function<absl::StatusOr<Response>()> read) {
  const absl::Status taken = slots->Take(user.name);
  if (!taken.ok()) {
    grpc::ServerUnaryReactor* const refused = context->DefaultReactor();
    refused->Finish(ToGrpcStatus(Refused(*context, call, taken)));
    return refused;
  }
  UnaryAnswer* const reactor =
      new UnaryAnswer(context, parts_.scheduler, slots, user.name);
  // Who may change hosts reads for that, too.
  const WorkerPool::Place place =
      user.role == Role::kOperator || user.role == Role::kAdmin
          ? WorkerPool::Place::kFirst
          : WorkerPool::Place::kInTurn;
  AnswerOnPool<Response>(
      parts_.pool, place, response, std::move(read),
      [reactor, response](const absl::Status& status) {
        reactor->Answer(status, *response);
      },
      [this, context, call](const absl::Status& full) {
        Refused(*context, call, full).IgnoreError();
      });
  return reactor;
}

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_ANSWER_IN_SLOT_H_
