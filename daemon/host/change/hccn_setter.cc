#include "daemon/host/change/hccn_setter.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/ipv4.h"
#include "config/values/status_macros.h"
#include "daemon/host/change/command_text.h"
#include "daemon/host/hccn/hccn_error.h"
#include "daemon/host/hccn_query/hccn_traffic.h"

namespace clusterd {
namespace {

constexpr int kBusyRetries = 5;
constexpr absl::Duration kBusyPause = absl::Milliseconds(500);

struct Route {
  std::string destination;
  std::string netmask;
  Ipv4Address gateway;
};

bool IsAddress(absl::string_view text) { return Ipv4Address::Parse(text).ok(); }

// route_address_172.16.0.0_netmask_255.255.0.0 = gateway_10.0.0.253
std::optional<Route> ParseRoute(const HccnConf::Entry& entry) {
  absl::string_view key = entry.key();
  absl::string_view value = absl::StripSuffix(entry.value(), "\r");
  if (!absl::ConsumePrefix(&key, "route_address_") ||
      !absl::ConsumePrefix(&value, "gateway_")) {
    return std::nullopt;
  }
  const std::vector<absl::string_view> parts =
      absl::StrSplit(key, absl::MaxSplits("_netmask_", 1));
  const auto gateway = Ipv4Address::Parse(value);
  if (parts.size() != 2 || !IsAddress(parts[0]) || !IsAddress(parts[1]) ||
      !gateway.ok()) {
    return std::nullopt;
  }
  return Route{std::string(parts[0]), std::string(parts[1]), *gateway};
}

// A device, a prefix length or a routing table; never an option of the tool.
bool IsWord(absl::string_view text) {
  return !text.empty() && text[0] != '-' &&
         absl::c_all_of(text, [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
         });
}

// ip_route = add 10.0.0.0/24 via 10.0.0.253 dev eth0 table 100
std::vector<std::string> IpRouteWords(const HccnConf::Entry& entry) {
  if (entry.key() != "ip_route") return {};
  const std::vector<std::string> words = absl::StrSplit(
      absl::StripSuffix(entry.value(), "\r"), ' ', absl::SkipEmpty());
  if (words.size() != 8 || words[0] != "add" || words[2] != "via" ||
      words[4] != "dev" || words[6] != "table") {
    return {};
  }
  const std::vector<std::string> subnet = absl::StrSplit(words[1], '/');
  if (subnet.size() != 2 || !IsAddress(subnet[0]) || !IsAddress(words[3]) ||
      !IsWord(subnet[1]) || !IsWord(words[5]) || !IsWord(words[7])) {
    return {};
  }
  return {"-ip_route", "-a",     "ip",  subnet[0], "ip_mask", subnet[1],
          "via",       words[3], "dev", words[5],  "table",   words[7]};
}

// The only runs of which the words say how they ended.
bool EndedByItself(const CommandResult& result) {
  return !result.timed_out && !result.left_running;
}

bool IsBusy(const CommandResult& result) {
  return EndedByItself(result) &&
         ClassifyHccnRun(result).failure == HccnFailure::kBusy;
}

// The subnet that a route leads to, as the device's table would have it.
absl::StatusOr<Ipv4Subnet> DestinationOf(const Route& route) {
  ASSIGN_OR_RETURN(const Ipv4Interface parsed,
                   Ipv4Interface::Parse(route.destination, route.netmask));
  if (parsed.subnet().network() != parsed.address()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "how a device shows a route to ", route.destination, " netmask ",
        route.netmask, ", which has host bits, is not known"));
  }
  return parsed.subnet();
}

}  // namespace

absl::StatusOr<CommandResult> HccnSetter::Run(
    uint32_t device, const std::vector<std::string>& words, std::string* said) {
  Command command;
  command.argv = {tool_, "-i", absl::StrCat(device)};
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  command.deadline = deadline_;
  const absl::StatusOr<DeviceLocks::Lock> lock =
      locks_->Take(device, deadline_);
  if (!lock.ok()) {
    *said = absl::StrCat("nothing was run: ", lock.status().message());
    return lock.status();
  }
  for (int retries = 0;; ++retries) {
    absl::StatusOr<CommandResult> result = runner_->Run(command);
    *said = CommandText(command, result);
    if (result.ok() && result->left_running) {
      locks_->LeaveBehind(device, result->pid);
    }
    if (!result.ok() || !IsBusy(*result) || retries == kBusyRetries) {
      return result;
    }
    clock_->SleepFor(kBusyPause);
  }
}

std::string HccnSetter::Set(const MutationToken&, uint32_t device,
                            const std::vector<std::string>& words) {
  std::string said;
  // Whether it is so is read from device and file.
  (void)Run(device, words, &said);
  return said;
}

std::optional<std::string> HccnSetter::AddRoute(const MutationToken& token,
                                                const HccnConf::Entry& entry) {
  std::vector<std::string> words = IpRouteWords(entry);
  if (const std::optional<Route> route = ParseRoute(entry)) {
    words = {"-route",  "-a",           "address", route->destination,
             "netmask", route->netmask, "gateway", route->gateway.ToString()};
  }
  if (words.empty()) return std::nullopt;
  return Set(token, entry.device(), words);
}

absl::StatusOr<bool> HccnSetter::HasRoute(const HccnConf::Entry& entry) {
  const std::optional<Route> route = ParseRoute(entry);
  if (!route) {
    return absl::InvalidArgumentError(
        "it is not of the form that the device's table shows");
  }
  ASSIGN_OR_RETURN(const Ipv4Subnet destination, DestinationOf(*route));
  std::string said;
  const absl::StatusOr<CommandResult> result =
      Run(entry.device(), {"-route", "-g"}, &said);
  if (!result.ok() || !EndedByItself(*result) || result->output_cut ||
      ClassifyHccnRun(*result).failure != HccnFailure::kNone) {
    return absl::UnavailableError(said);
  }
  const absl::StatusOr<std::vector<HccnRoute>> table =
      ParseHccnRoutes(result->standard_output);
  if (!table.ok()) {
    return absl::UnavailableError(
        absl::StrCat("`hccn_tool -i ", entry.device(),
                     " -route -g`: ", table.status().message()));
  }
  return absl::c_any_of(*table, [&](const HccnRoute& row) {
    return row.destination == destination && row.gateway == route->gateway;
  });
}

}  // namespace clusterd
