// Plans what the spec says about device addresses: address and netmask, then
// gateway, then detect address, each through hccn_tool.
//
//   live     hccn.conf   step
//   differs  any         set (address, gateway or detect address)
//   equal    differs     set again, so that the tool writes the file
//   equal    equal       none
//   unknown  any         blocked
//
// A live gateway or detect address that the spec does not name is kept: where
// hccn.conf has another or none it is set again as well, if the tool takes it
// and the file has, or gets, the device's address. Nothing is planned and
// nothing blocked where that cannot be told, or where the file alone has one:
// hccn_tool has no command that takes one away.
//
// Setting an address makes the tool drop a gateway, route or ip_route of the
// device that is outside the new subnet (hccn_tool source, hicann/driver
// ef377e95, tool_ops.c). A gateway that fits is put back; the rest is listed
// with the step, which also says that routes of the device alone, which no fact
// tells, may go with the old address. Devices that take over each other's
// addresses are ordered so that an address is free before it is set; a cycle is
// blocked.
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
