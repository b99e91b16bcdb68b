// -link, -link_stat, -optical
#include <stdlib.h>

#include <ctime>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/sim/tool/command_steps.h"
#include "tests/sim/tool/commands.h"

namespace clusterd::sim {
namespace {

// The link history that a device reports unless the state says otherwise: a
// change every ten seconds from Mon Aug  1 14:26:40 2022 on.
constexpr time_t kFirstChange = 1659364000;
constexpr time_t kStepSeconds = 10;
constexpr time_t kHistoryNow = 1659409766;

std::string TimeText(time_t when) {
  tm parts;
  gmtime_r(&when, &parts);
  char text[64];
  strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &parts);
  return text;
}

std::string OpticalRow(const std::string& name, const std::string& value) {
  return absl::StrFormat("%-21s: %s\n", name, value);
}

std::string FourLanes(const char* name, const char* value) {
  std::string text;
  for (int lane = 0; lane < 4; ++lane) {
    text += OpticalRow(absl::StrCat(name, lane), value);
  }
  return text;
}

// Stand-ins for power and thresholds that cannot be measured.
std::string UnmeasuredRows() {
  std::string text;
  for (const char* name :
       {"Vcc", "Tx Power", "Rx Power", "Vcc High Thres", "Vcc Low Thres",
        "Temp High Thres", "Temp Low Thres", "TxPower High Thres",
        "TxPower Low Thres", "RxPower High Thres", "RxPower Low Thres"}) {
    text += OpticalRow(name, "NA");
  }
  return text;
}

std::string CopperRows() {
  std::string text = OpticalRow("temperature", "0 C");
  text += OpticalRow("high power enable reg", "not enabled");
  for (const char* name :
       {"vendor name", "vendor part number", "vendor serial number"}) {
    text += OpticalRow(name, "");
  }
  text += OpticalRow("vendor org unique id", "0x0 0x0 0x0");
  text += OpticalRow("xsfp identifier", "UNKNOWN");
  text += OpticalRow("xsfp wave length", "0 nm");
  text += OpticalRow("manufact date code", "");
  return text + UnmeasuredRows();
}

// The module names its maker and model.
std::string ModuleNames(const ToolContext& context, const char* temperature) {
  std::string text = OpticalRow("temperature", temperature);
  text += OpticalRow("high power enable reg", "not enabled");
  text += OpticalRow("vendor name", "STUBVENDOR");
  text += OpticalRow("vendor part number", "STUBPN-400G");
  text += OpticalRow("vendor serial number",
                     context.Value("opt_serial", "STUBSN0001"));
  text += OpticalRow("vendor org unique id", "0x0 0x0 0x0");
  text += OpticalRow("xsfp identifier", "QSFP_DD");
  text += OpticalRow("xsfp wave length", "850 nm");
  text += OpticalRow("manufact date code", "240101");
  return text;
}

std::string ModuleThresholds() {
  std::string text = OpticalRow("Vcc High Thres", "0.00 mV");
  text += OpticalRow("Vcc Low Thres", "0.00 mV");
  text += OpticalRow("Temp High Thres", "0 C");
  text += OpticalRow("Temp Low Thres", "0 C");
  for (const char* name : {"TxPower High Thres", "TxPower Low Thres",
                           "RxPower High Thres", "RxPower Low Thres"}) {
    text += OpticalRow(name, "0.0000 mW");
  }
  return text;
}

// The lanes of the second of two devices that share a module.
std::string SignalRows(const ToolContext& context) {
  const bool front = HasFrontLanes(context.product(), context.device);
  std::string text;
  struct Lanes {
    const char* name;
    double first;
  };
  for (const Lanes& lanes :
       {Lanes{"Host SNR Lane", 26.5}, Lanes{"Media SNR Lane", 25.25}}) {
    for (int lane = 0; lane < 4; ++lane) {
      text +=
          OpticalRow(absl::StrCat(lanes.name, lane),
                     front ? "not supported"
                           : absl::StrFormat("%.4f dB", lanes.first + lane));
    }
  }
  return text;
}

std::string ModuleRows(const ToolContext& context) {
  std::string text = ModuleNames(context, "47 C");
  text += OpticalRow("Vcc", "3300.00 mV");
  for (int lane = 0; lane < 4; ++lane) {
    text += OpticalRow(absl::StrCat("Tx Power", lane), "1.2000 mW");
    text += OpticalRow(absl::StrCat("Rx Power", lane), "1.0000 mW");
  }
  text += ModuleThresholds();
  text += FourLanes("Tx Bias", "8.0000 mA");
  struct Flag {
    const char* name;
    const char* key;
  };
  for (const Flag& flag :
       {Flag{"Tx Los Flag", "opt_tx_los"}, Flag{"Rx Los Flag", "opt_rx_los"},
        Flag{"Tx LoL Flag", "opt_tx_lol"}, Flag{"Rx LoL Flag", "opt_rx_lol"}}) {
    const std::string lanes = context.driver->Setting(flag.key).value_or("0");
    text += OpticalRow(
        flag.name, absl::StrFormat("0x%x", strtoul(lanes.c_str(), nullptr, 0)));
  }
  text += SignalRows(context);
  text += OpticalRow("Physical Code", "NA");
  text += OpticalRow("vendor rev", "NA");
  text += OpticalRow("Specification compliance",
                     "0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x00");
  return text;
}

}  // namespace

