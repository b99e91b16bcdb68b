// Times as people say them: "0.8 s", "12 s", "3 min", "2 h", "5 days".
#ifndef CLIENT_PRINT_DURATION_TEXT_H_
#define CLIENT_PRINT_DURATION_TEXT_H_

#include <string>

#include "absl/time/time.h"

namespace clusterd {

// One unit, rounded down; a negative duration (clocks that disagree) is "0 s".
std::string DurationText(absl::Duration duration);

// How long before `now` the moment `unix_ms` was. "never" if it is 0.
std::string AgeText(int64_t unix_ms, absl::Time now);

}  // namespace clusterd

#endif  // CLIENT_PRINT_DURATION_TEXT_H_
