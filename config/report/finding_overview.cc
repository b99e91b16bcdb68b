#include "config/report/finding_overview.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "config/words/number_text.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

constexpr int kLongestChain = 8;  // The judges never make longer ones.

// True if two lists of devices overlap; an empty list is the whole host.
bool Meet(const Subject& a, const Subject& b) {
  return a.devices().empty() || b.devices().empty() ||
         absl::c_any_of(a.devices(), [&b](uint32_t device) {
           return absl::c_linear_search(b.devices(), device);
         });
}

// The rule from which the finding follows for all of its subjects; empty: the
// finding is independent. An unknown result follows from its cause even if the
// report lacks the cause.
std::string RootRule(const Finding& finding, const FindingRoots& roots) {
  const State state = KnownState(finding.state());
  if (finding.caused_by().empty() || state < WARN) return "";
  std::string root = state == UNKNOWN ? finding.caused_by() : "";
  for (const Subject& subject : finding.subjects()) {
    const Finding& found = roots.Of(finding, subject);
    if (&found != &finding) {
      root = found.rule();
    } else if (state != UNKNOWN) {
      return "";
    }
  }
  return root;
}

// Sorts by state; findings with a cause come before the root causes.
std::pair<int, bool> Weight(const FindingBlock& block) {
  const bool is_root = absl::c_any_of(
      block.findings,
      [](const Finding* finding) { return finding->caused_by().empty(); });
  return {block.state, is_root};
}

}  // namespace

FindingRoots::FindingRoots(const Report& report) {
  for (const RuleResult& rule : report.rules()) {
    for (const Finding& finding : rule.findings()) {
      if (!IsTrouble(finding.state())) continue;
      for (const Subject& subject : finding.subjects()) {
        findings_[{rule.rule(), subject.host()}].push_back(
            {&finding, &subject});
      }
    }
  }
}

const Finding* FindingRoots::Behind(const Finding& finding,
                                    const Subject& subject) const {
  const auto found = findings_.find({finding.caused_by(), subject.host()});
  if (found == findings_.end()) return nullptr;
  for (const auto& [cause, where] : found->second) {
    if (cause != &finding && Meet(*where, subject)) return cause;
  }
  return nullptr;
}

const Finding& FindingRoots::Of(const Finding& finding,
                                const Subject& subject) const {
  const Finding* root = &finding;
  for (int i = 0; i < kLongestChain && !root->caused_by().empty(); ++i) {
    const Finding* next = Behind(*root, subject);
    // A finding about several subjects follows from the finding of any of them.
    for (int k = 0; i == 0 && next == nullptr && k < finding.subjects_size();
         ++k) {
      next = Behind(finding, finding.subjects(k));
    }
    if (next == nullptr) break;
    root = next;
  }
  return *root;
}

FindingOverview ArrangeFindings(const Report& report, bool whole) {
  const FindingRoots roots(report);
  FindingOverview overview;
  FirstSeen<std::pair<std::string, bool>, CauseGroup> causes;
  for (const RuleResult& rule : report.rules()) {
    std::map<State, FindingBlock> blocks;
    for (const Finding& finding : rule.findings()) {
      const State state = KnownState(finding.state());
      const std::string root = RootRule(finding, roots);
      if (!root.empty() && (state == UNKNOWN || !whole)) {
        CauseGroup& group = causes[{root, finding.has_waiver()}];
        group.state = WorseState(group.state, state);
        group.subjects.MergeFrom(finding.subjects());
        group.findings.push_back(&finding);
        if (group.rules.empty() || group.rules.back() != rule.rule()) {
          group.rules.push_back(rule.rule());
        }
      } else if (IsTrouble(state)) {
        blocks.insert({state, {rule.rule(), state, rule.why(), rule.source()}})
            .first->second.findings.push_back(&finding);
      }
    }
    for (auto& [state, block] : blocks) {
      overview.blocks.push_back(std::move(block));
    }
  }
  for (auto& [root, group] : causes.items()) {
    overview.causes.emplace_back(root.first, std::move(group));
  }
  absl::c_stable_sort(overview.blocks,
                      [](const FindingBlock& a, const FindingBlock& b) {
                        return Weight(a) < Weight(b);
                      });
  return overview;
}

std::string CauseText(const std::string& cause, const CauseGroup& group,
                      int groups, int columns) {
  return Say("report-because", Count(group.rules.size(), "rule"), cause,
             SubjectsText(group.subjects, groups, columns));
}

FirstSeen<std::string, std::vector<std::string>> SilentHosts(
    const Report& report) {
  FirstSeen<std::string, std::vector<std::string>> silent;
  for (const HostStatus& host : report.hosts()) {
    if (host.no_facts_reason().empty()) continue;
    silent[host.no_facts_reason()].push_back(host.host());
  }
  return silent;
}

std::string VerdictWord(const Report& report) {
  const std::string word =
      report.error().empty()
          ? absl::AsciiStrToUpper(StateWord(KnownState(report.verdict())))
          : Say("verdict-none");
  return report.partial() ? Say("verdict-partial", word) : word;
}

std::string VerdictSentence(const Report& report) {
  const State verdict = KnownState(report.verdict());
  return Say(!report.error().empty() ? "sentence-not-checked"
             : verdict == PASS       ? "sentence-ready"
             : verdict == WARN       ? "sentence-warnings"
             : verdict == FAIL       ? "sentence-not-ready"
                                     : "sentence-unknown");
}

std::string ReportName(const Report& report) {
  const bool is_one_host = report.cluster().empty() && report.hosts_size() == 1;
  return is_one_host ? report.hosts(0).host() : report.cluster();
}

std::string ReportSubject(
    const Report& report,
    const std::function<std::string(absl::string_view)>& shown) {
  const std::string where = shown(ReportName(report));
  const std::string job = shown(JobName(report));
  if (!job.empty()) return where.empty() ? job : Say("job-on", job, where);
  return where.empty() ? Say("the-cluster") : where;
}

FindingValue JobWords(const Report& report) {
  if (report.job_id().empty() && report.job_servers() == 0) return {};
  return report.job_id().empty() ? Worded("job-without-id")
                                 : Worded("job", report.job_id());
}

std::string JobText(const Report& report) {
  const std::string name = JobName(report);
  if (name.empty()) return "";
  const std::string size = JoinParts(
      ", ",
      {report.job_servers() > 0 ? Count(report.job_servers(), "server") : "",
       report.job_devices() > 0 ? Count(report.job_devices(), "device") : ""});
  return size.empty() ? name : Say("report-job", name, size);
}

}  // namespace clusterd
