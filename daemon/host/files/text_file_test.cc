#include "daemon/host/files/text_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ReplaceTextFileTest : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/text_file.XXXXXX";
    root_ = mkdtemp(folder);
    fs::create_directories(root_ + "/var/metrics");
    ASSERT_EQ(chmod((root_ + "/var/metrics").c_str(), 0755), 0);
  }
  void TearDown() override { fs::remove_all(root_); }

  absl::Status Replace(const std::string& text) {
    return ReplaceTextFile(root_, "/var/metrics/clusterd.prom", text);
  }
  std::string Read(const std::string& path) { return TextOfFile(root_ + path); }

  std::string root_;
};

TEST_F(ReplaceTextFileTest, ReplacesTheWholeFileAndLeavesNothingElse) {
  EXPECT_EQ(Replace("a longer first text\n"), absl::OkStatus());
  EXPECT_EQ(Replace("second\n"), absl::OkStatus());
  EXPECT_EQ(Read("/var/metrics/clusterd.prom"), "second\n");
  struct stat info = {};
  ASSERT_EQ(stat((root_ + "/var/metrics/clusterd.prom").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0644u);
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ + "/var/metrics"),
                          fs::directory_iterator()),
            1);
}

TEST_F(ReplaceTextFileTest, AMissingFolderIsNotFoundAndNotMade) {
  const absl::Status status = ReplaceTextFile(root_, "/var/none/c.prom", "x");
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("/var/none"));
  EXPECT_FALSE(fs::exists(root_ + "/var/none"));
}

TEST_F(ReplaceTextFileTest, FollowsNoLinkInPlaceOfFileOrFolder) {
  std::ofstream(root_ + "/victim") << "precious";
  for (const char* const name : {"clusterd.prom", ".clusterd.prom.new"}) {
    fs::create_symlink(root_ + "/victim", root_ + "/var/metrics/" + name);
  }
  EXPECT_EQ(Replace("x"), absl::OkStatus());
  EXPECT_EQ(Read("/victim"), "precious");
  EXPECT_FALSE(fs::is_symlink(root_ + "/var/metrics/clusterd.prom"));
  EXPECT_EQ(Read("/var/metrics/clusterd.prom"), "x");

  fs::create_symlink(root_ + "/var/metrics", root_ + "/var/link");
  fs::create_symlink(root_ + "/var", root_ + "/link");
  for (const char* const path : {"/var/link/c.prom", "/link/metrics/c.prom"}) {
    const absl::Status status = ReplaceTextFile(root_, path, "x");
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("not a link")) << path;
  }
  EXPECT_FALSE(fs::exists(root_ + "/var/metrics/c.prom"));
}

TEST_F(ReplaceTextFileTest, WritesIntoNoFolderThatOthersMayFill) {
  for (const mode_t mode : {0775, 0757, 01777}) {
    ASSERT_EQ(chmod((root_ + "/var/metrics").c_str(), mode), 0);
    EXPECT_TRUE(absl::IsPermissionDenied(Replace("x"))) << mode;
    EXPECT_FALSE(fs::exists(root_ + "/var/metrics/clusterd.prom"));
  }
  ASSERT_EQ(chmod((root_ + "/var/metrics").c_str(), 0755), 0);
  if (chown((root_ + "/var/metrics").c_str(), 4711, 0) != 0) {
    GTEST_SKIP() << "only root can give a folder away";
  }
  const absl::Status status = Replace("x");
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("user 4711"));
}

TEST_F(ReplaceTextFileTest, APathThatIsNoneIsRefused) {
  for (const char* const path : {"", "/", "clusterd.prom"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ReplaceTextFile(root_, path, "x")))
        << path;
  }
  EXPECT_FALSE(ReplaceTextFile(root_, "/var/metrics", "x").ok());
}

}  // namespace
}  // namespace clusterd
