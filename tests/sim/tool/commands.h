// The commands of the classic tool by family: `-cmd -option` each. A handler
// gets the arguments behind the option, already counted; it prints only the
// data of a success and returns the failure otherwise. command_table.h says
// which command line leads where.
#ifndef TESTS_SIM_TOOL_COMMANDS_H_
#define TESTS_SIM_TOOL_COMMANDS_H_

#include "tests/sim/tool/failure.h"
#include "tests/sim/tool/tool_context.h"

namespace clusterd {
namespace sim {

// address_commands.cc
Outcome GetAddress(ToolContext& context, const Arguments& arguments);
Outcome SetAddress(ToolContext& context, const Arguments& arguments);
Outcome GetIpv6Address(ToolContext& context, const Arguments& arguments);
Outcome SetIpv6Address(ToolContext& context, const Arguments& arguments);

// gateway_commands.cc
Outcome GetGateway(ToolContext& context, const Arguments& arguments);
Outcome SetGateway(ToolContext& context, const Arguments& arguments);

// route_commands.cc
Outcome GetRoutes(ToolContext& context, const Arguments& arguments);
Outcome AddRoute(ToolContext& context, const Arguments& arguments);
Outcome DeleteRoute(ToolContext& context, const Arguments& arguments);
Outcome ClearRoutes(ToolContext& context, const Arguments& arguments);
Outcome AddIpRoute(ToolContext& context, const Arguments& arguments);
Outcome GetArp(ToolContext& context, const Arguments& arguments);
Outcome AddArp(ToolContext& context, const Arguments& arguments);

// health_commands.cc
Outcome GetDetectAddress(ToolContext& context, const Arguments& arguments);
Outcome SetDetectAddress(ToolContext& context, const Arguments& arguments);
Outcome GetNetHealth(ToolContext& context, const Arguments& arguments);
Outcome GetLldp(ToolContext& context, const Arguments& arguments);
Outcome Ping(ToolContext& context, const Arguments& arguments);
Outcome HccsPing(ToolContext& context, const Arguments& arguments);

// link_commands.cc
Outcome GetLink(ToolContext& context, const Arguments& arguments);
Outcome SetLink(ToolContext& context, const Arguments& arguments);
Outcome GetLinkStat(ToolContext& context, const Arguments& arguments);
Outcome GetOptical(ToolContext& context, const Arguments& arguments);

// tls_commands.cc
Outcome GetTls(ToolContext& context, const Arguments& arguments);
Outcome SetTls(ToolContext& context, const Arguments& arguments);

// recovery_commands.cc
Outcome Recover(ToolContext& context, const Arguments& arguments);
Outcome RecoverAll(ToolContext& context, const Arguments& arguments);
Outcome GetRecoveryStatus(ToolContext& context, const Arguments& arguments);
// What `-link -s up` runs: the items of one device. False if any failed.
bool RecoverDevice(ToolContext& context);

// setting_commands.cc
Outcome GetMtu(ToolContext& context, const Arguments& arguments);
Outcome SetMtu(ToolContext& context, const Arguments& arguments);
Outcome GetMac(ToolContext& context, const Arguments& arguments);
Outcome SetMac(ToolContext& context, const Arguments& arguments);
Outcome GetShaping(ToolContext& context, const Arguments& arguments);
Outcome SetShaping(ToolContext& context, const Arguments& arguments);
Outcome GetPfc(ToolContext& context, const Arguments& arguments);
Outcome SetPfc(ToolContext& context, const Arguments& arguments);
Outcome GetDscpToTc(ToolContext& context, const Arguments& arguments);

// query_commands.cc
Outcome GetSpeed(ToolContext& context, const Arguments& arguments);
Outcome GetDuplex(ToolContext& context, const Arguments& arguments);
Outcome GetFec(ToolContext& context, const Arguments& arguments);
Outcome GetProcess(ToolContext& context, const Arguments& arguments);
Outcome GetVersion(ToolContext& context, const Arguments& arguments);
Outcome GetVnic(ToolContext& context, const Arguments& arguments);
Outcome GetStatus(ToolContext& context, const Arguments& arguments);
Outcome GetHardwareStats(ToolContext& context, const Arguments& arguments);
Outcome GetBandwidth(ToolContext& context, const Arguments& arguments);

// Any option that the product answers with "not supported".
Outcome RefuseNotSupported(ToolContext& context, const Arguments& arguments);

}  // namespace sim
}  // namespace clusterd

#endif  // TESTS_SIM_TOOL_COMMANDS_H_
