#include <string>

#include "daemon/host/files/file_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

std::string ReadTestData(const std::string& name) {
  return TestData("tests/testdata/host/info/" + name);
}

TEST(ParseInstallPathTest, ReadsThePath) {
  EXPECT_EQ(*ParseInstallPath(ReadTestData("ascend_install.info")),
            "/usr/local/Ascend");
  EXPECT_EQ(*ParseInstallPath("Driver_Install_Path_Param=/opt/npu/\n"),
            "/opt/npu");
}

TEST(ParseInstallPathTest, FallsBackToTheDefaultWithoutALine) {
  EXPECT_EQ(*ParseInstallPath(""), "/usr/local/Ascend");
  EXPECT_EQ(*ParseInstallPath("Firmware_Install_Path_Param=/x\n"),
            "/usr/local/Ascend");
}

TEST(ParseInstallPathTest, RejectsPathsThatLeadElsewhere) {
  for (const char* path : {"", "opt/npu", "/opt/../tmp", "/opt/\x01npu"}) {
    const absl::Status status =
        ParseInstallPath(std::string("Driver_Install_Path_Param=") + path)
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << path;
    EXPECT_THAT(std::string(status.message()), HasSubstr("absolute path"));
  }
}

TEST(ParseVersionInfoTest, ReadsTheFirstVersion) {
  EXPECT_EQ(*ParseInfoValue(ReadTestData("version.info"), "Version"), "23.0.7");
  EXPECT_EQ(*ParseInfoValue("Version=7.1.0.11.220\n"
                            "compatible_version_drv=[23]\n",
                            "Version"),
            "7.1.0.11.220");
}

TEST(ParseVersionInfoTest, RejectsAFileWithoutVersion) {
  for (const char* text : {"", "Version=\n", "version=1\n", "package=1\n"}) {
    EXPECT_EQ(ParseInfoValue(text, "Version").status().code(),
              absl::StatusCode::kInvalidArgument)
        << text;
  }
}

TEST(ParsePrettyNameTest, TakesTheQuotesOff) {
  EXPECT_EQ(*ParseInfoValue(ReadTestData("os-release"), "PRETTY_NAME"),
            "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(*ParseInfoValue("PRETTY_NAME='Kylin V10'\n", "PRETTY_NAME"),
            "Kylin V10");
  EXPECT_EQ(*ParseInfoValue("PRETTY_NAME=Void\n", "PRETTY_NAME"), "Void");
}

TEST(ParsePrettyNameTest, SpellsOutControlCharacters) {
  EXPECT_EQ(*ParseInfoValue("PRETTY_NAME=\"a\x1b[2J\"\n", "PRETTY_NAME"),
            "a\\x1b[2J");
}

}  // namespace
}  // namespace clusterd
