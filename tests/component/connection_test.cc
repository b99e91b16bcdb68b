// Connections of well-behaved peers that die silently, and renewed
// certificates.
#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "config/identity/grpc_status.h"
#include "config/identity/root_bundle.h"
#include "config/words/message.h"
#include "daemon/process/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/running_controller.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/support/http/tcp_proxy.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Connects through the proxy, and soon notices a dead connection.
TestHost::Options ImpatientHost(const TcpProxy& proxy,
                                TestCertificates& certificates) {
  TestHost::Options options;
  options.controller = proxy.address();
  options.name = "server0";
  options.tls = certificates.Host("server0");
  options.dial.keepalive_time = absl::Milliseconds(100);
  options.dial.keepalive_timeout = absl::Milliseconds(100);
  return options;
}

TEST(ConnectionTest, ControllerNoticesHostThatIsSuddenlyGone) {
  ControllerServerOptions options;
  options.keepalive_time = absl::Milliseconds(100);
  options.keepalive_timeout = absl::Milliseconds(100);
  options.min_ping_interval = absl::Milliseconds(10);
  RunningController controller(1, options);
  TcpProxy proxy(PortOf(controller.address()));
  MemoryObserver observer{HostFacts()};
  TestHost host(ImpatientHost(proxy, controller.certificates), &observer);
  // On a slow machine each side may give up too early; then the host
  // reconnects.
  const auto attached = [&] { return controller.Entry("server0").attached(); };
  ASSERT_TRUE(WaitUntil(attached)) << controller.log().Lines();
  proxy.CutAll();
  EXPECT_TRUE(WaitUntil([&] { return !attached(); }))
      << controller.log().Lines();
  EXPECT_EQ(controller.Entry("server0").detached_reason(),
            "the connection broke");
}

TEST(ConnectionTest, NoSideGivesUpOnWhatTheOtherStillWorksAt) {
  EXPECT_EQ(kConnectTimeout, kHandshakeTimeout);
  // Enough for many hosts at once, and bounded.
  EXPECT_GE(kConnectTimeout, absl::Seconds(60));
  EXPECT_LE(kConnectTimeout, absl::Seconds(90));
  EXPECT_GT(kWelcomeTimeout, kConnectTimeout);
}

TEST(ConnectionTest, HostsGetTheReconnectTimeBeforehandAndAtTheEnd) {
  ControllerServerOptions options;
  options.admission.rate = 1;
  RunningController controller(100, options);
  const uint32_t spread_ms =
      100'000 / std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
  RawHost host(controller.address(), controller.certificates.Host("server0"));
  ASSERT_TRUE(host.Send(RawHost::Hello()));
  HubMessage welcome;
  ASSERT_TRUE(host.Receive(&welcome));
  EXPECT_EQ(welcome.welcome().reconnect_spread_ms(), spread_ms);

  // Reads all the time, like clusterd.
  HubMessage leave;
  bool received = false;
  std::thread reader([&] { received = host.Receive(&leave); });
  controller.Stop();
  reader.join();

  ASSERT_TRUE(received);
  EXPECT_EQ(leave.leave().come_back_within_ms(), spread_ms);
  EXPECT_EQ(host.End(), UnavailableWords("msg-hub-stopping"));
}

TEST(ConnectionTest, HostNoticesControllerThatIsSuddenlyGoneAndReturns) {
  ControllerServerOptions options;
  options.min_ping_interval = absl::Milliseconds(10);
  RunningController controller(1, options);
  TcpProxy proxy(PortOf(controller.address()));
  MemoryObserver observer{HostFacts()};
  TestHost host(ImpatientHost(proxy, controller.certificates), &observer);
  ASSERT_TRUE(host.WaitAttached());
  proxy.CutPresentConnections();
  // The machine is the same, so its new stream replaces the one that the
  // controller takes for alive.
  EXPECT_TRUE(host.log().WaitFor("not attached"));
  EXPECT_TRUE(host.WaitAttached());
  EXPECT_TRUE(
      WaitUntil([&] { return controller.Entry("server0").attached(); }));
  EXPECT_EQ(controller.Entry("server0").conflict(), "");
}

TEST(ConnectionTest, RenewedCertificateIsTakenUpWithoutRestart) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 1, &scheduler);
  // Starts with a certificate of an authority that no host knows.
  TestCertificates stranger;
  const TlsFiles files = stranger.Controller();
  controller.StartAs(files, /*refresh_seconds=*/1);
  MemoryObserver observer{HostFacts()};
  TestHost::Options options;
  options.controller = controller.address();
  options.name = "server0";
  options.tls = certificates.Host("server0");
  TestHost host(options, &observer);
  ASSERT_TRUE(host.log().WaitFor("not attached"));
  const TlsFiles renewed = certificates.Controller();
  std::filesystem::rename(renewed.ca, files.ca);
  std::filesystem::rename(renewed.certificate, files.certificate);
  std::filesystem::rename(renewed.key, files.key);
  EXPECT_TRUE(host.WaitAttached());
}

