#include "daemon/host/namespace/network_namespace.h"

#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/host/test_namespace.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

constexpr char kSomaxconn[] = "net.core.somaxconn";

class NetworkNamespaceTest : public ::testing::Test {
 protected:
  static NetworkNamespace Process(uint32_t pid) {
    NetworkNamespace target;
    target.set_pid(pid);
    return target;
  }
  static NetworkNamespace Container(const std::string& name) {
    NetworkNamespace target;
    target.set_container(name);
    return target;
  }
  static NetworkNamespace Path(const std::string& path) {
    NetworkNamespace target;
    target.set_path(path);
    return target;
  }
  absl::StatusOr<OpenNetworkNamespace> Find(const HostPaths& paths,
                                            const NetworkNamespace& target) {
    return FindNetworkNamespace({paths, &runner_, &budget_}, target);
  }
  absl::Status FindPath(const HostPaths& paths, const std::string& path) {
    return Find(paths, Path(path)).status();
  }

  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
  TimeBudget budget_{&clock_, absl::Seconds(10), absl::Seconds(30)};
  ScratchRoot root_;
};

// With a namespace besides the test's own, or the reason why there is none.
class OtherNamespaceTest : public NetworkNamespaceTest {
 protected:
  void SetUp() override {
    train_ = TestNamespace::Make(&why_);
    if (train_ == nullptr) GTEST_SKIP() << why_;
  }
  // Expects to find it where `from` is mounted over the root's `to`.
  void ExpectFound(const NetworkNamespace& target, const std::string& from,
                   const std::string& to) {
    const bool had = WithOwnMounts(
        [&] {
          MountOver(from, to);
          const auto place = Find(root_.paths(), target).value();
          EXPECT_EQ(place.inode(), train_->inode());
        },
        &why_);
    if (!had) GTEST_SKIP() << why_;
  }

