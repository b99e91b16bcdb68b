#include "client/connection/rpc_client.h"

#include <functional>
#include <vector>

#include "absl/strings/match.h"
#include "config/identity/grpc_status.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

std::unique_ptr<ControllerClient> ClientOf(FakeController& controller,
                                           Interrupt& interrupt) {
  return std::make_unique<ControllerClient>(*controller.ToController({}),
                                            "controller head:7443", interrupt);
}

absl::StatusOr<Report> Check(
    FakeController& controller, Interrupt& interrupt,
    const CheckRequest& request, absl::Duration timeout,
    const std::function<void(const CheckEvent&)>& on_event) {
  return ClientOf(controller, interrupt)
      ->Follow(&Controller::Stub::Check, request, timeout, "check", on_event);
}

CheckProgress ProgressOf(uint32_t answered) {
  CheckProgress progress;
  progress.set_answered(answered);
  return progress;
}

void Ignore(const CheckEvent&) {}

TEST(RpcClientTest, HandsOverProgressThenTheReport) {
  ControllerScript script;
  script.check_events = {EventOf(ProgressOf(1)), EventOf(ProgressOf(2)),
                         EventOf(PassingReport({"server0"}))};
  FakeController controller(script);
  Interrupt interrupt;
  CheckRequest request;
  request.add_hosts("server0");
  std::vector<uint32_t> seen;
  const auto report = Check(controller, interrupt, request, kPatience,
                            [&](const CheckEvent& event) {
                              seen.push_back(event.progress().answered());
                            });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->verdict(), PASS);
  EXPECT_EQ(seen, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(controller.check_request().value().hosts(0), "server0");
}

TEST(RpcClientTest, CallsAStreamWithoutReportAMistakeOfTheController) {
  FakeController controller({});
  Interrupt interrupt;
  const auto report = Check(controller, interrupt, {}, kPatience, Ignore);
  EXPECT_TRUE(absl::IsInternal(report.status()));
  EXPECT_EQ(
      report.status().message(),
      "controller head:7443: ended the check with 0 answers, expected one");
}

TEST(RpcClientTest, DoesNotTrustAReportBeforeABrokenStream) {
  ControllerScript script;
  script.check_events = {EventOf(PassingReport({"server0"}))};
  script.check_status =
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "Socket closed");
  FakeController controller(script);
  Interrupt interrupt;
  const auto report = Check(controller, interrupt, {}, kPatience, Ignore);
  EXPECT_TRUE(absl::IsUnavailable(report.status()));
  EXPECT_EQ(report.status().message(),
            "controller head:7443: the connection broke: Socket closed");
}

TEST(RpcClientTest, GivesUpAtTheDeadline) {
  ControllerScript script;
  script.check_hangs = true;
  FakeController controller(script);
  Interrupt interrupt;
  const auto report =
      Check(controller, interrupt, {}, absl::Milliseconds(50), Ignore);
  EXPECT_TRUE(absl::IsDeadlineExceeded(report.status()));
  EXPECT_EQ(report.status().message(),
            "controller head:7443: no answer in 50ms (--timeout)");
}

TEST(RpcClientTest, EndsARunningCallOnCtrlC) {
  ControllerScript script;
  script.check_events = {EventOf(ProgressOf(1))};
  script.check_hangs = true;
  FakeController controller(script);
  Interrupt interrupt;
  const auto report = Check(controller, interrupt, {}, kPatience,
                            [&](const CheckEvent&) { interrupt.Fire(); });
  EXPECT_TRUE(absl::IsCancelled(report.status()));
  EXPECT_EQ(report.status().message(), "interrupted");
}

TEST(RpcClientTest, MakesNoCallAfterCtrlC) {
  FakeController controller({});
  Interrupt interrupt;
  interrupt.Fire();
  EXPECT_TRUE(
      absl::IsCancelled(ClientOf(controller, interrupt)
                            ->Ask(&Controller::Stub::GetSpec, {}, kPatience)
                            .status()));
}

TEST(RpcClientTest, TellsACancelledCallFromCtrlC) {
  ControllerScript script;
  script.hosts_status =
      grpc::Status(grpc::StatusCode::CANCELLED, "controller ends");
  FakeController controller(script);
  Interrupt interrupt;
  EXPECT_EQ(ClientOf(controller, interrupt)
                ->Ask(&Controller::Stub::ListHosts, {}, kPatience)
                .status()
                .message(),
            "controller head:7443: controller ends");
}

TEST(RpcClientTest, NamesTheSocketWhenTheDaemonRefuses) {
  ControllerScript script;
  script.self_status =
      grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "no spec yet");
  FakeController controller(script);
  Interrupt interrupt;
  LocalClient client(*controller.ToLocalDaemon("/run/c.sock"),
                     "clusterd of this host, /run/c.sock", interrupt);
  const auto answer = client.Ask(&LocalAgent::Stub::CheckSelf, {}, kPatience);
  EXPECT_EQ(answer.status().message(),
            "clusterd of this host, /run/c.sock: no spec yet");
}

