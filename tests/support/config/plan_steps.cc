#include "tests/support/config/plan_steps.h"

#include "absl/strings/str_cat.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/named_facts.h"
#include "config/plan/settings.h"
#include "config/words/message.h"

namespace clusterd {
namespace {

PlanStep StepOf(const std::string& setting, const std::string& from,
                const std::string& to) {
  PlanStep step;
  step.set_setting(setting);
  step.set_from(from);
  step.set_to(to);
  step.set_kind(FindSetting(setting)->kind);
  return step;
}

}  // namespace

PlanStep DeviceStep(uint32_t device, const std::string& setting,
                    const std::string& from, const std::string& to) {
  PlanStep step = StepOf(setting, from, to);
  step.mutable_target()->set_device(device);
  return step;
}

PlanStep RewriteStep(uint32_t device, const std::string& setting,
                     const std::string& from, const std::string& to) {
  PlanStep step = DeviceStep(device, setting, from, to);
  step.set_kind(CHANGE_HCCN_CONF);
  return step;
}

PlanStep AddressStep(uint32_t device, const std::string& from,
                     const std::string& to, const std::string& gateway) {
  PlanStep step = DeviceStep(device, kAddressSetting, from, to);
  HccnConf::Entry* dropped = step.add_dropped();
  dropped->set_key("gateway");
  dropped->set_device(device);
  dropped->set_value(gateway);
  return step;
}

PlanStep RunningStep(const std::string& key, const std::string& from,
                     const std::string& to) {
  PlanStep step = StepOf(kRunningSetting, from, to);
  step.mutable_target()->set_kernel_parameter(key);
  return step;
}

PlanStep AtBootStep(const std::string& key, const std::string& from,
                    const std::string& to) {
  PlanStep step = StepOf(kAtBootSetting, from, to);
  step.mutable_target()->set_kernel_parameter(key);
  return step;
}

PlanStep StopStep(FirewallProgram program) {
  PlanStep step = StepOf(kActiveSetting, "active, starts at boot", kNoFact);
  step.mutable_target()->set_firewall(program);
  return step;
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
  PlanStep step = StepOf(kAllowSetting, kNoFact, kYesFact);
  step.mutable_target()->mutable_rule()->set_program(program);
  *step.mutable_target()->mutable_rule()->mutable_port() = port;
  return step;
}

PlanStep FormStep(const std::string& repairs, const std::string& sha256) {
  PlanStep step = StepOf(kFormSetting, repairs, kGoodForm);
  step.mutable_target()->set_file(kHccnConfFile);
  step.set_from_sha256(sha256);
  return step;
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
