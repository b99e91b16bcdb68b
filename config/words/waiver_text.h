// When a waiver is in force, and the words for it.
#ifndef CONFIG_WORDS_WAIVER_TEXT_H_
#define CONFIG_WORDS_WAIVER_TEXT_H_

#include <cstddef>

#include "absl/time/time.h"
#include "config/words/words.h"
#include "proto/finding.pb.h"

namespace clusterd {

// The rule of a waiver that takes hosts out of service.
inline constexpr char kMaintenanceRule[] = "maintenance";
// A waiver that ends later is ignored, so that none is forgotten.
inline constexpr absl::Duration kLongestWaiver = absl::Hours(24 * 90);
inline constexpr size_t kMaxWaiverReason = 200;

bool IsInForce(const Waiver& waiver, absl::Time now);

// "link on node[07-08] devices 3-4".
FindingValue WaivedWords(const Waiver& waiver);
// "until 2026-12-01 10:00 UTC by ann: cable ordered", on one line.
FindingValue WaiverWords(const Waiver& waiver);
// "; waived, otherwise fail, until …", which ends what was observed; empty for
// a finding without a waiver, and for one about hosts in maintenance. Its name
// is kWaivedEnd, which no row of a finding has for a value.
FindingValue WaivedEnd(const Finding& finding);
inline constexpr char kWaivedEnd[] = "waived";

}  // namespace clusterd

#endif  // CONFIG_WORDS_WAIVER_TEXT_H_
