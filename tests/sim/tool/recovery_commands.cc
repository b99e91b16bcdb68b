// -cfg: gives the devices what hccn.conf holds, as at boot.
#include <time.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/sim/tool/command_steps.h"
#include "tests/sim/tool/commands.h"
#include "tests/sim/tool/device_values.h"

namespace clusterd {
namespace sim {
namespace {

enum RecoveryStatus { kNone = 0, kFailed = 2, kSucceeded = 3 };
constexpr const char* kStatusNames[] = {"NONE", "START", "FAIL", "SUCCESS"};
constexpr char kRecoveryFailed[] =
    "Recovery failed. Check '/var/log/hccn_tool/hccn_config.log' for "
    "details.\n";
constexpr int kTries = 3;

using Value = std::optional<std::string>;

bool IsAddress(const std::string& text) {
  return StrictIpv4(text).has_value() && LooseIpv4(text) != 0xffffffff;
}

Outcome RecoverAddress(ToolContext& context) {
  Value address, netmask;
  if (Outcome failure = context.conf->Read(context.Key("address"), &address)) {
    return failure;
  }
  if (Outcome failure = context.conf->Read(context.Key("netmask"), &netmask)) {
    return failure;
  }
  if (!address && !netmask) return std::nullopt;
  const std::string wanted = address.value_or("");
  const std::string mask = netmask.value_or("");
  if (Outcome failure = CheckNewAddress(context, wanted, mask)) return failure;
  return ApplyAddress(context, wanted, mask);
}

// A device that asks a DHCP server gets its gateway and routes there.
Outcome AsksDhcp(ToolContext& context, bool* asks) {
  Value dhcp;
  Outcome failure = context.conf->Read(context.Key("udhcpc_enable"), &dhcp);
  *asks = dhcp.has_value();
  return failure;
}

Outcome RecoverStoredRoutes(ToolContext& context) {
  bool dhcp = false;
  if (Outcome failure = AsksDhcp(context, &dhcp)) return failure;
  return dhcp ? std::nullopt : RecoverRoutes(context);
}

Outcome RecoverGateway(ToolContext& context) {
  Value gateway;
  bool dhcp = false;
  if (Outcome failure = AsksDhcp(context, &dhcp)) return failure;
  if (dhcp) return std::nullopt;
  if (Outcome failure = ReadStoredGateway(context, &gateway)) return failure;
  if (!gateway || gateway->empty()) return std::nullopt;
  if (!IsAddress(*gateway)) return failures::InvalidAddress();
  // Whether it is in the device's subnet is not asked here.
  return ApplyGateway(context, *gateway);
}

// One value that is checked by itself and given to the device.
Outcome RecoverValue(ToolContext& context, const std::string& conf_key,
                     const std::string& name,
                     bool (*valid)(const std::string&)) {
  Value value;
  if (Outcome failure = context.conf->Read(context.Key(conf_key), &value)) {
    return failure;
  }
  if (!value) return std::nullopt;
  if (!valid(*value)) return failures::CommandFailed();
  if (Outcome failure = context.driver->AskToChange(context.device)) {
    return failure;
  }
  context.driver->Change(name, context.device, *value);
  return std::nullopt;
}

bool IsSwitch(const std::string& text) { return text == "0" || text == "1"; }

Outcome RecoverTlsSwitch(ToolContext& context) {
  return RecoverValue(context, "tls_enable", "tls", IsSwitch);
}
Outcome RecoverDetect(ToolContext& context) {
  return RecoverValue(context, "netdetect", "netdetect", IsAddress);
}
Outcome RecoverMtu(ToolContext& context) {
  return RecoverValue(context, "mtu", "mtu", IsMtu);
}
Outcome RecoverMac(ToolContext& context) {
  return RecoverValue(context, "mac_addr", "mac", IsMacAddress);
}

// Once per device the tool hands the driver's CA files over, and notes it. The
// files come with the driver package; without them the item fails.
Outcome RecoverCaFiles(ToolContext& context) {
  Value done;
  const std::string key = context.Key("tls_ca_recovered");
  if (Outcome failure = context.conf->Read(key, &done)) return failure;
  if (done && *done == "1") return std::nullopt;
  if (!context.server->has_install_info ||
      context.driver->Setting("ca_files").value_or("0") != "1") {
    return failures::CommandFailed();
  }
  return context.conf->Write(key, "1");
}

// The A2 builds note their defaults for resetting optical modules.
Outcome StoreModuleDefaults(ToolContext& context) {
  if (context.product().build != Product::Build::kA2 &&
      context.product().build != Product::Build::kA2Default) {
    return std::nullopt;
  }
  struct Default {
    const char* key;
    const char* value;
  };
  for (const Default& row : {Default{"xsfp_reset_max_times", "0"},
                             Default{"xsfp_reset_wait_times", "7"}}) {
    Value value;
    if (Outcome failure = context.conf->Read(context.Key(row.key), &value)) {
      return failure;
    }
    if (value) continue;
    if (Outcome failure =
            context.conf->Write(context.Key(row.key), row.value)) {
      return failure;
    }
  }
  return std::nullopt;
}

bool Succeeds(ToolContext& context, const char* name,
              Outcome (*item)(ToolContext&)) {
  for (int tries = 0; tries < kTries; ++tries) {
    Outcome failure = item(context);
    if (!failure) return true;
    context.server->log(absl::StrCat("device ", context.device,
                                     ": recovery of ", name, ": ",
                                     failure->text));
    const long wait = context.driver->retry_ms();
    timespec left{wait / 1000, (wait % 1000) * 1000000};
    nanosleep(&left, nullptr);
  }
  return false;
}

// What has to hold before any device is touched.
Outcome RequireRecovery(ToolContext& context) {
  if (!context.driver->privileged()) return failures::PermissionDenied();
  Outcome failure = context.conf->RequireFile();
  if (failure) context.terminal->Out(kRecoveryFailed);
  return failure;
}

}  // namespace

bool RecoverDevice(ToolContext& context) {
  struct Item {
    const char* name;
    Outcome (*recover)(ToolContext&);
  };
  constexpr Item kItems[] = {
      {"mac_addr", RecoverMac},
      {"mtu", RecoverMtu},
      {"tls_ca", RecoverCaFiles},
      {"tls_enable", RecoverTlsSwitch},
      {"address", RecoverAddress},
      {"netdetect", RecoverDetect},
      {"gateway", RecoverGateway},
      {"route", RecoverStoredRoutes},
      {"xsfp_reset", StoreModuleDefaults},
  };
  bool all = true;
  for (const Item& item : kItems) {
    if (!Succeeds(context, item.name, item.recover)) all = false;
  }
  context.driver->Change("cfg_status", context.device,
                         absl::StrCat(all ? kSucceeded : kFailed));
  return all;
}

Outcome Recover(ToolContext& context, const Arguments&) {
  if (Outcome failure = RequireRecovery(context)) return failure;
  if (RecoverDevice(context)) return std::nullopt;
  context.terminal->Out(kRecoveryFailed);
  return failures::Generic(1);
}

Outcome RecoverAll(ToolContext& context, const Arguments&) {
  if (Outcome failure = RequireRecovery(context)) return failure;
  bool all = true;
  for (int device : context.product().devices) {
    // A device that is gone gets no line.
    if (context.driver->RequireHealth(device)) continue;
    ToolContext one = context;
    one.device = device;
    if (RecoverDevice(one)) {
      context.terminal->Out(
          absl::StrCat("dev:", device, " recovery success\n"));
    } else {
      context.terminal->Err(absl::StrCat("dev:", device, " recovery fail\n"));
      all = false;
    }
  }
  if (all) return std::nullopt;
  context.terminal->Out(kRecoveryFailed);
  return failures::CommandFailed();
}

Outcome GetRecoveryStatus(ToolContext& context, const Arguments&) {
  const long status =
      context.driver->Number("cfg_status", context.device).value_or(kNone);
  const bool known = status >= kNone && status <= kSucceeded;
  context.terminal->Out(absl::StrCat(
      "config status:", known ? kStatusNames[status] : "FAULT", "\n"));
  return std::nullopt;
}

}  // namespace sim
}  // namespace clusterd
