#include "config/plan/applied_drift.h"

#include <algorithm>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/plan/settings.h"
#include "config/values/change_kind.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// A controller ends the stream of a host that sends a text over 16 KiB.
constexpr size_t kMaxTextBytes = 512;

// Targets and values are compared with a plan; only the report bounds them.
constexpr size_t kMaxGoalBytes = 8 << 10;

std::string ShortText(const FindingValue& words) {
  return SettingText(
      Shortened(TextsValue({EnglishText(words)}), kMaxTextBytes));
}

// A step whose value still counts.
struct Claim {
  const EndedApply* apply;
  const PlanStep* step;
};

// The goals that later steps have taken over.
class TakenGoals {
 public:
  // Adds the goals that the step sets or decides. An address drops the gateway
  // of the old subnet; a stopped firewall allows everything; an opened one must
  // run.
  void Add(const PlanStep& step) {
    const Setting* const setting = SettingOf(step);
    if (setting == nullptr) return;
    goals_.insert(GoalOf(step));
    if (setting->also == nullptr) return;
    for (FactKey& goal : setting->also(step)) goals_.insert(std::move(goal));
  }

  // True if one of these steps decides about this goal.
  bool Has(const FactKey& goal) const {
    const FirewallProgram program = goal.target().rule().program();
    return goals_.count(goal) > 0 ||
           (goal.target().has_rule() &&
            goals_.count(FirewallFact(program, SETTING_ALLOWED)) > 0);
  }

 private:
  std::set<FactKey> goals_;
};

bool Counts(const EndedApply& apply) {
  return apply.end.outcome() == ApplyResult::APPLIED &&
         !apply.begin.plan().has_network_namespace();
}

bool IsEnforced(const EndedApply& apply) {
  return IsController(apply.begin.actor());
}

// The steps in effect, of settings that this version knows.
std::vector<const PlanStep*> StepsInEffect(const EndedApply& apply) {
  std::set<uint32_t> in_effect;
  for (const StepOutcome& outcome : apply.end.steps()) {
    if (outcome.state() == StepOutcome::DONE ||
        outcome.state() == StepOutcome::ALREADY_SO) {
      in_effect.insert(outcome.step());
    }
  }
  std::vector<const PlanStep*> steps;
  for (const PlanStep& step : apply.begin.plan().steps()) {
    const bool counts =
        in_effect.count(step.id()) > 0 && SettingOf(step) != nullptr;
    if (counts) steps.push_back(&step);
  }
  return steps;
}

// Claims of the applies, the newest apply first, its steps in order.
std::vector<Claim> ClaimsOf(absl::Span<const EndedApply> applies) {
  TakenGoals asked_for;  // By users.
  for (const EndedApply& apply : applies) {
    if (!Counts(apply) || IsEnforced(apply)) continue;
    for (const PlanStep* step : StepsInEffect(apply)) asked_for.Add(*step);
  }
  std::vector<Claim> claims;
  TakenGoals taken;
  for (auto apply = applies.rbegin(); apply != applies.rend(); ++apply) {
    if (!Counts(*apply)) continue;
    std::vector<const PlanStep*> steps = StepsInEffect(*apply);
    // The last step takes over from earlier ones; the order is restored below.
    absl::c_reverse(steps);
    const auto first = static_cast<std::ptrdiff_t>(claims.size());
    for (const PlanStep* step : steps) {
      const FactKey goal = GoalOf(*step);
      if (!taken.Has(goal) && (!IsEnforced(*apply) || asked_for.Has(goal))) {
        claims.push_back({&*apply, step});
      }
      taken.Add(*step);
    }
    std::reverse(claims.begin() + first, claims.end());
  }
  return claims;
}

AppliedDrift DriftOf(const Claim& claim, const StepVerdict& verdict) {
  const PlanStep& step = *claim.step;
  AppliedDrift drift;
  drift.set_apply_id(claim.apply->begin.apply_id());
  drift.set_step(step.id());
  drift.set_kind(ChangeKindName(step.kind()));
  drift.set_change(ShortText(StepWords(step)));
  drift.set_why(ShortText(verdict.Why()));
  if (verdict.fact.has_target()) *drift.mutable_fact() = verdict.fact;
  *drift.mutable_now() = Shortened(verdict.now, kMaxTextBytes);
  *drift.mutable_was() = Shortened(verdict.wanted, kMaxTextBytes);
  if (IsOfDevice(step)) drift.add_devices(step.target().device());
  drift.set_applied_by(claim.apply->begin.actor());
  drift.set_applied_at_ms(claim.apply->begin.started_at_ms());
  *drift.mutable_target() = GoalOf(step);
  *drift.mutable_to() = Shortened(step.to(), kMaxGoalBytes);
  return drift;
}

