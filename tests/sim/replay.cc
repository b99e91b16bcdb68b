// Compares a tool with recorded runs of the vendor's hccn_tool:
//   replay --tool PATH captures.jsonl
// Prints per group how many records matched, differed and were skipped, a diff
// (- recorded, + this tool) for each difference, a reason for each skip, and
// last
//   N matched, N different, N skipped
// Exit status: 0 no difference, 1 differences, 3 wrong usage or file.
#include <stdio.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/capture_record.h"
#include "tests/sim/private_root.h"
#include "tests/sim/replay_run.h"

namespace clusterd::sim {
namespace {

constexpr int kWrongUsage = 3;

struct Tally {
  int matched = 0;
  int different = 0;
  int skipped = 0;
  std::string details;
};

void Count(const CaptureRecord& record, const ReplayResult& result,
           Tally* tally) {
  switch (result.verdict) {
    case ReplayResult::Verdict::kMatched:
      ++tally->matched;
      if (!result.text.empty()) {
        tally->details += "  matched " + record.name + "\n" + result.text;
      }
      break;
    case ReplayResult::Verdict::kDifferent:
      ++tally->different;
      tally->details += "  different " + record.name + "\n" + result.text;
      break;
    case ReplayResult::Verdict::kSkipped:
      ++tally->skipped;
      tally->details += "  skipped " + record.name + ": " + result.text + "\n";
      break;
  }
}

// False, after printing why, if a line of the file is not a record.
bool ReadRecords(const std::string& path, std::vector<CaptureRecord>* records) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    fprintf(stderr, "%s: cannot be read\n", path.c_str());
    return false;
  }
  bool good = true;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto record = ParseCaptureRecord(line);
    if (record.ok()) {
      records->push_back(*std::move(record));
    } else {
      fprintf(stderr, "%s:%d: %s\n", path.c_str(), number,
              std::string(record.status().message()).c_str());
      good = false;
    }
  }
  if (good && records->empty()) {
    fprintf(stderr, "%s: holds no record\n", path.c_str());
    good = false;
  }
  return good;
}

int Main(int argc, char** argv) {
  CLI::App app("Replays recorded hccn_tool runs and compares");
  ReplayOptions options;
  std::string file;
  std::vector<std::string> groups;
  app.add_option("--tool", options.tool, "The hccn_tool to compare")
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--group", groups, "Only this group, repeatable");
  app.add_flag("--devices", options.compare_devices,
               "Compare what the devices hold afterwards, too");
  app.add_option("file", file, "Records, one JSON object a line")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  std::vector<CaptureRecord> records;
  if (!ReadRecords(file, &records)) return kWrongUsage;
  for (const std::string& group : groups) {
    if (std::none_of(records.begin(), records.end(),
                     [&group](const CaptureRecord& record) {
                       return record.group == group;
                     })) {
      fprintf(stderr, "%s: no record of group \"%s\"\n", file.c_str(),
              group.c_str());
      return kWrongUsage;
    }
  }
  options.privileged = MayEnterPrivately();
  options.tool = std::filesystem::absolute(options.tool).string();

  std::map<std::string, Tally> tallies;
  Tally sum;
  for (const CaptureRecord& record : records) {
    if (!groups.empty() &&
        std::find(groups.begin(), groups.end(), record.group) == groups.end()) {
      continue;
    }
    const ReplayResult result = Replay(record, options);
    Count(record, result, &tallies[record.group]);
    Count(record, result, &sum);
  }
  for (const auto& [group, tally] : tallies) {
    printf("%s: %d matched, %d different, %d skipped\n%s", group.c_str(),
           tally.matched, tally.different, tally.skipped,
           tally.details.c_str());
  }
  printf("%d matched, %d different, %d skipped\n", sum.matched, sum.different,
         sum.skipped);
  return sum.different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace clusterd::sim

int main(int argc, char** argv) { return clusterd::sim::Main(argc, argv); }
