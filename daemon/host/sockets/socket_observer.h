// Which sockets are bound in given ports, and which processes hold them.
#ifndef DAEMON_HOST_SOCKETS_SOCKET_OBSERVER_H_
#define DAEMON_HOST_SOCKETS_SOCKET_OBSERVER_H_

#include "config/values/port_set.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/namespace/network_namespace.h"
#include "proto/facts.pb.h"

namespace clusterd {

// At most this many sockets are named; with more, the fact is UNREADABLE.
inline constexpr int kMaxBoundSockets = 4096;

// TCP and UDP over IPv4 and IPv6 in this network namespace, in any state, by
// port: listening sockets take a port, and so do connections that got it as
// their own end. TCP sockets that are bound and neither listen nor are
// connected are in no table. Owners come from /proc/<pid>/fd; pid 0 where no
// process can be seen to have it. Tables and owners may differ in age by the
// time it takes to read them. The fact is missing if a table is, but for IPv6's
// where the kernel has none.
SocketsFact ReadSockets(const FileReader& files, const PortSet& ports,
                        const TimeBudget& budget);

// The same in another network namespace. The fact is missing if it may not be
// entered.
SocketsFact ReadSocketsIn(const OpenNetworkNamespace& opened,
                          const FileReader& files, const PortSet& ports,
                          const TimeBudget& budget);

}  // namespace clusterd

#endif  // DAEMON_HOST_SOCKETS_SOCKET_OBSERVER_H_
