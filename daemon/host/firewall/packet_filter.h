// Finds the rules of the kernel's packet filter that may drop TCP packets to
// this host and belong to neither ufw nor firewalld. Text in, value out: runs
// nothing. Reads just enough to leave out what certainly drops none, and to
// tell the ports to which a rule or policy surely drops every new connection:
// it stands in a hooked chain, is for all sources, and no rule before it may
// let such a packet out of the chain. The rest is given as it stands, since
// other chains, sets and marks are not followed.
#ifndef DAEMON_HOST_FIREWALL_PACKET_FILTER_H_
#define DAEMON_HOST_FIREWALL_PACKET_FILTER_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/values/ipv4.h"
#include "proto/facts.pb.h"

namespace clusterd {

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

#endif  // DAEMON_HOST_FIREWALL_PACKET_FILTER_H_
