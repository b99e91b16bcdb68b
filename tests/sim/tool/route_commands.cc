// -route, -ip_route, -arp
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/sim/tool/command_steps.h"
#include "tests/sim/tool/commands.h"
#include "tests/sim/tool/ipv4_text.h"

namespace clusterd {
namespace sim {
namespace {

std::string RouteKey(const ToolContext& context, const std::string& address,
                     const std::string& netmask) {
  return absl::StrCat("route_address_", address, "_netmask_", netmask, "_",
                      context.device);
}

Outcome CheckRoute(const std::string& address, const std::string& netmask) {
  const auto mask = StrictIpv4(netmask);
  if (!StrictIpv4(address) || !mask || !IsContiguousMask(*mask)) {
    return failures::InvalidAddress();
  }
  // The vendor's text for a default route is not known.
  if (*StrictIpv4(address) == 0 && *mask == 0) return failures::Generic(35);
  return std::nullopt;
}

}  // namespace

Outcome GetRoutes(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.driver->AskUnlisted(context.device)) {
    return failure;
  }
  const std::string text =
      context.driver->Value("route_text", context.device).value_or("");
  context.terminal->Out(absl::StrCat("Routing table:\n", text, "\n"));
  return std::nullopt;
}

Outcome AddRoute(ToolContext& context, const Arguments& arguments) {
  std::map<std::string, std::string> values;
  if (Outcome failure =
          TakeKeywords(arguments, {"address", "netmask", "gateway"}, &values)) {
    return failure;
  }
  if (Outcome failure = CheckRoute(values["address"], values["netmask"])) {
    return failure;
  }
  if (!StrictIpv4(values["gateway"])) return failures::InvalidAddress();
  if (Outcome failure = context.driver->AskToChange(context.device)) {
    return failure;
  }
  return context.conf->Write(
      RouteKey(context, values["address"], values["netmask"]),
      "gateway_" + values["gateway"]);
}

Outcome DeleteRoute(ToolContext& context, const Arguments& arguments) {
  std::map<std::string, std::string> values;
  if (Outcome failure =
          TakeKeywords(arguments, {"address", "netmask"}, &values)) {
    return failure;
  }
  if (Outcome failure = CheckRoute(values["address"], values["netmask"])) {
    return failure;
  }
  if (Outcome failure = context.driver->AskToChange(context.device)) {
    return failure;
  }
  const std::string start =
      RouteKey(context, values["address"], values["netmask"]) + "=";
  return context.conf->Remove([&start](const std::string& line) {
    return absl::StartsWith(line, start);
  });
}

Outcome ClearRoutes(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.driver->AskToChange(context.device)) {
    return failure;
  }
  const std::string end = absl::StrCat("_", context.device);
  return context.conf->Remove([&end](const std::string& line) {
    return absl::StartsWith(line, "route_address_") &&
           absl::EndsWith(line.substr(0, line.find('=')), end);
  });
}

Outcome AddIpRoute(ToolContext& context, const Arguments& arguments) {
  std::map<std::string, std::string> values;
  if (Outcome failure = TakeKeywords(
          arguments, {"ip", "ip_mask", "via", "dev", "table"}, &values)) {
    return failure;
  }
  if (!StrictIpv4(values["ip"]) || !StrictIpv4(values["via"])) {
    return failures::InvalidAddress();
  }
  if (Outcome failure = context.driver->AskToChange(context.device)) {
    return failure;
  }
  return context.conf->Write(
      context.Key("ip_route"),
      absl::StrCat("add ", values["ip"], "/", values["ip_mask"], " via ",
                   values["via"], " dev ", values["dev"], " table ",
                   values["table"]));
}

Outcome GetArp(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.driver->AskUnlisted(context.device)) {
    return failure;
  }
  const std::string text =
      context.driver->Value("arp_text", context.device).value_or("");
  context.terminal->Out(absl::StrCat("arp table:\n", text, "\n"));
  return std::nullopt;
}

Outcome AddArp(ToolContext& context, const Arguments& arguments) {
  std::map<std::string, std::string> values;
  if (Outcome failure =
          TakeKeywords(arguments, {"dev", "ip", "mac"}, &values)) {
    return failure;
  }
  if (!StrictIpv4(values["ip"])) return failures::InvalidAddress();
  if (Outcome failure = context.driver->AskToChange(context.device)) {
    return failure;
  }
  return context.conf->Write(context.Key("arp"),
                             absl::StrCat("-i ", values["dev"], " -s ",
                                          values["ip"], " ", values["mac"]));
}

}  // namespace sim
}  // namespace clusterd
