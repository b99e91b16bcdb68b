// Single values: -mtu, -mac, -shaping, -pfc and -dscp_to_tc, and what can only
// be asked for: -speed, -duplex, -fec, -process, -version, -vnic, -status,
// -hw_stats, -bandwidth.
#include <stdlib.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/sim/tool/command_steps.h"
#include "tests/sim/tool/commands.h"
#include "tests/sim/tool/device_values.h"

namespace clusterd {
namespace sim {
namespace {

constexpr int kMinIpv6Mtu = 1280;
constexpr int kMaxDscp = 63;

Outcome TakeOne(const Arguments& arguments, const std::string& keyword,
                std::string* value) {
  std::map<std::string, std::string> values;
  Outcome failure = TakeKeywords(arguments, {keyword}, &values);
  *value = values[keyword];
  return failure;
}

}  // namespace

Outcome GetMtu(ToolContext& context, const Arguments&) {
  Driver& driver = *context.driver;
  if (Outcome failure = driver.Ask(Mailbox::kGetMtu, context.device)) {
    return failure;
  }
  context.terminal->Out(absl::StrCat(
      "mtu:", driver.Value("mtu", context.device).value_or("1500"), "\n"));
  return std::nullopt;
}

Outcome SetMtu(ToolContext& context, const Arguments& arguments) {
  std::string size;
  if (Outcome failure = TakeOne(arguments, "size", &size)) return failure;
  if (!IsDigits(size)) return failures::WrongParameters();
  if (!IsMtu(size)) return failures::OutOfRange("mtu");
  if (atoi(size.c_str()) < kMinIpv6Mtu &&
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
  Driver& driver = *context.driver;
  if (Outcome failure = driver.Ask(Mailbox::kGetMac, context.device)) {
    return failure;
  }
  const std::string usual =
      absl::StrFormat("6c:b1:58:00:00:%02x", context.device + 1);
  context.terminal->Out(absl::StrCat(
      "mac addr: ", driver.Value("mac", context.device).value_or(usual), "\n"));
  return std::nullopt;
}

Outcome SetMac(ToolContext& context, const Arguments& arguments) {
  std::string mac;
  if (Outcome failure = TakeOne(arguments, "mac", &mac)) return failure;
  // Facts name this text and its status, not the command. Among the commands
  // with that status, a text that does not fit is all that is left for it.
  if (mac.size() > kMacAddressChars) return failures::InvalidLength();
  if (!IsMacAddress(mac)) return failures::InvalidMac();
  return ChangeAndStore(context, "mac", "mac_addr", mac);
}

Outcome GetShaping(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.driver->AskUnlisted(context.device)) {
    return failure;
  }
  context.terminal->Out(absl::StrCat(
      "bw_limit[",
      context.driver->Value("bw_limit", context.device).value_or("200000"),
      " Mbps], bw_max[200000 Mbps]\n"));
  return std::nullopt;
}

Outcome SetShaping(ToolContext& context, const Arguments& arguments) {
  std::string limit;
  if (Outcome failure = TakeOne(arguments, "bw_limit", &limit)) return failure;
  if (limit.empty() || !IsDigits(limit)) return failures::WrongParameters();
  return ChangeAndStore(context, "bw_limit", "bw_limit", limit);
}

Outcome GetPfc(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.driver->AskUnlisted(context.device)) {
    return failure;
  }
  std::string bits = context.driver->Value("bitmap", context.device)
                         .value_or("0,0,0,0,0,0,0,0");
  std::replace(bits.begin(), bits.end(), ',', ' ');
  context.terminal->Out(absl::StrCat(
      "PFC configuration:\npriority   0 1 2 3 4 5 6 7\nenabled    ", bits,
      "\n"));
  return std::nullopt;
}

Outcome SetPfc(ToolContext& context, const Arguments& arguments) {
  std::string bitmap;
  if (Outcome failure = TakeOne(arguments, "bitmap", &bitmap)) return failure;
  if (!IsPfcBitmap(bitmap)) return failures::WrongParameters();
  return ChangeAndStore(context, "bitmap", "bitmap", bitmap);
}

Outcome GetDscpToTc(ToolContext& context, const Arguments& arguments) {
  std::string dscp;
  if (Outcome failure = TakeOne(arguments, "dscp", &dscp)) return failure;
  if (dscp.empty() || !IsDigits(dscp)) return failures::WrongParameters();
  const int value = atoi(dscp.c_str());
  if (dscp.size() > 3 || value > kMaxDscp) {
    Failure failure = failures::OutOfRange("dscp");
    failure.status = 9;
    return failure;
  }
  if (Outcome failure = context.driver->AskUnlisted(context.device)) {
    return failure;
  }
  context.terminal->Out(absl::StrFormat("dscp      tc\n%4d%8d\n", value, 0));
  return std::nullopt;
}

Outcome GetSpeed(ToolContext& context, const Arguments&) {
  Driver& driver = *context.driver;
  if (Outcome failure = driver.Ask(Mailbox::kGetSpeed, context.device)) {
    return failure;
  }
  constexpr long kUnknown = 0xffff, kUnknownToo = 0xffffffff;
  const long speed = driver.Number("speed", context.device).value_or(200000);
  const bool known = speed >= 0 && speed != kUnknown && speed != kUnknownToo;
  context.terminal->Out(known ? absl::StrCat("Speed: ", speed, " Mb/s\n")
                              : "Speed: Unknown!\n");
  return std::nullopt;
}

Outcome GetDuplex(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.driver->AskUnlisted(context.device)) {
    return failure;
  }
  const long duplex =
      context.driver->Number("duplex", context.device).value_or(1);
  const char* name = duplex == 1 ? "Full" : duplex == 0 ? "Half" : "Unknown!";
  context.terminal->Out(absl::StrCat("Duplex: ", name, "\n"));
  return std::nullopt;
}

