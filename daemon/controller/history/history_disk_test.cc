// A full and a read-only disk, on file systems of this test itself. Needs root,
// or a kernel that lets users have namespaces.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/controller/history/history_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

bool WriteLine(const char* path, const std::string& line) {
  std::ofstream file(path);
  file << line << std::flush;
  return file.good();
}

// Enters a mount namespace. False: this machine does not allow it.
bool EnterOwnMounts() {
  const std::string user = absl::StrCat("0 ", geteuid(), " 1");
  if (geteuid() != 0 &&
      (unshare(CLONE_NEWUSER) != 0 || !WriteLine("/proc/self/uid_map", user))) {
    return false;
  }
  return unshare(CLONE_NEWNS) == 0 &&
         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

class HistoryDiskTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { entered_ = EnterOwnMounts(); }

  void SetUp() override {
    if (!entered_) GTEST_SKIP() << "no mount namespace of our own here";
    ASSERT_EQ(mount("history", folder_.c_str(), "tmpfs", 0, "size=2m"), 0);
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }

  void MakeReadOnly() {
    ASSERT_EQ(mount(nullptr, folder_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY,
                    nullptr),
              0);
  }

  const std::string folder_ = NewStateFolder();

 private:
  static bool entered_;
  bool mounted_ = false;
};

bool HistoryDiskTest::entered_ = false;

TEST_F(HistoryDiskTest, FullDiskRefusesAndLosesNothing) {
  const auto store = OpenStore(folder_);
  ASSERT_NE(store, nullptr);
  absl::Status status;
  int added = 0;
  while (status.ok()) {
    ASSERT_LT(added, 100);
    status = store->Add(TestCheck(TestId(added + 1), 100000));
    if (status.ok()) ++added;
  }
  EXPECT_GT(added, 5);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(status.message(), Tells("msg-hub-disk-full"));
  EXPECT_EQ(store->List({})->entries_size(), added);
  for (int i = 1; i <= added; ++i) EXPECT_TRUE(store->Get(TestId(i)).ok());
}

TEST_F(HistoryDiskTest, GoesOnWhenThereIsSpaceAgain) {
  const auto store = OpenStore(folder_);
  ASSERT_NE(store, nullptr);
  const std::string other = folder_ + "/other";
  const int fd = open(other.c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_GE(fd, 0);
  const std::string block(4096, 'x');
  while (write(fd, block.data(), block.size()) > 0) {
  }
  close(fd);
  EXPECT_TRUE(
      absl::IsResourceExhausted(store->Add(TestCheck(TestId(1), 50000))));
  ASSERT_EQ(unlink(other.c_str()), 0);
  EXPECT_EQ(store->Add(TestCheck(TestId(1), 50000)), absl::OkStatus());
}

TEST_F(HistoryDiskTest, FullDiskMakesNoHalfFile) {
  ASSERT_EQ(mount(nullptr, folder_.c_str(), nullptr, MS_REMOUNT, "size=4k"), 0);
  const absl::Status status = HistoryStore::Open(folder_).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  ASSERT_EQ(mount(nullptr, folder_.c_str(), nullptr, MS_REMOUNT, "size=2m"), 0);
  EXPECT_NE(OpenStore(folder_), nullptr);
}

TEST_F(HistoryDiskTest, ReadOnlyDiskIsReadAndNotWritten) {
  ASSERT_EQ(OpenStore(folder_)->Add(TestCheck(TestId(1))), absl::OkStatus());
  MakeReadOnly();
  const auto store = OpenStore(folder_);
  ASSERT_NE(store, nullptr);
  EXPECT_TRUE(store->Get(TestId(1)).ok());
  const absl::Status status = store->Add(TestApply(TestId(2)));
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(status.message(), Tells("msg-hub-file-not-written"));
  EXPECT_TRUE(absl::IsPermissionDenied(store->Update(TestCheck(TestId(1)))));
}

TEST_F(HistoryDiskTest, ReadOnlyFolderWithoutHistoryIsRefused) {
  MakeReadOnly();
  const absl::Status status = HistoryStore::Open(folder_).status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(status, HasText("Read-only file system"));
}

}  // namespace
}  // namespace clusterd
