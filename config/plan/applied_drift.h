// Drift: what applies on a host brought about and is not so any more. Pure:
// journals and facts in, one fact out.
//
//   the value is as the apply left it, or better      nothing
//   it is another                                     drift, with both values
//   it cannot be read now                             untold, with its name
//   a later apply, not taken back, set the same thing the later one decides
//   an enforced apply alone set it                    nothing: it only holds up
//                                                     what an apply had set,
//                                                     and ends with that
//   the apply was undone or rolled back               nothing
//   the apply was for another network namespace       nothing: that may be gone
//
// And the part of a host's plan that puts back what drifted, and nothing else:
// what the controller may do by itself where the spec says `enforce`. Pure.
#ifndef CONFIG_PLAN_APPLIED_DRIFT_H_
#define CONFIG_PLAN_APPLIED_DRIFT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// More of them a host does not list, drifted and untold together; what drifted
// goes first.
inline constexpr int kMaxAppliedDrifts = 256;

// One journal that is over: how it began and how it stands.
struct EndedApply {
  JournalBegin begin;
  ApplyResult end;
};

// Whether `apply` came after `other` on the same host.
inline bool IsLater(const JournalBegin& apply, const JournalBegin& other) {
  return std::make_pair(apply.sequence(), apply.started_at_ms()) >
         std::make_pair(other.sequence(), other.started_at_ms());
}

// Texts are cut where they get long.
// `applies` of one host, newest last. Newest apply first, its steps in order.
// Missing, with the facts' own reason, when nothing is known about the host.
DriftFact FindAppliedDrift(absl::Span<const EndedApply> applies,
                           const HostFacts& facts);

// What somebody's later apply, not taken back, set of what `apply` set.
struct LaterClaim {
  std::string apply_id;
  std::string actor;
  std::string target;  // As GoalName has it.
};

// The first such target of each later apply. `applies` as above, with `apply`
// among them; of the same network namespace only. What is enforced does not
// count: it ends with the apply that it holds up.
std::vector<LaterClaim> FindLaterClaims(const EndedApply& apply,
                                        absl::Span<const EndedApply> applies);

struct DriftRepair {
  // `planned` with the steps that are left, numbered anew; none: nothing is to
  // be done by itself.
  HostPlan plan;
  // Drift of an enforced kind that is left to a person, one line each, e.g.
  // "net.core.somaxconn: the spec asks for 32768 now, apply 0123 set 65535", or
  // why the plan blocks that kind, such as what the host allows.
  std::vector<std::string> left;
};

// `planned` is what the spec asks for now. Of it a step stays if
//   its target drifted, and the kinds of the drift and of the step are both in
//   `enforced`; and
//   it sets what that apply had set, not what the spec has become since; and
//   nothing else is lost with it: an address whose change drops a gateway or
//   route stays only if a step that stays sets that gateway again.
// Reserved ports may be more: what others reserved meanwhile is kept.
DriftRepair PlanDriftRepair(const HostPlan& planned,
                            const DriftFact::Drifts& drifts,
                            absl::Span<const std::string> enforced);

// Whether any of it is drift of such a kind.
bool HasEnforcedDrift(const DriftFact& drift,
                      absl::Span<const std::string> enforced);

}  // namespace clusterd

#endif  // CONFIG_PLAN_APPLIED_DRIFT_H_
