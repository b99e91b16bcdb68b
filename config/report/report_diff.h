// The changes from one report to another: compares each rule's verdict about
// each host and device, and groups changes with the same text. A finding that
// the later report did not judge is never called resolved.
#ifndef CONFIG_REPORT_REPORT_DIFF_H_
#define CONFIG_REPORT_REPORT_DIFF_H_

#include <string>
#include <vector>

#include "config/words/words.h"
#include "proto/finding.pb.h"

namespace clusterd {

// The output follows this order.
enum class Turn {
  kWorse,      // From a better state to a worse one, as in WorseState.
  kNew,        // Wrong; not judged before.
  kChanged,    // As wrong as before, with another value.
  kBetter,     // A failure, or what was unknown, is a warning.
  kResolved,   // PASS now.
  kNotJudged,  // Wrong before; not judged any more, or not known any more.
};

struct TurnRow {
  Turn turn;
  const char* words;  // Has a number.
};
inline constexpr TurnRow kTurns[] = {
    {Turn::kWorse, "history-turn-worse"},
    {Turn::kNew, "history-turn-new"},
    {Turn::kChanged, "history-turn-changed"},
    {Turn::kBetter, "history-turn-better"},
    {Turn::kResolved, "history-turn-resolved"},
    {Turn::kNotJudged, "history-turn-not-judged"}};

Turn TurnOf(const ReportDiff::Change& change);

// The places whose state differs between `before` and `after`, and those of
// equal FAIL or WARN with another value observed. A text that changes on every
// read is not a change: one with a measured time, a count, or a process. A pass
// in one report that is not judged in the other is not a change either; for the
// rest STATE_UNSPECIFIED stands for
//   a rule that did not run, was skipped or is not in that report
//   a rule of a job, if the reports are about two
//   a host that is not in that report or gave no facts
//   a rule that compares hosts, for all of a finding of which one is such a
//   host
// and notes say why. If only one report was made with --downgrade, its warnings
// count as the failures that they are. Another order of hosts, rules and
// findings is not a change. Time grows with findings times subjects.
ReportDiff DiffReports(const Report& before, const Report& after);

// Adds a note, in English and in words.
void AddNote(const FindingValue& words, ReportDiff* diff);

// Its notes in the current language.
inline std::vector<std::string> DiffNotes(const ReportDiff& diff) {
  return TextsOf(diff.notes_words(), diff.notes());
}

// "2 worse, 1 resolved, 3 not judged any more, 1 host added, 2 hosts removed,
// cluster.yaml changed", in the words of kTurns, without zero counts; "verdict
// unknown, was pass" if all are zero; empty: nothing has changed.
FindingValue DiffSummaryWords(const ReportDiff& diff);
inline std::string DiffSummary(const ReportDiff& diff) {
  return ValueText(DiffSummaryWords(diff));
}

}  // namespace clusterd

#endif  // CONFIG_REPORT_REPORT_DIFF_H_
