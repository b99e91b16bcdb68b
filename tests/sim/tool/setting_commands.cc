// Single values: -mtu, -mac, -shaping, -pfc, -udp and -dscp_to_tc, and
// read-only ones: -speed, -duplex, -fec, -process, -version, -vnic, -status,
// -hw_stats, -stat, -prio_tc, -bandwidth.
#include <stdlib.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "tests/sim/tool/command_steps.h"
#include "tests/sim/tool/commands.h"
#include "tests/sim/tool/device_values.h"

namespace clusterd::sim {
namespace {

constexpr int kMinMtuOfIpv6 = 1280;

Outcome TakeOne(const Arguments& arguments, const std::string& keyword,
                std::string* value) {
  std::map<std::string, std::string> values;
  Outcome failure = TakeKeywords(arguments, {keyword}, &values);
  *value = values[keyword];
  return failure;
}

Failure OutOfRange(const std::string& what, int status) {
  Failure failure = failures::OutOfRange(what);
  failure.status = status;
  return failure;
}

// At most three digits without a zero in front; an empty text is 0.
bool ParseByte(const std::string& text, int* value) {
  *value = atoi(text.c_str());
  const bool padded = text.size() > 1 && text[0] == '0';
  return IsDigits(text) && text.size() <= 3 && !padded && *value <= 255;
}

Outcome ParseDscp(const std::string& text, int* dscp) {
  if (!ParseByte(text, dscp)) return failures::WrongParameters();
  if (*dscp > kMaxDscp) return OutOfRange("dscp", 9);
  return std::nullopt;
}

// "46:2,33:1,", as hccn.conf has it: in the order in which they were set.
using TrafficClasses = std::vector<std::pair<int, int>>;

TrafficClasses ReadTrafficClasses(const std::optional<std::string>& text) {
  TrafficClasses classes;
  const std::string all = text.value_or("");
  for (absl::string_view part : absl::StrSplit(all, ',', absl::SkipEmpty())) {
    const std::vector<std::string> pair = absl::StrSplit(part, ':');
    if (pair.size() == 2) {
      classes.emplace_back(atoi(pair[0].c_str()), atoi(pair[1].c_str()));
    }
  }
  return classes;
}

}  // namespace

Outcome GetMtu(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.Ask(Mailbox::kGetMtu)) return failure;
  return context.Print(
      absl::StrCat("mtu:", context.Value("mtu", "1500"), "\n"));
}

Outcome SetMtu(ToolContext& context, const Arguments& arguments) {
  std::string size;
  if (Outcome failure = TakeOne(arguments, "size", &size)) return failure;
  if (!IsDigits(size)) return failures::WrongParameters();
  if (!IsMtu(size)) return failures::OutOfRange("mtu");
  if (atoi(size.c_str()) < kMinMtuOfIpv6 &&
      !AskYes(context,
              "[WARNING] The minimum limit of mtu in IPv6 protocol is 1280 "
              "bytes. If the mtu is configured to be less than 1280, it will "
              "result in the loss of IPv6 addresses and the inability to use "
              "the IPv6 protocol.\nAre you sure you want to continue?(y/n)")) {
    return failures::Aborted();
  }
  return ChangeAndStore(context, "mtu", "mtu", size);
}

Outcome GetMac(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.Ask(Mailbox::kGetMac)) return failure;
  const std::string usual =
      absl::StrFormat("6c:b1:58:00:00:%02x", context.device + 1);
  return context.Print(
      absl::StrCat("mac addr: ", context.Value("mac", usual), "\n"));
}

Outcome SetMac(ToolContext& context, const Arguments& arguments) {
  std::string mac;
  if (Outcome failure = TakeOne(arguments, "mac", &mac)) return failure;
  if (!IsMacAddress(mac)) return failures::InvalidMac();
  return ChangeAndStore(context, "mac", "mac_addr", mac);
}

