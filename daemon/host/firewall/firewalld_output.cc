#include "daemon/host/firewall/firewalld_output.h"

#include <optional>
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

using Ports = std::vector<AllowedPort>;

absl::Status CannotSay(const FirewalldZone& zone, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("firewalld zone ", PrintableText(zone.name, kMaxNameBytes),
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

void AddPorts(const Ports& ports, AllowedFact::Allowed* allowed) {
  allowed->mutable_ports()->Add(ports.begin(), ports.end());
}

// "60000-60031/tcp"; none for the protocols that HCCL does not use.
absl::StatusOr<Ports> ParsePorts(absl::string_view text) {
  if (absl::EndsWith(text, "/sctp") || absl::EndsWith(text, "/dccp")) {
    return Ports();
  }
  return ParseAllowedPorts(text, '-', "");
}

bool TakeWord(absl::string_view word, std::vector<std::string>* words) {
  if (words->empty() || words->front() != word) return false;
  words->erase(words->begin());
  return true;
}

// The value of `name="..."`, which is taken off `words`; empty if it is not the
// first word.
std::string TakeAttribute(absl::string_view name,
                          std::vector<std::string>* words) {
  if (words->empty()) return "";
  const std::string first = words->front();
  absl::string_view value = first;
  if (!absl::ConsumePrefix(&value, absl::StrCat(name, "=\"")) ||
      !absl::ConsumeSuffix(&value, "\"")) {
    return "";
  }
  words->erase(words->begin());
  return std::string(value);
}

// rule [priority="N"] [family="ipv4"] [source address="A"]
//      [port port="P" protocol="T"] accept
// None if this one cannot be said in ports; no ports for IPv6.
std::optional<Ports> ParseRichRule(absl::string_view rule) {
  std::vector<std::string> words = Words(rule);
  if (!TakeWord("rule", &words)) return {};
  TakeAttribute("priority", &words);
  if (TakeAttribute("family", &words) == "ipv6") return Ports();
  std::string source;
  if (TakeWord("source", &words)) {
    const std::string address = TakeAttribute("address", &words);
    if (IsIpv6(address)) return Ports();
    const absl::StatusOr<std::string> parsed = ParseAllowedSource(address);
    if (!parsed.ok()) return {};
    source = *parsed;
  }
  absl::StatusOr<Ports> ports = Ports{AllAllowedPorts("", source)};
  if (TakeWord("port", &words)) {
    const std::string range = TakeAttribute("port", &words);
    const std::string protocol = TakeAttribute("protocol", &words);
    ports = ParseAllowedPorts(absl::StrCat(range, "/", protocol), '-', source);
  }
  const bool accepts = TakeWord("accept", &words) && words.empty();
  if (!accepts || !ports.ok()) return {};
  return *std::move(ports);
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
  const std::string target =
      zone.List("target").empty() ? "" : zone.List("target")[0];
  if (target == "ACCEPT") {
    *allowed->add_ports() = AllAllowedPorts("", "");
  } else if (target != "default" && target != "DROP" &&
             target != "%%REJECT%%" && target != "REJECT") {
    return CannotSay(zone, absl::StrCat("target: ", target));
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
        !zone.List("rich rules").empty() ||
        !zone.List("forward-ports").empty()) {
      return CannotSay(zone, absl::StrCat("sources: ", source));
    }
    *allowed->add_ports() = AllAllowedPorts("", *address);
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
      zones.push_back({std::string(line.substr(0, line.find(' '))), {}});
      last.clear();
      continue;
    }
    if (zones.empty()) return Unexpected(line);
    FirewalldZone& zone = zones.back();
    std::string name;
    absl::string_view value;
    if (line[0] == '\t' && (last == "rich rules" || last == "forward-ports")) {
      zone.lists[last].emplace_back(absl::StripAsciiWhitespace(line));
    } else if (line[0] != '\t' && SplitSetting(line, &name, &value)) {
      zone.lists[name] = Words(value);
      last = name;
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
    absl::string_view text) {
  Ports ports;
  bool has_ports = false;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    std::string name;
    absl::string_view value;
    if (line.empty() || !absl::ascii_isspace(line[0]) ||
        !SplitSetting(line, &name, &value)) {
      continue;
    }
    const bool ignored = name == "summary" || name == "description" ||
                         name == "modules" || name == "helpers";
    if (name == "ports") {
      has_ports = true;
      for (const std::string& word : Words(value)) {
        ASSIGN_OR_RETURN(const Ports parsed, ParsePorts(word));
        ports.insert(ports.end(), parsed.begin(), parsed.end());
      }
    } else if (name == "destination" && !value.empty() &&
               !absl::StrContains(value, "ipv4:")) {
      // Such as "ipv6:fe80::/64" of dhcpv6-client: no IPv4 packet is meant.
      return Ports();
    } else if (!ignored && !value.empty()) {
      return Unexpected(line);
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
