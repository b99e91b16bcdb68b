// -route, -ip_route, -ip_rule, -arp
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/sim/tool/command_steps.h"
#include "tests/sim/tool/commands.h"
#include "tests/sim/tool/device_values.h"

namespace clusterd::sim {
namespace {

// "172.16.0.0 10.0.0.253 255.255.0.0": destination, gateway, mask.
using Routes = std::set<std::string>;

Routes LiveRoutes(const ToolContext& context) {
  return absl::StrSplit(context.Value("routes"), ',', absl::SkipEmpty());
}

void SetLiveRoutes(ToolContext& context, const Routes& routes) {
  if (routes == LiveRoutes(context)) return;
  if (routes.empty()) {
    context.driver->Erase("routes", context.device);
  } else {
    context.Change("routes", absl::StrJoin(routes, ","));
  }
}

bool IsReachable(const ToolContext& context, const std::string& gateway) {
  return SameSubnet(LooseIpv4(gateway), LooseIpv4(context.Value("ip")),
                    LooseIpv4(context.Value("mask", "255.255.255.0")));
}

std::string RouteRow(const std::string& destination, const std::string& gateway,
                     const std::string& mask, int device) {
  return absl::StrFormat("%-16s%-16s%-16sUG    0      0        0 eth%d\n",
                         destination, gateway, mask, device);
}

// Formats routes as busybox route does, without the device's own subnet.
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

// Each of `count` keywords has to be there.
Outcome CheckRoute(const std::map<std::string, std::string>& values,
                   size_t count) {
  if (values.size() != count) return failures::UnknownOption();
  // A text that only begins so counts, too, and neither has to be an address.
  constexpr char kAny[] = "0.0.0.0";
  if (absl::StartsWith(values.at("address"), kAny) ||
      absl::StartsWith(values.at("netmask"), kAny)) {
    return failures::DefaultRoute();
  }
  for (const auto& [keyword, value] : values) {
    if (!StrictIpv4(value)) return failures::InvalidAddress();
  }
  return std::nullopt;
}

// Words after the keywords of -ip_route and -ip_rule that name a table.
bool IsTable(const std::string& text) {
  constexpr int kMaxTable = 255;
  int table = 0;
  return absl::SimpleAtoi(text, &table) && table >= 0 && table <= kMaxTable;
}

}  // namespace

Outcome GetRoutes(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.AskUnlisted()) return failure;
  const auto scripted = context.driver->Value("route_text", context.device);
  return context.Print(absl::StrCat(
      "Routing table:\n", scripted ? *scripted : RouteTable(context), "\n"));
}

Outcome AddRoute(ToolContext& context, const Arguments& arguments) {
  std::map<std::string, std::string> values;
  if (Outcome failure =
          TakeKeywords(arguments, {"address", "netmask", "gateway"}, &values)) {
    return failure;
  }
  if (Outcome failure = CheckLengths(values)) return failure;
  if (Outcome failure = CheckRoute(values, 3)) return failure;
  uint32_t address = 0, mask = 0;
  if (Outcome failure =
          ReadDeviceAddress(context, failures::NoAddress(), &address, &mask)) {
    return failure;
  }
  if (Outcome failure = context.AskToChange()) return failure;
  Routes routes = LiveRoutes(context);
  const bool is_new =
      routes
          .insert(absl::StrCat(values["address"], " ", values["gateway"], " ",
                               values["netmask"]))
          .second;
  if (!is_new) return failures::CommandFailed();
  SetLiveRoutes(context, routes);
  if (HasDhcp(context)) return std::nullopt;
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
  if (Outcome failure = CheckLengths(values)) return failure;
  if (Outcome failure = CheckRoute(values, 2)) return failure;
  const std::string key =
      RouteKey(context, values["address"], values["netmask"]);
  std::optional<std::string> stored;
  if (Outcome failure = context.conf->Read(key, &stored)) return failure;
  if (!stored) return failures::RouteAbsent();
  if (Outcome failure = context.AskToChange()) return failure;
  Routes routes;
  for (const std::string& route : LiveRoutes(context)) {
    const bool meant = absl::StartsWith(route, values["address"] + " ") &&
                       absl::EndsWith(route, " " + values["netmask"]);
    if (!meant) routes.insert(route);
  }
  SetLiveRoutes(context, routes);
  return context.conf->RemoveContaining(key + "=");
}

