// One run of hccn_tool with a query that no observation asks, as
// daemon/host/hccn_query reads it, in a line of text:
//   -vnic         UP 192.168.2.199/24
//   -ip -inet6    fd00::1/64
//   -speed        200000 Mb/s, or unknown; -duplex: full; -fec: rs
//   -bandwidth    sent 0.00 received 12.34
//   -shaping      limit 200000 max 200000 [current 200000]
//   -process      exist, or not exist; -cfg status: SUCCESS
//   -version      driver 1.0.4.0 firmware 7.1.0.5.220
//   -link_stat    now 2022-08-02T03:09:26 up 2 [down 1] changes none, or the
//                 time of each and UP or DOWN
//   -optical      present; high power on; temperature=47 C; Rx Los Flag=0xff;
//                 vendor name="Hisense": first what measures, then flags, then
//                 texts
//   -route        10.0.0.0/24 via 10.0.0.254 dev eth0 flags UG metric 0; ...
//   -dscp_to_tc   33=0 46=5; -pfc: 00001000
//   -stat, -hw_stats                             qp_active=1 aeqe=0
//   -arp, -ip_route, -ip_rule, -pci, -status     line | line, or none
//   any           missing TOOL_FAILED: why
// The run goes through the daemon's own session, its retries included.
#ifndef TESTS_READERS_READ_UNASKED_H_
#define TESTS_READERS_READ_UNASKED_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "daemon/host/command_runner.h"

namespace clusterd {

inline constexpr std::array<absl::string_view, 23> kUnaskedQueries = {
    "-vnic",    "-ip -inet6", "-speed",      "-duplex",  "-mac",
    "-fec",     "-bandwidth", "-shaping",    "-process", "-version",
    "-optical", "-link_stat", "-cfg status", "-stat",    "-hw_stats",
    "-route",   "-pfc",       "-dscp_to_tc", "-arp",     "-ip_route",
    "-ip_rule", "-pci",       "-status",
};

// `run` is what the tool did when asked `query` about `device`.
// REQUIRES: `query` is one of kUnaskedQueries.
std::string ReadUnasked(absl::string_view query, uint32_t device,
                        const CommandResult& run);

}  // namespace clusterd

#endif  // TESTS_READERS_READ_UNASKED_H_
