// Drift: what applies on a host brought about and is not so any more. Pure:
// journals and facts in, one fact out.
//
//   the value is as the apply left it, or better      nothing
//   it is another                                     drift, with both values
//   it cannot be read now                             untold, with its name
//   a later apply, not taken back, set the same thing the later one decides
//   the apply was undone or rolled back               nothing
//   the apply was for another network namespace       nothing: that may be gone
#ifndef CONFIG_PLAN_APPLIED_DRIFT_H_
#define CONFIG_PLAN_APPLIED_DRIFT_H_

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

// Texts are cut where they get long, and goals of one step after 1024.
// `applies` of one host, newest last. Newest apply first, its steps in order;
// one entry for each step of which anything drifted, and one for each of which
// anything is untold. Missing, with the facts' own reason, when nothing is
// known about the host.
DriftFact FindAppliedDrift(absl::Span<const EndedApply> applies,
                           const HostFacts& facts);

}  // namespace clusterd

#endif  // CONFIG_PLAN_APPLIED_DRIFT_H_
