#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "client/files/user_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

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

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
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
  const auto absent = ReadTextFile(folder + "/none");
  EXPECT_TRUE(absl::IsNotFound(absent.status()));
  EXPECT_EQ(absent.status().message(),
            folder + "/none: No such file or directory");
  const auto directory = ReadTextFile(folder);
  EXPECT_TRUE(absl::IsInvalidArgument(directory.status()));
  EXPECT_EQ(directory.status().message(), folder + ": not a regular file");
}

// No process writes to the FIFO, so that opening it would block for ever.
TEST(ReadTextFileTest, WaitsForNoFifo) {
  const std::string path = Folder() + "/fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  for (const std::string& name : {path, "/dev/fd/../../.." + path}) {
    const auto read = ReadTextFile(name);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(read.status().message(), name + ": not a regular file");
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
  EXPECT_EQ(Content(folder + "/f"), "new");
  EXPECT_EQ(FilesIn(folder), 1u);
}

TEST(WriteTextFileTest, ReplacesTheFileInsteadOfWritingIntoIt) {
  const std::string folder = Folder();
  const std::string path = folder + "/f";
  std::ofstream(path) << "an older and longer text";
  fs::create_hard_link(path, folder + "/old");
  ASSERT_TRUE(WriteTextFile(path, "new").ok());
  EXPECT_EQ(Content(path), "new");
  EXPECT_EQ(Content(folder + "/old"), "an older and longer text");
}

TEST(WriteTextFileTest, FollowsALinkToItsFile) {
  const std::string folder = Folder();
  std::ofstream(folder + "/real") << "old";
  fs::create_symlink(folder + "/real", folder + "/link");
  ASSERT_TRUE(WriteTextFile(folder + "/link", "new").ok());
  EXPECT_TRUE(fs::is_symlink(folder + "/link"));
  EXPECT_EQ(Content(folder + "/real"), "new");
}

TEST(WriteTextFileTest, LetsOthersReadAsFarAsTheUmaskDoes) {
  const std::string path = Folder() + "/f";
  ASSERT_TRUE(WriteTextFile(path, "new").ok());
  const mode_t mask = umask(0);
  umask(mask);
  struct stat info = {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666 & ~mask);
}

TEST(WriteTextFileTest, KeepsOthersFromReadingAlsoWhatTheyCouldRead) {
  const std::string path = Folder() + "/f";
  std::ofstream(path) << "old";
  fs::permissions(path, fs::perms(0666));
  ASSERT_TRUE(WriteTextFile(path, "new", kOwnerOnly).ok());
  EXPECT_EQ(Content(path), "new");
  struct stat info = {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST(WriteTextFileTest, WritesToAFifoInsteadOfReplacingIt) {
  const std::string path = Folder() + "/fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = Content(path); });
  EXPECT_TRUE(WriteTextFile(path, "report").ok());
  reader.join();
  EXPECT_EQ(received, "report");
  EXPECT_TRUE(fs::is_fifo(path));
}

TEST(WriteTextFileTest, NeverReplacesADevice) {
  ASSERT_TRUE(WriteTextFile("/dev/null", "report").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(WriteTextFileTest, SaysThatTheFolderIsAbsent) {
  const std::string path = Folder() + "/none/f";
  const absl::Status status = WriteTextFile(path, "x");
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_EQ(status.message(), path + ": No such file or directory");
}

class WriteNewFileTest : public ::testing::Test {
 protected:
  WriteNewFileTest() : folder_(::testing::TempDir() + "/newfileXXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
  }
  std::string Path(const std::string& name) const {
    return folder_ + "/" + name;
  }
  std::string folder_;
};

TEST_F(WriteNewFileTest, WritesAFileForThisUserOnly) {
  ASSERT_TRUE(WriteNewFile(Path("a.jsonl"), "{}\n").ok());
  std::ostringstream text;
  text << std::ifstream(Path("a.jsonl")).rdbuf();
  EXPECT_EQ(text.str(), "{}\n");
  struct stat info;
  ASSERT_EQ(stat(Path("a.jsonl").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(WriteNewFileTest, NeverWritesThroughWhatIsThere) {
  ASSERT_TRUE(WriteNewFile(Path("a.jsonl"), "kept").ok());
  ASSERT_EQ(symlink("/etc/passwd", Path("link").c_str()), 0);
  ASSERT_EQ(symlink("nowhere", Path("dangling").c_str()), 0);
  for (const char* name : {"a.jsonl", "link", "dangling"}) {
    const absl::Status status = WriteNewFile(Path(name), "x");
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("exists"));
  }
}

TEST_F(WriteNewFileTest, SaysThatTheFolderIsMissing) {
  EXPECT_TRUE(absl::IsNotFound(WriteNewFile(Path("no/such/a.jsonl"), "x")));
}

TEST(CheckFileTargetTest, TellsWhereAFileCouldBeWritten) {
  const std::string folder = testing::TempDir();
  EXPECT_TRUE(CheckFileTarget(absl::StrCat(folder, "/absent")).ok());
  EXPECT_TRUE(CheckFileTarget("/dev/stdout").ok());
  const absl::Status in_a_folders_place = CheckFileTarget(folder);
  EXPECT_TRUE(absl::IsInvalidArgument(in_a_folders_place));
  EXPECT_EQ(in_a_folders_place.message(),
            absl::StrCat(folder, ": is a folder, expected a file"));
  const absl::Status nowhere = CheckFileTarget("/nonexistent/file");
  EXPECT_TRUE(absl::IsNotFound(nowhere));
  EXPECT_EQ(nowhere.message(), "/nonexistent/file: No such file or directory");
}

}  // namespace
}  // namespace clusterd