Outcome GetShaping(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.AskUnlisted()) return failure;
  constexpr long kMaxMbps = 200000;
  const long limit = context.Number("bw_limit", kMaxMbps);
  std::string text =
      absl::StrCat("bw_limit[", limit, " Mbps], bw_max[", kMaxMbps, " Mbps]");
  if (context.product().build != Product::Build::kA1) {
    absl::StrAppend(&text, ", bw_cur[", std::min(limit, kMaxMbps), " Mbps]");
  }
  return context.Print(text + "\n");
}

Outcome SetShaping(ToolContext& context, const Arguments& arguments) {
  std::string limit;
  if (Outcome failure = TakeOne(arguments, "bw_limit", &limit)) return failure;
  if (!IsDigits(limit)) return failures::WrongParameters();
  if (!IsBandwidth(limit)) return OutOfRange("bw limit", 11);
  return ChangeAndStore(context, "bw_limit", "bw_limit", limit);
}

Outcome GetPfc(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.AskUnlisted()) return failure;
  std::string bits = context.Value("bitmap", "0,0,0,0,0,0,0,0");
  std::replace(bits.begin(), bits.end(), ',', ' ');
  return context.Print(absl::StrCat(
      "PFC configuration:\npriority   0 1 2 3 4 5 6 7\nenabled    ", bits,
      "\n"));
}

Outcome SetPfc(ToolContext& context, const Arguments& arguments) {
  std::string bitmap;
  if (Outcome failure = TakeOne(arguments, "bitmap", &bitmap)) return failure;
  const int most = MaxPausing(context.product());
  switch (ReadPfcBitmap(bitmap, most)) {
    case PfcBitmap::kMalformed:
      return failures::WrongParameters();
    case PfcBitmap::kTooMany:
      return failures::TooManyPriorities(most);
    case PfcBitmap::kGood:
      break;
  }
  return ChangeAndStore(context, "bitmap", "bitmap", bitmap);
}

Outcome GetDscpToTc(ToolContext& context, const Arguments& arguments) {
  int first = 0, last = kMaxDscp;
  if (!arguments.empty()) {
    std::string dscp;
    if (Outcome failure = TakeOne(arguments, "dscp", &dscp)) return failure;
    if (Outcome failure = ParseDscp(dscp, &first)) return failure;
    last = first;
  }
  if (Outcome failure = context.AskUnlisted()) return failure;
  const TrafficClasses listed =
      ReadTrafficClasses(context.driver->Value("dscp_tc", context.device));
  const std::map<int, int> classes(listed.begin(), listed.end());
  std::string text = "dscp      tc\n";
  for (int dscp = first; dscp <= last; ++dscp) {
    const auto set = classes.find(dscp);
    absl::StrAppendFormat(&text, "%4d%8d\n", dscp,
                          set == classes.end() ? 0 : set->second);
  }
  return context.Print(text);
}

Outcome SetDscpToTc(ToolContext& context, const Arguments& arguments) {
  int dscp = 0, traffic_class = 0;
  if (arguments[0] != "dscp") return failures::UnknownOption();
  if (Outcome failure = ParseDscp(arguments[1], &dscp)) return failure;
  if (arguments[2] != "tc") return failures::UnknownOption();
  if (!ParseByte(arguments[3], &traffic_class)) {
    return failures::WrongParameters();
  }
  if (traffic_class > kMaxTrafficClass) return OutOfRange("tc", 10);
  Driver& driver = *context.driver;
  if (Outcome failure = context.AskToChange()) return failure;
  const auto with_change = [&](const std::optional<std::string>& before) {
    TrafficClasses classes = ReadTrafficClasses(before);
    const auto same =
        std::find_if(classes.begin(), classes.end(),
                     [dscp](const auto& pair) { return pair.first == dscp; });
    if (same == classes.end()) {
      classes.emplace_back(dscp, traffic_class);
    } else {
      same->second = traffic_class;
    }
    std::string text;
    for (const auto& [of, is] : classes) {
      absl::StrAppend(&text, of, ":", is, ",");
    }
    return text;
  };
  context.Change("dscp_tc",
                 with_change(driver.Value("dscp_tc", context.device)));
  const std::string key = context.Key("dscp_tc");
  std::optional<std::string> stored;
  if (Outcome failure = context.conf->Read(key, &stored)) return failure;
  // The device has it by now.
  if (!IsDscpMap(stored.value_or(""))) return failures::ConfUnparsable();
  return context.conf->Write(key, with_change(stored));
}

