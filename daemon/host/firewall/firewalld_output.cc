#include "daemon/host/firewall/firewalld_output.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/firewall/allowed_port.h"

namespace clusterd {
namespace {

constexpr int kNotRunning = 252;
constexpr size_t kMaxNameBytes = 128;

absl::Status CannotSay(absl::string_view zone, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("firewalld zone ", PrintableText(zone, kMaxNameBytes),
                   ": cannot say what is allowed by ", QuotedText(what)));
}

absl::Status Unexpected(absl::string_view line) {
  return absl::InvalidArgumentError(
      absl::StrCat("firewall-cmd: unexpected line ", QuotedText(line)));
}

std::vector<std::string> Words(absl::string_view text) {
  return absl::StrSplit(text, ' ', absl::SkipWhitespace());
}

// "  ports: 22/tcp 80/tcp" to its two halves.
bool SplitSetting(absl::string_view line, std::string* name,
                  absl::string_view* value) {
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos) return false;
  *name = std::string(absl::StripAsciiWhitespace(line.substr(0, colon)));
  *value = absl::StripAsciiWhitespace(line.substr(colon + 1));
  return true;
}

bool IsIpv6(absl::string_view source) {
  return absl::StrContains(source, ':') && !absl::StartsWith(source, "ipset:");
}

// The value of `name="..."`, which is taken off `words`; empty if it is not the
// first word.
std::string TakeAttribute(absl::string_view name,
                          std::vector<std::string>* words) {
  if (words->empty()) return "";
  absl::string_view word = words->front();
  if (!absl::ConsumePrefix(&word, absl::StrCat(name, "=\"")) ||
      !absl::ConsumeSuffix(&word, "\"")) {
    return "";
  }
  const std::string value(word);
  words->erase(words->begin());
  return value;
}

bool TakeWord(absl::string_view word, std::vector<std::string>* words) {
  if (words->empty() || words->front() != word) return false;
  words->erase(words->begin());
  return true;
}

// rule [priority="N"] [family="ipv4"] [source address="A"]
//      [port port="P" protocol="T"] accept
absl::Status AddRichRule(const FirewalldZone& zone, const std::string& rule,
                         AllowedFact::Allowed* allowed) {
  std::vector<std::string> words = Words(rule);
  if (!TakeWord("rule", &words)) return CannotSay(zone.name, rule);
  TakeAttribute("priority", &words);
  if (TakeAttribute("family", &words) == "ipv6") return absl::OkStatus();
  std::string source;
  if (TakeWord("source", &words)) {
    const std::string address = TakeAttribute("address", &words);
    if (IsIpv6(address)) return absl::OkStatus();
    const absl::StatusOr<std::string> parsed = ParseAllowedSource(address);
    if (!parsed.ok()) return CannotSay(zone.name, rule);
    source = *parsed;
  }
  std::vector<AllowedPort> ports = {MakeAllowedPort(0, 65535, "", source)};
  if (TakeWord("port", &words)) {
    const std::string range = TakeAttribute("port", &words);
    const std::string protocol = TakeAttribute("protocol", &words);
    absl::StatusOr<std::vector<AllowedPort>> parsed =
        ParseAllowedPorts(absl::StrCat(range, "/", protocol), '-', source);
    if (!parsed.ok()) return CannotSay(zone.name, rule);
    ports = *std::move(parsed);
  }
  if (!TakeWord("accept", &words) || !words.empty()) {
    return CannotSay(zone.name, rule);
  }
  for (const AllowedPort& port : ports) *allowed->add_ports() = port;
  return absl::OkStatus();
}

absl::Status AddPorts(const FirewalldZone& zone,
                      AllowedFact::Allowed* allowed) {
  for (const std::string& text : zone.List("ports")) {
    // Protocols that HCCL does not use.
    if (absl::EndsWith(text, "/sctp") || absl::EndsWith(text, "/dccp")) {
      continue;
    }
    const absl::StatusOr<std::vector<AllowedPort>> ports =
        ParseAllowedPorts(text, '-', "");
    if (!ports.ok()) return CannotSay(zone.name, text);
    for (const AllowedPort& port : *ports) *allowed->add_ports() = port;
  }
  for (const std::string& protocol : zone.List("protocols")) {
    if (protocol != "tcp" && protocol != "udp") continue;
    *allowed->add_ports() = MakeAllowedPort(0, 65535, protocol, "");
  }
  return absl::OkStatus();
}

absl::Status AddServices(
    const FirewalldZone& zone,
    const std::map<std::string, std::vector<AllowedPort>>& services,
    AllowedFact::Allowed* allowed) {
  for (const std::string& name : zone.List("services")) {
    const auto found = services.find(name);
    if (found == services.end()) {
      return CannotSay(zone.name, absl::StrCat("service ", name));
    }
    for (const AllowedPort& port : found->second) *allowed->add_ports() = port;
  }
  return absl::OkStatus();
}

