// A plan's lines for people:
//   device 3: address 10.0.0.1/24 -> 10.20.0.17/24
//   net.core.somaxconn: 4096 -> 65535
//   /etc/sysctl.d/90-clusterd.conf: net.core.somaxconn = 65535
#ifndef CONFIG_PLAN_PLAN_TEXT_H_
#define CONFIG_PLAN_PLAN_TEXT_H_

#include <string>

#include "proto/plan.pb.h"

namespace clusterd {

// Never empty; a setting that this version does not know says so.
std::string StepText(const PlanStep& step);

// "device 3: gateway 10.0.0.254 cannot be planned: …; correct the …"
std::string BlockedText(const BlockedChange& blocked);

}  // namespace clusterd

#endif  // CONFIG_PLAN_PLAN_TEXT_H_
