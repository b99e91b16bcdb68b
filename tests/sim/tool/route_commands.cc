// -route, -ip_route, -arp
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/sim/tool/command_steps.h"
#include "tests/sim/tool/commands.h"
#include "tests/sim/tool/device_values.h"

namespace clusterd {
namespace sim {
namespace {

// "172.16.0.0 10.0.0.253 255.255.0.0": destination, gateway, mask.
using Routes = std::set<std::string>;

Routes LiveRoutes(const ToolContext& context) {
  return absl::StrSplit(
      context.driver->Value("routes", context.device).value_or(""), ',',
      absl::SkipEmpty());
}

void SetLiveRoutes(ToolContext& context, const Routes& routes) {
  if (routes == LiveRoutes(context)) return;
  if (routes.empty()) {
    context.driver->Erase("routes", context.device);
  } else {
    context.driver->Change("routes", context.device,
                           absl::StrJoin(routes, ","));
  }
}

bool IsReachable(const ToolContext& context, const std::string& gateway) {
  const Driver& driver = *context.driver;
  return SameSubnet(
      LooseIpv4(gateway),
      LooseIpv4(driver.Value("ip", context.device).value_or("")),
      LooseIpv4(
          driver.Value("mask", context.device).value_or("255.255.255.0")));
}

std::string RouteRow(const std::string& destination, const std::string& gateway,
                     const std::string& mask, int device) {
  return absl::StrFormat("%-16s%-16s%-16sUG    0      0        0 eth%d\n",
                         destination, gateway, mask, device);
}

// In the form of busybox route, without the device's own subnet.
std::string RouteTable(const ToolContext& context) {
  std::string text =
      "Destination     Gateway         Genmask         Flags Metric Ref    Use "
      "Iface\n";
  const auto gateway = context.driver->Value("gateway", context.device);
  if (gateway && !gateway->empty()) {
    text += RouteRow("default", *gateway, "0.0.0.0", context.device);
  }
  for (const std::string& route : LiveRoutes(context)) {
    const std::vector<std::string> words = absl::StrSplit(route, ' ');
    if (words.size() != 3) continue;
    text += RouteRow(words[0], words[1], words[2], context.device);
  }
  return text;
}

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
  const auto scripted = context.driver->Value("route_text", context.device);
  context.terminal->Out(absl::StrCat(
      "Routing table:\n", scripted ? *scripted : RouteTable(context), "\n"));
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
  if (!context.driver->Value("ip", context.device)) {
    return failures::NoAddress();
  }
  if (Outcome failure = context.driver->AskToChange(context.device)) {
    return failure;
  }
  Routes routes = LiveRoutes(context);
  const bool is_new =
      routes
          .insert(absl::StrCat(values["address"], " ", values["gateway"], " ",
                               values["netmask"]))
          .second;
  if (!is_new) return failures::CommandFailed();
  SetLiveRoutes(context, routes);
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
  Routes routes;
  for (const std::string& route : LiveRoutes(context)) {
    const bool meant = absl::StartsWith(route, values["address"] + " ") &&
                       absl::EndsWith(route, " " + values["netmask"]);
    if (!meant) routes.insert(route);
  }
  SetLiveRoutes(context, routes);
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
  SetLiveRoutes(context, {});
  const std::string end = absl::StrCat("_", context.device);
  return context.conf->Remove([&end](const std::string& line) {
    return absl::StartsWith(line, "route_address_") &&
           absl::EndsWith(line.substr(0, line.find('=')), end);
  });
}

void DropUnreachable(ToolContext& context) {
  Routes routes;
  for (const std::string& route : LiveRoutes(context)) {
    const std::vector<std::string> words = absl::StrSplit(route, ' ');
    if (words.size() == 3 && IsReachable(context, words[1])) {
      routes.insert(route);
    }
  }
  SetLiveRoutes(context, routes);
  const auto gateway = context.driver->Value("gateway", context.device);
  if (gateway && !IsReachable(context, *gateway)) {
    context.driver->Erase("gateway", context.device);
  }
}

Outcome RecoverRoutes(ToolContext& context) {
  std::string text;
  if (Outcome failure = context.conf->ReadAll(&text)) return failure;
  Routes routes = LiveRoutes(context);
  ForEachConfLine(text, [&](const std::string& line) {
    // route, address, A, netmask, M, N, gateway, G
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::ByAnyChar("_="));
    if (parts.size() == 8 && absl::StartsWith(line, "route_address_") &&
        parts[5] == absl::StrCat(context.device) &&
        IsReachable(context, parts[7])) {
      routes.insert(absl::StrCat(parts[2], " ", parts[7], " ", parts[4]));
    }
  });
  SetLiveRoutes(context, routes);
  return std::nullopt;
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
