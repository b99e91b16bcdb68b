// The state of a change, an apply or a rollback, on one of its hosts, with the
// events that move it; and what each outcome that a host reports means.
#ifndef CONFIG_CHANGE_HOST_STATE_H_
#define CONFIG_CHANGE_HOST_STATE_H_

#include <optional>

#include "config/words/words.h"
#include "proto/finding.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

enum class HostEvent {
  kAsked,      // Its wave begins.
  kNotAsked,   // The wave could not be saved, so no host was asked.
  kGivenUp,    // The run no longer waits for its result.
  kNoneThere,  // It knows all of its journals, and none is of this change.
  kRefused,    // It refused, or the task was never sent.
  kUndone,     // The apply failed there, and is undone.
  kApplied,    // It has the change, and reports no deadline.
  kHolds,      // It has the change, and reverts it unless it is confirmed.
  kKept,       // It was notified that the change stays.
  kDue,        // Its deadline has passed, or the apply is rolled back.
  kTakenBack,  // It has rolled the change back, or has reverted it.
};

struct HostTransition {
  HostEvent event;
  HostState to;
  HostState from[8];
};

// All transitions; any other event changes nothing. The states are ordered:
// only a wave that was not asked returns a host to an earlier one. So the state
// does not depend on the order in which a host's reports arrive, or on how
// often.
inline constexpr HostTransition kHostTransitions[] = {
    {HostEvent::kAsked, HOST_RUNNING, {HOST_WAITING}},
    {HostEvent::kNotAsked, HOST_WAITING, {HOST_RUNNING}},
    {HostEvent::kGivenUp, HOST_LOST, {HOST_RUNNING}},
    {HostEvent::kNoneThere, HOST_REFUSED, {HOST_LOST}},
    {HostEvent::kRefused, HOST_REFUSED, {HOST_RUNNING, HOST_LOST}},
    {HostEvent::kApplied,
     HOST_APPLIED,
     {HOST_RUNNING, HOST_LOST, HOST_REFUSED}},
    {HostEvent::kHolds,
     HOST_CONFIRM_PENDING,
     {HOST_RUNNING, HOST_LOST, HOST_REFUSED, HOST_APPLIED}},
    {HostEvent::kDue, HOST_REVERTING, {HOST_CONFIRM_PENDING}},
    {HostEvent::kKept, HOST_CONFIRMED, {HOST_CONFIRM_PENDING, HOST_REVERTING}},
    // From REVERTED: a further attempt may have removed residues.
    {HostEvent::kUndone,
     HOST_REVERTED,
     {HOST_RUNNING, HOST_LOST, HOST_REFUSED, HOST_REVERTED}},
    {HostEvent::kTakenBack,
     HOST_REVERTED,
     {HOST_RUNNING, HOST_LOST, HOST_REFUSED, HOST_APPLIED, HOST_CONFIRM_PENDING,
      HOST_REVERTING, HOST_CONFIRMED, HOST_REVERTED}},
};

// HOST_STATE_UNSPECIFIED: the event changes nothing.
HostState NextState(HostState from, HostEvent event);

// State of one host's end, as a table in host_state.cc; UNKNOWN for an outcome
// of a newer version. PASS: it ended as intended.
State HostEnd(ApplyResult::Outcome outcome, bool rollback);

// True if the host may have changes of this apply, so that a rollback asks it:
// applied, lost, without an end, or undone with residues.
bool MayHold(ApplyResult::Outcome outcome);

// How well a change was undone or rolled back; 0: it was not.
int TakenBack(ApplyResult::Outcome outcome);

// The name of the outcome's words; null for one of a newer version.
const char* OutcomeWordsName(ApplyResult::Outcome outcome);
// "rolled back with residues"; "without result" for an unset or unknown one.
FindingValue OutcomeWords(ApplyResult::Outcome outcome);

// The event that a result, reported or answered by a host, means for an apply
// or rollback; nothing if it does not say how that ended. A host that is still
// applied says nothing about its rollback.
std::optional<HostEvent> EventOf(bool rollback, const ApplyResult& result);

// Why the host failed.
FindingValue ErrorWords(const ApplyResult& result);
inline std::string ErrorText(const ApplyResult& result) {
  return ValueText(ErrorWords(result));
}

}  // namespace clusterd

#endif  // CONFIG_CHANGE_HOST_STATE_H_
