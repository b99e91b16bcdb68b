#include "daemon/host/npu_smi/memory_table.h"

#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/npu_smi/npu_smi_output.h"

namespace clusterd {
namespace {

using Memories = std::map<std::pair<uint32_t, uint32_t>, DeviceMemory>;
using Words = std::vector<absl::string_view>;

Words WordsOf(absl::string_view cell, absl::string_view ends) {
  return absl::StrSplit(cell, absl::ByAnyChar(ends), absl::SkipEmpty());
}

template <typename Number>
bool ReadNumber(absl::string_view word, Number* number) {
  return !word.empty() && ParseDigits(word, number);
}

class MemoryTable {
 public:
  absl::Status Take(absl::string_view line) {
    if (absl::StartsWith(line, "+")) return absl::OkStatus();
    cells_ = absl::StrSplit(line, '|');
    // A bar at each end makes two empty cells.
    if (!absl::StartsWith(line, "|") || cells_.size() < 3) return Bad(line);
    const Words ids = WordsOf(cells_[1], " \t");
    if (ids.empty()) return Bad(line);
    if (ids[0] == "npu-smi" || absl::StrContains(line, "No running process")) {
      return absl::OkStatus();
    }
    if (absl::StrContains(line, "Process id")) {
      in_processes_ = true;
    } else if (absl::StrContains(line, "Bus-Id")) {
      has_header_ = absl::StrContains(line, "Memory-Usage") ||
                    absl::StrContains(line, "HBM-Usage");
    } else if (!absl::StrContains(line, "Health")) {
      return TakeRow(line, ids);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Memories> Finish(absl::string_view output) && {
    if (npu_.has_value() || !has_header_ || !any_) return Bad(output);
    return std::move(memories_);
  }

 private:
  static absl::Status Bad(absl::string_view line) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected ", QuotedText(line)));
  }

  absl::Status TakeRow(absl::string_view line, const Words& ids) {
    uint32_t first = 0;
    if (!has_header_ || !ReadNumber(ids[0], &first)) return Bad(line);
    if (in_processes_) return TakeProcess(line, first, ids);
    if (!npu_.has_value()) {
      npu_ = first;
      return absl::OkStatus();
    }
    any_ = true;
    // "0    0 / 0    63274/ 65536": the last pair is HBM where there is any.
    const Words usage = WordsOf(cells_[cells_.size() - 2], " /\t");
    DeviceMemory memory;
    uint64_t used = 0;
    uint64_t total = 0;
    if (usage.size() < 3) return Bad(line);
    if (ReadNumber(usage[usage.size() - 2], &used) &&
        ReadNumber(usage.back(), &total)) {
      memory.set_used_mb(used);
      memory.set_total_mb(total);
      if (!memories_.emplace(std::make_pair(*npu_, first), memory).second) {
        return Bad(line);
      }
    }
    npu_.reset();
    return absl::OkStatus();
  }

  absl::Status TakeProcess(absl::string_view line, uint32_t npu,
                           const Words& ids) {
    uint32_t chip = 0;
    uint32_t pid = 0;
    if (ids.size() < 2 || !ReadNumber(ids[1], &chip) || cells_.size() < 4 ||
        !ReadNumber(absl::StripAsciiWhitespace(cells_[2]), &pid)) {
      return Bad(line);
    }
    const auto found = memories_.find({npu, chip});
    if (found != memories_.end()) found->second.add_pids(pid);
    return absl::OkStatus();
  }

  Words cells_;
  std::optional<uint32_t> npu_;  // Of a first row whose second one comes next.
  bool has_header_ = false;
  bool in_processes_ = false;
  bool any_ = false;
  Memories memories_;
};

}  // namespace

absl::StatusOr<Memories> ParseNpuSmiMemory(absl::string_view output) {
  MemoryTable table;
  for (const absl::string_view line : NpuSmiDataLines(output)) {
    RETURN_IF_ERROR(table.Take(line));
  }
  return std::move(table).Finish(output);
}

}  // namespace clusterd
