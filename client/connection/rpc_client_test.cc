#include "client/connection/rpc_client.h"

#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <vector>

#include "config/identity/grpc_status.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::StartsWith;

// Returns the controller's message as an error quotes it.
std::string FromHead(const FindingValue& said) {
  return Say("about", Worded("controller-at", "head:7443"), said);
}

CheckProgress ProgressOf(uint32_t answered) {
  CheckProgress progress;
  progress.set_answered(answered);
  return progress;
}

class RpcClientTest : public testing::Test {
 protected:
  // Checks server0 at a controller with that script.
  absl::StatusOr<Report> Check(
      absl::Duration timeout = kPatience,
      const std::function<void(const CheckEvent&)>& on_event =
          [](const CheckEvent&) {}) {
    FakeController controller(script_);
    CheckRequest request;
    request.add_hosts("server0");
    absl::StatusOr<Report> report =
        ClientOf(controller)
            .Follow(&Controller::Stub::Check, request, timeout, "check",
                    on_event);
    asked_ = controller.check_request();
    return report;
  }
  ControllerClient ClientOf(FakeController& controller) {
    return ControllerClient(*controller.ToController({}),
                            "controller head:7443", interrupt_);
  }
  void ExpectEnd(const absl::Status& status, absl::StatusCode code,
                 const std::string& message) {
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(status.message(), message);
  }

  ControllerScript script_;
  Interrupt interrupt_;
  std::optional<CheckRequest> asked_;
};

TEST_F(RpcClientTest, HandsOverProgressThenTheReport) {
  script_.check_events = {EventOf(ProgressOf(1)), EventOf(ProgressOf(2)),
                          EventOf(PassingReport({"server0"}))};
  std::vector<uint32_t> seen;
  const auto report = Check(kPatience, [&](const CheckEvent& event) {
    seen.push_back(event.progress().answered());
  });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->verdict(), PASS);
  EXPECT_EQ(seen, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(asked_.value().hosts(0), "server0");
}

TEST_F(RpcClientTest, CallsAStreamWithoutReportAMistakeOfTheController) {
  ExpectEnd(Check().status(), absl::StatusCode::kInternal,
            FromHead(Worded("msg-call-answer-missing", "check", 0)));
}

TEST_F(RpcClientTest, DoesNotTrustAReportBeforeABrokenStream) {
  script_.check_events = {EventOf(PassingReport({"server0"}))};
  script_.check_status = {grpc::StatusCode::UNAVAILABLE, "Socket closed"};
  ExpectEnd(Check().status(), absl::StatusCode::kUnavailable,
            FromHead(Worded("msg-call-broken", "Socket closed")));
}

TEST_F(RpcClientTest, GivesUpAtTheDeadline) {
  script_.check_hangs = true;
  ExpectEnd(Check(absl::Milliseconds(50)).status(),
            absl::StatusCode::kDeadlineExceeded,
            FromHead(Worded("msg-call-no-answer", "50ms")));
}

TEST_F(RpcClientTest, EndsARunningCallOnCtrlCAndMakesNoOther) {
  script_.check_events = {EventOf(ProgressOf(1))};
  script_.check_hangs = true;
  const auto report =
      Check(kPatience, [&](const CheckEvent&) { interrupt_.Fire(); });
  ExpectEnd(report.status(), absl::StatusCode::kCancelled, "interrupted");
  FakeController controller({});
  EXPECT_TRUE(
      absl::IsCancelled(ClientOf(controller)
                            .Ask(&Controller::Stub::GetSpec, {}, kPatience)
                            .status()));
}

TEST_F(RpcClientTest, TellsACancelledCallFromCtrlC) {
  script_.hosts_status = {grpc::StatusCode::CANCELLED, "controller ends"};
  FakeController controller(script_);
  EXPECT_EQ(ClientOf(controller)
                .Ask(&Controller::Stub::ListHosts, {}, kPatience)
                .status()
                .message(),
            FromHead(ToFindingValue("controller ends")));
}