// A gateway that an address step may drop is set again with the address.
bool IsPutBack(const PlanStep& step) {
  return step.setting() == SETTING_GATEWAY && !IsRewrite(step) &&
         step.from() == step.to();
}

// A blocked change of this kind; if it is about devices, of the same device.
const BlockedChange* FindBlocked(const HostPlan& planned, const FactKey& goal,
                                 const std::string& kind) {
  for (const BlockedChange& blocked : planned.blocked()) {
    if (ChangeKindName(blocked.kind()) != kind) continue;
    const bool same =
        goal.target().has_device() &&
        absl::c_linear_search(blocked.devices(), goal.target().device());
    if (same || blocked.devices().empty()) return &blocked;
  }
  return nullptr;
}

class Repair {
 public:
  Repair(const HostPlan& planned, const DriftFact::Drifts& drifts,
         absl::Span<const std::string> enforced)
      : planned_(planned), enforced_(enforced) {
    for (const AppliedDrift& drift : drifts.drifts()) {
      if (IsEnforcedKind(drift.kind())) lost_.emplace(drift.target(), &drift);
    }
  }

  DriftRepair Make() && {
    for (const PlanStep& step : planned_.steps()) Choose(step);
    DropAddressesThatLoseMore();
    NameWhatHasNoStep();
    DriftRepair repair;
    repair.plan = planned_;
    repair.plan.clear_steps();
    repair.plan.clear_blocked();
    for (const PlanStep* step : chosen_) {
      *repair.plan.add_steps() = *step;
      repair.plan.mutable_steps()->rbegin()->set_id(repair.plan.steps_size());
    }
    repair.left = std::move(left_);
    return repair;
  }

 private:
  bool IsEnforcedKind(const std::string& kind) const {
    return absl::c_linear_search(enforced_, kind);
  }

  void Leave(const FactKey& goal, absl::string_view why) {
    left_.push_back(absl::StrCat(FactKeyText(goal), ": ", why));
  }

  void Choose(const PlanStep& step) {
    const bool goes_with_address =
        IsPutBack(step) &&
        absl::c_any_of(chosen_, [&step](const PlanStep* other) {
          return other->target().device() == step.target().device() &&
                 !other->dropped().empty();
        });
    const auto lost = lost_.find(GoalOf(step));
    std::string why = "it has not drifted";
    if (lost != lost_.end()) {
      why = WhyNotPutBack(step, *lost->second);
      if (!why.empty()) Leave(lost->first, why);
      lost_.erase(lost);
    }
    if (goes_with_address || why.empty()) chosen_.push_back(&step);
  }

  // Returns "" if the step restores the drifted value.
  std::string WhyNotPutBack(const PlanStep& step,
                            const AppliedDrift& lost) const {
    const std::string kind = ChangeKindName(step.kind());
    if (!IsEnforcedKind(kind)) {
      return absl::StrCat("putting it back is a change of kind ", kind,
                          ", which is not enforced");
    }
    const auto restores = SettingOf(step)->restores;
    const bool does = restores == nullptr ? step.to() == lost.to()
                                          : restores(step, lost.to());
    return does ? ""
                : absl::StrCat("the spec asks for ", SettingText(step.to()),
                               " now, apply ", lost.apply_id(), " set ",
                               SettingText(lost.to()));
  }

  // True if a chosen step sets this setting of the device.
  bool Sets(uint32_t device, SettingId setting) const {
    return absl::c_any_of(chosen_, [&](const PlanStep* step) {
      return step->setting() == setting && !IsRewrite(*step) &&
             step->target().device() == device;
    });
  }

