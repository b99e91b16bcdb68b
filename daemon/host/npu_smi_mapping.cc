#include "daemon/host/npu_smi_mapping.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "daemon/host/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kLogicIdColumn = 2;
constexpr size_t kPhysicalIdColumn = 3;
// hccn_tool takes two digits.
constexpr uint32_t kMaxDeviceId = 99;

absl::Status Unexpected(absl::string_view line) {
  return absl::InvalidArgumentError(
      absl::StrCat("unexpected ", QuotedText(line)));
}

bool ParseId(absl::string_view word, uint32_t* id) {
  return !word.empty() && word.size() <= 2 &&
         std::all_of(word.begin(), word.end(),
                     [](char c) { return absl::ascii_isdigit(c); }) &&
         absl::SimpleAtoi(word, id) && *id <= kMaxDeviceId;
}

}  // namespace

absl::StatusOr<std::vector<uint32_t>> ParseNpuSmiMapping(
    absl::string_view output) {
  std::vector<uint32_t> ids;
  size_t column = 0;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    // It warns first when the driver package is not complete.
    if (words.empty() || absl::StartsWith(line, "[WARNING]")) continue;
    if (column == 0) {
      if (!absl::StrContains(line, "NPU ID") ||
          !absl::StrContains(line, "Chip Logic ID")) {
        return Unexpected(line);
      }
      column = absl::StrContains(line, "Chip Phy-ID") ? kPhysicalIdColumn
                                                      : kLogicIdColumn;
      continue;
    }
    uint32_t id = 0;
    if (words.size() > kLogicIdColumn && words[kLogicIdColumn] == "-") continue;
    if (words.size() <= column || !ParseId(words[kLogicIdColumn], &id) ||
        !ParseId(words[column], &id)) {
      return Unexpected(line);
    }
    ids.push_back(id);
  }
  if (column == 0) return Unexpected(output);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace clusterd
