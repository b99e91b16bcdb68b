// A host whose packets a switch drops: no answer comes, not even TCP's. The
// test is skipped if a socket's filter cannot be set, as in a sandbox.
#include <linux/filter.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "daemon/controller/admission/connection_state.h"
#include "daemon/process/scheduler.h"
#include "gtest/gtest.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

// From now on nothing reaches the socket of this process that is `peer`, as a
// controller names it: no answer is sent, not even TCP's. False if there is
// none.
bool DropPacketsTo(const std::string& peer) {
  sock_filter nothing = {BPF_RET | BPF_K, 0, 0, 0};
  const sock_fprog program = {1, &nothing};
  int found = 0;
  for (int fd = 3; fd < 1024; ++fd) {
    sockaddr_storage own = {};
    socklen_t size = sizeof(own);
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0 ||
        own.ss_family == AF_UNIX || PeerName(own) != peer) {
      continue;
    }
    ++found;
    EXPECT_EQ(
        setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)),
        0)
        << std::strerror(errno);
  }
  EXPECT_LE(found, 1) << peer;
  return found > 0;
}

TEST(DroppedPacketsTest, HostIsNoticed) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  ControllerServerOptions options;
  // Like a real one.
  EXPECT_LE(options.keepalive_time + options.keepalive_timeout,
            absl::Seconds(25));
  options.keepalive_time = absl::Milliseconds(500);
  options.keepalive_timeout = absl::Milliseconds(500);
  TestController controller(&certificates, 1, &scheduler, options);
  controller.Start();
  // On a slow machine the controller may give it up before packets are dropped:
  // then it comes again.
  std::unique_ptr<RawHost> host;
  ASSERT_TRUE(WaitUntil([&] {
    host = std::make_unique<RawHost>(controller.address(),
                                     certificates.Host("server0"));
    return host->Attach() && DropPacketsTo(controller.Entry("server0").peer());
  })) << controller.log().Lines();
  EXPECT_TRUE(WaitUntil([&] {
    return !controller.Entry("server0").attached();
  })) << controller.log().Lines();
}

}  // namespace
}  // namespace clusterd
