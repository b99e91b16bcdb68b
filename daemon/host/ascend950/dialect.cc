#include "daemon/host/ascend950/dialect.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/hccn/hccn_answers.h"
#include "daemon/host/hccn/hccn_tool.h"

namespace clusterd {
namespace ascend950 {
namespace {

constexpr size_t kSlaves = 2;
// The first column of each table of -dev_info names it.
constexpr absl::string_view kPorts = "UDie ID";
constexpr absl::string_view kInterfaces = "Interface Name";
constexpr absl::string_view kFirstColumns[] = {kPorts, kInterfaces, "Name"};
constexpr absl::string_view kPortTypeColumn = "Port Type";

struct SlaveAnswer {
  absl::string_view slave;
  std::string text;
};

absl::StatusOr<std::vector<SlaveAnswer>> SplitSlaves(absl::string_view output) {
  static const LazyRE2 kHeader = {R"(\[dev_name:(.*)\] LLDP neighbor info:)",
                                  RE2::Latin1};
  std::vector<SlaveAnswer> slaves;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    absl::string_view slave;
    if (HasForm(line, *kHeader, &slave)) {
      slaves.push_back({slave, ""});
    } else if (!slaves.empty()) {
      absl::StrAppend(&slaves.back().text, line, "\n");
    } else if (!absl::StripAsciiWhitespace(line).empty()) {
      break;
    }
  }
  if (!slaves.empty()) return slaves;
  return InvalidWords("fact-lldp-no-info", QuotedText(output));
}

using Cells = std::vector<absl::string_view>;

absl::Status BadLine(absl::string_view row, absl::string_view line) {
  return InFront("-dev_info", InvalidWords(row, QuotedText(line)));
}

// Returns the cells between the bars, without blanks.
Cells CellsOf(absl::string_view line) {
  Cells cells = absl::StrSplit(line, '|');
  if (cells.size() < 3) return {};
  cells.erase(cells.begin());
  cells.pop_back();
  for (absl::string_view& cell : cells) cell = absl::StripAsciiWhitespace(cell);
  return cells;
}

absl::StatusOr<Port> ParsePort(const Cells& header, const Cells& row,
                               absl::string_view line) {
  Port port;
  port.type =
      std::string(row[absl::c_find(header, kPortTypeColumn) - header.begin()]);
  if (!absl::SimpleAtoi(row[0], &port.udie) ||
      !absl::SimpleAtoi(row[1], &port.port)) {
    return BadLine("fact-no-port-id", line);
  }
  if (port.type == "UB" || port.type == "ETH") return port;
  return BadLine("fact-port-type", line);
}

void MissBond(const Missing& missing, DeviceFacts* facts) {
  SetAllMissing(missing, facts->mutable_address(), facts->mutable_gateway(),
                facts->mutable_mtu(), facts->mutable_lldp());
}

// `command` is the query for the table.
void ReadBond(const DeviceInfo& info, const std::string& command,
              HccnSession* session, DeviceReading* reading) {
  DeviceFacts& facts = reading->facts;
  const bool has_eth_port = absl::c_any_of(
      info.ports, [](const Port& port) { return port.type == "ETH"; });
  if (info.bonds.size() > 1 || (info.bonds.empty() && !has_eth_port)) {
    MissBond(
        MakeMissing(Missing::NOT_SUPPORTED,
                    Worded(has_eth_port ? "fact-bonds" : "fact-bonds-no-eth",
                           command, info.bonds.size())),
        &facts);
    return;
  }
  std::string bond = absl::StrCat("bond", reading->slot);
  if (!info.bonds.empty()) {
    bond = info.bonds[0];
    reading->slot_known =
        absl::SimpleAtoi(absl::StripPrefix(bond, "bond"), &reading->slot);
  }
  const auto ask = [&](absl::string_view query) {
    return session->Ask(query, {"-d", bond});
  };
  FillAddress(ask("-ip"), facts.mutable_address());
  if (facts.address().has_value()) reading->slot_known = true;
  FillGateway(ask("-gateway"), facts.mutable_gateway());
  FillHccnFact(ask("-mtu"), ParseHccnMtu, facts.mutable_mtu());
  FillHccnFact(ask("-lldp"), ParseLldp, facts.mutable_lldp());
}

void ReadLink(const DeviceInfo& info, const std::string& command,
              HccnSession* session, LinkFact* fact) {
  SetMissing(Missing::NOT_SUPPORTED, Worded("fact-no-eth-port", command), fact);
  for (const Port& port : info.ports) {
    if (port.type != "ETH") continue;
    const HccnAnswer answer = session->Ask(
        "-link",
        {"-u", absl::StrCat(port.udie), "-p", absl::StrCat(port.port)});
    LinkFact one;
    FillHccnFact(answer, ParseHccnLink, &one);
    if (fact->has_value() && one.has_value() && fact->value() != one.value()) {
      SetMissing(Missing::UNREADABLE, Worded("fact-eth-differ", answer.command),
                 &one);
    }
    *fact = one;
    if (!fact->has_value()) return;
  }
}

}  // namespace

DeviceReading ReadDevice(uint32_t device, HccnSession* session) {
  DeviceReading reading;
  DeviceFacts& facts = reading.facts;
  facts.set_id(device);
  reading.slot = device;
  const HccnAnswer table = session->Ask("-dev_info");
  const absl::StatusOr<DeviceInfo> info = ParseDeviceInfo(table.output);
  if (!table.missing.has_value() && info.ok()) {
    ReadBond(*info, table.command, session, &reading);
    ReadLink(*info, table.command, session, facts.mutable_link());
  } else {
    const Missing missing = table.missing.has_value()
                                ? *table.missing
                                : UnreadableHccnAnswer(table, info.status());
    MissBond(missing, &facts);
    SetMissing(missing, facts.mutable_link());
  }
  FillDetectAddress(session->Ask("-netdetect"), facts.mutable_detect_address());
  AskNetHealth(session, facts.mutable_net_health());
  return reading;
}

TlsFact ReadTls(uint32_t device, const HccnAnswer& answer) {
  const auto parse =
      [device](absl::string_view output) -> absl::StatusOr<TlsFact::Switch> {
    ASSIGN_OR_RETURN(const bool enabled, ParseTls(output, device));
    return MakeTlsSwitch(enabled, "hccn_tool -g -tls");
  };
  TlsFact fact;
  FillHccnFact(answer, parse, &fact);
  return fact;
}

absl::StatusOr<bool> ParseTls(absl::string_view output, uint32_t device) {
  static const LazyRE2 kForm = {
      R"((?:device |dev_id:)(0|[1-9]\d*), )"
      R"(tls switch\[(?:0|(1))\]\(0:disable, 1:enable\).*)",
      RE2::Latin1};
  const std::vector<absl::string_view> lines = HccnDataLines(output);
  const absl::string_view line = lines.empty() ? output : lines[0];
  uint32_t said = 0;
  absl::string_view enabled;
  if (HasForm(line, *kForm, &said, &enabled) && said == device) {
    return !enabled.empty();
  }
  return InvalidWords("fact-tls-no-switch", device, QuotedText(line));
}

absl::StatusOr<LldpNeighbour> ParseLldp(absl::string_view output) {
  ASSIGN_OR_RETURN(const std::vector<SlaveAnswer> slaves, SplitSlaves(output));
  if (slaves.size() != kSlaves) {
    return InvalidWords("fact-lldp-slaves", slaves.size(), kSlaves);
  }
  ASSIGN_OR_RETURN(const LldpNeighbour first, ParseHccnLldp(slaves[0].text));
  ASSIGN_OR_RETURN(const LldpNeighbour second, ParseHccnLldp(slaves[1].text));
  if (first.heard() == second.heard()) return first;
  return InvalidWords(
      first.heard() ? "fact-lldp-first-hears" : "fact-lldp-second-hears",
      QuotedText(slaves[0].slave), QuotedText(slaves[1].slave));
}

absl::StatusOr<DeviceInfo> ParseDeviceInfo(absl::string_view output) {
  // The form of bond names: hccn_tool rejects longer interface names.
  static const LazyRE2 kBond = {R"(bond\d{1,8})"};
  DeviceInfo info;
  Cells header;
  bool saw_interfaces = false;
  for (const absl::string_view line : HccnDataLines(output)) {
    if (absl::StartsWith(line, "+")) continue;
    const Cells cells = CellsOf(line);
    if (cells.empty()) return BadLine("fact-no-table-row", line);
    if (absl::c_linear_search(kFirstColumns, cells[0])) {
      header = cells;
      saw_interfaces = saw_interfaces || cells[0] == kInterfaces;
      if (cells[0] == kPorts &&
          (cells.size() < 4 || cells[1] != "Port ID" ||
           !absl::c_linear_search(cells, kPortTypeColumn))) {
        return BadLine("fact-port-table", line);
      }
    } else if (cells.size() != header.size()) {
      return BadLine("fact-odd-row", line);
    } else if (header[0] == kPorts) {
      ASSIGN_OR_RETURN(Port port, ParsePort(header, cells, line));
      info.ports.push_back(std::move(port));
    } else if (header[0] == kInterfaces && HasForm(cells[0], *kBond)) {
      // Further addresses and slaves of a bond come in rows without a name.
      info.bonds.emplace_back(cells[0]);
    }
  }
  if (!saw_interfaces) return BadLine("fact-no-interface-table", output);
  return info;
}

}  // namespace ascend950
}  // namespace clusterd
