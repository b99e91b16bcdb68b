// What a job needs of every host, for the rules and for who asks the hosts.
#ifndef CONFIG_RULES_HOST_RULES_H_
#define CONFIG_RULES_HOST_RULES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "config/rules/view/cluster_view.h"
#include "config/values/port_set.h"
#include "proto/spec.pb.h"

namespace clusterd {

// hccl.base_port and the ports after it. A spec without the two numbers means
// HCCL's defaults, 60000 and 32.
PortSet HcclPorts(const ClusterSpec& spec);

// The HCCL range, the rendezvous port and the ssh port, where they are set.
PortSet JobPorts(const ClusterSpec& spec);

// What both backlogs must at least be: `planned` of the spec (0: 65535), or one
// place for each device of the cluster, as all of them dial the root at once.
// The second never asks for more than the 65535 that HCCL itself advises.
uint64_t NeededBacklog(const ClusterSpec& spec, uint32_t planned);

// How to set a running parameter where the values come from, ready to paste:
// | values of       | /proc/sys | fix                                        |
// |-----------------|-----------|--------------------------------------------|
// | host            | writable  | sysctl -w                                  |
// | host            | read-only | the same on the host itself                |
// | other namespace | writable  | clusterctl plan --netns, or nsenter        |
// | other namespace | read-only | --sysctl when the container is made anew   |
// A namespace that is the host's own counts as the host.
std::string SetParameterFix(const HostView& host, absl::string_view key,
                            absl::string_view value);

}  // namespace clusterd

#endif  // CONFIG_RULES_HOST_RULES_H_
