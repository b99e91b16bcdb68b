#include "tests/support/config/plan_steps.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/plan/kernel_parameters.h"
#include "config/plan/settings.h"
#include "config/words/message.h"

namespace clusterd {
namespace {

PlanStep StepOf(const FactKey& goal, const SettingValue& from,
                const SettingValue& to) {
  PlanStep step;
  *step.mutable_target() = goal.target();
  step.set_setting(goal.setting());
  *step.mutable_from() = from;
  *step.mutable_to() = to;
  step.set_kind(FindSetting(goal.setting())->kind);
  return step;
}

// Keeps the pairs as they are, also those that no map has.
SettingValue MapOf(const std::string& text) {
  if (text == "0:0") return MapValue({});
  SettingValue value;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> numbers = absl::StrSplit(part, ':');
    uint32_t first = 0, second = 0;
    if (numbers.size() != 2 || !absl::SimpleAtoi(numbers[0], &first) ||
        !absl::SimpleAtoi(numbers[1], &second)) {
      return TextsValue({text});
    }
    NumberPair* const pair = value.mutable_map()->add_pairs();
    pair->set_first(first);
    pair->set_second(second);
  }
  return value;
}

}  // namespace

SettingValue ValueOf(SettingId setting, const std::string& text) {
  if (text == "none") return NoneValue();
  if (setting == SETTING_TLS) {
    return text == "on" || text == "off" ? SwitchValue(text == "on")
                                         : TextsValue({text});
  }
  if (setting == SETTING_DSCP_TO_TC) return MapOf(text);
  std::vector<std::string> texts = {text};
  if (setting == SETTING_ADDRESS) texts = absl::StrSplit(text, '/');
  return ParseSetting(DeviceSettingOf(setting), texts);
}

SettingValue ValueOf(const std::string& kernel_parameter,
                     const std::string& text) {
  if (text == "none") return NoneValue();
  const KernelParameter* const parameter =
      FindKernelParameter(kernel_parameter);
  const SettingValue as_it_is = TextsValue({text});
  return parameter == nullptr
             ? as_it_is
             : ParseSysctl(*parameter, text).value_or(as_it_is);
}

PlanStep DeviceStep(uint32_t device, SettingId setting, const std::string& from,
                    const std::string& to) {
  return StepOf(DeviceFact(device, setting), ValueOf(setting, from),
                ValueOf(setting, to));
}

PlanStep RewriteStep(uint32_t device, SettingId setting,
                     const std::string& from, const std::string& to) {
  PlanStep step = DeviceStep(device, setting, from, to);
  step.set_kind(CHANGE_HCCN_CONF);
  return step;
}

PlanStep AddressStep(uint32_t device, const std::string& from,
                     const std::string& to, const std::string& gateway) {
  PlanStep step = DeviceStep(device, SETTING_ADDRESS, from, to);
  HccnConf::Entry* dropped = step.add_dropped();
  dropped->set_key("gateway");
  dropped->set_device(device);
  dropped->set_value(gateway);
  return step;
}

PlanStep RunningStep(const std::string& key, const std::string& from,
                     const std::string& to) {
  return StepOf(KernelFact(key, SETTING_RUNNING), ValueOf(key, from),
                ValueOf(key, to));
}

PlanStep AtBootStep(const std::string& key, const std::string& from,
                    const std::string& to) {
  return StepOf(KernelFact(key, SETTING_AT_BOOT), ValueOf(key, from),
                ValueOf(key, to));
}

PlanStep StopStep(FirewallProgram program) {
  SettingValue state;
  state.mutable_firewall()->set_active(true);
  state.mutable_firewall()->set_starts_at_boot(true);
  return StepOf(FirewallFact(program, SETTING_ACTIVE), state, YesValue(false));
}

AllowedPort TcpPorts(uint32_t first, uint32_t last, const std::string& source) {
  AllowedPort port;
  port.set_first_port(first);
  port.set_last_port(last);
  port.set_protocol("tcp");
  port.set_source(source);
  return port;
}

PlanStep OpenStep(FirewallProgram program, const AllowedPort& port) {
  FirewallRule rule;
  rule.set_program(program);
  *rule.mutable_port() = port;
  return StepOf(RuleFact(rule), YesValue(false), YesValue(true));
}

PlanStep FormStep(const std::string& repairs, const std::string& sha256) {
  PlanStep step =
      StepOf(FormFact(), TextsValue({repairs}), TextsValue({kGoodForm}));
  step.set_from_sha256(sha256);
  return step;
}

std::vector<std::string> FactNames(const HostPlan& plan) {
  std::vector<std::string> names;
  for (const PlanFact& fact : plan.facts()) {
    names.push_back(FactKeyText(fact.key()));
  }
  return names;
}

std::map<std::string, std::string> FactTexts(const HostFacts& facts) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : NameFacts(facts)) {
    texts[FactKeyText(key)] = SettingText(value);
  }
  return texts;
}

std::vector<std::string> StepTexts(const HostPlan& plan) {
  return StepTexts(
      std::vector<PlanStep>(plan.steps().begin(), plan.steps().end()));
}

std::vector<std::string> StepTexts(const std::vector<PlanStep>& steps) {
  std::vector<std::string> texts;
  for (const PlanStep& step : steps) texts.push_back(StepText(step));
  return texts;
}

std::vector<std::string> BlockedReasons(const HostPlan& plan) {
  std::vector<std::string> reasons = StepTexts(plan);
  if (!reasons.empty()) return reasons;
  for (const auto& each : plan.blocked()) reasons.push_back(each.reason());
  return reasons;
}

std::vector<std::string> BlockedTexts(const HostPlan& plan) {
  std::vector<std::string> texts = StepTexts(plan);
  if (!texts.empty()) return texts;
  for (const auto& each : plan.blocked()) texts.push_back(BlockedText(each));
  return texts;
}

std::string BlockedAs(const std::string& change, const FindingValue& reason,
                      const FindingValue& fix) {
  return absl::StrCat(change, " cannot be planned: ", EnglishText(reason), "; ",
                      EnglishText(fix));
}

}  // namespace clusterd
