// Kernel parameters: what runs now, and what the next boot would set.
#ifndef CONFIG_RULES_KERNEL_RULES_H_
#define CONFIG_RULES_KERNEL_RULES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"

namespace clusterd {

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

// A running value that is not known. A key that does not exist is told apart:
// a kernel that does not keep it per network namespace has no such file in a
// container. Kept per namespace since Linux 3.16 (ip_local_reserved_ports,
// mainline 122ff243f5f1) and about 4.10 (tcp_max_syn_backlog).
void AddUnknownKey(const HostView& host, absl::string_view key,
                   const Missing* missing, RuleReport& report);
template <typename Fact>
void AddUnknownKey(const HostView& host, absl::string_view key,
                   const Fact& fact, RuleReport& report) {
  AddUnknownKey(host, key, MissingOf(fact), report);
}

void CheckListenBacklog(const ClusterView& view, RuleReport& report);
void CheckSynBacklog(const ClusterView& view, RuleReport& report);
void CheckSysctlPersistent(const ClusterView& view, RuleReport& report);

}  // namespace clusterd

#endif  // CONFIG_RULES_KERNEL_RULES_H_
