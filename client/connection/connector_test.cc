#include "client/connection/connector.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/connection/rpc_client.h"
#include "config/identity/tls_credentials.h"
#include "gmock/gmock.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "proto/controller.grpc.pb.h"
#include "tests/support/config/test_authority.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::EndsWith, ::testing::HasSubstr;

class SpecService final : public Controller::Service {
 public:
  grpc::Status GetSpec(grpc::ServerContext*, const GetSpecRequest*,
                       GetSpecResponse* response) override {
    response->mutable_spec()->set_name("demo");
    return grpc::Status::OK;
  }
};

std::string TestPath(const std::string& name) {
  return absl::StrCat(
      testing::TempDir(), "/",
      testing::UnitTest::GetInstance()->current_test_info()->name(), "-", name);
}

// A certificate with this id as three files.
TlsFiles WriteFiles(const std::string& name, const TestAuthority& signer,
                    const TestAuthority& trusted, const std::string& id) {
  const TlsPem pem = signer.Issue({id});
  const TlsFiles files = {TestPath(name + ".ca"), TestPath(name + ".crt"),
                          TestPath(name + ".key")};
  std::ofstream(files.ca) << trusted.certificate_pem();
  std::ofstream(files.certificate) << pem.certificate;
  std::ofstream(files.key) << pem.key;
  chmod(files.key.c_str(), 0600);
  return files;
}

// A controller on a port that the kernel chooses.
struct RunningController {
  SpecService service;
  std::unique_ptr<grpc::Server> server;
  std::string address;

  explicit RunningController(
      std::shared_ptr<grpc::ServerCredentials> credentials) {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.RegisterService(&service);
    builder.AddListeningPort("127.0.0.1:0", std::move(credentials), &port);
    server = builder.BuildAndStart();
    address = absl::StrCat("127.0.0.1:", port);
  }
};

// A port without a listener, which other programs cannot take meanwhile.
class DeafPort {
 public:
  DeafPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own = {};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(own);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&own), size), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&own), &size), 0);
    address_ = absl::StrCat("127.0.0.1:", ntohs(own.sin_port));
  }
  ~DeafPort() { close(fd_); }
  DeafPort(const DeafPort&) = delete;
  DeafPort& operator=(const DeafPort&) = delete;

  const std::string& address() const { return address_; }

 private:
  const int fd_;
  std::string address_;
};

absl::Status Ask(const std::string& address, const TlsFiles& files) {
  GrpcConnector connector;
  const auto channel = connector.ToController({address, "demo", files});
  if (!channel.ok()) return channel.status();
  Interrupt interrupt;
  ControllerClient client(*channel, absl::StrCat("controller ", address),
                          interrupt);
  return client.Ask(&Controller::Stub::GetSpec, {}, kPatience).status();
}

class GrpcConnectorTest : public testing::Test {
 protected:
  const std::unique_ptr<TestAuthority> ca_ = TestAuthority::Create();
  const std::unique_ptr<TestAuthority> other_ca_ = TestAuthority::Create();

  TlsFiles User() {
    return WriteFiles("user", *ca_, *ca_, "spiffe://demo/user/ann/role/viewer");
  }
  std::unique_ptr<RunningController> Start(const TestAuthority& signer,
                                           const std::string& id) {
    return std::make_unique<RunningController>(
        *MakeServerCredentials(WriteFiles("server", signer, *ca_, id)));
  }
};

TEST_F(GrpcConnectorTest, ReachesTheControllerOfItsCluster) {
  const auto controller = Start(*ca_, "spiffe://demo/controller");
  EXPECT_TRUE(Ask(controller->address, User()).ok());
}

TEST_F(GrpcConnectorTest, SaysWhichCertificateIsRefused) {
  const struct {
    const char* name;
    const TestAuthority& of_server;
    const char* server;
    const TestAuthority& of_user;
    testing::Matcher<std::string> message;
  } kCases[] = {
      {"a host poses as the controller", *ca_, "spiffe://demo/host/server0",
       *ca_,
       EndsWith(Say("msg-call-wrong-peer", "spiffe://demo/host/server0",
                    "spiffe://demo/controller"))},
      {"a controller of another authority", *other_ca_,
       "spiffe://demo/controller", *ca_,
       EndsWith(Say("msg-call-not-signed", "", "--ca"))},
      {"our own certificate", *ca_, "spiffe://demo/controller", *other_ca_,
       HasSubstr("our certificate (--cert)")}};
  for (const auto& each : kCases) {
    const auto server = Start(each.of_server, each.server);
    const TlsFiles user = WriteFiles("user", each.of_user, *ca_,
                                     "spiffe://demo/user/ann/role/viewer");
    const absl::Status status = Ask(server->address, user);
    EXPECT_TRUE(absl::IsUnavailable(status)) << each.name;
    EXPECT_THAT(std::string(status.message()), each.message) << each.name;
  }
}

TEST_F(GrpcConnectorTest, SaysThatAProgramWithoutTlsListensThereOrNone) {
  const RunningController plain(grpc::InsecureServerCredentials());
  EXPECT_THAT(std::string(Ask(plain.address, User()).message()),
              EndsWith(Say("msg-call-no-tls")));
  const DeafPort port;
  EXPECT_THAT(std::string(Ask(port.address(), User()).message()),
              EndsWith(Say("msg-call-not-reachable", "Connection refused")));
}

TEST_F(GrpcConnectorTest, NamesACertificateFileThatIsNotThere) {
  TlsFiles files = User();
  files.certificate = "/nonexistent/user.crt";
  const absl::Status status = Ask("127.0.0.1:1", files);
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(status.message(), HasSubstr("/nonexistent/user.crt"));
}

TEST_F(GrpcConnectorTest, SaysThatNoDaemonIsBehindTheSocket) {
  GrpcConnector connector;
  const std::string path = "/nonexistent/clusterd.sock";
  Interrupt interrupt;
  LocalClient client(*connector.ToLocalDaemon(path), path, interrupt);
  const absl::Status status =
      client.Ask(&LocalAgent::Stub::CheckSelf, {}, kPatience).status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_EQ(
      status.message(),
      Say("about", path, Worded("msg-call-not-reachable", strerror(ENOENT))));
}

TEST_F(GrpcConnectorTest, RefusesASocketPathThatNoSocketHas) {
  GrpcConnector connector;
  EXPECT_TRUE(absl::IsInvalidArgument(connector.ToLocalDaemon("").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      connector.ToLocalDaemon(std::string(200, 'x')).status()));
}

}  // namespace
}  // namespace clusterd
