#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/files/user_files.h"
#include "config/identity/regular_file.h"
#include "config/words/message.h"
#include "gtest/gtest.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

namespace fs = std::filesystem;

// A folder of this test's own.
std::string Folder() {
  const std::string path =
      testing::TempDir() + "/" +
      testing::UnitTest::GetInstance()->current_test_info()->name();
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

unsigned ModeOf(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

size_t FilesIn(const std::string& folder) {
  return std::distance(fs::directory_iterator(folder),
                       fs::directory_iterator());
}

TEST(ReadTextFileTest, ReadsTheWholeFile) {
  const std::string path = Folder() + "/f";
  const std::string text(200'000, 'x');
  std::ofstream(path) << text;
  EXPECT_EQ(*ReadTextFile(path), text);
}

TEST(ReadTextFileTest, NamesThePathOfWhatCannotBeRead) {
  const std::string folder = Folder();
  EXPECT_EQ(ReadTextFile(folder + "/none").status(),
            FileStatus(folder + "/none", ENOENT));
  EXPECT_EQ(ReadTextFile(folder).status(),
            InvalidWords("msg-trust-not-regular", folder));
}

// No process writes to the FIFO, so that opening it would block forever.
TEST(ReadTextFileTest, WaitsForNoFifo) {
  const std::string path = Folder() + "/fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  for (const std::string& name : {path, "/dev/fd/../../.." + path}) {
    EXPECT_EQ(ReadTextFile(name).status(),
              InvalidWords("msg-trust-not-regular", name));
  }
}

TEST(ReadTextFileTest, ReadsWhatAShellHandsOver) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "six\n", 4), 4);
  close(ends[1]);
  const auto read = ReadTextFile(absl::StrCat("/dev/fd/", ends[0]));
  close(ends[0]);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, "six\n");
}

TEST(ReadTextFileTest, RefusesAFileOverTheBound) {
  const std::string path = Folder() + "/f";
  std::ofstream(path) << "12345";
  EXPECT_TRUE(ReadTextFile(path, 5).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(ReadTextFile(path, 4).status()));
}

TEST(WriteTextFileTest, WritesANewFileAndLeavesNoOtherBehind) {
  const std::string folder = Folder();
  ASSERT_TRUE(WriteTextFile(folder + "/f", "new").ok());
  EXPECT_EQ(TextOfFile(folder + "/f"), "new");
  EXPECT_EQ(FilesIn(folder), 1u);
}

TEST(WriteTextFileTest, ReplacesTheFileInsteadOfWritingIntoIt) {
  const std::string folder = Folder();
  const std::string path = folder + "/f";
  std::ofstream(path) << "an older and longer text";
  fs::create_hard_link(path, folder + "/old");
  ASSERT_TRUE(WriteTextFile(path, "new").ok());
  EXPECT_EQ(TextOfFile(path), "new");
  EXPECT_EQ(TextOfFile(folder + "/old"), "an older and longer text");
}

TEST(WriteTextFileTest, FollowsALinkToItsFile) {
  const std::string folder = Folder();
  std::ofstream(folder + "/real") << "old";
  fs::create_symlink(folder + "/real", folder + "/link");
  ASSERT_TRUE(WriteTextFile(folder + "/link", "new").ok());
  EXPECT_TRUE(fs::is_symlink(folder + "/link"));
  EXPECT_EQ(TextOfFile(folder + "/real"), "new");
}

TEST(WriteTextFileTest, LetsOthersReadAsFarAsTheUmaskDoes) {
  const std::string path = Folder() + "/f";
  ASSERT_TRUE(WriteTextFile(path, "new").ok());
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_EQ(ModeOf(path), 0666 & ~mask);
}

TEST(WriteTextFileTest, KeepsOthersFromReadingAlsoWhatTheyCouldRead) {
  const std::string path = Folder() + "/f";
  std::ofstream(path) << "old";
  fs::permissions(path, fs::perms(0666));
  ASSERT_TRUE(WriteTextFile(path, "new", kOwnerOnly).ok());
  EXPECT_EQ(TextOfFile(path), "new");
  EXPECT_EQ(ModeOf(path), 0600u);
}

TEST(WriteTextFileTest, WritesToAFifoInsteadOfReplacingIt) {
  const std::string path = Folder() + "/fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = TextOfFile(path); });
  EXPECT_TRUE(WriteTextFile(path, "report").ok());
  reader.join();
  EXPECT_EQ(received, "report");
  EXPECT_TRUE(fs::is_fifo(path));
}

TEST(WriteTextFileTest, NeverReplacesADevice) {
  ASSERT_TRUE(WriteTextFile("/dev/null", "report").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(WriteNewFileTest, WritesAFileForThisUserOnly) {
  const std::string path = Folder() + "/a.jsonl";
  ASSERT_TRUE(WriteNewFile(path, "{}\n").ok());
  EXPECT_EQ(TextOfFile(path), "{}\n");
  EXPECT_EQ(ModeOf(path), 0600u);
}

TEST(WriteNewFileTest, NeverWritesThroughWhatIsThere) {
  const std::string folder = Folder();
  ASSERT_TRUE(WriteNewFile(folder + "/a.jsonl", "kept").ok());
  fs::create_symlink("/etc/passwd", folder + "/link");
  fs::create_symlink("nowhere", folder + "/dangling");
  for (const char* name : {"/a.jsonl", "/link", "/dangling"}) {
    EXPECT_EQ(WriteNewFile(folder + name, "x"),
              PreconditionWords("msg-new-file-exists", folder + name));
  }
  EXPECT_EQ(TextOfFile(folder + "/a.jsonl"), "kept");
}

TEST(WriteFileTest, SaysThatTheFolderIsMissing) {
  const std::string path = Folder() + "/no/such/a.jsonl";
  EXPECT_EQ(WriteTextFile(path, "x"), FileStatus(path, ENOENT));
  EXPECT_EQ(WriteNewFile(path, "x"), FileStatus(path, ENOENT));
}

TEST(CheckFileTargetTest, TellsWhereAFileCouldBeWritten) {
  const std::string folder = testing::TempDir();
  EXPECT_TRUE(CheckFileTarget(absl::StrCat(folder, "/absent")).ok());
  EXPECT_TRUE(CheckFileTarget("/dev/stdout").ok());
  EXPECT_EQ(CheckFileTarget(folder),
            InvalidWords("msg-target-is-folder", folder));
  EXPECT_EQ(CheckFileTarget("/nonexistent/file"),
            FileStatus("/nonexistent/file", ENOENT));
}

}  // namespace
}  // namespace clusterd
