#include "daemon/controller/schedule/check_schedule.h"

#include <algorithm>
#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/random/distributions.h"
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
#include "daemon/controller/watch/cluster_watch.h"

namespace clusterd {
namespace {

constexpr int kSentAtSight = 3;

constexpr absl::Duration kMayBePending = absl::Minutes(10);
// Checks recalled at a restart, more than begin within kMayBePending; and how
// many earlier reports, which may be large, are read for the sent state.
constexpr size_t kRecalled = 32;
constexpr size_t kMostRead = 8;

absl::Duration EveryOf(const ScheduledCheck& check) {
  return absl::Seconds(check.every_s());
}

// Waived findings are not news.
State UnwaivedState(const RuleResult& result) {
  State worst = PASS;
  bool waived = false;
  for (const Finding& finding : result.findings()) {
    waived |= finding.has_waiver();
    if (finding.has_waiver() || finding.state() == SKIPPED) continue;
    worst = WorseState(worst, KnownState(finding.state()));
  }
  return waived ? worst : KnownState(result.state());
}

Verdicts VerdictsOfFailure(const std::string& rule, bool fails) {
  const State state = fails ? FAIL : PASS;
  return {state, absl::c_linear_search(NetworkRules(), rule) ? PASS : state};
}

CheckRound KeptRound(const Report& report) {
  const absl::Time at = absl::FromUnixMillis(report.started_at_ms());
  return RoundOf(report, at, at + absl::Milliseconds(report.elapsed_ms()));
}

}  // namespace

absl::Span<const absl::string_view> NetworkRules() {
  static constexpr absl::string_view kRules[] = {
      "link",       "net-health", "lldp",          "optics",
      "link-flaps", "lldp-rail",  "speed-uniform", "host-identity"};
  return kRules;
}

Verdicts VerdictsOf(const Report& report) {
  Verdicts verdicts;
  State of_rules = PASS;
  for (const RuleResult& result : report.rules()) {
    if (result.state() == SKIPPED) continue;
    of_rules = WorseState(of_rules, KnownState(result.state()));
    const State state = UnwaivedState(result);
    verdicts.all = WorseState(verdicts.all, state);
    if (absl::c_linear_search(NetworkRules(), result.rule())) continue;
    verdicts.without_network = WorseState(verdicts.without_network, state);
  }
  // The verdict is worse than all rules if a finding could not be judged.
  const State verdict = KnownState(report.verdict());
  if (verdict != of_rules) verdicts.all = WorseState(verdicts.all, verdict);
  return verdicts;
}

News VerdictWatch::See(const Verdicts& seen, absl::Time began,
                       absl::Time ended) {
  if (seen.all == sent_.all) {
    sent_ = seen;
    in_a_row_ = 0;
    if (seen_better_) seen_at_ = absl::InfinitePast();
    return News::kNone;
  }
  const bool network_alone = seen.without_network == sent_.without_network;
  const bool twice = began >= seen_at_ && began - seen_at_ <= kSeenTwiceWithin;
  if (network_alone && !twice && ++in_a_row_ < kSentAtSight) {
    seen_at_ = ended;
    seen_better_ = WorseState(seen.all, sent_.all) == sent_.all;
    return News::kCheckAgain;
  }
  sent_ = seen;
  in_a_row_ = 0;
  seen_at_ = absl::InfinitePast();
  return News::kTell;
}

CheckRound RoundOf(const Report& report, absl::Time began, absl::Time ended) {
  CheckRound round = {VerdictsOf(report), {}, {}, began, ended};
  for (const RuleResult& result : report.rules()) {
    for (const Finding& finding : result.findings()) {
      const State state = KnownState(finding.state());
      if (finding.has_waiver() || (state != FAIL && state != UNKNOWN)) continue;
      const bool is_silence =
          state == UNKNOWN && result.rule() == "host-identity";
      Failures& list =
          state == FAIL || is_silence ? round.failing : round.unjudged;
      if (finding.subjects().empty()) list.emplace(result.rule(), "");
      for (const Subject& subject : finding.subjects()) {
        list.emplace(result.rule(), subject.host());
        if (is_silence) round.unjudged.emplace("", subject.host());
      }
    }
  }
  return round;
}

News ReportWatch::See(const CheckRound& round, NewFailures* started) {
  News news = verdict_.See(round.verdicts, round.began, round.ended);
  NewFailures found;
  for (const auto& failure : round.failing) {
    if (failures_[failure].sent() != PASS) continue;
    std::vector<std::string>& hosts = found[failure.first];
    if (!failure.second.empty()) hosts.push_back(failure.second);
  }
  for (auto it = failures_.begin(); it != failures_.end();) {
    auto& [failure, watch] = *it;
    const bool fails = round.failing.count(failure) > 0;
    const bool is_judged = round.unjudged.count(failure) == 0 &&
                           round.unjudged.count({"", failure.second}) == 0;
    if (fails || is_judged) {
      const News own = watch.See(VerdictsOfFailure(failure.first, fails),
                                 round.began, round.ended);
      // A fix is not news, but needs a second check to confirm it, too.
      if (fails || own == News::kCheckAgain) news = std::max(news, own);
    }
    it = !fails && watch.IsQuiet(round.began) ? failures_.erase(it)
                                              : std::next(it);
  }
  if (news == News::kTell) MarkSent(round);
  in_doubt_ &= news != News::kTell;
  if (news == News::kTell && started != nullptr) *started = std::move(found);
  return news;
}

void ReportWatch::MarkSent(const CheckRound& round) {
  verdict_ = VerdictWatch(round.verdicts);
  for (const auto& failure : round.failing) {
    failures_[failure] = VerdictWatch(VerdictsOfFailure(failure.first, true));
  }
}

void CheckSchedule::ReadSpec(absl::Duration settle) {
  const CallbackGate::Pass pass(gate_);
  if (!pass) return;
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
  std::vector<ScheduledPtr> recalled;
  std::vector<ScheduledPtr> gone;  // Initially all earlier ones.
  std::vector<FactQueue::Ticket> tickets;
  struct Open {
    ScheduledPtr one;
    FactQueue::Ticket ticket;
    absl::Time due_since;
  };
  std::vector<Open> open;
  {
    absl::MutexLock lock(&mutex_);
    gone = std::exchange(all_, {});
    for (const ScheduledCheck& check : spec->schedule()) {
      const auto old = absl::c_find_if(gone, [&](const ScheduledPtr& one) {
        return one->check.name() == check.name();
      });
      const ScheduledPtr one =
          old != gone.end() ? *old : std::make_shared<Scheduled>();
      if (old != gone.end()) gone.erase(old);
      all_.push_back(one);
      if (one->ticket != 0) open.push_back({one, one->ticket, one->due_since});
      if (one->check.SerializeAsString() == check.SerializeAsString()) continue;
      // A running check of the old schedule ends as such.
      CancelTimersLocked(one.get());
      one->check = check;
      recalled.push_back(one);
    }
    for (const ScheduledPtr& one : gone) {
      one->gone = true;
      CancelTimersLocked(one.get());
      tickets.push_back(std::exchange(one->ticket, 0));
    }
  }
  for (const FactQueue::Ticket ticket : tickets) parts_.queue->Leave(ticket);
  // Checks that wait would use the earlier spec. The longest waiting stays
  // first.
  absl::c_stable_sort(open, [](const Open& a, const Open& b) {
    return a.due_since < b.due_since;
  });
  for (const auto& [one, ticket, due_since] : open) {
    if (parts_.queue->ProgressOf(ticket).place() == 0) continue;
    {
      absl::MutexLock lock(&mutex_);
      if (one->ticket == ticket) one->ticket = 0;
    }
    parts_.queue->Leave(ticket);
    if (!absl::c_linear_search(recalled, one)) Begin(one, due_since);
  }
  for (const ScheduledPtr& one : recalled) {
    gate_.RunSoon(parts_.pool, parts_.scheduler,
                  [this, one, settle] { Recall(one, settle); });
  }
}

std::vector<HistoryEntry> CheckSchedule::Newest(const std::string& name,
                                                size_t count) const {
  absl::StatusOr<std::vector<HistoryEntry>> entries =
      parts_.history->NewestOfSchedule(name, count);
  if (entries.ok()) return *std::move(entries);
  LogUnread(name, entries.status());
  return {};
}

std::shared_ptr<const Report> CheckSchedule::Read(
    const HistoryEntry& entry) const {
  absl::StatusOr<HistoryRecord> record = parts_.history->Get(entry.id());
  if (record.ok()) {
    return std::make_shared<const Report>(std::move(*record->mutable_report()));
  }
  LogUnread(entry.schedule(), record.status());
  return nullptr;
}

void CheckSchedule::LogUnread(const std::string& name,
                              const absl::Status& status) const {
  // A closed history was logged when it was opened.
  if (absl::IsFailedPrecondition(status)) return;
  parts_.log->Warning("schedule ", name,
                      ": the check before cannot be read: ", status.message());
}

ReportWatch CheckSchedule::WatchOf(
    const std::vector<HistoryEntry>& newest) const {
  const absl::Time surely_sent = parts_.scheduler->Now() - kMayBePending;
  size_t at = 0;
  while (at < newest.size() &&
         absl::FromUnixMillis(newest[at].started_at_ms()) >= surely_sent) {
    ++at;
  }
  const size_t sure = at;
  // Read back to a check whose verdict was certainly sent, and replay the later
  // ones. If there is no such check, the sent verdict was PASS.
  ReportWatch watch;
  std::vector<CheckRound> rounds;
  for (; at < newest.size() && rounds.size() < kMostRead; ++at) {
    const std::shared_ptr<const Report> report = Read(newest[at]);
    if (report == nullptr) break;
    const CheckRound round = KeptRound(*report);
    // Checks are missing in between: the history drops equal ones.
    bool was_sent = at > 0 && newest[at - 1].previous_id() != newest[at].id();
    const size_t later = rounds.size();
    was_sent |= later >= 2 &&
                rounds[later - 1].verdicts.all == round.verdicts.all &&
                rounds[later - 2].verdicts.all == round.verdicts.all;
    if (later > 0) {
      const CheckRound& next = rounds.back();
      was_sent |=
          VerdictWatch(round.verdicts)
              .See(next.verdicts, next.began, next.ended) == News::kTell;
    }
    if (was_sent) {
      watch = ReportWatch(&round);
      break;
    }
    rounds.push_back(round);
  }
  for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) {
    watch.See(*round);
  }
  // Later news may also have been sent; it is sent again.
  ReportWatch all = watch;
  for (size_t i = sure; i > 0; --i) {
    if (const auto report = Read(newest[i - 1])) all.See(KeptRound(*report));
  }
  if (all.sent() != watch.sent()) watch.Doubt();
  return watch;
}

