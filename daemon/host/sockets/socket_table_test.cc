#include <string>

#include "daemon/host/sockets/socket_observer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

constexpr char kListening[] =
    "   0: 0100007F:EA60 00000000:0000 0A 00000000:00000000 00:00000000 "
    "00000000  1000        0 12345 1 0000000000000000 100 0 0 10 0 ";

TEST(ParseSocketLineTest, ReadsAListeningSocket) {
  const absl::StatusOr<SocketLine> socket = ParseSocketLine("tcp", kListening);
  ASSERT_TRUE(socket.ok()) << socket.status();
  EXPECT_EQ(socket->socket.address(), "127.0.0.1");
  EXPECT_EQ(socket->socket.port(), 60000u);
  EXPECT_EQ(socket->socket.state(), "LISTEN");
  EXPECT_EQ(socket->inode, 12345u);
}

TEST(ParseSocketLineTest, ReadsAnIpv6Socket) {
  const absl::StatusOr<SocketLine> socket = ParseSocketLine(
      "tcp6",
      "   0: 00000000000000000000000001000000:9753 "
      "00000000000000000000000000000000:0000 01 00000000:00000000 00:00000000 "
      "00000000     0        0 6483 1 0000000030ed5212 100 0 0 10 0");
  ASSERT_TRUE(socket.ok()) << socket.status();
  EXPECT_EQ(socket->socket.address(), "::1");
  EXPECT_EQ(socket->socket.port(), 0x9753u);
  EXPECT_EQ(socket->socket.state(), "ESTABLISHED");
}

TEST(ParseSocketLineTest, HasNoStateForUdp) {
  const absl::StatusOr<SocketLine> socket = ParseSocketLine("udp", kListening);
  ASSERT_TRUE(socket.ok()) << socket.status();
  EXPECT_EQ(socket->socket.state(), "");
}

TEST(ParseSocketLineTest, NamesAStateThatItDoesNotKnow) {
  std::string line = kListening;
  line.replace(line.find(" 0A "), 4, " 7F ");
  EXPECT_EQ(ParseSocketLine("tcp", line)->socket.state(), "state 7f");
}

TEST(ParseSocketLineTest, RejectsALineOfTheOtherFamily) {
  EXPECT_EQ(ParseSocketLine("tcp6", kListening).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ParseSocketLineTest, RejectsACutLine) {
  const absl::string_view line = kListening;
  for (size_t size = 0; size < 85; size += 5) {
    EXPECT_FALSE(ParseSocketLine("tcp", line.substr(0, size)).ok())
        << line.substr(0, size);
  }
}

TEST(ParseSocketPortTest, ReadsThePortAlone) {
  EXPECT_EQ(*ParseSocketPort(kListening), 60000u);
}

TEST(ParseSocketPortTest, QuotesWhatIsNoSocketLine) {
  const absl::Status status =
      ParseSocketPort("  sl  local_address rem_address   st").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("local_address"));
  EXPECT_FALSE(ParseSocketPort("0: 0100007F:EA6").ok());
  EXPECT_FALSE(ParseSocketPort("0: 0100007F").ok());
  EXPECT_FALSE(ParseSocketPort("x: 0100007F:EA60").ok());
}

}  // namespace
}  // namespace clusterd
