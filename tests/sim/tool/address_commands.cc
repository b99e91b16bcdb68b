// -ip, -gateway, -udhcpc
#include <arpa/inet.h>
#include <stdlib.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/sim/tool/command_steps.h"
#include "tests/sim/tool/commands.h"
#include "tests/sim/tool/device_values.h"

namespace clusterd::sim {
namespace {

// Two links make one port on boards with several.
constexpr long kLinksPerPort = 2;
constexpr long kMinIpv6Mtu = 1280;

// Drops the stored gateway if it is outside the new subnet, and sets the values
// again that depend on the device's address.
Outcome SettleAddress(ToolContext& context, uint32_t address, uint32_t mask) {
  std::optional<std::string> gateway;
  if (!ReadLimited(context, "gateway", kMaxAddressChars, &gateway) && gateway) {
    const auto value = StrictIpv4(*gateway);
    if (!value || !SameSubnet(*value, address, mask)) {
      if (Outcome failure =
              context.conf->RemoveContaining(context.Key("gateway") + "=")) {
        return failure;
      }
    }
  }
  for (auto* recover :
       {RecoverGateway, RecoverRoutes, RecoverIpRoutes, RecoverAnnouncements}) {
    if (Outcome failure = recover(context)) return failure;
  }
  return std::nullopt;
}

// A gateway line of hccn.conf, and the device that it names.
struct StoredGateway {
  int device = -1;
  uint32_t address = 0;
};

// The line of the device itself. On A1 servers a group of four devices has one
// routing table: the line of the lowest id in the group.
Outcome FindStoredGateway(const ToolContext& context,
                          std::optional<StoredGateway>* found) {
  for (int id : GatewayGroup(context.product(), context.device)) {
    ToolContext other = context;
    other.device = id;
    std::optional<std::string> text;
    if (Outcome failure =
            ReadLimited(other, "gateway", kMaxAddressChars, &text)) {
      return failure;
    }
    if (!text) continue;
    const auto address = StrictIpv4(*text);
    if (!address) return failures::InvalidAddress();
    *found = StoredGateway{id, *address};
    return std::nullopt;
  }
  return std::nullopt;
}

Outcome DropStoredGateway(const ToolContext& context, int device) {
  return context.conf->RemoveContaining(absl::StrCat("gateway_", device, "="));
}

// Before a change the tool writes the device's values to the file. `others` is
// set to another device of the group whose line went, otherwise to -1.
Outcome SyncStoredGateway(ToolContext& context, const std::string& live,
                          int* others) {
  *others = -1;
  std::optional<StoredGateway> stored;
  if (Outcome failure = FindStoredGateway(context, &stored)) return failure;
  if (stored) {
    const bool own = stored->device == context.device;
    if (own && stored->address == LooseIpv4(live)) return std::nullopt;
    if (!own) *others = stored->device;
    if (Outcome failure = DropStoredGateway(context, stored->device)) {
      return failure;
    }
  }
  if (live.empty() || HasDhcp(context)) return std::nullopt;
  Outcome failure = context.conf->Write(context.Key("gateway"), live);
  // A disk without room does not keep the tool from asking the device.
  const bool full = failure && failure->status == failures::ConfFull().status;
  return full ? std::nullopt : failure;
}

}  // namespace

Outcome GetAddress(ToolContext& context, const Arguments&) {
  Driver& driver = *context.driver;
  const int device = context.device;
  const auto address = driver.Value("ip", device);
  const long code = driver.LibraryCode("get_ip", device);
  if (code == kNoDevice) return failures::NoAddress();
  if (Outcome failure = driver.CallLibrary("get_ip", device)) return failure;
  if (Outcome failure = driver.Ask(Mailbox::kGetAddress, device)) {
    return failure;
  }
  if (!address) return failures::NoAddress();
  long ports = 1;
  if (Is9000(driver.product())) {
    ports = driver.Number("link_cnt", device).value_or(kLinksPerPort) /
            kLinksPerPort;
  }
  for (long port = 0; port < std::max(ports, 1L); ++port) {
    context.terminal->Out(absl::StrCat(
        "ipaddr:", *address,
        "\nnetmask:", driver.Value("mask", device).value_or("0.0.0.0"), "\n"));
  }
  return std::nullopt;
}

Outcome SetAddress(ToolContext& context, const Arguments& arguments) {
  std::map<std::string, std::string> values;
  if (Outcome failure =
          TakeKeywords(arguments, {"address", "netmask"}, &values)) {
    return failure;
  }
  if (Outcome failure = CheckLengths(values)) return failure;
  const std::string& address = values["address"];
  const std::string& netmask = values["netmask"];
  if (Outcome failure = CheckNewAddress(context, address, netmask)) {
    return failure;
  }
  const uint32_t value = LooseIpv4(address);
  const uint32_t mask = LooseIpv4(netmask);
  // Routes go before the device is asked, and stay gone if it refuses.
  if (Outcome failure = DropForeignRoutes(context, value, mask)) return failure;
  if (Outcome failure = ApplyAddress(context, address, netmask)) return failure;
  // From here on the device has the new address, also if the file is wrong.
  if (Outcome failure = SettleAddress(context, value, mask)) return failure;
  if (Outcome failure = context.conf->Write(context.Key("address"), address)) {
    return failure;
  }
  return context.conf->Write(context.Key("netmask"), netmask);
}

Outcome GetIpv6Address(ToolContext& context, const Arguments&) {
  if (Is9000(context.product())) return failures::NoIpv6();
  if (Outcome failure = context.AskUnlisted()) return failure;
  const auto address = context.driver->Value("ip6", context.device);
  if (!address) return failures::NoAddress();
  return context.Print(
      absl::StrCat("ipv6_address:", *address,
                   "\nprefix_length:", context.Value("prefix", "64"), "\n"));
}

Outcome SetIpv6Address(ToolContext& context, const Arguments& arguments) {
  if (Is9000(context.product())) return failures::NoIpv6();
  std::map<std::string, std::string> values;
  if (Outcome failure =
          TakeKeywords(arguments, {"ipv6_address", "prefix_length"}, &values)) {
    return failure;
  }
  const std::string& address = values["ipv6_address"];
  const std::string& prefix = values["prefix_length"];
  in6_addr parsed;
  if (inet_pton(AF_INET6, address.c_str(), &parsed) != 1) {
    return failures::InvalidAddress();
  }
  // A prefix that is not a number counts as 0, and its text is stored.
  const int length = atoi(prefix.c_str());
  if (length < 0 || length > 128) return failures::WrongParameters();
  if (context.Number("mtu", kMinIpv6Mtu) < kMinIpv6Mtu) {
    return failures::MtuTooSmallForIpv6();
  }
  if (Outcome failure = context.AskToChange()) return failure;
  context.Change("ip6", address);
  context.Change("prefix", absl::StrCat(length));
  if (Outcome failure =
          context.conf->Write(context.Key("IPv6address"), address)) {
    return failure;
  }
  return context.conf->Write(context.Key("IPv6netmask"), prefix);
}

Outcome GetGateway(ToolContext& context, const Arguments&) {
  Driver& driver = *context.driver;
  if (Outcome failure = context.Ask(Mailbox::kGetGateway)) return failure;
  const auto gateway = driver.Value("gateway", context.device);
  if (!gateway || gateway->empty()) return failures::NoGateway();
  return context.Print(absl::StrCat("default gateway:", *gateway, ", Iface:eth",
                                    context.device, "\n"));
}

Outcome SetGateway(ToolContext& context, const Arguments& arguments) {
  std::map<std::string, std::string> values;
  if (Outcome failure = TakeKeywords(arguments, {"gateway"}, &values)) {
    return failure;
  }
  if (Outcome failure = CheckLengths(values)) return failure;
  const std::string& gateway = values["gateway"];
  uint32_t address = 0, mask = 0;
  if (Outcome failure = ReadDeviceAddress(
          context, failures::GatewayWithoutAddress(), &address, &mask)) {
    return failure;
  }
  const auto value = StrictIpv4(gateway);
  if (!value) return failures::InvalidAddress();
  if (!SameSubnet(*value, address, mask)) return failures::GatewayOutside();
  Driver& driver = *context.driver;
  const std::string live = context.Value("gateway");
  int others = -1;
  if (Outcome failure = SyncStoredGateway(context, live, &others)) {
    return failure;
  }
  if (Outcome failure = ApplyGateway(context, gateway)) return failure;
  if (others >= 0) driver.Erase("gateway", others);
  if (!live.empty() && LooseIpv4(live) != *value) {
    if (Outcome failure = DropStoredGateway(context, context.device)) {
      return failure;
    }
  }
  if (HasDhcp(context)) return std::nullopt;
  return context.conf->Write(context.Key("gateway"), gateway);
}

// The state says what a DHCP server would give. The words of the device's
// client are not known, and those here are the simulation's.
Outcome AcquireLease(ToolContext& context, const Arguments& arguments) {
  constexpr long kMaxTimeoutSeconds = 300;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "quit") continue;
    if (arguments[i] != "timeout") return failures::UnknownOption();
    if (++i == arguments.size()) return failures::WrongParameterCount();
    if (arguments[i].empty() ||
        !IsNumberIn(arguments[i], 1, kMaxTimeoutSeconds)) {
      return failures::WrongParameters();
    }
  }
  if (Outcome failure = context.AskToChange()) return failure;
  const std::vector<std::string> lease =
      absl::StrSplit(context.Value("lease"), ' ');
  const bool is_given = lease.size() == 2;
  context.terminal->Out(absl::StrCat(
      "device:", context.device, ":",
      is_given ? "setting " + lease[0] + ", lease time 3600" : "no lease",
      "\n"));
  if (!is_given) return failures::CommandFailed();
  context.Change("ip", lease[0]);
  context.Change("mask", lease[1]);
  return context.conf->Write(context.Key("udhcpc_enable"), "on");
}

// It is not known whether the device keeps its address.
Outcome ReleaseLease(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.AskToChange()) return failure;
  context.terminal->Out(absl::StrCat("device:", context.device, ":\n"));
  return context.conf->Remove(context.Key("udhcpc_enable"));
}

}  // namespace clusterd::sim
