#include "daemon/host/firewall/ufw_output.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/files/info_files.h"
#include "daemon/host/firewall/allowed_port.h"

namespace clusterd {
namespace {

// A table with more is nobody's work by hand.
constexpr size_t kMaxParts = 4096;
constexpr absl::string_view kActions[] = {"ALLOW", "DENY", "REJECT", "LIMIT"};
constexpr absl::string_view kDirections[] = {"IN", "OUT", "FWD"};
// Neither TCP nor UDP: "Anywhere/esp".
constexpr absl::string_view kOtherProtocols[] = {"/esp",  "/ah",   "/gre",
                                                 "/igmp", "/ipv6", "/vrrp"};

using Words = std::vector<absl::string_view>;

// One row of the table, still in words.
struct Row {
  Words to;
  absl::string_view action;
  absl::string_view direction;
  Words from;
};

absl::Status Malformed(absl::string_view what, absl::string_view line) {
  return absl::InvalidArgumentError(
      absl::StrCat("ufw status: ", what, " ", QuotedText(line)));
}

// Splits at the action and drops the comment, "(log)" and the like.
std::optional<Row> SplitRow(absl::string_view line) {
  const Words words =
      absl::StrSplit(line.substr(0, line.find(" # ")), ' ', absl::SkipEmpty());
  for (size_t i = 1; i + 2 < words.size(); ++i) {
    if (!absl::c_linear_search(kActions, words[i]) ||
        !absl::c_linear_search(kDirections, words[i + 1])) {
      continue;
    }
    Row row;
    row.to.assign(words.begin(), words.begin() + i);
    row.action = words[i];
    row.direction = words[i + 1];
    row.from.assign(words.begin() + i + 2, words.end());
    if (row.from.back() == "(log)" || row.from.back() == "(log-all)") {
      row.from.pop_back();
    }
    if (row.from.empty()) return {};
    return row;
  }
  return {};
}

bool IsIpv6(const Words& words) {
  return absl::c_any_of(words, [](absl::string_view word) {
    // "(v6)" or "(v6))" marks rules without an address.
    if (absl::StartsWith(word, "(v6)")) return true;
    // A list of port ranges has several colons too, but also commas.
    return absl::c_count(word, ':') >= 2 && !absl::StrContains(word, ',');
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

bool IsOtherProtocol(absl::string_view text) {
  return absl::c_any_of(kOtherProtocols, [text](absl::string_view protocol) {
    return absl::EndsWith(text, protocol);
  });
}

struct Rule {
  bool allows;
  std::vector<AllowedPort> ports;
  absl::string_view line;
};

// The rule of one incoming IPv4 row. InvalidArgument as the header says; a rule
// without ports says nothing about TCP or UDP.
absl::StatusOr<Rule> ParseRule(Row row, absl::string_view line) {
  const absl::Status cannot_say =
      Malformed("cannot say what this rule allows:", line);
  DropApplicationName(&row.to);
  if (row.to.size() != 1 || row.from.size() != 1) return cannot_say;
  Rule rule{row.action == "ALLOW", {}, line};
  const absl::string_view to = row.to[0];
  absl::string_view from = row.from[0];
  if (IsOtherProtocol(to) || IsOtherProtocol(from)) return rule;
  const std::string protocol = TakeProtocol(&from);
  absl::StatusOr<std::string> source = std::string();
  if (from != "Anywhere") source = ParseAllowedSource(from);
  if (!source.ok()) return cannot_say;
  absl::string_view anywhere = to;
  const std::string to_protocol = TakeProtocol(&anywhere);
  if (anywhere == "Anywhere") {
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

// What is left of `ports` after what the earlier rules take.
absl::StatusOr<std::vector<AllowedPort>> LeftOf(
    std::vector<AllowedPort> ports, const std::vector<Rule>& earlier) {
  for (const Rule& rule : earlier) {
    for (const AllowedPort& taken : rule.ports) {
      std::vector<AllowedPort> left;
      for (const AllowedPort& port : ports) {
        const auto parts = MinusAllowedPort(port, taken);
        if (!parts.has_value()) {
          return Malformed("cannot say what is left to a later rule by",
                           rule.line);
        }
        left.insert(left.end(), parts->begin(), parts->end());
      }
      ports = std::move(left);
      if (ports.size() > kMaxParts) {
        return Malformed("too many parts by", rule.line);
      }
    }
  }
  return ports;
}

// Takes the rules in their order: the first that matches a packet decides.
class RuleReader {
 public:
  absl::Status ReadRow(absl::string_view line) {
    const std::optional<Row> row = SplitRow(line);
    if (!row.has_value()) return Malformed("unexpected row", line);
    if (row->direction != "IN" || IsIpv6(row->to) || IsIpv6(row->from) ||
        IsForLoopback(row->to)) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Rule rule, ParseRule(*row, line));
    return Add(std::move(rule));
  }

  absl::Status Add(Rule rule) {
    if (!rule.allows) {
      taking_.push_back(std::move(rule));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const auto left, LeftOf(rule.ports, taking_));
    allowed_.mutable_ports()->Add(left.begin(), left.end());
    if (allowed_.ports_size() > static_cast<int>(kMaxParts)) {
      return Malformed("too many parts by", rule.line);
    }
    return absl::OkStatus();
  }

  const AllowedFact::Allowed& allowed() const { return allowed_; }

 private:
  std::vector<Rule> taking_;
  AllowedFact::Allowed allowed_;
};

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
  RuleReader reader;
  bool in_table = false;
  for (const absl::string_view line : lines) {
    if (absl::StartsWith(line, "--")) {
      in_table = true;
    } else if (in_table && !absl::StripAsciiWhitespace(line).empty()) {
      RETURN_IF_ERROR(reader.ReadRow(line));
    }
  }
  if (allows) {
    RETURN_IF_ERROR(reader.Add({true, {AllAllowedPorts("", "")}, "default"}));
  }
  return reader.allowed();
}

absl::StatusOr<bool> ParseUfwConf(absl::string_view text) {
  std::optional<bool> enabled;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "ENABLED=")) continue;
    const absl::string_view value = WithoutQuotes(line);
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
