#include "config/report/job_verdict.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/report/finding_overview.h"
#include "config/report/verdict.h"
#include "config/words/quoted_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "config/words/terminal.h"
#include "config/words/waiver_text.h"
#include "google/protobuf/util/field_mask_util.h"

namespace clusterd {
namespace {

constexpr size_t kMaxReasonsOfHost = 24;
constexpr size_t kMaxReasonsOfCluster = 16;
// A verdict goes to every host of the job.
constexpr size_t kMaxReasonsBytes = 384 << 10;
constexpr int kTextColumns = 120;
constexpr int kValueColumns = 40;
constexpr int kRuleColumns = 40;
constexpr int kLineColumns = 200;

std::string OneLine(absl::string_view text, int columns) {
  return CutText(SafeText(absl::StrReplaceAll(text, {{"\n", "; "}}), false),
                 columns, false);
}

// A finding about one host, or about none.
struct Reported {
  const Finding* finding;
  std::set<uint32_t> devices;
  const Finding* root;  // Itself if independent.
  size_t place;         // Among those of the host.
};
using ReportedByHost = std::map<absl::string_view, std::vector<Reported>>;

// The findings of each host, and those about none.
ReportedByHost FindingsByHost(const Report& report) {
  const FindingRoots roots(report);
  ReportedByHost seen;
  ForEachTrouble(report, [&](const Finding& finding, const Subject& subject) {
    std::vector<Reported>& of_host = seen[subject.host()];
    if (of_host.empty() || of_host.back().finding != &finding) {
      of_host.push_back(
          {&finding, {}, &roots.Of(finding, subject), of_host.size()});
    }
    of_host.back().devices.insert(subject.devices().begin(),
                                  subject.devices().end());
  });
  return seen;
}

// Groups findings behind their cause; the worst group comes first.
void Sort(std::vector<Reported>* seen) {
  std::map<const Finding*, std::pair<State, size_t>> groups;  // Worst, first.
  for (const Reported& each : *seen) {
    auto& group = groups.emplace(each.root, std::make_pair(WARN, each.place))
                      .first->second;
    group.first = WorseState(group.first, KnownState(each.finding->state()));
  }
  const auto key = [&groups](const Reported& each) {
    const auto& [worst, first] = groups.at(each.root);
    return std::make_tuple(-worst, first, each.root != each.finding,
                           -KnownState(each.finding->state()), each.place);
  };
  absl::c_sort(*seen, [&key](const Reported& a, const Reported& b) {
    return key(a) < key(b);
  });
}

std::string SeenText(const Finding& finding) {
  return OneLine(
      finding.observed().empty() ? finding.expected() : finding.observed(),
      kTextColumns);
}

FindingValue WordsOf(const Finding& finding) {
  FindingValue words;
  words.set_words(absl::StrCat(finding.rule(), "/", finding.finding()));
  *words.mutable_values() = finding.values();
  FindingValue waived = WaivedEnd(finding);
  if (IsSaid(waived)) *words.add_values() = std::move(waived);
  return words;
}

// Cuts values, so that the words too make one line.
void CutTexts(FindingValue* words) {
  const int columns = words->words().empty() ? kValueColumns : kTextColumns;
  words->set_text(OneLine(words->text(), columns));
  for (FindingValue& value : *words->mutable_values()) CutTexts(&value);
}

JobReason ReasonOf(const Reported& seen) {
  const Finding& finding = *seen.finding;
  JobReason reason;
  reason.set_rule(OneLine(finding.rule(), kRuleColumns));
  reason.set_state(KnownState(finding.state()));
  reason.mutable_devices()->Add(seen.devices.begin(), seen.devices.end());
  reason.set_text(SeenText(finding));
  if (!finding.finding().empty() && !finding.observed().empty()) {
    *reason.mutable_said() = WordsOf(finding);
    if (reason.text() != finding.observed()) CutTexts(reason.mutable_said());
  }
  reason.set_waived(finding.has_waiver());
  reason.set_waived_from(finding.waiver().waived_from());
  reason.set_caused_by(OneLine(finding.caused_by(), kRuleColumns));
  reason.set_holds_alone(finding.holds_alone());
  std::string fix = OneLine(finding.fix(), kTextColumns + 1);
  if (fix.size() > static_cast<size_t>(kTextColumns)) {
    fix = absl::StrCat("clusterctl explain ", reason.rule());
  }
  reason.set_fix(fix);
  return reason;
}

std::vector<JobReason> ReasonsOf(std::vector<Reported> seen, size_t most) {
  Sort(&seen);
  if (seen.size() > most) {
    // Prefer failures to consequences of another one.
    absl::c_stable_partition(seen, [](const Reported& each) {
      return KnownState(each.finding->state()) == FAIL;
    });
    seen.erase(seen.begin() + most, seen.end());
  }
  return Each<JobReason>(seen, ReasonOf);
}

// Adds the first reason of each host, then the second of each, up to the limit.
void AddReasons(const ReportedByHost& seen, JobVerdict* verdict) {
  std::vector<std::vector<JobReason>> reasons;
  for (JobVerdict::Host& host : *verdict->mutable_hosts()) {
    reasons.emplace_back();
    const auto of_host = seen.find(host.host());
    if (of_host == seen.end()) continue;
    reasons.back() = ReasonsOf(of_host->second, kMaxReasonsOfHost);
    for (const Reported& each : of_host->second) {
      host.set_state(
          WorseState(host.state(), KnownState(each.finding->state())));
    }
  }
  size_t bytes = 0;
  for (size_t depth = 0; depth < kMaxReasonsOfHost; ++depth) {
    for (size_t i = 0; i < reasons.size(); ++i) {
      if (depth >= reasons[i].size()) continue;
      // Reasons of other hosts matter more than a second language: TextWords
      // names the rule for it.
      if (bytes > kMaxReasonsBytes / 4) reasons[i][depth].clear_said();
      bytes += reasons[i][depth].ByteSizeLong();
      if (bytes > kMaxReasonsBytes) return;
      *verdict->mutable_hosts(static_cast<int>(i))->add_reasons() =
          std::move(reasons[i][depth]);
    }
  }
}

void AddHosts(const Report& report, const JobSpec& job, JobVerdict* verdict) {
  std::set<absl::string_view> known;
  for (const HostStatus& status : report.hosts()) {
    JobVerdict::Host* const host = verdict->add_hosts();
    host->set_host(status.host());
    const State state = HostStateOf(status);
    host->set_state(IsTrouble(state) ? state : PASS);
    known.insert(status.host());
  }
  if (report.hosts_size() >= job.servers_size()) return;
  for (const JobServer& server : job.servers()) {
    if (!known.insert(server.host()).second) continue;
    JobVerdict::Host* const host = verdict->add_hosts();
    host->set_host(server.host());
    host->set_state(UNKNOWN);
  }
}

}  // namespace

std::vector<JobReason> ReasonsAbout(const Report& report,
                                    absl::string_view host) {
  return ReasonsOf(std::move(FindingsByHost(report)[host]),
                   std::numeric_limits<size_t>::max());
}

JobVerdict MakeJobVerdict(const Report& report, const JobSpec& job) {
  JobVerdict verdict;
  verdict.set_cluster(report.cluster());
  verdict.set_job_id(job.id());
  verdict.set_judged_at_ms(report.started_at_ms() +
                           static_cast<int64_t>(report.elapsed_ms()));
  verdict.set_run_id(report.run_id());
  verdict.set_verdict(SupportedVerdict(report));
  AddHosts(report, job, &verdict);
  ReportedByHost seen = FindingsByHost(report);
  AddReasons(seen, &verdict);
  for (const JobVerdict::Host& host : verdict.hosts()) {
    verdict.set_verdict(WorseState(verdict.verdict(), host.state()));
  }
  const auto about_all = ReasonsOf(std::move(seen[""]), kMaxReasonsOfCluster);
  verdict.mutable_reasons()->Add(about_all.begin(), about_all.end());
  return verdict;
}

VerdictBytes BytesForHosts(JobVerdict verdict) {
  VerdictBytes bytes;
  google::protobuf::RepeatedPtrField<JobVerdict::Host> hosts;
  hosts.Swap(verdict.mutable_hosts());
  for (JobVerdict::Host& host : hosts) {
    std::string& own = bytes.own[host.host()];
    if (verdict.hosts().empty() || host.state() != PASS ||
        !host.reasons().empty()) {
      *verdict.add_hosts() = std::move(host);
    } else {
      JobVerdict alone;
      *alone.add_hosts() = std::move(host);
      own = alone.SerializeAsString();
    }
  }
  bytes.common = verdict.SerializeAsString();
  return bytes;
}

Report ReportForHook(const Report& report) {
  google::protobuf::FieldMask kept_fields;
  google::protobuf::util::FieldMaskUtil::FromString(
      "schema_version,clusterd_version,cluster,run_id,started_at_ms,elapsed_ms,"
      "error,job_id,job_servers,job_devices,rule_counts",
      &kept_fields);
  Report cut;
  google::protobuf::util::FieldMaskUtil::MergeMessageTo(report, kept_fields, {},
                                                        &cut);
  cut.set_verdict(SupportedVerdict(report));
  *cut.add_said() = Worded("report-of-hook-role");
  cut.add_notes(EnglishText(cut.said(0)));
  for (const HostStatus& host : report.hosts()) {
    HostStatus* const kept = cut.add_hosts();
    kept->set_host(host.host());
    kept->set_state(host.state());
  }
  for (const RuleResult& rule : report.rules()) {
    RuleResult* const kept = cut.add_rules();
    kept->set_rule(rule.rule());
    kept->set_category(rule.category());
    kept->set_state(rule.state());
    kept->set_not_run(rule.not_run());
    for (const Finding& finding : rule.findings()) {
      if (finding.state() != FAIL) continue;
      Finding* const failing = kept->add_findings();
      failing->set_rule(finding.rule());
      failing->set_state(FAIL);
      *failing->mutable_subjects() = finding.subjects();
      failing->set_observed(SeenText(finding));
      // The same in words, which hosts of a job get.
      failing->set_finding(finding.finding());
      *failing->mutable_values() = finding.values();
    }
  }
  return cut;
}

FindingValue TextWords(const JobReason& reason) {
  FindingValue words = reason.said();
  // A text alone is shown with the title of its rule, which costs no bytes of a
  // verdict.
  if (!reason.has_said() && !reason.text().empty()) {
    words.set_words(absl::StrCat(reason.rule(), "/"));
  }
  words.set_text(reason.text());
  return words;
}

FindingValue ReasonWords(const JobReason& reason) {
  FindingValue text = TextWords(reason);
  const auto& ids = reason.devices();
  if (!ids.empty()) {
    text = Worded("hook-about", DevicesValue({ids.begin(), ids.end()}), text);
  }
  if (!reason.host().empty()) {
    text = Worded(ids.empty() ? "hook-about" : "hook-on", reason.host(), text);
  }
  return Worded("hook-reason", reason.rule(), text);
}

std::string ReasonLine(const JobReason& reason) {
  return OneLine(EnglishText(ReasonWords(reason)), kLineColumns);
}

}  // namespace clusterd
