// Plans what the firewall policy asks of ufw and firewalld.
//
//   policy      firewall                       step
//   disabled    active or starts at boot       stop and disable it
//   open-ports  active                         open what is missing
//   open-ports  stopped, but starts at boot    blocked: rules can be changed
//                                              and read only while it runs
//   open-ports  stopped, not at boot either    none: nothing is in the way
//   ignore      any                            none
//
// Opened: the HCCL range, the rendezvous port and the ssh port, TCP, only from
// the host addresses of the cluster, running and permanently. With firewalld,
// which keeps the two apart, what is open in one of them alone is missing too.
//
// open-ports never starts a firewall and never stops one. Where it opened ports
// it keeps the firewall running: one that is found stopped later is drift
// (step_check.h), since whoever applied that relied on a firewall that runs.
// Started again it is as applied. No step starts it, not with `enforce` either:
// the plan notes it for a person.
#ifndef CONFIG_PLAN_FIREWALL_STEPS_H_
#define CONFIG_PLAN_FIREWALL_STEPS_H_

#include "config/plan/host_plan_builder.h"
#include "proto/spec.pb.h"

namespace clusterd {

void PlanFirewallSteps(const ClusterSpec& spec, HostPlanBuilder* plan);

}  // namespace clusterd

#endif  // CONFIG_PLAN_FIREWALL_STEPS_H_
