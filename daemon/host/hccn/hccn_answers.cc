#include "daemon/host/hccn/hccn_answers.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <map>
#include <set>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "daemon/host/hccn/hccn_tool.h"

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

absl::StatusOr<absl::string_view> OnlyDataLine(absl::string_view output) {
  const std::vector<absl::string_view> lines = HccnDataLines(output);
  if (lines.empty()) {
    return InvalidWords("fact-no-answer-text", QuotedText(output));
  }
  if (lines.size() <= 1) return lines[0];
  return InvalidWords("fact-line-after", QuotedText(lines[1]),
                      QuotedText(lines[0]));
}

// Returns the text after `label` and blanks in the only data line.
absl::StatusOr<absl::string_view> ValueAfter(absl::string_view output,
                                             absl::string_view label) {
  ASSIGN_OR_RETURN(const absl::string_view line, OnlyDataLine(output));
  absl::string_view value = line;
  if (!absl::ConsumePrefix(&value, label)) {
    return UnexpectedHccnText(line, absl::StrCat("\"", label, "...\""));
  }
  return absl::StripLeadingAsciiWhitespace(value);
}

// Returns the address in the only data line, which must match `form`.
absl::StatusOr<Ipv4Address> AddressIn(absl::string_view output, const RE2& form,
                                      const FindingValue& expected) {
  ASSIGN_OR_RETURN(const absl::string_view line, OnlyDataLine(output));
  absl::string_view text;
  if (HasForm(line, form, &text)) {
    const absl::StatusOr<Ipv4Address> address = Ipv4Address::Parse(text);
    if (address.ok()) return address;
  }
  return UnexpectedHccnText(line, expected);
}

constexpr size_t kMaxLldpValueBytes = 255;
constexpr absl::string_view kDescription = "System Description TLV";
constexpr absl::string_view kManagement = "Management Address TLV";
constexpr absl::string_view kIpv4 = "IPv4:";
constexpr absl::string_view kEnd = "End of LLDPDU TLV";

constexpr absl::string_view kTitles[] = {
    "Chassis ID TLV",
    "Port ID TLV",
    "Time to Live TLV",
    "Port Description TLV",
    "System Name TLV",
    kDescription,
    "System Capabilities TLV",
    kManagement,
    "Port VLAN ID TLV",
    "Port and Protocol VLAN ID TLV",
    "VLAN Name TLV",
    "MAC/PHY Configuration Status TLV",
    "Link Aggregation TLV",
    "Maximum Frame Size TLV",
    kEnd,
};

// A description may hold any text, so only known titles end it.
bool IsTitle(absl::string_view line, absl::string_view current) {
  if (current == kDescription) return absl::c_linear_search(kTitles, line);
  return !line.empty() && !absl::ascii_isspace(line[0]) &&
         absl::EndsWith(line, " TLV");
}

// Returns the first value below each title, without blanks around; for the
// management addresses the first IPv4 one. Later TLVs of a title are ignored,
// since a neighbour could forge them inside a value.
std::map<absl::string_view, absl::string_view> FirstValues(
    const std::vector<absl::string_view>& lines) {
  std::map<absl::string_view, absl::string_view> values;
  std::set<absl::string_view> titles;
  absl::string_view title;
  bool is_forged = false;
  for (const absl::string_view line : lines) {
    const absl::string_view value = absl::StripAsciiWhitespace(line);
    if (IsTitle(line, title)) {
      title = line;
      is_forged = !titles.insert(title).second;
    } else if (!is_forged && !value.empty() &&
               (title != kManagement || absl::StartsWith(value, kIpv4))) {
      values.try_emplace(title, value);
    }
  }
  return values;
}

std::string LldpText(absl::string_view value) {
  return PrintableText(absl::StripAsciiWhitespace(value), kMaxLldpValueBytes);
}

// Returns "MAC: 00:11:22:33:44:55" without its subtype, others unchanged.
std::string IdText(absl::string_view value) {
  for (const absl::string_view subtype : {"MAC:", "Local:", "Ifname:"}) {
    if (absl::ConsumePrefix(&value, subtype)) break;
  }
  return LldpText(value);
}

