// The state of the two host firewalls: absent, stopped, active, started at
// boot, and what they let in.
#ifndef DAEMON_HOST_FIREWALL_FIREWALL_OBSERVER_H_
#define DAEMON_HOST_FIREWALL_FIREWALL_OBSERVER_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/values/ipv4.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/files/file_reader.h"
#include "proto/facts.pb.h"

namespace clusterd {

// From /usr/sbin/ufw, `ufw status verbose` and /etc/ufw/ufw.conf. What systemd
// says about ufw is not its state: its unit is "active" either way. It has one
// state: `ufw allow` and the like write the files that the next start reads and
// change the running rules in one, and `ufw status` prints those files.
FirewallFacts ReadUfw(const HostAccess& host);

// From /usr/bin/firewall-cmd and systemd's links to firewalld.service. It has
// two states: what runs, and with --permanent what a reload or reboot brings.
FirewallFacts ReadFirewalld(const HostAccess& host);

// What may drop packets beside both: from iptables-save of every backend that
// is installed, and `nft list ruleset`. Without any of them nothing: they are
// what rules are made with. Reading them loads no table. Rules for addresses
// that no interface has are left out.
DropRulesFact ReadDropRules(const HostAccess& host,
                            const InterfacesFact& interfaces);

// Reads ufw's state from its own words:
//   Status: active
//   Logging: on (low)
//   Default: deny (incoming), allow (outgoing), disabled (routed)
//   New profiles: skip
//
//   To                         Action      From
//   --                         ------      ----
//   60000:60031/tcp            ALLOW IN    10.77.0.0/16
//   22/tcp (OpenSSH)           LIMIT IN    Anywhere
// That is `ufw status verbose` of ufw 0.36.2. Its exit status never tells
// active from inactive, nor does systemd, whose unit stays "active" after `ufw
// disable`. Text in, value out: runs nothing. Rules outside ufw (before.rules)
// are not seen.

// From the first line. InvalidArgument, quoting it, if it is neither.
absl::StatusOr<bool> ParseUfwActive(absl::string_view status_output);

// What an active ufw lets in over IPv4, from `ufw status verbose`:
//   ALLOW IN, any or given port, any source or address    an entry
//   default allow (incoming)                              all ports
//   LIMIT, DENY, REJECT                                   off what comes after
//   IPv6, outgoing and routed rules; rules for the        nothing
//   loopback interface; protocols but TCP and UDP
// InvalidArgument, quoting the row, for what an AllowedPort cannot say: a rule
// for one interface, destination address or source port, and a LIMIT, DENY or
// REJECT that takes some of its sources from an ALLOW after it.
absl::StatusOr<AllowedFact::Allowed> ParseUfwAllowed(
    absl::string_view status_verbose_output);

// Whether /etc/ufw/ufw.conf has ufw start at boot: ENABLED=yes. InvalidArgument
// if there is no such line or another value.
absl::StatusOr<bool> ParseUfwConf(absl::string_view text);

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

// Finds the rules of the kernel's packet filter that may drop TCP packets to
// this host and belong to neither ufw nor firewalld. Text in, value out: runs
// nothing. Reads just enough to leave out what certainly drops none, and to
// tell the ports to which a rule or policy surely drops every new connection:
// it stands in a hooked chain, is for all sources, and no rule before it may
// let such a packet out of the chain. The rest is given as it stands, since
// other chains, sets and marks are not followed.

// Of the host, without loopback: rules for other destinations, such as Docker's
// for each container, are left out. Empty: not known.
using OwnAddresses = std::vector<Ipv4Address>;

// From iptables-save (1.8.9), of any backend:
//   *filter
//   :INPUT ACCEPT [0:0]
//   -A INPUT -p tcp -m tcp --dport 60000:60031 -j DROP
//   COMMIT
// Follows chains from INPUT and PREROUTING. Chains of ufw, and those that
// firewalld has jumped to, are theirs. InvalidArgument, quoting the line, for
// text of another form.
absl::StatusOr<std::vector<DropRule>> FindIptablesDrops(
    absl::string_view text, const OwnAddresses& own = {});

// Tables in the text of an iptables-save that reads nftables (1.8.9). It prints
// "# Table `filter' is incompatible, use 'nft' tool." in place of a table that
// has what only nft can say, and "# Table `filter' contains incompatible
// base-chains, use 'nft' tool to list them." before the rest of one.
struct SavedTables {
  std::set<std::string> whole;
  std::set<std::string> in_part;  // At best.
};
SavedTables FindSavedTables(absl::string_view text);

// From `nft -n list ruleset` (1.0.6), IPv4 alone:
//   table inet filter {
//           chain input {
//                   type filter hook input priority 0; policy accept;
//                   tcp dport 60000-60031 drop
//           }
//   }
// Follows chains from every input, prerouting and ingress hook; what comes in
// by one device alone (ingress) need not be a job's. Tables of firewalld are
// its own; those of family ip in `saved` are left to iptables-save.
// InvalidArgument, quoting the line, for text of another form.
absl::StatusOr<std::vector<DropRule>> FindNftDrops(
    absl::string_view text, const std::set<std::string>& saved,
    const OwnAddresses& own = {});

}  // namespace clusterd

#endif  // DAEMON_HOST_FIREWALL_FIREWALL_OBSERVER_H_
