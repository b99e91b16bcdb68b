// A moment as a person writes it, in UTC.
#ifndef CONFIG_VALUES_UTC_TIME_H_
#define CONFIG_VALUES_UTC_TIME_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace clusterd {

// "2026-12-01", which is its first second, "2026-12-01T10:00", with seconds,
// with a blank for the T, and with Z or UTC behind. InvalidArgument, quoting
// it, for anything else, also another time zone and a day that no month has.
absl::StatusOr<absl::Time> ParseUtcTime(const std::string& text);

}  // namespace clusterd

#endif  // CONFIG_VALUES_UTC_TIME_H_
