#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/firewall/firewall_observer.h"

namespace clusterd {
namespace {

constexpr int kNotRunning = 252;
constexpr size_t kMaxNameBytes = 128;
// Targets of zones that allow only what they list.
constexpr absl::string_view kClosedTargets[] = {"default", "DROP", "%%REJECT%%",
                                                "REJECT"};

using Ports = std::vector<AllowedPort>;

absl::Status CannotSay(const FirewalldZone& zone, absl::string_view what) {
  return InvalidWords("fact-zone-allows",
                      PrintableText(zone.name, kMaxNameBytes),
                      QuotedText(what));
}

absl::Status Unexpected(absl::string_view line) {
  return InvalidWords("fact-firewall-cmd-line", QuotedText(line));
}

std::vector<std::string> Words(absl::string_view text) {
  return absl::StrSplit(text, ' ', absl::SkipWhitespace());
}

// "  ports: 22/tcp 80/tcp" is a name and a value.
const LazyRE2 kSetting = {R"(\s*([^:]*?)\s*:\s*(.*?)\s*)", RE2::Latin1};

bool IsIpv6(absl::string_view source) {
  return absl::StrContains(source, ':') && !absl::StartsWith(source, "ipset:");
}

void AddPorts(const Ports& ports, AllowedFact::Allowed* allowed) {
  allowed->mutable_ports()->Add(ports.begin(), ports.end());
}

// Parses "60000-60031/tcp"; empty for the protocols that HCCL does not use.
absl::StatusOr<Ports> ParsePorts(absl::string_view text) {
  if (absl::EndsWith(text, "/sctp") || absl::EndsWith(text, "/dccp")) {
    return Ports();
  }
  return ParseAllowedPorts(text, '-', "");
}

// rule [priority="N"] [family="ipv4"] [source address="A"]
//      [port port="P" protocol="T"] accept
// None if ports cannot express the rule; empty for any IPv6 rule.
std::optional<Ports> ParseRichRule(absl::string_view rule) {
  static const LazyRE2 kRule = {
      R"re(rule(?: +priority="[^ ]*")?(?: +family="([^ ]*)")?)re"
      R"re((?: +source +address="([^ ]+)")?( .*)?)re",
      RE2::Latin1};
  static const LazyRE2 kWhat = {
      R"re((?: +port +port="([^ ]+)" +protocol="([^ ]*)")? +accept)re"};
  absl::string_view family;
  absl::string_view address;
  absl::string_view what;
  if (!HasForm(rule, *kRule, &family, &address, &what)) return {};
  if (family == "ipv6" || IsIpv6(address)) return Ports();
  absl::StatusOr<std::string> source = std::string();
  if (!address.empty()) source = ParseAllowedSource(address);
  absl::string_view range;
  absl::string_view protocol;
  if (!source.ok() || !HasForm(what, *kWhat, &range, &protocol)) return {};
  if (range.empty()) return Ports{AllAllowedPorts("", *source)};
  const absl::StatusOr<Ports> ports =
      ParseAllowedPorts(absl::StrCat(range, "/", protocol), '-', *source);
  if (!ports.ok()) return {};
  return *ports;
}

absl::Status AddBaseZone(const FirewalldZone& zone,
                         const std::map<std::string, Ports>& services,
                         AllowedFact::Allowed* allowed) {
  for (const char* list : {"forward-ports", "source-ports"}) {
    if (!zone.List(list).empty()) {
      return CannotSay(zone, absl::StrCat(list, ": ", zone.List(list)[0]));
    }
  }
  for (const std::string& text : zone.List("ports")) {
    const absl::StatusOr<Ports> ports = ParsePorts(text);
    if (!ports.ok()) return CannotSay(zone, text);
    AddPorts(*ports, allowed);
  }
  for (const std::string& protocol : zone.List("protocols")) {
    if (protocol != "tcp" && protocol != "udp") continue;
    *allowed->add_ports() = AllAllowedPorts(protocol, "");
  }
  for (const std::string& name : zone.List("services")) {
    const auto found = services.find(name);
    if (found == services.end()) {
      return CannotSay(zone, absl::StrCat("service ", name));
    }
    AddPorts(found->second, allowed);
  }
  for (const std::string& rule : zone.List("rich rules")) {
    const std::optional<Ports> ports = ParseRichRule(rule);
    if (!ports.has_value()) return CannotSay(zone, rule);
    AddPorts(*ports, allowed);
  }
  const std::string& target = zone.List("target")[0];
  if (target == "ACCEPT") {
    *allowed->add_ports() = AllAllowedPorts("", "");
  } else if (!absl::c_linear_search(kClosedTargets, target)) {
    return CannotSay(zone, absl::StrCat("target: ", target));
  }
  return absl::OkStatus();
}

// Packets from the zone's sources go to it instead of the base zone.
void AddSourceZone(const FirewalldZone& zone, AllowedFact::Allowed* allowed) {
  for (const std::string& source : zone.List("sources")) {
    if (IsIpv6(source)) continue;
    const absl::StatusOr<std::string> address = ParseAllowedSource(source);
    if (!address.ok() ||
        zone.List("target") != std::vector<std::string>{"ACCEPT"} ||
        !zone.List("rich rules").empty() ||
        !zone.List("forward-ports").empty()) {
      allowed->add_other_sources(
          PrintableText(address.value_or(source), kMaxNameBytes));
    } else {
      *allowed->add_ports() = AllAllowedPorts("", *address);
    }
  }
}

// Larger tables are not written by hand.
constexpr size_t kMaxParts = 4096;

// One row of the table. Names of applications and comments may hold any bytes.
struct Row {
  absl::string_view to;
  absl::string_view action;
  absl::string_view direction;
  absl::string_view from;
};
const LazyRE2 kRow = {
    R"( *([^ ].*?) +(ALLOW|DENY|REJECT|LIMIT) +(IN|OUT|FWD) +(.*?[^ ]))"
    R"((?: +\(log(?:-all)?\))? *)",
    RE2::Latin1};
// "(v6)" marks rules without an address. A list of port ranges has several
// colons as an address has, but also commas.
const LazyRE2 kIpv6 = {R"((?:.* )?(?:\(v6\).*|[^ ,]*:[^ ,]*:[^ ,]*(?: .*)?))",
                       RE2::Latin1};
// "9 on lo" does not concern other hosts.
const LazyRE2 kLoopback = {R"((?:.* )?on +lo)", RE2::Latin1};
// "22/tcp (OpenSSH)" names the ports' application; the name may have blanks.
const LazyRE2 kTo = {R"(([^ ]+)(?: +\(.*\))?)", RE2::Latin1};
// "10.77.0.0/16/tcp" or "Anywhere/esp": a protocol after a place.
const LazyRE2 kPlace = {R"(([^ ]+?)(?:/(tcp|udp|esp|ah|gre|igmp|ipv6|vrrp))?)",
                        RE2::Latin1};

absl::Status MalformedLine(absl::string_view row, absl::string_view line) {
  return InFront("ufw status", InvalidWords(row, QuotedText(line)));
}

bool IsOtherProtocol(absl::string_view protocol) {
  return !protocol.empty() && protocol != "tcp" && protocol != "udp";
}

struct Rule {
  bool allows;
  std::vector<AllowedPort> ports;
  absl::string_view line;
};

// Returns the rule of one incoming IPv4 row. InvalidArgument as in the header;
// a rule without ports does not concern TCP or UDP.
absl::StatusOr<Rule> ParseRule(const Row& row, absl::string_view line) {
  const absl::Status cannot_say = MalformedLine("fact-ufw-allows", line);
  Rule rule{row.action == "ALLOW", {}, line};
  absl::string_view to;
  absl::string_view to_place;
  absl::string_view to_protocol;
  absl::string_view from;
  absl::string_view protocol;
  if (!HasForm(row.to, *kTo, &to) ||
      !HasForm(to, *kPlace, &to_place, &to_protocol) ||
      !HasForm(row.from, *kPlace, &from, &protocol)) {
    return cannot_say;
  }
  if (IsOtherProtocol(to_protocol) || IsOtherProtocol(protocol)) return rule;
  absl::StatusOr<std::string> source = std::string();
  if (from != "Anywhere") source = ParseAllowedSource(from);
  if (!source.ok()) return cannot_say;
  if (to_place == "Anywhere") {
    rule.ports.push_back(
        AllAllowedPorts(protocol.empty() ? to_protocol : protocol, *source));
    return rule;
  }
  absl::StatusOr<std::vector<AllowedPort>> ports =
      ParseAllowedPorts(to, ':', *source);
  if (!ports.ok() || !protocol.empty()) return cannot_say;
  rule.ports = *std::move(ports);
  return rule;
}

// Returns whether the policy for incoming packets allows them.
absl::StatusOr<bool> DefaultAllows(
    const std::vector<absl::string_view>& lines) {
  static const LazyRE2 kPolicies = {R"((allow|deny|reject) \(incoming\),.*)",
                                    RE2::Latin1};
  for (absl::string_view line : lines) {
    if (!absl::ConsumePrefix(&line, "Default: ")) continue;
    absl::string_view policy;
    if (HasForm(line, *kPolicies, &policy)) return policy == "allow";
    return MalformedLine("fact-ufw-policy", line);
  }
  return InFront("ufw status", InvalidWords("fact-ufw-no-default"));
}

// Returns the part of `ports` that the earlier rules leave.
absl::StatusOr<std::vector<AllowedPort>> LeftOf(
    std::vector<AllowedPort> ports, const std::vector<Rule>& earlier) {
  for (const Rule& rule : earlier) {
    for (const AllowedPort& taken : rule.ports) {
      std::vector<AllowedPort> left;
      for (const AllowedPort& port : ports) {
        const auto parts = MinusAllowedPort(port, taken);
        if (!parts.has_value()) {
          return MalformedLine("fact-ufw-left", rule.line);
        }
        left.insert(left.end(), parts->begin(), parts->end());
      }
      ports = std::move(left);
      if (ports.size() > kMaxParts) {
        return MalformedLine("fact-ufw-parts", rule.line);
      }
    }
  }
  return ports;
}

// Adds what the next rule allows. The first matching rule decides, so `taking`
// has the earlier rules that block.
absl::Status AddRule(Rule rule, std::vector<Rule>* taking,
                     AllowedFact::Allowed* allowed) {
  if (!rule.allows) {
    taking->push_back(std::move(rule));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const auto left, LeftOf(rule.ports, *taking));
  allowed->mutable_ports()->Add(left.begin(), left.end());
  if (allowed->ports_size() <= static_cast<int>(kMaxParts)) {
    return absl::OkStatus();
  }
  return MalformedLine("fact-ufw-parts", rule.line);
}

absl::Status AddRow(absl::string_view line, std::vector<Rule>* taking,
                    AllowedFact::Allowed* allowed) {
  Row row;
  if (!HasForm(line.substr(0, line.find(" # ")), *kRow, &row.to, &row.action,
               &row.direction, &row.from)) {
    return MalformedLine("fact-ufw-row", line);
  }
  if (row.direction != "IN" || HasForm(row.to, *kIpv6) ||
      HasForm(row.from, *kIpv6) || HasForm(row.to, *kLoopback)) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Rule rule, ParseRule(row, line));
  return AddRule(std::move(rule), taking, allowed);
}

}  // namespace

