// A controller that more connections come to than it was given descriptors for.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/demo_cluster.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// Connections that never say a word.
class SilentConnections {
 public:
  SilentConnections(int port, int count) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < count; ++i) {
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)),
                0);
      fds_.push_back(fd);
    }
  }
  ~SilentConnections() {
    for (const int fd : fds_) close(fd);
  }

 private:
  std::vector<int> fds_;
};

TEST(FloodTest, SoftLimitOfOpenFilesIsRaisedToTheHardOne) {
  DemoCluster cluster(DemoSpec(1), {"server0"});
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_GE(before.rlim_max, 1000u);
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  cluster.StartController();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  cluster.StartHost("server0");

  const SilentConnections silent(cluster.port(), 150);

  EXPECT_EQ(cluster.Check().process.exit_status, 0);
}

TEST(FloodTest, ControllerThatCannotAcceptAnyMoreEndsToBeStartedAgain) {
  DemoCluster cluster(DemoSpec(1), {"server0"});
  cluster.StartController();
  const rlimit few = {64, 64};
  ASSERT_EQ(prlimit(cluster.controller().pid(), RLIMIT_NOFILE, &few, nullptr),
            0);

  const SilentConnections silent(cluster.port(), 100);

  const ProcessResult ended = cluster.controller().Wait();
  EXPECT_EQ(ended.exit_status, 1);
  EXPECT_THAT(ended.standard_error, HasSubstr("ended, to be started again"));
}

TEST(FloodTest, SaysHowFarTheLimitOfOpenFilesIsFromWhatTheSpecNeeds) {
  DemoCluster cluster(DemoSpec(300), {"server0"});
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low = {256, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  cluster.StartController();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  cluster.controller().Signal(SIGTERM);
  EXPECT_THAT(cluster.controller().Wait().standard_error,
              HasSubstr("300 hosts need 1112"));
}

}  // namespace
}  // namespace clusterd
