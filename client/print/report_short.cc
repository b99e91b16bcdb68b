#include "client/print/report_short.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/print/duration_text.h"
#include "client/print/finding_blocks.h"
#include "client/print/state_word.h"
#include "client/print/subject_text.h"
#include "client/print/terminal_text.h"
#include "client/print/verdict.h"

namespace clusterd {
namespace {

constexpr size_t kReasons = 3;
constexpr int kReasonColumns = 100;
constexpr int kErrorColumns = 300;

std::string BlockReason(const FindingBlock& block) {
  const Finding& first = *block.findings.front();
  std::string reason =
      absl::StrCat(block.rule, ": ", SubjectsText(first.subjects(), 1, 40));
  if (!first.observed().empty()) {
    absl::StrAppend(&reason, ": ", first.observed());
  }
  return reason;
}

std::string CauseReason(const CauseGroup& cause) {
  return absl::StrCat(
      cause.rules.size(), cause.rules.size() == 1 ? " rule" : " rules",
      " because of ", cause.cause, " on ", SubjectsText(cause.subjects, 1, 40));
}

// What made the verdict, most telling first.
std::vector<std::string> Reasons(const Report& report, State verdict) {
  FindingOverview overview = ArrangeFindings(report, 0, 1);
  std::stable_sort(overview.blocks.begin(), overview.blocks.end(),
                   [](const FindingBlock& a, const FindingBlock& b) {
                     return a.findings.front()->caused_by().empty() >
                            b.findings.front()->caused_by().empty();
                   });
  std::vector<std::string> reasons;
  for (const FindingBlock& block : overview.blocks) {
    if (block.state == verdict) reasons.push_back(BlockReason(block));
  }
  if (verdict == UNKNOWN) {
    for (const CauseGroup& cause : overview.causes) {
      reasons.push_back(CauseReason(cause));
    }
  }
  return reasons;
}

std::string Tail(const Report& report) {
  return absl::StrCat(report.hosts_size(),
                      report.hosts_size() == 1 ? " host" : " hosts", " in ",
                      DurationText(absl::Milliseconds(report.elapsed_ms())));
}

}  // namespace

std::string ReportShort(const Report& report, bool utf8) {
  const auto safe = [&](absl::string_view text, int columns) {
    return CutText(SafeText(text, utf8), columns, utf8);
  };
  const std::string head = absl::StrCat(
      report.cluster().empty() ? "cluster" : safe(report.cluster(), 40),
      report.network_namespace().empty()
          ? ""
          : absl::StrCat(" in ", safe(report.network_namespace(), 60)),
      ": ");
  if (!report.error().empty()) {
    return absl::StrCat(head,
                        "NO VERDICT: ", safe(report.error(), kErrorColumns));
  }
  const State verdict = KnownState(report.verdict());
  std::string line =
      absl::StrCat(head, absl::AsciiStrToUpper(StateWord(verdict)), " ",
                   CountsText(CountRules(report)));
  std::vector<std::string> reasons = Reasons(report, verdict);
  const size_t hidden = reasons.size() - std::min(reasons.size(), kReasons);
  reasons.resize(reasons.size() - hidden);
  for (std::string& reason : reasons) reason = safe(reason, kReasonColumns);
  if (hidden > 0) reasons.push_back(absl::StrCat("and ", hidden, " more"));
  if (!reasons.empty())
    absl::StrAppend(&line, ": ", absl::StrJoin(reasons, "; "));
  return absl::StrCat(line, "; ", Tail(report));
}

}  // namespace clusterd
