#include "tests/readers/npu_smi_table.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/npu_smi/device_ids.h"

namespace clusterd {
namespace {

using Words = std::vector<std::string>;

constexpr absl::string_view kIdle = "No running processes found in NPU ";
constexpr size_t kMaxNameBytes = 64;

Words WordsOf(absl::string_view cell) {
  return absl::StrSplit(absl::StrReplaceAll(cell, {{"/", " / "}}),
                        absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

using Cells = std::vector<absl::string_view>;

// The cells between the bars, without blanks around them. Empty: no row.
Cells CellsOf(absl::string_view line) {
  if (!absl::ConsumePrefix(&line, "|")) return {};
  absl::ConsumeSuffix(&line, "|");
  Cells cells = absl::StrSplit(line, '|');
  for (absl::string_view& cell : cells) cell = absl::StripAsciiWhitespace(cell);
  return cells;
}

absl::Status BadLine(absl::string_view what, absl::string_view line) {
  return absl::InvalidArgumentError(
      absl::StrCat("npu-smi info: ", what, " in ", QuotedText(line)));
}

template <typename Value>
bool ParseNumber(absl::string_view word, std::optional<Value>* number) {
  Value value = 0;
  if (absl::SimpleAtoi(word, &value)) *number = value;
  return number->has_value();
}

class TableReader {
 public:
  absl::Status ReadLine(absl::string_view line) {
    if (absl::StartsWith(line, "+")) return absl::OkStatus();
    line_ = line;
    cells_ = CellsOf(line);
    if (cells_.empty()) return Bad("an unknown line");
    first_ = WordsOf(cells_[0]);
    if (absl::StartsWith(cells_[0], "npu-smi ")) return ReadVersions();
    if (absl::StartsWith(cells_[0], kIdle)) return ReadIdle();
    if (cells_.size() >= 4 && cells_[1] == "Process id") {
      return BeginProcesses();
    }
    if (absl::c_linear_search(cells_, "Health")) return BeginDevices();
    if (read_row_ == nullptr) return Bad("a row without a header");
    return (this->*read_row_)();
  }

  absl::StatusOr<NpuSmiInfo> Finish(absl::string_view output) {
    if (read_row_ == &TableReader::ReadChip ||
        read_row_ == &TableReader::ReadSecondHeader) {
      return BadLine("a device without its second row", output);
    }
    if (info_.chips.empty()) return BadLine("no device", output);
    for (const NpuSmiProcess& process : info_.processes) {
      if (info_.idle_npus.count(process.npu) > 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("npu-smi info: NPU ", process.npu,
                         " has both no processes and process ", process.pid));
      }
    }
    return std::move(info_);
  }

 private:
  absl::Status Bad(absl::string_view what) const {
    return BadLine(what, line_);
  }

  absl::Status ReadVersions() {
    if (first_.size() != 4 || first_[2] != "Version:") {
      return Bad("no versions");
    }
    info_.tool_version = first_[1];
    info_.software_version = first_[3];
    return absl::OkStatus();
  }

  // There names have a cell of their own, and chips have no ids.
  bool Is950() const { return device_cells_ == 4; }

  absl::Status BeginDevices() {
    device_cells_ = cells_.size();
    const bool known =
        Is950() ? first_ == Words{"NPU", "ID"} && cells_[1] == "Name"
                : device_cells_ == 3 && first_ == Words{"NPU", "Name"};
    if (!known) return Bad("an unknown header");
    read_row_ = &TableReader::ReadSecondHeader;
    return absl::OkStatus();
  }

  absl::Status ReadSecondHeader() {
    ids_ = first_.size();
    const Words ids = Is950()     ? Words{}
                      : ids_ == 2 ? Words{"Chip", "Phy-ID"}
                                  : Words{"Chip"};
    if (cells_.size() != device_cells_ ||
        cells_[device_cells_ - 2] != "Bus-Id" || first_ != ids) {
      return Bad("an unknown second header");
    }
    read_row_ = &TableReader::ReadDevice;
    return absl::OkStatus();
  }

  absl::Status ReadDevice() {
    if (cells_.size() != device_cells_ || first_.empty()) {
      return Bad("no device row");
    }
    chip_ = NpuSmiChip();
    const Words health = WordsOf(cells_[device_cells_ - 2]);
    if (!absl::SimpleAtoi(first_[0], &chip_.npu) || health.size() != 1) {
      return Bad("no NPU id or health");
    }
    first_.erase(first_.begin());
    chip_.name = PrintableText(
        Is950() ? std::string(cells_[1]) : absl::StrJoin(first_, " "),
        kMaxNameBytes);
    chip_.health = PrintableText(health[0], kMaxNameBytes);
    read_row_ = &TableReader::ReadChip;
    return absl::OkStatus();
  }

  absl::Status ReadChip() {
    if (cells_.size() != device_cells_ || first_.size() != ids_) {
      return Bad("no chip row");
    }
    if (ids_ > 0 && !ParseNumber(first_[0], &chip_.chip)) {
      return Bad("no chip id");
    }
    if (ids_ > 1 && !ParseNumber(first_[1], &chip_.phy_id)) {
      return Bad("no Phy-ID");
    }
    chip_.bus_id = PrintableText(cells_[device_cells_ - 2], kMaxNameBytes);
    // "0  2505 / 15567  30710/ 32768": the last pair is HBM.
    const Words usage = WordsOf(cells_.back());
    if (usage.size() < 3 || usage[usage.size() - 2] != "/") {
      return Bad("no HBM usage");
    }
    ParseNumber(usage[usage.size() - 3], &chip_.hbm_used_mb);
    ParseNumber(usage.back(), &chip_.hbm_total_mb);
    info_.chips.push_back(chip_);
    read_row_ = &TableReader::ReadDevice;
    return absl::OkStatus();
  }

  absl::Status BeginProcesses() {
    process_has_chip_ = first_ == Words{"NPU", "Chip"};
    if ((!process_has_chip_ && first_ != Words{"NPU", "ID"}) ||
        cells_[2] != "Process name" || cells_[3] != "Process memory(MB)" ||
        read_row_ != &TableReader::ReadDevice) {
      return Bad("an unknown process header");
    }
    process_cells_ = cells_.size();
    read_row_ = &TableReader::ReadProcess;
    return absl::OkStatus();
  }

  absl::Status ReadIdle() {
    uint32_t npu = 0;
    if (!absl::SimpleAtoi(cells_[0].substr(kIdle.size()), &npu)) {
      return Bad("no NPU id");
    }
    info_.idle_npus.insert(npu);
    return absl::OkStatus();
  }

  absl::Status ReadProcess() {
    NpuSmiProcess process;
    if (cells_.size() < process_cells_ ||
        first_.size() != (process_has_chip_ ? 2u : 1u) ||
        !absl::SimpleAtoi(first_[0], &process.npu) ||
        (process_has_chip_ && !ParseNumber(first_[1], &process.chip)) ||
        !absl::SimpleAtoi(cells_[1], &process.pid)) {
      return Bad("no process row");
    }
    // A bar in the name makes more cells than the header has.
    const auto name_end = cells_.end() - static_cast<long>(process_cells_ - 3);
    process.name = PrintableText(
        absl::StrJoin(cells_.begin() + 2, name_end, "|"), kMaxNameBytes);
    ParseNumber(*name_end, &process.memory_mb);
    info_.processes.push_back(std::move(process));
    return absl::OkStatus();
  }

  // The reader of the next row, chosen by the rows above it.
  absl::Status (TableReader::*read_row_)() = nullptr;
  absl::string_view line_;
  Cells cells_;
  Words first_;  // Those of the first cell.
  size_t device_cells_ = 0;
  size_t ids_ = 0;  // A chip's row: none, chip, or chip and Phy-ID.
  bool process_has_chip_ = false;
  size_t process_cells_ = 0;
  NpuSmiChip chip_;
  NpuSmiInfo info_;
};

}  // namespace

absl::StatusOr<NpuSmiInfo> ParseNpuSmiInfo(absl::string_view output) {
  TableReader reader;
  for (const absl::string_view line : NpuSmiDataLines(output)) {
    RETURN_IF_ERROR(reader.ReadLine(line));
  }
  return reader.Finish(output);
}

NpuUse UseOfNpu(const NpuSmiInfo& info, uint32_t npu) {
  const bool in_use = absl::c_any_of(
      info.processes,
      [npu](const NpuSmiProcess& process) { return process.npu == npu; });
  if (in_use) return NpuUse::kInUse;
  return info.idle_npus.count(npu) > 0 ? NpuUse::kIdle : NpuUse::kUnknown;
}

}  // namespace clusterd
