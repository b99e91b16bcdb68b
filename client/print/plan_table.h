// A plan as people read it, folded over hosts that agree:
//
//   Cluster demo, atlas-training, plan for 12 hosts: node[01-12]
//
//   node[01-12]
//     sysctl  net.core.somaxconn: 4096 -> 65535
//     sysctl  /etc/sysctl.d/90-clusterd.conf: net.core.somaxconn = 65535
//     also: sockets that listen already keep their old limit ...
//
//   node03
//     blocked  device 3: gateway 10.0.0.254
//       reason  it is outside 10.20.0.0/24
//       fix     correct the gateway in cluster.yaml
//
//   node[11-12]
//     no step fixes  link, lldp (unknown)
//       more    clusterctl check node[11-12]
//
//   Nothing to do: node[04-10]
//
//   PLAN: 24 steps on 12 hosts, 1 change blocked on 1 host, 2 left failing, of
//   12 hosts; digest 6f1b0c9d2e3a
#ifndef CLIENT_PRINT_PLAN_TABLE_H_
#define CLIENT_PRINT_PLAN_TABLE_H_

#include <ostream>
#include <string>

#include "config/words/terminal.h"
#include "proto/plan.pb.h"

namespace clusterd {

// The steps' namespace, as NetworkNamespaceText; "several" if hosts differ.
// Empty: the hosts' own, or the plan has no steps.
std::string NamespaceOfPlan(const ClusterPlan& plan);

// Makes every text of the plan safe for a terminal. `verbose`: also the
// precondition and the undo of each step, and every group of hosts.
void PrintPlanTable(const ClusterPlan& plan, const Style& style, bool verbose,
                    std::ostream& out);

// "demo: PLAN 40 steps on 2 hosts, of 12 hosts; digest 6f1b0c9d2e3a", without
// line end; safe for a terminal of UTF-8.
std::string PlanShort(const ClusterPlan& plan);

}  // namespace clusterd

#endif  // CLIENT_PRINT_PLAN_TABLE_H_
