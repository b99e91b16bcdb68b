#include "config/plan/drift_repair.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/plan/named_facts.h"
#include "config/plan/step_goals.h"
#include "config/plan/sysctl_file.h"
#include "config/spec/change_kind.h"
#include "config/spec/port_set.h"

namespace clusterd {
namespace {

bool IsEnforced(absl::string_view kind, absl::Span<const std::string> kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// One target that drifted, and what its apply had set.
struct Lost {
  std::string to;
  std::string apply_id;
  std::string kind;
};
using LostTargets = std::map<std::string, Lost>;

// Whether the step, which has this one goal, sets what was applied.
bool Restores(const PlanStep& part, const AppliedDrift::Goal& goal,
              const std::string& applied) {
  if (goal.to() == applied) return true;
  const bool running = part.sysctl().key() == kReservedPortsKey;
  if (!running && goal.target() != AtBootFactName(kReservedPortsKey)) {
    return false;
  }
  const auto to = PortSet::Parse(goal.to());
  auto wanted = PortSet::Parse(applied);
  if (!to.ok() || !wanted.ok()) return false;
  if (!running) return to->Contains(*wanted);
  const auto from = PortSet::Parse(part.sysctl().from());
  if (!from.ok()) return false;
  wanted->Add(*from);
  return to->ToString() == wanted->ToString();
}

// The step reduced to these parts of it; nullopt: none are left.
std::optional<PlanStep> Joined(const PlanStep& step,
                               const std::vector<PlanStep>& parts) {
  if (parts.empty()) return std::nullopt;
  PlanStep joined = parts.front();
  for (size_t i = 1; i < parts.size(); ++i) {
    if (step.has_sysctl_file()) {
      *joined.mutable_sysctl_file()->add_settings() =
          parts[i].sysctl_file().settings(0);
    } else if (step.has_firewall_open()) {
      *joined.mutable_firewall_open()->add_ports() =
          parts[i].firewall_open().ports(0);
    } else if (step.has_hccn_conf_repair()) {
      *joined.mutable_hccn_conf_repair()->add_problems() =
          parts[i].hccn_conf_repair().problems(0);
    }
  }
  return joined;
}

class Repair {
 public:
  Repair(const HostPlan& planned, const DriftFact::Drifts& drifts,
         absl::Span<const std::string> enforced)
      : planned_(planned), enforced_(enforced) {
    for (const AppliedDrift& drift : drifts.drifts()) {
      if (!IsEnforced(drift.kind(), enforced)) continue;
      for (const AppliedDrift::Goal& goal : drift.goals()) {
        lost_.emplace(goal.target(),
                      Lost{goal.to(), drift.apply_id(), drift.kind()});
      }
    }
  }

  DriftRepair Make() &&;

 private:
  void Choose(const PlanStep& step);
  void DropAddressesThatLoseMore();
  void KeepGatewaysThatAreDropped();
  void NameWhatHasNoStep();
  void Leave(const std::string& target, absl::string_view why) {
    left_.push_back(absl::StrCat(target, ": ", why));
  }

  const HostPlan& planned_;
  const absl::Span<const std::string> enforced_;
  LostTargets lost_;
  std::set<std::string> told_;  // Targets that a step, or a line, answers.
  std::map<uint32_t, PlanStep> chosen_;  // By their number in the plan.
  std::vector<std::string> left_;
};

void Repair::Choose(const PlanStep& step) {
  std::vector<PlanStep> parts;
  for (const PlanStep& part : SplitByGoal(step)) {
    const AppliedDrift::Goal goal = GoalsOf(part).front();
    const auto lost = lost_.find(goal.target());
    if (lost == lost_.end()) continue;
    told_.insert(goal.target());
    const std::string kind = ChangeKindName(step.kind());
    if (!IsEnforced(kind, enforced_)) {
      Leave(goal.target(), absl::StrCat("putting it back is a change of kind ",
                                        kind, ", which is not enforced"));
    } else if (!Restores(part, goal, lost->second.to)) {
      Leave(goal.target(),
            absl::StrCat("the spec asks for ", goal.to(), " now, apply ",
                         lost->second.apply_id, " set ", lost->second.to));
    } else {
      parts.push_back(part);
    }
  }
  const std::optional<PlanStep> joined = Joined(step, parts);
  if (joined) chosen_.emplace(step.id(), *joined);
}

void Repair::KeepGatewaysThatAreDropped() {
  for (const PlanStep& step : planned_.steps()) {
    if (!step.gateway().put_back()) continue;
    for (const auto& [id, chosen] : chosen_) {
      if (chosen.device_address().dropped().empty() ||
          chosen.device_address().device() != step.gateway().device()) {
        continue;
      }
      chosen_.emplace(step.id(), step);
      break;
    }
  }
}

void Repair::DropAddressesThatLoseMore() {
  for (auto each = chosen_.begin(); each != chosen_.end();) {
    const DeviceAddressChange& change = each->second.device_address();
    const bool loses = std::any_of(
        change.dropped().begin(), change.dropped().end(),
        [&](const HccnConf::Entry& entry) {
          if (entry.key() != "gateway") return true;
          return std::none_of(
              chosen_.begin(), chosen_.end(), [&](const auto& other) {
                return other.second.has_gateway() &&
                       other.second.gateway().device() == change.device();
              });
        });
    if (!loses) {
      ++each;
      continue;
    }
    Leave(DeviceFactName(change.device(), "address"),
          "putting it back would drop a gateway or route that is set now");
    each = chosen_.erase(each);
  }
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
    const BlockedChange* blocked = FindBlocked(planned_, target, lost.kind);
    if (blocked != nullptr) {
      Leave(target, absl::StrCat("the plan blocks \"", blocked->what(), "\": ",
                                 blocked->reason(), "; ", blocked->fix()));
      continue;
    }
    Leave(target, absl::StrCat("the plan has no step for what apply ",
                               lost.apply_id, " set: ", lost.to));
  }
}

DriftRepair Repair::Make() && {
  for (const PlanStep& step : planned_.steps()) Choose(step);
  KeepGatewaysThatAreDropped();
  DropAddressesThatLoseMore();
  // A gateway is put back only with the address that dropped it.
  for (auto each = chosen_.begin(); each != chosen_.end();) {
    const GatewayChange& gateway = each->second.gateway();
    const bool alone =
        gateway.put_back() &&
        std::none_of(chosen_.begin(), chosen_.end(), [&](const auto& other) {
          return other.second.has_device_address() &&
                 other.second.device_address().device() == gateway.device();
        });
    each = alone ? chosen_.erase(each) : std::next(each);
  }
  NameWhatHasNoStep();
  DriftRepair repair;
  repair.plan = planned_;
  repair.plan.clear_steps();
  repair.plan.clear_blocked();
  for (auto& [id, step] : chosen_) {
    PlanStep* added = repair.plan.add_steps();
    *added = std::move(step);
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
                       return IsEnforced(each.kind(), enforced);
                     });
}

}  // namespace clusterd
