#include "config/plan/settings.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/plan/setting_rows.h"

namespace clusterd {
namespace {

using Target = SettingTarget;

const Setting* const kHostRows[] = {&kFormRow, &kRunningRow, &kAtBootRow,
                                    &kActiveRow, &kLetsInRow};
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

}  // namespace

const Setting* FindSetting(absl::string_view name) {
  static const auto* const rows = new std::vector<Setting>(MakeRows());
  const auto found =
      std::find_if(rows->begin(), rows->end(),
                   [name](const Setting& row) { return row.name == name; });
  return found == rows->end() ? nullptr : &*found;
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
          RuleText(target.rule().port()));
    case Target::kFile:
      return kHccnConfFormFact;
    case Target::OF_NOT_SET:
      break;
  }
  return "";
}

std::string SettingFacts::Now(const std::string& name) const {
  const auto found = named_.find(name);
  const std::string now = found == named_.end() ? kUnknownFact : found->second;
  const bool gone = facts_.hccn_conf().missing().reason() == Missing::ABSENT;
  return now == kUnknownFact && gone && absl::StartsWith(name, "hccn.conf: ")
             ? "none"
             : now;
}

const AllowedPorts& SettingFacts::LetsIn(FirewallProgram program,
                                         bool permanently) const {
  std::optional<AllowedPorts>& ports =
      lets_in_[program == UFW ? 0 : 1][permanently ? 1 : 0];
  if (!ports) {
    const FirewallFacts& facts = Firewall(program);
    ports.emplace(
        (permanently ? facts.allowed_permanently() : facts.allowed()).value());
  }
  return *ports;
}

absl::Status NotOneToSet(absl::string_view what, absl::string_view value) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " \"", value.substr(0, 80), "\" is not one to set"));
}

Mismatch MakeMismatch(absl::string_view name, const std::string& now,
                      absl::string_view wanted) {
  return {absl::StrCat(name, " is ", now, ", applied was ", wanted),
          now == kUnknownFact};
}

void Expect(const SettingFacts& facts, const std::string& name,
            const std::string& wanted, std::vector<Mismatch>* found) {
  const std::string now = facts.Now(name);
  if (now != wanted) found->push_back(MakeMismatch(name, now, wanted));
}

}  // namespace clusterd