const std::vector<std::string>& FirewalldZone::List(
    const std::string& word) const {
  static const std::vector<std::string>& none = *new std::vector<std::string>;
  const auto found = lists.find(word);
  return found == lists.end() ? none : found->second;
}

absl::StatusOr<bool> ParseFirewalldState(const CommandResult& result) {
  const absl::string_view out =
      absl::StripAsciiWhitespace(result.standard_output);
  const absl::string_view err =
      absl::StripAsciiWhitespace(result.standard_error);
  if (out == "running" && result.exit_status == 0) return true;
  if (out == "not running" || err == "not running" ||
      (out.empty() && err.empty() && result.exit_status == kNotRunning)) {
    return false;
  }
  return InFront("firewall-cmd --state",
                 InvalidWords("fact-status-and", result.exit_status,
                              QuotedText(err.empty() ? out : err)));
}

absl::StatusOr<std::vector<FirewalldZone>> ParseFirewalldZones(
    absl::string_view text) {
  std::vector<FirewalldZone> zones;
  std::string last;
  for (const absl::string_view raw : absl::StrSplit(text, '\n')) {
    const absl::string_view line = absl::StripTrailingAsciiWhitespace(raw);
    if (line.empty()) continue;
    if (!absl::ascii_isspace(line[0])) {
      zones.push_back({std::string(line.substr(0, line.find(' '))), {}});
      last.clear();
      continue;
    }
    if (zones.empty()) return Unexpected(line);
    FirewalldZone& zone = zones.back();
    absl::string_view name;
    absl::string_view value;
    if (line[0] == '\t' && (last == "rich rules" || last == "forward-ports")) {
      zone.lists[last].emplace_back(absl::StripAsciiWhitespace(line));
    } else if (line[0] != '\t' && HasForm(line, *kSetting, &name, &value)) {
      last = std::string(name);
      zone.lists[last] = Words(value);
    } else {
      return Unexpected(line);
    }
  }
  for (const FirewalldZone& zone : zones) {
    if (zone.List("target").size() != 1) return CannotSay(zone, "no target");
  }
  return zones;
}