absl::Status AddBaseZone(
    const FirewalldZone& zone,
    const std::map<std::string, std::vector<AllowedPort>>& services,
    AllowedFact::Allowed* allowed) {
  for (const char* list : {"forward-ports", "source-ports"}) {
    if (!zone.List(list).empty()) {
      return CannotSay(zone.name, absl::StrCat(list, ": ", zone.List(list)[0]));
    }
  }
  absl::Status added = AddPorts(zone, allowed);
  if (added.ok()) added = AddServices(zone, services, allowed);
  if (!added.ok()) return added;
  for (const std::string& rule : zone.rich_rules) {
    RETURN_IF_ERROR(AddRichRule(zone, rule, allowed));
  }
  const std::string target =
      zone.List("target").empty() ? "" : zone.List("target")[0];
  if (target == "ACCEPT") {
    *allowed->add_ports() = MakeAllowedPort(0, 65535, "", "");
  } else if (target != "default" && target != "DROP" &&
             target != "%%REJECT%%" && target != "REJECT") {
    return CannotSay(zone.name, absl::StrCat("target: ", target));
  }
  return absl::OkStatus();
}

// Packets from its sources meet this zone and not the base zone.
absl::Status AddSourceZone(const FirewalldZone& zone,
                           AllowedFact::Allowed* allowed) {
  for (const std::string& source : zone.List("sources")) {
    if (IsIpv6(source)) continue;
    const absl::StatusOr<std::string> address = ParseAllowedSource(source);
    if (!address.ok() ||
        zone.List("target") != std::vector<std::string>{"ACCEPT"} ||
        !zone.rich_rules.empty() || !zone.List("forward-ports").empty()) {
      return CannotSay(zone.name, absl::StrCat("sources: ", source));
    }
    *allowed->add_ports() = MakeAllowedPort(0, 65535, "", *address);
  }
  return absl::OkStatus();
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
  return absl::InvalidArgumentError(
      absl::StrCat("firewall-cmd --state: status ", result.exit_status, " and ",
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
      zones.push_back({std::string(line.substr(0, line.find(' '))), {}, {}});
      last.clear();
      continue;
    }
    if (zones.empty()) return Unexpected(line);
    FirewalldZone& zone = zones.back();
    std::string name;
    absl::string_view value;
    if (line[0] == '\t' && last == "rich rules") {
      zone.rich_rules.emplace_back(absl::StripAsciiWhitespace(line));
    } else if (line[0] == '\t' && last == "forward-ports") {
      zone.lists[last].emplace_back(absl::StripAsciiWhitespace(line));
    } else if (line[0] != '\t' && SplitSetting(line, &name, &value)) {
      zone.lists[name] = Words(value);
      last = name;
    } else {
      return Unexpected(line);
    }
  }
  for (const FirewalldZone& zone : zones) {
    if (zone.List("target").size() != 1) {
      return CannotSay(zone.name, "no target");
    }
  }
  return zones;
}

absl::StatusOr<std::vector<AllowedPort>> ParseFirewalldService(
    absl::string_view text) {
  std::vector<AllowedPort> ports;
  bool has_ports = false;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    std::string name;
    absl::string_view value;
    if (line.empty() || !absl::ascii_isspace(line[0]) ||
        !SplitSetting(line, &name, &value)) {
      continue;
    }
    has_ports = has_ports || name == "ports";
    const bool ignored = name == "summary" || name == "description" ||
                         name == "modules" || name == "helpers";
    // Such as "destination: ipv6:fe80::/64" of dhcpv6-client: no IPv4 packet
    // is meant.
    if (name == "destination" && !value.empty() &&
        !absl::StrContains(value, "ipv4:")) {
      return std::vector<AllowedPort>();
    }
    const bool understood = ignored || name == "ports" || value.empty();
    if (!understood) return Unexpected(line);
    if (name != "ports") continue;
    for (const std::string& word : Words(value)) {
      if (absl::EndsWith(word, "/sctp") || absl::EndsWith(word, "/dccp")) {
        continue;
      }
      ASSIGN_OR_RETURN(const std::vector<AllowedPort> parsed,
                       ParseAllowedPorts(word, '-', ""));
      ports.insert(ports.end(), parsed.begin(), parsed.end());
    }
  }
  if (!has_ports) return Unexpected(text);
  return ports;
}

absl::StatusOr<const FirewalldZone*> FindFirewalldBaseZone(
    const std::vector<FirewalldZone>& zones, const std::string& default_zone) {
  const FirewalldZone* base = nullptr;
  for (const FirewalldZone& zone : zones) {
    // The default zone has every interface that no zone names.
    if (zone.name != default_zone && zone.List("interfaces").empty()) continue;
    if (base != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("firewalld: interfaces in several zones, ",
                       PrintableText(base->name, kMaxNameBytes), " and ",
                       PrintableText(zone.name, kMaxNameBytes)));
    }
    base = &zone;
  }
  if (base == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "firewalld: no zone ", QuotedText(default_zone), " in its list"));
  }
  return base;
}

absl::StatusOr<AllowedFact::Allowed> FirewalldAllowed(
    const std::vector<FirewalldZone>& zones, const FirewalldZone& base,
    const std::map<std::string, std::vector<AllowedPort>>& services) {
  AllowedFact::Allowed allowed;
  RETURN_IF_ERROR(AddBaseZone(base, services, &allowed));
  for (const FirewalldZone& zone : zones) {
    if (zone.name == base.name) continue;
    RETURN_IF_ERROR(AddSourceZone(zone, &allowed));
  }
  return allowed;
}

}  // namespace clusterd
