// Reads what hccn_tool says about one device's network port:
//   -speed -g       Speed: 200000 Mb/s
//   -duplex -g      Duplex: Full
//   -mac -g         mac addr: 6c:b1:58:00:00:01
//   -fec -g         fec mode: rs FEC mode
//   -bandwidth -g   Bandwidth TX:     0.00 MB/sec, and a line for RX
//   -shaping -g     bw_limit[200000 Mbps], bw_max[200000 Mbps]
// Texts from the hccn_tool source (hicann/driver ef377e95). Text in, value out:
// runs nothing. Every function returns InvalidArgument, quoting the line, for
// anything it does not know: no guesses.
#ifndef DAEMON_HOST_HCCN_QUERY_HCCN_PORT_H_
#define DAEMON_HOST_HCCN_QUERY_HCCN_PORT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// Megabits a second. Nothing: the tool said "Unknown!".
absl::StatusOr<std::optional<uint32_t>> ParseHccnSpeed(
    absl::string_view output);

// kUnknown: the tool's own "Unknown!".
enum class HccnDuplex { kFull, kHalf, kUnknown };
absl::StatusOr<HccnDuplex> ParseHccnDuplex(absl::string_view output);

// Six pairs of hexadecimal digits with colons between, as they were printed.
absl::StatusOr<std::string> ParseHccnMac(absl::string_view output);

// Forward error correction. A2 and A3 devices answer "This device does not
// support switching fec mode." instead, which hccn_error.h takes.
enum class HccnFec { kRs, kNone, kAuto };
absl::StatusOr<HccnFec> ParseHccnFec(absl::string_view output);

// The load of the port, in hundredths of the tool's "MB/sec".
struct HccnBandwidth {
  uint64_t sent_mb_per_s_hundredths = 0;
  uint64_t received_mb_per_s_hundredths = 0;
};
absl::StatusOr<HccnBandwidth> ParseHccnBandwidth(absl::string_view output);

struct HccnShaping {
  uint32_t limit_mbps = 0;
  uint32_t max_mbps = 0;
  // Only some builds print bw_cur.
  std::optional<uint32_t> current_mbps;
};
absl::StatusOr<HccnShaping> ParseHccnShaping(absl::string_view output);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_QUERY_HCCN_PORT_H_
