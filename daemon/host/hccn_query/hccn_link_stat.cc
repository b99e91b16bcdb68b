#include "daemon/host/hccn_query/hccn_link_stat.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "daemon/host/hccn_output.h"
#include "daemon/host/hccn_query/hccn_named_values.h"

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
  const absl::StatusOr<absl::CivilSecond> time =
      ParseLinkTime(text.substr(0, kTimeBytes));
  if (!time.ok()) return time.status();
  if (link == "LINK UP") return HccnLinkChange{*time, true};
  if (link == "LINK DOWN") return HccnLinkChange{*time, false};
  return UnexpectedHccnText(line, "LINK UP or LINK DOWN after the time");
}

// The lines of an answer, taken one by one.
class LineReader {
 public:
  // `output`: what they were taken from, to quote where there is no next one.
  LineReader(std::vector<absl::string_view> lines, absl::string_view output)
      : lines_(std::move(lines)), output_(output) {}

  // The value of the next line, which has to be `name`'s.
  absl::StatusOr<absl::string_view> Take(absl::string_view name) {
    const bool is_end = next_ == lines_.size();
    const absl::string_view line = is_end ? output_ : lines_[next_];
    const absl::StatusOr<HccnNamedValue> named = ParseHccnNamedValue(line);
    if (is_end || !named.ok() || named->name != name) {
      return UnexpectedHccnText(line, absl::StrCat("\"", name, ": ...\""));
    }
    ++next_;
    return named->value;
  }

  absl::StatusOr<uint64_t> TakeCount(absl::string_view name) {
    const absl::StatusOr<absl::string_view> value = Take(name);
    if (!value.ok()) return value.status();
    return ParseHccnNumber(*value, std::numeric_limits<uint64_t>::max());
  }

  bool IsNext(absl::string_view name) const {
    if (next_ == lines_.size()) return false;
    const absl::StatusOr<HccnNamedValue> named =
        ParseHccnNamedValue(lines_[next_]);
    return named.ok() && named->name == name;
  }

  std::vector<absl::string_view> TakeRest() {
    return {lines_.begin() + static_cast<std::ptrdiff_t>(next_), lines_.end()};
  }

 private:
  const std::vector<absl::string_view> lines_;
  const absl::string_view output_;
  size_t next_ = 0;
};

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
    const absl::StatusOr<HccnLinkChange> change = ParseChange(line);
    if (!change.ok()) return change.status();
    stat->changes.push_back(*change);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HccnLinkStat> ParseHccnLinkStat(absl::string_view output,
                                               uint32_t device) {
  std::vector<absl::string_view> lines;
  for (const absl::string_view line : HccnDataLines(output)) {
    const absl::StatusOr<absl::string_view> rest =
        WithoutHccnDevice(line, device);
    if (!rest.ok()) return rest.status();
    lines.push_back(*rest);
  }
  LineReader reader(std::move(lines), output);
  HccnLinkStat stat;
  const absl::StatusOr<absl::string_view> now = reader.Take("current time");
  if (!now.ok()) return now.status();
  const absl::StatusOr<absl::CivilSecond> time = ParseLinkTime(*now);
  if (!time.ok()) return time.status();
  stat.current_time = *time;
  const absl::StatusOr<uint64_t> ups = reader.TakeCount("link up count");
  if (!ups.ok()) return ups.status();
  stat.ups = *ups;
  if (reader.IsNext("link down count")) {
    const absl::StatusOr<uint64_t> downs = reader.TakeCount("link down count");
    if (!downs.ok()) return downs.status();
    stat.downs = *downs;
  }
  const absl::StatusOr<absl::string_view> changes =
      reader.Take("link change records");
  if (!changes.ok()) return changes.status();
  const absl::Status parsed = ParseChanges(*changes, reader.TakeRest(), &stat);
  if (!parsed.ok()) return parsed;
  return stat;
}

}  // namespace clusterd
