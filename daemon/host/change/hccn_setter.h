// Runs hccn_tool's setting commands in the classic command line:
//   hccn_tool -i 3 -ip -s address 10.20.0.17 netmask 255.255.255.0
//   hccn_tool -i 3 -gateway -s gateway 10.20.0.1
//   hccn_tool -i 3 -netdetect -s address 10.20.0.1    (0.0.0.0: none)
//   hccn_tool -i 3 -mtu -s size 9000
//   hccn_tool -i 3 -tls -s enable 0
//   hccn_tool -i 3 -route -a address D netmask M gateway G
//   hccn_tool -i 3 -ip_route -a ip D ip_mask P via G dev I table T
// The tool's output never counts as the outcome: a failed command can have
// acted, and a success can have lost a key of hccn.conf (seen when the tool was
// run; hccn_tool source, hicann/driver ef377e95). The caller reads device and
// file back after every call.
#ifndef DAEMON_HOST_CHANGE_HCCN_SETTER_H_
#define DAEMON_HOST_CHANGE_HCCN_SETTER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/host/change/mutation_token.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "proto/facts.pb.h"

namespace clusterd {

class HccnSetter {
 public:
  // `tool` is the absolute path of the tool on this host, never one from a
  // plan. `deadline` limits each command, and the wait until observation is
  // done with the device. A "busy" answer is retried 5 times, 0.5 s apart.
  // `locks` are those of the host's observer. All must outlive it.
  HccnSetter(CommandRunner* runner, Clock* clock, DeviceLocks* locks,
             std::string tool, absl::Duration deadline)
      : runner_(runner),
        clock_(clock),
        locks_(locks),
        tool_(std::move(tool)),
        deadline_(deadline) {}

  // Runs the tool with `words`, the arguments after the device. Returns the
  // outcome as error text, vendor text cut and without control characters:
  // "`hccn_tool -i 3 -ip -s …`: status 1: Command execute failed!".
  FindingValue Set(const MutationToken& token, uint32_t device,
                   const std::vector<std::string>& words);

  // Adds a live route from its line of hccn.conf: a route_address_… entry with
  // the value gateway_G, or ip_route with the value "add 10.0.0.0/24 via
  // 10.0.0.253 dev eth0 table 100". OK: the tool accepted it. InvalidArgument:
  // the entry has another form, and nothing was run. Unavailable: any other
  // outcome, worded as by Set.
  absl::Status AddRoute(const MutationToken& token,
                        const HccnConf::Entry& entry);
  // Returns whether the device has the route of a route_address_… entry, from
  // `-route -g`. An error gives the reason if that is unknown: an entry of
  // another form or with host bits, a failed run, or a table that
  // query_facts.h does not read. Changes nothing.
  absl::StatusOr<bool> HasRoute(const HccnConf::Entry& entry);

 private:
  // Returns the last attempt and sets `said` to its outcome.
  absl::StatusOr<CommandResult> Run(uint32_t device,
                                    const std::vector<std::string>& words,
                                    FindingValue* said);

  CommandRunner* const runner_;
  Clock* const clock_;
  DeviceLocks* const locks_;
  const std::string tool_;
  const absl::Duration deadline_;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_CHANGE_HCCN_SETTER_H_