TEST_F(RpcClientTest, NamesTheSocketWhenTheDaemonRefuses) {
  script_.self_status = {grpc::StatusCode::FAILED_PRECONDITION, "no spec yet"};
  FakeController controller(script_);
  LocalClient client(*controller.ToLocalDaemon("/run/c.sock"), "/run/c.sock",
                     interrupt_);
  EXPECT_EQ(client.Ask(&LocalAgent::Stub::CheckSelf, {}, kPatience)
                .status()
                .message(),
            Say("about", "/run/c.sock", "no spec yet"));
}

struct Explained {
  grpc::StatusCode code;
  std::string message;
  FindingValue said;
};

// The texts below are those of gRPC 1.51.1; connector_test.cc meets real ones.
TEST(ExplainCallTest, SaysWhatHappenedAndWhatToCheck) {
  const std::string failed =
      "failed to connect to all addresses; last error: UNKNOWN: ";
  const std::string handshake =
      failed +
      "ipv4:127.0.0.1:1: Tls handshake failed: SSL_ERROR_SSL: error:0A000086:"
      "SSL routines::";
  const Interrupt interrupt;
  for (const Explained& each :
       {Explained{grpc::StatusCode::UNAVAILABLE,
                  failed + "ipv4:127.0.0.1:1: Failed to connect to remote "
                           "host: Connection refused",
                  Worded("msg-call-not-reachable", "Connection refused")},
        {grpc::StatusCode::UNAVAILABLE,
         failed + "unix:/run/x.sock: " + strerror(ENOENT),
         Worded("msg-call-not-reachable", strerror(ENOENT))},
        {grpc::StatusCode::UNAVAILABLE,
         "DNS resolution failed for head:1: C-ares status is not "
         "ARES_SUCCESS qtype=AAAA name=head is_balancer=0: Domain name not "
         "found",
         Worded("msg-call-name-not-resolved", "Domain name not found")},
        {grpc::StatusCode::UNAVAILABLE,
         failed + "ipv4:127.0.0.1:1: Custom verification check failed with "
                  "error: UNAUTHENTICATED: the other end is "
                  "spiffe://demo/host/server0, expected "
                  "spiffe://demo/controller",
         Worded("msg-call-wrong-peer", "spiffe://demo/host/server0",
                "spiffe://demo/controller")},
        {grpc::StatusCode::UNAVAILABLE, handshake + "certificate verify failed",
         Worded("msg-call-not-signed", "", "--ca")},
        {grpc::StatusCode::UNAVAILABLE, handshake + "wrong version number",
         Worded("msg-call-no-tls")},
        // The connection broke after it was made.
        {grpc::StatusCode::UNAVAILABLE, "Socket closed",
         Worded("msg-call-broken", "Socket closed")},
        {grpc::StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded",
         Worded("msg-call-no-answer", "1m10s")},
        // The controller's own message is passed on.
        {grpc::StatusCode::PERMISSION_DENIED, "ann: may not check",
         ToFindingValue("ann: may not check")},
        {grpc::StatusCode::UNAVAILABLE, "another check is running",
         ToFindingValue("another check is running")},
        {grpc::StatusCode::INTERNAL, "", ToFindingValue("INTERNAL")}}) {
    const absl::Status status = ExplainCall(
        grpc::Status(each.code, each.message),
        Worded("controller-at", "head:7443"), absl::Seconds(70), interrupt);
    EXPECT_EQ(static_cast<int>(status.code()), static_cast<int>(each.code));
    EXPECT_EQ(status.message(), FromHead(each.said));
  }
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
    EXPECT_THAT(english, HasSubstr("controller head:7443: "));
    EXPECT_THAT(ValueText(MessageLines(explained)[0]),
                StartsWith(Say("controller-at", "head:7443")));
    EXPECT_EQ(MessageLines(explained).size(),
              absl::IsInvalidArgument(explained) ? 2u : 1u);
    EXPECT_NE(ValueText(MessageWords(explained)), english);
  }
}

}  // namespace
}  // namespace clusterd
