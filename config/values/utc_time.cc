#include "config/values/utc_time.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"
#include "config/values/text_form.h"

namespace clusterd {

absl::StatusOr<absl::Time> ParseUtcTime(const std::string& text) {
  static const LazyRE2 kForm = {
      R"((\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?)?(?:Z| ?UTC)?)"};
  std::string day, minute, second;
  if (HasForm(text, *kForm, &day, &minute, &second)) {
    if (minute.empty()) minute = "00:00";
    if (second.empty()) second = ":00";
    // Formatted again it is another text if a field was out of range.
    const std::string whole = absl::StrCat(day, "T", minute, second);
    absl::CivilSecond civil;
    if (absl::ParseCivilTime(whole, &civil) &&
        absl::FormatCivilTime(civil) == whole) {
      return absl::FromCivil(civil, absl::UTCTimeZone());
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", absl::CHexEscape(text.substr(0, 64)),
                   "\" is not a moment, expected UTC such as "
                   "2026-12-01T10:00Z"));
}

}  // namespace clusterd
