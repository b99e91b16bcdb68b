#include <algorithm>
#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/sim/fault/fault_rows.h"
#include "tests/sim/fault/simulated_process.h"
#include "tests/sim/lldp_text.h"
#include "tests/sim/npu_smi.h"
#include "tests/sim/run_setup.h"
#include "tests/sim/tool/device_values.h"
#include "tests/sim/tool/hccn_conf.h"

namespace clusterd::sim {
namespace {

constexpr const char* kHealthNames[] = {
    "Success", "SocketFail", "ReceiveTimeout", "Unreachable", "TimeExceeded",
    "Fault",   "Init",       "ThreadError",    "DetectIpSet", "Unknown"};
constexpr size_t kMaxProcessName = 15;  // By prctl(2).

bool IsAnything(const std::string&) { return true; }
bool IsAddressOrNone(const std::string& value) {
  return value == "none" || IsIpv4(value);
}

int HealthCode(const std::string& value) {
  int code;
  if (absl::SimpleAtoi(value, &code) && code >= 0 && code <= 9) return code;
  for (int i = 0; i < 10; ++i) {
    if (value == kHealthNames[i]) return i;
  }
  return -1;
}

absl::Status StoreInConf(const HostFolder& folder, const std::string& key,
                         int device, const std::string& value) {
  const HccnConf conf(folder.Path("etc/hccn.conf"));
  const std::string full = absl::StrCat(key, "_", device);
  const Outcome failure =
      value == "none" ? conf.Remove(full) : conf.Write(full, value);
  if (!failure) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(folder.Path("etc/hccn.conf"), ": ", failure->text));
}

absl::Status SetOnDevice(const HostFolder& folder, const std::string& name,
                         int device, const std::string& value) {
  const std::string key = DeviceKey(name, device);
  if (value != "none") return SetState(folder, key, value);
  folder.state().Update([&](DeviceState& state) { state.Erase(key); });
  return absl::OkStatus();
}

// The value on the device, in hccn.conf, or both, as a set command leaves it.
Act Store(const std::string& name, const std::string& conf_key) {
  return [=](const HostFolder& folder, int device, const std::string& value) {
    absl::Status status;
    if (!name.empty()) status = SetOnDevice(folder, name, device, value);
    if (status.ok() && !conf_key.empty()) {
      status = StoreInConf(folder, conf_key, device, value);
    }
    return status;
  };
}
Act Live(const std::string& name) { return Store(name, ""); }

// Sets that state of the device to the converted value.
Act Keep(const std::string& name,
         const std::function<std::string(const std::string&)>& convert) {
  return [=](const HostFolder& folder, int device, const std::string& value) {
    return SetState(folder, DeviceKey(name, device), convert(value));
  };
}

absl::Status ApplyLldp(const HostFolder& folder, int device,
                       const std::string& value) {
  std::string text;
  if (value == "npu") {
    text = NpuNeighbourText(device);
  } else if (value == "long") {
    text = LongNeighbourText(device);
  } else if (value != "none") {
    const std::vector<std::string> parts =
        absl::StrSplit(value, absl::MaxSplits('/', 1));
    SwitchPort port;
    port.switch_name = parts[0];
    port.port = parts.size() > 1 ? parts[1] : "400GE1/0/1";
    text = SwitchNeighbourText(port);
  }
  return SetState(folder, DeviceKey("lldp", device), text);
}

absl::Status ApplyTls(const HostFolder& folder, int device,
                      const std::string& value) {
  if (value == "absent") {
    return StoreInConf(folder, "tls_enable", device, "none");
  }
  return Store("tls", "tls_enable")(folder, device, value);
}

std::vector<FaultRow> AddressRows() {
  return {
      OfDevice("address", "IPV4|none",
               "device address, as `hccn_tool -ip -s` leaves it: on the device "
               "and in hccn.conf",
               {"10.20.9.9", "device-ip-planned", FAIL}, IsAddressOrNone,
               Store("ip", "address")),
      OfDevice("netmask", "IPV4", "netmask, on the device and in hccn.conf",
               {"255.255.255.0", "netmask-uniform", FAIL}, IsIpv4,
               Store("mask", "netmask")),
      OfDevice("gateway", "IPV4|none",
               "gateway, on the device and in hccn.conf",
               {"10.20.0.9", "gateway", WARN}, IsAddressOrNone,
               Store("gateway", "gateway")),
      OfDevice(
          "detect", "IPV4|none",
          "detect address, on the device and in hccn.conf; 0.0.0.0 is \"not "
          "set\"",
          {"none", "detect-address", FAIL}, IsAddressOrNone,
          Store("netdetect", "netdetect")),
      OfDevice("live_address", "IPV4|none",
               "device address; hccn.conf keeps the old one",
               {"10.20.9.9", "device-ip-persistent", FAIL}, IsAddressOrNone,
               Live("ip")),
      OfDevice("live_netmask", "IPV4",
               "netmask of the device; hccn.conf keeps the old one",
               {"255.255.255.0", "device-ip-persistent", FAIL}, IsIpv4,
               Live("mask")),
      OfDevice("live_gateway", "IPV4|none",
               "gateway of the device; hccn.conf keeps the old one",
               {"10.20.0.9", "gateway-persistent", WARN}, IsAddressOrNone,
               Live("gateway")),
      OfDevice("stored_address", "IPV4|none",
               "address in hccn.conf alone, which the next boot sets",
               {"10.20.9.9", "device-ip-persistent", FAIL}, IsAddressOrNone,
               Store("", "address")),
      OfDevice("stored_netmask", "IPV4|none", "netmask in hccn.conf alone",
               {"255.255.255.0", "device-ip-persistent", FAIL}, IsAddressOrNone,
               Store("", "netmask")),
      OfDevice("stored_gateway", "TEXT|none", "gateway in hccn.conf alone",
               {"10.20.0.9", "gateway-persistent", WARN}, IsFilled,
               Store("", "gateway")),
      OfDevice("mtu", "BYTES", "MTU, on the device and in hccn.conf",
               {"9000", "mtu-uniform", WARN}, IsNumber, Store("mtu", "mtu")),
  };
}

std::vector<FaultRow> ConditionRows() {
  return {
      OfDevice(
          "link", "UP|DOWN", "physical link", {"DOWN", "link", FAIL},
          OneOf({"UP", "DOWN"}),
          Keep("link", [](auto& value) { return value == "UP" ? "1" : "0"; })),
      OfDevice(
          "net_health", absl::StrCat("0-9|", absl::StrJoin(kHealthNames, "|")),
          "result of the device's own check",
          {"ReceiveTimeout", "net-health", FAIL},
          [](const std::string& value) { return HealthCode(value) >= 0; },
          Keep("net_health",
               [](auto& value) { return absl::StrCat(HealthCode(value)); })),
      OfDevice(
          "lldp", "none|npu|long|SWITCH[/PORT]",
          "neighbour: nothing, another NPU, an answer over 1999 bytes, or this "
          "switch",
          {"none", "lldp", FAIL}, IsFilled, ApplyLldp),
      OfDevice(
          "tls", "0|1|absent",
          "TLS switch, on the device and in hccn.conf; absent: no such key",
          {"1", "tls-uniform", FAIL}, OneOf({"0", "1", "absent"}), ApplyTls),
      OfDevice("gone", "1", "the driver does not know the device any more",
               {"1", "device-count", FAIL}, OneOf({"1"}),
               Keep("health", [](auto&) { return "0xffffffff"; })),
      OfDevice(
          "process", "NAME", "a process of that name uses the device",
          {"python3", "device-idle", WARN},
          [](const std::string& value) {
            return IsFilled(value) && value.size() <= kMaxProcessName;
          },
          StartDeviceUser),
  };
}

Valid StartsWithOneOf(std::vector<std::string> words) {
  return [valid = OneOf(std::move(words))](const std::string& value) {
    return valid(value.substr(0, value.find('/')));
  };
}

FaultRow SuperPodRow(const std::string& key, const std::string& name,
                     const std::string& wrong) {
  return OfDevice(
      key, "N", absl::StrCat("the ", name, " that npu-smi prints"),
      {wrong, "subnet-superpod", FAIL}, IsNumber,
      [name](const HostFolder& folder, int device, const std::string& value) {
        return SetSuperPodValue(folder, device, name, value);
      },
      Servers::kSuperPod);
}

std::vector<FaultRow> ChipRows() {
  return {
      OfDevice(
          "health", "OK|Warning|Alarm|Critical|UNKNOWN[/CODE…]",
          "health of the chip as npu-smi prints it, and its fault codes",
          {"Alarm/0x80E18401", "device-health", FAIL},
          StartsWithOneOf({"OK", "Warning", "Alarm", "Critical", "UNKNOWN"}),
          SetChipHealth, Servers::kNotAscend950),
      OfDevice("ecc", "N", "double bit errors, and pages to isolate",
               {"3", "device-health", WARN}, IsNumber, SetMemoryErrors,
               Servers::kNotAscend950),
      OfDevice(
          "compatibility", "OK|NOK|UNKNOWN|NOT SUPPORT",
          "npu-smi's verdict on driver and firmware, for the device's card",
          {"NOK", "driver-compat", FAIL},
          OneOf({"OK", "NOK", "UNKNOWN", "NOT SUPPORT"}), SetCompatibility,
          Servers::kNotAscend950),
      OfDevice("hccs", "OK|NOK[/LANES]",
               "npu-smi's verdict on HCCS, and the lanes of the first port",
               {"NOK", "hccs", FAIL}, StartsWithOneOf({"OK", "NOK"}), SetHccs,
               Servers::kNotAscend950),
      OfDevice("hbm", "MB",
               "memory in use as npu-smi prints it; no process has it",
               {"40000", "device-memory", WARN}, IsNumber, SetMemoryUse,
               Servers::kNotAscend950),
      OfDevice(
          "chip", "absent", "npu-smi does not list the chip",
          {"absent", "device-health", UNKNOWN}, OneOf({"absent"}),
          [](const HostFolder& folder, int device, const std::string&) {
            return HideChip(folder, device);
          },
          Servers::kNotAscend950),
      OfDevice("chip_answer", "TEXT",
               "what npu-smi answers instead to each question about the chip",
               {"garbled", "device-health", UNKNOWN}, IsFilled, SetChipAnswer,
               Servers::kNotAscend950),
      SuperPodRow("sdid", "SDID", "0"),
      SuperPodRow("server_index", "Server Index", "9"),
      OfServer(
          "npu_smi", "absent|silent|hangs|garbled|refused",
          "npu-smi is missing (only noted), prints nothing and exits 0, hangs, "
          "prints no table, or fails with -8020",
          {"refused", "device-health", UNKNOWN},
          OneOf({"absent", "silent", "hangs", "garbled", "refused"}),
          [](const HostFolder& folder, int, const std::string& value) {
            return value == "absent" ? folder.Remove(kNpuSmi)
                                     : WriteBrokenNpuSmi(folder, value);
          },
          Servers::kNotAscend950),
  };
}

// NAME=VALUE with a key that some tool reads.
bool IsStateKey(const std::string& value) {
  const std::string name = value.substr(0, value.find('='));
  return absl::StrContains(value, '=') &&
         (ReadsStateKey(false, name) || ReadsStateKey(true, name));
}

std::vector<FaultRow> ToolRows() {
  return {
      OfDevice("hang", "0|1", "every hccn_tool command for the device hangs",
               {"1", "hccn-tool", UNKNOWN}, OneOf({"0", "1"}), Live("hang")),
      OfDevice("lies", "0|1",
               "every change is reported as done, and nothing is changed",
               {"1", "detect-address", FAIL, Noticed::kChanged},
               OneOf({"0", "1"}), Live("lies"), Servers::kChanged),
      OfDevice(
          "delay", "MS", "every hccn_tool command takes so long",
          {"600000", "hccn-tool", UNKNOWN}, IsNumber,
          [](const HostFolder& folder, int device, const std::string& value) {
            return SetState(folder, DeviceKey("delay", device) + ".ms", value);
          }),
      OfDevice(
          "busy", "N|always", "the next N hccn_tool commands answer \"busy\"",
          {"always", "hccn-tool", UNKNOWN},
          [](const std::string& value) {
            return value == "always" || IsNumber(value);
          },
          Keep("busy",
               [](auto& value) { return value == "always" ? "-1" : value; })),
      OfDevice("answer", "TEXT", "what hccn_tool prints instead of any answer",
               {"0xdeadbeef", "hccn-tool", UNKNOWN}, IsAnything, Live("say")),
      OfServer(
          "conf_empty", "MS",
          "how long each write of hccn.conf leaves the file empty at most",
          {"600000", "hccn-conf", UNKNOWN, Noticed::kChanging}, IsNumber,
          [](const HostFolder& folder, int, const std::string& value) {
            return SetState(folder, "conf_empty.ms", value);
          },
          Servers::kChanged),
      OfDevice(
          "state", "NAME=VALUE",
          "a key of the device's state, which README.md of tests/sim lists",
          {"speed=1000", "speed-uniform", WARN}, IsStateKey,
          [](const HostFolder& folder, int device, const std::string& value) {
            const size_t equals = value.find('=');
            return SetState(folder, DeviceKey(value.substr(0, equals), device),
                            value.substr(equals + 1));
          }),
  };
}

}  // namespace

