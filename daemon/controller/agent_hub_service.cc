#include "daemon/controller/agent_hub_service.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "config/identity/grpc_status.h"
#include "config/identity/peer_identity.h"
#include "daemon/controller/host_stream.h"

namespace clusterd {
namespace {

// A call that ends before it begins.
class RefusedStream final
    : public grpc::ServerBidiReactor<AgentMessage, HubMessage> {
 public:
  explicit RefusedStream(const absl::Status& why) { Finish(ToGrpcStatus(why)); }
  void OnDone() override { delete this; }
};

}  // namespace

AgentHubService::AgentHubService(AgentHubOptions options, AttachedHosts* hosts,
                                 Scheduler* scheduler, Log* log)
    : options_(std::move(options)),
      hosts_(hosts),
      scheduler_(scheduler),
      log_(log) {}

grpc::ServerBidiReactor<AgentMessage, HubMessage>* AgentHubService::Attach(
    grpc::CallbackServerContext* context) {
  const absl::StatusOr<SpiffeId> peer = RequirePeer(
      *context->auth_context(), options_.cluster, IdentityKind::kHost);
  if (!peer.ok()) {
    log_->Warning(absl::StrCat("refused to attach ", context->peer(), ": ",
                               peer.status().message()));
    return new RefusedStream(peer.status());
  }
  HostStreamOptions stream;
  stream.cluster = options_.cluster;
  stream.host = peer->name;
  stream.peer = context->peer();
  stream.hello_timeout = options_.hello_timeout;
  stream.max_queued = options_.max_queued;
  return HostStream::Create(std::move(stream), context, hosts_, scheduler_);
}

}  // namespace clusterd