void CheckSchedule::Recall(const ScheduledPtr& one, absl::Duration settle) {
  std::string name;
  bool known;
  {
    absl::MutexLock lock(&mutex_);
    name = one->check.name();
    known = one->newest != nullptr;
  }
  std::vector<HistoryEntry> newest;
  if (!known) newest = Newest(name, kRecalled);
  const ReportWatch watch = WatchOf(newest);
  std::shared_ptr<const ClusterNow::ScheduleNow> now;
  const auto report = newest.empty() ? nullptr : Read(newest[0]);
  if (report != nullptr) {
    const auto before = newest.size() > 1 ? Read(newest[1]) : nullptr;
    ReportDiff diff;
    if (before != nullptr) diff = DiffReports(*before, *report);
    now = std::make_shared<const ClusterNow::ScheduleNow>(
        CheckNow(*report, before != nullptr ? &diff : nullptr));
  }
  absl::MutexLock lock(&mutex_);
  if (!known && one->newest == nullptr) {
    one->newest = std::move(now);
    one->watch = watch;
  }
  // If the spec was re-read meanwhile, that call arms it.
  if (one->gone || one->timer != 0) return;
  const absl::Duration most = std::min(EveryOf(one->check), kMostJitter);
  ArmLocked(one, settle + absl::Uniform(random_, 0.0, 1.0) * most);
}

