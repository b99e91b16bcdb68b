#include "daemon/host/sockets/socket_observer.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "daemon/host/command/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/has_fields.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

constexpr char kHeader[] = "  sl  local_address rem_address   st\n";

std::string Line(const std::string& local, int state, int inode) {
  return absl::StrFormat(
      "   0: %s 00000000:0000 %02X 00000000:00000000 00:00000000 00000000"
      "     0        0 %d 1 0000000000000000 100 0 0 10 0\n",
      local, state, inode);
}

class SocketObserverTest : public ::testing::Test {
 protected:
  SocketObserverTest() {
    ports_.Add(60000, 60031);
    root_.Write("/proc/net/tcp", kHeader);
    root_.Write("/proc/net/udp", kHeader);
  }

  SocketsFact Read() {
    return ReadSockets(FileReader(root_.path()), ports_, budget_);
  }

  ScratchRoot root_;
  FakeClock clock_;
  TimeBudget budget_{&clock_, absl::Seconds(10), absl::Seconds(30)};
  PortSet ports_;
};

TEST_F(SocketObserverTest, FindsNothingInEmptyTables) {
  const SocketsFact fact = Read();
  EXPECT_TRUE(fact.has_value());
  EXPECT_EQ(fact.value().sockets_size(), 0);
}

