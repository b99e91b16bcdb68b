// Roles and refusals over real connections.
#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"
#include "tests/component/running_controller.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

grpc::Status ListAs(TestController* controller, const TlsFiles& files) {
  ListHostsResponse response;
  return controller->ClientAs(files)->ListHosts(NewContext().get(), {},
                                                &response);
}

// Connects without checking the files first.
absl::Status AttachAs(const TestController& controller, const TlsPem& pem,
                      const std::string& cluster = "test") {
  DialOptions dial;
  dial.controller = controller.address();
  const auto stub = AgentHub::NewStub(
      Dial(dial, MakeChannelCredentialsFromPem(pem, cluster)));
  const auto context = NewContext();
  const auto stream = stub->Attach(context.get());
  stream->Write(RawHost::Hello());
  HubMessage message;
  if (stream->Read(&message)) {
    context->TryCancel();
    stream->Finish();
    return absl::OkStatus();
  }
  const grpc::Status status = stream->Finish();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

TlsPem Pem(const TlsFiles& files) { return *ReadTlsFiles(files); }

TEST(IdentityTest, HostMayAttachAndUserMayAsk) {
  RunningController controller(1);
  EXPECT_TRUE(
      AttachAs(controller, Pem(controller.certificates.Host("server0"))).ok());
  EXPECT_TRUE(ListAs(&controller, controller.certificates.User("eve")).ok());
}

TEST(IdentityTest, UserMayNotAttach) {
  RunningController controller(1);
  const absl::Status status =
      AttachAs(controller, Pem(controller.certificates.User("server0")));
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(status.message(),
              Tells("msg-trust-wrong-kind", "spiffe://test/user/server0",
                    "user", "host"));
  EXPECT_FALSE(controller.Entry("server0").attached());
}

TEST(IdentityTest, HostMayNotAsk) {
  RunningController controller(1);
  const auto client =
      controller.ClientAs(controller.certificates.Host("server0"));
  ListHostsResponse list;
  DescribeHostResponse description;
  GetSpecResponse spec;
  const grpc::Status listed = client->ListHosts(NewContext().get(), {}, &list);
  EXPECT_EQ(listed.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(listed.error_message(), HasSubstr("only a user may do this"));
  EXPECT_EQ(
      client->DescribeHost(NewContext().get(), {}, &description).error_code(),
      grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(client->GetSpec(NewContext().get(), {}, &spec).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  Report report;
  EXPECT_EQ(client->CheckSoFar(NewContext().get(), {}, &report).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  const auto context = NewContext();
  const auto check = client->Check(context.get(), {});
  CheckEvent event;
  EXPECT_FALSE(check->Read(&event));
  EXPECT_EQ(check->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

// Looking up many wrong names takes time that strangers must not use.
TEST(IdentityTest, RulesOfACheckAreLookedUpForUsersAlone) {
  RunningController controller(1);
  CheckRequest request;
  request.mutable_selection()->add_only("lnik");
  const auto code_for = [&](const TlsFiles& files) {
    const auto context = NewContext();
    const auto check =
        controller.ClientAs(files)->Check(context.get(), request);
    CheckEvent event;
    EXPECT_FALSE(check->Read(&event));
    return check->Finish().error_code();
  };
  EXPECT_EQ(code_for(controller.certificates.Host("server0")),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(code_for(controller.certificates.User("eve")),
            grpc::StatusCode::NOT_FOUND);
}

// The log of a host that cannot attach with these files.
std::string WhyNotAttached(const TestController& controller,
                           const TlsFiles& files) {
  MemoryObserver observer{HostFacts()};
  TestHost::Options options;
  options.controller = controller.address();
  options.name = "server0";
  options.tls = files;
  TestHost host(options, &observer);
  EXPECT_TRUE(host.log().WaitFor("not attached to"));
  return host.log().Lines();
}

TEST(IdentityTest, HandshakeThatFailsIsLoggedWithThePeersAddress) {
  RunningController controller(1);
  TestCertificates stranger;
  // First only the certificate is foreign, then also the CA.
  TlsPem pem = Pem(stranger.Host("server0"));
  pem.ca = Pem(controller.certificates.Host("server0")).ca;
  EXPECT_FALSE(AttachAs(controller, pem).ok());
  EXPECT_TRUE(controller.log().WaitFor(
      "failed: its certificate is not signed by the CA that we read"));
  EXPECT_FALSE(AttachAs(controller, Pem(stranger.Host("server0"))).ok());
  EXPECT_TRUE(controller.log().WaitFor(
      "failed: it closed the connection in the middle; it may not trust"));
  const std::string lines = controller.log().Lines();
  EXPECT_THAT(lines, ContainsRegex("<4>TLS handshake with "
                                   "ipv4:127\\.0\\.0\\.1:[0-9]+ failed: its "));
  EXPECT_THAT(lines, ContainsRegex("<4>TLS handshake with "
                                   "ipv4:127\\.0\\.0\\.1:[0-9]+ failed: it "
                                   "closed"));
  controller.SettleAudit();
  EXPECT_THAT(TestCertificates::Text(controller.audit_path()),
              ContainsRegex("\"ipv4:127\\.0\\.0\\.1:[0-9]+\".*TLS handshake"));
}

TEST(IdentityTest, ForeignCaOnAHostReadsAsThat) {
  RunningController controller(1);
  TestCertificates stranger;
  const TlsFiles foreign = stranger.Host("server0");
  TlsFiles mixed = controller.certificates.Host("server0");
  mixed.ca = foreign.ca;
  const std::string one_of_another = absl::StrCat(
      "the CA in ", foreign.ca, " did not sign the certificate in ",
      mixed.certificate, ": one of them is of another cluster; put both there");
  const std::string not_ours = absl::StrCat(
      "wrong certificate: not signed by our CA (", foreign.ca, ")");
  EXPECT_THAT(WhyNotAttached(controller, mixed),
              AllOf(HasSubstr(not_ours), HasSubstr(one_of_another)));
  EXPECT_THAT(WhyNotAttached(controller, foreign),
              AllOf(HasSubstr(not_ours), Not(HasSubstr("did not sign"))));
  // Only the host trusts the other side: gRPC just says "Socket closed".
  mixed = foreign;
  mixed.ca = controller.certificates.Host("server0").ca;
  EXPECT_THAT(
      WhyNotAttached(controller, mixed),
      AllOf(HasSubstr(absl::StrCat("it may not trust our certificate (",
                                   mixed.certificate, ")")),
            HasSubstr(absl::StrCat("the CA in ", mixed.ca, " did not sign"))));
}

TEST(IdentityTest, NobodyElsePassesForTheController) {
  TestCertificates certificates;
  TestCertificates stranger;
  struct Row {
    const char* name;
    TlsFiles shown;
  };
  const Row rows[] = {
      {"controller of another authority", stranger.Controller()},
      {"host", certificates.Host("evil")},
      {"user", certificates.User("root")},
      {"controller of another cluster",
       certificates.Issue("other", {"spiffe://other/controller"})}};
  for (const Row& row : rows) {
    ThreadScheduler scheduler;
    TestController controller(&certificates, 1, &scheduler);
    controller.StartAs(row.shown);
    EXPECT_TRUE(absl::IsUnavailable(
        AttachAs(controller, Pem(certificates.Host("server0")))))
        << row.name;
    EXPECT_EQ(ListAs(&controller, certificates.User("eve")).error_code(),
              grpc::StatusCode::UNAVAILABLE)
        << row.name;
  }
}

TEST(IdentityTest, CertificateWithTwoIdentitiesIsRefused) {
  RunningController controller(1);
  const TlsFiles two = controller.certificates.Issue(
      "two", {"spiffe://test/host/server0", "spiffe://test/host/server1"});
  const TlsPem valid = Pem(controller.certificates.Host("server0"));
  EXPECT_THAT(
      AttachAs(controller,
               TlsPem{valid.ca, controller.certificates.Text(two.certificate),
                      controller.certificates.Text(two.key)}),
      Fails(absl::StatusCode::kUnauthenticated, HasText("2 URI names")));
}

TEST(IdentityTest, ConnectionWithoutTlsIsRefused) {
  RunningController controller(1);
  const auto stub = Controller::NewStub(grpc::CreateChannel(
      controller.address(), grpc::InsecureChannelCredentials()));
  ListHostsResponse response;
  EXPECT_EQ(stub->ListHosts(NewContext().get(), {}, &response).error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace clusterd