Outcome GetLink(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.Ask(Mailbox::kGetLink)) return failure;
  const bool up = context.Number("link", 1) != 0;
  return context.Print(absl::StrCat("link status: ", up ? "UP" : "DOWN", "\n"));
}

Outcome SetLink(ToolContext& context, const Arguments& arguments) {
  const std::string& wanted = arguments.at(0);
  if (wanted != "up" && wanted != "down") return failures::UnknownOption();
  if (wanted == "down" &&
      !AskYes(context,
              "[WARNING] This link down command will result in the loss of the "
              "IPv6 address, continue?(y/n)")) {
    return failures::Aborted();
  }
  if (Outcome failure = context.AskToChange()) return failure;
  context.Change("link", wanted == "up" ? "1" : "0");
  if (wanted == "down" || RecoverDevice(context)) return std::nullopt;
  context.terminal->Out(
      "Link up executed, but recovery failed, please check "
      "'/var/log/hccn_tool/hccn_config.log' for details.\n");
  return failures::Generic(1);
}

Outcome GetLinkStat(ToolContext& context, const Arguments&) {
  Driver& driver = *context.driver;
  const int device = context.device;
  if (Outcome failure = driver.Ask(Mailbox::kGetLinkStat, device)) {
    return failure;
  }
  const std::string start = absl::StrCat("[devid ", device, "]");
  const long changes = driver.Number("ls_n", device).value_or(0);
  std::string text = absl::StrCat(
      start, "current time        : ", TimeText(kHistoryNow), "\n", start,
      "link up count       : ", driver.Number("ls_up", device).value_or(2),
      "\n", start,
      "link down count     : ", driver.Number("ls_down", device).value_or(1),
      "\n", start, "link change records :", changes > 0 ? "\n" : " NA\n");
  // The tool shows none if there are more than its buffer holds.
  constexpr long kMaxShown = 10;
  for (long i = changes > kMaxShown ? -1 : changes - 1; i >= 0; --i) {
    absl::StrAppend(&text, start, "    ",
                    TimeText(kFirstChange + i * kStepSeconds), "    LINK ",
                    i % 2 == 0 ? "UP" : "DOWN", "\n");
  }
  return context.Print(text);
}

Outcome ClearLinkStat(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.AskToChange()) return failure;
  for (const char* name : {"ls_n", "ls_up", "ls_down"}) {
    context.Change(name, "0");
  }
  return std::nullopt;
}

Outcome GetOptical(ToolContext& context, const Arguments&) {
  if (Is9000(context.product())) return failures::NotSupported();
  if (Outcome failure = context.Ask(Mailbox::kGetOptical)) return failure;
  std::string text = "optical info:\n";
  if (context.Number("opt_present", 1) != 1) {
    text += OpticalRow("present", "not present");
    text += ModuleNames(context, "NA") + UnmeasuredRows();
  } else {
    constexpr long kCopper = 1;
    text += OpticalRow("present", "present");
    text += context.Number("opt_kind", 0) == kCopper ? CopperRows()
                                                     : ModuleRows(context);
  }
  return context.Print(text);
}

}  // namespace clusterd::sim
