// -ip, -gateway
#include <arpa/inet.h>
#include <stdlib.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/sim/tool/command_steps.h"
#include "tests/sim/tool/commands.h"
#include "tests/sim/tool/device_values.h"

namespace clusterd {
namespace sim {
namespace {

// Two links make one port on boards with several.
constexpr long kLinksPerPort = 2;
constexpr long kMinIpv6Mtu = 1280;

// Keeps, re-applies or drops the stored gateway after an address change.
Outcome SettleGateway(ToolContext& context, uint32_t address, uint32_t mask) {
  std::optional<std::string> gateway;
  if (Outcome failure = ReadStoredGateway(context, &gateway)) return failure;
  if (!gateway) return std::nullopt;
  if (!gateway->empty() && SameSubnet(LooseIpv4(*gateway), address, mask)) {
    return ApplyGateway(context, *gateway);
  }
  context.driver->Erase("gateway", context.device);
  return context.conf->RemoveContaining(context.Key("gateway") + "=");
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
  // From here on the device has the new address, whatever the file says.
  if (Outcome failure = SettleGateway(context, value, mask)) return failure;
  if (Outcome failure = context.conf->Write(context.Key("address"), address)) {
    return failure;
  }
  return context.conf->Write(context.Key("netmask"), netmask);
}

Outcome GetIpv6Address(ToolContext& context, const Arguments&) {
  if (Is9000(context.product())) return failures::NoIpv6();
  if (Outcome failure = context.driver->AskUnlisted(context.device)) {
    return failure;
  }
  const auto address = context.driver->Value("ip6", context.device);
  if (!address) return failures::NoAddress();
  context.terminal->Out(absl::StrCat(
      "ipv6_address:", *address, "\nprefix_length:",
      context.driver->Value("prefix", context.device).value_or("64"), "\n"));
  return std::nullopt;
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
  const bool digits = !prefix.empty() && prefix.size() <= 3 &&
                      std::all_of(prefix.begin(), prefix.end(),
                                  [](char c) { return c >= '0' && c <= '9'; });
  if (inet_pton(AF_INET6, address.c_str(), &parsed) != 1 || !digits ||
      atoi(prefix.c_str()) > 128) {
    return failures::InvalidAddress();
  }
  Driver& driver = *context.driver;
  if (driver.Number("mtu", context.device).value_or(kMinIpv6Mtu) <
      kMinIpv6Mtu) {
    // The vendor's text for 27 is not known.
    return failures::Generic(27);
  }
  if (Outcome failure = driver.AskToChange(context.device)) return failure;
  driver.Change("ip6", context.device, address);
  driver.Change("prefix", context.device, prefix);
  if (Outcome failure =
          context.conf->Write(context.Key("IPv6address"), address)) {
    return failure;
  }
  return context.conf->Write(context.Key("IPv6netmask"), prefix);
}

Outcome GetGateway(ToolContext& context, const Arguments&) {
  Driver& driver = *context.driver;
  if (Outcome failure = driver.Ask(Mailbox::kGetGateway, context.device)) {
    return failure;
  }
  const auto gateway = driver.Value("gateway", context.device);
  if (!gateway || gateway->empty()) return failures::NoGateway();
  context.terminal->Out(absl::StrCat("default gateway:", *gateway,
                                     ", Iface:eth", context.device, "\n"));
  return std::nullopt;
}

Outcome SetGateway(ToolContext& context, const Arguments& arguments) {
  std::map<std::string, std::string> values;
  if (Outcome failure = TakeKeywords(arguments, {"gateway"}, &values)) {
    return failure;
  }
  if (Outcome failure = CheckLengths(values)) return failure;
  const std::string& gateway = values["gateway"];
  const uint32_t value = LooseIpv4(gateway);
  if (!StrictIpv4(gateway) || value == 0xffffffff) {
    return failures::InvalidAddress();
  }
  Driver& driver = *context.driver;
  const auto address = driver.Value("ip", context.device);
  if (driver.LibraryCode("get_ip", context.device) == kNoDevice || !address) {
    return failures::GatewayWithoutAddress();
  }
  if (Outcome failure = driver.CallLibrary("get_ip", context.device)) {
    return failure;
  }
  const auto netmask = driver.Value("mask", context.device);
  if (!SameSubnet(value, LooseIpv4(*address),
                  LooseIpv4(netmask.value_or("255.255.255.0")))) {
    return failures::GatewayOutside();
  }
  std::optional<std::string> stored;
  if (Outcome failure = ReadStoredGateway(context, &stored)) return failure;
  if (Outcome failure = ApplyGateway(context, gateway)) return failure;
  const std::string key = context.Key("gateway");
  if (stored) {
    if (Outcome failure = context.conf->RemoveContaining(key + "=")) {
      return failure;
    }
  }
  return context.conf->Write(key, gateway);
}

}  // namespace sim
}  // namespace clusterd
