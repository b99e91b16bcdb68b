#include "config/plan/plan_check.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/plan/named_facts.h"
#include "config/plan/setting_rows.h"
#include "config/values/change_kind.h"
#include "config/values/network_namespace.h"

namespace clusterd {
namespace {

constexpr int kMaxFacts = 65536;

absl::Status CheckStep(const HostPlan& plan, int index) {
  const PlanStep& step = plan.steps(index);
  if (step.id() != static_cast<uint32_t>(index) + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has number ", step.id(), ", expected ", index + 1));
  }
  const Setting* const setting = SettingOf(step);
  if (setting == nullptr) return absl::InvalidArgumentError(StepText(step));
  if (step.kind() != setting->kind && !IsRewrite(step)) {
    return absl::InvalidArgumentError(
        absl::StrCat("kind \"", ChangeKindName(step.kind()),
                     "\" is not that of its change, expected \"",
                     ChangeKindName(setting->kind), "\""));
  }
  return setting->check(step);
}

// In another network namespace there are only running parameters, and a plan
// for it must notice when the name leads to a new one.
absl::Status CheckNamespace(const HostPlan& plan) {
  if (!plan.has_network_namespace()) return absl::OkStatus();
  const NetworkNamespace& target = plan.network_namespace();
  if (target.target_case() == NetworkNamespace::TARGET_NOT_SET) {
    return absl::InvalidArgumentError(
        "plan: its network namespace has no name");
  }
  const absl::Status valid = CheckNetworkNamespace(target);
  if (!valid.ok()) {
    return absl::Status(valid.code(), absl::StrCat("plan: ", valid.message()));
  }
  for (const PlanStep& step : plan.steps()) {
    if (step.setting() == kRunningSetting) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "plan step ", step.id(), ": \"", StepText(step),
        "\" is no change of a network namespace, expected only running kernel "
        "parameters in ",
        NetworkNamespaceText(target)));
  }
  const bool knows_it = absl::c_any_of(plan.facts(), [](const PlanFact& fact) {
    return fact.name() == kNetworkNamespaceFact;
  });
  if (plan.steps().empty() || knows_it) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("plan: its steps do not rest on the fact \"",
                   kNetworkNamespaceFact, "\""));
}

StepVerdict Judge(const PlanStep& step, const SettingFacts& facts) {
  const Setting* const setting = SettingOf(step);
  if (setting == nullptr) return {StepVerdict::kUntold, StepText(step)};
  return setting->judge(step, facts);
}

}  // namespace

absl::Status CheckHostPlan(const HostPlan& plan) {
  if (plan.steps_size() > kMaxPlanSteps || plan.facts_size() > kMaxFacts) {
    return absl::InvalidArgumentError(absl::StrCat(
        "plan: ", plan.steps_size(), " steps on ", plan.facts_size(),
        " facts, expected at most ", kMaxPlanSteps, " on ", kMaxFacts));
  }
  if (!plan.steps().empty() && plan.facts().empty()) {
    return absl::InvalidArgumentError("plan: its steps rest on no fact");
  }
  for (int i = 0; i < plan.steps_size(); ++i) {
    const absl::Status status = CheckStep(plan, i);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("plan step ", i + 1, ": ",
                                                      status.message()));
    }
  }
  return CheckNamespace(plan);
}

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
