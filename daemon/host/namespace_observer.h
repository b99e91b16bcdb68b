// The observation of one network namespace of this machine: its kernel
// parameters and its sockets, and nothing of the host around it.
#ifndef DAEMON_HOST_NAMESPACE_OBSERVER_H_
#define DAEMON_HOST_NAMESPACE_OBSERVER_H_

#include "config/values/port_set.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/files/host_access.h"
#include "daemon/host/namespace/network_namespace.h"
#include "proto/facts.pb.h"

namespace clusterd {

// `network_namespace`, `kernel` and, if `ports` is not empty, `sockets` of the
// open namespace that people call `target`, and the boot id, which with the
// numbers in `kernel` tells it from every other. Otherwise `missing`, with the
// reason why it cannot be entered.
HostFacts ReadOpenNamespace(const OpenNetworkNamespace& opened,
                            const NetworkNamespace& target,
                            const FileReader& files, const PortSet& ports,
                            const TimeBudget& budget);

// Finds it first; `missing` says why it cannot be found.
HostFacts ReadNamespace(const HostAccess& host, const NetworkNamespace& target,
                        const PortSet& ports);

}  // namespace clusterd

#endif  // DAEMON_HOST_NAMESPACE_OBSERVER_H_