Outcome GetSpeed(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.Ask(Mailbox::kGetSpeed)) return failure;
  constexpr long kUnknown = 0xffff, kUnknownToo = 0xffffffff;
  const long speed = context.Number("speed", 200000);
  const bool known = speed >= 0 && speed != kUnknown && speed != kUnknownToo;
  return context.Print(known ? absl::StrCat("Speed: ", speed, " Mb/s\n")
                             : "Speed: Unknown!\n");
}

Outcome GetDuplex(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.AskUnlisted()) return failure;
  const long duplex = context.Number("duplex", 1);
  const char* name = duplex == 1 ? "Full" : duplex == 0 ? "Half" : "Unknown!";
  return context.Print(absl::StrCat("Duplex: ", name, "\n"));
}

Outcome GetFec(ToolContext& context, const Arguments&) {
  if (context.product().build != Product::Build::kA1) {
    return context.Print("This device does not support switching fec mode.\n");
  }
  if (Outcome failure = context.AskUnlisted()) return failure;
  const long mode = context.Number("fec", 0);
  const char* name = mode == 0 ? "rs" : mode == 1 ? "auto" : "no";
  return context.Print(absl::StrCat("fec mode: ", name, " FEC mode\n"));
}

Outcome GetProcess(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.Ask(Mailbox::kGetProcess)) return failure;
  const bool exists = context.Number("process", 0) != 0;
  return context.Print(absl::StrCat(
      "device hccp process: ", exists ? "exist" : "not exist", "\n"));
}

Outcome GetVersion(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.AskUnlisted()) return failure;
  return context.Print(absl::StrCat(
      "Network Driver Version:    1.0.4.0\nNetwork Firmware Version:  ",
      context.Value("firmware", "7.1.0.5.220"), "\n"));
}

Outcome GetVnic(ToolContext& context, const Arguments&) {
  Driver& driver = *context.driver;
  // This command reports only one failure for any answer of the device.
  if (context.Ask(Mailbox::kGetVnic)) {
    return failures::CommandFailed();
  }
  const Vnic usual = DefaultVnic(driver.product(), context.device);
  const bool up = context.Number("vnic_link", 1) != 0;
  return context.Print(absl::StrCat(
      "vnic link status: ", up ? "UP" : "DOWN",
      "\nvnic ipaddr: ", context.Value("vnic_ip", usual.address),
      "\nvnic netmask: ", context.Value("vnic_mask", usual.netmask), "\n"));
}

Outcome GetStatus(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.AskUnlisted()) return failure;
  return context.Print(
      absl::StrCat("Netdev status:", context.Value("status_text"), "\n"));
}

Outcome GetHardwareStats(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.AskUnlisted()) return failure;
  for (const char* name :
       {"pd_alloc", "pd_dealloc", "mr_alloc", "mr_dealloc", "cq_alloc",
        "cq_dealloc", "qp_alloc", "qp_dealloc", "pd_active", "mr_active",
        "cq_active", "qp_active", "aeqe", "ceqe"}) {
    context.terminal->Out(
        absl::StrCat("[devid ", context.device, "] ", name, ": 0\n"));
  }
  return std::nullopt;
}

