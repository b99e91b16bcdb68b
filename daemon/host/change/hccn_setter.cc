#include "daemon/host/change/hccn_setter.h"

#include "absl/algorithm/container.h"
#include "absl/strings/strip.h"
#include "config/values/ipv4.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "daemon/host/command/program_path.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "daemon/host/hccn_query/query_facts.h"

namespace clusterd {
namespace {

constexpr int kBusyRetries = 5;
constexpr absl::Duration kBusyPause = absl::Milliseconds(500);
// The wait for a device is this many command deadlines. An observation may hold
// it for a host's whole time, and a user may slow the tool.
constexpr int kPatience = 12;

// A live route, as hccn.conf writes it.
struct Route {
  std::string destination;
  std::string netmask;
  std::string gateway;
};

// The entry as its line, without the carriage return that may end it.
std::string LineOf(const HccnConf::Entry& entry) {
  return absl::StrCat(entry.key(), "=", absl::StripSuffix(entry.value(), "\r"));
}

std::optional<Route> ParseRoute(const HccnConf::Entry& entry) {
  static const LazyRE2 kForm = {
      R"(route_address_([\d.]+)_netmask_([\d.]+)=gateway_([\d.]+))"};
  Route route;
  const bool is_one = HasForm(LineOf(entry), *kForm, &route.destination,
                              &route.netmask, &route.gateway);
  return is_one ? std::make_optional(route) : std::nullopt;
}

// Prefix length, device and table are checked words, never a tool option.
std::vector<std::string> IpRouteWords(const HccnConf::Entry& entry) {
  static const LazyRE2 kForm = {
      R"(ip_route= *add +([\d.]+)/([\w.][\w.-]*) +via +([\d.]+))"
      R"( +dev +([\w.][\w.-]*) +table +([\w.][\w.-]*) *)"};
  std::string ip, mask, via, device, table;
  if (!HasForm(LineOf(entry), *kForm, &ip, &mask, &via, &device, &table)) {
    return {};
  }
  return {"-ip_route", "-a", "ip",  ip,     "ip_mask", mask,
          "via",       via,  "dev", device, "table",   table};
}

// The output of other runs has no meaning.
bool EndedByItself(const CommandResult& result) {
  return !result.timed_out && !result.left_running;
}

// Returns the route's destination subnet in the form of the device's table.
absl::StatusOr<Ipv4Subnet> DestinationOf(const Route& route) {
  ASSIGN_OR_RETURN(const Ipv4Interface parsed,
                   Ipv4Interface::Parse(route.destination, route.netmask));
  if (parsed.subnet().network() == parsed.address()) return parsed.subnet();
  return InvalidWords("msg-step-route-host-bits", route.destination,
                      route.netmask);
}

}  // namespace

absl::StatusOr<CommandResult> HccnSetter::Run(
    uint32_t device, const std::vector<std::string>& words,
    FindingValue* said) {
  Command command = {{tool_, "-i", absl::StrCat(device)}, deadline_};
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  command.needs_driver = true;
  const absl::StatusOr<DeviceLocks::Lock> lock =
      locks_->Take(device, deadline_ * kPatience, /*changes=*/true);
  if (!lock.ok()) {
    *said = Worded("plan-say-nothing-run", MessageWords(lock.status()));
    return lock.status();
  }
  for (int retries = 0;; ++retries) {
    absl::StatusOr<CommandResult> result = runner_->Run(command);
    *said = CommandWords(command, result);
    if (result.ok() && result->left_running) {
      locks_->LeaveBehind(device, result->pid);
    }
    if (!result.ok() || !EndedByItself(*result) ||
        ClassifyHccnRun(*result).failure != HccnFailure::kBusy ||
        retries == kBusyRetries) {
      return result;
    }
    clock_->SleepFor(kBusyPause);
  }
}

FindingValue HccnSetter::Set(const MutationToken&, uint32_t device,
                             const std::vector<std::string>& words) {
  FindingValue said;
  // The caller reads the outcome from the device and the file.
  (void)Run(device, words, &said);
  return said;
}

absl::Status HccnSetter::AddRoute(const MutationToken&,
                                  const HccnConf::Entry& entry) {
  std::vector<std::string> words = IpRouteWords(entry);
  if (const std::optional<Route> route = ParseRoute(entry)) {
    words = {"-route",  "-a",           "address", route->destination,
             "netmask", route->netmask, "gateway", route->gateway};
  }
  if (words.empty()) {
    return InvalidWords("msg-step-route-not-read");
  }
  FindingValue said;
  const absl::StatusOr<CommandResult> result =
      Run(entry.device(), words, &said);
  const bool is_taken = result.ok() && EndedByItself(*result) &&
                        ClassifyHccnRun(*result).failure == HccnFailure::kNone;
  return is_taken ? absl::OkStatus()
                  : WithWords(absl::UnavailableError(""), said);
}

absl::StatusOr<bool> HccnSetter::HasRoute(const HccnConf::Entry& entry) {
  const std::optional<Route> route = ParseRoute(entry);
  if (!route) {
    return InvalidWords("msg-step-route-not-shown");
  }
  ASSIGN_OR_RETURN(const Ipv4Subnet destination, DestinationOf(*route));
  ASSIGN_OR_RETURN(const Ipv4Address gateway,
                   Ipv4Address::Parse(route->gateway));
  FindingValue said;
  const absl::StatusOr<CommandResult> result =
      Run(entry.device(), {"-route", "-g"}, &said);
  if (!result.ok() || !EndedByItself(*result) || result->output_cut ||
      ClassifyHccnRun(*result).failure != HccnFailure::kNone) {
    return WithWords(absl::UnavailableError(""), said);
  }
  const absl::StatusOr<std::vector<HccnRoute>> table =
      ParseHccnRoutes(result->standard_output);
  if (!table.ok()) {
    return InFront(
        absl::StrCat("`hccn_tool -i ", entry.device(), " -route -g`"),
        WithWords(absl::UnavailableError(""), MessageWords(table.status())));
  }
  return absl::c_any_of(*table, [&](const HccnRoute& row) {
    return row.destination == destination && row.gateway == gateway;
  });
}

}  // namespace clusterd
