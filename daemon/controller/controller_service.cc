#include "daemon/controller/controller_service.h"

#include <memory>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/identity/grpc_status.h"
#include "config/identity/peer_identity.h"
#include "config/rules/judge.h"
#include "config/version/version.h"
#include "daemon/controller/check_stream.h"

namespace clusterd {
namespace {

// A call that ends before it begins.
class RefusedCheck final : public grpc::ServerWriteReactor<CheckEvent> {
 public:
  explicit RefusedCheck(const absl::Status& why) { Finish(ToGrpcStatus(why)); }
  void OnDone() override { delete this; }
};

std::string NewRunId() {
  std::random_device random;
  const uint64_t id = static_cast<uint64_t>(random()) << 32 | random();
  return absl::StrCat(absl::Hex(id, absl::kZeroPad16));
}

grpc::ServerUnaryReactor* FinishWith(grpc::CallbackServerContext* context,
                                     const absl::Status& status) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

}  // namespace

ControllerService::ControllerService(ControllerServiceOptions options,
                                     const ControllerServiceParts& parts)
    : options_(std::move(options)),
      parts_(parts),
      checks_(options_.max_checks),
      describes_(options_.max_describes) {}

absl::Status ControllerService::Admit(
    const grpc::CallbackServerContext& context, absl::string_view call) const {
  const absl::Status peer = RequirePeer(*context.auth_context(),
                                        options_.cluster, IdentityKind::kUser)
                                .status();
  if (!peer.ok()) {
    parts_.log->Warning(absl::StrCat("refused ", call, " to ", context.peer(),
                                     ": ", peer.message()));
  }
  return peer;
}

absl::Status ControllerService::PrepareCheck(
    const CheckRequest& request, const ClusterSpec& spec,
    std::vector<std::string>* hosts) const {
  absl::StatusOr<std::vector<std::string>> selected =
      SelectHosts(spec, request);
  if (!selected.ok()) return selected.status();
  *hosts = *std::move(selected);
  return ValidateSelection(request.selection());
}

grpc::ServerWriteReactor<CheckEvent>* ControllerService::Check(
    grpc::CallbackServerContext* context, const CheckRequest* request) {
  absl::Status status = Admit(*context, "Check");
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
  std::vector<std::string> hosts;
  if (status.ok()) status = PrepareCheck(*request, *spec, &hosts);
  if (status.ok() && !checks_.TryTake()) {
    status = absl::ResourceExhaustedError(absl::StrCat(
        options_.max_checks, " checks run already, try again later"));
  }
  if (!status.ok()) return new RefusedCheck(status);
  const CheckStream::MakeRun make_run = [&](CheckRun::Callbacks callbacks) {
    CheckRun::Parts parts;
    parts.hosts = parts_.hosts;
    parts.scheduler = parts_.scheduler;
    parts.pool = parts_.pool;
    return std::make_shared<CheckRun>(NewRunId(), spec, std::move(hosts),
                                      request->selection(), parts,
                                      std::move(callbacks));
  };
  return CheckStream::Create(make_run, context, parts_.scheduler,
                             [this] { checks_.Give(); });
}

grpc::ServerUnaryReactor* ControllerService::ListHosts(
    grpc::CallbackServerContext* context, const ListHostsRequest*,
    ListHostsResponse* response) {
  const absl::Status admitted = Admit(*context, "ListHosts");
  if (!admitted.ok()) return FinishWith(context, admitted);
  response->set_cluster(options_.cluster);
  for (HostEntry& entry : parts_.hosts->Entries(*parts_.spec->spec())) {
    *response->add_hosts() = std::move(entry);
  }
  return FinishWith(context, absl::OkStatus());
}

grpc::ServerUnaryReactor* ControllerService::DescribeHost(
    grpc::CallbackServerContext* context, const DescribeHostRequest* request,
    DescribeHostResponse* response) {
  const absl::Status admitted = Admit(*context, "DescribeHost");
  if (!admitted.ok()) return FinishWith(context, admitted);
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
  *response->mutable_entry() = parts_.hosts->Entry(*spec, request->host());
  if (!response->entry().in_spec() && !response->entry().attached()) {
    return FinishWith(context, absl::NotFoundError(absl::StrCat(
                                   "host \"", request->host(),
                                   "\" is neither in the spec nor attached")));
  }
  if (!describes_.TryTake()) {
    return FinishWith(context, absl::ResourceExhaustedError(absl::StrCat(
                                   options_.max_describes,
                                   " hosts are being described already")));
  }
  Observation observation;
  observation.host = request->host();
  observation.request = MakeObserveRequest(*spec);
  observation.deadline = absl::Milliseconds(spec->deadlines().host_ms());
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  parts_.hosts->Observe(observation,
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
  const absl::Status admitted = Admit(*context, "GetSpec");
  if (admitted.ok()) {
    *response = parts_.spec->Describe();
    response->set_controller_version(kClusterdVersion);
  }
  return FinishWith(context, admitted);
}

}  // namespace clusterd
