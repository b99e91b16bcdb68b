// Makes facts of a device's traffic, link history and optical module.
#ifndef DAEMON_HOST_HCCN_QUERY_QUERY_FACTS_H_
#define DAEMON_HOST_HCCN_QUERY_QUERY_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/values/ipv4.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Parses the classic hccn_tool's answers about traffic, link and optical
// module. An observation queries speed and vnic; AskTraffic and the functions
// beside it the rest:
//   -speed -g        Speed: 200000 Mb/s
//   -vnic -g         vnic link status: UP
//                    vnic ipaddr: 192.168.2.199
//                    vnic netmask: 255.255.255.0
//   -link_stat -g    [devid 0]current time        : Wed Aug  2 03:09:26 2022
//                    [devid 0]link up count       : 2
//                    [devid 0]link down count     : 1
//                    [devid 0]link change records :
//                    [devid 0]    Tue Aug  1 14:43:40 2022    LINK UP
//   -stat -g         packet statistics:
//                    mac_tx_mac_pause_num:0
//   -route -g        Routing table:
//                    Destination Gateway  Genmask     Flags … Use Iface
//                    default     29.1.0.1 0.0.0.0     UG    … 0   eth3
//                    29.1.0.0    *        255.255.0.0 U     … 0   eth3
//   -dscp_to_tc -g   dscp      tc
//     dscp 33        33       0
//   -pfc -g          PFC configuration:
//                    priority   0 1 2 3 4 5 6 7
//                    enabled    0 0 0 0 1 0 0 0
//   -prio_tc -g      Priority mapping:
//                    priority   0 1 2 3 4 5 6 7
//                    TC         0 0 0 0 1 0 0 0
//   -udp -g          udp_port:4791
//                    status:custom
//                    UDP port list(based on IP pair):
//                    no entry has been configured.
//   -optical -g      optical info:
//                    present              : present
//                    temperature          : 47 C
//                    vendor name          : Hisense
//                    Rx Los Flag          : 0xff
//                    Host SNR Lane0       : not supported
// Texts are from the hccn_tool source (hicann/driver ef377e95 and 05354178).
// The routes below their heading are the device's, in busybox route's form
// (published captures). The functions run nothing and return InvalidArgument,
// quoting the line, for any unknown text.

// Megabits a second. No value: the tool printed "Unknown!".
absl::StatusOr<std::optional<uint32_t>> ParseHccnSpeed(
    absl::string_view output);

// The virtual port to the other devices of the server or super pod.
absl::StatusOr<VnicFact::Vnic> ParseHccnVnic(absl::string_view output);

// Counts how often the link went up and down; older drivers do not report how
// often down. Changes are in the tool's order, newest first, by the device's
// clock; it keeps only the last ones. A future one counts as just now. The
// weekday before a time is ignored: published samples have wrong ones.
// InvalidArgument also if a line is missing, out of order or another device's.
absl::StatusOr<LinkHistoryFact::History> ParseHccnLinkStat(
    absl::string_view output, uint32_t device);

struct HccnCounter {
  std::string name;  // Lower-case letters, digits and underscores.
  uint64_t value = 0;
};

// At least one counter, each name once, in the tool's order. The counters
// depend on the build, so none is required by name.
absl::StatusOr<std::vector<HccnCounter>> ParseHccnPacketStatistics(
    absl::string_view output);

struct HccnRoute {
  Ipv4Subnet destination;              // "default" is 0.0.0.0/0.
  std::optional<Ipv4Address> gateway;  // Unset: "*", directly connected.
};

// Has the tool's order; may be empty. InvalidArgument also if a heading is
// missing, or a row has other columns, a name where an address belongs, a mask
// with a hole or a destination with host bits.
absl::StatusOr<std::vector<HccnRoute>> ParseHccnRoutes(
    absl::string_view output);

// Traffic class by DSCP, 0 to 63; at least one, and only those queried.
absl::StatusOr<std::map<uint32_t, uint32_t>> ParseHccnDscpToTc(
    absl::string_view output);

