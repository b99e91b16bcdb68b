#include "config/plan/hccn_conf_text.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/plan/step_planners.h"
#include "config/values/hccn_conf_line.h"
#include "config/values/ipv4.h"
#include "config/values/number_list.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

std::vector<absl::string_view> Lines(absl::string_view text) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string KeyOf(absl::string_view line) {
  return std::string(HccnConfKeyOf(line));
}

// True for comments, lines that the tool ignores, and rules: each counts.
bool MayRepeat(absl::string_view line) {
  return line.size() < 3 || line[0] == '#' || !absl::StrContains(line, '=') ||
         absl::StartsWith(line, "ip_route_") ||
         absl::StartsWith(line, "ip_rule_");
}

bool IsBareRoute(absl::string_view key, absl::string_view value) {
  return absl::StartsWith(key, "route_address_") &&
         Ipv4Address::Parse(value).ok();
}

using Problem = HccnConf::Problem;

// The repair of each known kind of problem.
constexpr struct {
  Problem::Kind kind;
  const char* repair;
} kRepairs[] = {
    {Problem::NO_FINAL_NEWLINE, "plan-say-add-newline"},
    {Problem::CARRIAGE_RETURN, "plan-say-remove-returns"},
    {Problem::MALFORMED_ROUTE, "plan-say-write-route"},
    {Problem::DUPLICATE_KEY, "plan-say-remove-repeated"},
    {Problem::TRAILING_BLANK, "plan-say-remove-blanks"},
};

// A host reports only its first 100 problems, and a step lists the repairable
// ones. From this count on some may be missing; the repair covers all.
constexpr size_t kMayBeCut = 64;

// "lines 1-112,115: remove …"; without lines for line 0, the whole file.
FindingValue RepairWords(const std::set<uint32_t>& lines, const char* repair) {
  if (lines.empty()) return Worded(repair);
  const std::vector<uint32_t> sorted(lines.begin(), lines.end());
  return Worded(lines.size() == 1 ? "plan-say-in-line" : "plan-say-in-lines",
                FoldIds(sorted), Worded(repair));
}

FindingValue FormText(const PlanStep& step) {
  return Worded("about", step.target().file(),
                step.has_from_said()
                    ? step.from_said()
                    : ToFindingValue(SettingText(step.from())));
}
FindingValue FormCondition(const PlanStep&) {
  return Worded("plan-say-sets-the-same");
}
FindingValue FormUndo(const PlanStep&) { return Worded("plan-say-undo-conf"); }

absl::Status CheckForm(const PlanStep& step) {
  if (step.target().file() != kHccnConfFile) {
    return NotOneToSet("file", step.target().file());
  }
  return step.to() == TextsValue({kGoodForm}) ? absl::OkStatus()
                                              : NotOneToSet("form", step.to());
}

StepVerdict JudgeForm(const PlanStep& step, const SettingFacts& facts) {
  const HccnConfFact& fact = facts.host().hccn_conf();
  if (fact.missing().reason() == Missing::ABSENT) return {};
  if (fact.state_case() != HccnConfFact::kValue) {
    return NotSo(FormFact(), SettingValue(), step.to());
  }
  for (const Problem& problem : fact.value().problems()) {
    if (!IsRepairable(problem)) continue;
    return NotSo(FormFact(),
                 TextsValue({absl::StrCat(ProblemWords(problem.kind()),
                                          " in line ", problem.line())}),
                 step.to());
  }
  return {};
}

// True if the tool rewrites the key when the spec names its setting.
bool IsOfSetting(const Problem& problem) {
  return problem.kind() == Problem::BAD_VALUE &&
         absl::c_any_of(DeviceSettings(), [&](const DeviceSetting& setting) {
           return absl::c_any_of(setting.conf_keys, [&](const char* key) {
             return absl::StartsWith(problem.text(), absl::StrCat(key, "_"));
           });
         });
}

// Folds lines without loss, since this text distinguishes plans. REQUIRES: not
// empty, and IsRepairable of each.
FindingValue RepairsWords(const std::vector<Problem>& problems) {
  FirstSeen<Problem::Kind, std::set<uint32_t>> lines;
  uint32_t last = 0;
  for (const Problem& problem : problems) {
    std::set<uint32_t>& of_kind = lines[problem.kind()];
    if (problem.line() > 0) of_kind.insert(problem.line());
    last = std::max(last, problem.line());
  }
  const auto repairs = Each<FindingValue>(lines, [](const auto& each) {
    return RepairWords(each.second, RepairOf(each.first));
  });
  const FindingValue all = Listed(repairs, repairs.size());
  return problems.size() < kMayBeCut ? all
                                     : Worded("plan-say-also-after", all, last);
}

}  // namespace

std::string HccnConfKey(absl::string_view key, uint32_t device) {
  return absl::StrCat(key, "_", device);
}

bool IsRouteKey(absl::string_view key) {
  return absl::StartsWith(key, "route_address_") || key == "ip_route";
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
  const std::pair<absl::string_view, absl::string_view> entry =
      absl::StrSplit(body, absl::MaxSplits('=', 1));
  if (!IsBareRoute(entry.first, entry.second)) return std::nullopt;
  const std::string route = absl::StrCat(entry.first, "=gateway_", entry.second,
                                         line.substr(body.size()));
  // If the netmask or device is missing, the tool still stops at it.
  return IsScannedRoute(route) ? std::make_optional(route) : std::nullopt;
}

