// A network namespace of this machine by its number, for when the name under
// which people knew it leads nowhere, or elsewhere, by now: a container that
// stopped may have shared the host's own namespace, or that of a pod which goes
// on; a process may have ended before the others in there.
#ifndef DAEMON_HOST_NETWORK_NAMESPACE_SEARCH_H_
#define DAEMON_HOST_NETWORK_NAMESPACE_SEARCH_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "daemon/host/host_observer.h"
#include "daemon/host/network_namespace.h"

namespace clusterd {

// Looks at every thread of every process, and at the files in /run/netns and
// docker's own folders, below paths.root. At any moment one namespace at most
// has the number; whether it is still the one that had it before is for the
// caller to tell (ReadNetworkNamespaceCookie, the boot id).
//   NotFound     nothing holds it. Not seen is one that only an open
//                descriptor or a file bound elsewhere holds.
//   Unavailable  not found, and there is a process or file whose namespace
//                could not be told
// Errors begin with `name`, as the errors of the opened namespace do.
absl::StatusOr<OpenNetworkNamespace> FindNetworkNamespaceByInode(
    const HostPaths& paths, uint64_t inode, const std::string& name);

}  // namespace clusterd

#endif  // DAEMON_HOST_NETWORK_NAMESPACE_SEARCH_H_
