// The traffic class of each DSCP, as a text that names those of another class
// than 0:
//   33:1,46:2     in specs, facts and plans
//   0:0           there, for a map with only class 0
//   33:1,46:0,    in hccn.conf, where hccn_tool keeps entries reset to 0
//                 (vendor-tool.md, 3.23)
#ifndef CONFIG_VALUES_DSCP_CLASSES_H_
#define CONFIG_VALUES_DSCP_CLASSES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

inline constexpr size_t kDscps = 64;
using DscpClasses = std::array<uint32_t, kDscps>;

// Pairs in any order, without a comma at the end. InvalidArgument, quoting the
// pair, if it is not a DSCP with a class from 0 to 3, or repeats a DSCP.
absl::StatusOr<DscpClasses> ParseDscpClasses(absl::string_view text);

// The form in specs, facts and plans, in the order of the DSCPs.
std::string DscpClassesText(const DscpClasses& classes);

}  // namespace clusterd

#endif  // CONFIG_VALUES_DSCP_CLASSES_H_
