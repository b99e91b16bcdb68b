#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "daemon/host/npu_smi/npu_smi_output.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Golden(const std::string& name) {
  std::ifstream file("tests/testdata/npu_smi/" + name);
  EXPECT_TRUE(file.is_open()) << name;
  std::string text;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] != '#') text += line + "\n";
  }
  return text;
}

void ExpectRefused(const absl::Status& status, const std::string& message) {
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(message));
}

TEST(ParseNpuSmiHealthTest, ReadsStatusCodesAndInformation) {
  const NpuSmiHealth alarm =
      ParseNpuSmiHealth(Golden("health_alarm.txt")).value();
  EXPECT_EQ(alarm.status, NpuSmiHealth::Status::kAlarm);
  EXPECT_THAT(alarm.error_codes, ElementsAre("A4025021", "8C03A000"));
  EXPECT_EQ(alarm.information, "node type=SOC: sensor type=Temperature");
}

TEST(ParseNpuSmiHealthTest, ReadsEveryStatusOfChipsAndCards) {
  const struct {
    const char* word;
    NpuSmiHealth::Status status;
  } kCases[] = {{"OK", NpuSmiHealth::Status::kOk},
                {"Warning", NpuSmiHealth::Status::kWarning},
                {"Alarm", NpuSmiHealth::Status::kAlarm},
                {"Critical", NpuSmiHealth::Status::kCritical}};
  for (const auto& test_case : kCases) {
    for (const char* key : {"\tHealth Status : ", "\tHealth : "}) {
      const NpuSmiHealth health =
          ParseNpuSmiHealth(std::string(key) + test_case.word +
                            "\n\tError Code : NA\n\tError Information : NA\n")
              .value();
      EXPECT_EQ(health.status, test_case.status) << key << test_case.word;
      EXPECT_THAT(health.error_codes, IsEmpty());
      EXPECT_EQ(health.information, "");
    }
  }
}

TEST(ParseNpuSmiHealthTest, NeverTakesAnUnknownWordForHealthy) {
  ExpectRefused(ParseNpuSmiHealth("\tHealth Status : ok\n").status(),
                "an unknown health \"ok\"");
  ExpectRefused(ParseNpuSmiHealth("\tHealth Status :\n").status(),
                "an unknown health \"\"");
  ExpectRefused(ParseNpuSmiHealth("\tError Code : NA\n").status(),
                "no \"Health Status\"");
  ExpectRefused(ParseNpuSmiHealth("no NPU\n").status(),
                "no colon in \"no NPU\"");
  ExpectRefused(
      ParseNpuSmiHealth("\tHealth Status : OK\n\tHealth Status : Alarm\n")
          .status(),
      "\"Health Status\" more than once");
  ExpectRefused(
      ParseNpuSmiHealth("\tHealth Status : OK\n\tError Code : what?\n")
          .status(),
      "no error code: \"what?\"");
}

}  // namespace
}  // namespace clusterd
