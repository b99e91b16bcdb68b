// The calls with one answer: what is attached, in force and kept, and the end
// of a run. Those that ask hosts all at once or change them are in
// controller_runs.cc.
#include "daemon/controller/controller_service.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/identity/grpc_status.h"
#include "config/identity/tls_credentials.h"
#include "config/spec/host_names.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/spec_holder.h"

namespace clusterd {
namespace {

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

grpc::ServerUnaryReactor* FinishWith(grpc::CallbackServerContext* context,
                                     const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

}  // namespace

absl::StatusOr<SpiffeId> ControllerService::Admit(
    const grpc::CallbackServerContext& context, absl::string_view call,
    Role needed) const {
  absl::StatusOr<SpiffeId> user = RequirePeer(
      *context.auth_context(), parts_.spec->cluster(), IdentityKind::kUser);
  if (user.ok()) {
    const absl::Status role = RequireRole(*user, needed, call);
    if (!role.ok()) user = role;
  }
  static constexpr absl::string_view kNeedNoSpec[] = {"ListHosts", "ForgetHost",
                                                      "DescribeHost", "Learn"};
  if (user.ok() && parts_.spec->learns() &&
      !absl::c_linear_search(kNeedNoSpec, call)) {
    user = parts_.spec->WhyRefused();
  }
  if (!user.ok()) {
    parts_.log->Warning(absl::StrCat("refused ", call, " to ", context.peer(),
                                     ": ", user.status().message()));
  }
  return user;
}

grpc::ServerUnaryReactor* ControllerService::ListHosts(
    grpc::CallbackServerContext* context, const ListHostsRequest*,
    ListHostsResponse* response) {
  const absl::Status admitted = Admit(*context, "ListHosts").status();
  if (!admitted.ok()) return FinishWith(context, admitted);
  response->set_cluster(parts_.spec->cluster());
  response->set_spec_refused(parts_.spec->Describe().refused());
  for (HostEntry& entry : parts_.hosts->Entries(*parts_.spec->spec())) {
    *response->add_hosts() = std::move(entry);
  }
  return FinishWith(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* ControllerService::ForgetHost(
    grpc::CallbackServerContext* context, const ForgetHostRequest* request,
    ForgetHostResponse* response) {
  const absl::StatusOr<SpiffeId> user =
      Admit(*context, "ForgetHost", Role::kOperator);
  if (!user.ok()) return FinishWith(context, user.status());
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
  const std::string host = HostNamed(*spec, request->host());
  response->set_host(host);
  response->set_in_spec(NamesHost(*spec, host));
  absl::Status forgotten = parts_.hosts->Forget(host);
  if (forgotten.ok()) {
    parts_.log->Info(
        absl::StrCat("host ", host, ": forgotten by ", user->name));
  } else if (absl::IsNotFound(forgotten) && response->in_spec()) {
    forgotten = absl::OkStatus();
  }
  return FinishWith(context, forgotten);
}

grpc::ServerUnaryReactor* ControllerService::DescribeHost(
    grpc::CallbackServerContext* context, const DescribeHostRequest* request,
    DescribeHostResponse* response) {
  const absl::Status admitted = Admit(*context, "DescribeHost").status();
  if (!admitted.ok()) return FinishWith(context, admitted);
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
  const std::string host = HostNamed(*spec, request->host());
  *response->mutable_entry() = parts_.hosts->Entry(*spec, host);
  if (!response->entry().in_spec() && !response->entry().attached()) {
    return FinishWith(context, absl::NotFoundError(absl::StrCat(
                                   "host \"", request->host(),
                                   "\" is neither in the spec nor attached")));
  }
  if (!describes_.TryTake()) {
    return FinishWith(
        context, absl::ResourceExhaustedError(absl::StrCat(
                     kMaxDescribes, " hosts are being described already")));
  }
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  parts_.hosts->Observe(ObservationOf(*spec, host),
                        [this, reactor, response](HostFacts facts) {
                          *response->mutable_facts() = std::move(facts);
                          describes_.Give();
                          reactor->Finish(grpc::Status::OK);
                        });
  return reactor;
}

grpc::ServerUnaryReactor* ControllerService::GetSpec(
    grpc::CallbackServerContext* context, const GetSpecRequest*,
    GetSpecResponse* response) {
  const absl::Status admitted = Admit(*context, "GetSpec").status();
  if (admitted.ok()) {
    *response = parts_.spec->Describe();
    response->set_controller_version(kClusterdVersion);
  }
  return FinishWith(context, admitted);
}

grpc::ServerUnaryReactor* ControllerService::ListHistory(
    grpc::CallbackServerContext* context, const ListHistoryRequest* request,
    ListHistoryResponse* response) {
  const absl::Status admitted = Admit(*context, "ListHistory").status();
  if (!admitted.ok()) return FinishWith(context, admitted);
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  AnswerOnPool<ListHistoryResponse>(
      parts_.pool, response,
      [this, request] { return parts_.history->List(*request); },
      [reactor](const absl::Status& status) {
        reactor->Finish(ToGrpcStatus(status));
      });
  return reactor;
}

template <typename Response>
grpc::ServerUnaryReactor* ControllerService::AnswerInSlot(
    grpc::CallbackServerContext* context, Slots* slots,
    absl::string_view all_taken, Response* response,
    std::function<absl::StatusOr<Response>()> read) {
  if (!slots->TryTake()) {
    return FinishWith(context, absl::ResourceExhaustedError(absl::StrCat(
                                   all_taken, " already, try again later")));
  }
  // Deletes itself when the client has all of it.
  grpc::ServerUnaryReactor* const reactor = new SlotReactor(slots);
  AnswerOnPool<Response>(parts_.pool, response, std::move(read),
                         [reactor](const absl::Status& status) {
                           reactor->Finish(ToGrpcStatus(status));
                         });
  return reactor;
}

grpc::ServerUnaryReactor* ControllerService::GetHistory(
    grpc::CallbackServerContext* context, const GetHistoryRequest* request,
    HistoryRecord* response) {
  const absl::Status admitted = Admit(*context, "GetHistory").status();
  if (!admitted.ok()) return FinishWith(context, admitted);
  return AnswerInSlot<HistoryRecord>(
      context, &records_,
      absl::StrCat(kMaxRecords, " entries of the history are being read"),
      response, [this, request] { return changes_->Show(request->id()); });
}

grpc::ServerUnaryReactor* ControllerService::CheckSoFar(
    grpc::CallbackServerContext* context, const CheckSoFarRequest* request,
    Report* response) {
  const absl::Status admitted = Admit(*context, "CheckSoFar").status();
  if (!admitted.ok()) return FinishWith(context, admitted);
  return AnswerInSlot<Report>(
      context, &so_far_,
      absl::StrCat(kMaxSoFar, " checks are being judged so far"), response,
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

grpc::ServerUnaryReactor* ControllerService::Cancel(
    grpc::CallbackServerContext* context, const CancelRequest* request,
    CancelResponse* response) {
  const absl::StatusOr<SpiffeId> user =
      Admit(*context, "Cancel", Role::kOperator);
  if (!user.ok()) return FinishWith(context, user.status());
  const std::string from =
      absl::StrCat(RoleName(user->role), ", ", context->peer());
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  AnswerOnPool<CancelResponse>(
      parts_.pool, response,
      [this, request, actor = user->name, from] {
        return changes_->Cancel(request->id(), actor, from);
      },
      [this, reactor, actor = user->name, from](const absl::Status& status) {
        if (!status.ok()) {
          parts_.log->Warning(absl::StrCat("refused Cancel to ", actor, " (",
                                           from, "): ", status.message()));
        }
        reactor->Finish(ToGrpcStatus(status));
      });
  return reactor;
}

}  // namespace clusterd
