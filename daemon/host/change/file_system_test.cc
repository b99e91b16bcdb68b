#include "daemon/host/change/file_system.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>

#include "daemon/host/change/mutation_token_issuer.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_file_system.h"
#include "tests/support/host/scratch_root.h"

namespace clusterd {
namespace {

TEST(FolderOfTest, IsEverythingBeforeTheLastSlash) {
  EXPECT_EQ(FolderOf("/etc/hccn.conf"), "/etc");
  EXPECT_EQ(FolderOf("/x"), "/");
}

// Writes to a file that takes this many bytes of each write, into `got`.
absl::Status WriteToTaking(size_t most, const std::string& text,
                           std::string* got) {
  FakeFileSystem files;
  FakeFileSystem::Special special;
  special.read = [got] { return *got; };
  special.write = [got, most](uint64_t offset, absl::string_view bytes) {
    EXPECT_EQ(offset, got->size());
    *got += std::string(bytes.substr(0, most));
    return absl::StatusOr<size_t>(std::min(most, bytes.size()));
  };
  files.PutSpecial("/proc/x", special);
  auto file = files.Open("/proc/x", OpenMode::kReadWrite);
  return WriteFully(file->get(), 0, text);
}

TEST(WriteFullyTest, GoesOnWhereAShortWriteStopped) {
  std::string got;
  EXPECT_TRUE(WriteToTaking(3, "abcdefgh", &got).ok());
  EXPECT_EQ(got, "abcdefgh");
}

TEST(WriteFullyTest, GivesUpOnAWriteThatTakesNothing) {
  std::string got;
  EXPECT_TRUE(absl::IsDataLoss(WriteToTaking(0, "a", &got)));
}

TEST(ReadWholeFileTest, RefusesWhatIsLargerThanAskedFor) {
  FakeFileSystem files;
  files.Put("/etc/x", "12345");
  EXPECT_EQ(*ReadWholeFile(&files, "/etc/x", 5), "12345");
  EXPECT_TRUE(absl::IsOutOfRange(ReadWholeFile(&files, "/etc/x", 4).status()));
  EXPECT_TRUE(absl::IsNotFound(ReadWholeFile(&files, "/etc/y", 4).status()));
}

class PosixFileSystemTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    auto file = files_->Open(path, OpenMode::kCreate);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(WriteFully(file->get(), 0, text).ok());
  }
  std::string Read(const std::string& path) {
    return *ReadWholeFile(files_.get(), path, 100);
  }

  ScratchRoot root_;
  const std::unique_ptr<FileSystem> files_ = MakePosixFileSystem(root_.path());
  MutationTokenIssuer issuer_;
};

TEST_F(PosixFileSystemTest, CreatesReadsRenamesListsAndRemoves) {
  ASSERT_TRUE(files_->MakeDirectory("/etc", 0755).ok());
  Write("/etc/b", "text");
  EXPECT_EQ(Read("/etc/b"), "text");
  const auto with_slash = MakePosixFileSystem(root_.path() + "/");
  EXPECT_EQ(*ReadWholeFile(with_slash.get(), "/etc/b", 100), "text");
  EXPECT_TRUE(absl::IsAlreadyExists(
      files_->Open("/etc/b", OpenMode::kCreate).status()));
  ASSERT_TRUE(files_->Rename("/etc/b", "/etc/a").ok());
  ASSERT_TRUE(files_->SyncDirectory("/etc").ok());
  EXPECT_EQ(*files_->List("/etc"), std::vector<std::string>{"a"});
  EXPECT_EQ(files_->Stat("/etc/a")->mode, 0600u);
  EXPECT_EQ(files_->Stat("/etc/a")->size, 4u);
  ASSERT_TRUE(files_->Remove("/etc/a").ok());
  EXPECT_TRUE(absl::IsNotFound(files_->Stat("/etc/a").status()));
}

TEST_F(PosixFileSystemTest, CreateDoesNotFollowADanglingLink) {
  root_.Link("/x", root_.path() + "/elsewhere");
  EXPECT_TRUE(
      absl::IsAlreadyExists(files_->Open("/x", OpenMode::kCreate).status()));
  EXPECT_TRUE(absl::IsNotFound(files_->Stat("/elsewhere").status()));
  EXPECT_EQ(files_->Stat("/x")->type, FileType::kSymlink);
}

TEST_F(PosixFileSystemTest, DoesNotHangOnAPipe) {
  ASSERT_EQ(mkfifo((root_.path() + "/pipe").c_str(), 0600), 0);
  auto file = files_->Open("/pipe", OpenMode::kRead);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->Attributes()->type, FileType::kOther);
}

TEST_F(PosixFileSystemTest, ALockIsHeldUntilTheFileIsClosed) {
  Write("/lock", "");
  auto first = files_->Open("/lock", OpenMode::kReadWrite);
  EXPECT_TRUE(*(*first)->TryLock());
  auto second = files_->Open("/lock", OpenMode::kReadWrite);
  EXPECT_FALSE(*(*second)->TryLock());
  first->reset();
  EXPECT_TRUE(*(*second)->TryLock());
}

// A program of another thread is being started.
TEST_F(PosixFileSystemTest, ALockEndsThoughAChildHasTheDescriptor) {
  Write("/lock", "");
  auto first = files_->Open("/lock", OpenMode::kReadWrite);
  ASSERT_TRUE(*(*first)->TryLock());
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (true) pause();
  }
  first->reset();
  auto second = files_->Open("/lock", OpenMode::kReadWrite);
  EXPECT_TRUE(*(*second)->TryLock());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(PosixFileSystemTest, ReplacingAFileMakesANewInodeWithTheOldMode) {
  Write("/x.conf", "old\n");
  (void)(*files_->Open("/x.conf", OpenMode::kReadWrite))->SetMode(0640);
  const FileAttributes before = *files_->Stat("/x.conf");
  ASSERT_TRUE(
      ReplaceFile(issuer_.token(), files_.get(), "/x.conf", "new\n").ok());
  EXPECT_EQ(Read("/x.conf"), "new\n");
  EXPECT_EQ(files_->Stat("/x.conf")->mode, 0640u);
  EXPECT_NE(files_->Stat("/x.conf")->inode, before.inode);
  EXPECT_EQ(*files_->List("/"), std::vector<std::string>{"x.conf"});
}

TEST_F(PosixFileSystemTest, EditingInPlaceKeepsTheInodeAndCutsTheRest) {
  FakeClock clock;
  Write("/hccn.conf", "a long old text\n");
  const FileAttributes before = *files_->Stat("/hccn.conf");
  InPlaceFile conf(files_.get(), &clock, "/hccn.conf", absl::Seconds(1));
  const auto edit = [](absl::string_view) {
    return absl::StatusOr<std::string>("short\n");
  };
  ASSERT_TRUE(conf.Edit(issuer_.token(), edit).ok());
  EXPECT_EQ(Read("/hccn.conf"), "short\n");
  EXPECT_EQ(files_->Stat("/hccn.conf")->inode, before.inode);
}

}  // namespace
}  // namespace clusterd
