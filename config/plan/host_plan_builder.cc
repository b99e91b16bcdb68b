#include "config/plan/host_plan_builder.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/plan/allow_text.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/plan_text.h"
#include "config/spec/change_kind.h"

namespace clusterd {
namespace {

// The step without the device, which a blocked change names by itself.
std::string TextWithoutDevice(const PlanStep& step) {
  const std::string text = StepText(step);
  for (const uint32_t device : DevicesOf(step)) {
    absl::string_view rest = text;
    if (absl::ConsumePrefix(&rest, absl::StrCat("device ", device, ": "))) {
      return std::string(rest);
    }
  }
  return text;
}

}  // namespace

HostPlanBuilder::HostPlanBuilder(const HostFacts& facts)
    : facts_(facts), named_(NameFacts(facts)) {
  plan_.set_host(facts.host());
  for (const DeviceFacts& device : facts.devices()) {
    devices_.emplace(device.id(), &device);
  }
  for (const HccnConf::Entry& entry : facts.hccn_conf().value().entries()) {
    if (!entry.has_device()) continue;
    conf_.emplace(HccnConfKey(entry.key(), entry.device()),
                  RepairedEntry(entry).value());
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
  rests_on_.push_back(rests_on);
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

void HostPlanBuilder::BlockWhatIsNotAllowed() {
  if (!facts_.has_allows()) return;
  const HostAllows& allows = facts_.allows();
  const std::set<ChangeKind> allowed = AllowedKinds(allows);
  std::set<ChangeKind> needed = allowed;
  bool form_stays_bad = false;
  for (const PlanStep& step : plan_.steps()) {
    needed.insert(step.kind());
    form_stays_bad |=
        step.has_hccn_conf_repair() && allowed.count(step.kind()) == 0;
  }
  if (needed == allowed) return;
  const std::string fix =
      absl::StrCat(HowToAllow(allows, needed), ", then plan again");
  const std::string only = WhatIsAllowed(allows);
  HostPlan all;
  all.mutable_steps()->Swap(plan_.mutable_steps());
  std::vector<std::vector<std::string>> kept;
  for (int i = 0; i < all.steps_size(); ++i) {
    PlanStep& step = *all.mutable_steps(i);
    const std::vector<uint32_t> devices = DevicesOf(step);
    if (allowed.count(step.kind()) == 0) {
      Block(step.kind(), devices, TextWithoutDevice(step),
            absl::StrCat("this host does not allow ",
                         ChangeKindName(step.kind()), "; ", only),
            fix);
    } else if (form_stays_bad && !devices.empty()) {
      // Whatever the tool does to a device, it writes the file.
      Block(step.kind(), devices, TextWithoutDevice(step),
            absl::StrCat("hccn_tool would write /etc/hccn.conf, whose repair "
                         "this host does not allow; ",
                         only),
            fix);
    } else {
      *plan_.add_steps() = std::move(step);
      plan_.mutable_steps()->rbegin()->set_id(plan_.steps_size());
      kept.push_back(std::move(rests_on_[i]));
    }
  }
  rests_on_ = std::move(kept);
}

HostPlan HostPlanBuilder::Finish() {
  BlockWhatIsNotAllowed();
  NamedFacts facts;
  for (const std::vector<std::string>& names : rests_on_) {
    for (const std::string& name : names) {
      const auto found = named_.find(name);
      facts[name] = found == named_.end() ? kUnknownFact : found->second;
    }
  }
  for (const auto& [name, value] : facts) {
    PlanFact* fact = plan_.add_facts();
    fact->set_name(name);
    fact->set_value(value);
  }
  return std::move(plan_);
}

}  // namespace clusterd
