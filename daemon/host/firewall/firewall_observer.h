// Reads the state of the two host firewalls: absent, stopped, active, started
// at boot, and their allowed ports.
#ifndef DAEMON_HOST_FIREWALL_FIREWALL_OBSERVER_H_
#define DAEMON_HOST_FIREWALL_FIREWALL_OBSERVER_H_

#include <cstdint>
#include <map>
#include <optional>
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

// Reads /usr/sbin/ufw, `ufw status verbose` and /etc/ufw/ufw.conf. systemd's
// state of ufw is not used: its unit is "active" either way. ufw has only one
// state: `ufw allow` writes the files of the next start and changes the running
// rules at once, and `ufw status` prints those files.
FirewallFacts ReadUfw(const HostAccess& host);

// Reads /usr/bin/firewall-cmd and systemd's links to firewalld.service. It has
// two states: the running one, and with --permanent that of a reload or reboot.
FirewallFacts ReadFirewalld(const HostAccess& host);

// Returns other rules that may drop packets, from iptables-save of every
// installed backend and `nft list ruleset`. None without these programs, with
// which rules are made. Reading them loads no table. Rules for addresses that
// no interface has are omitted.
DropRulesFact ReadDropRules(const HostAccess& host,
                            const InterfacesFact& interfaces);

// Reads ufw's state from its output:
//   Status: active
//   Logging: on (low)
//   Default: deny (incoming), allow (outgoing), disabled (routed)
//   New profiles: skip
//
//   To                         Action      From
//   --                         ------      ----
//   60000:60031/tcp            ALLOW IN    10.77.0.0/16
//   22/tcp (OpenSSH)           LIMIT IN    Anywhere
// This is `ufw status verbose` of ufw 0.36.2. Neither its exit status nor
// systemd, whose unit stays "active" after `ufw disable`, shows the state. The
// parsers run nothing, and do not see rules outside ufw (before.rules).

// Reads the first line. InvalidArgument, quoting it, for another text.
absl::StatusOr<bool> ParseUfwActive(absl::string_view status_output);

// Returns what an active ufw allows over IPv4, from `ufw status verbose`:
//   ALLOW IN, any or given port, any source or address    an entry
//   default allow (incoming)                              all ports
//   LIMIT, DENY, REJECT                                   off what comes after
//   IPv6, outgoing and routed rules; rules for the        nothing
//   loopback interface; protocols but TCP and UDP
// InvalidArgument, quoting the row, for what an AllowedPort cannot express: a
// rule for one interface, destination address or source port, and a LIMIT, DENY
// or REJECT that takes some of its sources from an ALLOW after it.
absl::StatusOr<AllowedFact::Allowed> ParseUfwAllowed(
    absl::string_view status_verbose_output);

// Returns whether /etc/ufw/ufw.conf starts ufw at boot: ENABLED=yes.
// InvalidArgument for another value or without such a line.
absl::StatusOr<bool> ParseUfwConf(absl::string_view text);

// Reads firewalld's state from firewall-cmd's output (firewalld 1.3.3):
//   public (active)
//     target: default
//     interfaces: eth0
//     sources:
//     services: dhcpv6-client ssh
//     ports: 60000-60031/tcp
//     rich rules:
//   	rule family="ipv4" source address="10.77.0.0/16" accept
// This is one zone of `firewall-cmd --list-all-zones`. The parsers run nothing,
// and do not see policies between zones and rules made with other programs.

// Reads `firewall-cmd --state`: "running" on stdout, or "not running" on stderr
// with status 252. InvalidArgument, quoting it, otherwise, e.g. without a bus.
absl::StatusOr<bool> ParseFirewalldState(const CommandResult& result);

struct FirewalldZone {
  std::string name;
  // By the word before the colon, e.g. "ports" to {"60000-60031/tcp"}; "rich
  // rules" and "forward-ports" have one entry a line.
  std::map<std::string, std::vector<std::string>> lists;

  // Empty without such a list.
  const std::vector<std::string>& List(const std::string& word) const;
};

// InvalidArgument, quoting the line, if a zone has no target or a line belongs
// to none.
absl::StatusOr<std::vector<FirewalldZone>> ParseFirewalldZones(
    absl::string_view text);

