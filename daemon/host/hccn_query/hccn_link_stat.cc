#include "daemon/host/hccn_query/hccn_link_stat.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
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
  const auto malformed = [text] {
    return UnexpectedHccnText(text, "a time like \"Wed Aug  2 03:09:26 2022\"");
  };
  if (text.size() != kTimeBytes || text[3] != ' ' ||
      std::find(std::begin(kWeekdays), std::end(kWeekdays),
                text.substr(0, 3)) == std::end(kWeekdays)) {
    return malformed();
  }
  const std::string day_and_time(text.substr(4));
  absl::Time time;
  std::string unused;
  // ParseTime is lenient about blanks, zeros and seconds; the tool is not.
  if (!absl::ParseTime(kFormat, day_and_time, &time, &unused) ||
      absl::FormatTime(kFormat, time, absl::UTCTimeZone()) != day_and_time) {
    return malformed();
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

absl::Status ParseChanges(absl::string_view heading,
                          const std::vector<absl::string_view>& lines,
                          HccnLinkStat* stat) {
  if (heading == "NA" && lines.empty()) return absl::OkStatus();
  if (!heading.empty() || lines.empty()) {
    return UnexpectedHccnText(
        lines.empty() ? heading : lines[0],
        "NA for no link changes, or a line for each of them");
  }
  for (const absl::string_view line : lines) {
    ASSIGN_OR_RETURN(const HccnLinkChange change, ParseChange(line));
    stat->changes.push_back(change);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HccnLinkStat> ParseHccnLinkStat(absl::string_view output,
                                               uint32_t device) {
  ASSIGN_OR_RETURN(std::vector<absl::string_view> lines,
                   HccnLinesOfDevice(device, output));
  // Takes the value of the next line, which has to be `name`'s.
  size_t next = 0;
  const auto take =
      [&](absl::string_view name) -> absl::StatusOr<absl::string_view> {
    const bool is_end = next == lines.size();
    const absl::string_view line = is_end ? output : lines[next];
    const absl::StatusOr<HccnNamedValue> named = ParseHccnNamedValue(line);
    if (is_end || !named.ok() || named->name != name) {
      return UnexpectedHccnText(line, absl::StrCat("\"", name, ": ...\""));
    }
    ++next;
    return named->value;
  };
  const auto take_count =
      [&](absl::string_view name) -> absl::StatusOr<uint64_t> {
    ASSIGN_OR_RETURN(const absl::string_view value, take(name));
    return ParseHccnNumber(value, std::numeric_limits<uint64_t>::max());
  };
  HccnLinkStat stat;
  ASSIGN_OR_RETURN(const absl::string_view now, take("current time"));
  ASSIGN_OR_RETURN(const absl::CivilSecond time, ParseLinkTime(now));
  stat.current_time = time;
  ASSIGN_OR_RETURN(const uint64_t ups, take_count("link up count"));
  stat.ups = ups;
  if (next < lines.size() && absl::StartsWith(lines[next], "link down count")) {
    ASSIGN_OR_RETURN(const uint64_t downs, take_count("link down count"));
    stat.downs = downs;
  }
  ASSIGN_OR_RETURN(const absl::string_view changes,
                   take("link change records"));
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(next));
  RETURN_IF_ERROR(ParseChanges(changes, lines, &stat));
  return stat;
}

}  // namespace clusterd
