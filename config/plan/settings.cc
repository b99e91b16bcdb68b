#include "config/plan/settings.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/setting_rows.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

using Target = SettingTarget;

const Setting* const kHostRows[] = {&kFormRow, &kRunningRow, &kAtBootRow,
                                    &kActiveRow, &kAllowedRow};
static_assert(std::size(kHostRows) == std::size(kHostSettingNames),
              "a setting without its row");

std::vector<Setting> MakeRows() {
  std::vector<Setting> rows;
  for (const Setting* row : kHostRows) rows.push_back(*row);
  for (const DeviceSetting& device : DeviceSettings()) {
    rows.push_back(RowOf(device));
  }
  return rows;
}

// True if the step sets that fact, or makes the tool drop it.
bool SetsFact(const PlanStep& step, const std::string& fact) {
  const std::string goal = GoalName(step);
  const uint32_t device = step.target().device();
  if (fact == goal || step.target().has_kernel_parameter()) return fact == goal;
  // Steps of a firewall or of the file's form set all of its facts.
  if (!IsOfDevice(step)) {
    return absl::StartsWith(fact, goal.substr(0, goal.find(' ')));
  }
  auto lines = ConfLinesOf(*SettingOf(step)->device, device, step.to());
  for (const HccnConf::Entry& each : step.dropped()) {
    const std::string key = IsRouteKey(each.key()) ? "routes" : each.key();
    lines.push_back({HccnConfKey(key, each.device()), ""});
    // The fact is of another device, which loses its gateway with its line.
    if (each.device() != device &&
        fact == DeviceFactName(each.device(), kGatewaySetting)) {
      return true;
    }
  }
  return absl::c_any_of(lines, [&fact](const ConfLine& line) {
    return fact == absl::StrCat("hccn.conf: ", line.key);
  });
}

}  // namespace

const Setting* FindSetting(absl::string_view name) {
  static const auto* const rows = new std::vector<Setting>(MakeRows());
  return FirstWith(*rows, &Setting::name, name);
}

const Setting* SettingOf(const PlanStep& step) {
  const Setting* const row = FindSetting(step.setting());
  return row != nullptr && row->target == step.target().of_case() ? row
                                                                  : nullptr;
}

std::string GoalName(const PlanStep& step) {
  const Target& target = step.target();
  switch (target.of_case()) {
    case Target::kDevice:
      return DeviceFactName(target.device(), step.setting());
    case Target::kKernelParameter:
      return step.setting() == kRunningSetting
                 ? target.kernel_parameter()
                 : AtBootFactName(target.kernel_parameter());
    case Target::kFirewall:
      return FirewallFactName(target.firewall(), step.setting());
    case Target::kRule:
      return absl::StrCat(
          FirewallFactName(target.rule().program(), step.setting()), " ",
          PortRuleText(target.rule().port()));
    case Target::kFile:
      return kHccnConfFormFact;
    case Target::OF_NOT_SET:
      break;
  }
  return "";
}

FindingValue StepWords(const PlanStep& step) {
  const Setting* const setting = SettingOf(step);
  return setting == nullptr ? Worded("plan-say-change-unknown")
                            : setting->text(step);
}

FindingValue StepVerdict::Why() const {
  return fact.empty() ? Worded("plan-say-change-unknown")
                      : DriftWords(fact, now, wanted);
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
    return fact.now != kUnknownFact &&
           absl::c_any_of(plan.steps(), [&fact](const PlanStep& step) {
             return SetsFact(step, fact.name);
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

std::string SettingFacts::Now(const std::string& name) const {
  const std::string now = NamedFactText(named_, name);
  const bool gone = facts_.hccn_conf().missing().reason() == Missing::ABSENT;
  return now == kUnknownFact && gone && absl::StartsWith(name, "hccn.conf: ")
             ? "none"
             : now;
}

const AllowedPorts& SettingFacts::Ports(FirewallProgram program,
                                        bool permanently) const {
  std::optional<AllowedPorts>& ports =
      allowed_[program == UFW ? 0 : 1][permanently ? 1 : 0];
  if (!ports) {
    ports.emplace(Allows(program, Firewall(program), permanently).value());
  }
  return *ports;
}

absl::Status NotOneToSet(absl::string_view what, absl::string_view value) {
  return InvalidWords("msg-plan-value-not-valid", what, value.substr(0, 80));
}

StepVerdict NotSo(absl::string_view name, const std::string& now,
                  absl::string_view wanted) {
  return {now == kUnknownFact ? StepVerdict::kUnknown : StepVerdict::kMoved,
          std::string(name), now, std::string(wanted)};
}

StepVerdict Expect(const SettingFacts& facts, const std::string& name,
                   const std::string& wanted) {
  const std::string now = facts.Now(name);
  return now == wanted ? StepVerdict() : NotSo(name, now, wanted);
}

}  // namespace clusterd