  std::string why_;
  std::unique_ptr<TestNamespace> train_;
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
TEST_F(NetworkNamespaceTest, ReadsNothingInAFolderThatUsersCanChange) {
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

TEST_F(NetworkNamespaceTest, RefusesATargetThatIsGoneOrNone) {
  // Above any pid that the kernel assigns.
  EXPECT_TRUE(absl::IsNotFound(Find(HostPaths{}, Process(4194304)).status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(Find(HostPaths{}, NetworkNamespace()).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      Find(HostPaths{}, Container("--format")).status()));
  EXPECT_TRUE(runner_.commands().empty());
}

TEST_F(OtherNamespaceTest, RunsInsideAndLeavesTheCallerWhereItIs) {
  const auto place = Find(HostPaths{}, Process(train_->pid())).value();
  EXPECT_EQ(place.inode(), train_->inode());
  const auto inode_here = [] {
    struct stat info;
    return stat("/proc/thread-self/ns/net", &info) == 0 ? info.st_ino : 0;
  };
  const uint64_t before = inode_here();
  uint64_t inside = 0;
  ASSERT_TRUE(place.Run([&] { inside = inode_here(); }).ok());
  EXPECT_EQ(inside, train_->inode());
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

TEST_F(OtherNamespaceTest, KeepsANamespaceWhoseProcessHasEnded) {
  train_->Set(kSomaxconn, "777");
  const NetworkNamespace target = Process(train_->pid());
  const auto place = Find(HostPaths{}, target).value();
  train_->End();
  std::string value;
  ASSERT_TRUE(place.Run([&] { value = GetHere(kSomaxconn); }).ok());
  EXPECT_EQ(value, "777");
  EXPECT_TRUE(absl::IsNotFound(Find(HostPaths{}, target).status()));
}

TEST_F(OtherNamespaceTest, FindsAFileOfIpNetns) {
  root_.Write("/run/netns/train", "");
  ExpectFound(Path("/run/netns/train"), train_->path(),
              absl::StrCat(root_.path(), "/run/netns/train"));
}

TEST_F(OtherNamespaceTest, FindsAContainerThroughItsEngine) {
  root_.WriteProgram("/usr/bin/docker", "");
  root_.MakeFolder("/proc");
  runner_.Answers(
      "docker inspect --type container --format {{.State.Pid}} train-1",
      absl::StrCat(train_->pid(), "\n"));
  ExpectFound(Container("train-1"), "/proc",
              absl::StrCat(root_.path(), "/proc"));
}

uint64_t InodeOf(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

absl::StatusOr<OpenNetworkNamespace> FindByInode(uint64_t inode,
                                                 const HostPaths& paths = {}) {
  return FindNetworkNamespaceByInode(paths, inode, "container:train");
}

class NetworkNamespaceSearchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    train_ = TestNamespace::Make(&why_);
    if (train_ == nullptr) GTEST_SKIP() << why_;
    inode_ = train_->inode();
  }

  std::string why_;
  std::unique_ptr<TestNamespace> train_;
  uint64_t inode_ = 0;
  ScratchRoot root_;
};

TEST_F(NetworkNamespaceSearchTest, FindsThatOfTheHostItself) {
  const uint64_t own = InodeOf("/proc/self/ns/net");
  const auto place = FindByInode(own).value();
  EXPECT_EQ(place.inode(), own);
}

TEST_F(NetworkNamespaceSearchTest, FindsThatOfAnyProcess) {
  train_->Set(kSomaxconn, "777");
  const auto place = FindByInode(inode_).value();
  EXPECT_EQ(place.inode(), inode_);
  std::string value;
  ASSERT_TRUE(place.Run([&] { value = GetHere(kSomaxconn); }).ok());
  EXPECT_EQ(value, "777");
}

TEST_F(NetworkNamespaceSearchTest, FindsThatOfOneThread) {
  const NamespaceGuest guest(*train_);
  train_->End();
  const auto place = FindByInode(inode_).value();
  EXPECT_EQ(place.inode(), inode_);
}

TEST_F(NetworkNamespaceSearchTest, FindsOneThatOnlyAFileHolds) {
  for (const char* folder :
       {"/run/netns", "/run/docker/netns", "/var/run/docker/netns"}) {
    const auto train = TestNamespace::Make(&why_);
    ASSERT_NE(train, nullptr) << why_;
    const uint64_t inode = train->inode();
    const std::string file = absl::StrCat(folder, "/9f0e");
    root_.Write(file, "");
    root_.Write(absl::StrCat(folder, "/stale"), "");
    root_.MakeFolder("/proc");
    const bool had = WithOwnMounts(
        [&] {
          MountOver("/proc", absl::StrCat(root_.path(), "/proc"));
          MountOver(train->path(), absl::StrCat(root_.path(), file));
          train->End();
          const auto place = FindByInode(inode, root_.paths()).value();
          EXPECT_EQ(place.inode(), inode);
        },
        &why_);
    if (!had) GTEST_SKIP() << why_;
  }
}

TEST_F(NetworkNamespaceSearchTest, SaysThatNothingHoldsIt) {
  // The test may not have access to all processes of this machine.
  root_.Write("/proc/self/ns/net", "");
  root_.Write("/proc/1/ns/net", "");
  root_.Link("/proc/7/task/8/ns/net", train_->path());
  EXPECT_TRUE(FindByInode(inode_, root_.paths()).ok());
  train_->End();
  const absl::Status gone = FindByInode(inode_, root_.paths()).status();
  EXPECT_EQ(gone.code(), absl::StatusCode::kNotFound) << gone;
  EXPECT_THAT(gone, Tells("fact-netns-gone", "container:train", inode_));
}

TEST_F(NetworkNamespaceSearchTest, DoesNotCallGoneWhatItCannotSee) {
  const absl::Status no_proc = FindByInode(inode_, root_.paths()).status();
  EXPECT_EQ(no_proc.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(no_proc, HasText("/proc/self/ns/net: No such file"));
  root_.Write("/proc/self/ns/net", "");
  root_.Write("/proc/1/ns/net", "");
  EXPECT_TRUE(absl::IsNotFound(FindByInode(inode_, root_.paths()).status()));
  root_.MakeFolder("/proc/7/task/8/ns");
  EXPECT_TRUE(absl::IsNotFound(FindByInode(inode_, root_.paths()).status()));
  root_.Link("/proc/7/task/8/ns/net", "net");
  const absl::Status unread = FindByInode(inode_, root_.paths()).status();
  EXPECT_EQ(unread.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(unread, HasText("/proc/7/task/8/ns/net: Too many levels"));
  // An existing match counts, despite other unreadable processes.
  root_.Link("/proc/9/task/9/ns/net", train_->path());
  EXPECT_TRUE(FindByInode(inode_, root_.paths()).ok());
}

}  // namespace
}  // namespace clusterd
