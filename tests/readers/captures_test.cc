// Every recorded run of the vendor's tool, read by the daemon, against the
// value that expected.tsv has beside its name. A line there is
//   record <tab> value as read_answer.h writes it
//   record <tab> missing REASON: words that the detail contains
// and was written from the recorded text and the state of the device it came
// from.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/readers/invented_values.h"
#include "tests/readers/read_answer.h"
#include "tests/sim/capture_record.h"

namespace clusterd {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::vector<std::string> ReadLines(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  }
  return lines;
}

std::vector<sim::CaptureRecord> ReadRecords() {
  std::vector<sim::CaptureRecord> records;
  for (const std::string& line :
       ReadLines("tests/testdata/hccn_tool/captures.jsonl")) {
    const auto record = sim::ParseCaptureRecord(line);
    EXPECT_TRUE(record.ok()) << record.status() << " in " << line;
    if (record.ok()) records.push_back(*record);
  }
  return records;
}

std::map<std::string, std::string> ReadExpectations() {
  std::map<std::string, std::string> expected;
  for (const std::string& line : ReadLines("tests/readers/expected.tsv")) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    EXPECT_THAT(fields, SizeIs(2)) << line;
    if (fields.size() != 2) continue;
    EXPECT_TRUE(expected.emplace(fields[0], fields[1]).second)
        << fields[0] << " stands there twice";
  }
  return expected;
}

// Which of kQueries the record asked; "" for any other command.
std::string QueryOf(const sim::CaptureRecord& record) {
  const std::vector<std::string>& argv = record.argv;
  if (argv.size() < 5 || argv[4] != "-g") return "";
  const bool known =
      std::find(kQueries.begin(), kQueries.end(), argv[3]) != kQueries.end();
  return known ? argv[3] : "";
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
    EXPECT_THAT(read, StartsWith(parts[0] + ": "));
    EXPECT_THAT(read, HasSubstr(parts[1]));
  } else {
    EXPECT_EQ(read, expected);
  }
}

TEST(CapturesTest, EveryQueryIsReadAsExpected) {
  const std::map<std::string, std::string> expected = ReadExpectations();
  std::set<std::string> unused;
  for (const auto& [name, value] : expected) unused.insert(name);
  for (const sim::CaptureRecord& record : ReadRecords()) {
    const std::string query = QueryOf(record);
    if (query.empty()) continue;
    SCOPED_TRACE(record.name);
    const auto found = expected.find(record.name);
    ASSERT_NE(found, expected.end()) << "not in expected.tsv";
    unused.erase(record.name);
    ExpectReadAs(found->second,
                 ReadAnswer(query, DeviceOf(record), RunOf(record)));
  }
  EXPECT_THAT(unused, IsEmpty()) << "expected, and no such query recorded";
}

bool Asks(const sim::CaptureRecord& record, absl::string_view query) {
  return std::find(record.argv.begin(), record.argv.end(), query) !=
         record.argv.end();
}

TEST(CapturesTest, NoOtherCommandsAnswerIsTakenForAValue) {
  for (const sim::CaptureRecord& record : ReadRecords()) {
    for (const absl::string_view query : kQueries) {
      if (Asks(record, query)) continue;
      SCOPED_TRACE(absl::StrCat(record.name, " read as ", query));
      const std::string read =
          ReadAnswer(query, DeviceOf(record), RunOf(record));
      // Silence and success is what a set does, and what a device does that
      // has heard no neighbour.
      if (query == "-lldp" && record.exit == 0 &&
          record.standard_output.empty()) {
        EXPECT_THAT(read, AnyOf("none", StartsWith("missing ")));
      } else {
        EXPECT_THAT(read, StartsWith("missing "));
      }
    }
  }
}

TEST(CapturesTest, NoParserReadsAValueThatIsNotInTheText) {
  const std::vector<sim::CaptureRecord> records = ReadRecords();
  EXPECT_THAT(records, SizeIs(testing::Ge(383u)));
  for (const sim::CaptureRecord& record : records) {
    EXPECT_THAT(InventedValues(record.standard_output), IsEmpty())
        << record.name;
    EXPECT_THAT(InventedValues(record.standard_output + record.standard_error),
                IsEmpty())
        << record.name;
  }
}

}  // namespace
}  // namespace clusterd
