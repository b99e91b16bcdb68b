#include "absl/strings/str_cat.h"
#include "daemon/process/log.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

// As gRPC 1.51 of Debian 12 logs it, with the trace "tcp".
std::string Read(absl::string_view connection, absl::string_view peer) {
  return absl::StrCat("READ ", connection, " (peer=", peer, ") error=OK");
}

std::string Failed(absl::string_view connection, absl::string_view why) {
  return absl::StrCat(
      "TCP:", connection,
      " got_error: UNKNOWN:FD Shutdown {file:\"lockfree_event.cc\", "
      "children:[UNKNOWN:Tls handshake failed: SSL_ERROR_SSL: ",
      why, " {tsi_code:10}]}");
}

TEST(FailedHandshakesTest, NamesThePeerOfTheConnectionThatFailed) {
  EXPECT_EQ(ReadFailedHandshake(Read("0xb1", "ipv4:10.1.0.2:4000")), "");
  EXPECT_EQ(ReadFailedHandshake(Read("0xa1", "ipv4:10.1.0.1:4000")), "");
  EXPECT_EQ(ReadFailedHandshake(
                Failed("0xa1", "error:06880006:asn1 encoding::EVP lib")),
            "TLS handshake with ipv4:10.1.0.1:4000 failed: its certificate is "
            "not signed by the CA that we read, or not valid now");
}

TEST(FailedHandshakesTest, TakesTheNewestPeerOfAConnectionsPointer) {
  ReadFailedHandshake(Read("0xa2", "ipv4:10.2.0.1:4000"));
  ReadFailedHandshake(Read("0xa2", "ipv4:10.2.0.2:4000"));
  EXPECT_EQ(ReadFailedHandshake(Failed("0xa2", "wrong version number")),
            "TLS handshake with ipv4:10.2.0.2:4000 failed: it does not speak "
            "TLS");
}

TEST(FailedHandshakesTest, NamesNoPeerThatItDoesNotKnow) {
  ReadFailedHandshake(Read("0xa3", "ipv4:10.3.0.1:4000"));
  EXPECT_EQ(ReadFailedHandshake(Failed("0xc3", "something new")),
            "TLS handshake with a peer that gRPC does not name failed: "
            "SSL_ERROR_SSL: something new");
}

TEST(FailedHandshakesTest, TellsOfAPeerThatClosedInTheMiddle) {
  EXPECT_EQ(
      ReadFailedHandshake(
          "TCP:0xa4 got_error: UNKNOWN:FD Shutdown {children:[UNKNOWN:"
          "Handshake read failed {children:[INTERNAL:Socket closed {fd:12, "
          "target_address:\"ipv6:%5B::1%5D:46100\"}]}]}"),
      "TLS handshake with ipv6:%5B::1%5D:46100 failed: it closed the "
      "connection in the middle; it may not trust our certificate, or only "
      "look whether the port is open");
}

TEST(FailedHandshakesTest, SaysTheSameOfOneAddressOnce) {
  ReadFailedHandshake(Read("0xa5", "ipv4:10.5.0.1:4000"));
  EXPECT_NE(ReadFailedHandshake(Failed("0xa5", "http request")), "");
  ReadFailedHandshake(Read("0xb5", "ipv4:10.5.0.1:4001"));
  EXPECT_EQ(ReadFailedHandshake(Failed("0xb5", "http request")), "");
  EXPECT_NE(ReadFailedHandshake(Failed("0xb5", "EVP lib")), "");
  ReadFailedHandshake(Read("0xc5", "ipv4:10.5.0.2:4000"));
  EXPECT_NE(ReadFailedHandshake(Failed("0xc5", "http request")), "");
}

TEST(FailedHandshakesTest, LeavesOtherEndsAlone) {
  ReadFailedHandshake(Read("0xa6", "ipv4:10.6.0.1:4000"));
  for (const char* end :
       {"TCP:0xa6 got_error: UNKNOWN:FD Shutdown {children:[UNKNOWN:Endpoint "
        "read failed]}",
        "TCP:0xa6 got_error: UNKNOWN:FD Shutdown {children:[UNKNOWN:Handshake "
        "read failed {children:[UNKNOWN:Handshake timed out]}]}",
        "TCP:0xa6 got_read: OK", "READ", "TCP:", ""}) {
    EXPECT_EQ(ReadFailedHandshake(end), "") << end;
  }
}

}  // namespace
}  // namespace clusterd