FaultRow OfDevice(std::string key, std::string values, std::string meaning,
                  Noticed noticed, Valid valid, Act act, Servers servers) {
  return {{std::move(key), true, std::move(values), std::move(meaning),
           std::move(noticed), servers},
          std::move(valid),
          std::move(act)};
}

FaultRow OfServer(std::string key, std::string values, std::string meaning,
                  Noticed noticed, Valid valid, Act act, Servers servers) {
  FaultRow row =
      OfDevice(std::move(key), std::move(values), std::move(meaning),
               std::move(noticed), std::move(valid), std::move(act), servers);
  row.key.of_device = false;
  return row;
}

bool ReadsStateKey(bool is_950, const std::string& name) {
  const bool is_known = IsKnownStateKey(DeviceKey(name, 0));
  if (is_950) {
    // With a dot: a call of the driver, which both tools make.
    return (is_known && absl::StrContains(name, '.')) ||
           OneOf({"ip", "mask", "gateway", "netdetect", "mtu", "tls", "link",
                  "process", "net_health", "lldp", "lldp_second", "bond",
                  "ports", "cfg_status", "health", "booting", "busy", "say",
                  "hang"})(name);
  }
  // Records do not hold opt_serial, and hold three keys that no query shows.
  return name == "opt_serial" ||
         (is_known &&
          !OneOf({"bond_ip", "bond_mask", "opt_access_failed"})(name));
}

bool IsNumber(const std::string& value) {
  int number;
  return absl::SimpleAtoi(value, &number) && number >= 0;
}

bool IsFilled(const std::string& value) { return !value.empty(); }

bool IsIpv4(const std::string& value) { return StrictIpv4(value).has_value(); }

Valid OneOf(std::vector<std::string> values) {
  return [values](const std::string& value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
}

absl::Status SetState(const HostFolder& folder, const std::string& key,
                      const std::string& value) {
  if (folder.state().Update(
          [&](DeviceState& state) { state.Set(key, value); })) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(folder.Path(kStateFile), ": cannot be written"));
}

std::vector<FaultRow> DeviceRows() {
  std::vector<FaultRow> all;
  for (auto& group : {AddressRows(), ConditionRows(), ChipRows(), ToolRows()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

}  // namespace clusterd::sim
