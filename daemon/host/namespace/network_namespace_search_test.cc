#include <sys/stat.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/host/namespace/network_namespace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/host/test_namespace.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

constexpr char kSomaxconn[] = "net.core.somaxconn";

uint64_t InodeOf(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

absl::StatusOr<OpenNetworkNamespace> Find(uint64_t inode,
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
  const auto place = Find(own).value();
  EXPECT_EQ(place.inode(), own);
}

TEST_F(NetworkNamespaceSearchTest, FindsThatOfAnyProcess) {
  train_->Set(kSomaxconn, "777");
  const auto place = Find(inode_).value();
  EXPECT_EQ(place.inode(), inode_);
  std::string value;
  ASSERT_TRUE(place.Run([&] { value = GetHere(kSomaxconn); }).ok());
  EXPECT_EQ(value, "777");
}

TEST_F(NetworkNamespaceSearchTest, FindsThatOfOneThread) {
  const NamespaceGuest guest(*train_);
  train_->End();
  const auto place = Find(inode_).value();
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
          const auto place = Find(inode, root_.paths());
          ASSERT_TRUE(place.ok()) << folder << ": " << place.status();
          EXPECT_EQ(place->inode(), inode);
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
  EXPECT_TRUE(Find(inode_, root_.paths()).ok());
  train_->End();
  const absl::Status gone = Find(inode_, root_.paths()).status();
  EXPECT_EQ(gone.code(), absl::StatusCode::kNotFound) << gone;
  EXPECT_THAT(gone.message(),
              Tells("fact-netns-gone", "container:train", inode_));
}

TEST_F(NetworkNamespaceSearchTest, DoesNotCallGoneWhatItCannotSee) {
  const absl::Status no_proc = Find(inode_, root_.paths()).status();
  EXPECT_EQ(no_proc.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(no_proc, HasText("/proc/self/ns/net: No such file"));
  root_.Write("/proc/self/ns/net", "");
  root_.Write("/proc/1/ns/net", "");
  EXPECT_TRUE(absl::IsNotFound(Find(inode_, root_.paths()).status()));
  root_.MakeFolder("/proc/7/task/8/ns");
  EXPECT_TRUE(absl::IsNotFound(Find(inode_, root_.paths()).status()));
  root_.Link("/proc/7/task/8/ns/net", "net");
  const absl::Status unread = Find(inode_, root_.paths()).status();
  EXPECT_EQ(unread.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(unread, HasText("/proc/7/task/8/ns/net: Too many levels"));
  // An existing match counts, despite other unreadable processes.
  root_.Link("/proc/9/task/9/ns/net", train_->path());
  EXPECT_TRUE(Find(inode_, root_.paths()).ok());
}

}  // namespace
}  // namespace clusterd
