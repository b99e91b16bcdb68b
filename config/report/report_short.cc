#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "config/report/finding_overview.h"
#include "config/report/report_table.h"
#include "config/report/verdict.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

// How much the one line shows.
constexpr size_t kReasons = 3;
constexpr int kReasonColumns = 100;
constexpr int kFailingColumns = 160;
constexpr int kErrorColumns = 300;

using Subjects = google::protobuf::RepeatedPtrField<Subject>;
using HostNames = std::set<std::string>;

// Says no more than that these hosts are absent.
bool IsOnlyAbout(const HostNames& absent, const Subjects& subjects) {
  return !subjects.empty() &&
         absl::c_all_of(subjects, [&](const Subject& subject) {
           return absent.count(subject.host()) > 0;
         });
}

// What made the verdict beside absent hosts, most telling first.
std::vector<std::string> Reasons(const Report& report, State verdict) {
  HostNames absent;
  for (const HostStatus& host : report.hosts()) {
    if (!host.no_facts_reason().empty()) absent.insert(host.host());
  }
  FindingOverview overview = ArrangeFindings(report);
  absl::c_stable_sort(overview.blocks,
                      [](const FindingBlock& a, const FindingBlock& b) {
                        return a.findings.front()->caused_by().empty() >
                               b.findings.front()->caused_by().empty();
                      });
  std::vector<std::string> reasons;
  for (const FindingBlock& block : overview.blocks) {
    const bool only_absent =
        block.state == UNKNOWN &&
        absl::c_all_of(block.findings, [&](const Finding* finding) {
          return IsOnlyAbout(absent, finding->subjects());
        });
    if (block.state != verdict || only_absent) continue;
    const Finding& first = *block.findings.front();
    reasons.push_back(absl::StrCat(block.rule, ": ",
                                   SubjectsText(first.subjects(), 1, 40),
                                   Part(": ", first.observed())));
  }
  for (const auto& [cause, group] : overview.causes) {
    // What follows from a failure is not told beside it.
    const bool is_told = verdict != UNKNOWN && !reasons.empty();
    if (group.state != verdict || is_told ||
        IsOnlyAbout(absent, group.subjects)) {
      continue;
    }
    reasons.push_back(CauseText(cause, group, 1, 40));
  }
  return reasons;
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

// Whose report it is: the cluster's, else that of its one host.
std::string NameOf(const Report& report) {
  const bool is_one_host = report.cluster().empty() && report.hosts_size() == 1;
  return is_one_host ? report.hosts(0).host() : report.cluster();
}

}  // namespace

std::string ReportShort(const Report& report, bool utf8) {
  const auto safe = [&](absl::string_view text, int columns) {
    return CutText(SafeText(text, utf8), columns, utf8);
  };
  const std::string name = JoinParts(
      ", ", {absl::StrCat(safe(NameOf(report), 40),
                          Part(" in ", safe(report.network_namespace(), 60))),
             safe(JobName(report), 60)});
  const std::string head = name.empty() ? "" : absl::StrCat(name, ": ");
  if (!report.error().empty()) {
    // Every mistake has a line of its own, and this is one line.
    const std::string error =
        absl::StrReplaceAll(report.error(), {{"\n", "; "}});
    return absl::StrCat(head, VerdictWord(report), ": ",
                        safe(error, kErrorColumns));
  }
  const State verdict = KnownState(report.verdict());
  const std::vector<std::string> failing =
      verdict == FAIL ? FailingHosts(report) : std::vector<std::string>();
  const std::string hosts =
      safe(HostsText(failing, kFailingColumns, "failing host"),
           kFailingColumns + 40);
  // A long list of them takes the place of one reason.
  const size_t most = TextColumns(hosts) > 40 ? kReasons - 1 : kReasons;
  const std::string line =
      absl::StrCat(head, VerdictWord(report), Part(" on ", hosts),
                   hosts.empty() ? " " : ": ", CountsText(CountRules(report)));
  std::vector<std::string> reasons = Reasons(report, verdict);
  std::vector<std::string> absent = AbsentReasons(report);
  const size_t all = reasons.size() + absent.size();
  // However much else is wrong, one group of absent hosts is named.
  if (!absent.empty()) {
    reasons.resize(std::min(reasons.size(), most - 1));
    absent.resize(std::min(absent.size(), most - reasons.size()));
  }
  // An unknown verdict is theirs first; a failure weighs more than they do.
  reasons.insert(verdict == UNKNOWN ? reasons.begin() : reasons.end(),
                 absent.begin(), absent.end());
  reasons.resize(std::min(reasons.size(), most));
  const size_t hidden = all - reasons.size();
  for (std::string& reason : reasons) reason = safe(reason, kReasonColumns);
  if (hidden > 0) reasons.push_back(absl::StrCat("and ", hidden, " more"));
  return absl::StrCat(line, Part(": ", absl::StrJoin(reasons, "; ")), "; ",
                      Count(report.hosts_size(), "host"), " in ",
                      ElapsedText(report.elapsed_ms()));
}

}  // namespace clusterd