absl::StatusOr<std::vector<AllowedPort>> ParseFirewalldService(
    absl::string_view text, std::vector<std::string>* included) {
  constexpr absl::string_view kIgnored[] = {"summary", "description", "modules",
                                            "helpers"};
  // Destinations such as "ipv6:fe80::/64" of dhcpv6-client, and
  // "ipv4:224.0.0.251 ipv6:ff02::fb" of mdns. IPv4's multicast is 224.0.0.0/4.
  static const LazyRE2 kNoHost = {
      R"((?:(?:ipv6:[^ ]+|ipv4:2(?:2[4-9]|3\d)\.[0-9.]+) ?)+)"};
  std::optional<Ports> ports;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::string_view name;
    absl::string_view value;
    if (line.empty() || !absl::ascii_isspace(line[0]) ||
        !HasForm(line, *kSetting, &name, &value)) {
      continue;
    }
    if (name == "ports") {
      if (!ports.has_value()) ports.emplace();
      for (const std::string& word : Words(value)) {
        ASSIGN_OR_RETURN(const Ports parsed, ParsePorts(word));
        ports->insert(ports->end(), parsed.begin(), parsed.end());
      }
    } else if (name == "includes") {
      *included = Words(value);
    } else if (name == "destination" && HasForm(value, *kNoHost)) {
      return Ports();
    } else if (!absl::c_linear_search(kIgnored, name) && !value.empty()) {
      return Unexpected(line);
    }
  }
  if (!ports.has_value()) return Unexpected(text);
  return *std::move(ports);
}

