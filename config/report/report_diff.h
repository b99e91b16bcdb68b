// What has changed from one report to another: each rule's verdict about each
// host and device, compared, and told once for all whose change reads the same.
// Nothing that the later report did not judge is ever called resolved.
#ifndef CONFIG_REPORT_REPORT_DIFF_H_
#define CONFIG_REPORT_REPORT_DIFF_H_

#include <string>
#include <vector>

#include "config/words/words.h"
#include "proto/finding.pb.h"

namespace clusterd {

// In the order in which they are told.
enum class Turn {
  kWorse,      // From a better state to a worse one, as in WorseState.
  kNew,        // Wrong, and the earlier report did not judge it.
  kChanged,    // As wrong as before, with another value.
  kBetter,     // A failure, or what was unknown, is a warning.
  kResolved,   // To PASS.
  kNotJudged,  // Wrong before; not judged any more, or not known any more.
};

struct TurnRow {
  Turn turn;
  const char* words;  // Of a number.
};
inline constexpr TurnRow kTurns[] = {
    {Turn::kWorse, "history-turn-worse"},
    {Turn::kNew, "history-turn-new"},
    {Turn::kChanged, "history-turn-changed"},
    {Turn::kBetter, "history-turn-better"},
    {Turn::kResolved, "history-turn-resolved"},
    {Turn::kNotJudged, "history-turn-not-judged"}};

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

// Its notes in the current language.
std::vector<std::string> DiffNotes(const ReportDiff& diff);

// "2 worse, 1 resolved, 3 not judged any more, 1 host added, 2 hosts removed,
// cluster.yaml changed", in the words of kTurns and without what did not
// happen; "verdict unknown, was pass" where none of that did; empty: nothing
// has changed.
FindingValue DiffSummaryWords(const ReportDiff& diff);
inline std::string DiffSummary(const ReportDiff& diff) {
  return ValueText(DiffSummaryWords(diff));
}

}  // namespace clusterd

#endif  // CONFIG_REPORT_REPORT_DIFF_H_
