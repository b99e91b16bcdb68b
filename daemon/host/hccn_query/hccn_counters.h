// Reads the counters of one device:
//   -stat -g        packet statistics:
//                   mac_tx_mac_pause_num:0
//                   roce_rx_err_pkt_num:0
//   -hw_stats -g    [devid 3] pd_alloc: 1
//                   [devid 3] qp_active: 1
// Which counters there are depends on the build (hccn_tool source,
// hicann/driver 05354178), so none is required by name. Text in, values out:
// runs nothing.
#ifndef DAEMON_HOST_HCCN_QUERY_HCCN_COUNTERS_H_
#define DAEMON_HOST_HCCN_QUERY_HCCN_COUNTERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

struct HccnCounter {
  std::string name;  // Lower-case letters, digits and underscores.
  uint64_t value = 0;
};

// At least one counter, each name once, in the tool's order. InvalidArgument,
// quoting the line, for anything else, or a line of another device.
absl::StatusOr<std::vector<HccnCounter>> ParseHccnPacketStatistics(
    absl::string_view output);
absl::StatusOr<std::vector<HccnCounter>> ParseHccnHardwareStatistics(
    absl::string_view output, uint32_t device);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_QUERY_HCCN_COUNTERS_H_
