// The ports that a job needs on every host.
#ifndef CONFIG_RULES_JOB_PORTS_H_
#define CONFIG_RULES_JOB_PORTS_H_

#include "config/spec/port_set.h"
#include "proto/spec.pb.h"

namespace clusterd {

// hccl.base_port and the ports after it. A spec without the two numbers means
// HCCL's defaults, 60000 and 32.
PortSet HcclPorts(const ClusterSpec& spec);

// The HCCL range, the rendezvous port and the ssh port, where they are set.
PortSet JobPorts(const ClusterSpec& spec);

}  // namespace clusterd

#endif  // CONFIG_RULES_JOB_PORTS_H_
