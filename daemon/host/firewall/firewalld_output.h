// Reads firewalld's state from firewall-cmd's words (firewalld 1.3.3):
//   public (active)
//     target: default
//     interfaces: eth0
//     sources:
//     services: dhcpv6-client ssh
//     ports: 60000-60031/tcp
//     rich rules:
//   	rule family="ipv4" source address="10.77.0.0/16" accept
// That is one zone of `firewall-cmd --list-all-zones`. Text in, value out: runs
// nothing. Policies between zones and rules made with other programs are not
// seen.
#ifndef DAEMON_HOST_FIREWALL_FIREWALLD_OUTPUT_H_
#define DAEMON_HOST_FIREWALL_FIREWALLD_OUTPUT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/command/command_runner.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Whether it runs, from `firewall-cmd --state`: "running" on stdout, or "not
// running" on stderr with status 252. InvalidArgument, quoting it, for anything
// else, e.g. no system bus.
absl::StatusOr<bool> ParseFirewalldState(const CommandResult& result);

struct FirewalldZone {
  std::string name;
  // By the word before the colon, e.g. "ports" to {"60000-60031/tcp"}; of "rich
  // rules" and "forward-ports" one a line.
  std::map<std::string, std::vector<std::string>> lists;

  // Empty if there is no such list.
  const std::vector<std::string>& List(const std::string& word) const;
};

// InvalidArgument, quoting the line, if a zone has no target or a line belongs
// to none.
absl::StatusOr<std::vector<FirewalldZone>> ParseFirewalldZones(
    absl::string_view text);

// The ports of one service, from `firewall-cmd --info-service=NAME`.
// `included`: services that belong to it. None for a service whose destination
// is no address of a host: IPv6 alone, or multicast. InvalidArgument if the
// service is more.
absl::StatusOr<std::vector<AllowedPort>> ParseFirewalldService(
    absl::string_view text, std::vector<std::string>* included);

// InvalidArgument if there is none of that name.
absl::StatusOr<const FirewalldZone*> FindFirewalldZone(
    const std::vector<FirewalldZone>& zones, const std::string& name);

// What is let in over IPv4 by an interface of the zone `base`: its ports,
// services, protocols and rich rules that accept, and everything from the
// sources of other zones whose target is ACCEPT. Of sources of zones that do
// not let in everything, and of ipsets, it only tells that they are not judged
// here. `services` has every service of the base. InvalidArgument, quoting it,
// for what an AllowedPort cannot say: a rule that drops, a forwarded or source
// port.
absl::StatusOr<AllowedFact::Allowed> FirewalldAllowed(
    const std::vector<FirewalldZone>& zones, const FirewalldZone& base,
    const std::map<std::string, std::vector<AllowedPort>>& services);

}  // namespace clusterd

#endif  // DAEMON_HOST_FIREWALL_FIREWALLD_OUTPUT_H_