std::string Explain(grpc::StatusCode code, const std::string& message) {
  const Interrupt interrupt;
  const absl::Status status = ExplainCall(grpc::Status(code, message),
                                          Worded("controller-at", "head:7443"),
                                          absl::Seconds(70), interrupt);
  EXPECT_EQ(static_cast<int>(status.code()), static_cast<int>(code));
  return std::string(status.message());
}

std::string ExplainUnavailable(const std::string& message) {
  return Explain(grpc::StatusCode::UNAVAILABLE, message);
}

// The texts below are those of gRPC 1.51.1; connector_test.cc meets real ones.
TEST(ExplainCallTest, SaysWhyNobodyIsReached) {
  EXPECT_EQ(
      ExplainUnavailable("failed to connect to all addresses; last error: "
                         "UNKNOWN: ipv4:127.0.0.1:1: Failed to connect to "
                         "remote host: Connection refused"),
      "controller head:7443: not reachable: Connection refused");
  EXPECT_EQ(ExplainUnavailable(
                "failed to connect to all addresses; last error: "
                "UNKNOWN: unix:/run/x.sock: No such file or directory"),
            "controller head:7443: not reachable: No such file or directory");
  EXPECT_EQ(
      ExplainUnavailable("DNS resolution failed for head:1: C-ares status is "
                         "not ARES_SUCCESS qtype=AAAA name=head is_balancer=0: "
                         "Domain name not found"),
      "controller head:7443: host name not resolved: Domain name not found");
}

TEST(ExplainCallTest, SaysWhichCertificateIsWrong) {
  EXPECT_EQ(
      ExplainUnavailable(
          "failed to connect to all addresses; last error: UNKNOWN: "
          "ipv4:127.0.0.1:1: Custom verification check failed with error: "
          "UNAUTHENTICATED: the other end is spiffe://demo/host/server0, "
          "expected "
          "spiffe://demo/controller"),
      "controller head:7443: wrong certificate: the other end is "
      "spiffe://demo/host/server0, expected spiffe://demo/controller");
  EXPECT_EQ(
      ExplainUnavailable("failed to connect to all addresses; last error: "
                         "UNKNOWN: ipv4:127.0.0.1:1: Tls handshake failed: "
                         "SSL_ERROR_SSL: error:0A000086:SSL "
                         "routines::certificate verify failed"),
      "controller head:7443: wrong certificate: not signed by our CA (--ca), "
      "or not valid now");
}

TEST(ExplainCallTest, SaysThatAnotherProgramListensThere) {
  EXPECT_EQ(
      ExplainUnavailable("failed to connect to all addresses; last error: "
                         "UNKNOWN: ipv4:127.0.0.1:1: Tls handshake failed: "
                         "SSL_ERROR_SSL: error:0A00010B:SSL routines::wrong "
                         "version number"),
      "controller head:7443: does not speak TLS; another program may be "
      "listening there");
}

TEST(ExplainCallTest, NamesTheTimeAndTheOptionOfADeadline) {
  EXPECT_EQ(Explain(grpc::StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded"),
            "controller head:7443: no answer in 1m10s (--timeout)");
}

TEST(ExplainCallTest, PassesOnWhatTheOtherEndSaid) {
  EXPECT_EQ(Explain(grpc::StatusCode::PERMISSION_DENIED, "ann: may not check"),
            "controller head:7443: ann: may not check");
  EXPECT_EQ(ExplainUnavailable("another check is running"),
            "controller head:7443: another check is running");
  EXPECT_EQ(Explain(grpc::StatusCode::INTERNAL, ""),
            "controller head:7443: INTERNAL");
}

TEST(ExplainCallTest, TellsABrokenConnectionFromOneThatNeverWas) {
  EXPECT_EQ(ExplainUnavailable("Socket closed"),
            "controller head:7443: the connection broke: Socket closed");
}

// A controller's error has words, too, and each line stays one.
TEST(ExplainCallTest, IsRenderedInTheUsersLanguage) {
  const absl::Status sent =
      WithWords(absl::InvalidArgumentError(""),
                Lines({Worded("msg-trust-no-certificate"),
                       Worded("msg-trust-ca-revoked", "CN=a")}));
  const Interrupt interrupt;
  for (const grpc::Status& status :
       {ToGrpcStatus(sent),
        grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, ""),
        grpc::Status(grpc::StatusCode::UNAVAILABLE,
                     "failed to connect to all addresses; last error: UNKNOWN: "
                     "ipv4:10.0.0.1:1: Failed to connect to remote host: "
                     "Connection refused")}) {
    const absl::Status explained =
        ExplainCall(status, Worded("controller-at", "head:7443"),
                    absl::Seconds(70), interrupt);
    const std::string english(explained.message());
    const InLanguage chinese(Language::kChinese);
    EXPECT_TRUE(absl::StrContains(english, "controller head:7443: "));
    EXPECT_TRUE(absl::StartsWith(ValueText(MessageLines(explained)[0]),
                                 Say("controller-at", "head:7443")));
    EXPECT_EQ(MessageLines(explained).size(),
              absl::IsInvalidArgument(explained) ? 2u : 1u);
    EXPECT_NE(ValueText(MessageWords(explained)), english);
  }
}

}  // namespace
}  // namespace clusterd
