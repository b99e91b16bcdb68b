// What an apply or a rollback really came to. A report is never read as better
// than what its hosts say, whatever its outcome field holds.
#ifndef CLIENT_PRINT_APPLY_VERDICT_H_
#define CLIENT_PRINT_APPLY_VERDICT_H_

#include <string>

#include "proto/finding.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// How good the end of one host is:
//   outcome                    | apply   | rollback
//   APPLIED                    | PASS    | FAIL
//   ROLLED_BACK                | SKIPPED | PASS
//   NOTHING_TO_DO              | PASS    | PASS
//   NOT_STARTED                | SKIPPED | SKIPPED
//   LOST, none yet, not known  | UNKNOWN | UNKNOWN
//   all else                   | FAIL    | FAIL
// A later rollback makes ROLLED_BACK of what was APPLIED.
State HostEnd(ApplyResult::Outcome outcome, bool rollback);

// "applied", "undone, with residues", "no answer yet"; "outcome 17" for one
// that this program does not know.
std::string OutcomeWord(ApplyResult::Outcome outcome);

// "done", "was so already", "failed", "undone", "not run".
std::string StepWord(StepOutcome::State state);

//   FAIL     a host ended badly or was not begun, or the run stopped
//   UNKNOWN  else a host is lost or has no end, the run is under way or was
//            interrupted, it has no host, or the schema is one that we do not
//            know
//   PASS     otherwise
State SupportedVerdict(const ApplyReport& report);

// "SUCCEEDED", "STOPPED", "INTERRUPTED", "RUNNING"; never "SUCCEEDED" for a
// report whose verdict is not PASS.
std::string RunWord(const ApplyReport& report);

// Whether the host may hold what this apply set, so that a rollback asks it:
// applied, lost, without an end, or taken back but for residues: once more may
// help.
bool MayHold(ApplyResult::Outcome outcome);

// Whether `clusterctl rollback` may have something to take back. Not of a run
// that is under way: a rollback of it would be refused.
bool LeftChanges(const ApplyReport& report);

}  // namespace clusterd

#endif  // CLIENT_PRINT_APPLY_VERDICT_H_
