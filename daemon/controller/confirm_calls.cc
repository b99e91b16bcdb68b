// ControllerService::Confirm and Extend: what becomes of an apply that would
// else go back by itself.
#include <string>
#include <utility>

#include "config/identity/grpc_status.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/controller_service.h"
#include "daemon/controller/hosts/audit_caller.h"
#include "daemon/controller/hosts/unary_answer.h"

namespace clusterd {
namespace {

grpc::ServerUnaryReactor* RefuseConfirm(grpc::CallbackServerContext* context,
                                        const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

}  // namespace

grpc::ServerUnaryReactor* ControllerService::AnswerConfirm(
    grpc::CallbackServerContext* context, const char* call,
    const google::protobuf::Message& request, const std::string& id,
    std::optional<absl::Duration> by, ConfirmResponse* response) {
  const absl::StatusOr<SpiffeId> user = Admit(*context, call, request);
  if (!user.ok()) return RefuseConfirm(context, user.status());
  const absl::Status taken = slots_.ends.Take(user->name);
  if (!taken.ok()) {
    return RefuseConfirm(context, Refused(*context, call, taken));
  }
  UnaryAnswer* const reactor =
      new UnaryAnswer(context, parts_.scheduler, &slots_.ends, user->name);
  AuditEntry entry = AuditCaller(*context, call);
  entry.set_subject(id);
  const auto answered = [this, call, entry, reactor, response](
                            const absl::StatusOr<ConfirmResponse>& answer) {
    parts_.audit->End(entry, answer.ok() ? "done" : answer.status().message());
    if (answer.ok()) {
      *response = *answer;
    } else {
      parts_.log->Warning(absl::StrCat("refused ", call, " to ", entry.who(),
                                       ": ", answer.status().message()));
    }
    reactor->Answer(answer.status(), *response);
  };
  // The history and the audit file wait for the disk.
  const bool queued = parts_.pool->TryRun(
      [this, entry, by, answered, reactor, response] {
        const absl::Status begun = parts_.audit->Begin(entry);
        if (!begun.ok()) return reactor->Answer(begun, *response);
        if (by.has_value()) {
          changes_->Extend(entry.subject(), entry, *by, answered);
        } else {
          changes_->Confirm(entry.subject(), entry, answered);
        }
      },
      WorkerPool::Place::kFirst);
  if (!queued) {
    reactor->Answer(Refused(*context, call,
                            absl::ResourceExhaustedError(
                                "the controller has too much to do, try again "
                                "later")),
                    *response);
  }
  return reactor;
}

grpc::ServerUnaryReactor* ControllerService::Confirm(
    grpc::CallbackServerContext* context, const ConfirmRequest* request,
    ConfirmResponse* response) {
  return AnswerConfirm(context, "Confirm", *request, request->id(),
                       std::nullopt, response);
}

grpc::ServerUnaryReactor* ControllerService::Extend(
    grpc::CallbackServerContext* context, const ExtendRequest* request,
    ConfirmResponse* response) {
  return AnswerConfirm(context, "Extend", *request, request->id(),
                       absl::Milliseconds(request->by_ms()), response);
}

}  // namespace clusterd
