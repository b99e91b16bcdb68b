// Every reader of the classic hccn_tool's answers gets the same text. Readers
// never crash, and their values have the properties that their headers promise;
// mutation_fuzz.cc looks for values that are not in the text.
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "daemon/host/hccn/hccn_answers.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "daemon/host/hccn_query/query_facts.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

// A failure has a printable text, and success has none.
void CheckFailure(const std::string& text) {
  CommandResult result;
  result.exit_status = text.empty() ? 0 : static_cast<uint8_t>(text[0]) % 2;
  result.standard_error = text.substr(0, text.size() / 2);
  result.standard_output = text.substr(text.size() / 2);
  for (const auto generation :
       {NpuToolFacts::CLASSIC, NpuToolFacts::ASCEND_950}) {
    const HccnVerdict verdict = ClassifyHccnRun(result, generation);
    const bool none = verdict.failure == HccnFailure::kNone;
    Require(none == verdict.text.empty());
    Require(!none || result.exit_status == 0);
    RequirePrintable(verdict.text, text.size() + 200);
  }
}

// Each parser of a one-line answer that accepts a text is the only one.
void CheckAnswers(const std::string& text) {
  const int accepted =
      ParseHccnGateway(text).ok() + ParseHccnNetdetect(text).ok() +
      ParseHccnNetHealth(text).ok() + ParseHccnLink(text).ok() +
      ParseHccnMtu(text).ok() + ParseHccnTls(text, 0).ok();
  Require(accepted <= 1);
}

// Answers that parse have an address, and read the same when printed again.
void CheckIp(const std::string& text) {
  const auto interfaces = ParseHccnIp(text);
  if (!interfaces.ok()) return;
  Require(!interfaces->empty());
  std::string again;
  for (const Ipv4Interface& interface : *interfaces) {
    absl::StrAppend(&again, "ipaddr:", interface.address().ToString(),
                    "\nnetmask:", interface.subnet().netmask().ToString(),
                    "\n");
  }
  Require(*ParseHccnIp(again) == *interfaces);
}

// Answers that parse are an address with its prefix length, or link-local.
void CheckIpv6(const std::string& text) {
  const auto address = ParseHccnIpv6(text);
  if (!address.ok() || address->empty()) return;
  const size_t slash = address->find('/');
  Require(slash != std::string::npos && address->size() <= 49);
  Require(*ParseHccnIpv6(absl::StrCat(
              "ipv6_address:", address->substr(0, slash), "\nprefix_length:",
              address->substr(slash + 1), "\n")) == *address);
}

// Every neighbour has a port, and every value is short and printable.
void CheckLldp(const std::string& text) {
  const auto neighbour = ParseHccnLldp(text);
  if (!neighbour.ok()) return;
  Require(neighbour->heard() != neighbour->port_id().empty());
  for (const std::string& value :
       {neighbour->chassis_id(), neighbour->port_id(), neighbour->system_name(),
        neighbour->management_address()}) {
    RequirePrintable(value, 255);
  }
}

void CheckCounters(const std::string& text) {
  const auto counters = ParseHccnPacketStatistics(text);
  if (!counters.ok()) return;
  Require(!counters->empty());
  for (const HccnCounter& counter : *counters) {
    RequireIn(text, counter.name);
    RequireIn(text, absl::StrCat(counter.value));
  }
}

void CheckLinkStat(const std::string& text) {
  const auto history = ParseHccnLinkStat(text, 0);
  if (!history.ok()) return;
  RequireIn(text, absl::StrCat(history->ups()));
  for (const LinkHistoryFact::Change& change : history->changes()) {
    RequireIn(text, change.up() ? "LINK UP" : "LINK DOWN");
  }
}

// A number stands in the text, with its unit unless it is a flag, and every
// name is printable.
void CheckOptical(const std::string& text) {
  const auto optical = ParseHccnOptical(text);
  if (!optical.ok()) return;
  for (const HccnOpticalRow& row : optical->rows) {
    Require(!row.name.empty());
    RequirePrintable(row.name, kMaxHccnTextBytes);
    if (!row.number.has_value()) continue;
    RequireIn(text, row.unit);
    if (row.unit.empty()) {
      RequireIn(absl::AsciiStrToLower(text),
                absl::StrCat(absl::Hex(static_cast<uint32_t>(*row.number))));
    } else {
      Require(std::isfinite(*row.number));
    }
  }
}

void CheckPort(const std::string& text) {
  const auto speed = ParseHccnSpeed(text);
  if (speed.ok()) {
    RequireIn(text, speed->has_value() ? absl::StrCat(**speed, " Mb/s")
                                       : std::string("Unknown!"));
  }
  const auto vnic = ParseHccnVnic(text);
  if (vnic.ok()) {
    RequireIn(text, vnic->setting().address());
    RequireIn(text, vnic->setting().netmask());
    RequireIn(text, vnic->up() ? "UP" : "DOWN");
  }
}

void CheckRoutes(const std::string& text) {
  const auto routes = ParseHccnRoutes(text);
  if (!routes.ok()) return;
  for (const HccnRoute& route : *routes) {
    RequireIn(text, route.destination.netmask().ToString());
    RequireIn(text, route.gateway.has_value() ? route.gateway->ToString()
                                              : std::string("*"));
    const std::string destination = route.destination.network().ToString();
    Require(absl::StrContains(text, destination) ||
            absl::StrContains(text, "default"));
  }
}

void CheckTrafficClasses(const std::string& text) {
  const auto classes = ParseHccnDscpToTc(text);
  if (classes.ok()) {
    Require(!classes->empty());
    for (const auto& [dscp, tc] : *classes) {
      Require(dscp <= 63);
      RequireIn(text, absl::StrCat(dscp));
      RequireIn(text, absl::StrCat(tc));
    }
  }
  const auto of_priorities = ParseHccnPriorityToTc(text);
  if (of_priorities.ok()) {
    for (const char c : *of_priorities) Require(c <= '3');
  }
  const auto port = ParseHccnRocePort(text);
  if (port.ok() && *port != "auto") RequireIn(text, *port);
  const auto pfc = ParseHccnPfc(text);
  if (!pfc.ok()) return;
  const std::string row = absl::StrReplaceAll(*pfc, {{",", ""}});
  std::string seen;
  for (const char c : text.substr(text.find("enabled"))) {
    if (c == '0' || c == '1') seen += c;
  }
  RequireIn(seen, row);
}

constexpr void (*kChecks[])(const std::string&) = {
    CheckFailure,        CheckAnswers,  CheckIp,      CheckIpv6, CheckLldp,
    CheckCounters,       CheckLinkStat, CheckOptical, CheckPort, CheckRoutes,
    CheckTrafficClasses,
};

FUZZ_TEXT(hccn, 12, "tests/testdata/host/hccn/*",
          "tests/testdata/host/hccn_query/*", "tests/testdata/host/lldp/*") {
  for (const auto check : kChecks) check(text);
}

}  // namespace
}  // namespace clusterd
