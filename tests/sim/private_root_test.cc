#include "tests/sim/private_root.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd::sim {
namespace {

using ::testing::Optional;

std::unique_ptr<PrivateRoot> Create(const RunSetup& setup,
                                    const std::optional<std::string>& conf) {
  auto root = PrivateRoot::Create(setup, conf);
  EXPECT_TRUE(root.ok()) << root.status();
  return root.ok() ? *std::move(root) : nullptr;
}

TEST(PrivateRootTest, HoldsTheFileAndGoesWithTheObject) {
  std::string path;
  {
    const auto root = Create({}, "mtu_0=1\n");
    path = root->path();
    EXPECT_THAT(root->ReadConf(), Optional(std::string("mtu_0=1\n")));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(PrivateRootTest, TellsNoFileFromADirectoryAndALink) {
  EXPECT_EQ(Create({}, std::nullopt)->ReadConf(), std::nullopt);
  RunSetup setup;
  setup.conf_kind = RunSetup::ConfKind::kDirectory;
  EXPECT_THAT(Create(setup, std::nullopt)->ReadConf(),
              Optional(std::string("<directory>")));
  setup.conf_kind = RunSetup::ConfKind::kSymlink;
  const auto linked = Create(setup, "a\n");
  EXPECT_THAT(linked->ReadConf(), Optional(std::string("a\n")));
  EXPECT_TRUE(std::filesystem::is_symlink(linked->ConfPath()));
  const auto dangling = Create(setup, std::nullopt);
  EXPECT_TRUE(std::filesystem::is_symlink(dangling->ConfPath()));
  EXPECT_EQ(dangling->ReadConf(), std::nullopt);
}

TEST(PrivateRootTest, KeepsTheModeWhateverTheMaskIs) {
  RunSetup setup;
  setup.conf_mode = 0640;
  const mode_t usual = umask(0077);
  const auto root = Create(setup, "");
  umask(usual);
  struct stat found;
  ASSERT_EQ(stat(root->ConfPath().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0640u);
}

TEST(EnterPrivateRootTest, ReadOnlyFileIsReadOnlyInsideAlone) {
  if (!MayEnterPrivately()) GTEST_SKIP() << "needs root and CAP_SYS_ADMIN";
  RunSetup setup;
  setup.conf_read_only = true;
  const auto root = Create(setup, "a\n");
  const pid_t child = fork();
  if (child == 0) {
    const bool inside = EnterPrivateRoot(*root, setup) &&
                        access(root->ConfPath().c_str(), W_OK) != 0 &&
                        access("/etc/hccn.conf", R_OK) == 0;
    _exit(inside ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(access(root->ConfPath().c_str(), W_OK), 0);
}

}  // namespace
}  // namespace clusterd::sim
