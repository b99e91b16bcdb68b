#include "daemon/host/namespace/network_namespace.h"

#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/host/test_namespace.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

constexpr char kSomaxconn[] = "net.core.somaxconn";

class NetworkNamespaceTest : public ::testing::Test {
 protected:
  NetworkNamespaceTest()
      : runner_(&clock_),
        budget_(&clock_, absl::Seconds(10), absl::Seconds(30)) {}

  absl::StatusOr<OpenNetworkNamespace> Find(const HostPaths& paths,
                                            const NetworkNamespace& target) {
    return FindNetworkNamespace({paths, &runner_, &budget_}, target);
  }
  absl::Status FindPath(const HostPaths& paths, const std::string& path) {
    NetworkNamespace target;
    target.set_path(path);
    return Find(paths, target).status();
  }

  FakeClock clock_;
  FakeCommandRunner runner_;
  TimeBudget budget_;
  ScratchRoot root_;
};

TEST_F(NetworkNamespaceTest, OpensNothingButNetworkNamespaces) {
  root_.Write("/run/netns/train", "text");
  EXPECT_TRUE(
      absl::IsFailedPrecondition(FindPath(root_.paths(), "/run/netns/train")));
  const auto mounts =
      OpenNetworkNamespace::Open("/proc/self/ns/mnt", "a mount namespace");
  EXPECT_EQ(mounts.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(NetworkNamespaceTest, DoesNotHangOnAPipe) {
  root_.Write("/run/other", "");
  const std::string pipe = absl::StrCat(root_.path(), "/run/pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(FindPath(root_.paths(), "/run/pipe")));
}

// A user may mount an unresponsive file system there, also during an undo.
TEST_F(NetworkNamespaceTest, LooksAtNothingInAFolderThatUsersCanChange) {
  for (const int mode : {0777, 01777}) {
    root_.MakeFolder("/run/user/1000", mode);
    EXPECT_TRUE(absl::IsPermissionDenied(
        FindPath(root_.paths(), "/run/user/1000/netns/train")));
  }
  const std::string own = absl::StrCat("/proc/", getpid(), "/ns/net");
  EXPECT_TRUE(FindPath(HostPaths{}, own).ok());
  // Paths through a process's open files or folders are refused, too.
  for (const char* path : {"/proc/7/root/run/netns/train",
                           "/proc/self/cwd/ns/net", "/proc/7/fd/3/ns/net"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(FindPath(HostPaths{}, path))) << path;
  }
}

TEST_F(NetworkNamespaceTest, SaysOfAPathTheSameWhateverIsThere) {
  root_.Write("/run/netns/train", "text");
  const absl::Status text = FindPath(root_.paths(), "/run/netns/train");
  root_.Remove("/run/netns/train");
  const absl::Status gone = FindPath(root_.paths(), "/run/netns/train");
  EXPECT_EQ(gone.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(
      gone.message(),
      "path:/run/netns/train: not a network namespace that can be entered, "
      "expected a file such as /run/netns/NAME or /proc/PID/ns/net");
  EXPECT_EQ(text.message(), gone.message());
}

TEST_F(NetworkNamespaceTest, SaysThatANamespaceIsGone) {
  NetworkNamespace process;
  process.set_pid(4194304);  // Above any pid that the kernel assigns.
  EXPECT_TRUE(absl::IsNotFound(Find(HostPaths{}, process).status()));
}

TEST_F(NetworkNamespaceTest, RefusesATargetThatIsNone) {
  EXPECT_TRUE(
      absl::IsInvalidArgument(Find(HostPaths{}, NetworkNamespace()).status()));
  NetworkNamespace option;
  option.set_container("--format");
  EXPECT_TRUE(absl::IsInvalidArgument(Find(HostPaths{}, option).status()));
  EXPECT_TRUE(runner_.commands().empty());
}

TEST_F(NetworkNamespaceTest, RunsInsideAndLeavesTheCallerWhereItIs) {
  std::string why;
  const auto train = TestNamespace::Make(&why);
  if (train == nullptr) GTEST_SKIP() << why;
  NetworkNamespace target;
  target.set_pid(train->pid());
  const auto place = Find(HostPaths{}, target).value();
  EXPECT_EQ(place.inode(), train->inode());
  const auto inode_here = [] {
    struct stat info;
    return stat("/proc/thread-self/ns/net", &info) == 0 ? info.st_ino : 0;
  };
  const uint64_t before = inode_here();
  uint64_t inside = 0;
  ASSERT_TRUE(place.Run([&] { inside = inode_here(); }).ok());
  EXPECT_EQ(inside, train->inode());
  EXPECT_EQ(inode_here(), before);
  EXPECT_NE(before, inside);
}

uint64_t CookieIn(const std::string& path) {
  const auto place = OpenNetworkNamespace::Open(path, "a namespace");
  EXPECT_TRUE(place.ok()) << place.status();
  absl::StatusOr<uint64_t> cookie = absl::InternalError("not run");
  EXPECT_TRUE(place->Run([&] { cookie = ReadNetworkNamespaceCookie(); }).ok());
  EXPECT_TRUE(cookie.ok()) << cookie.status();
  return cookie.value_or(0);
}

TEST_F(NetworkNamespaceTest, HasACookieThatNoOtherGets) {
  const auto here = ReadNetworkNamespaceCookie();
  if (absl::IsUnimplemented(here.status())) GTEST_SKIP() << here.status();
  ASSERT_TRUE(here.ok()) << here.status();
  std::string why;
  std::set<uint64_t> cookies = {*here};
  for (int i = 0; i < 20; ++i) {
    // The previous namespace has ended, so that its inode is free again.
    const auto train = TestNamespace::Make(&why);
    if (train == nullptr) GTEST_SKIP() << why;
    const uint64_t cookie = CookieIn(train->path());
    EXPECT_EQ(CookieIn(train->path()), cookie);
    EXPECT_TRUE(cookies.insert(cookie).second) << cookie << " once more";
  }
  EXPECT_EQ(*ReadNetworkNamespaceCookie(), *here);
}

TEST_F(NetworkNamespaceTest, KeepsANamespaceWhoseProcessHasEnded) {
  std::string why;
  const auto train = TestNamespace::Make(&why);
  if (train == nullptr) GTEST_SKIP() << why;
  train->Set(kSomaxconn, "777");
  NetworkNamespace target;
  target.set_pid(train->pid());
  const auto place = Find(HostPaths{}, target).value();
  train->End();
  std::string value;
  ASSERT_TRUE(place.Run([&] { value = GetHere(kSomaxconn); }).ok());
  EXPECT_EQ(value, "777");
  EXPECT_TRUE(absl::IsNotFound(Find(HostPaths{}, target).status()));
}

TEST_F(NetworkNamespaceTest, FindsAFileOfIpNetns) {
  std::string why;
  const auto train = TestNamespace::Make(&why);
  if (train == nullptr) GTEST_SKIP() << why;
  root_.Write("/run/netns/train", "");
  const std::string file = absl::StrCat(root_.path(), "/run/netns/train");
  const bool had = WithOwnMounts(
      [&] {
        MountOver(train->path(), file);
        NetworkNamespace target;
        target.set_path("/run/netns/train");
        const auto place = Find(root_.paths(), target);
        ASSERT_TRUE(place.ok()) << place.status();
        EXPECT_EQ(place->inode(), train->inode());
      },
      &why);
  if (!had) GTEST_SKIP() << why;
}

TEST_F(NetworkNamespaceTest, FindsAContainerThroughItsEngine) {
  std::string why;
  const auto train = TestNamespace::Make(&why);
  if (train == nullptr) GTEST_SKIP() << why;
  root_.WriteProgram("/usr/bin/docker", "");
  root_.MakeFolder("/proc");
  runner_.Answers(
      "docker inspect --type container --format {{.State.Pid}} "
      "train-1",
      absl::StrCat(train->pid(), "\n"));
  NetworkNamespace target;
  target.set_container("train-1");
  const bool had = WithOwnMounts(
      [&] {
        MountOver("/proc", absl::StrCat(root_.path(), "/proc"));
        const auto place = Find(root_.paths(), target);
        ASSERT_TRUE(place.ok()) << place.status();
        EXPECT_EQ(place->inode(), train->inode());
      },
      &why);
  if (!had) GTEST_SKIP() << why;
}

}  // namespace
}  // namespace clusterd
