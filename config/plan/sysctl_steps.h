// Plans the kernel parameters: the running value, and with `persistent: true`
// what the next boot sets.
//
//   net.ipv4.ip_local_reserved_ports   the HCCL range is added to what is
//                                      reserved already
//   net.core.somaxconn,                raised to the spec's value; a higher one
//   net.ipv4.tcp_max_syn_backlog       stays
//
// At boot the last assignment of sysctl.d wins. Where that is not good enough
// our own file gets the key; where a file after ours would still win, the key
// is blocked and the plan names file, line and what to write there.
#ifndef CONFIG_PLAN_SYSCTL_STEPS_H_
#define CONFIG_PLAN_SYSCTL_STEPS_H_

#include "config/plan/host_plan_builder.h"
#include "proto/spec.pb.h"

namespace clusterd {

// Where /proc/sys is read-only for clusterd, a value that would have to change
// is blocked.
void PlanSysctlSteps(const ClusterSpec& spec, HostPlanBuilder* plan);

// The running values alone, in the network namespace that the facts are of:
// systemd applies sysctl.d to the host's own only.
void PlanNamespaceSysctlSteps(const ClusterSpec& spec, HostPlanBuilder* plan);

}  // namespace clusterd

#endif  // CONFIG_PLAN_SYSCTL_STEPS_H_
