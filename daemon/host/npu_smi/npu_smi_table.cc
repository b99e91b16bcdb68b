#include "daemon/host/npu_smi/npu_smi_table.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/npu_smi/npu_smi_error.h"

namespace clusterd {
namespace {

using Words = std::vector<std::string>;

constexpr absl::string_view kIdle = "No running processes found in NPU ";
constexpr size_t kMaxNameBytes = 64;

Words WordsOf(absl::string_view cell) {
  return absl::StrSplit(absl::StrReplaceAll(cell, {{"/", " / "}}),
                        absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

// The cells between the bars, without blanks around them. Empty: no row.
std::vector<absl::string_view> CellsOf(absl::string_view line) {
  if (!absl::ConsumePrefix(&line, "|")) return {};
  absl::ConsumeSuffix(&line, "|");
  std::vector<absl::string_view> cells = absl::StrSplit(line, '|');
  for (absl::string_view& cell : cells) cell = absl::StripAsciiWhitespace(cell);
  return cells;
}

absl::Status BadLine(absl::string_view what, absl::string_view line) {
  return absl::InvalidArgumentError(
      absl::StrCat("npu-smi info: ", what, " in ", QuotedText(line)));
}

std::optional<uint64_t> Number(const std::string& word) {
  uint64_t value = 0;
  if (!absl::SimpleAtoi(word, &value)) return std::nullopt;
  return value;
}

class TableReader {
 public:
  absl::Status ReadLine(absl::string_view line) {
    if (absl::StartsWith(line, "+")) return absl::OkStatus();
    const std::vector<absl::string_view> cells = CellsOf(line);
    if (cells.empty()) return BadLine("an unknown line", line);
    if (absl::StartsWith(cells[0], "npu-smi "))
      return ReadVersions(cells, line);
    if (absl::StartsWith(cells[0], kIdle)) return ReadIdle(cells[0], line);
    if (cells.size() >= 4 && cells[1] == "Process id") {
      return BeginProcesses(cells, line);
    }
    if (std::find(cells.begin(), cells.end(), "Health") != cells.end()) {
      return BeginDevices(cells, line);
    }
    switch (state_) {
      case State::kSecondHeader:
        return ReadSecondHeader(cells, line);
      case State::kDevice:
        return ReadDevice(cells, line);
      case State::kChip:
        return ReadChip(cells, line);
      case State::kProcesses:
        return ReadProcess(cells, line);
      case State::kNothing:
        break;
    }
    return BadLine("a row without a header", line);
  }

  absl::StatusOr<NpuSmiInfo> Finish(absl::string_view output) {
    if (state_ == State::kChip || state_ == State::kSecondHeader) {
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
  enum class State { kNothing, kSecondHeader, kDevice, kChip, kProcesses };

  absl::Status ReadVersions(const std::vector<absl::string_view>& cells,
                            absl::string_view line) {
    const Words words = WordsOf(cells[0]);
    if (words.size() != 4 || words[2] != "Version:") {
      return BadLine("no versions", line);
    }
    info_.tool_version = words[1];
    info_.software_version = words[3];
    return absl::OkStatus();
  }

  absl::Status BeginDevices(const std::vector<absl::string_view>& cells,
                            absl::string_view line) {
    const Words first = WordsOf(cells[0]);
    if (cells.size() == 3 && first == Words{"NPU", "Name"}) {
      is_950_ = false;
    } else if (cells.size() == 4 && first == Words{"NPU", "ID"} &&
               cells[1] == "Name") {
      is_950_ = true;
    } else {
      return BadLine("an unknown header", line);
    }
    state_ = State::kSecondHeader;
    return absl::OkStatus();
  }

  absl::Status ReadSecondHeader(const std::vector<absl::string_view>& cells,
                                absl::string_view line) {
    const Words first = WordsOf(cells[0]);
    has_phy_id_ = first == Words{"Chip", "Phy-ID"};
    const bool known =
        is_950_ ? cells.size() == 4 && first.empty() && cells[2] == "Bus-Id"
                : cells.size() == 3 && cells[1] == "Bus-Id" &&
                      (has_phy_id_ || first == Words{"Chip"});
    if (!known) return BadLine("an unknown second header", line);
    state_ = State::kDevice;
    return absl::OkStatus();
  }

  absl::Status ReadDevice(const std::vector<absl::string_view>& cells,
                          absl::string_view line) {
    Words first = WordsOf(cells[0]);
    if (cells.size() != (is_950_ ? 4 : 3) || first.empty()) {
      return BadLine("no device row", line);
    }
    const std::optional<uint64_t> npu = Number(first[0]);
    const Words health = WordsOf(cells[is_950_ ? 2 : 1]);
    if (!npu.has_value() || *npu > UINT32_MAX || health.size() != 1) {
      return BadLine("no NPU id or health", line);
    }
    first.erase(first.begin());
    chip_ = NpuSmiChip();
    chip_.npu = static_cast<uint32_t>(*npu);
    chip_.name = PrintableText(
        is_950_ ? std::string(cells[1]) : absl::StrJoin(first, " "),
        kMaxNameBytes);
    chip_.health = PrintableText(health[0], kMaxNameBytes);
    state_ = State::kChip;
    return absl::OkStatus();
  }

  absl::Status ReadChip(const std::vector<absl::string_view>& cells,
                        absl::string_view line) {
    const Words first = WordsOf(cells[0]);
    const size_t ids = is_950_ ? 0 : has_phy_id_ ? 2 : 1;
    if (cells.size() != (is_950_ ? 4 : 3) || first.size() != ids) {
      return BadLine("no chip row", line);
    }
    uint32_t id = 0;
    if (ids > 0) {
      if (!absl::SimpleAtoi(first[0], &id)) return BadLine("no chip id", line);
      chip_.chip = id;
    }
    if (ids > 1) {
      if (!absl::SimpleAtoi(first[1], &id)) return BadLine("no Phy-ID", line);
      chip_.phy_id = id;
    }
    chip_.bus_id = PrintableText(cells[cells.size() - 2], kMaxNameBytes);
    // "0  2505 / 15567  30710/ 32768": the last pair is HBM.
    const Words usage = WordsOf(cells.back());
    if (usage.size() < 3 || usage[usage.size() - 2] != "/") {
      return BadLine("no HBM usage", line);
    }
    chip_.hbm_used_mb = Number(usage[usage.size() - 3]);
    chip_.hbm_total_mb = Number(usage.back());
    info_.chips.push_back(chip_);
    state_ = State::kDevice;
    return absl::OkStatus();
  }

  absl::Status BeginProcesses(const std::vector<absl::string_view>& cells,
                              absl::string_view line) {
    const Words first = WordsOf(cells[0]);
    process_has_chip_ = first == Words{"NPU", "Chip"};
    if ((!process_has_chip_ && first != Words{"NPU", "ID"}) ||
        cells[2] != "Process name" || cells[3] != "Process memory(MB)" ||
        state_ != State::kDevice) {
      return BadLine("an unknown process header", line);
    }
    process_cells_ = cells.size();
    state_ = State::kProcesses;
    return absl::OkStatus();
  }

  absl::Status ReadIdle(absl::string_view cell, absl::string_view line) {
    uint32_t npu = 0;
    if (!absl::SimpleAtoi(cell.substr(kIdle.size()), &npu)) {
      return BadLine("no NPU id", line);
    }
    info_.idle_npus.insert(npu);
    return absl::OkStatus();
  }

  absl::Status ReadProcess(const std::vector<absl::string_view>& cells,
                           absl::string_view line) {
    const Words first = WordsOf(cells[0]);
    NpuSmiProcess process;
    uint32_t chip = 0;
    if (cells.size() < process_cells_ ||
        first.size() != (process_has_chip_ ? 2u : 1u) ||
        !absl::SimpleAtoi(first[0], &process.npu) ||
        (process_has_chip_ && !absl::SimpleAtoi(first[1], &chip)) ||
        !absl::SimpleAtoi(cells[1], &process.pid)) {
      return BadLine("no process row", line);
    }
    if (process_has_chip_) process.chip = chip;
    // A bar in the name makes more cells than the header has.
    const size_t behind_name = process_cells_ - 3;
    const auto name_end = cells.end() - static_cast<long>(behind_name);
    process.name = PrintableText(
        absl::StrJoin(cells.begin() + 2, name_end, "|"), kMaxNameBytes);
    process.memory_mb = Number(std::string(*name_end));
    info_.processes.push_back(std::move(process));
    return absl::OkStatus();
  }

  State state_ = State::kNothing;
  bool is_950_ = false;
  bool has_phy_id_ = false;
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
  for (const NpuSmiProcess& process : info.processes) {
    if (process.npu == npu) return NpuUse::kInUse;
  }
  return info.idle_npus.count(npu) > 0 ? NpuUse::kIdle : NpuUse::kUnknown;
}

}  // namespace clusterd
