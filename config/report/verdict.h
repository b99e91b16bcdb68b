// The verdict that a report supports, and the exit status for scripts. The
// verdict is never better than rules and hosts, whatever its field holds.
#ifndef CONFIG_REPORT_VERDICT_H_
#define CONFIG_REPORT_VERDICT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "config/words/words.h"
#include "proto/finding.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

//   FAIL     a rule failed
//   UNKNOWN  Report.error is set, the schema is one that we do not know, no
//            rule was judged, no host is in it, a host has no facts, or a rule
//            is unknown
//   WARN     a rule warned
//   PASS     otherwise
// and never better than Report.verdict.
State SupportedVerdict(const Report& report);

// Every host that has failed or that a failed finding names, whatever its own
// state: those of report.hosts in its order, then any others.
std::vector<std::string> FailingHosts(const Report& report);

// "1 failed, 1 unknown, 2 warned, 24 passed, 3 skipped"; omits zeros.
FindingValue CountsWords(const Counts& counts);
inline std::string CountsText(const Counts& counts) {
  return ValueText(CountsWords(counts));
}

// The state of an apply since its run ended.
enum class Standing {
  kAsTheRunEnded,
  kRolledBack,              // No host keeps any of it.
  kPartlyRolledBack,        // A host has or may have some of it.
  kConfirmed,               // It would have been rolled back, and stays.
  kNotConfirmedEverywhere,  // So, but a host was not reached and reverts it.
};
Standing StandingOf(const ApplyReport& report);

// HistoryEntry.outcome of an apply: "rolled back", or of its run "succeeded";
// "interrupted" for none.
std::string OutcomeName(Standing standing, ApplyReport::Outcome outcome);

// "confirmed by ann", with "; not yet notified: node07", or after the deadlines
// "; will roll back when reconnected: node07".
FindingValue ConfirmedWords(const Confirmation& confirmation);

enum ExitStatus {
  kExitPass = 0,       // Pass, or warnings only.
  kExitFail = 1,       // At least one failure.
  kExitNoVerdict = 2,  // A host or the controller did not answer.
  kExitUsage = 3,      // Wrong usage or configuration.
};

// The lowest state that counts as a failure, in the order warn, unknown, fail.
enum class FailOn { kWarn, kUnknown, kFail };

//   verdict  | fail (default) | unknown | warn
//   PASS     | 0              | 0       | 0
//   WARN     | 0              | 0       | 1
//   UNKNOWN  | 2              | 1       | 1
//   FAIL     | 1              | 1       | 1
// for a report of SupportedVerdict; without a report always kExitNoVerdict.
ExitStatus ExitStatusOf(State verdict, FailOn fail_on);

// For a call that failed: 3 if the request or the configuration was wrong
// (InvalidArgument, NotFound), otherwise 2.
ExitStatus ExitStatusOf(const absl::Status& failure);

}  // namespace clusterd

#endif  // CONFIG_REPORT_VERDICT_H_
