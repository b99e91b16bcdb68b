// The result of an apply or a rollback for people, folded over hosts that ended
// the same, failures last:
//
//   Cluster demo, apply 3fa2c4d5e6f70812 of plan 9c41d2e3f4051627 by ann
//
//   Hosts
//     √ applied      node[01-10]  2 steps
//     - not started  node[13-20]  wave 1 failed
//     × undone       node12       step 2: /etc/sysctl.d: Read-only file system
//       residue  net.core.somaxconn is 128, was 4096: ...
//
//   Waves
//     1 of 2  node[01-12]  10 applied, 1 undone
//     2 of 2  node[13-20]  not started
//
//   STOPPED: 10 applied, 8 not started, 1 undone of 19 hosts in 12 s
//   rolls back at … UTC; to keep it, run: clusterctl confirm 3fa2c4d5e6f70812
//   to roll back, run: clusterctl rollback 3fa2c4d5e6f70812
//
// The verdict of a report is never better than those of its hosts.
#ifndef CLIENT_PRINT_APPLY_TABLE_H_
#define CLIENT_PRINT_APPLY_TABLE_H_

#include <ostream>
#include <string>

#include "config/change/host_state.h"
#include "config/words/terminal.h"
#include "proto/controller.pb.h"
#include "proto/finding.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

// "applied", "undone with residues", "no answer yet", or "outcome 17".
std::string OutcomeWord(ApplyResult::Outcome outcome);

// "done", "already in place", "failed", "undone", "not run".
std::string StepWord(StepOutcome::State state);

//   FAIL     a host ended badly or was not begun, or the run stopped
//   UNKNOWN  a host is lost or has no end; or the run is under way, cancelled,
//            interrupted, has no host, or has a schema that we do not know
//   PASS     otherwise
State SupportedVerdict(const ApplyReport& report);

// "SUCCEEDED", "STOPPED", "CANCELLED", "INTERRUPTED", "RUNNING", or an apply's
// later state: "CONFIRMED", "ROLLED BACK". "SUCCEEDED" needs the verdict PASS.
std::string RunWord(const ApplyReport& report);

// True if `clusterctl rollback` may have something to undo; not while it runs.
bool LeftChanges(const ApplyReport& report);

// The state of an apply with automatic rollback; empty for a permanent one:
//   "rolls back at 2026-11-27 … UTC; to keep it, run: clusterctl confirm 3fa2…"
//   "… unless its check passes first; waits for node07 to attach again"
//   "confirmed by ann; not yet notified: node07"
//   "rolls back automatically: not confirmed by … UTC"; "rolled" if `is_back`
// Not made safe for a terminal.
std::string ConfirmationText(const Confirmation& confirmation,
                             const std::string& apply_id, bool is_back = false);

// Makes every text of the report safe for a terminal. `rollback_hint`: adds the
// command that rolls it back.
void PrintApplyTable(const ApplyReport& report, const Style& style,
                     std::ostream& out, bool rollback_hint = true);

// "demo: apply 3fa2c4d5e6f70812 STOPPED: 10 applied, 1 undone of 11 hosts in
// 12 s", without line end; safe for a terminal of UTF-8.
std::string ApplyShort(const ApplyReport& report);

// "wave 2 of 3 begins: node[03-34]", "wave 2 of 3 ended: 31 applied, 1 undone".
// Not made safe for a terminal.
std::string WaveText(const ApplyWave& wave);

// "cancelled by ann in wave 1 of 3: 2 hosts finish what is under way, 4 hosts
// are not started". Not made safe for a terminal.
std::string CancelText(const CancelResponse& cancelled);

// "apply 3fa2… of ann: aborted by bob; the controller no longer waits for
// node[01-02], where what began is finished or undone; 4 hosts are not
// started". Not made safe for a terminal.
std::string AbortText(const AbortApplyResponse& aborted);

// The line of one host that has just ended, without line end:
//   √ applied  node01  2 steps (1.2 s)
std::string HostEndLine(const ApplyResult& result, bool rollback,
                        const Style& style);

}  // namespace clusterd

#endif  // CLIENT_PRINT_APPLY_TABLE_H_
