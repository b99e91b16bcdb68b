// Plans the TLS switch where the spec states one. A device whose switch is not
// known is blocked: the vendor's query writes to hccn.conf when the key is
// absent, so observation may not have been allowed to ask.
#ifndef CONFIG_PLAN_TLS_STEPS_H_
#define CONFIG_PLAN_TLS_STEPS_H_

#include "config/plan/host_plan_builder.h"
#include "proto/spec.pb.h"

namespace clusterd {

// Nothing if the spec does not state the switch.
void PlanTlsSteps(const ClusterSpec& spec, const ServerSpec& server,
                  HostPlanBuilder* plan);

}  // namespace clusterd

#endif  // CONFIG_PLAN_TLS_STEPS_H_
