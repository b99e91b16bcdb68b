// What has changed from one report to another: each rule's verdict about each
// host and device, compared, and told once for all whose change reads the same.
// Nothing that the later report did not judge is ever called mended.
#ifndef CONFIG_REPORT_REPORT_DIFF_H_
#define CONFIG_REPORT_REPORT_DIFF_H_

#include <string>

#include "proto/finding.pb.h"

namespace clusterd {

// In the order in which they are told.
enum class Turn {
  kWorse,      // From a better state to a worse one, as in WorseState.
  kMended,     // To PASS.
  kOtherwise,  // To a better state that is none; or wrong in another way.
  kNotJudged,  // One of both reports does not say.
};

Turn TurnOf(const ReportDiff::Change& change);

// Who has another state in `after` than in `before`, and who has the same one
// of FAIL and WARN and something else observed. A text that moves by itself is
// no change: one with a measured time, a count, or a process. What passes in
// one report and is not judged in the other is none either; of the rest STATE_
// UNSPECIFIED stands for
//   a rule that did not run, was skipped or is not in that report
//   a rule of a job, if the reports are about two
//   a host that is not in that report or gave no facts
//   a rule that compares hosts, for all of a finding of which one is such a
//   host
// and notes say why. Where --downgrade was asked for in one report alone, its
// warnings count as the failures that they are. Hosts, rules and findings in
// other order are no change. Time grows with findings times subjects.
ReportDiff DiffReports(const Report& before, const Report& after);

// "2 worse, 1 mended, 1 otherwise, 3 not judged, 1 host added, 2 hosts removed,
// cluster.yaml changed", without what did not happen; "verdict unknown, was
// pass" where none of that did; empty: nothing has changed.
std::string DiffSummary(const ReportDiff& diff);

}  // namespace clusterd

#endif  // CONFIG_REPORT_REPORT_DIFF_H_
