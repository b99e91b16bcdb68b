#include "daemon/controller/watch/check_now.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/report/finding_overview.h"
#include "config/report/report_diff.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

using Subjects = google::protobuf::RepeatedPtrField<Subject>;

constexpr size_t kMaxRunningTold = 10;
constexpr int kWhoGroups = 2;
constexpr int kWhoColumns = 60;

void CutSubjects(Subjects* subjects) {
  if (subjects->size() <= kMaxSubjectsTold) return;
  subjects->DeleteSubrange(kMaxSubjectsTold,
                           subjects->size() - kMaxSubjectsTold);
}

RuleResult WrongRule(const FindingBlock& block) {
  RuleResult rule;
  rule.set_rule(block.rule);
  rule.set_state(block.state);
  Subjects who;
  for (const Finding* finding : block.findings) {
    who.MergeFrom(finding->subjects());
    if (rule.findings_size() == kMaxFindingsTold) continue;
    *rule.add_findings() = *finding;
    CutSubjects(rule.mutable_findings()->rbegin()->mutable_subjects());
  }
  rule.set_summary(SubjectsText(who, kWhoGroups, kWhoColumns));
  return rule;
}

ReportDiff CutDiff(const ReportDiff& whole) {
  ReportDiff diff = whole;
  const int more = diff.changes_size() - kMaxWrongTold;
  if (more > 0) {
    diff.mutable_changes()->DeleteSubrange(kMaxWrongTold, more);
    diff.add_notes(Count(static_cast<size_t>(more), "more change"));
  }
  for (ReportDiff::Change& change : *diff.mutable_changes()) {
    CutSubjects(change.mutable_subjects());
  }
  for (auto* hosts :
       {diff.mutable_hosts_added(), diff.mutable_hosts_removed()}) {
    if (hosts->size() <= kMaxSubjectsTold) continue;
    diff.add_notes(absl::StrCat(
        Count(static_cast<size_t>(hosts->size() - kMaxSubjectsTold),
              "more host"),
        " came or went"));
    hosts->DeleteSubrange(kMaxSubjectsTold, hosts->size() - kMaxSubjectsTold);
  }
  return diff;
}

}  // namespace

ClusterNow::ScheduleNow CheckNow(const Report& newest,
                                 const ReportDiff* changes) {
  ClusterNow::ScheduleNow now;
  Report& head = *now.mutable_newest();
  head.set_schema_version(newest.schema_version());
  head.set_cluster(newest.cluster());
  head.set_product(newest.product());
  head.set_spec_digest(newest.spec_digest());
  head.set_run_id(newest.run_id());
  head.set_started_at_ms(newest.started_at_ms());
  head.set_elapsed_ms(newest.elapsed_ms());
  head.set_verdict(newest.verdict());
  *head.mutable_rule_counts() = newest.rule_counts();
  head.set_error(newest.error());
  head.set_clusterd_version(newest.clusterd_version());
  head.set_network_namespace(newest.network_namespace());
  head.set_partial(newest.partial());
  head.set_schedule(newest.schedule());
  if (changes != nullptr) *now.mutable_changes() = CutDiff(*changes);
  const FindingOverview overview = ArrangeFindings(newest);
  const auto& blocks = overview.blocks;
  const size_t told =
      std::min(blocks.size(), static_cast<size_t>(kMaxWrongTold));
  // The worst are the last.
  for (size_t i = 0; i < told; ++i) {
    *now.add_wrong() = WrongRule(blocks[blocks.size() - 1 - i]);
  }
  now.set_more_wrong(static_cast<uint32_t>(blocks.size() - told));
  return now;
}

std::vector<std::string> RunningTexts(const std::vector<RunningCheck>& checks) {
  std::vector<std::string> texts;
  for (const RunningCheck& check : checks) {
    if (texts.size() == kMaxRunningTold) {
      texts.push_back(absl::StrCat(
          "and ", Count(checks.size() - kMaxRunningTold, "more check")));
      break;
    }
    texts.push_back(absl::StrCat("check ", check.order->run_id, " of ",
                                 ActorName(check.order->actor), ", ",
                                 Count(check.order->hosts.size(), "host")));
  }
  return texts;
}

void NewestAsked::Note(const FactOrder& order, const RuleSelection& selection,
                       const Report& report) {
  const bool is_whole =
      order.hosts.size() == static_cast<size_t>(order.spec->servers_size()) &&
      selection.only().empty() && selection.skip().empty() &&
      report.network_namespace().empty() && report.error().empty() &&
      !report.partial();
  if (!is_whole) return;
  std::shared_ptr<const Report> before;
  {
    absl::MutexLock lock(&mutex_);
    before = report_;
  }
  ReportDiff changes;
  if (before != nullptr) changes = DiffReports(*before, report);
  ClusterNow::ScheduleNow now =
      CheckNow(report, before == nullptr ? nullptr : &changes);
  auto kept = std::make_shared<const Report>(report);
  absl::MutexLock lock(&mutex_);
  // Another one may have ended in between.
  if (report_ != before && report_->started_at_ms() > report.started_at_ms()) {
    return;
  }
  report_ = std::move(kept);
  now_ = std::move(now);
}

std::optional<ClusterNow::ScheduleNow> NewestAsked::now() const {
  absl::MutexLock lock(&mutex_);
  if (report_ == nullptr) return std::nullopt;
  return now_;
}

}  // namespace clusterd
