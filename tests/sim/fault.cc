#include "tests/sim/fault.h"

#include <algorithm>
#include <functional>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/values/nearest_word.h"
#include "config/values/port_set.h"
#include "tests/sim/lldp_text.h"
#include "tests/sim/npu_smi.h"
#include "tests/sim/tool/device_values.h"
#include "tests/sim/tool/hccn_conf.h"

namespace clusterd {
namespace sim {
namespace {

using Valid = std::function<bool(const std::string&)>;
using Apply = std::function<absl::Status(const HostFolder&, int device,
                                         const std::string& value)>;

struct Row {
  FaultKey key;
  Valid valid;
  Apply apply;
};

constexpr const char* kHealthNames[] = {
    "Success", "SocketFail", "ReceiveTimeout", "Unreachable", "TimeExceeded",
    "Fault",   "Init",       "ThreadError",    "DetectIpSet", "Unknown"};
constexpr char kConf[] = "etc/hccn.conf";

bool IsNumber(const std::string& value) {
  int number;
  return absl::SimpleAtoi(value, &number) && number >= 0;
}
bool IsAnything(const std::string&) { return true; }
bool IsFilled(const std::string& value) { return !value.empty(); }
bool IsAddress(const std::string& value) {
  return StrictIpv4(value).has_value();
}
bool IsAddressOrNone(const std::string& value) {
  return value == "none" || IsAddress(value);
}
Valid OneOf(std::vector<std::string> values) {
  return [values](const std::string& value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
}

int HealthCode(const std::string& value) {
  int code;
  if (absl::SimpleAtoi(value, &code) && code >= 0 && code <= 9) return code;
  for (int i = 0; i < 10; ++i) {
    if (value == kHealthNames[i]) return i;
  }
  return -1;
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

absl::Status StoreInConf(const HostFolder& folder, const std::string& key,
                         int device, const std::string& value) {
  const HccnConf conf(folder.Path(kConf));
  const std::string full = absl::StrCat(key, "_", device);
  const Outcome failure =
      value == "none" ? conf.Remove(full) : conf.Write(full, value);
  if (!failure) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(folder.Path(kConf), ": ", failure->text));
}

absl::Status SetOnDevice(const HostFolder& folder, const std::string& name,
                         int device, const std::string& value) {
  const std::string key = DeviceKey(name, device);
  if (value != "none") return SetState(folder, key, value);
  folder.state().Update([&](DeviceState& state) { state.Erase(key); });
  return absl::OkStatus();
}

// The value on the device, in hccn.conf, or both, as a set command leaves it.
Row Stored(const std::string& key, const std::string& name,
           const std::string& conf_key, const Valid& valid,
           const std::string& values, const std::string& meaning) {
  return {{key, true, values, meaning},
          valid,
          [=](const HostFolder& folder, int device, const std::string& value) {
            absl::Status status;
            if (!name.empty()) {
              status = SetOnDevice(folder, name, device, value);
            }
            if (status.ok() && !conf_key.empty()) {
              status = StoreInConf(folder, conf_key, device, value);
            }
            return status;
          }};
}

Row OnDevice(const std::string& key, const std::string& name,
             const Valid& valid, const std::string& values,
             const std::string& meaning) {
  return Stored(key, name, "", valid, values, meaning);
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

std::vector<Row> AddressRows() {
  return {
      Stored("address", "ip", "address", IsAddressOrNone, "IPV4|none",
             "device address, as `hccn_tool -ip -s` leaves it: on the device "
             "and in hccn.conf"),
      Stored("netmask", "mask", "netmask", IsAddress, "IPV4",
             "netmask, on the device and in hccn.conf"),
      Stored("gateway", "gateway", "gateway", IsAddressOrNone, "IPV4|none",
             "gateway, on the device and in hccn.conf"),
      Stored("detect", "netdetect", "netdetect", IsAddressOrNone, "IPV4|none",
             "detect address, on the device and in hccn.conf; 0.0.0.0 is "
             "\"not set\""),
      OnDevice("live_address", "ip", IsAddressOrNone, "IPV4|none",
               "device address, hccn.conf keeps the old one"),
      OnDevice("live_netmask", "mask", IsAddress, "IPV4",
               "netmask of the device, hccn.conf keeps the old one"),
      OnDevice("live_gateway", "gateway", IsAddressOrNone, "IPV4|none",
               "gateway of the device, hccn.conf keeps the old one"),
      Stored("stored_address", "", "address", IsAddressOrNone, "IPV4|none",
             "address in hccn.conf only: what the next boot would set"),
      Stored("stored_netmask", "", "netmask", IsAddressOrNone, "IPV4|none",
             "netmask in hccn.conf only"),
      Stored("stored_gateway", "", "gateway", IsFilled, "TEXT|none",
             "gateway in hccn.conf only"),
      Stored("mtu", "mtu", "mtu", IsNumber, "BYTES",
             "MTU, on the device and in hccn.conf"),
  };
}

std::vector<Row> ConditionRows() {
  return {
      {{"link", true, "UP|DOWN", "physical link"},
       OneOf({"UP", "DOWN"}),
       [](const HostFolder& folder, int device, const std::string& value) {
         return SetState(folder, DeviceKey("link", device),
                         value == "UP" ? "1" : "0");
       }},
      {{"net_health", true,
        absl::StrCat("0-9|", absl::StrJoin(kHealthNames, "|")),
        "result of the device's own check"},
       [](const std::string& value) { return HealthCode(value) >= 0; },
       [](const HostFolder& folder, int device, const std::string& value) {
         return SetState(folder, DeviceKey("net_health", device),
                         absl::StrCat(HealthCode(value)));
       }},
      {{"lldp", true, "none|npu|long|SWITCH[/PORT]",
        "neighbour: nobody, another NPU, an answer over 1999 bytes, or this "
        "switch"},
       IsFilled,
       ApplyLldp},
      {{"tls", true, "0|1|absent",
        "TLS switch, on the device and in hccn.conf; absent: no such key"},
       OneOf({"0", "1", "absent"}),
       [](const HostFolder& folder, int device, const std::string& value) {
         if (value == "absent") {
           return StoreInConf(folder, "tls_enable", device, "none");
         }
         absl::Status status =
             SetState(folder, DeviceKey("tls", device), value);
         if (!status.ok()) return status;
         return StoreInConf(folder, "tls_enable", device, value);
       }},
      {{"gone", true, "1", "the driver knows the device no more"},
       OneOf({"1"}),
       [](const HostFolder& folder, int device, const std::string&) {
         return SetState(folder, DeviceKey("health", device), "0xffffffff");
       }},
      OnDevice("process", "process", OneOf({"0", "1"}), "0|1",
               "an HCCL job uses the device"),
  };
}

Valid StartsWithOneOf(std::vector<std::string> words) {
  return [valid = OneOf(std::move(words))](const std::string& value) {
    return valid(value.substr(0, value.find('/')));
  };
}

Row SuperPodRow(const std::string& key, const std::string& name) {
  return {
      {key, true, "N",
       absl::StrCat("in a super pod, the ", name, " that npu-smi tells")},
      IsNumber,
      [name](const HostFolder& folder, int device, const std::string& value) {
        return SetSuperPodValue(folder, device, name, value);
      }};
}

std::vector<Row> ChipRows() {
  return {
      {{"health", true, "OK|Warning|Alarm|Critical|UNKNOWN[/CODE…]",
        "what npu-smi says of the chip's health, and its fault codes"},
       StartsWithOneOf({"OK", "Warning", "Alarm", "Critical", "UNKNOWN"}),
       SetChipHealth},
      {{"ecc", true, "N", "double bit errors, and pages to isolate"},
       IsNumber,
       SetMemoryErrors},
      {{"compatibility", true, "OK|NOK|UNKNOWN|NOT SUPPORT",
        "what npu-smi says of driver and firmware"},
       OneOf({"OK", "NOK", "UNKNOWN", "NOT SUPPORT"}),
       SetCompatibility},
      {{"hccs", true, "OK|NOK[/LANES]",
        "what npu-smi says of HCCS, and the lanes of the first port"},
       StartsWithOneOf({"OK", "NOK"}),
       SetHccs},
      SuperPodRow("sdid", "SDID"),
      SuperPodRow("server_index", "Server Index"),
      {{"npu_smi", false, "absent|silent|hangs",
        "npu-smi is missing, says nothing and exits 0, or hangs"},
       OneOf({"absent", "silent", "hangs"}),
       [](const HostFolder& folder, int, const std::string& value) {
         return value == "absent" ? folder.Remove(kNpuSmi)
                                  : WriteBrokenNpuSmi(folder, value == "hangs");
       }},
  };
}

std::vector<Row> ToolRows() {
  return {
      OnDevice("hang", "hang", OneOf({"0", "1"}), "0|1",
               "every hccn_tool command for the device hangs"),
      OnDevice("lies", "lies", OneOf({"0", "1"}), "0|1",
               "every change is reported as done, and nothing is changed"),
      {{"delay", true, "MS", "every hccn_tool command takes so long"},
       IsNumber,
       [](const HostFolder& folder, int device, const std::string& value) {
         return SetState(folder, DeviceKey("delay", device) + ".ms", value);
       }},
      {{"busy", true, "N|always",
        "the next N hccn_tool commands answer \"busy\""},
       [](const std::string& value) {
         return value == "always" || IsNumber(value);
       },
       [](const HostFolder& folder, int device, const std::string& value) {
         return SetState(folder, DeviceKey("busy", device),
                         value == "always" ? "-1" : value);
       }},
      OnDevice("answer", "say", IsAnything, "TEXT",
               "what hccn_tool prints instead of any answer (rubbish)"),
      {{"conf_empty", false, "MS",
        "how long each write of hccn.conf leaves the file empty at most"},
       IsNumber,
       [](const HostFolder& folder, int, const std::string& value) {
         return SetState(folder, "conf_empty.ms", value);
       }},
      {{"state", true, "NAME=VALUE",
        "any key of the device's state, e.g. state=res.0x5=-16; README.md of "
        "tests/sim lists them"},
       [](const std::string& value) {
         return absl::StrContains(value, '=') && value[0] != '=';
       },
       [](const HostFolder& folder, int device, const std::string& value) {
         const size_t equals = value.find('=');
         return SetState(folder, DeviceKey(value.substr(0, equals), device),
                         value.substr(equals + 1));
       }},
  };
}

Row HostFile(const std::string& key, const std::string& path,
             const Valid& valid, const std::string& values,
             const std::string& meaning) {
  return {{key, false, values, meaning},
          valid,
          [path](const HostFolder& folder, int, const std::string& value) {
            return folder.Write(path, value + "\n");
          }};
}

std::vector<Row> KernelRows() {
  return {
      HostFile("somaxconn", "proc/sys/net/core/somaxconn", IsNumber, "N",
               "running net.core.somaxconn"),
      HostFile("syn_backlog", "proc/sys/net/ipv4/tcp_max_syn_backlog", IsNumber,
               "N", "running net.ipv4.tcp_max_syn_backlog"),
      {{"reserved_ports", false, "PORTS|none",
        "running net.ipv4.ip_local_reserved_ports"},
       [](const std::string& value) {
         return value == "none" || PortSet::Parse(value).ok();
       },
       [](const HostFolder& folder, int, const std::string& value) {
         return folder.Write("proc/sys/net/ipv4/ip_local_reserved_ports",
                             value == "none" ? "\n" : value + "\n");
       }},
      {{"persistent", false, "none|stale",
        "no sysctl.d file, or one that a later file overrides"},
       OneOf({"none", "stale"}),
       [](const HostFolder& folder, int, const std::string& value) {
         if (value == "none") {
           return folder.Remove("etc/sysctl.d/90-clusterd.conf");
         }
         return folder.Write("etc/sysctl.d/99-zz-site.conf",
                             "net.core.somaxconn = 128\n"
                             "net.ipv4.tcp_max_syn_backlog = 128\n"
                             "net.ipv4.ip_local_reserved_ports = 8080\n");
       }},
      {{"listen", false, "PORT",
        "a process listens on this TCP port (side by side only)"},
       [](const std::string& value) {
         int port;
         return absl::SimpleAtoi(value, &port) && port > 0 && port < 65536;
       },
       [](const HostFolder& folder, int, const std::string& value) {
         int port = 0;
         (void)absl::SimpleAtoi(value, &port);
         return folder.Write(
             "proc/net/tcp",
             folder.Read("proc/net/tcp") +
                 absl::StrCat("   9: 00000000:", absl::StrFormat("%04X", port),
                              " 00000000:0000 0A 00000000:00000000 00:00000000 "
                              "00000000     0        0 4242 1 "
                              "0000000000000000 100 0 0 10 0\n"));
       }},
  };
}

absl::Status ApplyConfFault(const HostFolder& folder, int,
                            const std::string& value) {
  std::string text = folder.Read(kConf);
  if (value == "no-newline") {
    while (!text.empty() && text.back() == '\n') text.pop_back();
  } else if (value == "crlf") {
    text = absl::StrReplaceAll(text, {{"\n", "\r\n"}});
  } else if (value == "empty") {
    text.clear();
  } else {
    absl::Status status = folder.Remove(kConf);
    if (!status.ok() || value == "absent") return status;
    return folder.MakeFolder(kConf);
  }
  return folder.Write(kConf, text);
}

absl::Status ApplyDeviceAbsent(const HostFolder& folder, int,
                               const std::string& value) {
  const std::string id = value.substr(value.find('-') + 1);
  std::vector<std::string> left;
  const std::string devices =
      folder.state().Read().Find("devices").value_or("");
  for (absl::string_view one : absl::StrSplit(devices, ',')) {
    if (one != id) left.emplace_back(one);
  }
  absl::Status status = folder.Remove("dev/davinci" + id);
  if (!status.ok()) return status;
  return SetState(folder, "devices", absl::StrJoin(left, ","));
}

// Its first line holds the version; the others stay.
Row VersionFile(const std::string& key, const std::string& file,
                const std::string& word) {
  return {{key, false, "VERSION|absent", key + " version, or no such file"},
          IsFilled,
          [=](const HostFolder& folder, int, const std::string& value) {
            const std::string path = "usr/local/Ascend/" + file;
            if (value == "absent") return folder.Remove(path);
            std::string rest = folder.Read(path);
            rest.erase(0, rest.find('\n'));
            if (rest.empty()) rest = "\n";
            return folder.Write(path, absl::StrCat(word, "=", value, rest));
          }};
}

std::vector<Row> FileRows() {
  constexpr char kTool[] = "usr/local/Ascend/driver/tools/hccn_tool";
  return {
      {{"hccn_conf", false, "absent|directory|empty|no-newline|crlf",
        "state of /etc/hccn.conf"},
       OneOf({"absent", "directory", "empty", "no-newline", "crlf"}),
       ApplyConfFault},
      {{"tool", false, "absent|broken|silent",
        "hccn_tool is missing, is no program, or says nothing and exits 0"},
       OneOf({"absent", "broken", "silent"}),
       [=](const HostFolder& folder, int, const std::string& value) {
         absl::Status status = folder.Remove(kTool);
         if (!status.ok() || value == "absent") return status;
         return folder.Write(
             kTool, value == "silent" ? "#!/bin/sh\n" : "not a program\n",
             0555);
       }},
      {{"device", false, "absent-ID", "a device that is not there"},
       [](const std::string& value) {
         return absl::StartsWith(value, "absent-") &&
                IsNumber(value.substr(value.find('-') + 1));
       },
       ApplyDeviceAbsent},
      HostFile("hostname", "proc/sys/kernel/hostname", IsFilled, "NAME",
               "host name that the kernel reports (side by side only)"),
      HostFile("machine_id", "etc/machine-id", IsFilled, "HEX",
               "/etc/machine-id, e.g. the one of a cloned server"),
      VersionFile("driver", "driver/version.info", "Version"),
      VersionFile("firmware", "firmware/version.info", "Version"),
      VersionFile("cann", CannInfoFile(), "version"),
  };
}

std::vector<Row> FirewallRows() {
  return {
      {{"ufw", false, "active|inactive",
        "ufw is installed, and on or off (side by side only)"},
       OneOf({"active", "inactive"}),
       [](const HostFolder& folder, int, const std::string& value) {
         const bool active = value == "active";
         absl::Status status = folder.Write(
             "etc/ufw/ufw.conf", absl::StrCat("ENABLED=", active ? "yes" : "no",
                                              "\nLOGLEVEL=low\n"));
         if (!status.ok()) return status;
         return folder.Write(
             "usr/sbin/ufw",
             active ? "#!/bin/sh\nprintf 'Status: active\\nLogging: on (low)\\n"
                      "Default: deny (incoming), allow (outgoing), disabled "
                      "(routed)\\nNew profiles: skip\\n'\n"
                    : "#!/bin/sh\necho 'Status: inactive'\n",
             0755);
       }},
  };
}

const std::vector<Row>& Rows() {
  static const auto* const rows = [] {
    auto* all = new std::vector<Row>;
    for (auto& group : {AddressRows(), ConditionRows(), ChipRows(), ToolRows(),
                        KernelRows(), FileRows(), FirewallRows()}) {
      all->insert(all->end(), group.begin(), group.end());
    }
    return all;
  }();
  return *rows;
}

const Row* FindRow(const std::string& key, bool of_device) {
  for (const Row& row : Rows()) {
    if (row.key.key == key && row.key.of_device == of_device) return &row;
  }
  return nullptr;
}

std::string UnknownKey(const std::string& key, bool of_device) {
  std::vector<absl::string_view> known;
  for (const Row& row : Rows()) {
    if (row.key.of_device == of_device) known.push_back(row.key.key);
  }
  return absl::StrCat(
      "unknown key \"", key, "\" of ", of_device ? "a device" : "the host",
      DidYouMean(key, known), ", expected one of ", absl::StrJoin(known, " "));
}

// Empty if the fault is well formed.
std::string ParseFault(const std::string& text, absl::Span<const int> devices,
                       Fault* fault) {
  const size_t colon = text.find(':');
  const size_t equals = text.find('=');
  if (colon == std::string::npos || equals == std::string::npos ||
      equals < colon || colon == 0 || equals == colon + 1) {
    return "expected DEVICE:KEY=VALUE or host:KEY=VALUE";
  }
  const std::string target = text.substr(0, colon);
  fault->key = text.substr(colon + 1, equals - colon - 1);
  fault->value = text.substr(equals + 1);
  const bool of_device = target != "host";
  if (of_device &&
      (!IsNumber(target) || !absl::SimpleAtoi(target, &fault->device) ||
       std::find(devices.begin(), devices.end(), fault->device) ==
           devices.end())) {
    return absl::StrCat("no device \"", target, "\", expected host or one of ",
                        absl::StrJoin(devices, " "));
  }
  const Row* row = FindRow(fault->key, of_device);
  if (row == nullptr) return UnknownKey(fault->key, of_device);
  if (fault->value.find('\n') != std::string::npos ||
      !row->valid(fault->value)) {
    return absl::StrCat(fault->key, " is \"", fault->value, "\", expected ",
                        row->key.values);
  }
  return "";
}

}  // namespace

const std::vector<FaultKey>& FaultKeys() {
  static const auto* const keys = [] {
    auto* all = new std::vector<FaultKey>;
    for (const Row& row : Rows()) all->push_back(row.key);
    return all;
  }();
  return *keys;
}

absl::StatusOr<std::vector<Fault>> ParseFaults(
    absl::Span<const std::string> texts, absl::Span<const int> devices) {
  std::vector<Fault> faults;
  std::vector<std::string> mistakes;
  for (const std::string& text : texts) {
    Fault fault;
    const std::string mistake = ParseFault(text, devices, &fault);
    if (mistake.empty()) {
      faults.push_back(fault);
    } else {
      mistakes.push_back(absl::StrCat("fault \"", text, "\": ", mistake));
    }
  }
  if (mistakes.empty()) return faults;
  return absl::InvalidArgumentError(absl::StrJoin(mistakes, "\n"));
}

absl::Status ApplyFault(const Fault& fault, const HostFolder& folder) {
  const Row* row = FindRow(fault.key, fault.device >= 0);
  if (row == nullptr) {
    return absl::InvalidArgumentError(UnknownKey(fault.key, fault.device >= 0));
  }
  return row->apply(folder, fault.device, fault.value);
}

}  // namespace sim
}  // namespace clusterd
