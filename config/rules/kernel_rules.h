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

// " (in network namespace 4026532000, not that of process 1)" where the host's
// kernel values come from such a place, else "".
std::string NamespaceText(const HostView& host);

// A running value that is not known. A key that does not exist is told apart:
// a kernel that does not keep it per network namespace has no such file in a
// container.
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