  void DropAddressesThatLoseMore() {
    DropIf(&chosen_, [this](const PlanStep* step) {
      const bool loses =
          absl::c_any_of(step->dropped(), [&](const HccnConf::Entry& entry) {
            return entry.key() != "gateway" ||
                   !Sets(entry.device(), SETTING_GATEWAY);
          });
      if (loses) {
        Leave(GoalOf(*step),
              "putting it back would drop a gateway or route that is set now");
      }
      return loses;
    });
    DropIf(&chosen_, [this](const PlanStep* step) {
      return IsPutBack(*step) &&
             !Sets(step->target().device(), SETTING_ADDRESS);
    });
  }

  void NameWhatHasNoStep() {
    for (const auto& [goal, lost] : lost_) {
      const BlockedChange* blocked = FindBlocked(planned_, goal, lost->kind());
      Leave(goal, blocked == nullptr
                      ? absl::StrCat("the plan has no step for what apply ",
                                     lost->apply_id(),
                                     " set: ", SettingText(lost->to()))
                      : absl::StrCat("the plan blocks \"", blocked->what(),
                                     "\": ", blocked->reason(), "; ",
                                     blocked->fix()));
    }
  }

  const HostPlan& planned_;
  const absl::Span<const std::string> enforced_;
  // Drift by goal, except what a step or a line already covers.
  std::map<FactKey, const AppliedDrift*> lost_;
  std::vector<const PlanStep*> chosen_;  // In plan order.
  std::vector<std::string> left_;
};

}  // namespace

DriftFact FindAppliedDrift(absl::Span<const EndedApply> applies,
                           const HostFacts& facts) {
  DriftFact fact;
  if (facts.has_missing()) {
    *fact.mutable_missing() = facts.missing();
    return fact;
  }
  const SettingFacts ready(facts);
  std::vector<std::pair<Claim, StepVerdict>> lost;
  for (const Claim& claim : ClaimsOf(applies)) {
    StepVerdict verdict = JudgeStep(*claim.step, ready);
    if (verdict.state == StepVerdict::kSo) continue;
    lost.emplace_back(claim, std::move(verdict));
  }
  // Rules of firewalls come last: thousands of them drift together, and must
  // not displace others.
  absl::c_stable_sort(lost, [](const auto& a, const auto& b) {
    return std::make_pair(a.second.state, a.first.step->target().has_rule()) <
           std::make_pair(b.second.state, b.first.step->target().has_rule());
  });
  DriftFact::Drifts* drifts = fact.mutable_value();
  for (const auto& [claim, verdict] : lost) {
    if (drifts->drifts_size() + drifts->unknown_size() == kMaxAppliedDrifts) {
      drifts->set_left_out(drifts->left_out() + 1);
    } else {
      *(verdict.state == StepVerdict::kMoved ? drifts->add_drifts()
                                             : drifts->add_unknown()) =
          DriftOf(claim, verdict);
    }
  }
  return fact;
}

std::vector<LaterClaim> FindLaterClaims(const EndedApply& apply,
                                        absl::Span<const EndedApply> applies) {
  TakenGoals set;
  for (const PlanStep& step : apply.begin.plan().steps()) set.Add(step);
  const std::string space =
      apply.begin.plan().network_namespace().SerializeAsString();
  std::vector<LaterClaim> found;
  for (const EndedApply& each : applies) {
    if (!IsLater(each.begin, apply.begin) || IsEnforced(each) ||
        each.end.outcome() != ApplyResult::APPLIED ||
        each.begin.plan().network_namespace().SerializeAsString() != space) {
      continue;
    }
    for (const PlanStep* step : StepsInEffect(each)) {
      FactKey goal = GoalOf(*step);
      if (!set.Has(goal)) continue;
      found.push_back(
          {each.begin.apply_id(), each.begin.actor(), std::move(goal)});
      break;
    }
  }
  return found;
}

DriftRepair PlanDriftRepair(const HostPlan& planned,
                            const DriftFact::Drifts& drifts,
                            absl::Span<const std::string> enforced) {
  return Repair(planned, drifts, enforced).Make();
}

bool HasEnforcedDrift(const DriftFact& drift,
                      absl::Span<const std::string> enforced) {
  return absl::c_any_of(drift.value().drifts(), [&](const AppliedDrift& each) {
    return absl::c_linear_search(enforced, each.kind());
  });
}

}  // namespace clusterd
