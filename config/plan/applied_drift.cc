#include "config/plan/applied_drift.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/plan/plan_text.h"
#include "config/plan/step_check.h"
#include "config/plan/step_goals.h"
#include "config/spec/change_kind.h"

namespace clusterd {
namespace {

// A step may open ports to thousands of hosts. A controller takes no text over
// 16 KiB and no list over 8192, and would end the stream of a host that sent
// one.
constexpr size_t kMaxTextBytes = 512;
constexpr int kMaxGoals = 1024;

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

// One goal of a step that still counts.
struct Claim {
  const EndedApply* apply;
  const PlanStep* step;
  AppliedDrift::Goal goal;
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
    for (const AppliedDrift::Goal& goal : GoalsOf(step)) {
      if (targets.Has(goal.target())) return goal.target();
    }
  }
  return std::nullopt;
}

// What the applies still claim, and the step of each claim alone.
struct Claims {
  std::vector<Claim> claims;
  std::vector<PlanStep> steps;

  // `asked_for`: what applies of people claim.
  void AddApply(const EndedApply& apply, const TakenTargets& asked_for,
                TakenTargets* taken);
};

void Claims::AddApply(const EndedApply& apply, const TakenTargets& asked_for,
                      TakenTargets* taken) {
  const bool enforced = IsEnforced(apply);
  const std::set<uint32_t> in_effect = StepsInEffect(apply.end);
  const auto& all = apply.begin.plan().steps();
  // The last step first, so that it takes over from earlier ones; then turned
  // round for the reader.
  std::vector<Claim> added;
  std::vector<PlanStep> parts_added;
  for (auto step = all.rbegin(); step != all.rend(); ++step) {
    if (in_effect.count(step->id()) == 0) continue;
    std::vector<PlanStep> parts = SplitByGoal(*step);
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      const AppliedDrift::Goal goal = GoalsOf(*part).front();
      if (taken->Has(goal.target())) continue;
      if (enforced && !asked_for.Has(goal.target())) continue;
      added.push_back({&apply, &*step, goal});
      parts_added.push_back(std::move(*part));
    }
    taken->Add(*step);
  }
  claims.insert(claims.end(), added.rbegin(), added.rend());
  steps.insert(steps.end(), parts_added.rbegin(), parts_added.rend());
}

// The entry of a claim's step: the last one of the list, or a new one; nullptr
// if the lists are full.
AppliedDrift* EntryOf(const Claim& claim, DriftFact::Drifts* drifts,
                      google::protobuf::RepeatedPtrField<AppliedDrift>* list) {
  const std::string& apply_id = claim.apply->begin.apply_id();
  if (!list->empty()) {
    AppliedDrift* last = list->Mutable(list->size() - 1);
    if (last->apply_id() == apply_id && last->step() == claim.step->id()) {
      return last;
    }
  }
  if (drifts->drifts_size() + drifts->untold_size() >= kMaxAppliedDrifts) {
    return nullptr;
  }
  AppliedDrift* entry = list->Add();
  entry->set_apply_id(apply_id);
  entry->set_step(claim.step->id());
  entry->set_kind(ChangeKindName(claim.step->kind()));
  entry->set_change(Shortened(StepText(*claim.step)));
  for (const uint32_t device : DevicesOf(*claim.step)) {
    entry->add_devices(device);
  }
  entry->set_applied_by(claim.apply->begin.actor());
  entry->set_applied_at_ms(claim.apply->begin.started_at_ms());
  return entry;
}

// Enters the claims of one verdict in a list of `drifts`.
void AddEntries(const Claims& claimed, const std::vector<StepVerdict>& verdicts,
                StepVerdict::State state,
                google::protobuf::RepeatedPtrField<AppliedDrift>* list,
                DriftFact::Drifts* drifts) {
  for (size_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i].state != state) continue;
    AppliedDrift* entry = EntryOf(claimed.claims[i], drifts, list);
    if (entry == nullptr) {
      drifts->set_left_out(drifts->left_out() + 1);
      continue;
    }
    if (entry->goals_size() < kMaxGoals) {
      AppliedDrift::Goal* const goal = entry->add_goals();
      *goal = claimed.claims[i].goal;
      goal->set_to(Shortened(goal->to(), kMaxGoalBytes));
    }
    // What is true of a whole step, such as a stopped firewall, is said once.
    const bool said = i > 0 && verdicts[i - 1].state == state &&
                      verdicts[i - 1].why == verdicts[i].why &&
                      claimed.claims[i - 1].step == claimed.claims[i].step;
    if (said || entry->why().size() > kMaxTextBytes) continue;
    entry->set_why(Shortened(absl::StrCat(
        entry->why(), entry->why().empty() ? "" : "; ", verdicts[i].why)));
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
  Claims claimed;
  TakenTargets taken;
  for (auto apply = applies.rbegin(); apply != applies.rend(); ++apply) {
    if (Counts(*apply)) claimed.AddApply(*apply, asked_for, &taken);
  }
  const std::vector<StepVerdict> verdicts = JudgeSteps(claimed.steps, facts);
  DriftFact::Drifts* drifts = fact.mutable_value();
  AddEntries(claimed, verdicts, StepVerdict::kMoved, drifts->mutable_drifts(),
             drifts);
  AddEntries(claimed, verdicts, StepVerdict::kUntold, drifts->mutable_untold(),
             drifts);
  return fact;
}

std::vector<LaterClaim> FindLaterClaims(const EndedApply& apply,
                                        absl::Span<const EndedApply> applies) {
  TakenTargets set;
  for (const PlanStep& step : apply.begin.plan().steps()) set.Add(step);
  const std::string place =
      apply.begin.plan().network_namespace().SerializeAsString();
  std::vector<LaterClaim> found;
  for (const EndedApply& each : applies) {
    if (each.begin.started_at_ms() <= apply.begin.started_at_ms() ||
        IsEnforced(each) || each.end.outcome() != ApplyResult::APPLIED ||
        each.begin.plan().network_namespace().SerializeAsString() != place) {
      continue;
    }
    if (const auto target = FirstSetOf(each, set)) {
      found.push_back({each.begin.apply_id(), each.begin.actor(), *target});
    }
  }
  return found;
}

}  // namespace clusterd
