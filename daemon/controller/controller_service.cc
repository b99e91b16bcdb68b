// The calls with one answer: what is attached, in force and kept, and the end
// of a run. Those that ask hosts all at once or change them are in
// controller_runs.cc.
#include "daemon/controller/controller_service.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/audit/audit_chain.h"
#include "config/identity/grpc_status.h"
#include "config/spec/host_names.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "config/words/subject_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/answer_in_slot.h"
#include "daemon/controller/gate/call_roles.h"
#include "daemon/controller/gate/identity_gate.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/audit_caller.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/controller/hosts/unary_answer.h"

namespace clusterd {
namespace {

grpc::ServerUnaryReactor* FinishWith(grpc::CallbackServerContext* context,
                                     const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

}  // namespace

absl::StatusOr<SpiffeId> ControllerService::Admit(
    const grpc::CallbackServerContext& context, absl::string_view call,
    const google::protobuf::Message& request) const {
  absl::StatusOr<SpiffeId> user =
      parts_.gate->Admit(*context.auth_context(), IdentityKind::kUser);
  if (user.ok()) {
    const absl::Status role = CheckCallRole("Controller", call, request, *user);
    if (!role.ok()) user = role;
  }
  static constexpr absl::string_view kNeedNoSpec[] = {
      "ListHosts", "ForgetHost", "DescribeHost", "Learn",
      "Lock",      "Unlock",     "ListLocks",    "GetAuditHeads"};
  if (user.ok() && parts_.spec->learns() &&
      !absl::c_linear_search(kNeedNoSpec, call)) {
    user = parts_.spec->WhyRefused();
  }
  if (!user.ok()) {
    parts_.log->Warning(absl::StrCat("refused ", call, " to ", context.peer(),
                                     ": ", user.status().message()));
    return Refused(context, call, user.status());
  }
  return user;
}

absl::Status ControllerService::Refused(
    const grpc::CallbackServerContext& context, absl::string_view call,
    const absl::Status& why) const {
  parts_.audit->Refuse(AuditCaller(context, call), why);
  return why;
}

grpc::ServerUnaryReactor* ControllerService::ListHosts(
    grpc::CallbackServerContext* context, const ListHostsRequest* request,
    ListHostsResponse* response) {
  const absl::StatusOr<SpiffeId> user = Admit(*context, "ListHosts", *request);
  if (!user.ok()) return FinishWith(context, user.status());
  return AnswerInSlot<ListHostsResponse>(
      context, "ListHosts", *user, &slots_.lists, response, [this] {
        ListHostsResponse list;
        list.set_cluster(parts_.spec->cluster());
        list.set_spec_refused(parts_.spec->Describe().refused());
        for (HostEntry& entry : parts_.hosts->Entries(*parts_.spec->spec())) {
          *list.add_hosts() = std::move(entry);
        }
        return list;
      });
}

grpc::ServerUnaryReactor* ControllerService::ForgetHost(
    grpc::CallbackServerContext* context, const ForgetHostRequest* request,
    ForgetHostResponse* response) {
  const absl::StatusOr<SpiffeId> user = Admit(*context, "ForgetHost", *request);
  if (!user.ok()) return FinishWith(context, user.status());
  return AnswerInSlot<ForgetHostResponse>(
      context, "ForgetHost", *user, &slots_.ends, response,
      [this, named = request->host(),
       entry = AuditCaller(*context, "ForgetHost")] {
        return ForgetHostNow(named, entry);
      });
}

absl::StatusOr<ForgetHostResponse> ControllerService::ForgetHostNow(
    const std::string& named, AuditEntry entry) {
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
  ForgetHostResponse response;
  response.set_host(HostNamed(*spec, named));
  response.set_in_spec(NamesHost(*spec, response.host()));
  entry.set_subject(response.host());
  RETURN_IF_ERROR(parts_.audit->Begin(entry));
  absl::Status forgotten = parts_.hosts->Forget(response.host());
  parts_.audit->End(entry, forgotten.ok() ? "forgotten" : forgotten.message());
  if (forgotten.ok()) {
    parts_.log->Info(absl::StrCat("host ", response.host(), ": forgotten by ",
                                  ActorName(entry.who())));
  } else if (absl::IsNotFound(forgotten) && response.in_spec()) {
    forgotten = absl::OkStatus();
  }
  RETURN_IF_ERROR(forgotten);
  return response;
}

grpc::ServerUnaryReactor* ControllerService::DescribeHost(
    grpc::CallbackServerContext* context, const DescribeHostRequest* request,
    DescribeHostResponse* response) {
  const absl::StatusOr<SpiffeId> user =
      Admit(*context, "DescribeHost", *request);
  if (!user.ok()) return FinishWith(context, user.status());
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
  const std::string host = HostNamed(*spec, request->host());
  *response->mutable_entry() = parts_.hosts->Entry(*spec, host);
  if (!response->entry().in_spec() && !response->entry().attached()) {
    return FinishWith(context, absl::NotFoundError(absl::StrCat(
                                   "host \"", request->host(),
                                   "\" is neither in the spec nor attached")));
  }
  const absl::Status taken = slots_.describes.Take(user->name);
  if (!taken.ok()) {
    return FinishWith(context, Refused(*context, "DescribeHost", taken));
  }
  UnaryAnswer* const reactor =
      new UnaryAnswer(context, parts_.scheduler, &slots_.describes, user->name);
  parts_.hosts->Observe(ObservationOf(*spec, host),
                        [reactor, response](HostFacts facts) {
                          facts.clear_clock();
                          *response->mutable_facts() = std::move(facts);
                          reactor->Answer(absl::OkStatus(), *response);
                        });
  return reactor;
}

grpc::ServerUnaryReactor* ControllerService::GetSpec(
    grpc::CallbackServerContext* context, const GetSpecRequest* request,
    GetSpecResponse* response) {
  const absl::StatusOr<SpiffeId> user = Admit(*context, "GetSpec", *request);
  if (!user.ok()) return FinishWith(context, user.status());
  return AnswerInSlot<GetSpecResponse>(
      context, "GetSpec", *user, &slots_.lists, response, [this] {
        GetSpecResponse spec = parts_.spec->Describe();
        spec.set_controller_version(kClusterdVersion);
        return spec;
      });
}

grpc::ServerUnaryReactor* ControllerService::ListHistory(
    grpc::CallbackServerContext* context, const ListHistoryRequest* request,
    ListHistoryResponse* response) {
  const absl::StatusOr<SpiffeId> user =
      Admit(*context, "ListHistory", *request);
  if (!user.ok()) return FinishWith(context, user.status());
  return AnswerInSlot<ListHistoryResponse>(
      context, "ListHistory", *user, &slots_.lists, response,
      [this, request] { return parts_.history->List(*request); });
}

grpc::ServerUnaryReactor* ControllerService::GetHistory(
    grpc::CallbackServerContext* context, const GetHistoryRequest* request,
    HistoryRecord* response) {
  const absl::StatusOr<SpiffeId> user = Admit(*context, "GetHistory", *request);
  if (!user.ok()) return FinishWith(context, user.status());
  return AnswerInSlot<HistoryRecord>(
      context, "GetHistory", *user, &slots_.records, response,
      [this, request] { return changes_->Show(request->id()); });
}

grpc::ServerUnaryReactor* ControllerService::CheckSoFar(
    grpc::CallbackServerContext* context, const CheckSoFarRequest* request,
    Report* response) {
  const absl::StatusOr<SpiffeId> user = Admit(*context, "CheckSoFar", *request);
  if (!user.ok()) return FinishWith(context, user.status());
  return AnswerInSlot<Report>(
      context, "CheckSoFar", *user, &slots_.so_far, response,
      [this, request] { return ReportSoFar(request->run_id()); });
}

absl::StatusOr<Report> ControllerService::ReportSoFar(
    const std::string& run_id) const {
  const RunningCheck check = running_->Find(run_id);
  const std::shared_ptr<const FactRun> run = check.run.lock();
  if (run == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("check \"", run_id, "\" is not under way"));
  }
  std::vector<std::string> awaited;
  ASSIGN_OR_RETURN(const std::vector<HostFacts> facts,
                   run->FactsSoFar(&awaited));
  Report report = MakeCheckReport(*check.order, check.selection, facts,
                                  parts_.scheduler->Now());
  // The history has no run for it.
  report.clear_run_id();
  report.set_partial(true);
  report.mutable_awaited()->Assign(awaited.begin(), awaited.end());
  return report;
}

template <typename Request, typename Response>
grpc::ServerUnaryReactor* ControllerService::EndRun(
    grpc::CallbackServerContext* context, const char* call,
    const Request& request, Response* response, EndOfRun<Response> end) {
  const absl::StatusOr<SpiffeId> user = Admit(*context, call, request);
  if (!user.ok()) return FinishWith(context, user.status());
  const std::string from =
      absl::StrCat(RoleName(user->role), ", ", context->peer());
  AuditEntry entry = AuditCaller(*context, call);
  entry.set_subject(request.id());
  return AnswerInSlot<Response>(
      context, call, *user, &slots_.ends, response,
      [this, call, entry = std::move(entry), from,
       end]() -> absl::StatusOr<Response> {
        const absl::StatusOr<Response> ended =
            RunAudited(parts_.audit, entry, [&] {
              return (changes_->*end)(entry.subject(), entry.who(), from);
            });
        if (!ended.ok()) {
          parts_.log->Warning(absl::StrCat("refused ", call, " to ",
                                           ActorName(entry.who()), " (", from,
                                           "): ", ended.status().message()));
        }
        return ended;
      });
}

grpc::ServerUnaryReactor* ControllerService::Cancel(
    grpc::CallbackServerContext* context, const CancelRequest* request,
    CancelResponse* response) {
  return EndRun(context, "Cancel", *request, response, &ClusterChanges::Cancel);
}

grpc::ServerUnaryReactor* ControllerService::AbortApply(
    grpc::CallbackServerContext* context, const AbortApplyRequest* request,
    AbortApplyResponse* response) {
  return EndRun(context, "AbortApply", *request, response,
                &ClusterChanges::Abort);
}

grpc::ServerUnaryReactor* ControllerService::GetAuditHeads(
    grpc::CallbackServerContext* context, const GetAuditHeadsRequest* request,
    GetAuditHeadsResponse* response) {
  const absl::Status admitted =
      Admit(*context, "GetAuditHeads", *request).status();
  if (admitted.ok()) {
    *response->add_heads() = parts_.audit->head();
    response->mutable_heads(0)->set_of(kControllerFile);
    for (AuditHead& head : parts_.audit->heads()) {
      *response->add_heads() = std::move(head);
    }
  }
  return FinishWith(context, admitted);
}

}  // namespace clusterd
