// Queries without a set command that a product of ours would use.
#include "absl/strings/str_cat.h"
#include "tests/sim/tool/commands.h"

namespace clusterd {
namespace sim {

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

Outcome RefuseNotSupported(ToolContext&, const Arguments&) {
  return failures::NotSupported();
}

}  // namespace sim
}  // namespace clusterd
