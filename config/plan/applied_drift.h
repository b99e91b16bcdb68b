// Drift: settings that applies made on a host and that no longer hold. Pure:
// journals and facts in, one fact out.
//
//   the value is as the apply left it, or better      nothing
//   it differs                                        drift, with both values
//   it cannot be read now                             unknown, with its name
//   a later apply, not taken back, set the same thing the later one decides
//   an enforced apply alone set it                    nothing: it ends with the
//                                                     apply that it repairs
//   the apply was undone or rolled back               nothing
//   the apply was for another network namespace       nothing: that may be gone
//
// Also the part of a host's plan that only restores what drifted. The
// controller applies it automatically where the spec says `enforce`. Pure.
#ifndef CONFIG_PLAN_APPLIED_DRIFT_H_
#define CONFIG_PLAN_APPLIED_DRIFT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// A host lists at most this many, drifted and unknown together, drifted first.
inline constexpr int kMaxAppliedDrifts = 256;

// An apply that is over: how it began, and its current state.
struct EndedApply {
  JournalBegin begin;
  ApplyResult end;
};

// True if `apply` came after `other` on the same host.
inline bool IsLater(const JournalBegin& apply, const JournalBegin& other) {
  return std::make_pair(apply.sequence(), apply.started_at_ms()) >
         std::make_pair(other.sequence(), other.started_at_ms());
}

// Finds the drift of one host's `applies`, given newest last. Lists the newest
// apply first, its steps in order, and shortens long texts. Missing, with the
// facts' own reason, when nothing is known about the host.
DriftFact FindAppliedDrift(absl::Span<const EndedApply> applies,
                           const HostFacts& facts);

// A target of `apply` that a later apply in effect also set.
struct LaterClaim {
  std::string apply_id;
  std::string actor;
  FactKey goal;
};

// Returns the first such target of each later apply in the same network
// namespace. `applies` as above, with `apply` among them. Enforced applies do
// not count: they end with the apply that they hold up.
std::vector<LaterClaim> FindLaterClaims(const EndedApply& apply,
                                        absl::Span<const EndedApply> applies);

struct DriftRepair {
  // The remaining steps of `planned`, renumbered; none: nothing to do.
  HostPlan plan;
  // Drift of an enforced kind that a person must fix, one line each, e.g.
  // "net.core.somaxconn: the spec asks for 32768 now, apply 0123 set 65535", or
  // why the plan blocks that kind, for example because of what the host allows.
  std::vector<std::string> left;
};

// `planned` is what the spec asks for now. It keeps a step only if
//   its target drifted, and the kinds of the drift and of the step are both in
//   `enforced`; and
//   it sets what that apply had set, not what the spec has become since; and
//   nothing else is lost with it: an address whose change drops a gateway or
//   route stays only if a step that stays sets that gateway again.
// The step may reserve more ports than the apply did: it keeps later ones.
DriftRepair PlanDriftRepair(const HostPlan& planned,
                            const DriftFact::Drifts& drifts,
                            absl::Span<const std::string> enforced);

// True if any drift is of an enforced kind.
bool HasEnforcedDrift(const DriftFact& drift,
                      absl::Span<const std::string> enforced);

}  // namespace clusterd

#endif  // CONFIG_PLAN_APPLIED_DRIFT_H_
