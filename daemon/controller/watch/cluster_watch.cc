#include "daemon/controller/watch/cluster_watch.h"

#include <algorithm>

#include "config/report/finding_overview.h"
#include "config/report/report_diff.h"
#include "config/report/verdict.h"
#include "config/words/message.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr size_t kShownRunning = 10;
constexpr int kWhoGroups = 2;
constexpr int kWhoColumns = 60;

void CutSubjects(Subjects* subjects) {
  if (subjects->size() <= kShownSubjects) return;
  subjects->DeleteSubrange(kShownSubjects, subjects->size() - kShownSubjects);
}

RuleResult WrongRule(const FindingBlock& block) {
  RuleResult rule;
  rule.set_rule(block.rule);
  rule.set_state(block.state);
  Subjects who;
  for (const Finding* finding : block.findings) {
    who.MergeFrom(finding->subjects());
    if (rule.findings_size() == kShownFindings) continue;
    Finding& shown = *rule.add_findings();
    shown = *finding;
    // No count if the rule has a single finding: the summary has all subjects.
    if (shown.subjects_size() > kShownSubjects && block.findings.size() > 1) {
      FindingValue& all = *shown.add_values();
      all.set_name(kAllSubjects);
      all.set_number(shown.subjects_size());
    }
    CutSubjects(shown.mutable_subjects());
  }
  std::vector<FindingValue> seen = {
      SubjectsValue(who, kWhoGroups, kWhoColumns)};
  if (block.findings.size() > kShownFindings) {
    seen.push_back(Counted(block.findings.size(), "finding"));
  }
  *rule.mutable_seen() = Listed(seen, seen.size());
  rule.set_summary(EnglishText(rule.seen()));
  return rule;
}

ReportDiff CutDiff(const ReportDiff& whole) {
  ReportDiff diff = whole;
  const int more = diff.changes_size() - kShownWrong;
  if (more > 0) {
    diff.mutable_changes()->DeleteSubrange(kShownWrong, more);
    AddNote(Counted(static_cast<size_t>(more), "more change"), &diff);
  }
  for (ReportDiff::Change& change : *diff.mutable_changes()) {
    CutSubjects(change.mutable_subjects());
  }
  for (auto* hosts :
       {diff.mutable_hosts_added(), diff.mutable_hosts_removed()}) {
    if (hosts->size() <= kShownSubjects) continue;
    const size_t rest = hosts->size() - kShownSubjects;
    AddNote(Worded("history-hosts-changed", Counted(rest, "more host")), &diff);
    hosts->DeleteSubrange(kShownSubjects, hosts->size() - kShownSubjects);
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
  if (newest.has_error_words()) {
    *head.mutable_error_words() = newest.error_words();
  }
  head.set_clusterd_version(newest.clusterd_version());
  head.set_network_namespace(newest.network_namespace());
  head.set_partial(newest.partial());
  head.set_schedule(newest.schedule());
  if (newest.hosts_size() > 0) {
    *head.add_said() =
        Worded("hub-hosts-states", CountsWords(CountStates(newest.hosts())));
  }
  if (changes != nullptr) *now.mutable_changes() = CutDiff(*changes);
  const FindingOverview overview = ArrangeFindings(newest);
  const auto& blocks = overview.blocks;
  const size_t shown =
      std::min(blocks.size(), static_cast<size_t>(kShownWrong));
  // The worst are last.
  for (size_t i = 0; i < shown; ++i) {
    *now.add_wrong() = WrongRule(blocks[blocks.size() - 1 - i]);
  }
  now.set_more_wrong(static_cast<uint32_t>(blocks.size() - shown));
  return now;
}

std::vector<FindingValue> RunningWords(
    const std::vector<RunningCheck>& checks) {
  std::vector<FindingValue> texts;
  for (const RunningCheck& check : checks) {
    if (texts.size() == kShownRunning) {
      texts.push_back(
          Worded("hub-more-checks",
                 Counted(checks.size() - kShownRunning, "more check")));
      break;
    }
    texts.push_back(Worded("hub-check-of", check.order->run_id,
                           ActorName(check.order->actor),
                           Counted(check.order->hosts.size(), "host")));
  }
  return texts;
}

std::optional<ClusterNow::ScheduleNow> AskedCheck::Of(
    const std::shared_ptr<const Report>& newest,
    const std::shared_ptr<const Report>& before) {
  if (newest == nullptr || !newest->schedule().empty()) return std::nullopt;
  if (report_.lock() != newest) {
    ReportDiff changes;
    if (before != nullptr) changes = DiffReports(*before, *newest);
    now_ = CheckNow(*newest, before == nullptr ? nullptr : &changes);
    report_ = newest;
  }
  return now_;
}

ClusterWatch::WatcherId ClusterWatch::NewWatcher() {
  absl::MutexLock lock(&mutex_);
  return ++last_id_;
}

void ClusterWatch::Join(WatcherId id, Watcher watcher) {
  std::function<void()> tell = [] {};
  bool starts = false;
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) {
      tell = [on_stop = std::move(watcher.on_stop)] {
        on_stop(UnavailableWords("msg-hub-stopping"));
      };
    } else {
      if (now_ != nullptr) tell = watcher.on_change;
      watchers_[id] = std::move(watcher);
      starts = now_ == nullptr && !in_round_;
      in_round_ |= starts;
    }
  }
  tell();
  if (starts) RunRoundSoon();
}

