// Plans what the spec says about device addresses: address and netmask, then
// gateway, then detect address, each through hccn_tool.
//
//   live     hccn.conf   step
//   differs  any         set (address, gateway or detect address)
//   equal    differs     set again, so that the tool writes the file
//   equal    equal       none
//   unknown  any         blocked
//
// Setting an address makes the tool drop a gateway, route or ip_route of the
// device that is outside the new subnet (hccn_tool source, hicann/driver
// ef377e95, tool_ops.c). A gateway that fits is put back; the rest is listed
// with the step. Devices that take over each other's addresses are ordered so
// that an address is free before it is set; a cycle is blocked.
#ifndef CONFIG_PLAN_DEVICE_STEPS_H_
#define CONFIG_PLAN_DEVICE_STEPS_H_

#include "config/plan/host_plan_builder.h"
#include "proto/spec.pb.h"

namespace clusterd {

void PlanDeviceSteps(const ClusterSpec& spec, const ServerSpec& server,
                     HostPlanBuilder* plan);

// Why hccn_tool cannot be used for changes on this host; "": it can.
std::string WhyNoSetCommands(const HostFacts& facts);

}  // namespace clusterd

#endif  // CONFIG_PLAN_DEVICE_STEPS_H_
