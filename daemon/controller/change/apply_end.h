// How a host's answer is read, what it means for its apply or rollback, and
// what a report says once the run is over; and which rules a plan's steps
// touch, and whether a check of them says that it came out as it was meant.
// Pure.
#ifndef DAEMON_CONTROLLER_CHANGE_APPLY_END_H_
#define DAEMON_CONTROLLER_CHANGE_APPLY_END_H_

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "config/plan/waves.h"
#include "config/words/message.h"
#include "daemon/controller/change/change_order.h"
#include "proto/agent_hub.pb.h"
#include "proto/finding.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// How much later than agreed a host may still say that it went back, or that it
// began.
inline constexpr absl::Duration kRevertGrace = absl::Seconds(15);

// Whether a result that comes late says how the run ended on its host. An apply
// that is still applied says nothing about its rollback.
bool SettlesHost(bool rollback, const ApplyResult& result);

// Whether a rollback has taken the host back, as far as it could.
bool IsTakenBack(ApplyResult::Outcome outcome);

// Whether the host ended as it should.
bool IsGoodOutcome(bool rollback, ApplyResult::Outcome outcome);

// That nobody knows what came of it there. `head`, here and below: the run's
// report as it was ordered.
ApplyResult LostResult(const ApplyReport& head, const std::string& host,
                       const FindingValue& why);

// What a host says of itself, as it is reported. `plan`: null if not known.
ApplyResult AsReported(const ApplyReport& head, const ApplyOrder::Host& host,
                       const ClusterPlan* plan, ApplyResult told);

// What the host says is not believed blindly: an answer about something else,
// or one that no such task has, leaves open what has become of the host, and
// that is LOST.
ApplyResult ResultOfAnswer(const ApplyReport& head,
                           const ApplyOrder::Host& host,
                           const ClusterPlan* plan,
                           absl::StatusOr<TaskResult> answer);

// Says why, by the outcome of the run, to each host whose wave never came;
// returns how many there are.
int ExplainNotStarted(ApplyReport* report);

// Notes that somebody cancelled the run while that wave (from 0) was under way.
void NoteCancellation(size_t wave, const Waves& waves, ApplyReport* report);

// Of an apply that goes back by itself: takes in when one host does, which has
// just told and was asked at that time; and, once the run is over, whether
// anything is left to confirm and by whom. What did not end well nobody
// confirms but a person. The host's word counts as far as it fits what was
// agreed: it began after it was asked, and has had its answer on the way for
// kRevertGrace at most. The result is corrected so.
void NoteReverts(absl::Time asked, absl::Time now, ApplyResult* result,
                 ApplyReport* report);
void CloseConfirmation(absl::Time now, ApplyReport* report);

// "rollback 4f09c2d1 of alice", and what came of its confirmation.
FindingValue ChangeWords(const ApplyReport& head);
inline std::string ChangeText(const ApplyReport& head) {
  return ValueText(ChangeWords(head));
}
std::string EndOfConfirmation(const Confirmation& over);
// Takes hosts that have nothing of the apply any more out of its `untold`.
void ForgetUntold(ApplyReport* report);

// The words, or text, of why the host did not end well.
FindingValue ErrorWords(const ApplyResult& result);
inline std::string ErrorText(const ApplyResult& result) {
  return ValueText(ErrorWords(result));
}

// Drops the note that holds until the last of its hosts is rolled back.
void DropKeptNote(ApplyReport* report);

// Gives the report its outcome, and notes what is as it was and what is not.
// `wave`: the last one that began, from 0.
void CloseReport(ApplyReport::Outcome outcome, size_t wave, const Waves& waves,
                 absl::Time now, ApplyReport* report);

// Rules that a setting of the plan mends. None: all rules count.
RuleSelection TouchedRules(const ClusterPlan& plan);

// What the check finds on these hosts and the plan did not leave on them by
// intent (HostPlan.unfixed), or not as bad as it is now: "firewall on node07
// (fail), and 3 more"; "no facts of node07". Empty: the change came out as it
// was meant. Nothing that could not be told is fine.
FindingValue WhatIsWrong(const ClusterPlan& plan,
                         const std::set<std::string>& hosts,
                         const Report& check);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CHANGE_APPLY_END_H_
