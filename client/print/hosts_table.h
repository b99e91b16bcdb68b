// Attached hosts, join tokens and certificates, folded over hosts that agree:
//   STATE         HOSTS           SINCE      VERSION
//   attached      server[0-1023]  5 min-2 h  0.1.0
//   left          server1026      2 h        0.1.0    stream broken
//   not attached  server1024      3 min      0.1.0    stream broken
//   not attached  server1025      never
//   conflict      server7         12 min     0.1.0    another machine ...
//
//   Drift
//     server3: net.core.somaxconn is 128, applied was 65535 (apply 3fa2... by
//     ann)
//
//   STATE     HOSTS           EXPIRES                  SERIAL
//   by hand   node[001-1151]  2026-12-26 17:21 UTC          not renewed
#ifndef CLIENT_PRINT_HOSTS_TABLE_H_
#define CLIENT_PRINT_HOSTS_TABLE_H_

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "config/words/terminal.h"
#include "proto/controller.pb.h"
#include "proto/trust.pb.h"

namespace clusterd {

// Makes all texts safe for a terminal. Ages are by our clock, `now`. SINCE is
// the time attached, or since the host was last seen; a range if folded hosts
// differ. Ends with a line of counts.
void PrintHostsTable(const ListHostsResponse& hosts, const Style& style,
                     absl::Time now, std::ostream& out);

// The states of hosts that --state takes.
std::vector<absl::string_view> HostStateNames();

// Removes hosts that are not in this state of HostStateNames.
void KeepHostsInState(size_t state, ListHostsResponse* hosts);

// "demo: 2 of 3 hosts attached; not attached: server2", without line end. With
// a state "demo: 1 not attached: server2". Safe in UTF-8.
std::string HostsShort(const ListHostsResponse& hosts,
                       std::optional<size_t> state = std::nullopt);

// Prints one host and all its facts, for `clusterctl describe`:
//   server1: attached for 12 min, clusterd 0.1.0, from 10.0.0.2:41234
// followed by PrintFactsTable.
void PrintHostFacts(const DescribeHostResponse& answer, const Style& style,
                    absl::Time now, std::ostream& out);

// The command that joins a host. `controller` is the user's HOST:PORT for it.
std::string JoinLine(const CreateTokenResponse& made,
                     const std::string& controller);

void PrintTokens(const ListTokensResponse& tokens, const Style& style,
                 absl::Time now, std::ostream& out);
void PrintCertificates(const ListCertificatesResponse& certificates,
                       const Style& style, absl::Time now, std::ostream& out);

// "1151 enrolled, 1 expired".
std::string CertificatesShort(const ListCertificatesResponse& certificates);

}  // namespace clusterd

#endif  // CLIENT_PRINT_HOSTS_TABLE_H_
