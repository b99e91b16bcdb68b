#include "tests/sim/tool/command_steps.h"

#include <stdio.h>
#include <string.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/sim/tool/device_values.h"

namespace clusterd::sim {
namespace {

constexpr uint32_t kNoAddress = 0xffffffff;

uint32_t AddressOf(ToolContext& context, const std::string& name, int device,
                   const std::string& otherwise) {
  return LooseIpv4(context.driver->Value(name, device).value_or(otherwise));
}

Outcome CheckConflict(ToolContext& context, const std::string& text) {
  Driver& driver = *context.driver;
  const Product& product = driver.product();
  // A board id that cannot be had counts as "no conflict".
  if (driver.LibraryCode("board", context.device) != 0) return std::nullopt;
  if (IsA3(product)) {
    const long code = driver.LibraryCode("spod", context.device);
    if (code != 0) return failures::Generic(static_cast<int>(code & 0xff));
  }
  const uint32_t address = LooseIpv4(text);
  if (IsReserved(product, address)) return failures::Conflict();
  if (address == kNoAddress) return std::nullopt;
  for (int other : DevicesCompared(product, context.device)) {
    if (AddressOf(context, "ip", other, "") == address) {
      return failures::Conflict();
    }
  }
  for (int other : VnicsCompared(product, context.device)) {
    const std::string usual = DefaultVnic(product, other).address;
    if (AddressOf(context, "vnic_ip", other, usual) == address) {
      return failures::Conflict();
    }
  }
  return std::nullopt;
}

// Takes `text` off the front of `rest`. False if it is not there.
bool Take(const char* text, const char** rest) {
  const size_t length = strlen(text);
  if (strncmp(*rest, text, length) != 0) return false;
  *rest += length;
  return true;
}

bool TakeNumber(const char** rest, unsigned* number) {
  int length = 0;
  if (sscanf(*rest, "%u%n", number, &length) != 1) return false;
  *rest += length;
  return true;
}

// Four numbers of any size with dots between them.
bool TakeQuad(const char** rest, std::string* quad) {
  unsigned parts[4];
  for (int i = 0; i < 4; ++i) {
    if (i > 0 && !Take(".", rest)) return false;
    if (!TakeNumber(rest, &parts[i])) return false;
  }
  *quad = absl::StrCat(parts[0], ".", parts[1], ".", parts[2], ".", parts[3]);
  return true;
}

// "route_address_172.16.0.0_netmask_255.255.0.0_5=gateway_10.0.0.253"; ignores
// further text.
bool ParseRoute(const std::string& line, StoredRoute* route) {
  const char* rest = line.c_str();
  return Take("route_address_", &rest) && TakeQuad(&rest, &route->address) &&
         Take("_netmask_", &rest) && TakeQuad(&rest, &route->netmask) &&
         Take("_", &rest) && TakeNumber(&rest, &route->device) &&
         Take("=gateway_", &rest) && TakeQuad(&rest, &route->gateway);
}

// Drops stored ip_route lines of the device whose next hop is outside the new
// subnet. ConfUnparsable if one does not even begin as a route.
Outcome DropForeignIpRoutes(ToolContext& context, const std::string& text,
                            uint32_t address, uint32_t mask) {
  const std::string key = context.Key("ip_route") + "=";
  std::vector<std::string> foreign;
  bool readable = true;
  ForEachConfLine(text, [&](const std::string& line) {
    if (!readable || !absl::StrContains(line, key)) return;
    const char* rest = line.c_str() + std::min(key.size(), line.size());
    unsigned number = 0;
    std::string via = "0.0.0.0";
    readable = Take("add ", &rest) && TakeNumber(&rest, &number);
    const size_t at = line.find(" via ");
    if (at != std::string::npos) {
      rest = line.c_str() + at + strlen(" via ");
      if (!TakeQuad(&rest, &via)) via = "0.0.0.0";
    }
    if (readable && !SameSubnet(LooseIpv4(via), address, mask)) {
      foreign.push_back(line);
    }
  });
  for (const std::string& line : foreign) {
    if (Outcome failure = context.conf->RemoveContaining(line)) return failure;
  }
  return readable ? std::nullopt : Outcome(failures::ConfUnparsable());
}

}  // namespace

Outcome TakeKeywords(const Arguments& arguments,
                     const std::vector<std::string>& keywords,
                     std::map<std::string, std::string>* values) {
  for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
    if (std::find(keywords.begin(), keywords.end(), arguments[i]) ==
        keywords.end()) {
      return failures::UnknownOption();
    }
    (*values)[arguments[i]] = arguments[i + 1];
  }
  return std::nullopt;
}

Outcome CheckLengths(const std::map<std::string, std::string>& values) {
  for (const auto& [keyword, value] : values) {
    if (value.size() > kMaxAddressChars) return failures::Generic(1);
  }
  return std::nullopt;
}

