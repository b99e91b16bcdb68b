// When a waiver is in force, and how it is told to people.
#ifndef CONFIG_WORDS_WAIVER_TEXT_H_
#define CONFIG_WORDS_WAIVER_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/time/time.h"
#include "proto/finding.pb.h"

namespace clusterd {

// The rule of a waiver that takes hosts out of service.
inline constexpr char kMaintenanceRule[] = "maintenance";
// A waiver that ends later is not heeded, so that none is forgotten.
inline constexpr absl::Duration kLongestWaiver = absl::Hours(24 * 90);
inline constexpr size_t kMaxWaiverReason = 200;

bool IsInForce(const Waiver& waiver, absl::Time now);

// "link on node[07-08] devices 3-4". Names are not made safe for a terminal.
std::string WaivedText(const Waiver& waiver);
// "until 2026-12-01 10:00 UTC by ann: cable ordered", on one line.
std::string WaiverText(const Waiver& waiver);

}  // namespace clusterd

#endif  // CONFIG_WORDS_WAIVER_TEXT_H_
