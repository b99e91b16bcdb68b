#include "config/plan/applied_drift.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/plan/named_facts.h"
#include "config/plan/plan_check.h"
#include "config/plan/settings.h"
#include "config/values/change_kind.h"

namespace clusterd {
namespace {

// A controller takes no text over 16 KiB, and would end the stream of a host
// that sent one.
constexpr size_t kMaxTextBytes = 512;

// What was applied is compared with a new plan, so it is cut only where the
// report would not be taken.
constexpr size_t kMaxGoalBytes = 8 << 10;

// Cut between characters, and marked.
std::string Shortened(std::string text, size_t max_bytes = kMaxTextBytes) {
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return absl::StrCat(text.substr(0, end), "...");
}

// A step that still counts.
struct Claim {
  const EndedApply* apply;
  const PlanStep* step;
};

// Which targets later steps have taken over.
class TakenTargets {
 public:
  // What the step sets, and what it decides beside that: an address drops the
  // gateway of the old subnet; a firewall that is stopped lets everything in;
  // one that is opened is meant to run.
  void Add(const PlanStep& step) {
    const Setting* const setting = SettingOf(step);
    if (setting == nullptr) return;
    targets_.insert(GoalName(step));
    if (setting->also == nullptr) return;
    for (const std::string& name : setting->also(step)) {
      absl::string_view prefix = name;
      if (absl::ConsumeSuffix(&prefix, "*")) {
        prefixes_.insert(std::string(prefix));
      } else {
        targets_.insert(name);
      }
    }
  }

  // Whether a step that was added decides about this target.
  bool Has(const std::string& target) const {
    return targets_.count(target) > 0 ||
           std::any_of(prefixes_.begin(), prefixes_.end(),
                       [&target](const std::string& prefix) {
                         return absl::StartsWith(target, prefix);
                       });
  }

