// Reads what hccn_tool says about one device's ports, that to the network and
// the virtual one to the other devices of the server or super pod:
//   -speed -g       Speed: 200000 Mb/s
//   -vnic -g        vnic link status: UP
//                   vnic ipaddr: 192.168.2.199
//                   vnic netmask: 255.255.255.0
//   -link_stat -g   [devid 0]current time        : Wed Aug  2 03:09:26 2022
//                   [devid 0]link up count       : 2
//                   [devid 0]link down count     : 1
//                   [devid 0]link change records :
//                   [devid 0]    Tue Aug  1 14:43:40 2022    LINK UP
// Texts from the hccn_tool source (hicann/driver ef377e95). Text in, value out:
// runs nothing. Every function returns InvalidArgument, quoting the line, for
// anything it does not know: no guesses.
#ifndef DAEMON_HOST_HCCN_QUERY_HCCN_PORT_H_
#define DAEMON_HOST_HCCN_QUERY_HCCN_PORT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"
#include "config/values/ipv4.h"

namespace clusterd {

// Megabits a second. Nothing: the tool said "Unknown!".
absl::StatusOr<std::optional<uint32_t>> ParseHccnSpeed(
    absl::string_view output);

struct HccnVnic {
  bool link_up = false;
  Ipv4Interface address;
};
absl::StatusOr<HccnVnic> ParseHccnVnic(absl::string_view output);

struct HccnLinkChange {
  // By the device's clock in the time zone that the tool ran in. The weekday
  // that is printed before it is not compared: published samples have wrong
  // ones.
  absl::CivilSecond time;
  bool up = false;
};

// How often the link went up and down.
struct HccnLinkStat {
  absl::CivilSecond current_time;
  uint64_t ups = 0;
  // Older drivers have no line with it.
  std::optional<uint64_t> downs;
  // As the tool lists them, newest first; it keeps the last ones only. Empty:
  // it said NA.
  std::vector<HccnLinkChange> changes;
};

// InvalidArgument also if a line is missing, out of order or another device's.
absl::StatusOr<HccnLinkStat> ParseHccnLinkStat(absl::string_view output,
                                               uint32_t device);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_QUERY_HCCN_PORT_H_
