#include "daemon/host/ascend950/answers.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/hccn/hccn_answers.h"
#include "daemon/host/hccn/hccn_output.h"

namespace clusterd {
namespace ascend950 {
namespace {

constexpr size_t kSlaves = 2;
constexpr absl::string_view kHeaderBegin = "[dev_name:";
constexpr absl::string_view kHeaderEnd = "] LLDP neighbor info:";

struct SlaveAnswer {
  std::string slave;
  std::string text;
};

bool IsHeader(absl::string_view line) {
  return absl::StartsWith(line, kHeaderBegin) &&
         absl::EndsWith(line, kHeaderEnd);
}

absl::StatusOr<std::vector<SlaveAnswer>> SplitSlaves(absl::string_view output) {
  std::vector<SlaveAnswer> slaves;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    if (IsHeader(line)) {
      absl::string_view slave = line.substr(kHeaderBegin.size());
      slave.remove_suffix(kHeaderEnd.size());
      slaves.push_back({std::string(slave), ""});
    } else if (!slaves.empty()) {
      absl::StrAppend(&slaves.back().text, line, "\n");
    } else if (!absl::StripAsciiWhitespace(line).empty()) {
      break;
    }
  }
  if (slaves.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("-lldp: no \"", kHeaderBegin,
                                                   "…", kHeaderEnd, "\" in ",
                                                   QuotedText(output)));
  }
  return slaves;
}

using Cells = std::vector<absl::string_view>;

absl::Status BadLine(absl::string_view what, absl::string_view line) {
  return absl::InvalidArgumentError(
      absl::StrCat("-dev_info: ", what, " in ", QuotedText(line)));
}

// What is between the bars, without the blanks.
Cells CellsOf(absl::string_view line) {
  Cells cells = absl::StrSplit(line, '|');
  if (cells.size() < 3) return {};
  cells.erase(cells.begin());
  cells.pop_back();
  for (absl::string_view& cell : cells) cell = absl::StripAsciiWhitespace(cell);
  return cells;
}

// "bond0": the form that the tool takes, short enough for an interface.
bool IsBondName(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "bond")) return false;
  return !name.empty() && name.size() <= 8 &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isdigit(static_cast<unsigned char>(c));
         });
}

class TableReader {
 public:
  absl::Status ReadLine(absl::string_view line) {
    if (absl::StartsWith(line, "+")) return absl::OkStatus();
    const Cells cells = CellsOf(line);
    if (cells.empty()) return BadLine("no table row", line);
    if (cells[0] == "UDie ID" || cells[0] == "Interface Name" ||
        cells[0] == "Name") {
      return BeginTable(cells, line);
    }
    if (cells.size() != header_.size()) {
      return BadLine("a row that does not fit its header", line);
    }
    if (header_[0] == "UDie ID") return ReadPort(cells, line);
    if (header_[0] == "Interface Name") ReadInterface(cells[0]);
    return absl::OkStatus();
  }

  bool saw_interfaces() const { return saw_interfaces_; }
  DeviceInfo TakeInfo() { return std::move(info_); }

 private:
  absl::Status BeginTable(const Cells& cells, absl::string_view line) {
    header_ = cells;
    if (cells[0] == "UDie ID" && (cells.size() < 4 || cells[1] != "Port ID" ||
                                  Column("Port Type") < 0)) {
      return BadLine("an unknown port table", line);
    }
    if (cells[0] == "Interface Name") saw_interfaces_ = true;
    return absl::OkStatus();
  }

  int Column(absl::string_view name) const {
    const auto at = std::find(header_.begin(), header_.end(), name);
    return at == header_.end() ? -1 : static_cast<int>(at - header_.begin());
  }

  absl::Status ReadPort(const Cells& cells, absl::string_view line) {
    Port port;
    port.type = std::string(cells[Column("Port Type")]);
    if (!absl::SimpleAtoi(cells[0], &port.udie) ||
        !absl::SimpleAtoi(cells[1], &port.port)) {
      return BadLine("no port id", line);
    }
    if (port.type != "UB" && port.type != "ETH") {
      return BadLine("an unknown port type", line);
    }
    info_.ports.push_back(std::move(port));
    return absl::OkStatus();
  }

  // Further addresses and slaves of an interface come in rows without a name.
  void ReadInterface(absl::string_view name) {
    if (IsBondName(name)) info_.bonds.emplace_back(name);
  }

  Cells header_;
  bool saw_interfaces_ = false;
  DeviceInfo info_;
};

}  // namespace

absl::StatusOr<bool> ParseTls(absl::string_view output, uint32_t device) {
  const std::vector<absl::string_view> lines = HccnDataLines(output);
  absl::string_view line = lines.empty() ? "" : lines[0];
  const bool is_this_device =
      absl::ConsumePrefix(&line, absl::StrCat("device ", device, ", ")) ||
      absl::ConsumePrefix(&line, absl::StrCat("dev_id:", device, ", "));
  for (const bool enabled : {false, true}) {
    if (is_this_device &&
        absl::StartsWith(line, absl::StrCat("tls switch[", enabled ? 1 : 0,
                                            "](0:disable, 1:enable)"))) {
      return enabled;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("-tls: no switch of device ", device, " in ",
                   QuotedText(lines.empty() ? output : lines[0])));
}

absl::StatusOr<LldpNeighbour> ParseLldp(absl::string_view output) {
  ASSIGN_OR_RETURN(const std::vector<SlaveAnswer> slaves, SplitSlaves(output));
  if (slaves.size() != kSlaves) {
    return absl::InvalidArgumentError(
        absl::StrCat("-lldp: answers of ", slaves.size(),
                     " slaves of the bond, expected ", kSlaves));
  }
  const absl::StatusOr<LldpNeighbour> first = ParseHccnLldp(slaves[0].text);
  const absl::StatusOr<LldpNeighbour> second = ParseHccnLldp(slaves[1].text);
  if (!first.ok()) return first.status();
  if (!second.ok()) return second.status();
  if (first->heard() != second->heard()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "-lldp: of the bond's slaves ", QuotedText(slaves[0].slave),
        first->heard() ? " hears a neighbour and " : " hears none and ",
        QuotedText(slaves[1].slave),
        first->heard() ? " hears none" : " hears one"));
  }
  return first;
}

absl::StatusOr<DeviceInfo> ParseDeviceInfo(absl::string_view output) {
  TableReader reader;
  for (const absl::string_view line : HccnDataLines(output)) {
    RETURN_IF_ERROR(reader.ReadLine(line));
  }
  if (!reader.saw_interfaces()) {
    return BadLine("no table of interfaces", output);
  }
  return reader.TakeInfo();
}

}  // namespace ascend950
}  // namespace clusterd