void CheckSchedule::ArmLocked(const ScheduledPtr& one, absl::Duration delay) {
  one->next_at = parts_.scheduler->Now() + delay;
  one->timer = parts_.scheduler->RunAfter(
      delay, gate_.Wrap([this, one] { OnTimer(one); }));
}

void CheckSchedule::RoundLocked(const ScheduledPtr& one, absl::Duration delay) {
  parts_.scheduler->Cancel(one->round);
  one->round = parts_.scheduler->RunAfter(delay, gate_.Wrap([this, one] {
    {
      absl::MutexLock lock(&mutex_);
      if (one->gone || one->round == 0) return;
      one->round = 0;
    }
    Begin(one, parts_.scheduler->Now());
  }));
}

void CheckSchedule::CancelTimersLocked(Scheduled* one) {
  parts_.scheduler->Cancel(std::exchange(one->timer, 0));
  parts_.scheduler->Cancel(std::exchange(one->round, 0));
}

void CheckSchedule::OnTimer(const ScheduledPtr& one) {
  FactQueue::Ticket before;
  absl::Duration waited;
  std::string name;
  {
    absl::MutexLock lock(&mutex_);
    if (one->gone || one->timer == 0) return;
    ArmLocked(one, EveryOf(one->check));
    before = one->ticket;
    waited = parts_.scheduler->Now() - one->due_since;
    name = one->check.name();
  }
  if (before == 0) return Begin(one, parts_.scheduler->Now());
  if (parts_.queue->ProgressOf(before).place() == 0) {
    parts_.log->Warning("schedule ", name,
                        ": the check before still runs, this one is left out");
    return;
  }
  {
    absl::MutexLock lock(&mutex_);
    if (std::exchange(one->wait_logged, true)) return;
  }
  parts_.log->Warning(
      "schedule ", name, ": has waited ", absl::FormatDuration(waited),
      " for a place: ",
      kCallLimits[static_cast<size_t>(CallClass::kSchedule)].at_once,
      " run at once");
}