// Returns the priorities of "\t PFC enabled: 3 4" below "IEEE 8021QAZ PFC TLV",
// or of the older CEE form "PFC enabled priorities: 3" (open-lldp, lldptool).
// Empty without such a line, or for another form.
std::string SwitchPfc(const std::vector<absl::string_view>& lines) {
  static const LazyRE2 kForm = {
      R"(\s+PFC enabled(?: priorities)?: *(none|[0-7](?:[ ,]+[0-7])*))",
      RE2::Latin1};
  absl::string_view title;
  for (const absl::string_view line : lines) {
    if (IsTitle(line, title)) title = line;
    absl::string_view priorities;
    if (!absl::StrContains(title, "PFC") && !absl::StrContains(title, "DCBX")) {
      continue;
    }
    if (!HasForm(line, *kForm, &priorities)) continue;
    std::string list = "0,0,0,0,0,0,0,0";
    for (const char c : priorities) {
      if (absl::ascii_isdigit(c)) list[2 * (c - '0')] = '1';
    }
    return list;
  }
  return "";
}

LldpNeighbour::Peer PeerOf(absl::string_view description) {
  if (absl::StrContains(description, "AscendNPU")) return LldpNeighbour::NPU;
  if (absl::StrContains(description, "Routing")) return LldpNeighbour::SWITCH;
  return LldpNeighbour::PEER_UNSPECIFIED;
}

constexpr int kMaxHealthPolls = 3;
constexpr absl::Duration kHealthPollPause = absl::Seconds(1);

absl::StatusOr<DeviceAddressFact::Settings> ParseSettings(
    absl::string_view output) {
  ASSIGN_OR_RETURN(const auto interfaces, ParseHccnIp(output));
  DeviceAddressFact::Settings settings;
  for (const Ipv4Interface& interface : interfaces) {
    Ipv4Setting* setting = settings.add_settings();
    setting->set_address(interface.address().ToString());
    setting->set_netmask(interface.subnet().netmask().ToString());
  }
  return settings;
}

template <absl::StatusOr<Ipv4Address> (*kParse)(absl::string_view)>
absl::StatusOr<std::string> TextOf(absl::string_view output) {
  ASSIGN_OR_RETURN(const Ipv4Address address, kParse(output));
  return address.ToString();
}

// The failure `none` means that none is set: an empty value.
template <typename Parse, typename Fact>
void FillUnless(HccnFailure none, const HccnAnswer& answer, const Parse& parse,
                Fact* fact) {
  if (!answer.missing.has_value() && answer.failure == none) {
    fact->mutable_value();
  } else {
    FillHccnFact(answer, parse, fact);
  }
}

}  // namespace

absl::StatusOr<std::vector<Ipv4Interface>> ParseHccnIp(
    absl::string_view output) {
  static const LazyRE2 kPair = {
      R"(ipaddr:[[:space:]]*([\d.]+)\nnetmask:[[:space:]]*([\d.]+))"};
  const std::vector<absl::string_view> lines = HccnDataLines(output);
  if (lines.empty()) {
    return InvalidWords("fact-no-ipaddr", QuotedText(output));
  }
  std::vector<Ipv4Interface> interfaces;
  for (size_t i = 0; i < lines.size(); i += 2) {
    const std::string pair =
        absl::StrJoin(absl::MakeConstSpan(lines).subspan(i, 2), "\n");
    absl::string_view address;
    absl::string_view netmask;
    absl::StatusOr<Ipv4Interface> interface;
    if (HasForm(pair, *kPair, &address, &netmask)) {
      interface = Ipv4Interface::Parse(address, netmask);
    }
    if (!interface.ok()) {
      return UnexpectedHccnText(pair, Worded("want-ipaddr-netmask"));
    }
    if (!absl::c_linear_search(interfaces, *interface)) {
      interfaces.push_back(*interface);
    }
  }
  return interfaces;
}

absl::StatusOr<Ipv4Address> ParseHccnGateway(absl::string_view output) {
  static const LazyRE2 kForm = {
      R"(default gateway:[[:space:]]*([\d.]+)[[:space:]]*)"
      R"((?:,[[:space:]]*Iface:[[:space:]]*[\w.:-]{1,15})?)"};
  return AddressIn(output, *kForm, Worded("want-gateway"));
}

absl::StatusOr<Ipv4Address> ParseHccnNetdetect(absl::string_view output) {
  static const LazyRE2 kForm = {
      R"(netdetect addr(?:ess)?:[[:space:]]*([\d.]+))"};
  return AddressIn(output, *kForm, Worded("want-detect-address"));
}

