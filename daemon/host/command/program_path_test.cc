#include "daemon/host/command/program_path.h"

#include <unistd.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

constexpr char kTool[] = "/usr/local/Ascend/driver/tools/hccn_tool";

constexpr char kOtherTool[] = "/opt/Ascend/driver/tools/hccn_tool";
constexpr char kNoProgram[] = "not an executable file";
constexpr char kOthersCan[] =
    ": not trusted, because others than root can change it";

class ProgramPathTest : public ::testing::Test {
 protected:
  ProgramPathTest() { Install(); }

  void Install() { root_.WriteProgram(kTool, "#!/bin/sh\n"); }
  absl::Status Check() { return FindProgram(root_.path(), {kTool}).status(); }
  void ExpectRefused(const std::string& part) {
    const absl::Status status = Check();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_THAT(status, HasText(part));
  }
  void LinkToOtherTool() {
    root_.Remove("/usr/local/Ascend");
    root_.WriteProgram(kOtherTool, "#!/bin/sh\n");
    root_.Link("/usr/local/Ascend", "../../opt/Ascend");
  }

  ScratchRoot root_;
};

TEST_F(ProgramPathTest, AcceptsAProgramOfOurOwnAndTheSystemsShell) {
  EXPECT_TRUE(Check().ok()) << Check();
  const auto found = FindProgram("/", {"/bin/sh"});
  EXPECT_TRUE(found.ok()) << found.status();
}

TEST_F(ProgramPathTest, SaysWhatIsAbsent) {
  root_.Remove(kTool);
  EXPECT_EQ(Check().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Check(), HasText(kTool));
}

TEST_F(ProgramPathTest, ChecksTheModesOfFileAndFolders) {
  root_.SetMode(kTool, 0644);
  ExpectRefused(kNoProgram);
  root_.SetMode(kTool, 0757);
  ExpectRefused("mode 0757");
  root_.SetMode(kTool, 0755);
  root_.SetMode("/usr/local", 0777);
  ExpectRefused(std::string("/usr/local") + kOthersCan);
  root_.SetMode("/usr/local", 01777);
  EXPECT_TRUE(Check().ok()) << Check();
}

TEST_F(ProgramPathTest, RefusesAFolderALinkOutOfTheRootAndALoop) {
  root_.Remove(kTool);
  root_.MakeFolder(kTool);
  ExpectRefused(kNoProgram);
  root_.Remove(kTool);
  root_.Link(kTool, "/bin/sh");
  ExpectRefused("leads out of");
  root_.Remove(kTool);
  root_.Link(kTool, "hccn_tool");
  ExpectRefused("hccn_tool");
}

TEST_F(ProgramPathTest, RefusesAProgramOfAnotherUser) {
  const std::string full = root_.path() + kTool;
  if (chown(full.c_str(), 1234, 0) != 0) GTEST_SKIP() << "chown not possible";
  ExpectRefused("owner 1234");
}

TEST_F(ProgramPathTest, RefusesAFolderThatAnotherGroupCanWrite) {
  const std::string full = root_.path() + "/usr/local";
  if (chown(full.c_str(), 0, 1234) != 0) GTEST_SKIP() << "chown not possible";
  root_.SetMode("/usr/local", 0775);
  ExpectRefused("group 1234");
}

TEST_F(ProgramPathTest, FollowsLinksInsideTheRootAndChecksTheirFolders) {
  LinkToOtherTool();
  EXPECT_TRUE(Check().ok()) << Check();
  root_.SetMode("/opt", 0777);
  ExpectRefused(std::string("/opt") + kOthersCan);
}

TEST_F(ProgramPathTest, FindsTheFirstThatExistsAndPassesOverNoRefusedOne) {
  const absl::string_view candidates[] = {"/usr/bin/hccn_tool", kTool};
  EXPECT_EQ(*FindProgram(root_.path(), candidates), root_.path() + kTool);
  root_.Write("/usr/bin/hccn_tool", "x", 0777);
  EXPECT_EQ(FindProgram(root_.path(), candidates).status().code(),
            absl::StatusCode::kPermissionDenied);
  const absl::Status none = FindProgram(root_.path(), {"/a", "/b"}).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(none, HasText("/a"));
}

TEST(CheckFolderTest, BelievesWhatRootAloneCanChange) {
  EXPECT_TRUE(CheckFolder("/usr/bin").ok()) << CheckFolder("/usr/bin");
  EXPECT_TRUE(CheckFolder("/").ok());
  EXPECT_TRUE(absl::IsNotFound(CheckFolder("/nowhere/at/all")));
  EXPECT_TRUE(absl::IsPermissionDenied(CheckFolder("/bin/sh")));
}

TEST(CheckFolderTest, RefusesAFolderThatOthersCanWriteIntoWhereverItIs) {
  ScratchRoot root;
  root.Write("/driver/lib64/libascend.so", "x");
  const std::string folder = root.path() + "/driver/lib64";
  ASSERT_TRUE(CheckFolder(folder).ok()) << CheckFolder(folder);
  for (const char* part : {"/driver", "/driver/lib64"}) {
    root.SetMode(part, 0777);
    const absl::Status status = CheckFolder(folder);
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    EXPECT_THAT(status.message(), Tells("msg-step-others-can-change"));
    root.SetMode(part, 0755);
  }
}

}  // namespace
}  // namespace clusterd
