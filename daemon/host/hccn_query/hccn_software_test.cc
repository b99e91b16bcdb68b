#include "daemon/host/hccn_query/hccn_software.h"

#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

template <typename T>
void ExpectRejected(const absl::StatusOr<T>& parsed, const std::string& said) {
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(said));
}

TEST(ParseHccnProcessTest, TellsARunningProcessFromNone) {
  EXPECT_TRUE(*ParseHccnProcess("device hccp process: exist\n"));
  EXPECT_FALSE(*ParseHccnProcess("device hccp process: not exist\n"));
}

TEST(ParseHccnProcessTest, NeverTakesOtherWordsForNone) {
  ExpectRejected(ParseHccnProcess("device hccp process: not existing\n"),
                 "\"not existing\"");
  ExpectRejected(ParseHccnProcess("device hccp process:\n"), "\"not exist\"");
  ExpectRejected(ParseHccnProcess(""), "no line");
}

TEST(ParseHccnVersionsTest, ReadsBoth) {
  const auto versions = ParseHccnVersions(
      "Network Driver Version:    25.7.rc1\n"
      "Network Firmware Version:  B0202_1053\n");
  ASSERT_TRUE(versions.ok()) << versions.status();
  EXPECT_EQ(versions->driver, "25.7.rc1");
  EXPECT_EQ(versions->firmware, "B0202_1053");
}

TEST(ParseHccnVersionsTest, RejectsAnAnswerThatLacksOne) {
  ExpectRejected(ParseHccnVersions("Network Driver Version:    1.0.4.0\n"),
                 "no line \"Network Firmware Version: ...\"");
  ExpectRejected(ParseHccnVersions("Network Driver Version:\n"
                                   "Network Firmware Version: 7.1\n"),
                 "two versions");
}

TEST(ParseHccnConfigStatusTest, ReadsEveryStatusOfTheTool) {
  const std::pair<const char*, HccnConfigStatus> kStatuses[] = {
      {"NONE", HccnConfigStatus::kNone},
      {"START", HccnConfigStatus::kStart},
      {"FAIL", HccnConfigStatus::kFail},
      {"SUCCESS", HccnConfigStatus::kSuccess},
      {"FAULT", HccnConfigStatus::kFault},
  };
  for (const auto& [text, status] : kStatuses) {
    const auto parsed =
        ParseHccnConfigStatus(std::string("config status:") + text + "\n");
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, status) << text;
  }
}

TEST(ParseHccnConfigStatusTest, RejectsOtherWords) {
  ExpectRejected(ParseHccnConfigStatus("config status:FAILED\n"), "FAILED");
  ExpectRejected(ParseHccnConfigStatus("config status:\n"), "NONE, START");
}

}  // namespace
}  // namespace clusterd
