#include "tests/readers/npu_smi_table.h"

#include <gmock/gmock.h>

#include "absl/strings/str_replace.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr;

// The golden input without the lines about its origin.
std::string Golden(const std::string& name) {
  return GoldenText("tests/testdata/npu_smi/" + name);
}

NpuSmiInfo Parsed(const std::string& name) {
  absl::StatusOr<NpuSmiInfo> info = ParseNpuSmiInfo(Golden(name));
  EXPECT_TRUE(info.ok()) << name << ": " << info.status();
  return info.ok() ? *info : NpuSmiInfo();
}

// npu/chip/phy name health bus hbm-used/hbm-total
std::string Text(const NpuSmiChip& chip) {
  const auto number = [](const auto& value) {
    return value.has_value() ? std::to_string(*value) : std::string("-");
  };
  return std::to_string(chip.npu) + "/" + number(chip.chip) + "/" +
         number(chip.phy_id) + " " + chip.name + " " + chip.health + " " +
         chip.bus_id + " " + number(chip.hbm_used_mb) + "/" +
         number(chip.hbm_total_mb);
}

std::vector<std::string> Chips(const NpuSmiInfo& info) {
  std::vector<std::string> chips;
  for (const NpuSmiChip& chip : info.chips) chips.push_back(Text(chip));
  return chips;
}

TEST(ParseNpuSmiInfoTest, ReadsEveryLayoutOfTheDeviceTable) {
  EXPECT_THAT(Chips(Parsed("info_a2_idle.txt")),
              ElementsAre("7/0/- xxx OK 0000:3D:00.0 0/32768"));
  EXPECT_THAT(Chips(Parsed("info_a2_busy.txt")),
              ElementsAre("1/0/- 910B2 OK 0000:C1:00.0 30710/32768"));
  EXPECT_THAT(Chips(Parsed("info_a3.txt")),
              ElementsAre("0/0/0 Ascend910 OK 0000:9D:00.0 3412/65536",
                          "0/1/1 Ascend910 Warning 0000:9F:00.0 3189/65536",
                          "1/0/2 Ascend910 OK 0000:99:00.0 3413/65536"));
  EXPECT_THAT(Chips(Parsed("info_950.txt")),
              ElementsAre("0/-/- Ascend950PR Alarm 0000:71:00.0 90633/114688",
                          "7/-/- Ascend950DT OK NA 6632/86016"));
  EXPECT_THAT(Chips(Parsed("info_misaligned.txt")),
              ElementsAre("3/0/-  Critical 0000:C1:00.0 30710/32768"));
}

TEST(ParseNpuSmiInfoTest, KeepsToolAndSoftwareVersionApart) {
  const NpuSmiInfo info = Parsed("info_a2_busy.txt");
  EXPECT_EQ(info.tool_version, "23.0.rc3");
  EXPECT_EQ(info.software_version, "23.0.rc2.3");
}

TEST(ParseNpuSmiInfoTest, ReadsProcessesOfEveryLayout) {
  const NpuSmiInfo a2 = Parsed("info_a2_busy.txt");
  ASSERT_EQ(a2.processes.size(), 1u);
  EXPECT_EQ(a2.processes[0].npu, 1u);
  EXPECT_EQ(a2.processes[0].chip, 0u);
  EXPECT_EQ(a2.processes[0].pid, 139667u);
  EXPECT_EQ(a2.processes[0].name, "python");
  EXPECT_EQ(a2.processes[0].memory_mb, 30780u);

  const NpuSmiInfo ascend950 = Parsed("info_950.txt");
  ASSERT_EQ(ascend950.processes.size(), 1u);
  EXPECT_EQ(ascend950.processes[0].chip, std::nullopt);
  EXPECT_EQ(ascend950.processes[0].pid, 887u);
  EXPECT_EQ(ascend950.processes[0].name, "worker");
  EXPECT_EQ(ascend950.processes[0].memory_mb, 64000u);
}