Outcome ClearRoutes(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.AskToChange()) return failure;
  std::string text;
  if (Outcome failure = context.conf->ReadToChange(&text)) return failure;
  std::vector<StoredRoute> own;
  Outcome unreadable = ScanRoutes(context, text, &own);
  if (!unreadable) SetLiveRoutes(context, {});
  for (const StoredRoute& route : own) {
    const std::string key = RouteKey(context, route.address, route.netmask);
    if (Outcome failure = context.conf->RemoveContaining(key + "=")) {
      return failure;
    }
  }
  return unreadable;
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
  if (RecoversDhcp(context, /*or_ipv6=*/true)) return std::nullopt;
  std::string text;
  if (Outcome failure = context.conf->ReadAll(&text)) return failure;
  std::vector<StoredRoute> own;
  Outcome unreadable = ScanRoutes(context, text, &own);
  Routes routes = LiveRoutes(context);
  for (const StoredRoute& route : own) {
    if (!StrictIpv4(route.address) || !StrictIpv4(route.netmask) ||
        !StrictIpv4(route.gateway)) {
      return failures::CommandFailed();
    }
    routes.insert(
        absl::StrCat(route.address, " ", route.gateway, " ", route.netmask));
  }
  SetLiveRoutes(context, routes);
  return unreadable;
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
  if (!IsTable(values["table"])) return failures::WrongParameters();
  if (Outcome failure = context.AskToChange()) return failure;
  if (HasDhcp(context)) return std::nullopt;
  return context.conf->Append(
      absl::StrCat(context.Key("ip_route"), "=add ", values["ip"], "/",
                   values["ip_mask"], " via ", values["via"], " dev ",
                   values["dev"], " table ", values["table"]));
}

Outcome AddIpRule(ToolContext& context, const Arguments& arguments) {
  std::map<std::string, std::string> values;
  if (Outcome failure =
          TakeKeywords(arguments, {"dir", "ip", "table"}, &values)) {
    return failure;
  }
  const bool known = values["dir"] == "from" || values["dir"] == "to";
  if (!known || !IsTable(values["table"])) return failures::WrongParameters();
  if (!StrictIpv4(values["ip"])) return failures::InvalidAddress();
  if (Outcome failure = context.AskToChange()) return failure;
  if (HasDhcp(context)) return std::nullopt;
  return context.conf->Append(absl::StrCat(context.Key("ip_rule"), "=add ",
                                           values["dir"], " ", values["ip"],
                                           " table ", values["table"]));
}

Outcome GetArp(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.AskUnlisted()) return failure;
  const std::string text = context.Value("arp_text");
  return context.Print(absl::StrCat("arp table:\n", text, "\n"));
}

Outcome AddArp(ToolContext& context, const Arguments& arguments) {
  std::map<std::string, std::string> values;
  if (Outcome failure =
          TakeKeywords(arguments, {"dev", "ip", "mac"}, &values)) {
    return failure;
  }
  if (!StrictIpv4(values["ip"])) return failures::InvalidAddress();
  if (Outcome failure = context.AskToChange()) return failure;
  if (HasDhcp(context)) return std::nullopt;
  const std::string key = context.Key("arp") + "=";
  return context.conf->Append(absl::StrCat(key, "-i ", values["dev"], " -s ",
                                           values["ip"], " ", values["mac"]),
                              {key, values["dev"] + " ", values["ip"] + " "});
}

}  // namespace clusterd::sim