// Returns the ports of one service, from `firewall-cmd --info-service=NAME`,
// and in `included` the services that belong to it. None for a destination
// other than a host address: only IPv6, or multicast. InvalidArgument
// otherwise.
absl::StatusOr<std::vector<AllowedPort>> ParseFirewalldService(
    absl::string_view text, std::vector<std::string>* included);

// InvalidArgument if there is none of that name.
absl::StatusOr<const FirewalldZone*> FindFirewalldZone(
    const std::vector<FirewalldZone>& zones, const std::string& name);

// Returns what an interface of the zone `base` allows over IPv4: its ports,
// services, protocols and accepting rich rules, and everything from the sources
// of other zones with target ACCEPT. Sources of other zones, and ipsets, are
// only listed as not judged. `services` has every service of the base.
// InvalidArgument, quoting it, for what an AllowedPort cannot express: a rule
// that drops, a forwarded or source port.
absl::StatusOr<AllowedFact::Allowed> FirewalldAllowed(
    const std::vector<FirewalldZone>& zones, const FirewalldZone& base,
    const std::map<std::string, std::vector<AllowedPort>>& services);

// Finds the rules of the kernel's packet filter that may drop TCP packets to
// this host and belong to neither ufw nor firewalld. Runs nothing. Omits rules
// that certainly drop none. Reports the ports to which a rule or policy
// certainly drops every new connection: it is in a hooked chain, for all
// sources, and no earlier rule lets such a packet out of the chain. Other rules
// are reported verbatim, since other chains, sets and marks are not followed.

// The host's addresses without loopback; rules for other destinations, such as
// Docker's for each container, are omitted. Empty: not known.
using OwnAddresses = std::vector<Ipv4Address>;

// From iptables-save (1.8.9), of any backend:
//   *filter
//   :INPUT ACCEPT [0:0]
//   -A INPUT -p tcp -m tcp --dport 60000:60031 -j DROP
//   COMMIT
// Follows chains from INPUT and PREROUTING, except ufw's and those that
// firewalld jumps to. InvalidArgument, quoting the line, for another form.
absl::StatusOr<std::vector<DropRule>> FindIptablesDrops(
    absl::string_view text, const OwnAddresses& own = {});

// Lists tables in the output of an iptables-save that reads nftables (1.8.9).
// It prints "# Table `filter' is incompatible, use 'nft' tool." in place of a
// table that only nft can express, and "# Table `filter' contains incompatible
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
// Follows chains from every input, prerouting and ingress hook; a job need not
// use the one device of an ingress hook. firewalld's tables are its own;
// iptables-save covers those of family ip in `saved`. InvalidArgument, quoting
// the line, for another form.
absl::StatusOr<std::vector<DropRule>> FindNftDrops(
    absl::string_view text, const std::set<std::string>& saved,
    const OwnAddresses& own = {});

// Converts ports and sources as firewalls write them to AllowedPort.

// `protocol`: "tcp", "udp" or "" for both. `source`: empty for anywhere.
AllowedPort MakeAllowedPort(uint32_t first, uint32_t last,
                            absl::string_view protocol,
                            absl::string_view source);

// The same for all ports.
AllowedPort AllAllowedPorts(absl::string_view protocol,
                            absl::string_view source);

// Parses "60000-60031/tcp", "22,80:90/tcp" or "8080": comma-separated ports and
// ranges, whose ends `range` separates, and a protocol or none for both.
// InvalidArgument, quoting the text, for any other form.
absl::StatusOr<std::vector<AllowedPort>> ParseAllowedPorts(
    absl::string_view text, char range, absl::string_view source);

// Returns an IPv4 address or subnet, "10.77.0.0/16" or "10.77.0.0/255.255.0.0",
// as an address or CIDR; "" for 0.0.0.0/0. InvalidArgument for any other text.
absl::StatusOr<std::string> ParseAllowedSource(absl::string_view text);

// Returns what is left of `allowed`, perhaps nothing, when an earlier rule
// takes all packets of `taken`. No result if AllowedPorts cannot express that,
// because `taken` covers only some of the sources. REQUIRES: sources came from
// ParseAllowedSource.
std::optional<std::vector<AllowedPort>> MinusAllowedPort(
    const AllowedPort& allowed, const AllowedPort& taken);

}  // namespace clusterd

#endif  // DAEMON_HOST_FIREWALL_FIREWALL_OBSERVER_H_
