#include "tests/readers/read_answer.h"

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "daemon/host/hccn_query/query_facts.h"
#include "daemon/host/machine_observer.h"
#include "proto/facts.pb.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"

namespace clusterd {
namespace {

template <typename Fact>
std::string MissingText(const Fact& fact) {
  return absl::StrCat("missing ", Missing::Reason_Name(fact.missing().reason()),
                      ": ", fact.missing().detail());
}

std::string Text(const DeviceAddressFact& fact) {
  if (!fact.has_value()) return MissingText(fact);
  std::vector<std::string> texts;
  for (const Ipv4Setting& setting : fact.value().settings()) {
    texts.push_back(absl::StrCat(setting.address(), "/", setting.netmask()));
  }
  return texts.empty() ? "none" : absl::StrJoin(texts, " ");
}

std::string Text(const TextFact& fact) {
  if (fact.state_case() != TextFact::kValue) return MissingText(fact);
  return fact.value().empty() ? "none" : fact.value();
}

std::string Text(const NetHealthFact& fact) {
  if (fact.state_case() != NetHealthFact::kValue) return MissingText(fact);
  return NetHealth_Name(fact.value());
}

std::string Text(const LinkFact& fact) {
  if (fact.state_case() != LinkFact::kValue) return MissingText(fact);
  return LinkFact::Link_Name(fact.value());
}

std::string Text(const LldpFact& fact) {
  if (!fact.has_value()) return MissingText(fact);
  const LldpNeighbour& neighbour = fact.value();
  if (!neighbour.heard()) return "none";
  std::vector<std::string> texts;
  const auto add = [&texts](absl::string_view name, const std::string& value) {
    if (!value.empty()) texts.push_back(absl::StrCat(name, "=", value));
  };
  add("chassis", neighbour.chassis_id());
  add("port", neighbour.port_id());
  add("system", neighbour.system_name());
  add("address", neighbour.management_address());
  if (neighbour.peer() != LldpNeighbour::PEER_UNSPECIFIED) {
    add("peer", LldpNeighbour::Peer_Name(neighbour.peer()));
  }
  if (neighbour.truncated()) texts.push_back("truncated");
  return absl::StrJoin(texts, " ");
}

std::string Text(const NumberFact& fact) {
  if (fact.state_case() != NumberFact::kValue) return MissingText(fact);
  return absl::StrCat(fact.value());
}

std::string Text(const RecoveryFact& fact) {
  if (fact.state_case() != RecoveryFact::kValue) return MissingText(fact);
  return RecoveryFact::Recovery_Name(fact.value());
}

std::string Text(const TlsFact& fact) {
  if (!fact.has_value()) return MissingText(fact);
  return fact.value().enabled() ? "on" : "off";
}

// The queries that every observation asks.
const std::map<absl::string_view,
               std::function<std::string(const DeviceFacts&)>>&
ObservedTexts() {
  using Facts = DeviceFacts;
  static const auto* const texts =
      new std::map<absl::string_view, std::function<std::string(const Facts&)>>{
          {"-ip", [](const Facts& facts) { return Text(facts.address()); }},
          {"-gateway",
           [](const Facts& facts) { return Text(facts.gateway()); }},
          {"-netdetect",
           [](const Facts& facts) { return Text(facts.detect_address()); }},
          {"-net_health",
           [](const Facts& facts) { return Text(facts.net_health()); }},
          {"-link", [](const Facts& facts) { return Text(facts.link()); }},
          {"-lldp", [](const Facts& facts) { return Text(facts.lldp()); }},
          {"-mtu", [](const Facts& facts) { return Text(facts.mtu()); }},
          {"-cfg status",
           [](const Facts& facts) { return Text(facts.recovery()); }},
          {"-tls", [](const Facts& facts) { return Text(facts.tls()); }},
      };
  return *texts;
}

std::string Text(const VnicFact::Vnic& vnic) {
  const auto address =
      Ipv4Interface::Parse(vnic.setting().address(), vnic.setting().netmask());
  return absl::StrCat(vnic.up() ? "UP " : "DOWN ",
                      address.value_or(Ipv4Interface()).ToString());
}

std::string Text(const std::optional<uint32_t>& speed) {
  return speed.has_value() ? absl::StrCat(*speed, " Mb/s") : "unknown";
}

std::string Text(const LinkHistoryFact::History& history) {
  std::string text = absl::StrCat("up ", history.ups());
  if (history.has_downs()) absl::StrAppend(&text, " down ", history.downs());
  absl::StrAppend(&text, " changes");
  for (const LinkHistoryFact::Change& change : history.changes()) {
    absl::StrAppend(&text, " ", change.seconds_ago(),
                    change.up() ? "s UP" : "s DOWN");
  }
  return history.changes().empty() ? text + " none" : text;
}

std::string ValueText(const HccnOpticalRow& row) {
  if (!row.number.has_value()) return "none";
  if (!row.unit.empty()) return absl::StrCat(*row.number, " ", row.unit);
  return absl::StrCat("0x", absl::Hex(static_cast<uint32_t>(*row.number)));
}

std::string Text(const HccnOptical& optical) {
  std::vector<std::string> rows = {optical.present ? "present" : "not present"};
  for (const bool flags : {false, true}) {
    for (const HccnOpticalRow& row : optical.rows) {
      if (row.unit.empty() == flags) {
        rows.push_back(absl::StrCat(row.name, "=", ValueText(row)));
      }
    }
  }
  return absl::StrJoin(rows, "; ");
}

std::string Text(const std::vector<HccnRoute>& routes) {
  std::vector<std::string> rows;
  for (const HccnRoute& route : routes) {
    std::string row = route.destination.ToString();
    if (route.gateway.has_value()) {
      absl::StrAppend(&row, " via ", route.gateway->ToString());
    }
    rows.push_back(row);
  }
  return rows.empty() ? "none" : absl::StrJoin(rows, "; ");
}

std::string Text(const std::vector<HccnCounter>& counters) {
  return absl::StrJoin(counters, " ",
                       [](std::string* out, const HccnCounter& counter) {
                         absl::StrAppend(out, counter.name, "=", counter.value);
                       });
}

std::string Text(const std::map<uint32_t, uint32_t>& classes) {
  return absl::StrJoin(classes, " ", absl::PairFormatter("="));
}

std::string Text(const std::string& pfc) {
  return absl::StrReplaceAll(pfc, {{",", ""}});
}

template <typename Value>
absl::StatusOr<std::string> Line(const absl::StatusOr<Value>& value) {
  if (!value.ok()) return value.status();
  return Text(*value);
}

using Reader = std::function<absl::StatusOr<std::string>(
    absl::string_view output, uint32_t device)>;

// A reader that does not ask which device it is.
template <typename Parse>
Reader Of(Parse parse) {
  return [parse](absl::string_view output, uint32_t) {
    return Line(parse(output));
  };
}

template <typename Parse>
Reader OfDevice(Parse parse) {
  return [parse](absl::string_view output, uint32_t device) {
    return Line(parse(output, device));
  };
}

const std::map<absl::string_view, Reader>& Readers() {
  static const auto* const readers = new std::map<absl::string_view, Reader>{
      {"-vnic", Of(ParseHccnVnic)},
      {"-speed", Of(ParseHccnSpeed)},
      {"-link_stat", OfDevice(ParseHccnLinkStat)},
      {"-optical", Of(ParseHccnOptical)},
      {"-stat", Of(ParseHccnPacketStatistics)},
      {"-route", Of(ParseHccnRoutes)},
      {"-dscp_to_tc", Of(ParseHccnDscpToTc)},
      {"-pfc", Of(ParseHccnPfc)},
  };
  return *readers;
}

std::vector<std::string> Arguments(absl::string_view query, uint32_t device) {
  std::vector<std::string> arguments = {"-i", absl::StrCat(device)};
  for (const absl::string_view word : absl::StrSplit(query, ' ')) {
    arguments.emplace_back(word);
  }
  if (query != "-cfg status") arguments.emplace_back("-g");
  return arguments;
}

// A query that not every observation asks, alone.
std::string ReadAlone(absl::string_view query, uint32_t device,
                      HccnSession* session) {
  const HccnAnswer answer = session->AskWith(Arguments(query, device));
  if (answer.missing.has_value()) {
    return absl::StrCat("missing ",
                        Missing::Reason_Name(answer.missing->reason()), ": ",
                        answer.missing->detail());
  }
  const auto reader = Readers().find(query);
  if (reader == Readers().end()) return "unread";
  const absl::StatusOr<std::string> text =
      reader->second(answer.output, device);
  if (text.ok()) return *text;
  return absl::StrCat("missing UNREADABLE: ", answer.command, ": ",
                      text.status().message());
}

// A query that every observation asks, in the whole chain.
std::string ReadObserved(absl::string_view query, uint32_t device,
                         HccnSession* session) {
  HccnConfFact conf;
  conf.mutable_value();
  TlsAsking tls;
  tls.copy_conf = [] { return PrivateFile{"/etc/hccn.conf", "", 0640}; };
  return ObservedTexts().at(query)(ObserveDevice(device, conf, tls, session));
}

}  // namespace

bool IsObserved(absl::string_view query) {
  return ObservedTexts().count(query) > 0;
}

std::string ReadAnswer(absl::string_view query, uint32_t device,
                       const CommandResult& run) {
  FakeClock clock;
  FakeCommandRunner runner(&clock);
  runner.Ends(
      absl::StrCat("hccn_tool ", absl::StrJoin(Arguments(query, device), " ")),
      run);
  DeviceLocks turns;
  const TimeBudget budget(&clock, absl::Seconds(10), absl::Seconds(30));
  HccnSession session(std::string("/x/hccn_tool"), NpuToolFacts::CLASSIC,
                      device, &runner, &clock, &budget, &turns);
  return IsObserved(query) ? ReadObserved(query, device, &session)
                           : ReadAlone(query, device, &session);
}

}  // namespace clusterd