void ClusterWatch::Leave(WatcherId id) {
  absl::MutexLock lock(&mutex_);
  watchers_.erase(id);
  // The next watcher must not get a state older than a second, so drop it.
  if (watchers_.empty()) now_ = nullptr;
}

std::shared_ptr<const ClusterNow> ClusterWatch::now() const {
  absl::MutexLock lock(&mutex_);
  return now_;
}

void ClusterWatch::RunRoundSoon() {
  gate_.RunSoon(pool_, scheduler_, [this] { RunRound(); });
}

ClusterNow ClusterWatch::Observe() const {
  ClusterNow now;
  now.set_schema_version(1);
  now.set_cluster(cluster_);
  sources_.hosts(&now);
  for (ClusterNow::ScheduleNow& schedule : sources_.schedules()) {
    *now.add_schedules() = std::move(schedule);
  }
  if (auto asked = sources_.asked()) *now.mutable_asked() = *std::move(asked);
  for (FindingValue& run : sources_.running()) {
    *now.mutable_running_words()->add_values() = std::move(run);
  }
  for (ConfirmResponse& each : sources_.pending()) {
    *now.add_pending() = std::move(each);
  }
  return now;
}

void ClusterWatch::RunRound() {
  auto now = std::make_shared<ClusterNow>(Observe());
  std::string bytes = now->SerializeAsString();
  now->set_at_ms(absl::ToUnixMillis(scheduler_->Now()));
  std::vector<std::function<void()>> tell;
  uint64_t round;
  {
    absl::MutexLock lock(&mutex_);
    in_round_ = false;
    round = ++rounds_;
    if (watchers_.empty()) return;
    if (now_ == nullptr || bytes != bytes_) {
      now_ = std::move(now);
      bytes_ = std::move(bytes);
      for (const auto& [id, watcher] : watchers_) {
        tell.push_back(watcher.on_change);
      }
    }
  }
  for (const auto& each : tell) each();
  scheduler_->RunAfter(kInterval, gate_.Wrap([this, round] {
    {
      absl::MutexLock lock(&mutex_);
      // A watcher that joined meanwhile may have started reading sooner.
      if (round != rounds_ || in_round_ || watchers_.empty()) return;
      in_round_ = true;
    }
    RunRoundSoon();
  }));
}

void ClusterWatch::Stop() {
  gate_.Close();
  std::map<WatcherId, Watcher> watchers;
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    watchers.swap(watchers_);
  }
  for (const auto& [id, watcher] : watchers) {
    watcher.on_stop(UnavailableWords("msg-hub-stopping"));
  }
}

}  // namespace clusterd
