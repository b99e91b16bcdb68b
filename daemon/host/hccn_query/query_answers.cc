#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
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
#include "daemon/host/hccn/hccn_tool.h"
#include "daemon/host/hccn_query/query_facts.h"

namespace clusterd {
namespace {

using AnswerLines = std::vector<absl::string_view>;

// Returns the first line to quote, or all output without lines.
absl::string_view FirstOf(const AnswerLines& lines, absl::string_view output) {
  return lines.empty() ? output : lines[0];
}

// Returns the data lines below the first, which must be `heading`; may be none.
absl::StatusOr<AnswerLines> LinesBelow(absl::string_view heading,
                                       absl::string_view output) {
  AnswerLines lines = HccnDataLines(output);
  if (lines.empty() || lines[0] != heading) {
    return UnexpectedHccnText(FirstOf(lines, output),
                              absl::StrCat("\"", heading, "\""));
  }
  lines.erase(lines.begin());
  return lines;
}

// Returns the text after "[devid N]", or "[device N]" of the vendor's
// documentation, in each data line.
absl::StatusOr<AnswerLines> LinesOfDevice(uint32_t device,
                                          absl::string_view output) {
  AnswerLines lines = HccnDataLines(output);
  for (absl::string_view& line : lines) {
    if (!absl::ConsumePrefix(&line, absl::StrCat("[devid ", device, "]")) &&
        !absl::ConsumePrefix(&line, absl::StrCat("[device ", device, "]"))) {
      return UnexpectedHccnText(line,
                                absl::StrCat("\"[devid ", device, "]...\""));
    }
  }
  return lines;
}

struct NamedValue {
  absl::string_view name;
  absl::string_view value;  // May be empty.
};

// Splits at the first colon and drops blanks around both parts. The vendor pads
// names to a column, and one of them leaves no space for a blank.
absl::StatusOr<NamedValue> ParseNamedValue(absl::string_view line) {
  // Bytes, since a value need not be UTF-8.
  static const LazyRE2 kForm = {
      "[[:space:]]*([^:]*[^:[:space:]])[[:space:]]*:[[:space:]]*(.*)",
      RE2::Latin1};
  NamedValue named;
  if (HasForm(line, *kForm, &named.name, &named.value)) return named;
  return UnexpectedHccnText(line, "\"name: value\"");
}

// Returns the values of the lines, which must have these names in this order.
absl::StatusOr<AnswerLines> ValuesOf(absl::Span<const absl::string_view> names,
                                     absl::Span<const absl::string_view> lines,
                                     absl::string_view output) {
  AnswerLines values;
  for (const absl::string_view name : names) {
    const std::string expected = absl::StrCat("\"", name, ": ...\"");
    if (values.size() == lines.size()) {
      return InvalidWords("fact-no-line-in", expected, QuotedText(output));
    }
    const absl::string_view line = lines[values.size()];
    const absl::StatusOr<NamedValue> named = ParseNamedValue(line);
    if (!named.ok() || named->name != name) {
      return UnexpectedHccnText(line, expected);
    }
    values.push_back(named->value);
  }
  if (lines.size() <= names.size()) return values;
  return UnexpectedHccnText(lines[names.size()], Worded("want-no-line"));
}

// Parses a time in asctime's form.
absl::StatusOr<absl::CivilSecond> ParseLinkTime(absl::string_view text) {
  static const LazyRE2 kForm = {
      "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([[:print:]]{20})"};
  constexpr char kFormat[] = "%b %e %H:%M:%S %Y";
  std::string day_and_time;
  absl::Time time;
  // ParseTime is lenient about blanks, zeros and seconds; the form is not.
  if (!HasForm(text, *kForm, &day_and_time) ||
      !absl::ParseTime(kFormat, day_and_time, &time, nullptr) ||
      absl::FormatTime(kFormat, time, absl::UTCTimeZone()) != day_and_time) {
    return UnexpectedHccnText(text, Worded("want-time"));
  }
  return absl::ToCivilSecond(time, absl::UTCTimeZone());
}

absl::StatusOr<uint64_t> ParseCount(absl::string_view text) {
  static const LazyRE2 kForm = {R"((0|[1-9]\d*))"};
  uint64_t count = 0;
  if (HasForm(text, *kForm, &count)) return count;
  return UnexpectedHccnText(text, Worded("want-changes"));
}

absl::StatusOr<LinkHistoryFact::Change> ParseChange(absl::string_view line,
                                                    absl::CivilSecond now) {
  static const LazyRE2 kForm = {
      "[[:space:]]*([[:print:]]{24})[[:space:]]*LINK (?:(UP)|DOWN)"};
  absl::string_view text;
  absl::string_view up;
  if (!HasForm(line, *kForm, &text, &up)) {
    return UnexpectedHccnText(line, Worded("want-link-change"));
  }
  ASSIGN_OR_RETURN(const absl::CivilSecond time, ParseLinkTime(text));
  LinkHistoryFact::Change change;
  change.set_seconds_ago(std::max<int64_t>(now - time, 0));
  change.set_up(!up.empty());
  return change;
}

// An empty destination means "default", an empty gateway "*".
absl::StatusOr<HccnRoute> ParseRoute(absl::string_view line) {
  static const LazyRE2 kRow = {
      R"( *(?:default|([\d.]+)) +(?:\*|([\d.]+)) +([\d.]+) +[[:graph:]]+ +)"
      R"((0|[1-9]\d*) +(0|[1-9]\d*) +(0|[1-9]\d*) +[[:graph:]]+)"};
  absl::string_view destination;
  std::optional<absl::string_view> gateway;
  absl::string_view mask;
  uint32_t metric = 0;
  uint32_t references = 0;
  uint32_t uses = 0;
  const bool has_form = HasForm(line, *kRow, &destination, &gateway, &mask,
                                &metric, &references, &uses);
  const bool is_default = destination.empty();
  const absl::StatusOr<Ipv4Interface> network =
      Ipv4Interface::Parse(is_default ? "0.0.0.0" : destination, mask);
  const absl::StatusOr<Ipv4Address> next =
      Ipv4Address::Parse(gateway.value_or("0.0.0.0"));
  if (!has_form || !next.ok() || !network.ok() ||
      network->subnet().network() != network->address() ||
      (is_default && network->prefix_length() != 0)) {
    return UnexpectedHccnText(line, Worded("want-route"));
  }
  HccnRoute route = {network->subnet(), {}};
  if (gateway.has_value()) route.gateway = *next;
  return route;
}

// Units of the rows whose name has this prefix.
constexpr std::pair<absl::string_view, absl::string_view> kUnits[] = {
    {"temperature", "C"},
    {"Temp ", "C"},
    {"Vcc", "mV"},
    {"Tx Power", "mW"},
    {"Rx Power", "mW"},
    {"TxPower ", "mW"},
    {"RxPower ", "mW"},
    {"Tx Bias", "mA"},
    {"Host SNR ", "dB"},
    {"Media SNR ", "dB"},
    {"xsfp wave length", "nm"},
};

constexpr absl::string_view kNoNumbers[] = {"NA", "not supported",
                                            "get failed"};

absl::string_view UnitOf(absl::string_view name) {
  for (const auto& [prefix, unit] : kUnits) {
    if (absl::StartsWith(name, prefix)) return unit;
  }
  return "";
}

absl::StatusOr<HccnOpticalRow> ParseOpticalRow(const NamedValue& named,
                                               absl::string_view unit) {
  // printf's forms; both fit a double, hexadecimal or not.
  static const LazyRE2 kFlag = {"(0x[[:xdigit:]]{1,8})"};
  static const LazyRE2 kNumber = {
      R"((-?(?:0|[1-9]\d{0,8})(?:\.\d{1,4})?) ([a-zA-Z]+))"};
  HccnOpticalRow row = {PrintableText(named.name, kMaxHccnTextBytes),
                        std::nullopt, std::string(unit)};
  absl::string_view said;
  const bool has_form =
      absl::c_linear_search(kNoNumbers, named.value) ||
      (unit.empty() ? HasForm(named.value, *kFlag, &row.number)
                    : HasForm(named.value, *kNumber, &row.number, &said) &&
                          said == unit);
  if (has_form) return row;
  return UnexpectedHccnText(absl::StrCat(named.name, ": ", named.value),
                            unit.empty() ? Worded("want-optical-flag")
                                         : Worded("want-optical-number", unit));
}

// Returns "0,0,0,0,1,0,0,0" from a table of one row with a digit for each
// priority, which must match `form`.
absl::StatusOr<std::string> DigitOfEachPriority(absl::string_view heading,
                                                const RE2& form,
                                                const FindingValue& expected,
                                                absl::string_view output) {
  static const LazyRE2 kColumns = {" *priority +0 +1 +2 +3 +4 +5 +6 +7"};
  ASSIGN_OR_RETURN(const AnswerLines lines, LinesBelow(heading, output));
  if (lines.size() != 2) {
    return UnexpectedHccnText(output, Worded("want-two-lines", heading));
  }
  if (!HasForm(lines[0], *kColumns)) {
    return UnexpectedHccnText(lines[0], "\"priority 0 1 2 3 4 5 6 7\"");
  }
  absl::string_view row;
  if (!HasForm(lines[1], form, &row)) {
    return UnexpectedHccnText(lines[1], expected);
  }
  return absl::StrJoin(absl::StrSplit(row, ' ', absl::SkipEmpty()), ",");
}

}  // namespace

absl::StatusOr<std::optional<uint32_t>> ParseHccnSpeed(
    absl::string_view output) {
  static const LazyRE2 kForm = {R"(Unknown!|(0|[1-9]\d*) Mb/s)"};
  ASSIGN_OR_RETURN(const AnswerLines values,
                   ValuesOf({"Speed"}, HccnDataLines(output), output));
  std::optional<uint32_t> mbps;
  if (HasForm(values[0], *kForm, &mbps)) return mbps;
  return UnexpectedHccnText(values[0], Worded("want-speed"));
}

absl::StatusOr<VnicFact::Vnic> ParseHccnVnic(absl::string_view output) {
  ASSIGN_OR_RETURN(const AnswerLines values,
                   ValuesOf({"vnic link status", "vnic ipaddr", "vnic netmask"},
                            HccnDataLines(output), output));
  ASSIGN_OR_RETURN(
      const bool is_up,
      ParseHccnWord<bool>(values[0], {{"UP", true}, {"DOWN", false}},
                          Worded("want-up-down")));
  const absl::StatusOr<Ipv4Interface> address =
      Ipv4Interface::Parse(values[1], values[2]);
  if (!address.ok()) {
    return UnexpectedHccnText(absl::StrCat(values[1], " ", values[2]),
                              Worded("want-ipv4-netmask"));
  }
  VnicFact::Vnic vnic;
  vnic.set_up(is_up);
  vnic.mutable_setting()->set_address(address->address().ToString());
  vnic.mutable_setting()->set_netmask(address->subnet().netmask().ToString());
  return vnic;
}

absl::StatusOr<LinkHistoryFact::History> ParseHccnLinkStat(
    absl::string_view output, uint32_t device) {
  ASSIGN_OR_RETURN(const AnswerLines lines, LinesOfDevice(device, output));
  AnswerLines names = {"current time", "link up count", "link down count",
                       "link change records"};
  const bool has_downs =
      lines.size() > 2 && absl::StartsWith(lines[2], names[2]);
  if (!has_downs) names.erase(names.begin() + 2);
  const auto all = absl::MakeConstSpan(lines);
  ASSIGN_OR_RETURN(const AnswerLines values,
                   ValuesOf(names, all.subspan(0, names.size()), output));
  ASSIGN_OR_RETURN(const absl::CivilSecond now, ParseLinkTime(values[0]));
  ASSIGN_OR_RETURN(const uint64_t ups, ParseCount(values[1]));
  LinkHistoryFact::History history;
  history.set_ups(ups);
  if (has_downs) {
    ASSIGN_OR_RETURN(const uint64_t downs, ParseCount(values[2]));
    history.set_downs(downs);
  }
  const auto changes = all.subspan(names.size());
  if (values.back() != (changes.empty() ? "NA" : "")) {
    return UnexpectedHccnText(changes.empty() ? values.back() : changes[0],
                              Worded("want-link-changes"));
  }
  for (const absl::string_view line : changes) {
    ASSIGN_OR_RETURN(*history.add_changes(), ParseChange(line, now));
  }
  return history;
}

absl::StatusOr<std::vector<HccnCounter>> ParseHccnPacketStatistics(
    absl::string_view output) {
  static const LazyRE2 kForm = {
      R"([[:space:]]*([a-z\d_]+)[[:space:]]*:[[:space:]]*(0|[1-9]\d*))"};
  ASSIGN_OR_RETURN(const AnswerLines lines,
                   LinesBelow("packet statistics:", output));
  if (lines.empty()) return UnexpectedHccnText(output, Worded("want-counters"));
  std::vector<HccnCounter> counters;
  std::set<std::string> names;
  for (const absl::string_view line : lines) {
    HccnCounter& counter = counters.emplace_back();
    if (!HasForm(line, *kForm, &counter.name, &counter.value)) {
      return UnexpectedHccnText(line, Worded("want-counter"));
    }
    if (!names.insert(counter.name).second) {
      return UnexpectedHccnText(line, Worded("want-names-once"));
    }
  }
  return counters;
}

absl::StatusOr<std::vector<HccnRoute>> ParseHccnRoutes(
    absl::string_view output) {
  static const LazyRE2 kColumns = {
      " *Destination +Gateway +Genmask +Flags +Metric +Ref +Use +Iface"};
  ASSIGN_OR_RETURN(const AnswerLines lines,
                   LinesBelow("Routing table:", output));
  if (lines.empty() || !HasForm(lines[0], *kColumns)) {
    return UnexpectedHccnText(FirstOf(lines, output), Worded("want-columns"));
  }
  std::vector<HccnRoute> routes;
  for (const absl::string_view line : absl::MakeConstSpan(lines).subspan(1)) {
    ASSIGN_OR_RETURN(routes.emplace_back(), ParseRoute(line));
  }
  return routes;
}

absl::StatusOr<std::map<uint32_t, uint32_t>> ParseHccnDscpToTc(
    absl::string_view output) {
  static const LazyRE2 kColumns = {" *dscp +tc"};
  static const LazyRE2 kRow = {R"( *(0|[1-9]\d*) +(0|[1-9]\d*))"};
  constexpr uint32_t kMaxDscp = 63;
  const AnswerLines lines = HccnDataLines(output);
  if (lines.size() < 2 || !HasForm(lines[0], *kColumns)) {
    return UnexpectedHccnText(output, Worded("want-dscp-table"));
  }
  std::map<uint32_t, uint32_t> classes;
  for (const absl::string_view line : absl::MakeConstSpan(lines).subspan(1)) {
    uint32_t dscp = 0;
    uint32_t tc = 0;
    if (!HasForm(line, *kRow, &dscp, &tc) || dscp > kMaxDscp) {
      return UnexpectedHccnText(line, Worded("want-dscp"));
    }
    if (!classes.emplace(dscp, tc).second) {
      return UnexpectedHccnText(line, Worded("want-dscp-once"));
    }
  }
  return classes;
}

absl::StatusOr<std::string> ParseHccnPfc(absl::string_view output) {
  static const LazyRE2 kRow = {" *enabled((?: +[01]){8})"};
  return DigitOfEachPriority("PFC configuration:", *kRow,
                             Worded("want-pfc-row"), output);
}

absl::StatusOr<std::string> ParseHccnPriorityToTc(absl::string_view output) {
  static const LazyRE2 kRow = {" *TC((?: +[0-3]){8})"};
  return DigitOfEachPriority("Priority mapping:", *kRow, Worded("want-tc-row"),
                             output);
}

absl::StatusOr<std::string> ParseHccnRocePort(absl::string_view output) {
  static const LazyRE2 kPort = {"udp_port:([1-9]\\d{0,4})"};
  static const LazyRE2 kChoice = {R"(status:(auto|multi_qp|code\(nslb_dp\)))"};
  const AnswerLines lines = HccnDataLines(output);
  const absl::string_view first = FirstOf(lines, output);
  if (first == "Unknown udp port") return "auto";
  if (lines.size() < 2 || !absl::StartsWith(first, "udp_port:")) {
    return UnexpectedHccnText(first, Worded("want-udp-port"));
  }
  std::string choice;
  if (HasForm(lines[1], *kChoice, &choice)) return choice;
  uint16_t port = 0;
  if (lines[1] == "status:custom" && HasForm(first, *kPort, &port)) {
    return absl::StrCat(port);
  }
  return UnexpectedHccnText(lines[1] == "status:custom" ? first : lines[1],
                            Worded("want-udp-choice"));
}

absl::StatusOr<HccnOptical> ParseHccnOptical(absl::string_view output) {
  static const LazyRE2 kPresent = {
      "[[:space:]]*present[[:space:]]*:[[:space:]]*(not )?present"};
  ASSIGN_OR_RETURN(const AnswerLines lines,
                   LinesBelow("optical info:", output));
  absl::string_view absent;
  if (lines.empty() || !HasForm(lines[0], *kPresent, &absent)) {
    return UnexpectedHccnText(FirstOf(lines, output),
                              Worded("want-optical-present"));
  }
  HccnOptical optical;
  optical.present = absent.empty();
  std::set<absl::string_view> names = {"present"};
  for (const absl::string_view line : absl::MakeConstSpan(lines).subspan(1)) {
    ASSIGN_OR_RETURN(const NamedValue named, ParseNamedValue(line));
    if (!names.insert(named.name).second) {
      return UnexpectedHccnText(line, Worded("want-names-once"));
    }
    const bool is_flag = absl::EndsWith(named.name, " Flag");
    const absl::string_view unit = is_flag ? "" : UnitOf(named.name);
    if (!is_flag && unit.empty()) continue;
    ASSIGN_OR_RETURN(optical.rows.emplace_back(), ParseOpticalRow(named, unit));
  }
  return optical;
}

}  // namespace clusterd
