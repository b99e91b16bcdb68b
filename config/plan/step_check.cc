#include "config/plan/step_check.h"

#include "config/plan/plan_text.h"
#include "config/plan/setting_rows.h"
#include "config/plan/settings.h"

namespace clusterd {
namespace {

StepVerdict Judge(const PlanStep& step, const SettingFacts& facts) {
  const Setting* const setting = SettingOf(step);
  if (setting == nullptr) return {StepVerdict::kUntold, StepText(step)};
  const std::vector<Mismatch> found = setting->judge(step, facts);
  for (const Mismatch& mismatch : found) {
    if (!mismatch.untold) return {StepVerdict::kMoved, mismatch.why};
  }
  if (found.empty()) return {};
  return {StepVerdict::kUntold, found.front().why};
}

}  // namespace

std::vector<StepVerdict> JudgeSteps(absl::Span<const PlanStep* const> steps,
                                    const HostFacts& facts) {
  const SettingFacts ready(facts);
  std::vector<StepVerdict> verdicts;
  for (const PlanStep* step : steps) verdicts.push_back(Judge(*step, ready));
  return verdicts;
}

std::vector<DriftedStep> FindDrift(const HostPlan& plan,
                                   const HostFacts& facts) {
  const SettingFacts ready(facts);
  std::vector<DriftedStep> drifted;
  for (const PlanStep& step : plan.steps()) {
    StepVerdict verdict = Judge(step, ready);
    if (verdict.state == StepVerdict::kSo) continue;
    drifted.push_back({step.id(), std::move(verdict.why)});
  }
  return drifted;
}

}  // namespace clusterd
