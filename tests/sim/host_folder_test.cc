#include "tests/sim/host_folder.h"

#include <sys/stat.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/test_folder.h"
#include "tests/support/wait/telling.h"

namespace clusterd::sim {
namespace {

TEST(HostFolderTest, WriteMakesFoldersAndSetsTheMode) {
  const TestFolder folder;
  const HostFolder host(folder.path());
  ASSERT_TRUE(host.Write("etc/a/b", "text", 0640).ok());
  EXPECT_EQ(host.Read("etc/a/b"), "text");
  struct stat found;
  ASSERT_EQ(stat(host.Path("etc/a/b").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0640u);
}

TEST(HostFolderTest, WriteKeepsTheInodeAndLeavesNothingOfTheOldText) {
  const TestFolder folder;
  const HostFolder host(folder.path());
  ASSERT_TRUE(host.Write("a", "a long text").ok());
  struct stat before, after;
  stat(host.Path("a").c_str(), &before);
  ASSERT_TRUE(host.Write("a", "b").ok());
  stat(host.Path("a").c_str(), &after);
  EXPECT_EQ(host.Read("a"), "b");
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST(HostFolderTest, WriteDoesNotFollowALink) {
  const TestFolder folder;
  const HostFolder host(folder.path());
  ASSERT_TRUE(host.Write("target", "kept").ok());
  ASSERT_TRUE(host.Link("link", "target").ok());
  EXPECT_FALSE(host.Write("link", "lost").ok());
  EXPECT_EQ(host.Read("target"), "kept");
}

TEST(HostFolderTest, RemoveOfNothingIsFine) {
  const TestFolder folder;
  const HostFolder host(folder.path());
  EXPECT_TRUE(host.Remove("nothing").ok());
  ASSERT_TRUE(host.Write("a", "").ok());
  EXPECT_TRUE(host.Exists("a"));
  EXPECT_TRUE(host.Remove("a").ok());
  EXPECT_FALSE(host.Exists("a"));
}

TEST(HostFolderTest, AdoptedProgramRunsFromItsNewPlace) {
  const TestFolder folder;
  const HostFolder host(folder.path());
  ASSERT_TRUE(host.Adopt("usr/bin/true", "/bin/true").ok());
  EXPECT_EQ(system(host.Path("usr/bin/true").c_str()), 0);
}

TEST(HostFolderTest, AdoptNamesAProgramThatIsNotThere) {
  const TestFolder folder;
  const absl::Status status =
      HostFolder(folder.path()).Adopt("tool", "/nonexistent/tool");
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(status, HasText("/nonexistent/tool"));
}

TEST(HostFolderTest, NodeIsThereWhoeverMakesIt) {
  const TestFolder folder;
  const HostFolder host(folder.path());
  ASSERT_TRUE(host.MakeNode("dev/davinci0").ok());
  EXPECT_TRUE(host.Exists("dev/davinci0"));
}

}  // namespace
}  // namespace clusterd::sim