TEST_F(SocketObserverTest, NamesSocketsInThePortsAndTheirOwners) {
  root_.Write("/proc/net/tcp", kHeader + Line("00000000:EA60", 10, 111) +
                                   Line("0100007F:0016", 10, 222));
  // Not sockets, despite the number of one.
  root_.Link("/proc/10/fd/0", "pipe:[111]");
  root_.Link("/proc/10/fd/1", "socket:[111");
  root_.Link("/proc/4711/fd/0", "/dev/null");
  root_.Link("/proc/4711/fd/3", "socket:[111]");
  root_.Write("/proc/4711/comm", "python3\n");
  root_.Write("/proc/4711/stat", "4711 (a) R 9 (b) S 4700 4711 4700 0\n");
  root_.Write("/proc/uptime", "1\n");
  const SocketsFact fact = Read();
  ASSERT_EQ(fact.value().sockets_size(), 1);
  const BoundSocket& socket = fact.value().sockets(0);
  EXPECT_THAT(socket, HasFields(R"(
      port: 60000 parent: 4700 protocol: "tcp" address: "0.0.0.0"
      state: "LISTEN" pid: 4711 command: "python3")"));
}

TEST_F(SocketObserverTest, ReadsAllFourTablesInOrderOfPorts) {
  root_.Write("/proc/net/udp", kHeader + Line("00000000:EA61", 7, 1));
  root_.Write("/proc/net/tcp6",
              kHeader + Line("00000000000000000000000000000000:EA60", 10, 2));
  root_.Write("/proc/net/udp6",
              kHeader + Line("00000000000000000000000000000000:EA60", 7, 3));
  const SocketsFact fact = Read();
  ASSERT_THAT(fact.value(),
              HasFields("sockets { protocol: 'tcp6' } sockets { "
                        "protocol: 'udp6' } sockets { protocol: 'udp' }"));
}

TEST_F(SocketObserverTest, KeepsSocketsWithoutVisibleOwner) {
  root_.Write("/proc/net/tcp", kHeader + Line("00000000:EA60", 6, 0) +
                                   Line("00000000:EA61", 10, 333));
  const SocketsFact fact = Read();
  ASSERT_THAT(fact.value(),
              HasFields("sockets { state: 'TIME_WAIT' } sockets { pid: 0 }"));
}

TEST_F(SocketObserverTest, GivesASharedSocketItsFirstOwnersPrintableName) {
  root_.Write("/proc/net/tcp", kHeader + Line("00000000:EA60", 10, 111));
  root_.Link("/proc/10/fd/3", "socket:[111]");
  root_.Link("/proc/11/fd/3", "socket:[111]");
  root_.Write("/proc/10/comm", "\x1b[2J\xff\n");
  const SocketsFact fact = Read();
  EXPECT_EQ(fact.value().sockets(0).pid(), 10u);
  EXPECT_EQ(fact.value().sockets(0).command(), "\\x1b[2J\\xff");
}

// clusterd's connection to the controller may have a port of the range.
TEST_F(SocketObserverTest, LeavesOutConnectionsOfThisProcess) {
  root_.Write("/proc/net/tcp", kHeader + Line("0100000A:EA60", 1, 111) +
                                   Line("0100000A:EA61", 1, 112) +
                                   Line("00000000:EA62", 10, 113));
  const std::string self = absl::StrCat("/proc/", getpid());
  root_.Link(self + "/fd/3", "socket:[111]");
  root_.Link("/proc/10/fd/3", "socket:[112]");
  root_.Link(self + "/fd/4", "socket:[113]");
  const SocketsFact fact = Read();
  ASSERT_THAT(fact.value(),
              HasFields("sockets { port: 60001 } sockets { port: 60002 }"));
}

TEST_F(SocketObserverTest, GivesAReasonWithoutATable) {
  root_.Remove("/proc/net/udp");
  EXPECT_EQ(Read().missing().reason(), Missing::ABSENT);
}

TEST_F(SocketObserverTest, DoesWithoutIpv6) { EXPECT_TRUE(Read().has_value()); }

TEST_F(SocketObserverTest, TakesARubbishTableForNoValue) {
  root_.Write("/proc/net/tcp", std::string(kHeader) + "rubbish\n");
  const SocketsFact fact = Read();
  EXPECT_EQ(fact.missing().reason(), Missing::UNREADABLE);
  EXPECT_THAT(fact.missing().detail(), HasSubstr("/proc/net/tcp"));
}

TEST_F(SocketObserverTest, DoesNotSearchOwnersBeyondTheHostsTime) {
  root_.Write("/proc/net/tcp", kHeader + Line("00000000:EA60", 10, 111));
  root_.Link("/proc/10/fd/3", "socket:[111]");
  clock_.Advance(absl::Seconds(30));
  EXPECT_EQ(Read().missing().reason(), Missing::TIMED_OUT);
}

TEST_F(SocketObserverTest, BoundsTheSocketsItNames) {
  std::string table = kHeader;
  for (int i = 0; i <= kMaxBoundSockets; ++i) {
    table += Line("00000000:EA60", 10, 0);
  }
  root_.Write("/proc/net/tcp", table);
  EXPECT_EQ(Read().missing().reason(), Missing::UNREADABLE);
}

// More ranks than the limit, and connections that the kernel closes.
TEST_F(SocketObserverTest, CountsConnectionsOfARootThatAreAlike) {
  constexpr int kRanks = 4500;
  std::string table = kHeader + Line("00000000:EA60", 10, 1);
  root_.Link("/proc/4711/fd/0", "socket:[1]");
  for (int i = 0; i < kRanks; ++i) {
    table += Line("0100000A:EA60", 1, 100 + i);
    table += Line("0100000A:EA60", 6, 0);
    root_.Link(absl::StrCat("/proc/4711/fd/", 1 + i),
               absl::StrCat("socket:[", 100 + i, "]"));
  }
  // One of them is another process's.
  table += Line("0100000A:EA60", 1, 99);
  root_.Link("/proc/4712/fd/3", "socket:[99]");
  root_.Write("/proc/net/tcp", table);
  const SocketsFact fact = Read();
  std::vector<std::string> seen;
  for (const BoundSocket& socket : fact.value().sockets()) {
    seen.push_back(
        absl::StrCat(socket.state(), " ", socket.pid(), " ", socket.count()));
  }
  EXPECT_THAT(seen,
              testing::ElementsAre("LISTEN 4711 0", "ESTABLISHED 4711 4500",
                                   "ESTABLISHED 4712 0", "TIME_WAIT 0 4500"));
}

// A service with thousands of ports, such as Ray's workers.
TEST_F(SocketObserverTest, CountsConnectionsOnManyPortsByTheirState) {
  constexpr int kConnections = 4500;
  ports_.Add(10002, 19999);
  std::string table =
      kHeader + Line("0100000A:EA63", 1, 1) + Line("00000000:4E1F", 10, 2);
  root_.Link("/proc/4712/fd/0", "socket:[1]");
  root_.Link("/proc/4711/fd/0", "socket:[2]");
  for (int i = 0; i < kConnections; ++i) {
    const std::string local = absl::StrFormat("0100000A:%04X", 10002 + i);
    table += Line(local, 1, 100 + i) + Line(local, 6, 0);
    root_.Link(absl::StrCat("/proc/4711/fd/", 1 + i),
               absl::StrCat("socket:[", 100 + i, "]"));
  }
  root_.Write("/proc/net/tcp", table);
  const SocketsFact fact = Read();
  std::vector<std::string> seen;
  for (const BoundSocket& socket : fact.value().sockets()) {
    seen.push_back(absl::StrCat(socket.port(), " ", socket.state(), " ",
                                socket.pid(), " ", socket.count()));
  }
  EXPECT_THAT(seen, testing::ElementsAre(
                        "10002 ESTABLISHED 4711 4500", "10002 TIME_WAIT 0 4500",
                        "19999 LISTEN 4711 0", "60003 ESTABLISHED 4712 0"));
}

constexpr int kNoNamespace = 77;

// Runs in the only process of a network namespace: the kernel lists only its
// sockets under /proc/net.
[[noreturn]] void ReadWhereNobodyElseIs(int answer) {
  if (unshare(CLONE_NEWNET) != 0 &&
      unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
    _exit(kNoNamespace);
  }
  // The kernel chooses the port.
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listen(listener, 1) != 0) _exit(1);
  PortSet ports;
  ports.Add(1, 65535);
  FakeClock clock;
  const TimeBudget budget(&clock, absl::Minutes(1), absl::Minutes(1));
  const std::string fact =
      ReadSockets(FileReader("/"), ports, budget).SerializeAsString();
  _exit(write(answer, fact.data(), fact.size()) ==
                static_cast<ssize_t>(fact.size())
            ? 0
            : 1);
}

