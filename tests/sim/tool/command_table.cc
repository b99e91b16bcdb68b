#include "absl/strings/str_cat.h"
#include "tests/sim/tool/commands.h"

namespace clusterd::sim {
namespace {

CommandForm Query(Outcome (*run)(ToolContext&, const Arguments&)) {
  return {{"-g"}, 0, 0, run, false};
}

CommandForm Set(int arguments, Outcome (*run)(ToolContext&, const Arguments&)) {
  return {{"-s"}, arguments, arguments, run, true};
}

// Commands that every build has.
std::vector<CommandEntry> CoreCommands() {
  return {
      {"-ip",
       false,
       {Query(GetAddress),
        Set(4, SetAddress),
        {{"-inet6", "-g"}, 0, 0, GetIpv6Address, false},
        {{"-inet6", "-s"}, 4, 4, SetIpv6Address, true}},
       "-g | -s address A netmask M | -inet6 -g | -inet6 -s ipv6_address A "
       "prefix_length N"},
      {"-gateway",
       false,
       {Query(GetGateway), Set(2, SetGateway)},
       "-g | -s gateway G"},
      {"-netdetect",
       false,
       {Query(GetDetectAddress), Set(2, SetDetectAddress)},
       "-g | -s address A"},
      {"-net_health",
       false,
       // The IPv6 form is known and no count of arguments is right for it.
       {Query(GetNetHealth), {{"-inet6"}, -1, -1, nullptr, false}},
       "-g"},
      {"-link", false, {Query(GetLink), Set(1, SetLink)}, "-g | -s up|down"},
      {"-lldp", false, {Query(GetLldp)}, "-g"},
      {"-mtu", false, {Query(GetMtu), Set(2, SetMtu)}, "-g | -s size N"},
      {"-mac", false, {Query(GetMac), Set(2, SetMac)}, "-g | -s mac M"},
      {"-tls",
       false,
       {{{"-g", "host"}, 0, 0, GetHostTls, false},
        Query(GetTls),
        Set(2, SetTls)},
       "-g [host] | -s enable 0|1"},
      {"-cfg",
       false,
       {{{"recovery"}, 0, 0, Recover, true},
        {{"status"}, 0, 0, GetRecoveryStatus, false}},
       "recovery | status"},
      {"-vnic", false, {Query(GetVnic)}, "-g"},
      {"-route",
       false,
       {Query(GetRoutes),
        {{"-a"}, 6, 6, AddRoute, true},
        {{"-d"}, 4, 4, DeleteRoute, true},
        {{"-c"}, 0, 0, ClearRoutes, true}},
       "-g | -a address A netmask M gateway G | -d address A netmask M | -c"},
      {"-ip_route",
       false,
       {{{"-a"}, 10, 10, AddIpRoute, true}},
       "-a ip A ip_mask N via G dev D table T"},
      {"-ip_rule",
       false,
       {{{"-a"}, 6, 6, AddIpRule, true}},
       "-a dir from|to ip A table T"},
      {"-arp",
       false,
       {Query(GetArp), {{"-a"}, 6, 6, AddArp, true}},
       "-g | -a dev D ip A mac M"},
  };
}

std::vector<CommandEntry> ProductCommands() {
  return {
      {"-ping",
       true,
       {{{"-g"}, 2, 4, Ping, false}},
       "-g address A [pkt BYTES]"},
      {"-hccs_ping",
       true,
       {{{"-g"}, 2, 10, HccsPing, false}},
       "-g address A|sdid N [pkt N] [cnt N] [interval MS] [timeout MS]"},
      {"-speed", true, {Query(GetSpeed)}, "-g"},
      {"-duplex", true, {Query(GetDuplex)}, "-g"},
      {"-fec", true, {Query(GetFec), Set(2, GetFec)}, "-g"},
      {"-process", true, {Query(GetProcess)}, "-g"},
      {"-version", true, {Query(GetVersion)}, "-g"},
      {"-status", true, {Query(GetStatus)}, "-g"},
      {"-link_stat",
       true,
       {Query(GetLinkStat), {{"-c"}, 0, 0, ClearLinkStat, true}},
       "-g | -c"},
      {"-stat", true, {Query(GetPacketStats)}, "-g"},
      {"-udp",
       true,
       {Query(GetUdpPorts), {{"-s"}, 1, 6, SetUdpPort, true, true}},
       "-g | -s port N | -s auto | -s multi_qp count N port A-B | -s code -t "
       "nslb-dp [listen_port N]"},
      {"-udhcpc",
       true,
       {{{"-a"}, 0, 3, AcquireLease, false, true},
        {{"-r"}, 0, 0, ReleaseLease, true}},
       "-a [timeout N] [quit] | -r"},
      {"-prio_tc", true, {Query(GetPriorityToTc)}, "-g"},
      {"-local_lldp",
       true,
       {Query(GetLocalLldp), Set(2, SetLocalLldp)},
       "-g | -s subtype mac|ifname"},
      {"-optical", true, {Query(GetOptical)}, "-g"},
      {"-hw_stats", true, {Query(GetHardwareStats)}, "-g"},
      {"-bandwidth", true, {Query(GetBandwidth)}, "-g"},
      {"-shaping",
       true,
       {Query(GetShaping), Set(2, SetShaping)},
       "-g | -s bw_limit MBPS"},
      {"-pfc",
       true,
       {Query(GetPfc), Set(2, SetPfc)},
       "-g | -s bitmap 0,0,0,0,0,0,0,0"},
      {"-dscp_to_tc",
       true,
       {{{"-g"}, 0, 2, GetDscpToTc, false}, Set(4, SetDscpToTc)},
       "-g [dscp N] | -s dscp N tc N"},
  };
}

const std::vector<CommandEntry>& DeviceCommands() {
  static const auto* const commands = [] {
    auto* all = new std::vector<CommandEntry>(CoreCommands());
    for (CommandEntry& entry : ProductCommands()) {
      all->push_back(std::move(entry));
    }
    return all;
  }();
  return *commands;
}

const std::vector<CommandEntry>& AllDeviceCommands() {
  static const auto* const commands = new std::vector<CommandEntry>{
      {"-cfg", false, {{{"recovery"}, 0, 0, RecoverAll, true}}, "recovery"},
  };
  return *commands;
}

}  // namespace

const CommandEntry* FindCommand(const std::string& name, bool all_devices,
                                Product::Build build) {
  const auto& commands = all_devices ? AllDeviceCommands() : DeviceCommands();
  for (const CommandEntry& entry : commands) {
    if (entry.name != name) continue;
    if (entry.of_product_list && build == Product::Build::kA2Default) break;
    return &entry;
  }
  return nullptr;
}

std::string ToolUsage() {
  std::string text =
      "usage: hccn_tool -i ID COMMAND | hccn_tool -a -cfg recovery\n";
  for (const CommandEntry& entry : DeviceCommands()) {
    absl::StrAppend(&text, "  ", entry.name, " ", entry.usage, "\n");
  }
  return text;
}

}  // namespace clusterd::sim
