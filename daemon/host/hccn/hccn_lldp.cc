#include "daemon/host/hccn/hccn_lldp.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxValueBytes = 255;
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

bool IsKnownTitle(absl::string_view line) {
  return std::find(std::begin(kTitles), std::end(kTitles), line) !=
         std::end(kTitles);
}

// A description holds any text, so only known titles end it.
bool IsTitle(absl::string_view line, absl::string_view current) {
  if (current == kDescription) return IsKnownTitle(line);
  return !line.empty() && !absl::ascii_isspace(line[0]) &&
         absl::EndsWith(line, " TLV");
}

struct Tlv {
  absl::string_view title;
  // Without blanks around; empty lines left out.
  std::vector<absl::string_view> values;
};

std::vector<Tlv> SplitTlvs(const std::vector<absl::string_view>& lines) {
  std::vector<Tlv> tlvs;
  for (const absl::string_view line : lines) {
    const absl::string_view current =
        tlvs.empty() ? absl::string_view() : tlvs.back().title;
    if (IsTitle(line, current)) {
      tlvs.push_back({line, {}});
    } else if (!tlvs.empty() && !absl::StripAsciiWhitespace(line).empty()) {
      tlvs.back().values.push_back(absl::StripAsciiWhitespace(line));
    }
  }
  return tlvs;
}

// The first TLV of that title: a later one would be forged inside a value.
const Tlv* FindTlv(const std::vector<Tlv>& tlvs, absl::string_view title) {
  for (const Tlv& tlv : tlvs) {
    if (tlv.title == title) return &tlv;
  }
  return nullptr;
}

std::string FirstValue(const Tlv* tlv) {
  if (tlv == nullptr || tlv->values.empty()) return "";
  return PrintableText(tlv->values[0], kMaxValueBytes);
}

// "MAC: 00:11:22:33:44:55" without its subtype; other subtypes keep theirs.
std::string IdValue(const Tlv* tlv) {
  if (tlv == nullptr || tlv->values.empty()) return "";
  absl::string_view value = tlv->values[0];
  for (const absl::string_view subtype : {"MAC:", "Local:", "Ifname:"}) {
    if (absl::ConsumePrefix(&value, subtype)) break;
  }
  return PrintableText(absl::StripAsciiWhitespace(value), kMaxValueBytes);
}

std::string ManagementAddress(const Tlv* tlv) {
  if (tlv == nullptr) return "";
  for (absl::string_view value : tlv->values) {
    if (absl::ConsumePrefix(&value, "IPv4:")) {
      return PrintableText(absl::StripAsciiWhitespace(value), kMaxValueBytes);
    }
  }
  return "";
}

LldpNeighbour::Peer PeerOf(const Tlv* description) {
  if (description == nullptr || description->values.empty()) {
    return LldpNeighbour::PEER_UNSPECIFIED;
  }
  const absl::string_view first = description->values[0];
  if (absl::StrContains(first, "AscendNPU")) return LldpNeighbour::NPU;
  if (absl::StrContains(first, "Routing")) return LldpNeighbour::SWITCH;
  return LldpNeighbour::PEER_UNSPECIFIED;
}

}  // namespace

absl::StatusOr<LldpNeighbour> ParseHccnLldp(absl::string_view output) {
  LldpNeighbour neighbour;
  if (absl::StripAsciiWhitespace(output).empty()) return neighbour;
  std::vector<absl::string_view> lines;
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
  if (!IsKnownTitle(lines[0])) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected ", QuotedText(lines[0]),
                     ", expected a title like \"Chassis ID TLV\""));
  }
  const bool ended = std::find(lines.begin(), lines.end(), kEnd) != lines.end();
  neighbour.set_truncated(!ended && output.size() >= kHccnLldpMaxBytes);
  if (neighbour.truncated()) {
    // The last line may be half a value.
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    lines.pop_back();
  }
  const std::vector<Tlv> tlvs = SplitTlvs(lines);
  neighbour.set_heard(true);
  neighbour.set_chassis_id(IdValue(FindTlv(tlvs, "Chassis ID TLV")));
  neighbour.set_port_id(IdValue(FindTlv(tlvs, "Port ID TLV")));
  neighbour.set_system_name(FirstValue(FindTlv(tlvs, "System Name TLV")));
  neighbour.set_management_address(
      ManagementAddress(FindTlv(tlvs, "Management Address TLV")));
  neighbour.set_peer(PeerOf(FindTlv(tlvs, kDescription)));
  if (neighbour.port_id().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no port id in ", QuotedText(output)));
  }
  return neighbour;
}

}  // namespace clusterd