Outcome GetFec(ToolContext& context, const Arguments&) {
  if (context.product().build != Product::Build::kA1) {
    context.terminal->Out("This device does not support switching fec mode.\n");
    return std::nullopt;
  }
  if (Outcome failure = context.driver->AskUnlisted(context.device)) {
    return failure;
  }
  const long mode = context.driver->Number("fec", context.device).value_or(0);
  const char* name = mode == 0 ? "rs" : mode == 1 ? "auto" : "no";
  context.terminal->Out(absl::StrCat("fec mode: ", name, " FEC mode\n"));
  return std::nullopt;
}

Outcome GetProcess(ToolContext& context, const Arguments&) {
  Driver& driver = *context.driver;
  if (Outcome failure = driver.Ask(Mailbox::kGetProcess, context.device)) {
    return failure;
  }
  const bool exists = driver.Number("process", context.device).value_or(0) != 0;
  context.terminal->Out(absl::StrCat(
      "device hccp process: ", exists ? "exist" : "not exist", "\n"));
  return std::nullopt;
}

Outcome GetVersion(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.driver->AskUnlisted(context.device)) {
    return failure;
  }
  context.terminal->Out(absl::StrCat(
      "Network Driver Version:    1.0.4.0\nNetwork Firmware Version:  ",
      context.driver->Value("firmware", context.device).value_or("7.1.0.5.220"),
      "\n"));
  return std::nullopt;
}

Outcome GetVnic(ToolContext& context, const Arguments&) {
  Driver& driver = *context.driver;
  // Whatever the device answers, this command knows one failure only.
  if (driver.Ask(Mailbox::kGetVnic, context.device)) {
    return failures::CommandFailed();
  }
  const Vnic usual = DefaultVnic(driver.product(), context.device);
  const bool up = driver.Number("vnic_link", context.device).value_or(1) != 0;
  context.terminal->Out(absl::StrCat(
      "vnic link status: ", up ? "UP" : "DOWN", "\nvnic ipaddr: ",
      driver.Value("vnic_ip", context.device).value_or(usual.address),
      "\nvnic netmask: ",
      driver.Value("vnic_mask", context.device).value_or(usual.netmask), "\n"));
  return std::nullopt;
}

Outcome GetStatus(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.driver->AskUnlisted(context.device)) {
    return failure;
  }
  context.terminal->Out(absl::StrCat(
      "Netdev status:",
      context.driver->Value("status_text", context.device).value_or(""), "\n"));
  return std::nullopt;
}

Outcome GetHardwareStats(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.driver->AskUnlisted(context.device)) {
    return failure;
  }
  for (const char* name :
       {"pd_alloc", "pd_dealloc", "mr_alloc", "mr_dealloc", "cq_alloc",
        "cq_dealloc", "qp_alloc", "qp_dealloc", "pd_active", "mr_active",
        "cq_active", "qp_active", "aeqe", "ceqe"}) {
    context.terminal->Out(
        absl::StrCat("[devid ", context.device, "] ", name, ": 0\n"));
  }
  return std::nullopt;
}

Outcome GetBandwidth(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.driver->AskUnlisted(context.device)) {
    return failure;
  }
  context.terminal->Out(
      "Bandwidth TX:     0.00 MB/sec\nBandwidth RX:     0.00 MB/sec\n");
  return std::nullopt;
}

}  // namespace sim
}  // namespace clusterd