Outcome CheckNewAddress(ToolContext& context, const std::string& address,
                        const std::string& netmask) {
  if (Outcome failure = CheckConflict(context, address)) return failure;
  const auto value = StrictIpv4(address);
  const auto mask = StrictIpv4(netmask);
  if (!value || *value == 0 || *value == kNoAddress || !mask ||
      !IsContiguousMask(*mask)) {
    return failures::InvalidAddress();
  }
  return std::nullopt;
}

Outcome ApplyAddress(ToolContext& context, const std::string& address,
                     const std::string& netmask) {
  Driver& driver = *context.driver;
  if (Outcome failure = context.AskToChange()) return failure;
  if (Outcome failure = driver.CallLibrary("set_ip", context.device)) {
    return failure;
  }
  context.Change("ip", address);
  context.Change("mask", netmask);
  DropUnreachable(context);
  return std::nullopt;
}

Outcome ApplyGateway(ToolContext& context, const std::string& gateway) {
  if (Outcome failure = context.AskToChange()) return failure;
  if (Outcome failure = context.Ask(Mailbox::kSetGateway)) return failure;
  context.Change("gateway", gateway);
  return std::nullopt;
}

bool SameSubnet(uint32_t a, uint32_t b, uint32_t mask) {
  return (a & mask) == (b & mask);
}

Outcome ReadLimited(ToolContext& context, const std::string& name,
                    size_t max_chars, std::optional<std::string>* value) {
  if (Outcome failure = context.conf->Read(context.Key(name), value)) {
    return failure;
  }
  if (value->has_value() && (*value)->size() > max_chars) {
    return failures::Generic(1);
  }
  return std::nullopt;
}

Outcome ReadDeviceAddress(ToolContext& context, const Failure& if_none,
                          uint32_t* address, uint32_t* mask) {
  Driver& driver = *context.driver;
  const auto own = driver.Value("ip", context.device);
  if (driver.LibraryCode("get_ip", context.device) == kNoDevice || !own) {
    return if_none;
  }
  if (Outcome failure = driver.CallLibrary("get_ip", context.device)) {
    return failure;
  }
  *address = LooseIpv4(*own);
  *mask = LooseIpv4(context.Value("mask", "255.255.255.0"));
  return std::nullopt;
}

namespace {

bool HasKey(const ToolContext& context, const char* name, size_t max_chars) {
  std::optional<std::string> value;
  return !context.conf->Read(context.Key(name), &value) && value.has_value() &&
         value->size() <= max_chars;
}

}  // namespace

bool HasDhcp(const ToolContext& context) {
  return HasKey(context, "udhcpc_enable", kMaxDhcpChars);
}

bool RecoversDhcp(const ToolContext& context, bool or_ipv6) {
  return HasKey(context, "udhcpc_enable", kMaxAddressChars) ||
         (or_ipv6 && HasKey(context, "udhcpc_ipv6_enable", kMaxAddressChars));
}

std::string RouteKey(const ToolContext& context, const std::string& address,
                     const std::string& netmask) {
  return absl::StrCat("route_address_", address, "_netmask_", netmask, "_",
                      context.device);
}

Outcome ScanRoutes(const ToolContext& context, const std::string& text,
                   std::vector<StoredRoute>* own) {
  // The low byte of -ENOMEM, with which an unreadable route ends.
  constexpr int kUnreadableRoute = 244;
  bool readable = true;
  ForEachConfLine(text, [&](const std::string& line) {
    // The tool checks these five letters, and from then on insists.
    const bool is_route =
        absl::StartsWith(line, "route") && absl::StrContains(line, '=');
    if (!readable || !is_route) return;
    StoredRoute route;
    readable = ParseRoute(line, &route);
    if (readable && route.device == static_cast<unsigned>(context.device)) {
      own->push_back(route);
    }
  });
  return readable ? std::nullopt : Outcome(failures::Generic(kUnreadableRoute));
}

Outcome DropForeignRoutes(ToolContext& context, uint32_t address,
                          uint32_t mask) {
  std::string text;
  if (Outcome failure = context.conf->ReadToChange(&text)) return failure;
  std::vector<StoredRoute> own;
  Outcome unreadable = ScanRoutes(context, text, &own);
  // Lines above one that ends the scan are still dropped.
  for (const StoredRoute& route : own) {
    if (SameSubnet(LooseIpv4(route.gateway), address, mask)) continue;
    const std::string key = RouteKey(context, route.address, route.netmask);
    if (Outcome failure = context.conf->RemoveContaining(key + "=")) {
      return failure;
    }
  }
  if (unreadable) return unreadable;
  return DropForeignIpRoutes(context, text, address, mask);
}

Outcome ChangeAndStore(ToolContext& context, const std::string& name,
                       const std::string& conf_key, const std::string& value) {
  if (Outcome failure = context.AskToChange()) return failure;
  context.Change(name, value);
  return context.conf->Write(context.Key(conf_key), value);
}

bool AskYes(ToolContext& context, const std::string& question) {
  context.terminal->Out(question + "\n");
  context.terminal->Flush();
  const std::string answer = context.terminal->ReadLine();
  return answer == "y\n" || answer == "Y\n";
}

}  // namespace clusterd::sim
