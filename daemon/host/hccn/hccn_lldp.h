// Reads a device's LLDP neighbour from what `hccn_tool -i <n> -lldp -g` prints:
//   Chassis ID TLV
//           MAC: 00:11:22:33:44:55
//   Port ID TLV
//           Ifname: 400GE1/1/20:2
//   System Description TLV
//           Versatile Routing Platform Software
//   VRP (R) software, Version 8.211
//   End of LLDPDU TLV
// Titles stand at the beginning of a line, values after tabs or spaces; a
// system description has lines at the beginning too, and empty ones. The
// neighbour writes most of this text, so none of it is trusted. Runs nothing.
#ifndef DAEMON_HOST_HCCN_HCCN_LLDP_H_
#define DAEMON_HOST_HCCN_HCCN_LLDP_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/facts.pb.h"

namespace clusterd {

// The tool cuts its answer here (hccn_tool source, hicann/driver ef377e95).
inline constexpr size_t kHccnLldpMaxBytes = 1999;

// Nothing but newlines: no neighbour was heard. The peer is NPU if the first
// line of the system description contains "AscendNPU", SWITCH if it contains
// "Routing". Values are printable and at most 255 bytes, as LLDP's own are.
// InvalidArgument, quoting the line, if the text does not begin with a title or
// has no port id.
absl::StatusOr<LldpNeighbour> ParseHccnLldp(absl::string_view output);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_HCCN_LLDP_H_
