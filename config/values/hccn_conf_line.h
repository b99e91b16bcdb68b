// Single lines of /etc/hccn.conf, as the vendor's tool takes them:
//   route_address_172.16.0.0_netmask_255.255.0.0_0=gateway_10.20.0.1
//   xsfp_reset_wait_times_3=7
// and what a file sets as a whole. Behaviour of the tool: hccn_tool source,
// hicann/driver ef377e95, and the published tool, run over a stub driver.
#ifndef CONFIG_VALUES_HCCN_CONF_LINE_H_
#define CONFIG_VALUES_HCCN_CONF_LINE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace clusterd {

// "gateway_3" of "gateway_3=10.0.0.1"; the whole of a line without "=".
absl::string_view HccnConfKeyOf(absl::string_view line);

// True if the tool owns the line: its recovery at boot automatically writes
// xsfp_reset_max_times_N, xsfp_reset_wait_times_N and tls_ca_recovered_N, which
// neither clusterd nor people set.
bool IsToolsOwnLine(absl::string_view line);

// True if the tool reads the line as a route: "route_" in column 0, and a "=".
bool IsRouteLine(absl::string_view line);

// True if the tool's scan accepts such a line. It ignores text behind a good
// gateway. A line that it refuses costs every device its address at boot.
bool IsScannedRoute(absl::string_view line);

// True if the recovery at boot takes the line for a setting of a device: a
// key_N=value that it is known to fail over, or a route that its scan accepts.
bool IsRecoveredLine(absl::string_view line);

// False if the recovery is known to fail over the line, on at least one
// product, because a line that it needs is missing, or because two lines were
// joined. True if it may take the line, or does not read it beside the other
// lines of the file. `-cfg status` reports failures missed here. REQUIRES:
// IsRecoveredLine(line).
bool MayBeRecovered(absl::string_view line, absl::string_view file);

// True if the tool of that series, "A1", "A2" or "A3", fails over the line; for
// an unknown series (empty) it may. REQUIRES: !MayBeRecovered().
bool BreaksRecoveryOf(absl::string_view npu_series, absl::string_view line);

// SHA-256, in hex, of all lines but the tool's own, in the order of their keys.
// The tool's write moves a key to the end of the file without any effect; of
// equal keys it obeys the first, so those keep their order.
std::string HccnConfDigest(absl::string_view text);

}  // namespace clusterd

#endif  // CONFIG_VALUES_HCCN_CONF_LINE_H_
