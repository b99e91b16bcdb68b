#include "daemon/controller/schedule/check_schedule.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/random/distributions.h"
#include "absl/strings/str_cat.h"
#include "config/report/report_diff.h"
#include "config/rules/judge.h"
#include "config/values/status_macros.h"
#include "config/words/number_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/history/newest_report.h"
#include "daemon/controller/hosts/spec_holder.h"

namespace clusterd {
namespace {

// So that people's checks have most of the hosts' time.
constexpr size_t kAtOnce = 2;
constexpr int kShownWrong = 20;
constexpr absl::Duration kMayNotBeTold = absl::Minutes(10);

ClusterNow::ScheduleNow ScheduleNowOf(const Report& report,
                                      const ReportDiff& diff) {
  ClusterNow::ScheduleNow now;
  now.set_name(report.schedule());
  *now.mutable_changes() = diff;
  std::vector<const RuleResult*> wrong;
  for (const RuleResult& result : report.rules()) {
    if (result.state() != PASS && result.state() != SKIPPED) {
      wrong.push_back(&result);
    }
  }
  absl::c_stable_sort(wrong, [](const RuleResult* a, const RuleResult* b) {
    return KnownState(a->state()) > KnownState(b->state());
  });
  for (const RuleResult* result : wrong) {
    if (now.wrong_size() == kShownWrong) break;
    *now.add_wrong() = *result;
  }
  now.set_more_wrong(static_cast<uint32_t>(wrong.size()) -
                     static_cast<uint32_t>(now.wrong_size()));
  Report* const newest = now.mutable_newest();
  *newest = report;
  newest->clear_rules();
  newest->clear_hosts();
  newest->clear_value_groups();
  newest->clear_switches();
  return now;
}

absl::Duration EveryOf(const ScheduledCheck& check) {
  return absl::Seconds(check.every_s());
}

}  // namespace

void CheckSchedule::ReadSpec(absl::Duration settle) {
  const CallbackGate::Pass pass(gate_);
  if (!pass) return;
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
  std::vector<ScheduledPtr> recalled;
  std::vector<ScheduledPtr> gone;
  {
    absl::MutexLock lock(&mutex_);
    std::vector<ScheduledPtr> before = std::exchange(all_, {});
    for (const ScheduledCheck& check : spec->schedule()) {
      const auto old = absl::c_find_if(before, [&](const ScheduledPtr& one) {
        return one->check.name() == check.name();
      });
      ScheduledPtr one;
      if (old != before.end()) {
        one = *old;
        before.erase(old);
      } else {
        one = std::make_shared<Scheduled>();
      }
      all_.push_back(one);
      if (one->check.SerializeAsString() == check.SerializeAsString()) continue;
      // What runs of the old form ends as such.
      CancelTimersLocked(one.get());
      one->check = check;
      recalled.push_back(one);
    }
    for (const ScheduledPtr& one : before) {
      one->gone = true;
      CancelTimersLocked(one.get());
      gone.push_back(one);
    }
  }
  for (const ScheduledPtr& one : gone) {
    std::shared_ptr<FactRun> run;
    {
      absl::MutexLock lock(&mutex_);
      run = one->run;
    }
    if (run == nullptr) continue;
    run->Cancel();
    Finish(one);
  }
  for (const ScheduledPtr& one : recalled) {
    gate_.RunSoon(parts_.pool, parts_.scheduler,
                  [this, one, settle] { Recall(one, settle); });
  }
}

std::vector<Report> CheckSchedule::Newest(const std::string& name,
                                          size_t count) const {
  std::vector<Report> reports;
  const auto entries = parts_.history->NewestOfSchedule(name, count);
  absl::Status status = entries.status();
  for (size_t i = 0; status.ok() && i < entries->size(); ++i) {
    absl::StatusOr<HistoryRecord> record =
        parts_.history->Get((*entries)[i].id());
    status = record.status();
    if (status.ok()) reports.push_back(std::move(*record->mutable_report()));
  }
  // A closed one was logged when it was opened.
  if (!status.ok() && !absl::IsFailedPrecondition(status)) {
    parts_.log->Warning(
        absl::StrCat("schedule ", name,
                     ": the check before cannot be read: ", status.message()));
  }
  return reports;
}

void CheckSchedule::Recall(const ScheduledPtr& one, absl::Duration settle) {
  std::string name;
  bool known;
  {
    absl::MutexLock lock(&mutex_);
    name = one->check.name();
    known = one->newest != nullptr;
  }
  std::vector<Report> newest;
  if (!known) newest = Newest(name, 2);
  VerdictWatch watch;
  std::shared_ptr<const ClusterNow::ScheduleNow> now;
  if (!newest.empty()) {
    const bool has_before = newest.size() > 1;
    now = std::make_shared<const ClusterNow::ScheduleNow>(
        ScheduleNowOf(newest[0], has_before ? DiffReports(newest[1], newest[0])
                                            : ReportDiff()));
    const absl::Duration age = parts_.scheduler->Now() -
                               absl::FromUnixMillis(newest[0].started_at_ms());
    // Without one before, PASS was told.
    if (age > kMayNotBeTold) {
      watch = VerdictWatch(VerdictsOf(newest[0]));
    } else if (has_before) {
      watch = VerdictWatch(VerdictsOf(newest[1]));
    }
  }
  absl::MutexLock lock(&mutex_);
  if (now != nullptr && one->newest == nullptr) {
    one->newest = std::move(now);
    one->watch = watch;
  }
  // Read again meanwhile: then that call arms it.
  if (one->gone || one->timer != 0) return;
  const absl::Duration most = std::min(EveryOf(one->check), kMostJitter);
  ArmLocked(one, settle + absl::Uniform(random_, 0.0, 1.0) * most);
}

void CheckSchedule::ArmLocked(const ScheduledPtr& one, absl::Duration delay) {
  one->next_at = parts_.scheduler->Now() + delay;
  one->timer = parts_.scheduler->RunAfter(
      delay, gate_.Wrap([this, one] { OnTimer(one); }));
}

void CheckSchedule::LookLocked(const ScheduledPtr& one, absl::Duration delay) {
  parts_.scheduler->Cancel(one->look);
  one->look = parts_.scheduler->RunAfter(
      delay, gate_.Wrap([this, one] { OnLook(one); }));
}

void CheckSchedule::CancelTimersLocked(Scheduled* one) {
  parts_.scheduler->Cancel(std::exchange(one->timer, 0));
  parts_.scheduler->Cancel(std::exchange(one->look, 0));
  one->due = false;
}

void CheckSchedule::OnTimer(const ScheduledPtr& one) {
  bool left_out = false;
  std::string name;
  {
    absl::MutexLock lock(&mutex_);
    if (one->gone || one->timer == 0) return;
    ArmLocked(one, EveryOf(one->check));
    left_out = one->running;
    one->due = !left_out;
    name = one->check.name();
  }
  if (left_out) {
    parts_.log->Warning(
        absl::StrCat("schedule ", name,
                     ": the check before still runs, this one is left out"));
  }
  BeginDue();
}

void CheckSchedule::OnLook(const ScheduledPtr& one) {
  {
    absl::MutexLock lock(&mutex_);
    if (one->gone || one->look == 0) return;
    one->look = 0;
    one->due = !one->running;
  }
  BeginDue();
}

CheckSchedule::ScheduledPtr CheckSchedule::TakeDue(ScheduledCheck* check) {
  absl::MutexLock lock(&mutex_);
  if (at_once_ >= kAtOnce) return nullptr;
  for (const ScheduledPtr& one : all_) {
    if (!one->due) continue;
    one->due = false;
    one->running = true;
    ++at_once_;
    *check = one->check;
    return one;
  }
  return nullptr;
}

void CheckSchedule::BeginDue() {
  ScheduledCheck check;
  while (const ScheduledPtr one = TakeDue(&check)) {
    const absl::Status begun = Begin(one, check);
    if (begun.ok()) continue;
    const bool is_full = absl::IsResourceExhausted(begun);
    parts_.log->Write(
        is_full ? LogLevel::kInfo : LogLevel::kWarning,
        absl::StrCat("schedule ", check.name(),
                     is_full ? ": begins later: " : ": no check begins: ",
                     begun.message()));
    absl::MutexLock lock(&mutex_);
    EndLocked(one.get());
    if (!one->gone && is_full) LookLocked(one, kScheduleRetry);
  }
}

absl::Status CheckSchedule::Begin(const ScheduledPtr& one,
                                  const ScheduledCheck& check) {
  const auto order = std::make_shared<FactOrder>();
  order->run_id = NewRunId();
  order->actor = ControllerActor(parts_.spec->cluster());
  order->spec = parts_.spec->spec();
  order->started_at = parts_.scheduler->Now();
  // The spec may be a newer one, which the next reading of it tells.
  ASSIGN_OR_RETURN(order->hosts, SelectHosts(*order->spec, check.hosts()));
  RETURN_IF_ERROR(ValidateSelection(check.selection()));
  FactRun::Callbacks callbacks;
  callbacks.on_facts = gate_.Wrap(
      [this, one, order, check](const std::vector<HostFacts>& facts) {
        Conclude(one, *order, check, facts);
      });
  const auto run =
      std::make_shared<FactRun>(order, parts_, std::move(callbacks));
  {
    absl::MutexLock lock(&mutex_);
    if (one->gone) {
      return absl::CancelledError("cluster.yaml has the schedule no more");
    }
    one->run = run;
  }
  running_->Note({order, check.selection(), run});
  const absl::Status started = run->Start();
  if (!started.ok()) run->Cancel();
  return started;
}

void CheckSchedule::Conclude(const ScheduledPtr& one, const FactOrder& order,
                             const ScheduledCheck& check,
                             const std::vector<HostFacts>& facts) {
  Report made =
      MakeCheckReport(order, check.selection(), facts, parts_.scheduler->Now());
  made.set_schedule(check.name());
  for (std::string& note : notes_()) made.add_notes(std::move(note));
  HistoryRecord record = RecordOfCheck(std::move(made), order.actor);
  VerdictNews news;
  news.diff = Keep(one, &record);
  news.report = std::move(*record.mutable_report());
  if (parts_.newest != nullptr) parts_.newest->Offer(news.report, *order.spec);
  auto now = std::make_shared<const ClusterNow::ScheduleNow>(
      ScheduleNowOf(news.report, news.diff));
  const absl::Time now_at = parts_.scheduler->Now();
  News found;
  {
    absl::MutexLock lock(&mutex_);
    one->newest = std::move(now);
    news.before = one->watch.told();
    found = one->gone ? News::kNone
                      : one->watch.See(VerdictsOf(news.report),
                                       order.started_at, now_at);
    if (found == News::kLookAgain && one->next_at > now_at + kSecondLook) {
      LookLocked(one, kSecondLook);
    }
  }
  parts_.log->Info(absl::StrCat("schedule ", check.name(), ": ",
                                StateWord(KnownState(news.report.verdict())),
                                ", check ", order.run_id,
                                Part(", ", record.entry().changes())));
  if (found == News::kTell) tell_(*order.spec, std::move(news));
  Finish(one);
}

ReportDiff CheckSchedule::Keep(const ScheduledPtr& one, HistoryRecord* record) {
  const Report& report = record->report();
  HistoryEntry* const entry = record->mutable_entry();
  entry->set_schedule(report.schedule());
  std::shared_ptr<const Report> before;
  {
    absl::MutexLock lock(&mutex_);
    before = one->unkept;
  }
  if (before == nullptr) {
    std::vector<Report> newest = Newest(report.schedule(), 1);
    if (!newest.empty()) {
      before = std::make_shared<const Report>(std::move(newest[0]));
    }
  }
  ReportDiff diff;
  if (before != nullptr) {
    diff = DiffReports(*before, report);
    entry->set_previous_id(before->run_id());
    entry->set_changes(DiffSummary(diff));
  }
  const absl::Status kept = parts_.history->Add(*record);
  if (!kept.ok()) {
    parts_.log->Warning(absl::StrCat("history: check ", entry->id(),
                                     " is not kept: ", kept.message()));
  }
  absl::MutexLock lock(&mutex_);
  one->unkept = kept.ok() ? nullptr : std::make_shared<const Report>(report);
  return diff;
}

void CheckSchedule::Finish(const ScheduledPtr& one) {
  {
    absl::MutexLock lock(&mutex_);
    EndLocked(one.get());
  }
  BeginDue();
}

// Whoever cancels a run and whoever sees it end may both come here.
void CheckSchedule::EndLocked(Scheduled* one) {
  one->run = nullptr;
  if (std::exchange(one->running, false)) --at_once_;
}

std::vector<ClusterNow::ScheduleNow> CheckSchedule::Now() const {
  std::vector<Scheduled> seen;
  {
    absl::MutexLock lock(&mutex_);
    for (const ScheduledPtr& one : all_) seen.push_back(*one);
  }
  std::vector<ClusterNow::ScheduleNow> all;
  for (const Scheduled& one : seen) {
    ClusterNow::ScheduleNow& now = all.emplace_back();
    if (one.newest != nullptr) now = *one.newest;
    now.set_name(one.check.name());
    if (one.timer != 0) now.set_next_at_ms(absl::ToUnixMillis(one.next_at));
  }
  return all;
}

void CheckSchedule::Stop() {
  gate_.Close();
  std::vector<std::shared_ptr<FactRun>> runs;
  {
    absl::MutexLock lock(&mutex_);
    for (const ScheduledPtr& one : all_) {
      CancelTimersLocked(one.get());
      if (one->run != nullptr) runs.push_back(std::move(one->run));
      one->run = nullptr;
    }
    all_.clear();
  }
  for (const auto& run : runs) run->Cancel();
}

}  // namespace clusterd
