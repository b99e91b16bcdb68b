// What rules about a host share: the ports that a job needs there, and how to
// put kernel parameters, of which some are a network namespace's own.
#ifndef CONFIG_RULES_HOST_RULES_H_
#define CONFIG_RULES_HOST_RULES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"
#include "config/values/port_set.h"
#include "proto/spec.pb.h"

namespace clusterd {

inline constexpr char kReservedPorts[] = "net.ipv4.ip_local_reserved_ports";

// hccl.base_port and the ports after it. A spec without the two numbers means
// HCCL's defaults, 60000 and 32.
PortSet HcclPorts(const ClusterSpec& spec);

// The HCCL range, the rendezvous port and the ssh port, where they are set.
PortSet JobPorts(const ClusterSpec& spec);

// What both backlogs must at least be: `planned` of the spec (0: 65535), or one
// place for each device of the cluster, as all of them dial the root at once.
// The second never asks for more than the 65535 that HCCL itself advises.
uint64_t NeededBacklog(const ClusterSpec& spec, uint32_t planned);

// " in container:train-1" where that namespace was asked for; " (in network
// namespace 4026532000, not that of process 1)" where clusterd itself lives in
// one; else "".
std::string NamespaceText(const HostView& host);

// ", and /proc/sys is read-only where clusterd runs" if it is, else "".
std::string ReadOnlyText(const HostView& host);

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

// That the running kernel has no such parameter, where it was looked for.
FindingText AbsentParameter(const HostView& host, absl::string_view key);

// Whether a running value is known; if not, adds that. A key that does not
// exist is told apart: a kernel that does not keep it per network namespace has
// no such file in a container. Kept per namespace since Linux 3.16
// (ip_local_reserved_ports, mainline 122ff243f5f1) and about 4.10
// (tcp_max_syn_backlog).
template <typename Fact>
bool KnowsParameter(const HostView& host, absl::string_view key,
                    const Fact& fact, RuleReport& report) {
  const Missing* missing = MissingOf(fact);
  const bool exists =
      missing == nullptr || missing->reason() != Missing::ABSENT;
  if (exists) return report.Knows(host, key, fact);
  report.Add(host, AbsentParameter(host, key));
  return false;
}

}  // namespace clusterd

#endif  // CONFIG_RULES_HOST_RULES_H_
