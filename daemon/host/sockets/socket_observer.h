// Finds the sockets bound in given ports, and their processes, from
// /proc/net/{tcp,tcp6,udp,udp6} and /proc/PID/fd:
//   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000
//      0        0 12345 1 0000000000000000 100 0 0 10 0
// Lines have the local address and port in hexadecimal, the address as the
// machine's own 32-bit words, then the far end, the state, and as tenth word
// the inode that /proc/PID/fd names (Linux
// Documentation/networking/proc_net_tcp).
#ifndef DAEMON_HOST_SOCKETS_SOCKET_OBSERVER_H_
#define DAEMON_HOST_SOCKETS_SOCKET_OBSERVER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/values/port_set.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/namespace/network_namespace.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Limit of the listed sockets; equal connections count as one. If there are
// more, connections in a range of more than 512 ports count as equal on all its
// ports, and are listed at one of these. If there are still more, the fact is
// UNREADABLE.
inline constexpr int kMaxBoundSockets = 4096;

// Reads TCP and UDP over IPv4 and IPv6 in this network namespace, in any state,
// by port: listening sockets take a port, and so do connections with it as
// their local end. Those of one address, state and process are one entry with
// their number, since a root of 1,152 x 8 ranks has 9,216. This process's
// connections are omitted: they lead to the controller. Bound TCP sockets that
// neither listen nor are connected are in no table. Owners are from
// /proc/<pid>/fd; pid 0 if no visible process has the socket. Tables and owners
// differ in age by the reading time. The fact is missing if a table is, except
// IPv6's of a kernel without it.
SocketsFact ReadSockets(const FileReader& files, const PortSet& ports,
                        const TimeBudget& budget);

// The same in another network namespace; missing if that cannot be entered.
SocketsFact ReadSocketsIn(const OpenNetworkNamespace& opened,
                          const FileReader& files, const PortSet& ports,
                          const TimeBudget& budget);

// Returns the process that started it; 0 if unknown.
uint32_t ReadParent(const FileReader& files, uint32_t pid);

struct SocketLine {
  // The socket without its process. The address is "127.0.0.1" or "::1"; the
  // state "LISTEN", "ESTABLISHED", …, "state 7f" if unknown, "" for UDP.
  BoundSocket socket;
  // 0 if it has no process, e.g. in TIME_WAIT.
  uint64_t inode = 0;
};

// Parses a line of `table`, whose name is also the protocol: "tcp", "tcp6",
// "udp" or "udp6". InvalidArgument, quoting the line, for another form.
absl::StatusOr<SocketLine> ParseSocketLine(absl::string_view table,
                                           absl::string_view line);

// Parses only the local port, to skip other lines quickly.
absl::StatusOr<uint32_t> ParseSocketPort(absl::string_view line);

}  // namespace clusterd

#endif  // DAEMON_HOST_SOCKETS_SOCKET_OBSERVER_H_
