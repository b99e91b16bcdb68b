#include "daemon/host/hccn/hccn_answers.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/hccn/hccn_output.h"

namespace clusterd {
namespace {

constexpr std::pair<absl::string_view, NetHealth> kNetHealthTexts[] = {
    {"Success", NET_HEALTH_SUCCESS},
    {"Socket fail", NET_HEALTH_SOCKET_FAIL},
    {"Socket failed", NET_HEALTH_SOCKET_FAIL},
    {"Receive timeout", NET_HEALTH_RECEIVE_TIMEOUT},
    {"Unreachable", NET_HEALTH_UNREACHABLE},
    {"Time exceeded", NET_HEALTH_TIME_EXCEEDED},
    {"Fault", NET_HEALTH_FAULT},
    {"Init", NET_HEALTH_INIT},
    {"Thread error", NET_HEALTH_THREAD_ERROR},
    {"Detect ip set", NET_HEALTH_DETECT_IP_SET},
    {"Unknown", NET_HEALTH_UNKNOWN},
};

// What stands after `label` and blanks in the only data line.
absl::StatusOr<absl::string_view> ValueAfter(absl::string_view output,
                                             absl::string_view label) {
  ASSIGN_OR_RETURN(const absl::string_view line, OnlyHccnDataLine(output));
  absl::string_view value = line;
  if (!absl::ConsumePrefix(&value, label)) {
    return UnexpectedHccnText(line, absl::StrCat("\"", label, "...\""));
  }
  return absl::StripLeadingAsciiWhitespace(value);
}

absl::StatusOr<Ipv4Address> ParseAddress(absl::string_view text) {
  const absl::StatusOr<Ipv4Address> address = Ipv4Address::Parse(text);
  if (!address.ok()) return UnexpectedHccnText(text, "an IPv4 address");
  return address;
}

bool IsInterfaceName(absl::string_view text) {
  return !text.empty() && text.size() < 16 &&
         absl::c_all_of(text, [](unsigned char c) {
           return absl::ascii_isalnum(c) || absl::StrContains("_-.:", c);
         });
}

absl::Status BadIp(absl::string_view what, absl::string_view line) {
  return absl::InvalidArgumentError(absl::StrCat(what, " ", QuotedText(line)));
}

constexpr size_t kMaxLldpValueBytes = 255;
constexpr absl::string_view kDescription = "System Description TLV";
constexpr absl::string_view kEnd = "End of LLDPDU TLV";

constexpr absl::string_view kTitles[] = {
    "Chassis ID TLV",
    "Port ID TLV",
    "Time to Live TLV",
    "Port Description TLV",
    "System Name TLV",
    kDescription,
    "System Capabilities TLV",
    "Management Address TLV",
    "Port VLAN ID TLV",
    "Port and Protocol VLAN ID TLV",
    "VLAN Name TLV",
    "MAC/PHY Configuration Status TLV",
    "Link Aggregation TLV",
    "Maximum Frame Size TLV",
    kEnd,
};

// A description holds any text, so only known titles end it.
bool IsTitle(absl::string_view line, absl::string_view current) {
  if (current == kDescription) return absl::c_linear_search(kTitles, line);
  return !line.empty() && !absl::ascii_isspace(line[0]) &&
         absl::EndsWith(line, " TLV");
}

using Values = std::vector<absl::string_view>;

// The values below each title, without blanks around; empty lines left out.
// Those of the first TLV of a title: a later one would be forged inside a
// value.
std::map<absl::string_view, Values> SplitTlvs(const Values& lines) {
  std::map<absl::string_view, Values> tlvs;
  absl::string_view title;
  Values forged;
  Values* values = &forged;
  for (const absl::string_view line : lines) {
    const absl::string_view value = absl::StripAsciiWhitespace(line);
    if (IsTitle(line, title)) {
      title = line;
      const auto [tlv, is_first] = tlvs.try_emplace(title);
      values = is_first ? &tlv->second : &forged;
    } else if (!value.empty()) {
      values->push_back(value);
    }
  }
  return tlvs;
}

absl::string_view First(const Values& values) {
  return values.empty() ? "" : values[0];
}

std::string LldpText(absl::string_view value) {
  return PrintableText(absl::StripAsciiWhitespace(value), kMaxLldpValueBytes);
}

// "MAC: 00:11:22:33:44:55" without its subtype; other subtypes keep theirs.
std::string IdText(absl::string_view value) {
  for (const absl::string_view subtype : {"MAC:", "Local:", "Ifname:"}) {
    if (absl::ConsumePrefix(&value, subtype)) break;
  }
  return LldpText(value);
}

std::string ManagementAddress(const Values& values) {
  for (absl::string_view value : values) {
    if (absl::ConsumePrefix(&value, "IPv4:")) return LldpText(value);
  }
  return "";
}

LldpNeighbour::Peer PeerOf(absl::string_view description) {
  if (absl::StrContains(description, "AscendNPU")) return LldpNeighbour::NPU;
  if (absl::StrContains(description, "Routing")) return LldpNeighbour::SWITCH;
  return LldpNeighbour::PEER_UNSPECIFIED;
}

}  // namespace

absl::StatusOr<std::vector<Ipv4Interface>> ParseHccnIp(
    absl::string_view output) {
  const std::vector<absl::string_view> lines = HccnDataLines(output);
  if (lines.empty()) return BadIp("no ipaddr line in", output);
  std::vector<Ipv4Interface> interfaces;
  for (size_t i = 0; i < lines.size(); i += 2) {
    absl::string_view address = lines[i];
    absl::string_view netmask = i + 1 < lines.size() ? lines[i + 1] : "";
    if (!absl::ConsumePrefix(&address, "ipaddr:")) {
      return BadIp("no ipaddr line in", lines[i]);
    }
    if (netmask.empty()) return BadIp("no netmask line after", lines[i]);
    if (!absl::ConsumePrefix(&netmask, "netmask:")) {
      return BadIp("no netmask line in", lines[i + 1]);
    }
    const absl::StatusOr<Ipv4Interface> interface =
        Ipv4Interface::Parse(absl::StripAsciiWhitespace(address),
                             absl::StripAsciiWhitespace(netmask));
    if (!interface.ok()) {
      return BadIp("no IPv4 address and netmask in",
                   absl::StrCat(lines[i], " ", lines[i + 1]));
    }
    if (!absl::c_linear_search(interfaces, *interface)) {
      interfaces.push_back(*interface);
    }
  }
  return interfaces;
}

absl::StatusOr<Ipv4Address> ParseHccnGateway(absl::string_view output) {
  ASSIGN_OR_RETURN(const absl::string_view value,
                   ValueAfter(output, "default gateway:"));
  const size_t comma = value.find(',');
  if (comma != absl::string_view::npos) {
    absl::string_view rest =
        absl::StripLeadingAsciiWhitespace(value.substr(comma + 1));
    if (!absl::ConsumePrefix(&rest, "Iface:") ||
        !IsInterfaceName(absl::StripAsciiWhitespace(rest))) {
      return UnexpectedHccnText(value, "\", Iface:...\" after the address");
    }
  }
  return ParseAddress(absl::StripAsciiWhitespace(value.substr(0, comma)));
}

absl::StatusOr<Ipv4Address> ParseHccnNetdetect(absl::string_view output) {
  ASSIGN_OR_RETURN(const absl::string_view line, OnlyHccnDataLine(output));
  absl::string_view rest = line;
  if (!absl::ConsumePrefix(&rest, "netdetect addr:") &&
      !absl::ConsumePrefix(&rest, "netdetect address:")) {
    return UnexpectedHccnText(line, "\"netdetect address: ...\"");
  }
  return ParseAddress(absl::StripAsciiWhitespace(rest));
}

absl::StatusOr<NetHealth> ParseHccnNetHealth(absl::string_view output) {
  ASSIGN_OR_RETURN(const absl::string_view value,
                   ValueAfter(output, "net health status:"));
  return ParseHccnWord<NetHealth>(value, kNetHealthTexts,
                                  "one of the vendor's ten states");
}

absl::StatusOr<LinkFact::Link> ParseHccnLink(absl::string_view output) {
  ASSIGN_OR_RETURN(const absl::string_view value,
                   ValueAfter(output, "link status:"));
  return ParseHccnWord<LinkFact::Link>(
      value, {{"UP", LinkFact::UP}, {"DOWN", LinkFact::DOWN}}, "UP or DOWN");
}

absl::StatusOr<uint32_t> ParseHccnMtu(absl::string_view output) {
  ASSIGN_OR_RETURN(const absl::string_view value, ValueAfter(output, "mtu:"));
  const absl::StatusOr<uint64_t> mtu = ParseHccnNumber(value, 65535);
  if (!mtu.ok() || *mtu == 0) {
    return UnexpectedHccnText(value, "a number of bytes from 1 to 65535");
  }
  return static_cast<uint32_t>(*mtu);
}

absl::StatusOr<bool> ParseHccnTls(absl::string_view output, uint32_t device) {
  const std::string label = absl::StrCat("dev_id:", device, ", tls switch[");
  std::optional<bool> enabled;
  for (const absl::string_view line : HccnDataLines(output)) {
    absl::string_view rest = line;
    if (!absl::ConsumePrefix(&rest, label)) continue;
    const bool on = absl::StartsWith(rest, "1](0:disable, 1:enable)");
    const bool off = absl::StartsWith(rest, "0](0:disable, 1:enable)");
    if (!on && !off) {
      return UnexpectedHccnText(line, "\"tls switch[0]\" or \"tls switch[1]\"");
    }
    if (enabled.has_value()) {
      return UnexpectedHccnText(line, "one tls switch");
    }
    enabled = on;
  }
  if (!enabled.has_value()) {
    return UnexpectedHccnText(output, absl::StrCat("\"", label, "...\""));
  }
  return *enabled;
}

absl::StatusOr<LldpNeighbour> ParseHccnLldp(absl::string_view output) {
  LldpNeighbour neighbour;
  if (absl::StripAsciiWhitespace(output).empty()) return neighbour;
  Values lines;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    const absl::string_view text = absl::StripTrailingAsciiWhitespace(line);
    // The tool's own warning stands before the device's text.
    if (lines.empty() &&
        (text.empty() || absl::StartsWith(text, "[WARNING] "))) {
      continue;
    }
    lines.push_back(text);
  }
  if (lines.empty()) return neighbour;
  if (!absl::c_linear_search(kTitles, lines[0])) {
    return UnexpectedHccnText(lines[0], "a title like \"Chassis ID TLV\"");
  }
  const bool ended = absl::c_linear_search(lines, kEnd);
  neighbour.set_truncated(!ended && output.size() >= kHccnLldpMaxBytes);
  if (neighbour.truncated()) {
    // The last line may be half a value.
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    lines.pop_back();
  }
  std::map<absl::string_view, Values> tlvs = SplitTlvs(lines);
  neighbour.set_heard(true);
  neighbour.set_chassis_id(IdText(First(tlvs["Chassis ID TLV"])));
  neighbour.set_port_id(IdText(First(tlvs["Port ID TLV"])));
  neighbour.set_system_name(LldpText(First(tlvs["System Name TLV"])));
  neighbour.set_management_address(
      ManagementAddress(tlvs["Management Address TLV"]));
  neighbour.set_peer(PeerOf(First(tlvs[kDescription])));
  if (neighbour.port_id().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no port id in ", QuotedText(output)));
  }
  return neighbour;
}

}  // namespace clusterd
