// Plans the repair of an hccn.conf whose form would ruin the tool's next write
// or the recovery at boot. First of all steps: the tool writes the file in
// every other device step.
#ifndef CONFIG_PLAN_HCCN_CONF_STEPS_H_
#define CONFIG_PLAN_HCCN_CONF_STEPS_H_

#include "config/plan/host_plan_builder.h"

namespace clusterd {

// Nothing if the file is in order, or could not be read. A problem that cannot
// be repaired without guessing is blocked, with its line.
void PlanHccnConfSteps(HostPlanBuilder* plan);

}  // namespace clusterd

#endif  // CONFIG_PLAN_HCCN_CONF_STEPS_H_
