// For any messages of a joined host, the real controller ends the stream or
// continues, and answers others.
#include <memory>

#include "absl/strings/str_cat.h"
#include "config/identity/signing_request.h"
#include "grpcpp/create_channel.h"
#include "proto/agent_hub.grpc.pb.h"
#include "proto/trust.grpc.pb.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/fuzz/messages/inputs.pb.h"
#include "tests/fuzz/messages/message_input.h"
#include "tests/fuzz/require.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

// A host never has that much to say before it is asked.
constexpr int kMaxMessages = 32;

struct Cluster {
  Cluster() {
    controller.Start();
    hub = AgentHub::NewStub(grpc::CreateChannel(
        controller.address(), MakeChannelCredentialsFromPem(Join(), "test")));
  }

  // Like clusterd join for server0: the controller knows its certificate.
  TlsPem Join() {
    const auto trust = Trust::NewStub(grpc::CreateChannel(
        controller.address(),
        *MakeChannelCredentials(certificates.User("ann", Role::kAdmin),
                                "test")));
    CreateTokenRequest ask;
    ask.set_ttl_ms(3600'000);
    CreateTokenResponse made;
    Require(trust->CreateToken(NewContext().get(), ask, &made).ok());
    TlsPem pem;
    pem.ca = certificates.authority().certificate_pem();
    pem.key = *MakePrivateKey();
    JoinRequest request;
    request.set_token(made.token());
    request.set_name("server0");
    request.set_machine_id("m");
    request.set_signing_request(*MakeSigningRequest(pem.key));
    Enrolled enrolled;
    const auto service = Enrolment::NewStub(
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", made.enrol_port()),
                            MakeChannelCredentialsFromRoots(pem.ca, "test")));
    Require(service->Join(NewContext().get(), request, &enrolled).ok());
    pem.certificate = enrolled.certificate_pem();
    return pem;
  }

  TestCertificates certificates;
  PatientScheduler scheduler;  // A slow machine sends no hello too late.
  TestController controller{&certificates, 1, &scheduler,
                            TrustedOptions(certificates)};
  std::unique_ptr<AgentHub::Stub> hub;
};

FUZZ_MESSAGE(host_stream, 2, HostInput,
             "tests/testdata/messages/host-*.txtpb") {
  static auto* const cluster = new Cluster();
  grpc::ClientContext context;
  context.set_deadline(PatientDeadline());
  const auto stream = cluster->hub->Attach(&context);
  int jobs = 0;
  for (int i = 0; i < input.messages_size() && i < kMaxMessages; ++i) {
    AgentMessage message = input.messages(i);
    if (message.has_job_question() && jobs < input.jobs_size()) {
      *message.mutable_job_question()->mutable_job() =
          input.jobs(jobs++).SerializeAsString();
    }
    if (!stream->Write(message)) break;
  }
  stream->WritesDone();
  HubMessage answer;
  while (stream->Read(&answer)) {
  }
  // It neither hangs nor ends without a message.
  const grpc::Status ended = stream->Finish();
  Require(ended.error_code() != grpc::StatusCode::OK &&
          ended.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED &&
          !ended.error_message().empty());
  static unsigned runs = 0;
  if (++runs % 64 == 0) {
    Require(cluster->controller.ListHosts().hosts_size() == 1);
  }
}

}  // namespace
}  // namespace clusterd
