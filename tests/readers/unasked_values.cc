#include "tests/readers/unasked_values.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "daemon/host/hccn_query/query_facts.h"

namespace clusterd {
namespace {

// Checks the values of one query.
class Checker {
 public:
  Checker(absl::string_view query, const SeenText& text, InventedList* invented)
      : query_(query), text_(text), invented_(invented) {}

  void Words(absl::string_view words) const {
    invented_->Expect(text_.Has(words), query_, words);
  }
  // A name and its value, without the blanks that may stand between.
  void Pair(absl::string_view pair) const {
    invented_->Expect(text_.HasWithoutBlanks(pair), query_, pair);
  }
  void Number(const std::string& number) const {
    invented_->Expect(text_.HasNumber(number), query_, number);
  }
  void Number(uint64_t number) const { Number(absl::StrCat(number)); }
  void Hex(uint32_t number) const {
    invented_->Expect(text_.HasHex(number), query_, absl::StrCat(number));
  }
  void Decimal(double number) const {
    invented_->Expect(text_.HasDecimal(number), query_, absl::StrCat(number));
  }
  void Printable(absl::string_view value) const {
    invented_->Expect(text_.HasPrintable(value), query_, value);
  }
  // `words` follow it, all without blanks.
  void Time(absl::CivilSecond time, absl::string_view words) const {
    constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr",
                                       "May", "Jun", "Jul", "Aug",
                                       "Sep", "Oct", "Nov", "Dec"};
    Pair(absl::StrFormat("%s%d%02d:%02d:%02d%d%s", kMonths[time.month() - 1],
                         time.day(), time.hour(), time.minute(), time.second(),
                         time.year(), words));
  }

 private:
  const absl::string_view query_;
  const SeenText& text_;
  InventedList* const invented_;
};

void CheckPort(absl::string_view output, const SeenText& text,
               InventedList* invented) {
  const auto speed = ParseHccnSpeed(output);
  const Checker speed_check("-speed", text, invented);
  if (speed.ok() && speed->has_value()) {
    speed_check.Pair(absl::StrCat("Speed:", **speed, "Mb/s"));
  }
  if (speed.ok() && !speed->has_value()) {
    speed_check.Pair("Speed:Unknown!");
  }
  const auto vnic = ParseHccnVnic(output);
  if (vnic.ok()) {
    const Checker check("-vnic", text, invented);
    check.Pair(vnic->up() ? "status:UP" : "status:DOWN");
    const std::string& address = vnic->setting().address();
    const std::string& netmask = vnic->setting().netmask();
    check.Number(address);
    check.Number(netmask);
    check.Pair(absl::StrCat("ipaddr:", address));
    check.Pair(absl::StrCat("netmask:", netmask));
  }
}

void CheckCounters(const absl::StatusOr<std::vector<HccnCounter>>& counters,
                   const Checker& check) {
  if (!counters.ok()) return;
  for (const HccnCounter& counter : *counters) {
    check.Number(counter.value);
    check.Pair(absl::StrCat(counter.name, ":", counter.value));
  }
}

// The time that the device's clock shows, if one does.
std::optional<absl::CivilSecond> NowIn(absl::string_view output) {
  const size_t name = output.find("current time");
  if (name == absl::string_view::npos) return {};
  const size_t colon = output.find(": ", name);
  if (colon == absl::string_view::npos) return {};
  // Behind the weekday.
  const size_t date = std::min(output.size(), colon + 6);
  absl::Time now;
  if (!absl::ParseTime("%b %e %H:%M:%S %Y", output.substr(date, 20), &now,
                       nullptr)) {
    return {};
  }
  return absl::ToCivilSecond(now, absl::UTCTimeZone());
}

void CheckLinkStat(absl::string_view output, const Checker& check) {
  const auto history = ParseHccnLinkStat(output, 0);
  if (!history.ok()) return;
  check.Number(history->ups());
  check.Pair(absl::StrCat("upcount:", history->ups()));
  if (history->has_downs()) {
    check.Number(history->downs());
    check.Pair(absl::StrCat("downcount:", history->downs()));
  }
  if (history->changes().empty()) check.Pair("records:NA");
  const std::optional<absl::CivilSecond> now = NowIn(output);
  for (const LinkHistoryFact::Change& change : history->changes()) {
    const char* const words = change.up() ? "LINKUP" : "LINKDOWN";
    check.Pair(words);
    // A change that the device dates after now counts as just now.
    if (!now.has_value() || change.seconds_ago() == 0) continue;
    check.Time(*now - static_cast<int64_t>(change.seconds_ago()), words);
  }
}

void CheckOptical(absl::string_view output, const Checker& check) {
  const auto optical = ParseHccnOptical(output);
  if (!optical.ok()) return;
  check.Pair(optical->present ? "present:present" : "present:notpresent");
  for (const HccnOpticalRow& row : optical->rows) {
    check.Printable(row.name);
    if (!row.number.has_value()) continue;
    if (row.unit.empty()) {
      check.Hex(static_cast<uint32_t>(*row.number));
      continue;
    }
    check.Decimal(*row.number);
    check.Words(absl::StrCat(" ", row.unit));
  }
}

void CheckRoutes(absl::string_view output, const Checker& check) {
  const auto routes = ParseHccnRoutes(output);
  if (!routes.ok()) return;
  for (const HccnRoute& route : *routes) {
    check.Number(route.destination.netmask().ToString());
    if (route.destination.prefix_length() > 0) {
      check.Number(route.destination.network().ToString());
    }
    if (route.gateway.has_value()) check.Number(route.gateway->ToString());
    if (!route.gateway.has_value()) check.Words("*");
  }
}

void CheckTrafficClasses(absl::string_view output, const SeenText& text,
                         InventedList* invented) {
  const auto classes = ParseHccnDscpToTc(output);
  if (classes.ok()) {
    const Checker check("-dscp_to_tc", text, invented);
    for (const auto& [dscp, tc] : *classes) {
      check.Number(dscp);
      check.Number(tc);
    }
  }
  const auto pfc = ParseHccnPfc(output);
  if (!pfc.ok()) return;
  std::vector<std::string> row = {"enabled"};
  for (const absl::string_view digit : absl::StrSplit(*pfc, ',')) {
    row.emplace_back(digit);
  }
  bool is_there = false;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r\v\f"), absl::SkipEmpty());
    is_there = is_there || words == row;
  }
  invented->Expect(is_there, "-pfc", "a row of priorities");
}

}  // namespace

void CheckUnaskedValues(absl::string_view output, const SeenText& text,
                        InventedList* invented) {
  const auto check = [&text, invented](absl::string_view query) {
    return Checker(query, text, invented);
  };
  CheckPort(output, text, invented);
  CheckCounters(ParseHccnPacketStatistics(output), check("-stat"));
  CheckLinkStat(output, check("-link_stat"));
  CheckOptical(output, check("-optical"));
  CheckRoutes(output, check("-route"));
  CheckTrafficClasses(output, text, invented);
}

}  // namespace clusterd