Outcome GetPacketStats(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.AskUnlisted()) return failure;
  std::vector<std::string> names;
  for (const char* way : {"tx", "rx"}) {
    names.push_back(absl::StrCat("mac_", way, "_mac_pause_num"));
  }
  for (const char* way : {"tx", "rx"}) {
    names.push_back(absl::StrCat("mac_", way, "_pfc_pkt_num"));
    for (int priority = 0; priority < 8; ++priority) {
      names.push_back(
          absl::StrCat("mac_", way, "_pfc_pri", priority, "_pkt_num"));
    }
  }
  for (const char* way : {"tx", "rx"}) {
    for (const char* what : {"total_pkt", "total_oct", "bad_pkt", "bad_oct"}) {
      names.push_back(absl::StrCat("mac_", way, "_", what, "_num"));
    }
  }
  names.push_back("mac_rx_fcs_err_pkt_num");
  for (const char* way : {"rx", "tx"}) {
    for (const char* what : {"rc", "all", "err"}) {
      names.push_back(absl::StrCat("roce_", way, "_", what, "_pkt_num"));
    }
  }
  for (const char* what :
       {"cqe", "rx_cnp_pkt", "tx_cnp_pkt", "unexpected_ack", "out_of_order",
        "verification_err", "qp_status_err", "new_pkt_rty", "ecn_db"}) {
    names.push_back(absl::StrCat("roce_", what, "_num"));
  }
  for (const char* way : {"tx", "rx"}) {
    for (const char* what : {"pkg", "oct"}) {
      names.push_back(absl::StrCat("nic_", way, "_all_", what, "_num"));
    }
  }
  context.terminal->Out("packet statistics:\n");
  for (const std::string& name : names) context.terminal->Out(name + ":0\n");
  return std::nullopt;
}

Outcome GetUdpPorts(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.AskUnlisted()) return failure;
  const std::string mode = context.Value("udp_mode");
  if (mode == "multi_qp") {
    const std::string ports = context.Value("udp_ports");
    return context.Print(
        absl::StrCat("udp_port:", ports, "\nstatus:multi_qp\nqp_count:",
                     std::count(ports.begin(), ports.end(), ',') + 1, "\n"));
  }
  if (mode == "code") {
    return context.Print(
        absl::StrCat("udp_port:calculated by the NSLB-DP algorithm\n"
                     "status:code(nslb_dp)\nlisten_port:",
                     context.Value("udp_ports"), "\n"));
  }
  const std::string port = context.Value("roce_port", "-1");
  if (!mode.empty() && mode != "auto") {
    return context.Print("udp_port:unknown\n");
  }
  const bool unknown = port == "-1";
  const std::string shown =
      mode == "auto" ? absl::StrCat("udp_port:", unknown ? "Unknown" : port,
                                    "\nstatus:auto\n")
      : unknown      ? "Unknown udp port\n"
                     : absl::StrCat("udp_port:", port, "\nstatus:custom\n");
  return context.Print(absl::StrCat(
      shown,
      "UDP port list(based on IP pair):\nno entry has been configured.\n"));
}

