// Whatever a host of the cluster sends on its stream, the real controller ends
// the stream or goes on, and answers others.
#include <chrono>
#include <memory>

#include "grpcpp/create_channel.h"
#include "proto/agent_hub.grpc.pb.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/fuzz/inputs.pb.h"
#include "tests/fuzz/message_input.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

// No host has that much to say before somebody asks it.
constexpr int kMaxMessages = 32;

struct Cluster {
  Cluster() {
    controller.Start();
    hub = AgentHub::NewStub(grpc::CreateChannel(
        controller.address(),
        *MakeChannelCredentials(certificates.Host("server0"), "test")));
  }

  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller{&certificates, 1, &scheduler};
  std::unique_ptr<AgentHub::Stub> hub;
};

}  // namespace
}  // namespace clusterd

CLUSTERD_FUZZ_MESSAGE(HostInput) {
  static auto* const cluster = new clusterd::Cluster();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(30));
  const auto stream = cluster->hub->Attach(&context);
  for (int i = 0; i < input.messages_size() && i < clusterd::kMaxMessages;
       ++i) {
    if (!stream->Write(input.messages(i))) break;
  }
  stream->WritesDone();
  clusterd::HubMessage answer;
  while (stream->Read(&answer)) {
  }
  // Neither hangs nor says nothing.
  const grpc::Status ended = stream->Finish();
  clusterd::Require(ended.error_code() != grpc::StatusCode::OK &&
                    ended.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED &&
                    !ended.error_message().empty());
  static unsigned runs = 0;
  if (++runs % 64 == 0) {
    clusterd::Require(cluster->controller.ListHosts().hosts_size() == 1);
  }
  return 0;
}