void CheckSchedule::Begin(const ScheduledPtr& one, absl::Time due_since) {
  const FactQueue::Ticket ticket = parts_.queue->NewTicket();
  ScheduledCheck check;
  {
    absl::MutexLock lock(&mutex_);
    if (one->gone || one->ticket != 0) return;
    one->ticket = ticket;
    one->due_since = due_since;
    one->wait_logged = false;
    check = one->check;
  }
  FactQueue::Question question;
  question.of = CallClass::kSchedule;
  question.key = check.name();
  question.who = ControllerActor(parts_.spec->cluster());
  FactQueue::Work<void> work;
  work.prepare = [this, check] { return Prepare(check); };
  work.conclude = [this, gate = gate_, one, check](const Gathered& gathered) {
    const CallbackGate::Pass pass(gate);
    if (pass) Conclude(one, gathered.order, check, gathered.facts);
    return nullptr;
  };
  FactQueue::Caller<void> caller;
  caller.on_end =
      gate_.Wrap([this, one, ticket, name = check.name()](const auto& end) {
        Finish(one, ticket, name, end.status());
      });
  parts_.queue->Ask(ticket, question, std::move(work), std::move(caller));
}

absl::StatusOr<std::shared_ptr<FactOrder>> CheckSchedule::Prepare(
    const ScheduledCheck& check) const {
  auto order = std::make_shared<FactOrder>();
  order->actor = ControllerActor(parts_.spec->cluster());
  order->spec = parts_.spec->spec();
  // The spec may be newer; re-reading it will update the schedule.
  ASSIGN_OR_RETURN(order->hosts, SelectHosts(*order->spec, check.hosts()));
  RETURN_IF_ERROR(ValidateSelection(check.selection()));
  order->judged = order->selection = check.selection();
  return order;
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
  if (parts_.newest != nullptr)
    parts_.newest->Offer(news.report, *order.spec, parts_.scheduler->Now());
  auto now = std::make_shared<const ClusterNow::ScheduleNow>(CheckNow(
      news.report, news.diff.before_run_id().empty() ? nullptr : &news.diff));
  const absl::Time now_at = parts_.scheduler->Now();
  const CheckRound round = RoundOf(news.report, order.started_at, now_at);
  News found;
  {
    absl::MutexLock lock(&mutex_);
    one->newest = std::move(now);
    news.before = one->watch.sent();
    found = one->gone ? News::kNone : one->watch.See(round, &news.started);
    if (found == News::kCheckAgain && one->next_at > now_at + kSecondRound) {
      RoundLocked(one, kSecondRound);
    }
  }
  parts_.log->Info("schedule ", check.name(), ": ",
                   StateWord(KnownState(news.report.verdict())), ", check ",
                   order.run_id,
                   Part(", ", ValueText(record.entry().changes_words())));
  if (found == News::kTell) tell_(std::move(news));
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
    const std::vector<HistoryEntry> newest = Newest(report.schedule(), 1);
    if (!newest.empty()) before = Read(newest[0]);
  }
  ReportDiff diff;
  if (before != nullptr) {
    diff = DiffReports(*before, report);
    entry->set_previous_id(before->run_id());
    const FindingValue changes = DiffSummaryWords(diff);
    if (!changes.words().empty()) *entry->mutable_changes_words() = changes;
  }
  const absl::Status kept = parts_.history->AddOrLog(*record, parts_.log);
  absl::MutexLock lock(&mutex_);
  one->unkept = kept.ok() ? nullptr : std::make_shared<const Report>(report);
  return diff;
}

void CheckSchedule::Finish(const ScheduledPtr& one, FactQueue::Ticket ticket,
                           const std::string& name, const absl::Status& end) {
  parts_.queue->Leave(ticket);
  const bool is_full = absl::IsResourceExhausted(end);
  {
    absl::MutexLock lock(&mutex_);
    if (one->ticket == ticket) one->ticket = 0;
    if (is_full && !one->gone) RoundLocked(one, kScheduleRetry);
  }
  if (end.ok()) return;
  parts_.log->Write(
      is_full ? LogLevel::kInfo : LogLevel::kWarning,
      absl::StrCat(
          "schedule ", name,
          is_full ? ": begins later: " : ": no check begins: ", end.message()));
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
  std::vector<FactQueue::Ticket> tickets;
  {
    absl::MutexLock lock(&mutex_);
    for (const ScheduledPtr& one : all_) {
      CancelTimersLocked(one.get());
      tickets.push_back(std::exchange(one->ticket, 0));
    }
    all_.clear();
  }
  for (const FactQueue::Ticket ticket : tickets) parts_.queue->Leave(ticket);
}

}  // namespace clusterd