absl::StatusOr<NetHealth> ParseHccnNetHealth(absl::string_view output) {
  ASSIGN_OR_RETURN(const absl::string_view value,
                   ValueAfter(output, "net health status:"));
  return ParseHccnWord<NetHealth>(value, kNetHealthTexts,
                                  Worded("want-net-health"));
}

absl::StatusOr<LinkFact::Link> ParseHccnLink(absl::string_view output) {
  ASSIGN_OR_RETURN(const absl::string_view value,
                   ValueAfter(output, "link status:"));
  return ParseHccnWord<LinkFact::Link>(
      value, {{"UP", LinkFact::UP}, {"DOWN", LinkFact::DOWN}},
      Worded("want-up-down"));
}

absl::StatusOr<RecoveryFact::Recovery> ParseHccnRecovery(
    absl::string_view output) {
  ASSIGN_OR_RETURN(const absl::string_view value,
                   ValueAfter(output, "config status:"));
  return ParseHccnWord<RecoveryFact::Recovery>(
      value,
      {{"NONE", RecoveryFact::NONE},
       {"START", RecoveryFact::START},
       {"FAIL", RecoveryFact::FAIL},
       {"SUCCESS", RecoveryFact::SUCCESS},
       {"FAULT", RecoveryFact::FAULT}},
      Worded("want-recovery"));
}

absl::StatusOr<uint32_t> ParseHccnMtu(absl::string_view output) {
  static const LazyRE2 kForm = {R"(([1-9]\d*))"};
  ASSIGN_OR_RETURN(const absl::string_view value, ValueAfter(output, "mtu:"));
  uint16_t bytes = 0;
  if (HasForm(value, *kForm, &bytes)) return bytes;
  return UnexpectedHccnText(value, Worded("want-mtu"));
}

absl::StatusOr<bool> ParseHccnTls(absl::string_view output, uint32_t device) {
  const std::string label = absl::StrCat("dev_id:", device, ", tls switch[");
  absl::string_view found = output;
  int count = 0;
  for (const absl::string_view line : HccnDataLines(output)) {
    if (!absl::StartsWith(line, label)) continue;
    found = line;
    ++count;
  }
  for (const bool enabled : {false, true}) {
    if (count == 1 &&
        absl::StartsWith(found, absl::StrCat(label, enabled ? 1 : 0,
                                             "](0:disable, 1:enable)"))) {
      return enabled;
    }
  }
  return UnexpectedHccnText(found, Worded("want-tls-line", label));
}

std::vector<TlsCertificate> ParseHccnCertificates(absl::string_view output,
                                                  absl::string_view errors,
                                                  uint32_t device) {
  static const LazyRE2 kName = {R"(dev_id:(\d+), \[(\w+) cert\] info:)"};
  static const LazyRE2 kEnds = {R"(\s*end_time\[([^\]]*)\])"};
  static const LazyRE2 kStatus = {R"(\s*tls expiration status\[([012])\].*)"};
  const bool any_expired =
      absl::StrContains(errors, "tls expiration status[2]");
  std::vector<TlsCertificate> certificates;
  uint32_t of = 0;
  int status = 0;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    absl::string_view text;
    if (HasForm(line, *kName, &of, &text) && of == device) {
      certificates.emplace_back().set_name(std::string(text));
    } else if (certificates.empty()) {
      continue;
    } else if (HasForm(line, *kEnds, &text)) {
      certificates.back().set_ends(PrintableText(text, kMaxQuotedBytes));
      if (any_expired) certificates.back().set_status(TlsCertificate::EXPIRED);
    } else if (HasForm(line, *kStatus, &status)) {
      certificates.back().set_status(
          static_cast<TlsCertificate::Status>(status + 1));
    }
  }
  DropIf(&certificates, [](const auto& each) { return each.ends().empty(); });
  return certificates;
}

