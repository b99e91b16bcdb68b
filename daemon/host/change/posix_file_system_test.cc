#include "daemon/host/change/posix_file_system.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "daemon/host/change/atomic_file.h"
#include "daemon/host/change/in_place_file.h"
#include "daemon/host/change/mutation_token_issuer.h"
#include "daemon/host/fake_clock.h"

namespace clusterd {
namespace {

std::string NewFolder() {
  std::string path = std::string(getenv("TEST_TMPDIR")) + "/posix.XXXXXX";
  EXPECT_NE(mkdtemp(path.data()), nullptr);
  return path;
}

void Write(PosixFileSystem* files, const std::string& path,
           const std::string& text) {
  auto file = files->Open(path, OpenMode::kCreate);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(WriteFully(file->get(), 0, text).ok());
}

TEST(PosixFileSystemTest, CreatesReadsRenamesListsAndRemoves) {
  PosixFileSystem files(NewFolder() + "/");
  ASSERT_TRUE(files.MakeDirectory("/etc", 0755).ok());
  Write(&files, "/etc/b", "text");
  EXPECT_EQ(*ReadWholeFile(&files, "/etc/b", 100), "text");
  EXPECT_TRUE(
      absl::IsAlreadyExists(files.Open("/etc/b", OpenMode::kCreate).status()));
  ASSERT_TRUE(files.Rename("/etc/b", "/etc/a").ok());
  ASSERT_TRUE(files.SyncDirectory("/etc").ok());
  EXPECT_EQ(*files.List("/etc"), std::vector<std::string>{"a"});
  EXPECT_EQ(files.Stat("/etc/a")->mode, 0600u);
  EXPECT_EQ(files.Stat("/etc/a")->size, 4u);
  ASSERT_TRUE(files.Remove("/etc/a").ok());
  EXPECT_TRUE(absl::IsNotFound(files.Stat("/etc/a").status()));
}

TEST(PosixFileSystemTest, CreateDoesNotFollowADanglingLink) {
  const std::string root = NewFolder();
  PosixFileSystem files(root);
  ASSERT_EQ(symlink((root + "/elsewhere").c_str(), (root + "/x").c_str()), 0);
  EXPECT_TRUE(
      absl::IsAlreadyExists(files.Open("/x", OpenMode::kCreate).status()));
  EXPECT_TRUE(absl::IsNotFound(files.Stat("/elsewhere").status()));
  EXPECT_EQ(files.Stat("/x")->type, FileType::kSymlink);
}

TEST(PosixFileSystemTest, DoesNotHangOnAPipe) {
  const std::string root = NewFolder();
  PosixFileSystem files(root);
  ASSERT_EQ(mkfifo((root + "/pipe").c_str(), 0600), 0);
  auto file = files.Open("/pipe", OpenMode::kRead);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->Attributes()->type, FileType::kOther);
}

TEST(PosixFileSystemTest, ALockIsHeldUntilTheFileIsClosed) {
  PosixFileSystem files(NewFolder());
  Write(&files, "/lock", "");
  auto first = files.Open("/lock", OpenMode::kReadWrite);
  EXPECT_TRUE(*(*first)->TryLock());
  auto second = files.Open("/lock", OpenMode::kReadWrite);
  EXPECT_FALSE(*(*second)->TryLock());
  first->reset();
  EXPECT_TRUE(*(*second)->TryLock());
}

TEST(PosixFileSystemTest, ReplacingAFileMakesANewInodeWithTheOldMode) {
  PosixFileSystem files(NewFolder());
  MutationTokenIssuer issuer;
  Write(&files, "/x.conf", "old\n");
  (void)(*files.Open("/x.conf", OpenMode::kReadWrite))->SetMode(0640);
  const FileAttributes before = *files.Stat("/x.conf");
  ASSERT_TRUE(
      ReplaceFile(issuer.token(), &files, "/x.conf", "new\n", 0644).ok());
  EXPECT_EQ(*ReadWholeFile(&files, "/x.conf", 100), "new\n");
  EXPECT_EQ(files.Stat("/x.conf")->mode, 0640u);
  EXPECT_NE(files.Stat("/x.conf")->inode, before.inode);
  EXPECT_EQ(*files.List("/"), std::vector<std::string>{"x.conf"});
}

TEST(PosixFileSystemTest, EditingInPlaceKeepsTheInodeAndCutsTheRest) {
  PosixFileSystem files(NewFolder());
  FakeClock clock;
  MutationTokenIssuer issuer;
  Write(&files, "/hccn.conf", "a long old text\n");
  const FileAttributes before = *files.Stat("/hccn.conf");
  InPlaceFile conf(&files, &clock, "/hccn.conf", absl::Seconds(1));
  const auto edit = [](absl::string_view) {
    return absl::StatusOr<std::string>("short\n");
  };
  ASSERT_TRUE(conf.Edit(issuer.token(), edit).ok());
  EXPECT_EQ(*ReadWholeFile(&files, "/hccn.conf", 100), "short\n");
  EXPECT_EQ(files.Stat("/hccn.conf")->inode, before.inode);
}

}  // namespace
}  // namespace clusterd
