#include "daemon/host/hccn_query/hccn_route.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "config/values/status_macros.h"
#include "daemon/host/hccn/hccn_output.h"

namespace clusterd {
namespace {

constexpr absl::string_view kColumns[] = {"Destination", "Gateway", "Genmask",
                                          "Flags",       "Metric",  "Ref",
                                          "Use",         "Iface"};
constexpr size_t kColumnCount = sizeof(kColumns) / sizeof(kColumns[0]);

// Letters, digits and what else the names of interfaces hold.
bool IsWord(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c));
  });
}

// Nothing: it is no subnet.
std::optional<Ipv4Subnet> ParseDestination(absl::string_view destination,
                                           absl::string_view genmask) {
  const absl::string_view address =
      destination == "default" ? "0.0.0.0" : destination;
  const absl::StatusOr<Ipv4Interface> parsed =
      Ipv4Interface::Parse(address, genmask);
  if (!parsed.ok() || parsed->subnet().network() != parsed->address() ||
      (destination == "default" && parsed->prefix_length() != 0)) {
    return std::nullopt;
  }
  return parsed->subnet();
}

absl::StatusOr<HccnRoute> ParseRoute(absl::string_view line) {
  constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
  const std::vector<absl::string_view> words = HccnWords(line);
  if (words.size() != kColumnCount || !IsWord(words[3]) || !IsWord(words[7])) {
    return UnexpectedHccnText(line, "a route of eight columns");
  }
  HccnRoute route;
  const std::optional<Ipv4Subnet> destination =
      ParseDestination(words[0], words[2]);
  if (!destination.has_value()) {
    return UnexpectedHccnText(line, "a destination with its mask");
  }
  route.destination = *destination;
  if (words[1] != "*") {
    const absl::StatusOr<Ipv4Address> gateway = Ipv4Address::Parse(words[1]);
    if (!gateway.ok()) {
      return UnexpectedHccnText(line, "an IPv4 address or \"*\" as gateway");
    }
    route.gateway = *gateway;
  }
  const absl::StatusOr<uint64_t> metric = ParseHccnNumber(words[4], kMax);
  if (!metric.ok() || !ParseHccnNumber(words[5], kMax).ok() ||
      !ParseHccnNumber(words[6], kMax).ok()) {
    return UnexpectedHccnText(line, "numbers for metric, references and uses");
  }
  route.flags = std::string(words[3]);
  route.metric = static_cast<uint32_t>(*metric);
  route.interface = std::string(words[7]);
  return route;
}

}  // namespace

absl::StatusOr<std::vector<HccnRoute>> ParseHccnRoutes(
    absl::string_view output) {
  ASSIGN_OR_RETURN(const std::vector<absl::string_view> lines,
                   HccnLinesBelow("Routing table:", output));
  const std::vector<absl::string_view> columns(std::begin(kColumns),
                                               std::end(kColumns));
  if (lines.empty() || HccnWords(lines.front()) != columns) {
    return UnexpectedHccnText(lines.empty() ? output : lines.front(),
                              "the names of the columns, from Destination on");
  }
  std::vector<HccnRoute> routes;
  for (size_t i = 1; i < lines.size(); ++i) {
    ASSIGN_OR_RETURN(HccnRoute route, ParseRoute(lines[i]));
    routes.push_back(std::move(route));
  }
  return routes;
}

}  // namespace clusterd
