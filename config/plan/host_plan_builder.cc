#include "config/plan/host_plan_builder.h"

#include <utility>

#include "absl/strings/strip.h"
#include "config/plan/hccn_conf_text.h"

namespace clusterd {

HostPlanBuilder::HostPlanBuilder(const HostFacts& facts)
    : facts_(facts), named_(NameFacts(facts)) {
  plan_.set_host(facts.host());
  for (const DeviceFacts& device : facts.devices()) {
    devices_.emplace(device.id(), &device);
  }
  for (const HccnConf::Entry& entry : facts.hccn_conf().value().entries()) {
    if (!entry.has_device()) continue;
    conf_.emplace(HccnConfKey(entry.key(), entry.device()),
                  std::string(absl::StripSuffix(entry.value(), "\r")));
  }
}

const DeviceFacts* HostPlanBuilder::FindDevice(uint32_t id) const {
  const auto found = devices_.find(id);
  return found == devices_.end() ? nullptr : found->second;
}

std::string HostPlanBuilder::ConfValue(absl::string_view key,
                                       uint32_t device) const {
  const auto found = conf_.find(HccnConfKey(key, device));
  return found == conf_.end() ? "" : found->second;
}

PlanStep* HostPlanBuilder::AddStep(ChangeKind kind,
                                   const std::vector<std::string>& rests_on) {
  PlanStep* step = plan_.add_steps();
  step->set_id(plan_.steps_size());
  step->set_kind(kind);
  for (const std::string& name : rests_on) {
    const auto found = named_.find(name);
    rests_on_[name] = found == named_.end() ? kUnknownFact : found->second;
  }
  return step;
}

void HostPlanBuilder::Block(ChangeKind kind,
                            const std::vector<uint32_t>& devices,
                            absl::string_view what, absl::string_view reason,
                            absl::string_view fix) {
  BlockedChange* blocked = plan_.add_blocked();
  blocked->set_kind(kind);
  for (const uint32_t device : devices) blocked->add_devices(device);
  blocked->set_what(std::string(what));
  blocked->set_reason(std::string(reason));
  blocked->set_fix(std::string(fix));
}

void HostPlanBuilder::Note(absl::string_view text) {
  plan_.add_notes(std::string(text));
}

HostPlan HostPlanBuilder::Finish() {
  for (const auto& [name, value] : rests_on_) {
    PlanFact* fact = plan_.add_facts();
    fact->set_name(name);
    fact->set_value(value);
  }
  return std::move(plan_);
}

}  // namespace clusterd
