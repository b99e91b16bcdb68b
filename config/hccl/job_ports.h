// The ports that HCCL will use on a host: from its variables there, then from
// cluster.yaml, then from HCCL's own defaults. Pure.
#ifndef CONFIG_HCCL_JOB_PORTS_H_
#define CONFIG_HCCL_JOB_PORTS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "config/values/port_set.h"
#include "proto/facts.pb.h"
#include "proto/job.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// The number of ports that HCCL takes on a host, from its base port on, by CANN
// version. HCCL_IF_BASE_PORT's pages say 16 for CANN 5.0.4, 6.3 and 8.0, and
// 32 from 8.2 on (https://www.hiascend.com/document/detail/zh/canncommercial/
// 82RC1/maintenref/envvar/envref_07_0074.html); the number for 8.1 is not
// published. The defaults are those of an unknown version.
struct CannPorts {
  uint32_t certain = 16;
  uint32_t possible = 32;
};

// Ports for a job's rendezvous (MASTER_PORT) that names none; hosts report
// which are taken. The vendor's example has the first (PyTorch on two servers
// of eight). torchrun's own default, 29500, is the likeliest to be taken. All
// lie below the ports that Linux gives to outgoing connections.
inline constexpr uint32_t kFirstMasterPort = 29501;
inline constexpr uint32_t kLastMasterPort = 29999;

// Takes "8.0.0" or "8.2.RC1"; nothing for a text that is not a version.
std::optional<CannPorts> CannPortsOf(absl::string_view version);

// hccl.base_port and the ports after it. A spec without the two numbers means
// HCCL's defaults, 60000 and 32.
PortSet HcclPorts(const ClusterSpec& spec);

// The HCCL range, the rendezvous port, the ssh port and those of other
// services, where they are set.
PortSet JobPorts(const ClusterSpec& spec);

// The ports of the job's other services.
PortSet ServicePortsOf(const ClusterSpec& spec);

// The same where the number is uncertain: an unknown CANN takes 16 ports, and
// may take 32. The spec overrides the host, which makes 32 certain and never
// 16: containers may have a newer CANN. Without a pinned base port HCCL looks
// for a free one: 16 are certain.
struct HcclPortNeed {
  PortSet certain;
  PortSet possible;
  // HCCL takes each of these and no other one instead.
  bool is_pinned = false;
  bool is_any = false;  // The kernel chooses; both sets are empty.
  // True if the uncertainty has another reason than an unknown CANN.
  bool cann_is_known = false;
  // The variable with the ports; null: the spec. Points into the facts or the
  // job, as `unclear`.
  const EnvironmentVariable* source = nullptr;
  bool is_of_job = false;  // From the job alone: unknown to plans.
  // A variable that only a shell knows, so the ports may differ; or null.
  const EnvironmentVariable* unclear = nullptr;
};

// The first row that applies decides; `job` may be null, and a value that HCCL
// refuses counts as not set:
//   HCCL_HOST_SOCKET_PORT_RANGE, not on A1     auto: none; else those
//   HCCL_IF_BASE_PORT of the job               from there
//   HCCL_IF_BASE_PORT of the host's own files  from there, and from the spec's
//   hccl.base_port, which launches export      from there
//   none                                       from 60000, not pinned
HcclPortNeed HcclPortsOn(const ClusterSpec& spec, const HostFacts& host,
                         const JobSpec* job = nullptr);
// With the rendezvous and the ssh port.
HcclPortNeed JobPortsOn(const ClusterSpec& spec, const HostFacts& host,
                        const JobSpec* job = nullptr);

// Ports that a host checks in addition to the requested ones: those that lines
// of its files may give to HCCL, and MASTER_PORT.
PortSet PortsOfLogins(const EnvironmentFact::Variables& variables);

// Ports of the set that the host gives to outgoing connections, and that need a
// reservation; all if that is not known.
PortSet HandedOut(const PortSet& ports, const HostFacts& host);

}  // namespace clusterd

#endif  // CONFIG_HCCL_JOB_PORTS_H_
