// One run of hccn_tool as the daemon reads it, in a line of text:
//   -ip          10.0.0.1/255.255.255.0 [...], or none
//   -gateway     10.0.0.254, or none
//   -netdetect   0.0.0.0
//   -net_health  NET_HEALTH_INIT
//   -link        UP
//   -lldp        chassis=... port=... system=... address=... peer=SWITCH
//                [truncated], without what is empty; or none
//   -mtu         1500
//   -tls         on
//   -vnic        UP 192.168.2.199/24
//   -speed       200000 Mb/s, or unknown
//   -link_stat   up 2 [down 1] changes none, or how long ago each was and UP
//                or DOWN
//   -optical     present; temperature=47 C; Tx Power=none; Rx Los Flag=0xff:
//                first what measures, then flags
//   -route       10.0.0.0/24 via 10.0.0.254; ...
//   -dscp_to_tc  33=0 46=5
//   -pfc         00001000
//   -stat        mac_tx_mac_pause_num=0 mac_rx_mac_pause_num=0
//   unread       where the run brought an answer to another query
//   any          missing TOOL_FAILED: what the daemon says about it
#ifndef TESTS_READERS_READ_ANSWER_H_
#define TESTS_READERS_READ_ANSWER_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "daemon/host/command/command_runner.h"

namespace clusterd {

// Every query of a classic tool that the daemon has a reader for.
inline constexpr std::array<absl::string_view, 17> kQueries = {
    "-ip",   "-gateway", "-netdetect",  "-net_health", "-link",     "-lldp",
    "-mtu",  "-tls",     "-cfg status", "-vnic",       "-speed",    "-optical",
    "-stat", "-route",   "-pfc",        "-dscp_to_tc", "-link_stat"};

// Queries that are not read, on purpose, with the reason. Their runs still show
// how the tool fails.
struct UnreadQuery {
  absl::string_view query;
  absl::string_view reason;
};
inline constexpr std::array<UnreadQuery, 14> kUnreadQueries = {{
    {"-ip -inet6", "nothing here sets or compares IPv6 addresses of devices"},
    {"-mac", "nothing here compares a device's own MAC address"},
    {"-duplex", "no rule asks whether a port is half or full duplex"},
    {"-fec", "A2 and A3 do not have the modes, and no rule asks for one"},
    {"-hw_stats", "-stat has the counters that tell a loss of packets"},
    {"-bandwidth", "the load of one moment; -stat counts since the boot"},
    {"-shaping", "no rule and no setting limits a device's bandwidth"},
    {"-process", "the node of a device has its users, device_users.h"},
    {"-version", "the files version.info tell the versions"},
    {"-arp", "worded by the device, and nobody has published how"},
    {"-ip_route", "worded by the device, and nobody has published how"},
    {"-ip_rule", "worded by the device, and nobody has published how"},
    {"-pci", "worded by the device, and nobody has published how"},
    {"-status", "-speed and -link say what matters in words of the tool"},
}};

// True for a query that every observation asks, whatever the rules.
bool IsObserved(absl::string_view query);

// `run` is the tool's run for `query` about `device`. It goes through the
// daemon's own session, its retries included.
// REQUIRES: `query` is one of kQueries or kUnreadQueries.
std::string ReadAnswer(absl::string_view query, uint32_t device,
                       const CommandResult& run);

}  // namespace clusterd

#endif  // TESTS_READERS_READ_ANSWER_H_
