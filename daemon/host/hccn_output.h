// The lines of hccn_tool's standard output that carry data.
#ifndef DAEMON_HOST_HCCN_OUTPUT_H_
#define DAEMON_HOST_HCCN_OUTPUT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// Lines without blanks at their end. Left out: empty lines; "[WARNING] …",
// which the tool prints first when /var/log/hccn_tool is not a directory; and
// "Cmd executed successfully!". Views into `output`.
std::vector<absl::string_view> HccnDataLines(absl::string_view output);

// The one data line. InvalidArgument, quoting what is there, if there are none
// or several.
absl::StatusOr<absl::string_view> OnlyHccnDataLine(absl::string_view output);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_OUTPUT_H_
