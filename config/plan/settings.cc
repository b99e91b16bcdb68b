#include "config/plan/settings.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/hccn_conf_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

const Setting* const kHostRows[] = {&kFormRow, &kRunningRow, &kAtBootRow,
                                    &kActiveRow, &kAllowedRow};
static_assert(std::size(kHostRows) == std::size(kHostSettingIds),
              "a setting without its row");

std::vector<Setting> MakeRows() {
  std::vector<Setting> rows;
  for (const Setting* row : kHostRows) rows.push_back(*row);
  for (const DeviceSetting& device : DeviceSettings()) {
    rows.push_back(RowOf(device));
  }
  return rows;
}

bool IsInConf(const FactKey& fact) {
  return fact == FormFact() || fact.has_conf_key() ||
         fact.other() == FactKey::ROUTES;
}

// The fact of a line of hccn.conf.
FactKey FactOf(const HccnConf::Entry& entry) {
  return IsRouteKey(entry.key()) ? RoutesFact(entry.device())
                                 : ConfLineFact(entry.device(), entry.key());
}

// True if the step of a device sets that fact, or makes the tool drop it.
bool SetsOfDevice(const PlanStep& step, const FactKey& fact) {
  const uint32_t device = step.target().device();
  const auto lines = ConfLinesOf(*SettingOf(step)->device, step.to());
  return absl::c_any_of(lines,
                        [&](const ConfLine& line) {
                          return fact == ConfLineFact(device, line.key);
                        }) ||
         absl::c_any_of(step.dropped(), [&](const HccnConf::Entry& entry) {
           // Another device loses its gateway with its line.
           return fact == FactOf(entry) ||
                  (entry.device() != device &&
                   fact == DeviceFact(entry.device(), SETTING_GATEWAY));
         });
}

// True if the step sets that fact, or makes a program drop it.
bool SetsFact(const PlanStep& step, const FactKey& fact) {
  if (fact == GoalOf(step)) return true;
  const SettingTarget& target = step.target();
  switch (target.of_case()) {
    case SettingTarget::kDevice:
      return SetsOfDevice(step, fact);
    // These set all facts of the firewall, or of the file.
    case SettingTarget::kFirewall:
      return fact.target().firewall() == target.firewall();
    case SettingTarget::kRule:
      return fact.target().firewall() == target.rule().program();
    case SettingTarget::kFile:
      return IsInConf(fact);
    default:
      return false;
  }
}

}  // namespace

const Setting* FindSetting(SettingId id) {
  static const auto* const rows = new std::vector<Setting>(MakeRows());
  return FirstWith(*rows, &Setting::id, id);
}

const Setting* SettingOf(const PlanStep& step) {
  const Setting* const row = FindSetting(step.setting());
  return row != nullptr && row->target == step.target().of_case() ? row
                                                                  : nullptr;
}

FactKey GoalOf(const PlanStep& step) {
  FactKey goal;
  *goal.mutable_target() = step.target();
  goal.set_setting(step.setting());
  return goal;
}

FindingValue StepWords(const PlanStep& step) {
  const Setting* const setting = SettingOf(step);
  return setting == nullptr ? Worded("plan-say-change-unknown")
                            : setting->text(step);
}

StepVerdict JudgeStep(const PlanStep& step, const SettingFacts& facts) {
  const Setting* const setting = SettingOf(step);
  if (setting == nullptr) return {StepVerdict::kUnknown};
  return setting->judge(step, facts);
}

bool IsAlreadySo(const HostPlan& plan, const std::vector<MovedFact>& moved,
                 const SettingFacts& facts) {
  if (moved.empty()) return plan.steps().empty();
  for (const PlanStep& step : plan.steps()) {
    if (JudgeStep(step, facts).state != StepVerdict::kSo) return false;
  }
  return absl::c_all_of(moved, [&plan](const MovedFact& fact) {
    return !IsUnknown(fact.now) &&
           absl::c_any_of(plan.steps(), [&fact](const PlanStep& step) {
             return SetsFact(step, fact.key);
           });
  });
}

std::string BlockedText(const BlockedChange& blocked) {
  const std::string who =
      blocked.devices().empty()
          ? ""
          : absl::StrCat(blocked.devices_size() == 1 ? "device " : "devices ",
                         absl::StrJoin(blocked.devices(), ","), ": ");
  return absl::StrCat(who, blocked.what(),
                      " cannot be planned: ", blocked.reason(), "; ",
                      blocked.fix());
}

}  // namespace clusterd