TEST(SocketObserverOnThisMachineTest, FindsAListenerOfThisProcess) {
  int answer[2];
  ASSERT_EQ(pipe2(answer, O_CLOEXEC), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) ReadWhereNobodyElseIs(answer[1]);
  close(answer[1]);
  std::string bytes;
  char buffer[4096];
  for (ssize_t got; (got = read(answer[0], buffer, sizeof(buffer))) > 0;) {
    bytes.append(buffer, static_cast<size_t>(got));
  }
  close(answer[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNoNamespace) {
    GTEST_SKIP() << "a network namespace is not to be had";
  }
  ASSERT_EQ(WEXITSTATUS(status), 0);
  SocketsFact fact;
  ASSERT_TRUE(fact.ParseFromString(bytes));
  ASSERT_TRUE(fact.has_value()) << fact.ShortDebugString();
  ASSERT_EQ(fact.value().sockets_size(), 1) << fact.ShortDebugString();
  EXPECT_EQ(fact.value().sockets(0).pid(), static_cast<uint32_t>(child));
  EXPECT_EQ(fact.value().sockets(0).address(), "0.0.0.0");
  EXPECT_EQ(fact.value().sockets(0).state(), "LISTEN");
}

constexpr char kListening[] =
    "   0: 0100007F:EA60 00000000:0000 0A 00000000:00000000 00:00000000 "
    "00000000  1000        0 12345 1 0000000000000000 100 0 0 10 0 ";

TEST(ParseSocketLineTest, ReadsAListeningSocket) {
  const auto socket = ParseSocketLine("tcp", kListening).value();
  EXPECT_EQ(socket.socket.address(), "127.0.0.1");
  EXPECT_EQ(socket.socket.port(), 60000u);
  EXPECT_EQ(socket.socket.state(), "LISTEN");
  EXPECT_EQ(socket.inode, 12345u);
  EXPECT_EQ(ParseSocketLine("udp", kListening)->socket.state(), "");
  std::string line = kListening;
  line.replace(line.find(" 0A "), 4, " 7F ");
  EXPECT_EQ(ParseSocketLine("tcp", line)->socket.state(), "state 7f");
  // A line of the other family.
  EXPECT_EQ(ParseSocketLine("tcp6", kListening).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ParseSocketLineTest, ReadsAnIpv6Socket) {
  const auto socket =
      ParseSocketLine(
          "tcp6",
          "   0: 00000000000000000000000001000000:9753 "
          "00000000000000000000000000000000:0000 01 00000000:00000000 "
          "00:00000000 "
          "00000000     0        0 6483 1 0000000030ed5212 100 0 0 10 0")
          .value();
  EXPECT_EQ(socket.socket.address(), "::1");
  EXPECT_EQ(socket.socket.port(), 0x9753u);
  EXPECT_EQ(socket.socket.state(), "ESTABLISHED");
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