const char* RepairOf(Problem::Kind kind) {
  for (const auto& [known, repair] : kRepairs) {
    if (known == kind) return repair;
  }
  return nullptr;
}

HccnConf::Entry RepairedEntry(HccnConf::Entry entry) {
  absl::string_view value = entry.value();
  if (!absl::ConsumeSuffix(&value, "\\r")) absl::ConsumeSuffix(&value, "\r");
  while (absl::ConsumeSuffix(&value, " ") ||
         absl::ConsumeSuffix(&value, "\\t")) {
  }
  const bool is_bare = IsBareRoute(entry.key(), value);
  entry.set_value(absl::StrCat(is_bare ? "gateway_" : "", value));
  return entry;
}

bool IsRepairable(const Problem& problem) {
  return RepairOf(problem.kind()) != nullptr &&
         (problem.kind() != Problem::MALFORMED_ROUTE ||
          RepairedRouteLine(problem.text()).has_value());
}

std::optional<FindingValue> WhyConfStops(const HccnConf& conf) {
  for (const Problem& problem : conf.problems()) {
    const auto kind = problem.kind();
    const bool breaks = kind == Problem::MALFORMED_ROUTE ||
                        kind == Problem::LINE_TOO_LONG ||
                        kind == Problem::FILE_TOO_LARGE;
    if (!breaks || IsRepairable(problem)) continue;
    return Worded("plan-say-breaks-next-write", problem.line(),
                  Term(ProblemWords(kind)));
  }
  return std::nullopt;
}

std::string RepairHccnConf(absl::string_view text) {
  std::set<std::string> seen;
  std::string repaired;
  for (absl::string_view line : Lines(text)) {
    while (absl::ConsumeSuffix(&line, "\r")) {
    }
    if (IsRecoveredLine(line) && !IsRouteLine(line)) {
      line = absl::StripTrailingAsciiWhitespace(line);
    }
    if (!MayRepeat(line) && !seen.insert(KeyOf(line)).second) continue;
    const std::optional<std::string> route = RepairedRouteLine(line);
    absl::StrAppend(&repaired, route ? *route : std::string(line), "\n");
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
  std::map<absl::string_view, int> missing;  // How often each is missing.
  for (const absl::string_view line : Lines(before)) {
    if (may_vanish.count(KeyOf(line)) > 0 ||
        may_vanish.count(std::string(line)) > 0) {
      continue;
    }
    // The key has another value now.
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

std::string WithToolsOwnLines(absl::string_view text, absl::string_view now) {
  std::map<std::string, absl::string_view> own;
  for (const absl::string_view line : Lines(now)) {
    if (IsToolsOwnLine(line)) own.emplace(KeyOf(line), line);
  }
  std::string kept;
  for (const absl::string_view line : Lines(text)) {
    const auto found = IsToolsOwnLine(line) ? own.find(KeyOf(line)) : own.end();
    if (found != own.end()) {
      // Blanks and a carriage return after it were not the tool's.
      if (absl::StripTrailingAsciiWhitespace(found->second) !=
          absl::StripTrailingAsciiWhitespace(line)) {
        continue;
      }
      own.erase(found);
    }
    absl::StrAppend(&kept, line, "\n");
  }
  if (own.empty()) return std::string(text);
  for (const auto& [key, line] : own) absl::StrAppend(&kept, line, "\n");
  return kept;
}

const Setting kFormRow = {SETTING_FORM, CHANGE_HCCN_CONF, SettingTarget::kFile,
                          FormText,     FormCondition,    FormUndo,
                          CheckForm,    JudgeForm};

void PlanFormStep(HostPlanBuilder* plan, absl::string_view npu_series) {
  if (plan->facts().hccn_conf().state_case() != HccnConfFact::kValue) return;
  const HccnConf& conf = plan->facts().hccn_conf().value();
  std::vector<Problem> repaired;
  for (const Problem& problem : conf.problems()) {
    if (IsRepairable(problem)) {
      repaired.push_back(problem);
      continue;
    }
    const bool is_harmless = problem.kind() == Problem::BAD_VALUE &&
                             !BreaksRecoveryOf(npu_series, problem.text());
    if (is_harmless || IsOfSetting(problem)) continue;
    plan->Block(
        CHANGE_HCCN_CONF, {}, Worded("plan-say-conf-line", problem.line()),
        Worded("plan-say-meaning-unknown", Term(ProblemWords(problem.kind())),
               problem.text().substr(0, 80)),
        Worded("plan-say-correct-in-place"));
  }
  if (repaired.empty()) return;
  const FindingValue repairs = RepairsWords(repaired);
  PlanStep* step = plan->AddStep(FormFact(), TextsValue({EnglishText(repairs)}),
                                 TextsValue({kGoodForm}), {FormFact()});
  *step->mutable_from_said() = repairs;
  step->set_from_sha256(conf.sha256());
}

}  // namespace clusterd
