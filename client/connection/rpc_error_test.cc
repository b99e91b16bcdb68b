#include "client/connection/rpc_error.h"

#include <string>

#include "gtest/gtest.h"

namespace clusterd {
namespace {

std::string Explain(grpc::StatusCode code, const std::string& message) {
  const absl::Status status = ExplainRpcError(
      grpc::Status(code, message), "controller head:7443", absl::Seconds(70));
  EXPECT_EQ(static_cast<int>(status.code()), static_cast<int>(code));
  return std::string(status.message());
}

std::string ExplainUnavailable(const std::string& message) {
  return Explain(grpc::StatusCode::UNAVAILABLE, message);
}

// The texts below are what gRPC 1.51.1 says; connector_test.cc meets the real
// ones.
TEST(ExplainRpcErrorTest, SaysWhyNobodyIsReached) {
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

TEST(ExplainRpcErrorTest, SaysWhichCertificateIsWrong) {
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

TEST(ExplainRpcErrorTest, SaysThatAnotherProgramListensThere) {
  EXPECT_EQ(
      ExplainUnavailable("failed to connect to all addresses; last error: "
                         "UNKNOWN: ipv4:127.0.0.1:1: Tls handshake failed: "
                         "SSL_ERROR_SSL: error:0A00010B:SSL routines::wrong "
                         "version number"),
      "controller head:7443: does not speak TLS; another program may be "
      "listening there");
}

TEST(ExplainRpcErrorTest, NamesTheTimeAndTheOptionOfADeadline) {
  EXPECT_EQ(Explain(grpc::StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded"),
            "controller head:7443: no answer in 1m10s (--timeout)");
}

TEST(ExplainRpcErrorTest, PassesOnWhatTheOtherEndSaid) {
  EXPECT_EQ(Explain(grpc::StatusCode::PERMISSION_DENIED, "ann: may not check"),
            "controller head:7443: ann: may not check");
  EXPECT_EQ(ExplainUnavailable("another check is running"),
            "controller head:7443: another check is running");
  EXPECT_EQ(Explain(grpc::StatusCode::INTERNAL, ""),
            "controller head:7443: INTERNAL");
}

TEST(ExplainRpcErrorTest, TellsABrokenConnectionFromOneThatNeverWas) {
  EXPECT_EQ(ExplainUnavailable("Socket closed"),
            "controller head:7443: the connection broke: Socket closed");
}

}  // namespace
}  // namespace clusterd
