// Plans the TLS switch where the spec states one:
//   live     hccn.conf   step
//   differs  any         set
//   equal    differs     set again, so that the tool writes the file
//   equal    equal       none
//   unknown  any         blocked
// The live switch is what the tool said, as it is asked where a spec states one
// (ObserveRequest.ask_tls). Where hccn.conf lacks the key the vendor's query
// writes it, so the spec, the host or the file's form may have kept the
// observation from asking.
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
