#include "daemon/host/change/hccn_setter.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/spec/ipv4.h"
#include "daemon/host/change/command_text.h"

namespace clusterd {
namespace {

constexpr int kBusyRetries = 5;
constexpr absl::Duration kBusyPause = absl::Milliseconds(500);
constexpr char kBusyText[] = "hccn_tool is busy";

struct Route {
  std::string destination;
  std::string netmask;
  std::string gateway;
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
  if (parts.size() != 2 || !IsAddress(parts[0]) || !IsAddress(parts[1]) ||
      !IsAddress(value)) {
    return std::nullopt;
  }
  return Route{std::string(parts[0]), std::string(parts[1]),
               std::string(value)};
}

// A device, a prefix length or a routing table; never an option of the tool.
bool IsWord(absl::string_view text) {
  return !text.empty() && text[0] != '-' &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
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

bool IsBusy(const CommandResult& result) {
  return absl::StrContains(result.standard_output, kBusyText) ||
         absl::StrContains(result.standard_error, kBusyText);
}

}  // namespace

HccnSetter::HccnSetter(CommandRunner* runner, Clock* clock, DeviceTurns* turns,
                       std::string tool, absl::Duration deadline)
    : runner_(runner),
      clock_(clock),
      turns_(turns),
      tool_(std::move(tool)),
      deadline_(deadline) {}

ToolAnswer HccnSetter::Run(uint32_t device,
                           const std::vector<std::string>& words,
                           std::string* standard_output) {
  Command command;
  command.argv = {tool_, "-i", absl::StrCat(device)};
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  command.deadline = deadline_;
  ToolAnswer answer;
  const absl::StatusOr<DeviceTurns::Turn> turn =
      turns_->Take(device, deadline_);
  if (!turn.ok()) {
    answer.text = absl::StrCat("nothing was run: ", turn.status().message());
    return answer;
  }
  for (int attempt = 0; attempt <= kBusyRetries; ++attempt) {
    if (attempt > 0) clock_->SleepFor(kBusyPause);
    const absl::StatusOr<CommandResult> result = runner_->Run(command);
    answer.text = CommandText(command, result);
    if (!result.ok()) return answer;
    answer.left_running = result->left_running;
    if (result->left_running) turns_->LeaveBehind(device, result->pid);
    if (standard_output != nullptr) *standard_output = result->standard_output;
    if (!IsBusy(*result)) return answer;
  }
  return answer;
}

ToolAnswer HccnSetter::SetAddress(const MutationToken&, uint32_t device,
                                  const Ipv4Setting& setting) {
  return Run(
      device,
      {"-ip", "-s", "address", setting.address(), "netmask", setting.netmask()},
      nullptr);
}

ToolAnswer HccnSetter::SetGateway(const MutationToken&, uint32_t device,
                                  const std::string& gateway) {
  return Run(device, {"-gateway", "-s", "gateway", gateway}, nullptr);
}

ToolAnswer HccnSetter::SetDetectAddress(const MutationToken&, uint32_t device,
                                        const std::string& address) {
  return Run(device, {"-netdetect", "-s", "address", address}, nullptr);
}

ToolAnswer HccnSetter::SetTls(const MutationToken&, uint32_t device,
                              bool enabled) {
  return Run(device, {"-tls", "-s", "enable", enabled ? "1" : "0"}, nullptr);
}

bool HccnSetter::AddRoute(const MutationToken&, const HccnConf::Entry& entry,
                          ToolAnswer* answer) {
  std::vector<std::string> words = IpRouteWords(entry);
  if (const std::optional<Route> route = ParseRoute(entry)) {
    words = {"-route",  "-a",           "address", route->destination,
             "netmask", route->netmask, "gateway", route->gateway};
  }
  if (words.empty()) return false;
  *answer = Run(entry.device(), words, nullptr);
  return true;
}

bool HccnSetter::HasRoute(const HccnConf::Entry& entry) {
  const std::optional<Route> route = ParseRoute(entry);
  if (!route) return false;
  std::string table;
  Run(entry.device(), {"-route", "-g"}, &table);
  // Destination  Gateway  Genmask  Flags …
  for (const absl::string_view line : absl::StrSplit(table, '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (words.size() >= 3 && words[0] == route->destination &&
        words[1] == route->gateway && words[2] == route->netmask) {
      return true;
    }
  }
  return false;
}

}  // namespace clusterd
