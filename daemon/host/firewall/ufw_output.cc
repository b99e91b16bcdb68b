#include "daemon/host/firewall/ufw_output.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/firewall/allowed_port.h"

namespace clusterd {
namespace {

// A table with more is nobody's work by hand.
constexpr size_t kMaxParts = 4096;

using Words = std::vector<absl::string_view>;

// One row of the table, still in words.
struct Row {
  Words to;
  absl::string_view action;     // ALLOW, DENY, REJECT or LIMIT.
  absl::string_view direction;  // IN, OUT or FWD.
  Words from;
};

absl::Status Malformed(absl::string_view what, absl::string_view line) {
  return absl::InvalidArgumentError(
      absl::StrCat("ufw status: ", what, " ", QuotedText(line)));
}

bool IsAction(absl::string_view word) {
  return word == "ALLOW" || word == "DENY" || word == "REJECT" ||
         word == "LIMIT";
}

bool IsDirection(absl::string_view word) {
  return word == "IN" || word == "OUT" || word == "FWD";
}

// Splits at the action and drops the comment, "(log)" and the like.
std::optional<Row> SplitRow(absl::string_view line) {
  const Words words =
      absl::StrSplit(line.substr(0, line.find(" # ")), ' ', absl::SkipEmpty());
  for (size_t i = 1; i + 2 < words.size(); ++i) {
    if (!IsAction(words[i]) || !IsDirection(words[i + 1])) continue;
    Row row;
    row.to.assign(words.begin(), words.begin() + i);
    row.action = words[i];
    row.direction = words[i + 1];
    row.from.assign(words.begin() + i + 2, words.end());
    const auto is_log = [](absl::string_view word) {
      return word == "(log)" || word == "(log-all)";
    };
    if (is_log(row.from.back())) row.from.pop_back();
    if (row.from.empty()) return {};
    return row;
  }
  return {};
}

bool IsIpv6(const Words& words) {
  return std::any_of(words.begin(), words.end(), [](absl::string_view word) {
    // "(v6)" or "(v6))" marks rules without an address.
    if (absl::StartsWith(word, "(v6)")) return true;
    // A list of port ranges has several colons too, but also commas.
    return std::count(word.begin(), word.end(), ':') >= 2 &&
           !absl::StrContains(word, ',');
  });
}

// "9 on lo" says nothing about other hosts.
bool IsForLoopback(const Words& to) {
  return to.size() >= 2 && to.back() == "lo" && to[to.size() - 2] == "on";
}

// "22/tcp (OpenSSH)" shows where the ports come from; the name may have blanks.
void DropApplicationName(Words* words) {
  for (size_t i = 1; i < words->size(); ++i) {
    if (!absl::StartsWith((*words)[i], "(")) continue;
    if (absl::EndsWith(words->back(), ")")) words->resize(i);
    return;
  }
}

// "10.77.0.0/16/tcp": a protocol behind an address or "Anywhere".
std::string TakeProtocol(absl::string_view* text) {
  for (const absl::string_view protocol : {"tcp", "udp"}) {
    if (absl::ConsumeSuffix(text, absl::StrCat("/", protocol))) {
      return std::string(protocol);
    }
  }
  return "";
}

// Neither TCP nor UDP: "Anywhere/esp".
bool IsOtherProtocol(absl::string_view text) {
  for (const absl::string_view protocol :
       {"/esp", "/ah", "/gre", "/igmp", "/ipv6", "/vrrp"}) {
    if (absl::EndsWith(text, protocol)) return true;
  }
  return false;
}

struct Rule {
  bool allows;
  std::vector<AllowedPort> ports;
  absl::string_view line;
};

// The rule of one incoming IPv4 row. InvalidArgument as the header says; a rule
// without ports says nothing about TCP or UDP.
absl::StatusOr<Rule> ParseRule(Row row, absl::string_view line) {
  DropApplicationName(&row.to);
  if (row.to.size() != 1 || row.from.size() != 1) {
    return Malformed("cannot say what this rule allows:", line);
  }
  Rule rule{row.action == "ALLOW", {}, line};
  absl::string_view to = row.to[0];
  absl::string_view from = row.from[0];
  if (IsOtherProtocol(to) || IsOtherProtocol(from)) return rule;
  std::string source;
  std::string protocol = TakeProtocol(&from);
  if (from != "Anywhere") {
    const absl::StatusOr<std::string> parsed = ParseAllowedSource(from);
    if (!parsed.ok()) {
      return Malformed("cannot say what this rule allows:", line);
    }
    source = *parsed;
  }
  absl::string_view anywhere = to;
  const std::string to_protocol = TakeProtocol(&anywhere);
  if (anywhere == "Anywhere") {
    if (protocol.empty()) protocol = to_protocol;
    rule.ports.push_back(MakeAllowedPort(0, 65535, protocol, source));
    return rule;
  }
  absl::StatusOr<std::vector<AllowedPort>> ports =
      ParseAllowedPorts(to, ':', source);
  if (!ports.ok() || !protocol.empty()) {
    return Malformed("cannot say what this rule allows:", line);
  }
  rule.ports = *std::move(ports);
  return rule;
}

// The policy for incoming packets.
absl::StatusOr<bool> DefaultAllows(const Words& lines) {
  for (absl::string_view line : lines) {
    if (!absl::ConsumePrefix(&line, "Default: ")) continue;
    if (absl::StartsWith(line, "allow (incoming),")) return true;
    if (absl::StartsWith(line, "deny (incoming),") ||
        absl::StartsWith(line, "reject (incoming),")) {
      return false;
    }
    return Malformed("unknown default policy in", line);
  }
  return absl::InvalidArgumentError("ufw status: no \"Default: ...\" line");
}

absl::StatusOr<std::vector<Rule>> ParseRules(const Words& lines) {
  std::vector<Rule> rules;
  bool in_table = false;
  for (const absl::string_view line : lines) {
    if (absl::StartsWith(line, "--")) {
      in_table = true;
      continue;
    }
    if (!in_table || absl::StripAsciiWhitespace(line).empty()) continue;
    const std::optional<Row> row = SplitRow(line);
    if (!row.has_value()) return Malformed("unexpected row", line);
    if (row->direction != "IN" || IsIpv6(row->to) || IsIpv6(row->from)) {
      continue;
    }
    if (IsForLoopback(row->to)) continue;
    ASSIGN_OR_RETURN(Rule rule, ParseRule(*row, line));
    rules.push_back(std::move(rule));
  }
  return rules;
}

// What the earlier rules leave of an allowing one.
absl::StatusOr<std::vector<AllowedPort>> LeftOf(
    std::vector<AllowedPort> allowed, absl::Span<const Rule> earlier) {
  for (const Rule& rule : earlier) {
    if (rule.allows) continue;
    for (const AllowedPort& taken : rule.ports) {
      std::vector<AllowedPort> left;
      for (const AllowedPort& port : allowed) {
        const std::optional<std::vector<AllowedPort>> parts =
            MinusAllowedPort(port, taken);
        if (!parts.has_value()) {
          return Malformed("cannot say what is left to a later rule by",
                           rule.line);
        }
        left.insert(left.end(), parts->begin(), parts->end());
      }
      allowed = std::move(left);
      if (allowed.size() > kMaxParts) {
        return Malformed("too many parts by", rule.line);
      }
    }
  }
  return allowed;
}

}  // namespace

absl::StatusOr<bool> ParseUfwActive(absl::string_view status_output) {
  const absl::string_view first = absl::StripTrailingAsciiWhitespace(
      status_output.substr(0, status_output.find('\n')));
  if (first == "Status: active") return true;
  if (first == "Status: inactive") return false;
  return Malformed("unexpected", first);
}

absl::StatusOr<AllowedFact::Allowed> ParseUfwAllowed(
    absl::string_view status_verbose_output) {
  const Words lines = absl::StrSplit(status_verbose_output, '\n');
  ASSIGN_OR_RETURN(const bool allows, DefaultAllows(lines));
  ASSIGN_OR_RETURN(std::vector<Rule> rules, ParseRules(lines));
  if (allows) {
    rules.push_back({true, {MakeAllowedPort(0, 65535, "", "")}, "default"});
  }
  // The first rule that matches a packet decides.
  AllowedFact::Allowed allowed;
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!rules[i].allows) continue;
    ASSIGN_OR_RETURN(
        const std::vector<AllowedPort> left,
        LeftOf(rules[i].ports, absl::MakeConstSpan(rules).subspan(0, i)));
    for (const AllowedPort& port : left) *allowed.add_ports() = port;
    if (allowed.ports_size() > static_cast<int>(kMaxParts)) {
      return Malformed("too many parts by", rules[i].line);
    }
  }
  return allowed;
}

absl::StatusOr<bool> ParseUfwConf(absl::string_view text) {
  std::optional<bool> enabled;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "ENABLED=")) continue;
    absl::string_view value = line;
    for (const absl::string_view quote : {"\"", "'"}) {
      if (value.size() >= 2 && absl::StartsWith(value, quote) &&
          absl::EndsWith(value, quote)) {
        value = value.substr(1, value.size() - 2);
      }
    }
    // Its start script knows these two spellings only.
    if (value == "yes" || value == "YES") {
      enabled = true;
    } else if (absl::EqualsIgnoreCase(value, "no")) {
      enabled = false;
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "ufw.conf: ENABLED is ", QuotedText(value), ", expected yes or no"));
    }
  }
  if (!enabled.has_value()) {
    return absl::InvalidArgumentError("ufw.conf: no ENABLED line");
  }
  return *enabled;
}

}  // namespace clusterd
