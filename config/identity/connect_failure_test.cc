#include "absl/strings/str_cat.h"
#include "config/identity/tls_credentials.h"
#include "config/words/message.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

// The message of gRPC 1.51 in Debian 12.
std::string Failed(absl::string_view why) {
  return std::string(
      ExplainUnavailable(
          absl::UnavailableError(absl::StrCat(
              "failed to connect to all addresses; last error: UNKNOWN: "
              "ipv4:10.0.0.1:7443: ",
              why)),
          {"/etc/ca.crt", "/etc/host.crt", "/etc/host.key"})
          .message());
}

TEST(ExplainUnavailableTest, NamesTheFileThatMayBeWrong) {
  EXPECT_EQ(Failed("Tls handshake failed: SSL_ERROR_SSL: error:06880006:asn1 "
                   "encoding routines::EVP lib"),
            "wrong certificate: not signed by our CA (/etc/ca.crt), or not "
            "valid now");
  // The message depends on how soon the other end closes.
  for (const char* const closed :
       {"Socket closed", "Connection reset by peer", "Broken pipe"}) {
    EXPECT_EQ(Failed(closed),
              absl::StrCat("closed the connection before any answer (", closed,
                           "); it may not trust our certificate "
                           "(/etc/host.crt), or be ending"));
  }
}

TEST(ExplainUnavailableTest, KeepsTheSystemsReason) {
  EXPECT_EQ(Failed("Failed to connect to remote host: Connection refused"),
            "not reachable: Connection refused");
  const absl::Status stops = UnavailableWords("msg-call-interrupted");
  EXPECT_EQ(ExplainUnavailable(stops, {}), stops);
}

TEST(CheckOneClusterTest, LeavesFilesThatCannotBeReadToOthers) {
  EXPECT_TRUE(
      CheckOneCluster({"/nowhere/ca", "/nowhere/crt", "/nowhere/key"}).ok());
}

}  // namespace
}  // namespace clusterd
