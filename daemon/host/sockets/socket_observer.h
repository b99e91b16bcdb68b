// Which sockets are bound in given ports, and which processes hold them, from
// /proc/net/{tcp,tcp6,udp,udp6} and /proc/PID/fd:
//   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000
//      0        0 12345 1 0000000000000000 100 0 0 10 0
// Address and port of this end in hexadecimal, the address as the machine's own
// 32-bit words, then the far end, the state, and as tenth word the inode that
// /proc/PID/fd names (Linux Documentation/networking/proc_net_tcp).
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

// At most this many sockets are named, connections that are alike as one. Where
// there are more, connections in a range of more than 512 ports are alike on
// all ports of it, and stand at one of these. With more even so, the fact is
// UNREADABLE.
inline constexpr int kMaxBoundSockets = 4096;

// TCP and UDP over IPv4 and IPv6 in this network namespace, in any state, by
// port: listening sockets take a port, and so do connections that got it as
// their own end; those of one address, state and process are one entry with
// their number, since a root of 1,152 x 8 ranks has 9,216. Connections of this
// process are left out: clusterd's way to the controller is no job's. TCP
// sockets that are bound and neither listen nor are connected are in no table.
// Owners come from /proc/<pid>/fd; pid 0 where no process can be seen to have
// it. Tables and owners may differ in age by the time it takes to read them.
// The fact is missing if a table is, but for IPv6's where the kernel has none.
SocketsFact ReadSockets(const FileReader& files, const PortSet& ports,
                        const TimeBudget& budget);

// The same in another network namespace. The fact is missing if it may not be
// entered.
SocketsFact ReadSocketsIn(const OpenNetworkNamespace& opened,
                          const FileReader& files, const PortSet& ports,
                          const TimeBudget& budget);

// The process that started it; 0 if it cannot be told.
uint32_t ReadParent(const FileReader& files, uint32_t pid);

struct SocketLine {
  // Without its process. The address is "127.0.0.1" or "::1"; the state
  // "LISTEN", "ESTABLISHED", …, "state 7f" for one not known here, "" for UDP.
  BoundSocket socket;
  // 0: no process has it, e.g. in TIME_WAIT.
  uint64_t inode = 0;
};

// A line of `table`, which is also the protocol: "tcp", "tcp6", "udp" or
// "udp6". InvalidArgument, quoting the line, if it is not a socket's.
absl::StatusOr<SocketLine> ParseSocketLine(absl::string_view table,
                                           absl::string_view line);

// Only the port of this end, to skip quickly what is not asked for.
absl::StatusOr<uint32_t> ParseSocketPort(absl::string_view line);

}  // namespace clusterd

#endif  // DAEMON_HOST_SOCKETS_SOCKET_OBSERVER_H_
