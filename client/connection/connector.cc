#include "client/connection/connector.h"

#include <sys/un.h>

#include "absl/strings/str_cat.h"
#include "config/identity/tls_credentials.h"
#include "config/values/version.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

namespace clusterd {
namespace {

// A report of 10,000 hosts with findings on each is some 20 MB.
constexpr int kMaxMessageBytes = 256 << 20;
// Shows within a minute that a controller's machine is gone, also in an apply
// that takes hours. The controller allows a ping every 10 s.
constexpr int kKeepaliveMs = 30'000;

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetUserAgentPrefix(absl::StrCat("clusterctl/", kClusterdVersion));
  // The controller is inside the cluster, where a http_proxy of the admin's
  // shell does not lead; nor may DNS say how we call it.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  return arguments;
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> GrpcConnector::ToController(
    const ConnectionSettings& settings) {
  const auto credentials =
      MakeChannelCredentials(settings.tls, settings.cluster);
  if (!credentials.ok()) return credentials.status();
  grpc::ChannelArguments arguments = Arguments();
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  return grpc::CreateCustomChannel(absl::StrCat("dns:///", settings.controller),
                                   *credentials, arguments);
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> GrpcConnector::ToLocalDaemon(
    const std::string& socket_path) {
  if (socket_path.empty() ||
      socket_path.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("socket \"", socket_path, "\": expected a path of 1 to ",
                     sizeof(sockaddr_un::sun_path) - 1, " bytes"));
  }
  // Local credentials are refused on anything that leaves the machine.
  return grpc::CreateCustomChannel(absl::StrCat("unix:", socket_path),
                                   grpc::experimental::LocalCredentials(UDS),
                                   Arguments());
}

}  // namespace clusterd