 private:
  std::set<std::string> targets_;
  std::set<std::string> prefixes_;
};

bool Counts(const EndedApply& apply) {
  return apply.end.outcome() == ApplyResult::APPLIED &&
         !apply.begin.plan().has_network_namespace();
}

bool IsEnforced(const EndedApply& apply) {
  return apply.begin.actor() == kControllerActor;
}

std::set<uint32_t> StepsInEffect(const ApplyResult& end) {
  std::set<uint32_t> steps;
  for (const StepOutcome& outcome : end.steps()) {
    if (outcome.state() == StepOutcome::DONE ||
        outcome.state() == StepOutcome::ALREADY_SO) {
      steps.insert(outcome.step());
    }
  }
  return steps;
}

void AddStepsInEffect(const EndedApply& apply, TakenTargets* targets) {
  const std::set<uint32_t> in_effect = StepsInEffect(apply.end);
  for (const PlanStep& step : apply.begin.plan().steps()) {
    if (in_effect.count(step.id()) > 0) targets->Add(step);
  }
}

// The first target that the apply set and `targets` has.
std::optional<std::string> FirstSetOf(const EndedApply& apply,
                                      const TakenTargets& targets) {
  const std::set<uint32_t> in_effect = StepsInEffect(apply.end);
  for (const PlanStep& step : apply.begin.plan().steps()) {
    if (in_effect.count(step.id()) == 0) continue;
    std::string target = GoalName(step);
    if (targets.Has(target)) return target;
  }
  return std::nullopt;
}

// Adds what the apply still claims, its steps in order. `asked_for`: what
// applies of people claim.
void AddClaims(const EndedApply& apply, const TakenTargets& asked_for,
               TakenTargets* taken, std::vector<Claim>* claims) {
  const bool enforced = IsEnforced(apply);
  const std::set<uint32_t> in_effect = StepsInEffect(apply.end);
  const auto& all = apply.begin.plan().steps();
  // The last step first, so that it takes over from earlier ones; then turned
  // round for the reader.
  std::vector<Claim> added;
  for (auto step = all.rbegin(); step != all.rend(); ++step) {
    if (in_effect.count(step->id()) == 0 || SettingOf(*step) == nullptr) {
      continue;
    }
    const std::string target = GoalName(*step);
    if (!taken->Has(target) && (!enforced || asked_for.Has(target))) {
      added.push_back({&apply, &*step});
    }
    taken->Add(*step);
  }
  claims->insert(claims->end(), added.rbegin(), added.rend());
}

AppliedDrift DriftOf(const Claim& claim, const StepVerdict& verdict) {
  const PlanStep& step = *claim.step;
  AppliedDrift drift;
  drift.set_apply_id(claim.apply->begin.apply_id());
  drift.set_step(step.id());
  drift.set_kind(ChangeKindName(step.kind()));
  drift.set_change(Shortened(StepText(step)));
  drift.set_why(Shortened(verdict.why));
  if (IsOfDevice(step)) drift.add_devices(step.target().device());
  drift.set_applied_by(claim.apply->begin.actor());
  drift.set_applied_at_ms(claim.apply->begin.started_at_ms());
  drift.set_target(GoalName(step));
  drift.set_to(Shortened(step.to(), kMaxGoalBytes));
  return drift;
}

// Enters the claims of one verdict in a list of `drifts`. Rules of firewalls
// come last: thousands of them drift together, and must not crowd out the rest.
void AddEntries(const std::vector<Claim>& claims,
                const std::vector<StepVerdict>& verdicts,
                StepVerdict::State state,
                google::protobuf::RepeatedPtrField<AppliedDrift>* list,
                DriftFact::Drifts* drifts) {
  for (const bool of_rules : {false, true}) {
    for (size_t i = 0; i < verdicts.size(); ++i) {
      if (verdicts[i].state != state) continue;
      if (claims[i].step->target().has_rule() != of_rules) continue;
      if (drifts->drifts_size() + drifts->untold_size() < kMaxAppliedDrifts) {
        *list->Add() = DriftOf(claims[i], verdicts[i]);
      } else {
        drifts->set_left_out(drifts->left_out() + 1);
      }
    }
  }
}

}  // namespace

DriftFact FindAppliedDrift(absl::Span<const EndedApply> applies,
                           const HostFacts& facts) {
  DriftFact fact;
  if (facts.has_missing()) {
    *fact.mutable_missing() = facts.missing();
    return fact;
  }
  TakenTargets asked_for;
  for (const EndedApply& apply : applies) {
    if (Counts(apply) && !IsEnforced(apply)) {
      AddStepsInEffect(apply, &asked_for);
    }
  }
  std::vector<Claim> claims;
  TakenTargets taken;
  for (auto apply = applies.rbegin(); apply != applies.rend(); ++apply) {
    if (Counts(*apply)) AddClaims(*apply, asked_for, &taken, &claims);
  }
  std::vector<const PlanStep*> steps;
  for (const Claim& claim : claims) steps.push_back(claim.step);
  const std::vector<StepVerdict> verdicts = JudgeSteps(steps, facts);
  DriftFact::Drifts* drifts = fact.mutable_value();
  AddEntries(claims, verdicts, StepVerdict::kMoved, drifts->mutable_drifts(),
             drifts);
  AddEntries(claims, verdicts, StepVerdict::kUntold, drifts->mutable_untold(),
             drifts);
  return fact;
}

std::vector<LaterClaim> FindLaterClaims(const EndedApply& apply,
                                        absl::Span<const EndedApply> applies) {
  TakenTargets set;
  for (const PlanStep& step : apply.begin.plan().steps()) set.Add(step);
  const std::string space =
      apply.begin.plan().network_namespace().SerializeAsString();
  std::vector<LaterClaim> found;
  for (const EndedApply& each : applies) {
    if (each.begin.started_at_ms() <= apply.begin.started_at_ms() ||
        IsEnforced(each) || each.end.outcome() != ApplyResult::APPLIED ||
        each.begin.plan().network_namespace().SerializeAsString() != space) {
      continue;
    }
    if (const auto target = FirstSetOf(each, set)) {
      found.push_back({each.begin.apply_id(), each.begin.actor(), *target});
    }
  }
  return found;
}

namespace {

bool IsOneOf(absl::string_view kind, absl::Span<const std::string> kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// What drifted, by its target.
using LostTargets = std::map<std::string, const AppliedDrift*>;

class Repair {
 public:
  Repair(const HostPlan& planned, const DriftFact::Drifts& drifts,
         absl::Span<const std::string> enforced)
      : planned_(planned), enforced_(enforced) {
    for (const AppliedDrift& drift : drifts.drifts()) {
      if (IsOneOf(drift.kind(), enforced)) {
        lost_.emplace(drift.target(), &drift);
      }
    }
  }

  DriftRepair Make() &&;

 private:
  void Choose(const PlanStep& step);
  void DropAddressesThatLoseMore();
  void NameWhatHasNoStep();
  void Leave(const std::string& target, absl::string_view why) {
    left_.push_back(absl::StrCat(target, ": ", why));
  }

  // Whether a chosen step sets this of the device.
  bool Sets(uint32_t device, absl::string_view setting) const {
    return std::any_of(
        chosen_.begin(), chosen_.end(), [&](const PlanStep* step) {
          return step->setting() == setting && !IsRewrite(*step) &&
                 step->target().device() == device;
        });
  }
  template <typename Condition>
  void DropIf(Condition condition) {
    chosen_.erase(std::remove_if(chosen_.begin(), chosen_.end(), condition),
                  chosen_.end());
  }

  const HostPlan& planned_;
  const absl::Span<const std::string> enforced_;
  LostTargets lost_;
  std::set<std::string> told_;  // Targets that a step, or a line, answers.
  std::vector<const PlanStep*> chosen_;  // In the order of the plan.
  std::vector<std::string> left_;
};

// A gateway that an address before it may drop is set again with it.
bool IsPutBack(const PlanStep& step) {
  return step.setting() == kGatewaySetting && !IsRewrite(step) &&
         step.from() == step.to();
}

void Repair::Choose(const PlanStep& step) {
  if (IsPutBack(step)) {
    const bool dropped = std::any_of(
        chosen_.begin(), chosen_.end(), [&step](const PlanStep* other) {
          return other->target().device() == step.target().device() &&
                 !other->dropped().empty();
        });
    if (dropped) chosen_.push_back(&step);
  }
  const std::string target = GoalName(step);
  const auto lost = lost_.find(target);
  if (lost == lost_.end()) return;
  told_.insert(target);
  const std::string kind = ChangeKindName(step.kind());
  const std::string& applied = lost->second->to();
  const auto restores = SettingOf(step)->restores;
  if (!IsOneOf(kind, enforced_)) {
    Leave(target, absl::StrCat("putting it back is a change of kind ", kind,
                               ", which is not enforced"));
  } else if (restores == nullptr ? step.to() != applied
                                 : !restores(step, applied)) {
    Leave(target, absl::StrCat("the spec asks for ", step.to(), " now, apply ",
                               lost->second->apply_id(), " set ", applied));
  } else if (chosen_.empty() || chosen_.back() != &step) {
    chosen_.push_back(&step);
  }
}

void Repair::DropAddressesThatLoseMore() {
  DropIf([this](const PlanStep* step) {
    const uint32_t device = step->target().device();
    const bool loses = std::any_of(
        step->dropped().begin(), step->dropped().end(),
        [&](const HccnConf::Entry& entry) {
          return entry.key() != "gateway" || !Sets(device, kGatewaySetting);
        });
    if (loses) {
      Leave(GoalName(*step),
            "putting it back would drop a gateway or route that is set now");
    }
    return loses;
  });
  DropIf([this](const PlanStep* step) {
    return IsPutBack(*step) && !Sets(step->target().device(), kAddressSetting);
  });
}

// A blocked change of this kind, of the same device if it is about devices.
const BlockedChange* FindBlocked(const HostPlan& planned,
                                 const std::string& target,
                                 const std::string& kind) {
  for (const BlockedChange& blocked : planned.blocked()) {
    if (ChangeKindName(blocked.kind()) != kind) continue;
    const bool same = std::any_of(
        blocked.devices().begin(), blocked.devices().end(),
        [&target](uint32_t device) {
          return absl::StartsWith(target, DeviceFactName(device, ""));
        });
    if (same || blocked.devices().empty()) return &blocked;
  }
  return nullptr;
}

void Repair::NameWhatHasNoStep() {
  for (const auto& [target, lost] : lost_) {
    if (told_.count(target) > 0) continue;
    const BlockedChange* blocked = FindBlocked(planned_, target, lost->kind());
    if (blocked != nullptr) {
      Leave(target, absl::StrCat("the plan blocks \"", blocked->what(), "\": ",
                                 blocked->reason(), "; ", blocked->fix()));
      continue;
    }
    Leave(target, absl::StrCat("the plan has no step for what apply ",
                               lost->apply_id(), " set: ", lost->to()));
  }
}

DriftRepair Repair::Make() && {
  for (const PlanStep& step : planned_.steps()) Choose(step);
  DropAddressesThatLoseMore();
  NameWhatHasNoStep();
  DriftRepair repair;
  repair.plan = planned_;
  repair.plan.clear_steps();
  repair.plan.clear_blocked();
  for (const PlanStep* step : chosen_) {
    PlanStep* added = repair.plan.add_steps();
    *added = *step;
    added->set_id(repair.plan.steps_size());
  }
  repair.left = std::move(left_);
  return repair;
}

}  // namespace

DriftRepair PlanDriftRepair(const HostPlan& planned,
                            const DriftFact::Drifts& drifts,
                            absl::Span<const std::string> enforced) {
  return Repair(planned, drifts, enforced).Make();
}

bool HasEnforcedDrift(const DriftFact& drift,
                      absl::Span<const std::string> enforced) {
  const auto& drifts = drift.value().drifts();
  return std::any_of(drifts.begin(), drifts.end(),
                     [enforced](const AppliedDrift& each) {
                       return IsOneOf(each.kind(), enforced);
                     });
}

}  // namespace clusterd
