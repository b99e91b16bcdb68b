#include "daemon/process/signals.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

TEST(BlockedSignalsTest, HandsOverSignalsOfTheProcess) {
  BlockedSignals signals;
  kill(getpid(), SIGHUP);
  EXPECT_EQ(signals.Wait(), DaemonSignal::kReload);
  kill(getpid(), SIGTERM);
  EXPECT_EQ(signals.Wait(), DaemonSignal::kStop);
  kill(getpid(), SIGINT);
  EXPECT_EQ(signals.Wait(), DaemonSignal::kStop);
}

TEST(BlockedSignalsTest, WaitsForASignalOnlySoLong) {
  BlockedSignals signals;
  EXPECT_EQ(signals.WaitFor(absl::ZeroDuration()), std::nullopt);
  kill(getpid(), SIGTERM);
  EXPECT_EQ(signals.WaitFor(kPatience), DaemonSignal::kStop);
}

TEST(BlockedSignalsTest, SurvivesBrokenPipe) {
  BlockedSignals signals;
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  close(pipe_fds[0]);
  EXPECT_EQ(write(pipe_fds[1], "x", 1), -1);
  close(pipe_fds[1]);
}

TEST(BlockedSignalsTest, RestoresMaskAfterwards) {
  { BlockedSignals signals; }
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGTERM), 0);
}

// Acts as systemd: a datagram socket bound to a path or, without one, to a
// unique abstract name that the kernel chooses.
class Listener {
 public:
  explicit Listener(const std::string& path = "") {
    fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                          path.size())),
              0);
  }
  ~Listener() { close(fd_); }

  // Returns its abstract name, "@00001".
  std::string name() const {
    sockaddr_un address = {};
    socklen_t size = sizeof(address);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size),
              0);
    const size_t length = size - offsetof(sockaddr_un, sun_path);
    return "@" + std::string(address.sun_path + 1, length - 1);
  }

  std::string Receive() {
    char buffer[200];
    const ssize_t size = recv(fd_, buffer, sizeof(buffer), MSG_DONTWAIT);
    return size < 0 ? "" : std::string(buffer, static_cast<size_t>(size));
  }

 private:
  int fd_;
};

// RLIMIT_CORE does not apply where a program receives cores.
TEST(KeepOutOfCoresTest, NoCoreIsWrittenAndWhatItStartsMayHaveOne) {
  const pid_t daemon = fork();
  if (daemon == 0) {
    KeepOutOfCores();
    if (prctl(PR_GET_DUMPABLE) != 0) _exit(1);
    execl("/bin/sh", "sh", "-c", "[ -r /proc/self/environ ]", nullptr);
    _exit(2);
  }
  int status = -1;
  ASSERT_EQ(waitpid(daemon, &status, 0), daemon);
  EXPECT_EQ(status, 0);
}

TEST(NotifySystemdTest, SendsStateToPath) {
  // Bazel's own temporary folder has too long a name for a socket.
  char folder[] = "/tmp/clusterd_test_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/notify";
  Listener systemd(path);
  EXPECT_TRUE(NotifySystemd(path, "READY=1").ok());
  EXPECT_EQ(systemd.Receive(), "READY=1");
  unlink(path.c_str());
  rmdir(folder);
}

TEST(NotifySystemdTest, SendsStateToAbstractName) {
  Listener systemd;
  EXPECT_TRUE(NotifySystemd(systemd.name(), "STOPPING=1").ok());
  EXPECT_EQ(systemd.Receive(), "STOPPING=1");
}

TEST(NotifySystemdTest, SaysWhatIsWrongWithTheSocketUnlessNobodyListens) {
  EXPECT_TRUE(NotifySystemd("", "READY=1").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(NotifySystemd("relative", "READY=1")));
  EXPECT_TRUE(absl::IsInvalidArgument(
      NotifySystemd("/" + std::string(200, 'a'), "READY=1")));
  EXPECT_TRUE(absl::IsUnavailable(NotifySystemd("/nobody/listens", "READY=1")));
}

}  // namespace
}  // namespace clusterd
