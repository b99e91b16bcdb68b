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
#ifndef CONFIG_PLAN_APPLIED_DRIFT_H_
#define CONFIG_PLAN_APPLIED_DRIFT_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// The actor of what the controller begins by itself, because of `enforce`.
inline constexpr char kControllerActor[] = "clusterd-controller";

// More of them a host does not list, drifted and untold together; what drifted
// goes first.
inline constexpr int kMaxAppliedDrifts = 256;

// One journal that is over: how it began and how it stands.
struct EndedApply {
  JournalBegin begin;
  ApplyResult end;
};

// Texts are cut where they get long, and goals of one step after 1024.
// `applies` of one host, newest last. Newest apply first, its steps in order;
// one entry for each step of which anything drifted, and one for each of which
// anything is untold. Missing, with the facts' own reason, when nothing is
// known about the host.
DriftFact FindAppliedDrift(absl::Span<const EndedApply> applies,
                           const HostFacts& facts);

// What somebody's later apply, not taken back, set of what `apply` set.
struct LaterClaim {
  std::string apply_id;
  std::string actor;
  std::string target;  // As GoalsOf has it.
};

// The first such target of each later apply. `applies` as above, with `apply`
// among them; of the same network namespace only. What is enforced does not
// count: it ends with the apply that it holds up.
std::vector<LaterClaim> FindLaterClaims(const EndedApply& apply,
                                        absl::Span<const EndedApply> applies);

}  // namespace clusterd

#endif  // CONFIG_PLAN_APPLIED_DRIFT_H_
