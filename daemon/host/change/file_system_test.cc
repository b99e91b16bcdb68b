#include "daemon/host/change/file_system.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "daemon/host/change/mutation_token_issuer.h"
#include "daemon/host/change/saved_file.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_file_system.h"

namespace clusterd {
namespace {

TEST(FolderOfTest, IsEverythingBeforeTheLastSlash) {
  EXPECT_EQ(FolderOf("/etc/hccn.conf"), "/etc");
  EXPECT_EQ(FolderOf("/x"), "/");
}

TEST(WriteFullyTest, GoesOnWhereAShortWriteStopped) {
  FakeFileSystem files;
  std::string got;
  FakeFileSystem::Special special;
  special.read = [&got] { return got; };
  special.write = [&got](uint64_t offset, absl::string_view bytes) {
    EXPECT_EQ(offset, got.size());
    got += std::string(bytes.substr(0, 3));
    return absl::StatusOr<size_t>(std::min<size_t>(3, bytes.size()));
  };
  files.PutSpecial("/proc/x", special);
  auto file = files.Open("/proc/x", OpenMode::kReadWrite);
  EXPECT_TRUE(WriteFully(file->get(), 0, "abcdefgh").ok());
  EXPECT_EQ(got, "abcdefgh");
}

TEST(WriteFullyTest, GivesUpOnAWriteThatTakesNothing) {
  FakeFileSystem files;
  FakeFileSystem::Special special;
  special.read = [] { return std::string(); };
  special.write = [](uint64_t, absl::string_view) {
    return absl::StatusOr<size_t>(size_t{0});
  };
  files.PutSpecial("/proc/x", special);
  auto file = files.Open("/proc/x", OpenMode::kReadWrite);
  EXPECT_TRUE(absl::IsDataLoss(WriteFully(file->get(), 0, "a")));
}

TEST(ReadWholeFileTest, RefusesWhatIsLargerThanAskedFor) {
  FakeFileSystem files;
  files.Put("/etc/x", "12345");
  EXPECT_EQ(*ReadWholeFile(&files, "/etc/x", 5), "12345");
  EXPECT_TRUE(absl::IsOutOfRange(ReadWholeFile(&files, "/etc/x", 4).status()));
  EXPECT_TRUE(absl::IsNotFound(ReadWholeFile(&files, "/etc/y", 4).status()));
}

std::string NewFolder() {
  std::string path = std::string(getenv("TEST_TMPDIR")) + "/posix.XXXXXX";
  EXPECT_NE(mkdtemp(path.data()), nullptr);
  return path;
}

void Write(FileSystem* files, const std::string& path,
           const std::string& text) {
  auto file = files->Open(path, OpenMode::kCreate);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(WriteFully(file->get(), 0, text).ok());
}

TEST(PosixFileSystemTest, CreatesReadsRenamesListsAndRemoves) {
  const auto files = MakePosixFileSystem(NewFolder() + "/");
  ASSERT_TRUE(files->MakeDirectory("/etc", 0755).ok());
  Write(files.get(), "/etc/b", "text");
  EXPECT_EQ(*ReadWholeFile(files.get(), "/etc/b", 100), "text");
  EXPECT_TRUE(
      absl::IsAlreadyExists(files->Open("/etc/b", OpenMode::kCreate).status()));
  ASSERT_TRUE(files->Rename("/etc/b", "/etc/a").ok());
  ASSERT_TRUE(files->SyncDirectory("/etc").ok());
  EXPECT_EQ(*files->List("/etc"), std::vector<std::string>{"a"});
  EXPECT_EQ(files->Stat("/etc/a")->mode, 0600u);
  EXPECT_EQ(files->Stat("/etc/a")->size, 4u);
  ASSERT_TRUE(files->Remove("/etc/a").ok());
  EXPECT_TRUE(absl::IsNotFound(files->Stat("/etc/a").status()));
}

TEST(PosixFileSystemTest, CreateDoesNotFollowADanglingLink) {
  const std::string root = NewFolder();
  const auto files = MakePosixFileSystem(root);
  ASSERT_EQ(symlink((root + "/elsewhere").c_str(), (root + "/x").c_str()), 0);
  EXPECT_TRUE(
      absl::IsAlreadyExists(files->Open("/x", OpenMode::kCreate).status()));
  EXPECT_TRUE(absl::IsNotFound(files->Stat("/elsewhere").status()));
  EXPECT_EQ(files->Stat("/x")->type, FileType::kSymlink);
}

TEST(PosixFileSystemTest, DoesNotHangOnAPipe) {
  const std::string root = NewFolder();
  const auto files = MakePosixFileSystem(root);
  ASSERT_EQ(mkfifo((root + "/pipe").c_str(), 0600), 0);
  auto file = files->Open("/pipe", OpenMode::kRead);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->Attributes()->type, FileType::kOther);
}

TEST(PosixFileSystemTest, ALockIsHeldUntilTheFileIsClosed) {
  const auto files = MakePosixFileSystem(NewFolder());
  Write(files.get(), "/lock", "");
  auto first = files->Open("/lock", OpenMode::kReadWrite);
  EXPECT_TRUE(*(*first)->TryLock());
  auto second = files->Open("/lock", OpenMode::kReadWrite);
  EXPECT_FALSE(*(*second)->TryLock());
  first->reset();
  EXPECT_TRUE(*(*second)->TryLock());
}

TEST(PosixFileSystemTest, ReplacingAFileMakesANewInodeWithTheOldMode) {
  const auto files = MakePosixFileSystem(NewFolder());
  MutationTokenIssuer issuer;
  Write(files.get(), "/x.conf", "old\n");
  (void)(*files->Open("/x.conf", OpenMode::kReadWrite))->SetMode(0640);
  const FileAttributes before = *files->Stat("/x.conf");
  ASSERT_TRUE(
      ReplaceFile(issuer.token(), files.get(), "/x.conf", "new\n").ok());
  EXPECT_EQ(*ReadWholeFile(files.get(), "/x.conf", 100), "new\n");
  EXPECT_EQ(files->Stat("/x.conf")->mode, 0640u);
  EXPECT_NE(files->Stat("/x.conf")->inode, before.inode);
  EXPECT_EQ(*files->List("/"), std::vector<std::string>{"x.conf"});
}

TEST(PosixFileSystemTest, EditingInPlaceKeepsTheInodeAndCutsTheRest) {
  const auto files = MakePosixFileSystem(NewFolder());
  FakeClock clock;
  MutationTokenIssuer issuer;
  Write(files.get(), "/hccn.conf", "a long old text\n");
  const FileAttributes before = *files->Stat("/hccn.conf");
  InPlaceFile conf(files.get(), &clock, "/hccn.conf", absl::Seconds(1));
  const auto edit = [](absl::string_view) {
    return absl::StatusOr<std::string>("short\n");
  };
  ASSERT_TRUE(conf.Edit(issuer.token(), edit).ok());
  EXPECT_EQ(*ReadWholeFile(files.get(), "/hccn.conf", 100), "short\n");
  EXPECT_EQ(files->Stat("/hccn.conf")->inode, before.inode);
}

}  // namespace
}  // namespace clusterd
