// The commands of the classic tool: their context, each `-cmd -option` by
// family, and the table from command lines to them.
#ifndef TESTS_SIM_TOOL_COMMANDS_H_
#define TESTS_SIM_TOOL_COMMANDS_H_

#include <optional>
#include <string>
#include <vector>

#include "tests/sim/tool/driver.h"
#include "tests/sim/tool/failure.h"
#include "tests/sim/tool/product.h"
#include "tests/sim/tool/tool_server.h"

namespace clusterd::sim {

// The context of one command.
struct ToolContext {
  const ToolServer* server = nullptr;
  Driver* driver = nullptr;
  const HccnConf* conf = nullptr;
  Terminal* terminal = nullptr;
  // -i N; the device the command is for. Unset (-1) with -a.
  int device = -1;

  const Product& product() const { return driver->product(); }
  // Prints the data of a success.
  Outcome Print(const std::string& text) const {
    terminal->Out(text);
    return std::nullopt;
  }
  // The driver's, of the device.
  Outcome Ask(Mailbox call) const { return driver->Ask(call, device); }
  Outcome AskUnlisted() const { return driver->AskUnlisted(device); }
  Outcome AskToChange() const { return driver->AskToChange(device); }
  std::string Value(const std::string& name,
                    const std::string& otherwise = "") const {
    return driver->Value(name, device).value_or(otherwise);
  }
  long Number(const std::string& name, long otherwise) const {
    return driver->Number(name, device).value_or(otherwise);
  }
  void Change(const std::string& name, const std::string& value) const {
    driver->Change(name, device, value);
  }
  std::string Key(const std::string& name) const {
    return name + "_" + std::to_string(device);
  }
};

// Arguments after `-cmd -option`, already counted. A handler prints only the
// data of a success and returns the failure otherwise.
using Arguments = std::vector<std::string>;

// address_commands.cc
Outcome GetAddress(ToolContext& context, const Arguments& arguments);
Outcome SetAddress(ToolContext& context, const Arguments& arguments);
Outcome GetIpv6Address(ToolContext& context, const Arguments& arguments);
Outcome SetIpv6Address(ToolContext& context, const Arguments& arguments);
Outcome GetGateway(ToolContext& context, const Arguments& arguments);
Outcome SetGateway(ToolContext& context, const Arguments& arguments);
Outcome AcquireLease(ToolContext& context, const Arguments& arguments);
Outcome ReleaseLease(ToolContext& context, const Arguments& arguments);

// route_commands.cc
Outcome GetRoutes(ToolContext& context, const Arguments& arguments);
Outcome AddRoute(ToolContext& context, const Arguments& arguments);
Outcome DeleteRoute(ToolContext& context, const Arguments& arguments);
Outcome ClearRoutes(ToolContext& context, const Arguments& arguments);
Outcome AddIpRoute(ToolContext& context, const Arguments& arguments);
Outcome AddIpRule(ToolContext& context, const Arguments& arguments);
Outcome GetArp(ToolContext& context, const Arguments& arguments);
Outcome AddArp(ToolContext& context, const Arguments& arguments);

// health_commands.cc
Outcome GetDetectAddress(ToolContext& context, const Arguments& arguments);
Outcome SetDetectAddress(ToolContext& context, const Arguments& arguments);
Outcome GetNetHealth(ToolContext& context, const Arguments& arguments);
Outcome GetLldp(ToolContext& context, const Arguments& arguments);
Outcome GetLocalLldp(ToolContext& context, const Arguments& arguments);
Outcome SetLocalLldp(ToolContext& context, const Arguments& arguments);
Outcome Ping(ToolContext& context, const Arguments& arguments);
Outcome HccsPing(ToolContext& context, const Arguments& arguments);

// link_commands.cc
Outcome GetLink(ToolContext& context, const Arguments& arguments);
Outcome SetLink(ToolContext& context, const Arguments& arguments);
Outcome GetLinkStat(ToolContext& context, const Arguments& arguments);
Outcome ClearLinkStat(ToolContext& context, const Arguments& arguments);
Outcome GetOptical(ToolContext& context, const Arguments& arguments);

// tls_commands.cc
Outcome GetHostTls(ToolContext& context, const Arguments& arguments);
Outcome GetTls(ToolContext& context, const Arguments& arguments);
Outcome SetTls(ToolContext& context, const Arguments& arguments);

// recovery_commands.cc
Outcome Recover(ToolContext& context, const Arguments& arguments);
Outcome RecoverAll(ToolContext& context, const Arguments& arguments);
Outcome GetRecoveryStatus(ToolContext& context, const Arguments& arguments);
// The work of `-link -s up`: the items of one device. False if any failed.
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
Outcome SetDscpToTc(ToolContext& context, const Arguments& arguments);
Outcome GetSpeed(ToolContext& context, const Arguments& arguments);
Outcome GetDuplex(ToolContext& context, const Arguments& arguments);
Outcome GetFec(ToolContext& context, const Arguments& arguments);
Outcome GetProcess(ToolContext& context, const Arguments& arguments);
Outcome GetVersion(ToolContext& context, const Arguments& arguments);
Outcome GetVnic(ToolContext& context, const Arguments& arguments);
Outcome GetStatus(ToolContext& context, const Arguments& arguments);
Outcome GetHardwareStats(ToolContext& context, const Arguments& arguments);
Outcome GetPacketStats(ToolContext& context, const Arguments& arguments);
Outcome GetUdpPorts(ToolContext& context, const Arguments& arguments);
// Takes the mode before its arguments: port, auto, multi_qp, code.
Outcome SetUdpPort(ToolContext& context, const Arguments& arguments);
// Gives the device the port, and does not touch hccn.conf.
Outcome GiveRocePort(ToolContext& context, const std::string& port);
Outcome GetPriorityToTc(ToolContext& context, const Arguments& arguments);
Outcome GetBandwidth(ToolContext& context, const Arguments& arguments);

// command_table.cc
struct CommandForm {
  // Words after the command, e.g. {"-g"} or {"-inet6", "-s"}.
  std::vector<std::string> option;
  int min_arguments;
  int max_arguments;
  Outcome (*run)(ToolContext&, const Arguments&);
  // A success of these ends in "Cmd executed successfully!".
  bool changes;
  // Arguments need not come in pairs.
  bool any_count = false;
};

struct CommandEntry {
  std::string name;
  // Part of the product's command list, which the published build leaves out.
  bool of_product_list;
  std::vector<CommandForm> forms;
  // Printed after the heading of a usage.
  std::string usage;
};

// Commands behind `-i N`, and behind `-a`. Null: the build lacks the command.
const CommandEntry* FindCommand(const std::string& name, bool all_devices,
                                Product::Build build);

// The output of `-h`.
std::string ToolUsage();

}  // namespace clusterd::sim

#endif  // TESTS_SIM_TOOL_COMMANDS_H_
