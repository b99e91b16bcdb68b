#include "daemon/host/device_users.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/scratch_root.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kNobody = 0;

// A descriptor of this process, closed at the end.
class OpenNode {
 public:
  explicit OpenNode(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    EXPECT_GE(fd_, 0) << path;
  }
  ~OpenNode() { close(fd_); }

 private:
  const int fd_;
};

// A child with this process's descriptors that waits to be ended.
class Child {
 public:
  Child() {
    EXPECT_EQ(pipe2(pipe_, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ != 0) return;
    close(pipe_[1]);
    char byte;
    while (read(pipe_[0], &byte, 1) > 0) continue;
    _exit(0);
  }
  ~Child() {
    close(pipe_[1]);
    waitpid(pid_, nullptr, 0);
    close(pipe_[0]);
  }
  pid_t pid() const { return pid_; }

 private:
  int pipe_[2] = {-1, -1};
  pid_t pid_ = -1;
};

class DeviceUsersTest : public ::testing::Test {
 protected:
  DeviceUsersTest() {
    for (const char* node : {"davinci0", "davinci3", "davinci_manager"}) {
      root_.Write(absl::StrCat("/dev/", node), "");
    }
  }

  // "3:4711 0:4712"
  std::string Users(uint32_t self = kNobody) {
    const auto users = ReadDeviceUsers(root_.paths(), self);
    EXPECT_TRUE(users.ok()) << users.status();
    if (!users.ok()) return "";
    return absl::StrJoin(*users, " ", [](std::string* out, const auto& user) {
      absl::StrAppend(out, user.device, ":", user.pid);
    });
  }
  std::string Path(const std::string& path) { return root_.path() + path; }

  ScratchRoot root_;
};

TEST_F(DeviceUsersTest, FindsNobodyWhereNoNodeIsOpen) {
  const OpenNode manager(Path("/dev/davinci_manager"));
  EXPECT_EQ(Users(), "");
}

TEST_F(DeviceUsersTest, NamesTheProcessThatHoldsANodeOpen) {
  const OpenNode node(Path("/dev/davinci3"));
  const auto users = ReadDeviceUsers(root_.paths(), kNobody);
  ASSERT_TRUE(users.ok()) << users.status();
  ASSERT_EQ(users->size(), 1u);
  EXPECT_EQ((*users)[0].device, 3u);
  EXPECT_EQ((*users)[0].pid, static_cast<uint32_t>(getpid()));
  std::string own_name;
  std::getline(std::ifstream("/proc/self/comm"), own_name);
  EXPECT_EQ((*users)[0].command, own_name);
}

TEST_F(DeviceUsersTest, CountsAProcessOnceForEachDevice) {
  const OpenNode first(Path("/dev/davinci3"));
  const OpenNode again(Path("/dev/davinci3"));
  const OpenNode other(Path("/dev/davinci0"));
  EXPECT_EQ(Users(), absl::StrCat("0:", getpid(), " 3:", getpid()));
}

TEST_F(DeviceUsersTest, FindsANodeThatWasOpenedThroughAnotherName) {
  root_.Link("/dev/davinci_link", Path("/dev/davinci3"));
  const OpenNode linked(Path("/dev/davinci_link"));
  EXPECT_EQ(Users(), absl::StrCat("3:", getpid()));
}

TEST_F(DeviceUsersTest, LeavesOutOneselfAndWhatOneStarted) {
  const OpenNode node(Path("/dev/davinci3"));
  const Child child;
  const auto self = static_cast<uint32_t>(getpid());
  EXPECT_EQ(Users(self), "");
  EXPECT_EQ(Users(static_cast<uint32_t>(child.pid())),
            absl::StrCat("3:", self));
  EXPECT_THAT(Users(), HasSubstr(absl::StrCat("3:", child.pid())));
}

TEST_F(DeviceUsersTest, KnowsNodesOfAnotherServerApart) {
  ScratchRoot other;
  other.Write("/dev/davinci3", "");
  const OpenNode node(other.path() + "/dev/davinci3");
  EXPECT_EQ(Users(), "");
}

TEST_F(DeviceUsersTest, CannotTellWithoutNodes) {
  root_.Remove("/dev/davinci0");
  root_.Remove("/dev/davinci3");
  const auto users = ReadDeviceUsers(root_.paths(), kNobody);
  EXPECT_EQ(users.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(users.status().message()),
              HasSubstr("no node /dev/davinci<N>"));
}

}  // namespace
}  // namespace clusterd
