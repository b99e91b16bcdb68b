// The repair of the form of /etc/hccn.conf: its row and its planner.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/settings.h"
#include "config/plan/step_planners.h"
#include "config/values/hccn_conf_line.h"
#include "config/values/number_list.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

using ConfProblem = HccnConf::Problem;

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
  for (const ConfProblem& problem : fact.value().problems()) {
    if (!IsRepairable(problem)) continue;
    return NotSo(FormFact(),
                 TextsValue({absl::StrCat(ProblemWords(problem.kind()),
                                          " in line ", problem.line())}),
                 step.to());
  }
  return {};
}

// True if the tool rewrites the key when the spec names its setting.
bool IsOfSetting(const ConfProblem& problem) {
  return problem.kind() == ConfProblem::BAD_VALUE &&
         absl::c_any_of(DeviceSettings(), [&](const DeviceSetting& setting) {
           return absl::c_any_of(setting.conf_keys, [&](const char* key) {
             return absl::StartsWith(problem.text(), absl::StrCat(key, "_"));
           });
         });
}

// Folds lines without loss, since this text distinguishes plans. REQUIRES: not
// empty, and IsRepairable of each.
FindingValue RepairsWords(const std::vector<ConfProblem>& problems) {
  FirstSeen<ConfProblem::Kind, std::set<uint32_t>> lines;
  uint32_t last = 0;
  for (const ConfProblem& problem : problems) {
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

const Setting kFormRow = {SETTING_FORM, CHANGE_HCCN_CONF, SettingTarget::kFile,
                          FormText,     FormCondition,    FormUndo,
                          CheckForm,    JudgeForm};

void PlanFormStep(HostPlanBuilder* plan, absl::string_view npu_series) {
  if (plan->facts().hccn_conf().state_case() != HccnConfFact::kValue) return;
  const HccnConf& conf = plan->facts().hccn_conf().value();
  std::vector<ConfProblem> repaired;
  for (const ConfProblem& problem : conf.problems()) {
    if (IsRepairable(problem)) {
      repaired.push_back(problem);
      continue;
    }
    const bool is_harmless = problem.kind() == ConfProblem::BAD_VALUE &&
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