// "0,0,0,0,1,0,0,0": whether priority flow control is on, by priority.
absl::StatusOr<std::string> ParseHccnPfc(absl::string_view output);

// The same with the traffic class, 0 to 3, of each priority.
absl::StatusOr<std::string> ParseHccnPriorityToTc(absl::string_view output);

// Returns the UDP port of RoCE, "4791", or the tool's word if other settings
// choose ports: "auto", "multi_qp", "code(nslb_dp)". "Unknown udp port" is also
// "auto", which sets port 0: the tool prints it if the device has no bit for
// the mode. Ports of single pairs of addresses, which may follow, are ignored
// (tool_roce.c and tool_ext.c of hicann/driver 05354178).
absl::StatusOr<std::string> ParseHccnRocePort(absl::string_view output);

// Longer names of an optical module are cut and end in "...".
inline constexpr size_t kMaxHccnTextBytes = 255;

// A numeric row of an optical module.
struct HccnOpticalRow {
  std::string name;  // "Tx Power0"; printable.
  // Unset if the tool printed "NA", "not supported" or "get failed".
  std::optional<double> number;
  // Temperatures and their bounds are in C, voltages in mV, powers in mW, bias
  // currents in mA, SNR in dB, the wave length in nm. Empty: a flag, such as
  // "Tx Los Flag" or "Rx LoL Flag": loss of signal or of lock. Any value but 0
  // is a fault in the vendor's diagnosis tool.
  std::string unit;
};

// Rows of text, such as the vendor's names, are omitted.
struct HccnOptical {
  bool present = false;
  std::vector<HccnOpticalRow> rows;  // In the tool's order.
};

// Only the first row is required, since the others depend on module and build.
// InvalidArgument also if a name occurs twice, or a measuring row has another
// form or unit. Rows without a number never get one. "Control link
// unreachable." is a failure, see ClassifyHccnRun.
absl::StatusOr<HccnOptical> ParseHccnOptical(absl::string_view output);

// Reports set flags, and values outside the module's own thresholds. A module
// that has none, or 0 for both, gets no such report.
OpticalFact::Module MakeOpticalModule(const HccnOptical& optical);

// Queries PFC and UDP port of RoCE, which a change can set.
void AskLosslessSettings(HccnSession* session, DeviceFacts* facts);

// Queries DSCP and priorities to traffic classes, module, and history.
void AskTraffic(uint32_t device, HccnSession* session, DeviceFacts* facts);

// Remembers `hccn_tool -i N -stat -g`, to report rises: a counter alone does
// not show when it rose. Covers all devices of one machine, in memory only:
// empty when clusterd starts. Safe for concurrent use.
class CounterMemory {
 public:
  // Minimum age of a read that replaces the compared one. Checks in quick
  // succession share one, so that a steady rise between them stays visible.
  static constexpr absl::Duration kLeastSpan = absl::Minutes(5);

  // Returns each error counter's rise since the newest read at least kLeastSpan
  // old, or since the first while none is. A device's first read is not
  // compared, nor one with a counter that fell, since it was reset; both start
  // a new comparison. A tool without error counters reports none. `now` is
  // monotonic.
  CounterRisesFact::Rises Compare(uint32_t device, absl::Duration now,
                                  const std::vector<HccnCounter>& counters);

 private:
  struct Read {
    absl::Duration time;
    std::map<std::string, uint64_t> errors;
  };
  struct Reads {
    Read base;    // Compared with.
    Read newest;  // The next base, at least kLeastSpan after it.
  };

  absl::Mutex mutex_;
  std::map<uint32_t, Reads> reads_ ABSL_GUARDED_BY(mutex_);
};

// Queries a device's counters. NOT_SUPPORTED as for AskTraffic.
CounterRisesFact AskCounters(uint32_t device, HccnSession* session,
                             Clock* clock, CounterMemory* memory);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_QUERY_QUERY_FACTS_H_
