#include <algorithm>

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

namespace clusterd {
namespace sim {
namespace {

constexpr bool kDevice = true;
constexpr bool kServer = false;
constexpr const char* kHealthNames[] = {
    "Success", "SocketFail", "ReceiveTimeout", "Unreachable", "TimeExceeded",
    "Fault",   "Init",       "ThreadError",    "DetectIpSet", "Unknown"};
constexpr size_t kMaxProcessName = 15;  // Of prctl(2).

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
      {{"address",
        kDevice,
        "IPV4|none",
        "device address, as `hccn_tool -ip -s` leaves it: on the device and in "
        "hccn.conf",
        {"10.20.9.9", "device-ip-planned", FAIL}},
       IsAddressOrNone,
       Store("ip", "address")},
      {{"netmask",
        kDevice,
        "IPV4",
        "netmask, on the device and in hccn.conf",
        {"255.255.255.0", "netmask-uniform", FAIL}},
       IsIpv4,
       Store("mask", "netmask")},
      {{"gateway",
        kDevice,
        "IPV4|none",
        "gateway, on the device and in hccn.conf",
        {"10.20.0.9", "gateway", WARN}},
       IsAddressOrNone,
       Store("gateway", "gateway")},
      {{"detect",
        kDevice,
        "IPV4|none",
        "detect address, on the device and in hccn.conf; 0.0.0.0 is \"not "
        "set\"",
        {"none", "detect-address", FAIL}},
       IsAddressOrNone,
       Store("netdetect", "netdetect")},
      {{"live_address",
        kDevice,
        "IPV4|none",
        "device address; hccn.conf keeps the old one",
        {"10.20.9.9", "device-ip-persistent", FAIL}},
       IsAddressOrNone,
       Live("ip")},
      {{"live_netmask",
        kDevice,
        "IPV4",
        "netmask of the device; hccn.conf keeps the old one",
        {"255.255.255.0", "device-ip-persistent", FAIL}},
       IsIpv4,
       Live("mask")},
      {{"live_gateway",
        kDevice,
        "IPV4|none",
        "gateway of the device; hccn.conf keeps the old one",
        {"10.20.0.9", "gateway-persistent", WARN}},
       IsAddressOrNone,
       Live("gateway")},
      {{"stored_address",
        kDevice,
        "IPV4|none",
        "address in hccn.conf alone, which the next boot sets",
        {"10.20.9.9", "device-ip-persistent", FAIL}},
       IsAddressOrNone,
       Store("", "address")},
      {{"stored_netmask",
        kDevice,
        "IPV4|none",
        "netmask in hccn.conf alone",
        {"255.255.255.0", "device-ip-persistent", FAIL}},
       IsAddressOrNone,
       Store("", "netmask")},
      {{"stored_gateway",
        kDevice,
        "TEXT|none",
        "gateway in hccn.conf alone",
        {"10.20.0.9", "gateway-persistent", WARN}},
       IsFilled,
       Store("", "gateway")},
      {{"mtu",
        kDevice,
        "BYTES",
        "MTU, on the device and in hccn.conf",
        {"9000", "mtu-uniform", WARN}},
       IsNumber,
       Store("mtu", "mtu")},
  };
}

std::vector<FaultRow> ConditionRows() {
  return {
      {{"link", kDevice, "UP|DOWN", "physical link", {"DOWN", "link", FAIL}},
       OneOf({"UP", "DOWN"}),
       [](const HostFolder& folder, int device, const std::string& value) {
         return SetState(folder, DeviceKey("link", device),
                         value == "UP" ? "1" : "0");
       }},
      {{"net_health",
        kDevice,
        absl::StrCat("0-9|", absl::StrJoin(kHealthNames, "|")),
        "result of the device's own check",
        {"ReceiveTimeout", "net-health", FAIL}},
       [](const std::string& value) { return HealthCode(value) >= 0; },
       [](const HostFolder& folder, int device, const std::string& value) {
         return SetState(folder, DeviceKey("net_health", device),
                         absl::StrCat(HealthCode(value)));
       }},
      {{"lldp",
        kDevice,
        "none|npu|long|SWITCH[/PORT]",
        "neighbour: nothing, another NPU, an answer over 1999 bytes, or this "
        "switch",
        {"none", "lldp", FAIL}},
       IsFilled,
       ApplyLldp},
      {{"tls",
        kDevice,
        "0|1|absent",
        "TLS switch, on the device and in hccn.conf; absent: no such key",
        {"1", "tls-uniform", FAIL}},
       OneOf({"0", "1", "absent"}),
       ApplyTls},
      {{"gone",
        kDevice,
        "1",
        "the driver does not know the device any more",
        {"1", "device-count", FAIL}},
       OneOf({"1"}),
       [](const HostFolder& folder, int device, const std::string&) {
         return SetState(folder, DeviceKey("health", device), "0xffffffff");
       }},
      {{"process",
        kDevice,
        "NAME",
        "a process of that name uses the device",
        {"python3", "device-idle", WARN}},
       [](const std::string& value) {
         return IsFilled(value) && value.size() <= kMaxProcessName;
       },
       StartDeviceUser},
  };
}

Valid StartsWithOneOf(std::vector<std::string> words) {
  return [valid = OneOf(std::move(words))](const std::string& value) {
    return valid(value.substr(0, value.find('/')));
  };
}

FaultRow SuperPodRow(const std::string& key, const std::string& name,
                     const std::string& wrong) {
  return {
      {key,
       kDevice,
       "N",
       absl::StrCat("the ", name, " that npu-smi prints"),
       {wrong, "subnet-superpod", FAIL},
       Servers::kSuperPod},
      IsNumber,
      [name](const HostFolder& folder, int device, const std::string& value) {
        return SetSuperPodValue(folder, device, name, value);
      }};
}

std::vector<FaultRow> ChipRows() {
  return {
      {{"health",
        kDevice,
        "OK|Warning|Alarm|Critical|UNKNOWN[/CODE…]",
        "health of the chip as npu-smi prints it, and its fault codes",
        {"Alarm/0x80E18401", "device-health", FAIL},
        Servers::kNotAscend950},
       StartsWithOneOf({"OK", "Warning", "Alarm", "Critical", "UNKNOWN"}),
       SetChipHealth},
      {{"ecc",
        kDevice,
        "N",
        "double bit errors, and pages to isolate",
        {"3", "device-health", WARN},
        Servers::kNotAscend950},
       IsNumber,
       SetMemoryErrors},
      {{"compatibility",
        kDevice,
        "OK|NOK|UNKNOWN|NOT SUPPORT",
        "npu-smi's verdict on driver and firmware, for the device's card",
        {"NOK", "driver-compat", FAIL},
        Servers::kNotAscend950},
       OneOf({"OK", "NOK", "UNKNOWN", "NOT SUPPORT"}),
       SetCompatibility},
      {{"hccs",
        kDevice,
        "OK|NOK[/LANES]",
        "npu-smi's verdict on HCCS, and the lanes of the first port",
        {"NOK", "hccs", FAIL},
        Servers::kNotAscend950},
       StartsWithOneOf({"OK", "NOK"}),
       SetHccs},
      {{"hbm",
        kDevice,
        "MB",
        "memory in use as npu-smi prints it; no process has it",
        {"40000", "device-memory", WARN},
        Servers::kNotAscend950},
       IsNumber,
       SetMemoryUse},
      {{"chip",
        kDevice,
        "absent",
        "npu-smi does not list the chip",
        {"absent", "device-health", UNKNOWN},
        Servers::kNotAscend950},
       OneOf({"absent"}),
       [](const HostFolder& folder, int device, const std::string&) {
         return HideChip(folder, device);
       }},
      {{"chip_answer",
        kDevice,
        "TEXT",
        "what npu-smi answers instead to each question about the chip",
        {"garbled", "device-health", UNKNOWN},
        Servers::kNotAscend950},
       IsFilled,
       SetChipAnswer},
      SuperPodRow("sdid", "SDID", "0"),
      SuperPodRow("server_index", "Server Index", "9"),
      {{"npu_smi",
        kServer,
        "absent|silent|hangs|garbled|refused",
        "npu-smi is missing (only noted), prints nothing and exits 0, hangs, "
        "prints no table, or fails with -8020",
        {"refused", "device-health", UNKNOWN},
        Servers::kNotAscend950},
       OneOf({"absent", "silent", "hangs", "garbled", "refused"}),
       [](const HostFolder& folder, int, const std::string& value) {
         return value == "absent" ? folder.Remove(kNpuSmi)
                                  : WriteBrokenNpuSmi(folder, value);
       }},
  };
}

// Keys that no record of the classic tool holds.
bool IsStateKey(const std::string& value) {
  const std::string name = value.substr(0, value.find('='));
  return absl::StrContains(value, '=') &&
         (IsKnownStateKey(DeviceKey(name, 0)) ||
          OneOf({"bond", "lldp_second", "opt_serial", "ports"})(name));
}

std::vector<FaultRow> ToolRows() {
  return {
      {{"hang",
        kDevice,
        "0|1",
        "every hccn_tool command for the device hangs",
        {"1", "hccn-tool", UNKNOWN}},
       OneOf({"0", "1"}),
       Live("hang")},
      {{"lies",
        kDevice,
        "0|1",
        "every change is reported as done, and nothing is changed",
        {"1", "detect-address", FAIL, Noticed::kChanged}},
       OneOf({"0", "1"}),
       Live("lies")},
      {{"delay",
        kDevice,
        "MS",
        "every hccn_tool command takes so long",
        {"600000", "hccn-tool", UNKNOWN}},
       IsNumber,
       [](const HostFolder& folder, int device, const std::string& value) {
         return SetState(folder, DeviceKey("delay", device) + ".ms", value);
       }},
      {{"busy",
        kDevice,
        "N|always",
        "the next N hccn_tool commands answer \"busy\"",
        {"always", "hccn-tool", UNKNOWN}},
       [](const std::string& value) {
         return value == "always" || IsNumber(value);
       },
       [](const HostFolder& folder, int device, const std::string& value) {
         return SetState(folder, DeviceKey("busy", device),
                         value == "always" ? "-1" : value);
       }},
      {{"answer",
        kDevice,
        "TEXT",
        "what hccn_tool prints instead of any answer",
        {"0xdeadbeef", "hccn-tool", UNKNOWN}},
       IsAnything,
       Live("say")},
      {{"conf_empty",
        kServer,
        "MS",
        "how long each write of hccn.conf leaves the file empty at most",
        {"600000", "device-ip-persistent", FAIL, Noticed::kChanging}},
       IsNumber,
       [](const HostFolder& folder, int, const std::string& value) {
         return SetState(folder, "conf_empty.ms", value);
       }},
      {{"state",
        kDevice,
        "NAME=VALUE",
        "a key of the device's state, which README.md of tests/sim lists",
        {"speed=1000", "speed-uniform", WARN}},
       IsStateKey,
       [](const HostFolder& folder, int device, const std::string& value) {
         const size_t equals = value.find('=');
         return SetState(folder, DeviceKey(value.substr(0, equals), device),
                         value.substr(equals + 1));
       }},
  };
}

}  // namespace

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

}  // namespace sim
}  // namespace clusterd
