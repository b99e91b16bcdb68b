// A host whose packets a switch drops: no answer comes, not even TCP's. Who may
// not set a socket's filter, as in a sandbox, cannot play that.
#include <linux/filter.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "daemon/controller/admission/peer_name.h"
#include "daemon/process/scheduler.h"
#include "gtest/gtest.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"

namespace clusterd {
namespace {

// From now on nothing reaches the socket of this process that is `peer`, as a
// controller names it: no answer goes back, not even TCP's.
void DropPacketsTo(const std::string& peer) {
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
  EXPECT_EQ(found, 1) << peer;
}

TEST(DroppedPacketsTest, HostIsNoticed) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  ControllerServerOptions options;
  // What a real one does.
  EXPECT_LE(options.keepalive_time + options.keepalive_timeout,
            absl::Seconds(25));
  options.keepalive_time = absl::Milliseconds(500);
  options.keepalive_timeout = absl::Milliseconds(500);
  TestController controller(&certificates, 1, &scheduler, options);
  controller.Start();
  RawHost host(controller.address(), certificates.Host("server0"));
  ASSERT_TRUE(host.Attach());
  DropPacketsTo(controller.Entry("server0").peer());
  EXPECT_TRUE(controller.log().WaitFor("host server0: detached"))
      << controller.log().Lines();
}

}  // namespace
}  // namespace clusterd
