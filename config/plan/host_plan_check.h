// What a root daemon insists on before it believes a plan that somebody sent:
// every value is one that config/plan itself could have planned.
#ifndef CONFIG_PLAN_HOST_PLAN_CHECK_H_
#define CONFIG_PLAN_HOST_PLAN_CHECK_H_

#include "absl/status/status.h"
#include "proto/plan.pb.h"

namespace clusterd {

// A host's report names every step, and a controller takes no longer list.
inline constexpr int kMaxPlanSteps = 8192;

// InvalidArgument, naming the step and quoting the value: a step of a setting
// that this version does not know, of another kind than its setting's, or out
// of number; an address, netmask, port, source (wider than /16: plans open
// ports for exactly the cluster's hosts), device id (over 63), kernel parameter
// or path that clusterd never sets; steps that rest on no fact; a network
// namespace that is none, with a step that is no running kernel parameter, or
// with steps that do not rest on which one it is; over kMaxPlanSteps or 65536
// facts.
absl::Status CheckHostPlan(const HostPlan& plan);

}  // namespace clusterd

#endif  // CONFIG_PLAN_HOST_PLAN_CHECK_H_