namespace {

constexpr const char* kPortKeys[] = {"roce_port", "udp_port_mode",
                                     "multi_qp_count", "multi_qp_udp_ports",
                                     "nslb_dp_listen_port"};

// Drops the lines of every mode that are there, and those that contain them.
Outcome DropPortKeys(ToolContext& context) {
  for (const char* name : kPortKeys) {
    std::optional<std::string> stored;
    const std::string key = context.Key(name);
    if (Outcome failure = context.conf->Read(key, &stored)) return failure;
    if (!stored) continue;
    if (Outcome failure = context.conf->RemoveContaining(key + "=")) {
      return failure;
    }
  }
  return std::nullopt;
}

using Lines = std::vector<std::pair<const char*, std::string>>;

// The tool of the A1 generation has one mode, and replaces its line.
Outcome StorePorts(ToolContext& context, const Lines& lines) {
  if (context.product().build != Product::Build::kA1) {
    if (Outcome failure = DropPortKeys(context)) return failure;
  }
  for (const auto& [name, value] : lines) {
    if (Outcome failure = context.conf->Write(context.Key(name), value)) {
      return failure;
    }
  }
  return std::nullopt;
}

Outcome SetMode(ToolContext& context, const std::string& mode,
                const std::string& ports, const Lines& lines) {
  if (Outcome failure = context.AskToChange()) return failure;
  context.Change("udp_mode", mode);
  context.Change("udp_ports", ports);
  return StorePorts(context, lines);
}

// multi_qp count C port A-B
Outcome SetMultiQp(ToolContext& context, const Arguments& arguments) {
  constexpr int kMinPairs = 2, kMaxPairs = 32;
  if (Is9000(context.product())) return failures::UnknownOption();
  if (arguments.size() != 5) return failures::WrongParameterCount();
  if (arguments[1] != "count") return failures::UnknownOption();
  const std::string& count = arguments[2];
  if (count.empty() || count.size() > 2 ||
      !IsNumberIn(count, kMinPairs, kMaxPairs)) {
    return failures::WrongParameters();
  }
  if (arguments[3] != "port") return failures::UnknownOption();
  const auto ports = PortListText(arguments[4], atoi(count.c_str()));
  if (!ports) return failures::WrongParameters();
  return SetMode(context, "multi_qp", *ports,
                 {{"udp_port_mode", "multi_qp"},
                  {"multi_qp_count", count},
                  {"multi_qp_udp_ports", *ports}});
}

// code -t nslb-dp [listen_port N]
Outcome SetCodeMode(ToolContext& context, const Arguments& arguments) {
  constexpr long kFirst = 10000, kLast = 57999;
  if (arguments.size() != 3 && arguments.size() != 5) {
    return failures::WrongParameterCount();
  }
  const bool named = arguments.size() == 5;
  std::string port = named ? arguments[4] : "16668";
  if (arguments[1] != "-t" || arguments[2] != "nslb-dp" ||
      (named && arguments[3] != "listen_port") || port.empty() ||
      !IsNumberIn(port, 0, 1000000000)) {
    return failures::WrongParameters();
  }
  if (!IsNumberIn(port, kFirst, kLast)) {
    context.terminal->Out("Listen port is out of range, expect 10000~57999\n");
    return failures::WrongParameters();
  }
  port = absl::StrCat(atoi(port.c_str()));
  return SetMode(
      context, "code", port,
      {{"udp_port_mode", "code:nslb_dp"}, {"nslb_dp_listen_port", port}});
}

Outcome SetOnePort(ToolContext& context, const std::string& port) {
  Driver& driver = *context.driver;
  if (Outcome failure = context.AskToChange()) return failure;
  context.Change("roce_port", port);
  driver.Erase("udp_mode", context.device);
  driver.Erase("udp_ports", context.device);
  return std::nullopt;
}

}  // namespace

Outcome GiveRocePort(ToolContext& context, const std::string& port) {
  if (!IsUdpPortText(port)) return failures::WrongParameters();
  const std::string number = absl::StrCat(atoi(port.c_str()));
  if (!IsRocePort(port)) {
    context.terminal->Out(absl::StrCat(
        "udp_port:", number, " is out of range, expect 4097- 65535\n"));
    return failures::CommandFailed();
  }
  return SetOnePort(context, number);
}

Outcome SetUdpPort(ToolContext& context, const Arguments& arguments) {
  const std::string& mode = arguments[0];
  const size_t count = arguments.size();
  const bool is_a1 = context.product().build == Product::Build::kA1;
  if (mode == "auto" && count == 1) {
    if (Outcome failure = SetOnePort(context, "-1")) return failure;
    return StorePorts(context, {{"roce_port", "-1"}});
  }
  if (mode == "port" && count == 2) {
    if (Outcome failure = GiveRocePort(context, arguments[1])) return failure;
    return StorePorts(context, {{"roce_port", arguments[1]}});
  }
  if (mode == "multi_qp" && !is_a1) return SetMultiQp(context, arguments);
  if (mode == "code" && !is_a1) return SetCodeMode(context, arguments);
  return failures::UnknownOption();
}

Outcome GetPriorityToTc(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.AskUnlisted()) return failure;
  std::string classes = context.Value("prio_tc", "0,0,0,0,0,0,0,0");
  std::replace(classes.begin(), classes.end(), ',', ' ');
  return context.Print(
      absl::StrCat("Priority mapping:\npriority   0 1 2 3 4 5 6 7\nTC         ",
                   classes, "\n"));
}

Outcome GetBandwidth(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.AskUnlisted()) return failure;
  return context.Print(
      "Bandwidth TX:     0.00 MB/sec\nBandwidth RX:     0.00 MB/sec\n");
}

}  // namespace clusterd::sim
