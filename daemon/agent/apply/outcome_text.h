// What came of a step or an apply, as text for people. It quotes programs and
// files of this host, so it may be of any length and in any encoding, and a
// message with a text that is not UTF-8 can be written but not read: a journal
// would be damaged by it, and a controller would end the stream at every
// attach.
#ifndef DAEMON_AGENT_APPLY_OUTCOME_TEXT_H_
#define DAEMON_AGENT_APPLY_OUTCOME_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/plan.pb.h"

namespace clusterd {

// A controller takes no text over 16 KiB.
inline constexpr size_t kMaxOutcomeTextBytes = 2048;

// Printable ASCII, at most about four times kMaxOutcomeTextBytes: other bytes
// as \n, \t or \xNN; cut after kMaxOutcomeTextBytes of input, then ended with
// "...".
std::string OutcomeText(absl::string_view text);

// "what: message", with the code of `status`.
absl::Status InFront(absl::string_view what, const absl::Status& status);

// The detail, as OutcomeText.
void CleanTexts(StepOutcome* outcome);

// The error, residues, forced and details, as OutcomeText. Not the facts, which
// a rollback compares.
void CleanTexts(ApplyResult* result);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_OUTCOME_TEXT_H_
