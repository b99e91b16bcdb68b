// Reads a host's answer to an apply or rollback, and closes the run's report.
// Also finds the rules that a plan's steps affect, and whether a check of them
// passes as planned. Pure.
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

// A host may report this much later than agreed that it began or reverted.
inline constexpr absl::Duration kRevertGrace = absl::Seconds(15);

// True if a late result says how the run ended on its host. A host that is
// still applied says nothing about its rollback.
bool SettlesHost(bool rollback, const ApplyResult& result);

// True if a rollback has restored the host, as far as it could.
bool IsTakenBack(ApplyResult::Outcome outcome);

// True if the host ended as intended.
bool IsGoodOutcome(bool rollback, ApplyResult::Outcome outcome);

// A LOST result: the outcome on the host is unknown. In this file, `head` is
// the run's report as it was ordered.
ApplyResult LostResult(const ApplyReport& head, const std::string& host,
                       const FindingValue& why);

// Converts a host's own result for the report. `plan`: null if not known.
ApplyResult AsReported(const ApplyReport& head, const ApplyOrder::Host& host,
                       const ClusterPlan* plan, ApplyResult reported);

// Checks a host's answer. An answer about another apply, or one that does not
// fit the task, leaves the host's state unknown, which is LOST.
ApplyResult ResultOfAnswer(const ApplyReport& head,
                           const ApplyOrder::Host& host,
                           const ClusterPlan* plan,
                           absl::StatusOr<TaskResult> answer);

// Sets the reason, by the run's outcome, on each host whose wave never began;
// returns how many there are.
int ExplainNotStarted(ApplyReport* report);

// Notes that a user cancelled the run during this wave (from 0).
void NoteCancellation(size_t wave, const Waves& waves, ApplyReport* report);

// For an apply with automatic rollback. NoteReverts records the deadline that a
// host reports and when it was asked. It corrects `result` if the host's claim
// exceeds the agreement: it began after it was asked, and answered within
// kRevertGrace. CloseConfirmation runs after the run and decides if it needs a
// confirmation; after a failure only a person may confirm.
void NoteReverts(absl::Time asked, absl::Time now, ApplyResult* result,
                 ApplyReport* report);
void CloseConfirmation(absl::Time now, ApplyReport* report);

// "rollback 4f09c2d1 of alice", and how its confirmation ended.
FindingValue ChangeWords(const ApplyReport& head);
inline std::string ChangeText(const ApplyReport& head) {
  return ValueText(ChangeWords(head));
}
std::string EndOfConfirmation(const Confirmation& over);
// Removes hosts from its `pending` that the apply no longer affects.
void ForgetPendingHosts(ApplyReport* report);

// Why the host failed, as words or as text.
FindingValue ErrorWords(const ApplyResult& result);
inline std::string ErrorText(const ApplyResult& result) {
  return ValueText(ErrorWords(result));
}

// Drops the kept note. Call it once all of its hosts are rolled back.
void DropKeptNote(ApplyReport* report);

// Sets the report's outcome, and notes which hosts are unchanged and which are
// not. `wave`: the last wave that began, from 0.
void CloseReport(ApplyReport::Outcome outcome, size_t wave, const Waves& waves,
                 absl::Time now, ApplyReport* report);

// The rules that the plan's settings fix; if there are none, all rules.
RuleSelection TouchedRules(const ClusterPlan& plan);

// Findings on these hosts that are worse than the plan expects
// (HostPlan.unfixed): "firewall on node07 (fail), and 3 more"; "no facts of
// node07". Empty if all is as planned. A missing fact is never fine.
FindingValue WhatIsWrong(const ClusterPlan& plan,
                         const std::set<std::string>& hosts,
                         const Report& check);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CHANGE_APPLY_END_H_
