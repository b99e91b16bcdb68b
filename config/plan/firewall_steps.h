// Plans what the firewall policy asks of ufw and firewalld.
//
//   policy      firewall                       step
//   disabled    active or starts at boot       stop and disable it
//   open-ports  active                         open what is missing
//   open-ports  stopped, but starts at boot    blocked: rules can be changed
//                                              and read only while it runs
//   ignore      any                            none
//
// Opened: the HCCL range, the rendezvous port and the ssh port, TCP, only from
// the host addresses of the cluster, running and permanently.
#ifndef CONFIG_PLAN_FIREWALL_STEPS_H_
#define CONFIG_PLAN_FIREWALL_STEPS_H_

#include "config/plan/host_plan_builder.h"
#include "proto/spec.pb.h"

namespace clusterd {

void PlanFirewallSteps(const ClusterSpec& spec, HostPlanBuilder* plan);

}  // namespace clusterd

#endif  // CONFIG_PLAN_FIREWALL_STEPS_H_
