#include "daemon/process/log.h"

#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "gmock/gmock.h"
#include "grpc/support/log.h"
#include "gtest/gtest.h"
#include "tests/support/process/captured_log.h"

namespace clusterd {
namespace {

using ::testing::EndsWith;

TEST(FormatLogLineTest, BeginsWithSyslogLevelAndKeepsOneEventOnOneLine) {
  EXPECT_EQ(FormatLogLine(LogLevel::kWarning, true, "host a: gone"),
            "<4>host a: gone\n");
  EXPECT_EQ(FormatLogLine(LogLevel::kInfo, false, "ready"), "ready\n");
  EXPECT_EQ(FormatLogLine(LogLevel::kInfo, true, "a\n<0>b\x1b[2J\x7f"),
            "<6>a\\x0a<0>b\\x1b[2J\\x7f\n");
  EXPECT_EQ(FormatLogLine(LogLevel::kInfo, false, "主机"), "主机\n");
}

TEST(FormatLogLineTest, CutsLongText) {
  const std::string line =
      FormatLogLine(LogLevel::kInfo, true, std::string(100000, '\n'));
  EXPECT_LE(line.size(), kMaxLogLineBytes);
  EXPECT_THAT(line, EndsWith("...\n"));
}

TEST(DescriptorLogTest, WritesLinesToTheDescriptor) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  DescriptorLog log(pipe_fds[1], true);
  log.Error("one");
  log.Notice("two");
  close(pipe_fds[1]);
  char buffer[100] = {};
  const ssize_t size = read(pipe_fds[0], buffer, sizeof(buffer));
  close(pipe_fds[0]);
  EXPECT_EQ(std::string(buffer, static_cast<size_t>(size)), "<3>one\n<5>two\n");
}

// Otherwise every logging thread would hang with journald and its disk.
TEST(DescriptorLogTest, DropsLinesThatNobodyReadsAndGoesOnAfterwards) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  DescriptorLog log(ends[1], false);
  const std::string text(1000, 'x');
  for (int i = 0; i < 10'000; ++i) log.Info(text);
  char buffer[1 << 16];
  std::string said;
  ssize_t size;
  while ((size = recv(ends[0], buffer, sizeof(buffer), MSG_DONTWAIT)) > 0) {
    said.append(buffer, static_cast<size_t>(size));
  }
  EXPECT_GT(said.size(), 0u);
  EXPECT_LT(said.size(), 10'000 * text.size());
  EXPECT_EQ(said.size() % (text.size() + 1), 0u) << "half a line";
  log.Info("again");
  ASSERT_EQ(recv(ends[0], buffer, sizeof(buffer), 0), 6);
  EXPECT_EQ(std::string(buffer, 6), "again\n");
  close(ends[0]);
  log.Info("without a reader");
  close(ends[1]);
}

TEST(SendGrpcLogToTest, ForwardsErrorsThatAreNewsAsWarnings) {
  CapturedLog log;
  SendGrpcLogTo(&log);
  gpr_log(GPR_ERROR, "listener died: %d", 7);
  gpr_log(GPR_ERROR, "Handshake failed with fatal error SSL_ERROR_SSL: x.");
  gpr_log(GPR_ERROR, "x error: UNKNOWN:Handshake timed out {created_time:1}");
  gpr_log(GPR_ERROR, "No match found for server name: 10.0.0.1.");
  gpr_log(GPR_ERROR, "x error: UNKNOWN:Listener stopped serving. {}");
  gpr_log(GPR_INFO, "not worth a line");
  SendGrpcLogTo(nullptr);
  gpr_log(GPR_ERROR, "nobody listens");
  EXPECT_EQ(log.Lines(), "<4>gRPC: listener died: 7\n");
}

}  // namespace
}  // namespace clusterd
