// Seeds of the fuzz target "mutation". Every recorded run is there, and every
// query has an answer that its reader reads, so that mutations reach the inside
// of each reader.
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "tests/readers/read_answer.h"
#include "tests/readers/recorded_runs.h"
#include "tests/sim/capture_record.h"

namespace clusterd {
namespace {

using ::testing::Contains;

constexpr char kFromRecords[] = "tests/readers/capture_seeds";
// The corpus of tests/fuzz/mutation_fuzz.cc.
constexpr std::array<const char*, 3> kFolders = {
    kFromRecords, "tests/readers/seeds", "tests/testdata/host/hccn_query"};
constexpr uint32_t kDevices = 16;

std::set<std::string> ReadFolder(const std::string& folder) {
  std::set<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    EXPECT_TRUE(file) << entry.path();
    texts.emplace(std::istreambuf_iterator<char>(file),
                  std::istreambuf_iterator<char>());
  }
  return texts;
}

std::set<std::string> ReadSeeds() {
  std::set<std::string> seeds;
  for (const char* folder : kFolders) seeds.merge(ReadFolder(folder));
  return seeds;
}

CommandResult Prints(const std::string& text) {
  CommandResult run;
  run.standard_output = text;
  return run;
}

// A text without any value also reads as "none". Some answers name their
// device.
bool IsReadOfSomeDevice(absl::string_view query, const std::string& text) {
  for (uint32_t device = 0; device < kDevices; ++device) {
    const std::string value = ReadAnswer(query, device, Prints(text));
    if (value != "none" && !absl::StartsWith(value, "missing ")) return true;
  }
  return false;
}

TEST(SeedsTest, EveryRecordEntersByItself) {
  const std::set<std::string> seeds = ReadFolder(kFromRecords);
  size_t texts = 0;
  for (const sim::CaptureRecord& record : ReadRecords()) {
    for (const std::string& text :
         {record.standard_output, record.standard_error}) {
      if (text.empty()) continue;
      ++texts;
      EXPECT_THAT(seeds, Contains(text)) << record.name;
    }
  }
  EXPECT_GE(texts, 383u);
}

TEST(SeedsTest, EveryQueryHasAnAnswerThatItReads) {
  const std::set<std::string> seeds = ReadSeeds();
  for (const absl::string_view query : kQueries) {
    EXPECT_TRUE(std::any_of(seeds.begin(), seeds.end(),
                            [query](const std::string& seed) {
                              return IsReadOfSomeDevice(query, seed);
                            }))
        << query;
  }
}

}  // namespace
}  // namespace clusterd
