#include "daemon/controller/history/folder_lock.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using testing::HasSubstr;

std::string NewFolder() {
  std::string path = testing::TempDir() + "/lock.XXXXXX";
  EXPECT_NE(mkdtemp(path.data()), nullptr);
  return path;
}

TEST(FolderLockTest, IsOnePersonsAtATime) {
  const std::string folder = NewFolder();
  auto first = FolderLock::Take(folder);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = FolderLock::Take(folder).status();
  EXPECT_TRUE(absl::IsUnavailable(second));
  EXPECT_THAT(std::string(second.message()),
              HasSubstr(folder + "\": in use by another clusterd-controller"));
  first->reset();
  EXPECT_TRUE(FolderLock::Take(folder).ok());
}

TEST(FolderLockTest, EndsWithItsProcess) {
  const std::string folder = NewFolder();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto lock = FolderLock::Take(folder);
    _exit(lock.ok() ? 0 : 1);  // Without the destructor, as when killed.
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_TRUE(FolderLock::Take(folder).ok());
}

TEST(FolderLockTest, NamesFolderThatIsNotThere) {
  const absl::Status status = FolderLock::Take("/nowhere/state").status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("state folder \"/nowhere/state\": No such file"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--state"));
}

TEST(FolderLockTest, RefusesFile) {
  const std::string path = NewFolder() + "/file";
  std::ofstream(path) << "x";
  EXPECT_TRUE(absl::IsNotFound(FolderLock::Take(path).status()));
}

TEST(FolderLockTest, SyncsItsFolder) {
  const auto lock = FolderLock::Take(NewFolder());
  ASSERT_TRUE(lock.ok());
  EXPECT_TRUE((*lock)->Sync().ok());
}

}  // namespace
}  // namespace clusterd
