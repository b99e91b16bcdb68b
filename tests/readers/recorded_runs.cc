#include "tests/readers/recorded_runs.h"

#include <algorithm>
#include <csignal>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

std::vector<std::string> ReadLines(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  }
  return lines;
}

}  // namespace

std::vector<sim::CaptureRecord> ReadRecords(const std::string& file) {
  std::vector<sim::CaptureRecord> records;
  for (const std::string& line :
       ReadLines("tests/testdata/hccn_tool/" + file)) {
    const auto record = sim::ParseCaptureRecord(line);
    EXPECT_TRUE(record.ok()) << record.status() << " in " << line;
    if (record.ok()) records.push_back(*record);
  }
  return records;
}

std::map<std::string, std::string> ReadExpectations(const std::string& path) {
  std::map<std::string, std::string> expected;
  for (const std::string& line : ReadLines(path)) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    EXPECT_THAT(fields, testing::SizeIs(2)) << line;
    if (fields.size() != 2) continue;
    EXPECT_TRUE(expected.emplace(fields[0], fields[1]).second)
        << fields[0] << " stands there twice";
  }
  return expected;
}

std::string QueryOf(const sim::CaptureRecord& record) {
  constexpr size_t kCommand = 3;
  const std::vector<std::string>& argv = record.argv;
  if (argv.size() < kCommand + 2) return "";
  const auto command = argv.begin() + kCommand;
  if (*command == "-cfg" && command[1] == "status") return "-cfg status";
  const auto get = std::find(command + 1, argv.end(), "-g");
  if (get == argv.end()) return "";
  return absl::StrJoin(command, get, " ");
}

uint32_t DeviceOf(const sim::CaptureRecord& record) {
  uint32_t device = 0;
  if (record.argv.size() > 2) (void)absl::SimpleAtoi(record.argv[2], &device);
  return device <= 63 ? device : 0;
}

CommandResult RunOf(const sim::CaptureRecord& record) {
  CommandResult run;
  run.standard_output = record.standard_output;
  run.standard_error = record.standard_error;
  const int exit = record.exit.value_or(-SIGKILL);
  if (exit < 0) {
    run.signal = -exit;
  } else {
    run.exit_status = exit;
  }
  return run;
}

void ExpectReadAs(const std::string& expected, const std::string& read) {
  const std::vector<std::string> parts =
      absl::StrSplit(expected, absl::MaxSplits(": ", 1));
  if (absl::StartsWith(expected, "missing ") && parts.size() == 2) {
    EXPECT_THAT(read, testing::StartsWith(parts[0] + ": "));
    EXPECT_THAT(read, testing::HasSubstr(parts[1]));
  } else {
    EXPECT_EQ(read, expected);
  }
}

}  // namespace clusterd
