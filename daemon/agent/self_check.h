// What this host can say about itself with nobody's help: its facts, and the
// rules that need one host only.
#ifndef DAEMON_AGENT_SELF_CHECK_H_
#define DAEMON_AGENT_SELF_CHECK_H_

#include <optional>
#include <string>

#include "daemon/host/host_observer.h"
#include "proto/agent_hub.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// A spec for a host that was given none: its product by the NPUs found (none if
// that does not tell), the kernel values and HCCL ports that HCCL's own
// defaults need, and no planned addresses.
ClusterSpec AssumedSpec(const std::string& cluster, const HostFacts& facts);

// Observes now, then judges by `spec`, or by AssumedSpec without one. The
// report's notes say which. Its run id is empty; times are the observation's.
// Blocks as long as the observation takes.
CheckSelfResponse CheckSelf(HostObserver* observer, const std::string& host,
                            const std::optional<ClusterSpec>& spec);

}  // namespace clusterd

#endif  // DAEMON_AGENT_SELF_CHECK_H_
