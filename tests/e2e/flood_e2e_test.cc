// A controller with more connections than descriptors.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/demo_cluster.h"
#include "tests/e2e/process.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// Connections that never send a byte.
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
  cluster.controller().Signal(SIGTERM);
  EXPECT_THAT(cluster.controller().Wait().standard_error,
              HasSubstr(absl::StrCat("up to ", before.rlim_max,
                                     " open files; 1 hosts need 514")));
}

TEST(FloodTest, ControllerWithoutDescriptorsHearsAgainWhenTheFloodIsOver) {
  DemoCluster cluster(DemoSpec(1), {"server0"});
  cluster.StartController();
  const rlimit few = {64, 64};
  ASSERT_EQ(prlimit(cluster.controller().pid(), RLIMIT_NOFILE, &few, nullptr),
            0);
  {
    const SilentConnections silent(cluster.port(), 100);
    cluster.controller().ExpectError("no file descriptor is left");
  }

  cluster.StartHost("server0");
  EXPECT_EQ(cluster.Check().process.exit_status, 0);
}

TEST(FloodTest, SaysWhenTheLimitOfOpenFilesIsTooLowForTheSpec) {
  const DemoCluster cluster(DemoSpec(10), {"server0"});
  const std::string certificates = cluster.Certificates();
  // It ends at once, since the address is not valid.
  const ProcessResult ended = RunProgram(
      {"/bin/bash", "-c", "ulimit -n 128 && exec \"$0\" \"$@\"",
       Runfile("daemon/controller/clusterd-controller"), "--spec",
       cluster.folder() + "/cluster.yaml", "--cluster", "demo", "--listen",
       "nowhere", "--state", cluster.folder() + "/state", "--ca",
       certificates + "/ca.crt", "--cert", certificates + "/controller.crt",
       "--key", certificates + "/controller.key"});
  EXPECT_EQ(ended.exit_status, 1);
  EXPECT_THAT(ended.standard_error,
              HasSubstr("only 128 files may be open, 10 hosts need 532"));
}

}  // namespace
}  // namespace clusterd
