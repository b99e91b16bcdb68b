#include "daemon/host/hccn_query/hccn_port.h"

#include <limits>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "config/values/status_macros.h"
#include "daemon/host/hccn/hccn_output.h"

namespace clusterd {
namespace {

constexpr absl::string_view kWeekdays[] = {"Mon", "Tue", "Wed", "Thu",
                                           "Fri", "Sat", "Sun"};
constexpr size_t kTimeBytes = sizeof("Wed Aug  2 03:09:26 2022") - 1;

// asctime's form.
absl::StatusOr<absl::CivilSecond> ParseLinkTime(absl::string_view text) {
  constexpr char kFormat[] = "%b %e %H:%M:%S %Y";
  const std::string day_and_time(text.substr(std::min<size_t>(4, text.size())));
  absl::Time time;
  std::string unused;
  // ParseTime is lenient about blanks, zeros and seconds; the tool is not.
  if (text.size() != kTimeBytes || text[3] != ' ' ||
      !absl::c_linear_search(kWeekdays, text.substr(0, 3)) ||
      !absl::ParseTime(kFormat, day_and_time, &time, &unused) ||
      absl::FormatTime(kFormat, time, absl::UTCTimeZone()) != day_and_time) {
    return UnexpectedHccnText(text, "a time like \"Wed Aug  2 03:09:26 2022\"");
  }
  return absl::ToCivilSecond(time, absl::UTCTimeZone());
}

absl::StatusOr<HccnLinkChange> ParseChange(absl::string_view line) {
  const absl::string_view text = absl::StripAsciiWhitespace(line);
  const absl::string_view link = absl::StripLeadingAsciiWhitespace(
      text.substr(std::min(kTimeBytes, text.size())));
  ASSIGN_OR_RETURN(const absl::CivilSecond time,
                   ParseLinkTime(text.substr(0, kTimeBytes)));
  if (link == "LINK UP") return HccnLinkChange{time, true};
  if (link == "LINK DOWN") return HccnLinkChange{time, false};
  return UnexpectedHccnText(line, "LINK UP or LINK DOWN after the time");
}

// What stands below `heading`, the value of the line "link change records".
absl::StatusOr<std::vector<HccnLinkChange>> ParseChanges(
    absl::string_view heading, absl::Span<const absl::string_view> lines) {
  std::vector<HccnLinkChange> changes;
  if (heading == "NA" && lines.empty()) return changes;
  if (!heading.empty() || lines.empty()) {
    return UnexpectedHccnText(
        lines.empty() ? heading : lines[0],
        "NA for no link changes, or a line for each of them");
  }
  for (const absl::string_view line : lines) {
    ASSIGN_OR_RETURN(const HccnLinkChange change, ParseChange(line));
    changes.push_back(change);
  }
  return changes;
}

}  // namespace

absl::StatusOr<std::optional<uint32_t>> ParseHccnSpeed(
    absl::string_view output) {
  ASSIGN_OR_RETURN(const auto values, ParseHccnValuesOf({"Speed"}, output));
  absl::string_view number = values.front();
  if (number == "Unknown!") return std::optional<uint32_t>();
  const bool has_unit = absl::ConsumeSuffix(&number, " Mb/s");
  const absl::StatusOr<uint64_t> mbps =
      ParseHccnNumber(number, std::numeric_limits<uint32_t>::max());
  if (!has_unit || !mbps.ok()) {
    return UnexpectedHccnText(values.front(), "a speed like \"200000 Mb/s\"");
  }
  return std::optional<uint32_t>(static_cast<uint32_t>(*mbps));
}

absl::StatusOr<HccnVnic> ParseHccnVnic(absl::string_view output) {
  ASSIGN_OR_RETURN(
      const auto values,
      ParseHccnValuesOf({"vnic link status", "vnic ipaddr", "vnic netmask"},
                        output));
  ASSIGN_OR_RETURN(
      const bool link_up,
      ParseHccnWord<bool>(values[0], {{"UP", true}, {"DOWN", false}},
                          "UP or DOWN"));
  const absl::StatusOr<Ipv4Interface> address =
      Ipv4Interface::Parse(values[1], values[2]);
  if (!address.ok()) {
    return UnexpectedHccnText(absl::StrCat(values[1], " ", values[2]),
                              "an IPv4 address and netmask");
  }
  return HccnVnic{link_up, *address};
}

absl::StatusOr<HccnLinkStat> ParseHccnLinkStat(absl::string_view output,
                                               uint32_t device) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  ASSIGN_OR_RETURN(const auto lines, HccnLinesOfDevice(device, output));
  const bool has_downs =
      lines.size() > 2 && absl::StartsWith(lines[2], "link down count");
  std::vector<absl::string_view> names = {"current time", "link up count"};
  if (has_downs) names.push_back("link down count");
  names.push_back("link change records");
  const absl::Span<const absl::string_view> all(lines);
  ASSIGN_OR_RETURN(
      const auto values,
      ParseHccnValuesOf(names, all.subspan(0, names.size()), output));
  HccnLinkStat stat;
  ASSIGN_OR_RETURN(stat.current_time, ParseLinkTime(values[0]));
  ASSIGN_OR_RETURN(stat.ups, ParseHccnNumber(values[1], kMax));
  if (has_downs) {
    ASSIGN_OR_RETURN(stat.downs, ParseHccnNumber(values[2], kMax));
  }
  ASSIGN_OR_RETURN(stat.changes,
                   ParseChanges(values.back(), all.subspan(names.size())));
  return stat;
}

}  // namespace clusterd
