// What the parsers and the table of recovered keys make of the recorded runs.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/values/hccn_conf_line.h"
#include "gmock/gmock.h"
#include "tests/readers/invented_values.h"
#include "tests/readers/recorded_runs.h"
#include "tests/sim/capture_record.h"

namespace clusterd {
namespace {

using ::testing::IsEmpty, ::testing::SizeIs;

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

// Lines over which the table of keys has the recovery of the device fail.
std::vector<std::string> BrokenLines(const sim::CaptureRecord& record) {
  std::vector<std::string> broken;
  const std::string ending = absl::StrCat("_", DeviceOf(record));
  for (const absl::string_view line :
       absl::StrSplit(*record.conf_before, '\n')) {
    if (IsRouteLine(line) && !IsScannedRoute(line)) {
      broken.emplace_back(line);
    } else if (IsRecoveredLine(line) &&
               !MayBeRecovered(line, *record.conf_before) &&
               absl::EndsWith(HccnConfKeyOf(line), ending) &&
               BreaksRecoveryOf(record.product.substr(0, 2), line)) {
      broken.emplace_back(line);
    }
  }
  return broken;
}

// Runs whose end the lines decide: those of one device, by root, whose
// certificates were recovered before.
bool IsDecidedByLines(const sim::CaptureRecord& record) {
  const std::vector<std::string>& argv = record.argv;
  return argv.size() == 5 && argv[1] == "-i" && argv[4] == "recovery" &&
         record.conf_before.has_value() &&
         absl::StrContains(*record.conf_before,
                           absl::StrCat("tls_ca_recovered_", argv[2], "=")) &&
         record.precondition.find("user nobody") == std::string::npos;
}

TEST(RecoveryCapturesTest, EveryRecoveryEndsAsTheTableOfKeysHasIt) {
  int runs = 0;
  for (const char* file :
       {"captures.jsonl", "captures_2.jsonl", "captures_3.jsonl"}) {
    for (const sim::CaptureRecord& record : ReadRecords(file)) {
      // Over an address that the product reserves another rule fails.
      if (!IsDecidedByLines(record) || record.name == "recovery-reserved") {
        continue;
      }
      ++runs;
      const std::vector<std::string> broken = BrokenLines(record);
      EXPECT_EQ(record.exit == 0, broken.empty())
          << record.name << " " << (broken.empty() ? "" : broken[0]);
    }
  }
  EXPECT_GE(runs, 30);
}

}  // namespace
}  // namespace clusterd
