#include <optional>
#include <utility>

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