// New roots affect TLS, and rule roots-uniform, which compares hosts with the
// controller's last reading.
TEST(ConnectionTest, NewRootsCountWithoutARestartAndOldOnesDoNot) {
  TestCertificates old;
  TestCertificates next;
  ManualScheduler scheduler;
  TestController controller(&old, 1, &scheduler);
  const TlsFiles files = old.Controller();
  controller.StartAs(files, /*refresh_seconds=*/1);
  HostFacts facts;
  for (const std::string& hash :
       RootHashes(old.authority().certificate_pem())) {
    facts.mutable_roots()->mutable_value()->add_hashes(hash);
  }
  MemoryObserver observer(facts);
  TestHost::Options options;
  options.controller = controller.address();
  options.name = "server0";
  options.tls = old.Host("server0");
  TestHost host(options, &observer);
  ASSERT_TRUE(host.WaitAttached());
  const auto rule_as = [&](const TlsFiles& user) -> absl::StatusOr<State> {
    const auto client = controller.ClientAs(user);
    const auto context = NewContext();
    CheckRequest request;
    request.mutable_selection()->add_only("roots-uniform");
    const auto stream = client->Check(context.get(), request);
    Report report;
    for (CheckEvent event; stream->Read(&event);) report = event.report();
    const absl::Status status = ToAbslStatus(stream->Finish());
    if (!status.ok()) return status;
    return RuleOf(report, "roots-uniform").state();
  };
  const auto before = rule_as(old.User("ann")).value();
  EXPECT_EQ(before, PASS);
  const TlsFiles renewed = next.Controller();
  std::filesystem::rename(renewed.ca, files.ca);
  std::filesystem::rename(renewed.certificate, files.certificate);
  std::filesystem::rename(renewed.key, files.key);
  absl::StatusOr<State> after = absl::UnknownError("not asked yet");
  ASSERT_TRUE(WaitUntil([&] {
    after = rule_as(next.User("ann"));
    return after.ok();
  })) << after.status();
  TlsFiles of_old = old.User("ann");
  of_old.ca = next.User("ann").ca;
  EXPECT_TRUE(absl::IsUnavailable(rule_as(of_old).status()));
  scheduler.Advance(absl::Seconds(10));
  controller.pool().Drain();
  after = rule_as(next.User("ann"));
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(*after, FAIL);
}

TEST(ConnectionTest, PortInUseIsSaidInOurWords) {
  RunningController controller(1);
  // Never deleted, since a thread of gRPC may still write to it at the end.
  static auto* const grpc_log = new CapturedLog();
  SendGrpcLogTo(grpc_log);
  CapturedLog log;
  WorkerPool pool(1, 4);
  ControllerServerOptions options;
  options.listen = controller.address();
  AuditLog audit(controller.certificates.folder() + "/audit.jsonl", {1 << 20},
                 "", &controller.scheduler, &log);
  const auto listen = [&] {
    return ControllerServer::Start(
               options,
               *MakeServerCredentials(controller.certificates.Controller()),
               {&controller.spec(), &controller.history(),
                &controller.scheduler, &pool, &log, /*hosts=*/nullptr,
                &controller.gate(), &audit})
        .status();
  };
  const std::string port = absl::StrCat(PortOf(controller.address()));
  EXPECT_EQ(listen(),
            absl::UnavailableError(absl::StrCat(
                "cannot listen on \"127.0.0.1:", port,
                "\": another program listens there already; `ss -ltnp 'sport "
                "= :",
                port,
                "'` names it, expected a free ADDRESS:PORT of this machine "
                "(--listen)")));
  // An address reserved for documentation, which no machine has.
  options.listen = "192.0.2.1:0";
  EXPECT_EQ(listen(),
            absl::UnavailableError(
                "cannot listen on \"192.0.2.1:0\": Cannot assign requested "
                "address, expected a free ADDRESS:PORT of this machine "
                "(--listen)"));
  SendGrpcLogTo(nullptr);
  // Only the caller logs it. gRPC may log about connections of other tests.
  EXPECT_EQ(log.Lines(), "");
  EXPECT_THAT(grpc_log->Lines(), Not(AnyOf(HasSubstr(controller.address()),
                                           HasSubstr("192.0.2.1"))));
}

}  // namespace
}  // namespace clusterd
