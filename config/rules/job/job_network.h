// The network that connects the ranks of a job, from product, servers, super
// pods and variables. Inside a server, and inside a logical super pod, HCCL
// takes HCCS; all other traffic uses the devices' RoCE ports.
#ifndef CONFIG_RULES_JOB_JOB_NETWORK_H_
#define CONFIG_RULES_JOB_JOB_NETWORK_H_

#include <string>
#include <utility>
#include <vector>

#include "config/rules/view/cluster_view.h"
#include "proto/finding.pb.h"

namespace clusterd {

// Points into the view.
struct JobNetwork {
  enum class Need {
    kRoce,      // Also of a product whose network is not published.
    kNoRoce,    // HCCS alone carries the job.
    kNotKnown,  // A super pod, or a variable of a server, is not known.
  };
  Need need = Need::kRoce;
  // "one server", "2 logical super pods: 0 (server0), 1 (server1)"; no words:
  // the product's network is not published.
  FindingValue why;
  // Servers that answered, with the unknown of each: the super pod, or a
  // variable that only a shell knows, with its place.
  std::vector<std::pair<const HostView*, FindingValue>> unknown = {};
  // Logical super pods that reach over several real ones, and their servers.
  std::vector<std::pair<std::string, FindingValue>> spread = {};
};

// The network of the job; without one, as if one job took all servers.
JobNetwork NetworkOfJob(const ClusterView& view);

// Turns findings of a rule about RoCE ports into warnings, if the job does not
// use them, or failures into unknowns, if that is not known.
void WeighByNetwork(const JobNetwork& network, RuleResult* result);

// The jobs that the servers of an inventory can run, a line each, if RoCE ports
// are unused or rules about them fail. Empty: nothing stops a job.
std::vector<FindingValue> JobsThatCanRun(const ClusterView& view,
                                         const Report& report);

}  // namespace clusterd

#endif  // CONFIG_RULES_JOB_JOB_NETWORK_H_