absl::StatusOr<LldpNeighbour> ParseHccnLldp(absl::string_view output) {
  LldpNeighbour neighbour;
  std::vector<absl::string_view> lines;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    const absl::string_view text = absl::StripTrailingAsciiWhitespace(line);
    // The tool prints its own warning before the device's text.
    if (lines.empty() &&
        (text.empty() || absl::StartsWith(text, "[WARNING] "))) {
      continue;
    }
    lines.push_back(text);
  }
  if (lines.empty()) return neighbour;
  if (!absl::c_linear_search(kTitles, lines[0])) {
    return UnexpectedHccnText(lines[0], Worded("want-tlv-title"));
  }
  const bool ended = absl::c_linear_search(lines, kEnd);
  neighbour.set_truncated(!ended && output.size() >= kHccnLldpMaxBytes);
  if (neighbour.truncated()) {
    // The last line may be incomplete.
    while (!lines.empty() && lines.back().empty()) lines.pop_back();
    lines.pop_back();
  }
  auto values = FirstValues(lines);
  neighbour.set_heard(true);
  neighbour.set_chassis_id(IdText(values["Chassis ID TLV"]));
  neighbour.set_port_id(IdText(values["Port ID TLV"]));
  neighbour.set_system_name(LldpText(values["System Name TLV"]));
  neighbour.set_management_address(
      LldpText(absl::StripPrefix(values[kManagement], kIpv4)));
  neighbour.set_peer(PeerOf(values[kDescription]));
  if (neighbour.peer() != LldpNeighbour::NPU) {
    neighbour.set_pfc(SwitchPfc(lines));
  }
  if (!neighbour.port_id().empty()) return neighbour;
  return InvalidWords("fact-no-port-id", QuotedText(output));
}

Missing UnreadableHccnAnswer(const HccnAnswer& answer,
                             const absl::Status& status) {
  // The vendor's texts describe the newer tool less fully, so an unknown form
  // need not be a damaged answer.
  FindingValue why =
      answer.output.empty()
          ? Worded("fact-answer-none", answer.command)
          : Worded("about", answer.command, MessageWords(status));
  if (answer.generation == NpuToolFacts::ASCEND_950) {
    why = Worded("fact-not-known-950", why);
  }
  return MakeMissing(Missing::UNREADABLE, why);
}

void FillAddress(const HccnAnswer& answer, DeviceAddressFact* fact) {
  FillUnless(HccnFailure::kNoAddress, answer, ParseSettings, fact);
}

absl::StatusOr<std::string> ParseHccnIpv6(absl::string_view output) {
  static const LazyRE2 kAddress = {"ipv6_address: *([0-9A-Fa-f:.]{2,45})",
                                   RE2::Latin1};
  static const LazyRE2 kPrefix = {R"(prefix_length: *(\d{1,3}))", RE2::Latin1};
  const std::vector<absl::string_view> lines = HccnDataLines(output);
  std::string address;
  uint32_t prefix = 0;
  in6_addr parsed;
  if (lines.size() != 2 || !HasForm(lines[0], *kAddress, &address) ||
      inet_pton(AF_INET6, address.c_str(), &parsed) != 1 ||
      !HasForm(lines[1], *kPrefix, &prefix) || prefix > 128) {
    return UnexpectedHccnText(output, Worded("want-ipv6"));
  }
  if (IN6_IS_ADDR_LINKLOCAL(&parsed)) return "";
  return absl::StrCat(address, "/", prefix);
}

void FillIpv6Address(const HccnAnswer& answer, TextFact* fact) {
  FillUnless(HccnFailure::kNoAddress, answer, ParseHccnIpv6, fact);
}

void FillGateway(const HccnAnswer& answer, TextFact* fact) {
  FillUnless(HccnFailure::kNoGateway, answer, TextOf<ParseHccnGateway>, fact);
}

void FillDetectAddress(const HccnAnswer& answer, TextFact* fact) {
  FillHccnFact(answer, TextOf<ParseHccnNetdetect>, fact);
}

TlsFact::Switch MakeTlsSwitch(bool enabled, absl::string_view source) {
  TlsFact::Switch made;
  made.set_enabled(enabled);
  made.set_source(std::string(source));
  return made;
}

void AskNetHealth(HccnSession* session, NetHealthFact* fact) {
  for (int poll = 0;; ++poll) {
    FillHccnFact(session->Ask("-net_health"), ParseHccnNetHealth, fact);
    if (fact->value() != NET_HEALTH_DETECT_IP_SET || poll == kMaxHealthPolls ||
        !session->Pause(kHealthPollPause)) {
      return;
    }
  }
}

}  // namespace clusterd
