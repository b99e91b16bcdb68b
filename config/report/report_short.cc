#include "config/report/report_short.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "config/report/finding_blocks.h"
#include "config/report/verdict.h"
#include "config/words/first_met.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "config/words/terminal_text.h"

namespace clusterd {
namespace {

constexpr size_t kReasons = 3;
constexpr int kReasonColumns = 100;
constexpr int kErrorColumns = 300;

using HostNames = std::set<std::string>;

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
  return absl::StrCat(Count(cause.rules.size(), "rule"), " because of ",
                      cause.cause, " on ", SubjectsText(cause.subjects, 1, 40));
}

// Says no more than that these hosts are absent.
bool IsOnlyAbout(const HostNames& absent,
                 const google::protobuf::RepeatedPtrField<Subject>& subjects) {
  return !subjects.empty() &&
         std::all_of(subjects.begin(), subjects.end(),
                     [&](const Subject& subject) {
                       return absent.count(subject.host()) > 0;
                     });
}

bool IsOnlyAbout(const HostNames& absent, const FindingBlock& block) {
  return block.state == UNKNOWN &&
         std::all_of(block.findings.begin(), block.findings.end(),
                     [&](const Finding* finding) {
                       return IsOnlyAbout(absent, finding->subjects());
                     });
}

// What made the verdict beside absent hosts, most telling first.
std::vector<std::string> Reasons(const Report& report, State verdict,
                                 const HostNames& absent) {
  FindingOverview overview = ArrangeFindings(report, 0, 1);
  std::stable_sort(overview.blocks.begin(), overview.blocks.end(),
                   [](const FindingBlock& a, const FindingBlock& b) {
                     return a.findings.front()->caused_by().empty() >
                            b.findings.front()->caused_by().empty();
                   });
  std::vector<std::string> reasons;
  for (const FindingBlock& block : overview.blocks) {
    if (block.state != verdict || IsOnlyAbout(absent, block)) continue;
    reasons.push_back(BlockReason(block));
  }
  if (verdict == UNKNOWN) {
    for (const CauseGroup& cause : overview.causes) {
      if (IsOnlyAbout(absent, cause.subjects)) continue;
      reasons.push_back(CauseReason(cause));
    }
  }
  return reasons;
}

HostNames AbsentHosts(const Report& report) {
  HostNames absent;
  for (const HostStatus& host : report.hosts()) {
    if (!host.no_facts_reason().empty()) absent.insert(host.host());
  }
  return absent;
}

// "server[0-3]: no answer: never attached", in the report's order.
std::vector<std::string> AbsentReasons(const Report& report) {
  FirstMet<std::string, std::vector<std::string>> hosts_of;
  for (const HostStatus& host : report.hosts()) {
    if (host.no_facts_reason().empty()) continue;
    hosts_of[host.no_facts_reason()].push_back(host.host());
  }
  std::vector<std::string> reasons;
  for (const auto& [why, hosts] : hosts_of) {
    reasons.push_back(absl::StrCat(HostsText(hosts, 40), ": ", why));
  }
  return reasons;
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
    // Every mistake has a line of its own, and this is one line.
    const std::string error =
        absl::StrReplaceAll(report.error(), {{"\n", "; "}});
    return absl::StrCat(head, "NO VERDICT: ", safe(error, kErrorColumns));
  }
  const State verdict = KnownState(report.verdict());
  std::string line =
      absl::StrCat(head, absl::AsciiStrToUpper(StateWord(verdict)), " ",
                   CountsText(CountRules(report)));
  std::vector<std::string> reasons =
      Reasons(report, verdict, AbsentHosts(report));
  std::vector<std::string> absent = AbsentReasons(report);
  const size_t all = reasons.size() + absent.size();
  // However much else is wrong, one group of absent hosts is named.
  if (!absent.empty()) {
    reasons.resize(std::min(reasons.size(), kReasons - 1));
    absent.resize(std::min(absent.size(), kReasons - reasons.size()));
  }
  // An unknown verdict is theirs first; a failure weighs more than they do.
  reasons.insert(verdict == UNKNOWN ? reasons.begin() : reasons.end(),
                 absent.begin(), absent.end());
  reasons.resize(std::min(reasons.size(), kReasons));
  const size_t hidden = all - reasons.size();
  for (std::string& reason : reasons) reason = safe(reason, kReasonColumns);
  if (hidden > 0) reasons.push_back(absl::StrCat("and ", hidden, " more"));
  if (!reasons.empty())
    absl::StrAppend(&line, ": ", absl::StrJoin(reasons, "; "));
  return absl::StrCat(line, "; ", Count(report.hosts_size(), "host"), " in ",
                      ElapsedText(report.elapsed_ms()));
}

}  // namespace clusterd
