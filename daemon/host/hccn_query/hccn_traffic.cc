#include "daemon/host/hccn_query/hccn_traffic.h"

#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "config/values/status_macros.h"
#include "daemon/host/hccn/hccn_output.h"

namespace clusterd {
namespace {

constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();
constexpr absl::string_view kRouteColumns =
    "Destination Gateway Genmask Flags Metric Ref Use Iface";
constexpr size_t kRouteWords = 8;

bool IsCounterName(absl::string_view name) {
  return absl::c_all_of(name, [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_';
  });
}

absl::StatusOr<std::vector<HccnCounter>> ParseCounters(
    const std::vector<absl::string_view>& lines, absl::string_view output) {
  if (lines.empty()) return UnexpectedHccnText(output, "counters");
  ASSIGN_OR_RETURN(const auto values, ParseHccnNamedValues(lines));
  std::vector<HccnCounter> counters;
  for (const HccnNamedValue& named : values) {
    const absl::StatusOr<uint64_t> value =
        ParseHccnNumber(named.value, std::numeric_limits<uint64_t>::max());
    if (!IsCounterName(named.name) || !value.ok()) {
      return UnexpectedHccnText(absl::StrCat(named.name, ":", named.value),
                                "a counter like \"qp_active: 1\"");
    }
    counters.push_back({std::string(named.name), *value});
  }
  return counters;
}

// Letters, digits and what else the names of interfaces hold.
bool IsWord(absl::string_view text) {
  return absl::c_all_of(text,
                        [](unsigned char c) { return absl::ascii_isgraph(c); });
}

// Nothing: it is no subnet.
std::optional<Ipv4Subnet> ParseDestination(absl::string_view destination,
                                           absl::string_view genmask) {
  const bool is_default = destination == "default";
  const absl::StatusOr<Ipv4Interface> parsed =
      Ipv4Interface::Parse(is_default ? "0.0.0.0" : destination, genmask);
  if (!parsed.ok() || parsed->subnet().network() != parsed->address() ||
      (is_default && parsed->prefix_length() != 0)) {
    return std::nullopt;
  }
  return parsed->subnet();
}

absl::StatusOr<HccnRoute> ParseRoute(absl::string_view line) {
  const std::vector<absl::string_view> words = HccnWords(line);
  if (words.size() != kRouteWords || !IsWord(words[3]) || !IsWord(words[7])) {
    return UnexpectedHccnText(line, "a route of eight columns");
  }
  const std::optional<Ipv4Subnet> destination =
      ParseDestination(words[0], words[2]);
  if (!destination.has_value()) {
    return UnexpectedHccnText(line, "a destination with its mask");
  }
  std::optional<Ipv4Address> gateway;
  if (words[1] != "*") {
    const absl::StatusOr<Ipv4Address> parsed = Ipv4Address::Parse(words[1]);
    if (!parsed.ok()) {
      return UnexpectedHccnText(line, "an IPv4 address or \"*\" as gateway");
    }
    gateway = *parsed;
  }
  const absl::StatusOr<uint64_t> metric = ParseHccnNumber(words[4], kMax32);
  if (!metric.ok() || !ParseHccnNumber(words[5], kMax32).ok() ||
      !ParseHccnNumber(words[6], kMax32).ok()) {
    return UnexpectedHccnText(line, "numbers for metric, references and uses");
  }
  return HccnRoute{*destination, gateway, std::string(words[3]),
                   static_cast<uint32_t>(*metric), std::string(words[7])};
}

}  // namespace

absl::StatusOr<std::vector<HccnCounter>> ParseHccnPacketStatistics(
    absl::string_view output) {
  ASSIGN_OR_RETURN(const auto lines,
                   HccnLinesBelow("packet statistics:", output));
  return ParseCounters(lines, output);
}

absl::StatusOr<std::vector<HccnCounter>> ParseHccnHardwareStatistics(
    absl::string_view output, uint32_t device) {
  ASSIGN_OR_RETURN(const auto lines, HccnLinesOfDevice(device, output));
  return ParseCounters(lines, output);
}

absl::StatusOr<std::vector<HccnRoute>> ParseHccnRoutes(
    absl::string_view output) {
  ASSIGN_OR_RETURN(const auto lines, HccnLinesBelow("Routing table:", output));
  if (lines.empty() || HccnWords(lines[0]) != HccnWords(kRouteColumns)) {
    return UnexpectedHccnText(lines.empty() ? output : lines[0],
                              "the names of the columns, from Destination on");
  }
  std::vector<HccnRoute> routes;
  for (size_t i = 1; i < lines.size(); ++i) {
    ASSIGN_OR_RETURN(HccnRoute route, ParseRoute(lines[i]));
    routes.push_back(std::move(route));
  }
  return routes;
}

absl::StatusOr<std::map<uint32_t, uint32_t>> ParseHccnDscpToTc(
    absl::string_view output) {
  constexpr uint64_t kMaxDscp = 63;
  const std::vector<absl::string_view> lines = HccnDataLines(output);
  if (lines.size() < 2 || HccnWords(lines[0]) != HccnWords("dscp tc")) {
    return UnexpectedHccnText(output, "\"dscp tc\" and a line for each DSCP");
  }
  std::map<uint32_t, uint32_t> classes;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<absl::string_view> words = HccnWords(lines[i]);
    if (words.size() != 2) {
      return UnexpectedHccnText(lines[i], "a DSCP and its traffic class");
    }
    ASSIGN_OR_RETURN(const uint64_t dscp, ParseHccnNumber(words[0], kMaxDscp));
    ASSIGN_OR_RETURN(const uint64_t tc, ParseHccnNumber(words[1], kMax32));
    if (!classes.emplace(dscp, tc).second) {
      return UnexpectedHccnText(lines[i], "each DSCP once");
    }
  }
  return classes;
}

absl::StatusOr<std::array<bool, kHccnPriorities>> ParseHccnPfc(
    absl::string_view output) {
  ASSIGN_OR_RETURN(const auto lines,
                   HccnLinesBelow("PFC configuration:", output));
  if (lines.size() != 2) {
    return UnexpectedHccnText(output, "two lines below \"PFC configuration:\"");
  }
  if (HccnWords(lines[0]) != HccnWords("priority 0 1 2 3 4 5 6 7")) {
    return UnexpectedHccnText(lines[0], "\"priority 0 1 2 3 4 5 6 7\"");
  }
  const std::vector<absl::string_view> enabled = HccnWords(lines[1]);
  if (enabled.size() != kHccnPriorities + 1 || enabled[0] != "enabled") {
    return UnexpectedHccnText(lines[1], "\"enabled\" and eight values");
  }
  std::array<bool, kHccnPriorities> pfc{};
  for (size_t i = 0; i < kHccnPriorities; ++i) {
    const absl::string_view value = enabled[i + 1];
    if (value != "0" && value != "1") {
      return UnexpectedHccnText(lines[1], "0 or 1 for each priority");
    }
    pfc[i] = value == "1";
  }
  return pfc;
}

}  // namespace clusterd
