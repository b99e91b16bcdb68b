#include "tests/sim/host_folder.h"

#include <sys/stat.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/test_folder.h"
#include "tests/support/wait/telling.h"

namespace clusterd::sim {
namespace {

class HostFolderTest : public ::testing::Test {
 protected:
  struct stat StatOf(const std::string& path) {
    struct stat found = {};
    EXPECT_EQ(stat(host_.Path(path).c_str(), &found), 0) << path;
    return found;
  }

  const TestFolder folder_;
  const HostFolder host_{folder_.path()};
};

TEST_F(HostFolderTest, WriteMakesFoldersAndSetsTheMode) {
  ASSERT_TRUE(host_.Write("etc/a/b", "text", 0640).ok());
  EXPECT_EQ(host_.Read("etc/a/b"), "text");
  EXPECT_EQ(StatOf("etc/a/b").st_mode & 0777, 0640u);
}

TEST_F(HostFolderTest, WriteKeepsTheInodeAndLeavesNothingOfTheOldText) {
  ASSERT_TRUE(host_.Write("a", "a long text").ok());
  const ino_t before = StatOf("a").st_ino;
  ASSERT_TRUE(host_.Write("a", "b").ok());
  EXPECT_EQ(host_.Read("a"), "b");
  EXPECT_EQ(StatOf("a").st_ino, before);
}

TEST_F(HostFolderTest, WriteDoesNotFollowALink) {
  ASSERT_TRUE(host_.Write("target", "kept").ok());
  ASSERT_TRUE(host_.Link("link", "target").ok());
  EXPECT_FALSE(host_.Write("link", "lost").ok());
  EXPECT_EQ(host_.Read("target"), "kept");
}

TEST_F(HostFolderTest, RemoveOfNothingIsFine) {
  EXPECT_TRUE(host_.Remove("nothing").ok());
  ASSERT_TRUE(host_.Write("a", "").ok());
  EXPECT_TRUE(host_.Exists("a"));
  EXPECT_TRUE(host_.Remove("a").ok());
  EXPECT_FALSE(host_.Exists("a"));
}

TEST_F(HostFolderTest, AdoptedProgramRunsFromItsNewPlace) {
  ASSERT_TRUE(host_.Adopt("usr/bin/true", "/bin/true").ok());
  EXPECT_EQ(system(host_.Path("usr/bin/true").c_str()), 0);
  EXPECT_THAT(host_.Adopt("tool", "/nonexistent/tool"),
              Fails(absl::StatusCode::kNotFound, HasText("/nonexistent/tool")));
}

TEST_F(HostFolderTest, NodeIsThereWhoeverMakesIt) {
  ASSERT_TRUE(host_.MakeNode("dev/davinci0").ok());
  EXPECT_TRUE(host_.Exists("dev/davinci0"));
}

}  // namespace
}  // namespace clusterd::sim