TEST(ParseNpuSmiInfoTest, SurvivesAProcessNameWithBars) {
  const NpuSmiInfo info = Parsed("info_a3.txt");
  ASSERT_EQ(info.processes.size(), 1u);
  EXPECT_EQ(info.processes[0].name, "a|b");
  EXPECT_EQ(info.processes[0].memory_mb, 110u);
}

TEST(UseOfNpuTest, SaysOnlyWhatTheTableSays) {
  EXPECT_EQ(UseOfNpu(Parsed("info_a2_busy.txt"), 1), NpuUse::kInUse);
  EXPECT_EQ(UseOfNpu(Parsed("info_a3.txt"), 0), NpuUse::kInUse);
  EXPECT_EQ(UseOfNpu(Parsed("info_a3.txt"), 1), NpuUse::kIdle);
  EXPECT_EQ(UseOfNpu(Parsed("info_a2_idle.txt"), 0), NpuUse::kIdle);
  EXPECT_EQ(UseOfNpu(Parsed("info_a2_idle.txt"), 7), NpuUse::kUnknown);
}

TEST(ParseNpuSmiInfoTest, TakesATableWithoutProcessesForUnknownUse) {
  const std::string output = Golden("info_a3.txt");
  const absl::StatusOr<NpuSmiInfo> info =
      ParseNpuSmiInfo(output.substr(0, output.find("| NPU     Chip")));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->chips.size(), 3u);
  EXPECT_EQ(UseOfNpu(*info, 0), NpuUse::kUnknown);
}

TEST(ParseNpuSmiInfoTest, QuotesWhatItDoesNotKnow) {
  const std::string a3 = Golden("info_a3.txt");
  const auto changed = [&a3](const char* from, const char* to) {
    const std::string text = absl::StrReplaceAll(a3, {{from, to}});
    EXPECT_NE(text, a3) << from;
    return text;
  };
  const struct {
    std::string output;
    const char* message;
  } kCases[] = {
      {"", "no device"},
      {"DCMI error\n", "an unknown line in \"DCMI error\""},
      {"| 0 Ascend910 | OK | 1 |\n", "a row without a header"},
      {changed("| NPU   Name ", "| Card  Name "), "an unknown header"},
      {changed("Phy-ID", "Die-ID"), "an unknown second header"},
      {changed("Version:", "Release"), "no versions"},
      {changed("| 1     Ascend910", "| x     Ascend910"), "no NPU id"},
      {changed("| Warning ", "| War ning"), "no NPU id or health"},
      {changed("| 0     2     ", "| 0           "), "no chip row"},
      {changed("| 0     2     ", "| 0     x     "), "no Phy-ID"},
      {changed("3189 / 65536", "3189 + 65536"), "no HBM usage"},
      {changed("| Process id ", "| Process ID "), "no device row"},
      {changed("Process memory(MB)", "Process memory(GB)"),
       "an unknown process header"},
      {changed("| 1234 ", "| 12x4 "), "no process row"},
      {changed("in NPU 1", "in NPU ?"), "no NPU id"},
      {changed("in NPU 1", "in NPU 0"),
       "NPU 0 has both no processes and process 1234"},
      {a3.substr(0, a3.find("| 0     2 ")), "a device without its second row"},
  };
  for (const auto& test_case : kCases) {
    const absl::Status status = ParseNpuSmiInfo(test_case.output).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << test_case.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(test_case.message));
  }
}

TEST(ParseNpuSmiInfoTest, HasNoNumberWhereTheToolHasNone) {
  const absl::StatusOr<NpuSmiInfo> info = ParseNpuSmiInfo(absl::StrReplaceAll(
      Golden("info_a2_idle.txt"), {{"0    / 32768", "NA   / NA   "}}));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->chips[0].hbm_used_mb, std::nullopt);
  EXPECT_EQ(info->chips[0].hbm_total_mb, std::nullopt);
}

}  // namespace
}  // namespace clusterd