absl::StatusOr<const FirewalldZone*> FindFirewalldZone(
    const std::vector<FirewalldZone>& zones, const std::string& name) {
  for (const FirewalldZone& zone : zones) {
    if (zone.name == name) return &zone;
  }
  return InvalidWords("fact-no-zone", QuotedText(name));
}

absl::StatusOr<AllowedFact::Allowed> FirewalldAllowed(
    const std::vector<FirewalldZone>& zones, const FirewalldZone& base,
    const std::map<std::string, std::vector<AllowedPort>>& services) {
  AllowedFact::Allowed allowed;
  RETURN_IF_ERROR(AddBaseZone(base, services, &allowed));
  for (const FirewalldZone& zone : zones) {
    if (zone.name == base.name) continue;
    AddSourceZone(zone, &allowed);
  }
  return allowed;
}

absl::StatusOr<bool> ParseUfwActive(absl::string_view status_output) {
  const absl::string_view first = absl::StripTrailingAsciiWhitespace(
      status_output.substr(0, status_output.find('\n')));
  if (first == "Status: active") return true;
  if (first == "Status: inactive") return false;
  return MalformedLine("fact-odd", first);
}

absl::StatusOr<AllowedFact::Allowed> ParseUfwAllowed(
    absl::string_view status_verbose_output) {
  const std::vector<absl::string_view> lines =
      absl::StrSplit(status_verbose_output, '\n');
  ASSIGN_OR_RETURN(const bool allows, DefaultAllows(lines));
  std::vector<Rule> taking;
  AllowedFact::Allowed allowed;
  bool in_table = false;
  for (const absl::string_view line : lines) {
    if (absl::StartsWith(line, "--")) {
      in_table = true;
    } else if (in_table && !absl::StripAsciiWhitespace(line).empty()) {
      RETURN_IF_ERROR(AddRow(line, &taking, &allowed));
    }
  }
  if (allows) {
    RETURN_IF_ERROR(AddRule({true, {AllAllowedPorts("", "")}, "default"},
                            &taking, &allowed));
  }
  return allowed;
}

absl::StatusOr<bool> ParseUfwConf(absl::string_view text) {
  std::optional<bool> enabled;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "ENABLED=")) continue;
    const absl::string_view value = WithoutQuotes(line);
    // Its start script accepts only these two spellings.
    if (value == "yes" || value == "YES") {
      enabled = true;
    } else if (absl::EqualsIgnoreCase(value, "no")) {
      enabled = false;
    } else {
      return InvalidWords("fact-ufw-enabled", QuotedText(value));
    }
  }
  if (enabled.has_value()) return *enabled;
  return InvalidWords("fact-ufw-no-enabled");
}

}  // namespace clusterd
