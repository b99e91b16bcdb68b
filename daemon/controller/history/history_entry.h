// The history's one-line entry of a run: actor, time, outcome and summary.
//   check     pass | warn | unknown | fail
//             "1152 hosts; 2 failed, 28 passed, 1 skipped of 31 rules"
//             of a job: "job slurm:1234.0: 16 hosts; …"
//   plan      empty | changes | blocked (something is, and no steps exist)
//             "1152 hosts, 12 with 40 steps, 3 blocked on 1 host"
//   apply,    running | succeeded | stopped | cancelled | interrupted; an
//   rollback  apply's later state: confirmed | not confirmed everywhere |
//             rolled back | partly rolled back
//             "1152 hosts; 32 applied, 1 undone, 1119 not started"
//             "2 hosts; 2 applied; to be confirmed"
// Pure. The detail moves into the record.
#ifndef DAEMON_CONTROLLER_HISTORY_HISTORY_ENTRY_H_
#define DAEMON_CONTROLLER_HISTORY_HISTORY_ENTRY_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "config/words/words.h"
#include "proto/controller.pb.h"

namespace clusterd {

// "check", "plan", "apply" or "rollback"; "kind 17" for an unknown kind.
FindingValue HistoryKindName(HistoryKind kind);

// "succeeded", "cancelled" and so on: the outcome's name as a word;
// "interrupted" for none.
std::string RunOutcomeName(const ApplyReport& report);

// "31 applied, 1 undone" of the report's hosts from `begin` up to `end`.
FindingValue HostCounts(const ApplyReport& report, size_t begin, size_t end);

HistoryRecord RecordOfCheck(Report report, const std::string& actor);

// Actor, id and time are the plan's. `elapsed_ms`: of planning.
HistoryRecord RecordOfPlan(ClusterPlan plan, uint64_t elapsed_ms);

// Also for rollbacks.
HistoryRecord RecordOfApply(ApplyReport report);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HISTORY_HISTORY_ENTRY_H_
