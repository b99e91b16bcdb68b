#include "daemon/host/npu_smi/npu_smi_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/str_replace.h"

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

TEST(ParseNpuSmiListTest, ReadsTheIds) {
  EXPECT_THAT(ParseNpuSmiList(Golden("list.txt")).value(), ElementsAre(0, 5));
  EXPECT_THAT(ParseNpuSmiList("\tTotal Count : 0\n").value(), IsEmpty());
}

TEST(ParseNpuSmiListTest, RefusesAListThatContradictsItself) {
  const std::string list = Golden("list.txt");
  ExpectRefused(
      ParseNpuSmiList(absl::StrReplaceAll(list, {{": 2\n", ": 8\n"}})).status(),
      "2 NPU ids, but a count of 8");
  ExpectRefused(
      ParseNpuSmiList(absl::StrReplaceAll(list, {{": 5\n", ": 0\n"}})).status(),
      "no new NPU id: \"0\"");
  ExpectRefused(ParseNpuSmiList("").status(), "no \"Total Count\"");
  ExpectRefused(ParseNpuSmiList("no NPU\n").status(), "no colon in \"no NPU\"");
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
  ExpectRefused(
      ParseNpuSmiHealth("\tHealth Status : OK\n\tHealth Status : Alarm\n")
          .status(),
      "\"Health Status\" more than once");
  ExpectRefused(
      ParseNpuSmiHealth("\tHealth Status : OK\n\tError Code : what?\n")
          .status(),
      "no error code: \"what?\"");
}

TEST(ParseNpuSmiSuperPodTest, ReadsTheFourNumbers) {
  const NpuSmiSuperPod pod =
      ParseNpuSmiSuperPod(Golden("spod_info.txt")).value();
  EXPECT_EQ(pod.sdid, 16777216u);
  EXPECT_EQ(pod.size, 384u);
  EXPECT_EQ(pod.id, 0u);
  EXPECT_EQ(pod.server_index, 4u);
}

TEST(ParseNpuSmiSuperPodTest, DoesWithoutWhatAscend950DoesNotPrint) {
  const NpuSmiSuperPod pod =
      ParseNpuSmiSuperPod(
          "\tSuper Pod Size : 8192\n\tSuper Pod ID : 3\n\tChassis ID : 1\n")
          .value();
  EXPECT_EQ(pod.sdid, std::nullopt);
  EXPECT_EQ(pod.server_index, std::nullopt);
  EXPECT_EQ(pod.id, 3u);
}

TEST(ParseNpuSmiSuperPodTest, RefusesMissingOrMalformedNumbers) {
  const std::string text = Golden("spod_info.txt");
  ExpectRefused(ParseNpuSmiSuperPod(
                    absl::StrReplaceAll(text, {{"16777216", "0x1000000"}}))
                    .status(),
                "\"SDID\" is no number: \"0x1000000\"");
  ExpectRefused(
      ParseNpuSmiSuperPod(absl::StrReplaceAll(text, {{"Super Pod ID", "Pod"}}))
          .status(),
      "no \"Super Pod ID\"");
}

TEST(ParseNpuSmiBoardTest, ReadsChipNameAndBoardId) {
  const NpuSmiBoard board = ParseNpuSmiBoard(Golden("board.txt")).value();
  EXPECT_EQ(board.chip_name, "910B1");
  EXPECT_EQ(board.board_id, 0x34u);
}

TEST(ParseNpuSmiBoardTest, AcceptsACardWithoutChipName) {
  const NpuSmiBoard board =
      ParseNpuSmiBoard("\tNPU ID : 0\n\tBoard ID : 0x3ec\n").value();
  EXPECT_EQ(board.chip_name, "");
  EXPECT_EQ(board.board_id, 0x3ecu);
}

TEST(ParseNpuSmiBoardTest, DoesNotGuessTheBaseOfABoardId) {
  for (const char* id : {"30", "0x", "0x123456789", "0x3g", "NA"}) {
    ExpectRefused(
        ParseNpuSmiBoard(std::string("\tBoard ID : ") + id + "\n").status(),
        "a board id that is not hexadecimal");
  }
  ExpectRefused(ParseNpuSmiBoard("\tChip Name : 910B1\n").status(),
                "no \"Board ID\"");
}

}  // namespace
}  // namespace clusterd
