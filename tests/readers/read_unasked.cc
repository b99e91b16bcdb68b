#include "tests/readers/read_unasked.h"

#include <functional>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "daemon/host/hccn_query/query_facts.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"

namespace clusterd {
namespace {

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
  arguments.emplace_back("-g");
  return arguments;
}

}  // namespace

std::string ReadUnasked(absl::string_view query, uint32_t device,
                        const CommandResult& run) {
  const std::vector<std::string> arguments = Arguments(query, device);
  FakeClock clock;
  FakeCommandRunner runner(&clock);
  runner.Ends(absl::StrCat("hccn_tool ", absl::StrJoin(arguments, " ")), run);
  DeviceLocks turns;
  const TimeBudget budget(&clock, absl::Seconds(10), absl::Seconds(30));
  HccnSession session(std::string("/x/hccn_tool"), NpuToolFacts::CLASSIC,
                      device, &runner, &clock, &budget, &turns);
  const HccnAnswer answer = session.AskWith(arguments);
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

}  // namespace clusterd
