// -gateway
#include "absl/strings/str_cat.h"
#include "tests/sim/tool/command_steps.h"
#include "tests/sim/tool/commands.h"
#include "tests/sim/tool/ipv4_text.h"

namespace clusterd {
namespace sim {

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
