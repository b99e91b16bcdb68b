#include "config/plan/hccn_conf_text.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/spec/ipv4.h"

namespace clusterd {
namespace {

std::vector<absl::string_view> Lines(absl::string_view text) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string KeyOf(absl::string_view line) {
  return std::string(line.substr(0, line.find('=')));
}

// Comments, what the tool does not read, and rules, of which each line counts.
bool MayRepeat(absl::string_view line) {
  return line.size() < 3 || line[0] == '#' || !absl::StrContains(line, '=') ||
         absl::StartsWith(line, "ip_route_") ||
         absl::StartsWith(line, "ip_rule_");
}

bool Names(const HccnConfRepairChange& change, HccnConf::Problem::Kind kind) {
  for (const HccnConf::Problem& problem : change.problems()) {
    if (problem.kind() == kind) return true;
  }
  return false;
}

}  // namespace

std::string HccnConfKey(absl::string_view key, uint32_t device) {
  return absl::StrCat(key, "_", device);
}

std::optional<std::string> HccnConfValue(absl::string_view text,
                                         absl::string_view full_key) {
  for (absl::string_view line : Lines(text)) {
    if (absl::ConsumePrefix(&line, full_key) &&
        absl::ConsumePrefix(&line, "=")) {
      return std::string(absl::StripSuffix(line, "\r"));
    }
  }
  return std::nullopt;
}

std::optional<std::string> RepairedRouteLine(absl::string_view line) {
  const absl::string_view body = absl::StripSuffix(line, "\r");
  if (!absl::StartsWith(body, "route_address_")) return std::nullopt;
  const size_t equals = body.find('=');
  if (equals == absl::string_view::npos) return std::nullopt;
  const absl::string_view value = body.substr(equals + 1);
  if (!Ipv4Address::Parse(value).ok()) return std::nullopt;
  return absl::StrCat(body.substr(0, equals + 1), "gateway_", value,
                      line.substr(body.size()));
}

HccnConf::Entry RepairedEntry(HccnConf::Entry entry) {
  absl::string_view value = entry.value();
  if (!absl::ConsumeSuffix(&value, "\\r")) absl::ConsumeSuffix(&value, "\r");
  const bool is_bare_route = absl::StartsWith(entry.key(), "route_address_") &&
                             Ipv4Address::Parse(value).ok();
  std::string repaired = absl::StrCat(is_bare_route ? "gateway_" : "", value);
  entry.set_value(std::move(repaired));
  return entry;
}

bool IsRepairable(const HccnConf::Problem& problem) {
  switch (problem.kind()) {
    case HccnConf::Problem::NO_FINAL_NEWLINE:
    case HccnConf::Problem::CARRIAGE_RETURN:
    case HccnConf::Problem::DUPLICATE_KEY:
      return true;
    case HccnConf::Problem::MALFORMED_ROUTE:
      return RepairedRouteLine(problem.text()).has_value();
    default:
      return false;
  }
}

std::string RepairHccnConf(absl::string_view text,
                           const HccnConfRepairChange& change) {
  const bool drop_returns = Names(change, HccnConf::Problem::CARRIAGE_RETURN);
  const bool drop_repeats = Names(change, HccnConf::Problem::DUPLICATE_KEY);
  const bool fix_routes = Names(change, HccnConf::Problem::MALFORMED_ROUTE);
  const bool end_line = Names(change, HccnConf::Problem::NO_FINAL_NEWLINE);

  std::set<std::string> seen;
  std::string repaired;
  for (absl::string_view line : Lines(text)) {
    while (drop_returns && absl::ConsumeSuffix(&line, "\r")) {
    }
    if (drop_repeats && !MayRepeat(line) && !seen.insert(KeyOf(line)).second) {
      continue;
    }
    std::optional<std::string> route;
    if (fix_routes) route = RepairedRouteLine(line);
    absl::StrAppend(&repaired, route ? *route : std::string(line), "\n");
  }
  if (!end_line && !absl::EndsWith(text, "\n") && !repaired.empty()) {
    repaired.pop_back();
  }
  return repaired;
}

std::string WithLostLines(absl::string_view before, absl::string_view after,
                          const std::set<std::string>& may_vanish) {
  std::set<absl::string_view> lines_after;
  std::set<std::string> keys_after;
  for (const absl::string_view line : Lines(after)) {
    lines_after.insert(line);
    if (!MayRepeat(line)) keys_after.insert(KeyOf(line));
  }
  std::vector<absl::string_view> kept;
  std::map<absl::string_view, int> missing;  // Line to how often.
  for (const absl::string_view line : Lines(before)) {
    if (may_vanish.count(KeyOf(line)) > 0 ||
        may_vanish.count(std::string(line)) > 0) {
      continue;
    }
    // Somebody has set it to another value since.
    if (lines_after.count(line) == 0 && keys_after.count(KeyOf(line)) > 0 &&
        !MayRepeat(line)) {
      continue;
    }
    kept.push_back(line);
    ++missing[line];
  }
  std::vector<absl::string_view> added;
  for (const absl::string_view line : Lines(after)) {
    const auto found = missing.find(line);
    if (found == missing.end()) {
      added.push_back(line);
    } else if (--found->second == 0) {
      missing.erase(found);
    }
  }
  if (missing.empty()) return std::string(after);
  kept.insert(kept.end(), added.begin(), added.end());
  return kept.empty() ? "" : absl::StrCat(absl::StrJoin(kept, "\n"), "\n");
}

}  // namespace clusterd
