#include "daemon/controller/state_folder.h"

#include <sys/stat.h>

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

std::string Fresh(const std::string& name) {
  return testing::TempDir() + "/state_folder_test_" + name;
}

TEST(MakeStateFolderTest, MakesFolderForItsOwnerAloneAndKeepsOneThatIsThere) {
  const std::string path = Fresh("made");
  ASSERT_TRUE(MakeStateFolder(path).ok());
  struct stat info = {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  ASSERT_EQ(chmod(path.c_str(), 0750), 0);
  ASSERT_TRUE(MakeStateFolder(path).ok());
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0750u);
}

TEST(MakeStateFolderTest, SaysWhatIsInTheWay) {
  const absl::Status no_parent = MakeStateFolder(Fresh("none") + "/state");
  EXPECT_EQ(no_parent.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(no_parent.message()), HasSubstr("(--state)"));
  const std::string file = Fresh("file");
  std::ofstream(file) << "text";
  EXPECT_EQ(MakeStateFolder(file).code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace clusterd
