// The findings of a report by their causes: those that follow from another
// finding are listed with its rule, and only the others have a headline.
#ifndef CONFIG_REPORT_FINDING_OVERVIEW_H_
#define CONFIG_REPORT_FINDING_OVERVIEW_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "proto/finding.pb.h"

namespace clusterd {

// A warning, a failure or an unknown result.
inline bool IsTrouble(State state) {
  return WorseState(KnownState(state), SKIPPED) != SKIPPED;
}

// A host's own state, or that of the knowledge about it, whichever is worse.
inline State HostStateOf(const HostStatus& host) {
  return WorseState(host.state(),
                    host.no_facts_reason().empty() ? PASS : UNKNOWN);
}

// Calls visit(finding, subject) for each subject of each finding that
// IsTrouble; if a finding has none, once with an empty subject.
template <typename Visit>
void ForEachTrouble(const Report& report, const Visit& visit) {
  for (const RuleResult& rule : report.rules()) {
    for (const Finding& finding : rule.findings()) {
      if (!IsTrouble(finding.state())) continue;
      for (const Subject& subject : finding.subjects()) visit(finding, subject);
      if (finding.subjects().empty()) {
        visit(finding, Subject::default_instance());
      }
    }
  }
}

// The words of a fix before its command; if a finding has only words, such as
// the controller's own, the whole fix.
inline const std::string& FixWords(const Finding& finding) {
  const bool is_split =
      !finding.fix_words().empty() || !finding.command().empty();
  return is_split ? finding.fix_words() : finding.fix();
}

// The findings of one report by their causes; it must outlive this.
class FindingRoots {
 public:
  explicit FindingRoots(const Report& report);

  // The end of the chain of causes about that subject of the finding, or
  // another one: itself if it names no cause, or one that the report lacks.
  const Finding& Of(const Finding& finding, const Subject& subject) const;

 private:
  const Finding* Behind(const Finding& finding, const Subject& subject) const;

  // Keyed by rule and host.
  std::map<std::pair<absl::string_view, absl::string_view>,
           std::vector<std::pair<const Finding*, const Subject*>>>
      findings_;
};

struct FindingBlock {
  // `finding` belongs to the block.
  absl::string_view WhyOf(const Finding& finding) const {
    return finding.why().empty() ? why : finding.why();
  }

  std::string rule;
  State state;
  std::string why;  // The rule's default.
  std::string source;
  std::vector<const Finding*> findings = {};
};

// All findings that follow from one other rule.
struct CauseGroup {
  State state = WARN;
  std::vector<std::string> rules;
  Subjects subjects;
  std::vector<const Finding*> findings = {};
};

struct FindingOverview {
  // WARN, then UNKNOWN, then FAIL; within a state in the report's order, but
  // those whose subjects all have another rule as their cause come first.
  std::vector<FindingBlock> blocks;
  // Findings that follow from others, by the rule at the root; waived ones are
  // separate. They are in no block.
  std::vector<std::pair<std::string, CauseGroup>> causes;
};

// `whole`: failures and warnings have blocks even if they follow from others.
// `report` must outlive the result.
FindingOverview ArrangeFindings(const Report& report, bool whole = false);

// Hosts without facts, by the reason, in the report's order.
FirstSeen<std::string, std::vector<std::string>> SilentHosts(
    const Report& report);

// "FAIL", "FAIL (partial)", "NO VERDICT".
std::string VerdictWord(const Report& report);

// "is not ready": the verdict about the cluster or job.
std::string VerdictSentence(const Report& report);

// The report's subject: "demo", or the host without a cluster; for a sentence,
// "job slurm:1234.0 on demo" or "the cluster", with names through `shown`.
std::string ReportName(const Report& report);
std::string ReportSubject(
    const Report& report,
    const std::function<std::string(absl::string_view)>& shown);

// "job slurm:1234.0"; empty for a report without one.
FindingValue JobWords(const Report& report);
inline std::string JobName(const Report& report) {
  return ValueText(JobWords(report));
}

// "job slurm:1234.0: 16 servers, 128 devices". Not safe for a terminal.
std::string JobText(const Report& report);

// "4 rules because of net-health on server1"; for the bounds see SubjectsText.
std::string CauseText(const std::string& cause, const CauseGroup& group,
                      int groups, int columns);

}  // namespace clusterd

#endif  // CONFIG_REPORT_FINDING_OVERVIEW_H_
