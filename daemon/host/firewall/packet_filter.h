// Finds the rules of the kernel's packet filter that may drop TCP packets to
// this host and belong to neither ufw nor firewalld. Text in, value out: runs
// nothing. Reads just enough to leave out what certainly drops none, and to
// tell the ports to which a rule or policy surely drops every new connection:
// it stands in a hooked chain, is for all sources, and no rule before it may
// let such a packet out of the chain. The rest is given as it stands, since
// other chains, sets and marks are not followed.
#ifndef DAEMON_HOST_FIREWALL_PACKET_FILTER_H_
#define DAEMON_HOST_FIREWALL_PACKET_FILTER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/facts.pb.h"

namespace clusterd {

// From iptables-save (1.8.9), of any backend:
//   *filter
//   :INPUT ACCEPT [0:0]
//   -A INPUT -p tcp -m tcp --dport 60000:60031 -j DROP
//   COMMIT
// Follows chains from INPUT and PREROUTING. Chains of ufw, and those that
// firewalld has jumped to, are theirs. InvalidArgument, quoting the line, for
// text of another form.
absl::StatusOr<std::vector<DropRule>> FindIptablesDrops(absl::string_view text);

// From `nft -n list ruleset` (1.0.6), IPv4 alone:
//   table inet filter {
//           chain input {
//                   type filter hook input priority 0; policy accept;
//                   tcp dport 60000-60031 drop
//           }
//   }
// Follows chains from every input, prerouting and ingress hook. Tables of
// firewalld are its own; those that iptables manages are left out with
// `without_iptables`. InvalidArgument, quoting the line, for text of another
// form.
absl::StatusOr<std::vector<DropRule>> FindNftDrops(absl::string_view text,
                                                   bool without_iptables);

}  // namespace clusterd

#endif  // DAEMON_HOST_FIREWALL_PACKET_FILTER_H_
