#include "daemon/host/hccn_query/hccn_device_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "daemon/host/hccn_output.h"
#include "daemon/host/hccn_query/hccn_named_values.h"

namespace clusterd {
namespace {

std::vector<std::string> Texts(const std::vector<absl::string_view>& lines) {
  std::vector<std::string> texts;
  for (const absl::string_view line : lines) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (!text.empty()) texts.push_back(HccnText(text));
  }
  return texts;
}

absl::StatusOr<std::vector<std::string>> ParseBelow(absl::string_view heading,
                                                    absl::string_view output) {
  const absl::StatusOr<std::vector<absl::string_view>> lines =
      HccnLinesBelow(heading, output);
  if (!lines.ok()) return lines.status();
  return Texts(*lines);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseHccnArpTable(
    absl::string_view output) {
  return ParseBelow("arp table:", output);
}

absl::StatusOr<std::vector<std::string>> ParseHccnIpRouteTable(
    absl::string_view output) {
  return ParseBelow("ip route table:", output);
}

absl::StatusOr<std::vector<std::string>> ParseHccnIpRuleTable(
    absl::string_view output) {
  return ParseBelow("ip rule table:", output);
}

absl::StatusOr<std::vector<std::string>> ParseHccnPci(
    absl::string_view output) {
  return ParseBelow("pci:", output);
}

absl::StatusOr<std::vector<std::string>> ParseHccnNetdevStatus(
    absl::string_view output) {
  constexpr absl::string_view kHeading = "Netdev status:";
  std::vector<absl::string_view> lines = HccnDataLines(output);
  const absl::string_view first = lines.empty() ? output : lines.front();
  if (lines.empty() || !absl::ConsumePrefix(&lines.front(), kHeading)) {
    return UnexpectedHccnText(first, "\"Netdev status:...\"");
  }
  return Texts(lines);
}

}  // namespace clusterd
