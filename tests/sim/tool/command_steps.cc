#include "tests/sim/tool/command_steps.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/sim/tool/device_values.h"

namespace clusterd {
namespace sim {
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

// "gateway_10.0.0.253" of a route line, "via 10.0.0.253" of an ip_route line.
// False if the line is no stored route of the device.
bool FindRouteGateway(const ToolContext& context, const std::string& line,
                      std::string* gateway, bool* readable) {
  const size_t equals = line.find('=');
  if (equals == std::string::npos) return false;
  const std::string key = line.substr(0, equals);
  const std::string value = line.substr(equals + 1);
  *readable = true;
  gateway->clear();
  if (absl::StartsWith(key, "route_address_") &&
      absl::EndsWith(key, absl::StrCat("_", context.device))) {
    constexpr absl::string_view kPrefix = "gateway_";
    *readable = absl::StartsWith(value, kPrefix);
    if (*readable) *gateway = value.substr(kPrefix.size());
    return true;
  }
  if (key != context.Key("ip_route")) return false;
  const std::vector<std::string> words = absl::StrSplit(value, ' ');
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "via") *gateway = words[i + 1];
  }
  return !gateway->empty();
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
  if (Outcome failure = driver.AskToChange(context.device)) return failure;
  if (Outcome failure = driver.CallLibrary("set_ip", context.device)) {
    return failure;
  }
  driver.Change("ip", context.device, address);
  driver.Change("mask", context.device, netmask);
  DropUnreachable(context);
  return std::nullopt;
}

Outcome ApplyGateway(ToolContext& context, const std::string& gateway) {
  Driver& driver = *context.driver;
  if (Outcome failure = driver.AskToChange(context.device)) return failure;
  if (Outcome failure = driver.Ask(Mailbox::kSetGateway, context.device)) {
    return failure;
  }
  driver.Change("gateway", context.device, gateway);
  return std::nullopt;
}

bool SameSubnet(uint32_t a, uint32_t b, uint32_t mask) {
  return (a & mask) == (b & mask);
}

Outcome ReadStoredGateway(ToolContext& context,
                          std::optional<std::string>* gateway) {
  if (Outcome failure = context.conf->Read(context.Key("gateway"), gateway)) {
    return failure;
  }
  if (gateway->has_value() && (*gateway)->size() > kMaxAddressChars) {
    return failures::Generic(1);
  }
  return std::nullopt;
}

Outcome DropForeignRoutes(ToolContext& context, uint32_t address,
                          uint32_t mask) {
  // The low byte of -12, which is what a route that cannot be read ends in.
  constexpr int kUnreadableRoute = 244;
  bool all_readable = true;
  Outcome failure = context.conf->Remove([&](const std::string& line) {
    std::string gateway;
    bool readable = true;
    if (!FindRouteGateway(context, line, &gateway, &readable)) return false;
    all_readable = all_readable && readable;
    return readable && !SameSubnet(LooseIpv4(gateway), address, mask);
  });
  if (failure) {
    // The tool opens the file for this under the name of reading it.
    const bool unwritable = failure->status == 4;
    return unwritable ? Outcome(failures::ConfUnreadable()) : failure;
  }
  if (!all_readable) return failures::Generic(kUnreadableRoute);
  return std::nullopt;
}

Outcome ChangeAndStore(ToolContext& context, const std::string& name,
                       const std::string& conf_key, const std::string& value) {
  if (Outcome failure = context.driver->AskToChange(context.device)) {
    return failure;
  }
  context.driver->Change(name, context.device, value);
  return context.conf->Write(context.Key(conf_key), value);
}

bool AskYes(ToolContext& context, const std::string& question) {
  context.terminal->Out(question + "\n");
  context.terminal->Flush();
  const std::string answer = context.terminal->ReadLine();
  return answer == "y\n" || answer == "Y\n";
}

}  // namespace sim
}  // namespace clusterd
