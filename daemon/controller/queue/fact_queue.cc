#include "daemon/controller/queue/fact_queue.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/process/scheduler.h"

namespace clusterd {

FactQueue::Ticket FactQueue::NewTicket() {
  absl::MutexLock lock(&mutex_);
  return ++last_id_;
}

FactQueue::Run* FactQueue::FindLocked(CallClass of, RunId id) {
  Lane& lane = LaneLocked(of);
  const auto found = lane.runs.find(id);
  return found == lane.runs.end() ? nullptr : &found->second;
}

void FactQueue::AskAny(Ticket ticket, const Question& question, AnyWork work,
                       AnyCaller caller) {
  const CallClass of = question.of;
  const auto prepare = work.prepare;
  const auto on_progress = caller.on_progress;
  const auto on_end = caller.on_end;
  const std::string host = question.host;
  absl::StatusOr<RunId> id;
  bool is_new = false;
  std::shared_ptr<FactRun> begun;
  {
    absl::MutexLock lock(&mutex_);
    id = JoinLocked(question, &work, &is_new);
    if (id.ok()) {
      Run& run = *FindLocked(of, *id);
      run.calls[ticket] = {std::move(caller), question.who, host,
                           question.at_once == 0 ? LimitsOf(of).at_once_of_one
                                                 : question.at_once,
                           question.give_up};
      places_[ticket] = {of, *id, question.who};
      run.give_up = std::min(run.give_up, question.give_up);
      Lane& lane = LaneLocked(of);
      lane.first_give_up = std::min(lane.first_give_up, run.give_up);
      host.empty() ? void(run.of_all = true)
                   : void(run.asked[host] = parts_.scheduler->Now());
      begun = run.facts;
    }
  }
  if (!id.ok()) return on_end(id.status());
  if (begun != nullptr) {
    host.empty() ? begun->AskAllHeld() : begun->AskHeld(host);
  }
  if (is_new) return OnPrepared(of, *id, prepare());
  // Its user may have a place for a run that waits.
  if (begun == nullptr) BeginNext(of);
  on_progress();
}

bool FactQueue::Joins(const Question& question) const {
  absl::MutexLock lock(&mutex_);
  return JoinableLocked(question) != 0;
}

FactQueue::RunId FactQueue::JoinableLocked(const Question& question) const {
  const Lane& lane = lanes_[static_cast<size_t>(question.of)];
  const auto newest = lane.newest.find(question.key);
  if (newest == lane.newest.end()) return 0;
  const Run& run = lane.runs.at(newest->second);
  if (run.stage < Stage::kAsking) return newest->second;
  if (run.stage == Stage::kOver || !question.joins_begun) return 0;
  const bool can_ask =
      run.of_all || parts_.scheduler->Now() < run.held_until ||
      (question.host.empty() ? absl::c_all_of(run.order->hosts,
                                              [&run](const std::string& host) {
                                                return run.asked.contains(host);
                                              })
                             : run.asked.contains(question.host));
  return can_ask ? newest->second : 0;
}

absl::StatusOr<FactQueue::RunId> FactQueue::JoinLocked(const Question& question,
                                                       AnyWork* work,
                                                       bool* is_new) {
  if (stopping_) return UnavailableWords("msg-hub-stopping");
  const CallLimits& limits = LimitsOf(question.of);
  Lane& lane = LaneLocked(question.of);
  RunId id = JoinableLocked(question);
  *is_new = id == 0;
  if (!lane.callers.Has(question.who, 1, limits.callers,
                        limits.callers_of_one) ||
      (*is_new && (!lane.waiting.Has(question.who, 1, limits.waiting,
                                     limits.waiting_of_one) ||
                   !lane.bytes.Has(question.who, question.bytes, limits.bytes,
                                   limits.bytes_of_one)))) {
    return ExhaustedWords("msg-hub-queue-full", limits.waiting, limits.callers,
                          question.who);
  }
  if (!*is_new && !question.host.empty()) {
    const Run& run = lane.runs.at(id);
    if (run.order != nullptr && !run.hosts.contains(question.host)) {
      return DeniedWords("msg-hub-not-in-job", question.host);
    }
  }
  lane.callers.Take(question.who);
  if (!*is_new) return id;
  id = ++last_id_;
  lane.waiting.Take(question.who);
  lane.bytes.Take(question.who, question.bytes);
  Run& run = lane.runs[id];
  run.asked = question.asked;
  const auto newest = lane.newest.find(question.key);
  if (newest != lane.newest.end()) {
    for (const auto& [host, at] : lane.runs.at(newest->second).asked) {
      run.asked[host] = at;
    }
  }
  // The age is negative if the clock was set back.
  const absl::Time now = parts_.scheduler->Now();
  absl::erase_if(run.asked, [&](const auto& asked) {
    return asked.second > now || now - asked.second > question.counts_for;
  });
  lane.newest[question.key] = id;
  run.question = question;
  run.work = std::move(*work);
  return id;
}

void FactQueue::OnPrepared(
    CallClass of, RunId id,
    const absl::StatusOr<std::shared_ptr<FactOrder>>& order) {
  if (!order.ok()) return End(of, id, order.status());
  // A host outside the run must not begin it.
  Calls strangers;
  Erased erased;
  {
    absl::MutexLock lock(&mutex_);
    Run* const run = FindLocked(of, id);
    if (run == nullptr || run->stage != Stage::kPreparing) return;
    run->order = *order;
    run->hosts.insert((*order)->hosts.begin(), (*order)->hosts.end());
    for (auto call = run->calls.begin(); call != run->calls.end();) {
      const std::string& host = call->second.host;
      const bool stays = host.empty() || run->hosts.contains(host);
      stays ? void(++call) : void(strangers.insert(run->calls.extract(call++)));
    }
    if (run->calls.empty()) {
      erased = EraseLocked(of, id);
    } else {
      Lane& lane = LaneLocked(of);
      run->stage = Stage::kWaiting;
      lane.waiting_runs.insert(id);
    }
  }
  for (const auto& [ticket, call] : strangers) {
    call.caller.on_end(DeniedWords("msg-hub-not-in-job", call.host));
  }
  BeginNext(of);
  NoteProgress(of, id);
}

void FactQueue::BeginNext(CallClass of) {
  {
    absl::MutexLock lock(&mutex_);
    Lane& lane = LaneLocked(of);
    lane.again = lane.begins;
    if (std::exchange(lane.begins, true)) return;
  }
  while (true) {
    std::vector<Ended> late;
    RunId next;
    {
      absl::MutexLock lock(&mutex_);
      Lane& lane = LaneLocked(of);
      late = TakeLateLocked(of);
      next = TakeNextLocked(of);
      lane.begins = next != 0 || !late.empty() || lane.again;
      lane.again = false;
      if (!lane.begins) return;
    }
    for (const Ended& ended : late) {
      Tell(ended, DeadlineWords("msg-hub-no-turn"));
    }
    if (next != 0) Begin(of, next);
  }
}

std::vector<FactQueue::Ended> FactQueue::TakeLateLocked(CallClass of) {
  const absl::Time now = parts_.scheduler->Now();
  Lane& lane = LaneLocked(of);
  if (lane.first_give_up >= now) return {};
  lane.first_give_up = absl::InfiniteFuture();
  std::vector<RunId> late;
  for (const RunId id : lane.waiting_runs) {
    const Run& run = lane.runs.at(id);
    if (absl::c_any_of(run.calls, [](const auto& call) {
          return call.second.give_up == absl::InfiniteFuture();
        })) {
      continue;
    }
    if (run.give_up < now) {
      late.push_back(id);
    } else {
      lane.first_give_up = std::min(lane.first_give_up, run.give_up);
    }
  }
  std::vector<Ended> ended;
  for (const RunId id : late) ended.push_back(TakeOffLocked(of, id));
  return ended;
}

std::optional<FactQueue::Payer> FactQueue::PayerOf(const Run& run,
                                                   const CallLimits& limits,
                                                   const Taken& taken,
                                                   const Taken& ahead,
                                                   size_t* running) {
  std::optional<Payer> payer;
  for (const auto& [ticket, call] : run.calls) {
    const bool counts = call.at_once != kNoLimit;
    const Payer one = {counts ? call.who : "",
                       limits.of_host_of_one != kNoLimit && call.host.empty()};
    const size_t used =
        counts ? taken.runs.Of(one.who) + ahead.runs.Of(one.who) : 0;
    if (used >= call.at_once || (payer.has_value() && used >= *running)) {
      continue;
    }
    const auto is_full = [&](const std::string& host) {
      size_t on_host = 0;
      for (const Taken* each : {&taken, &ahead}) {
        const auto own = each->on_host_of_one.find(one.who);
        if (own != each->on_host_of_one.end()) on_host += own->second.Of(host);
      }
      return on_host >= limits.of_host_of_one;
    };
    if (one.of_host && absl::c_any_of(run.order->hosts, is_full)) continue;
    payer = one;
    *running = used;
  }
  return payer;
}

bool FactQueue::HasHosts(const Run& run, const CallLimits& limits,
                         const Taken& taken, const Taken& ahead) {
  return limits.of_host == kNoLimit ||
         absl::c_all_of(run.order->hosts, [&](const std::string& host) {
           return taken.on_host.Of(host) + ahead.on_host.Of(host) <
                  limits.of_host;
         });
}

void FactQueue::TakeHosts(const Run& run, const Payer& payer,
                          const CallLimits& limits, Taken* taken) {
  if (limits.of_host == kNoLimit) return;
  for (const std::string& host : run.order->hosts) {
    taken->on_host.Take(host);
    if (payer.of_host) taken->on_host_of_one[payer.who].Take(host);
  }
}

void FactQueue::GiveHosts(const Run& run, const CallLimits& limits,
                          Taken* taken) {
  if (limits.of_host == kNoLimit || !run.payer.has_value()) return;
  const auto own = taken->on_host_of_one.find(run.payer->who);
  for (const std::string& host : run.order->hosts) {
    taken->on_host.Give(host);
    if (run.payer->of_host) own->second.Give(host);
  }
  if (run.payer->of_host && own->second.all() == 0) {
    taken->on_host_of_one.erase(own);
  }
}

// A run that waits for a host reserves a place there against younger runs,
// within its user's limit.
FactQueue::RunId FactQueue::TakeNextLocked(CallClass of) {
  const CallLimits& limits = LimitsOf(of);
  Lane& lane = LaneLocked(of);
  if (lane.taken.runs.all() >= limits.at_once) return 0;
  RunId next = 0;
  std::optional<Payer> payer;
  size_t fewest = kNoLimit;
  Taken ahead;
  for (const RunId id : lane.waiting_runs) {
    const Run& run = lane.runs.at(id);
    if (!limits.overlaps && lane.asking.contains(run.question.key)) continue;
    size_t running = 0;
    const auto one = PayerOf(run, limits, lane.taken, ahead, &running);
    if (!one.has_value()) continue;
    if (!HasHosts(run, limits, lane.taken, ahead)) {
      ahead.runs.Take(one->who);
      TakeHosts(run, *one, limits, &ahead);
      continue;
    }
    if (running >= fewest) continue;
    next = id;
    payer = one;
    fewest = running;
    if (limits.oldest_first || fewest == 0) break;
  }
  if (next == 0) return 0;
  Run& run = lane.runs.at(next);
  run.stage = Stage::kAsking;
  run.held_until = parts_.scheduler->Now() + run.question.hold_for;
  run.payer = payer;
  lane.taken.runs.Take(payer->who);
  TakeHosts(run, *payer, limits, &lane.taken);
  lane.waiting_runs.erase(next);
  lane.waiting.Give(run.question.who);
  lane.asking.insert(run.question.key);
  return next;
}

void FactQueue::Begin(CallClass of, RunId id) {
  std::shared_ptr<FactOrder> order;
  bool of_all;
  AskedAt asked;
  absl::Duration hold_for;
  {
    absl::MutexLock lock(&mutex_);
    const Run* const run = FindLocked(of, id);
    if (run == nullptr) return;
    order = run->order;
    of_all = run->of_all;
    asked = run->asked;
    hold_for = run->question.hold_for;
  }
  order->started_at = parts_.scheduler->Now();
  if (!of_all) {
    order->hold_for = hold_for;
    order->why_held = Worded("hub-host-not-asked", DurationText(hold_for));
    for (const std::string& host : order->hosts) {
      // A detached host cannot ask, so do not wait for it.
      if (!asked.contains(host) && parts_.hosts->IsAttached(host)) {
        order->held.insert(host);
      }
    }
  }
  FactRun::Callbacks callbacks;
  callbacks.on_progress = [this, of, id] { NoteProgress(of, id); };
  callbacks.on_facts = [this, of, id](const std::vector<HostFacts>& facts) {
    Conclude(of, id, facts);
  };
  const auto facts =
      std::make_shared<FactRun>(order, parts_, std::move(callbacks));
  std::vector<std::string> came;
  bool wanted;
  {
    absl::MutexLock lock(&mutex_);
    // Without the run, all callers have left, or the queue stops.
    Run* const run = FindLocked(of, id);
    wanted = run != nullptr && run->stage == Stage::kAsking;
    if (wanted) {
      run->facts = facts;
      for (const std::string& host : order->held) {
        if (run->of_all || run->asked.contains(host)) came.push_back(host);
      }
    }
  }
  if (!wanted) return facts->Cancel();
  const absl::Status started = facts->Start();
  for (const std::string& host : came) facts->AskHeld(host);
  // Waiting runs have moved up.
  if (started.ok()) return NoteProgress(of, 0);
  facts->Cancel();
  End(of, id, started);
}

void FactQueue::Conclude(CallClass of, RunId id,
                         const std::vector<HostFacts>& facts) {
  std::shared_ptr<FactOrder> order;
  std::function<AnyResult(const Gathered&)> conclude;
  AskedAt asked;
  bool of_all;
  {
    absl::MutexLock lock(&mutex_);
    const Run* const run = FindLocked(of, id);
    if (run == nullptr) return;
    order = run->order;
    conclude = run->work.conclude;
    asked = run->asked;
    of_all = run->of_all;
  }
  End(of, id, conclude({*order, facts, asked, of_all}));
}

void FactQueue::Tell(const Ended& ended,
                     const absl::StatusOr<AnyResult>& result) {
  for (const auto& [ticket, call] : ended.calls) call.caller.on_end(result);
}

void FactQueue::End(CallClass of, RunId id,
                    const absl::StatusOr<AnyResult>& result) {
  Ended ended;
  {
    absl::MutexLock lock(&mutex_);
    ended = TakeOffLocked(of, id);
  }
  Tell(ended, result);
  BeginNext(of);
}

void FactQueue::StopAskingLocked(Lane* lane, RunId id, Run* run) {
  if (run->stage == Stage::kOver) return;
  if (run->stage == Stage::kAsking) {
    lane->asking.erase(run->question.key);
  } else {
    lane->waiting_runs.erase(id);
    lane->waiting.Give(run->question.who);
  }
  const auto newest = lane->newest.find(run->question.key);
  if (newest != lane->newest.end() && newest->second == id) {
    lane->newest.erase(newest);
  }
  GiveHosts(*run, LimitsOf(run->question.of), &lane->taken);
  run->stage = Stage::kOver;
}

FactQueue::Ended FactQueue::TakeOffLocked(CallClass of, RunId id) {
  Run* const run = FindLocked(of, id);
  if (run == nullptr || run->stage == Stage::kOver) return {};
  StopAskingLocked(&LaneLocked(of), id, run);
  Ended ended = {run->calls, {}};
  for (const auto& [ticket, call] : ended.calls) {
    places_[ticket].order = run->order;
    places_[ticket].facts = run->facts;
  }
  if (!LimitsOf(of).until_taken || ended.calls.empty()) {
    ended.run = EraseLocked(of, id);
  }
  return ended;
}

FactQueue::Erased FactQueue::EraseLocked(CallClass of, RunId id) {
  Lane& lane = LaneLocked(of);
  Run& run = lane.runs.at(id);
  StopAskingLocked(&lane, id, &run);
  if (run.payer.has_value()) lane.taken.runs.Give(run.payer->who);
  lane.bytes.Give(run.question.who, run.question.bytes);
  return lane.runs.extract(id);
}

void FactQueue::Leave(Ticket ticket) {
  std::shared_ptr<FactRun> unwanted;
  Erased erased;
  CallClass of;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = places_.find(ticket);
    if (found == places_.end()) return;
    const Place place = std::move(found->second);
    places_.erase(found);
    of = place.of;
    LaneLocked(of).callers.Give(place.who);
    Run* const run = FindLocked(of, place.run);
    if (run == nullptr || run->calls.erase(ticket) == 0 ||
        !run->calls.empty() || run->stage == Stage::kPreparing) {
      return;
    }
    if (run->stage == Stage::kAsking) unwanted = run->facts;
    erased = EraseLocked(of, place.run);
  }
  if (unwanted != nullptr) unwanted->Cancel();
  BeginNext(of);
}

void FactQueue::NoteProgress(CallClass of, RunId only) {
  std::vector<std::function<void()>> noted;
  {
    absl::MutexLock lock(&mutex_);
    const std::map<RunId, Run>& runs = LaneLocked(of).runs;
    auto run = only == 0 ? runs.begin() : runs.find(only);
    for (; run != runs.end(); run = only == 0 ? std::next(run) : runs.end()) {
      for (const auto& [ticket, call] : run->second.calls) {
        // Hosts receive no progress, only the end.
        if (call.host.empty()) noted.push_back(call.caller.on_progress);
      }
    }
  }
  for (const auto& note : noted) note();
}

CheckProgress FactQueue::ProgressOf(Ticket ticket) const {
  CheckProgress progress;
  std::shared_ptr<FactRun> facts;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = places_.find(ticket);
    if (found == places_.end()) return progress;
    facts = found->second.facts;
    const Lane& lane = lanes_[static_cast<size_t>(found->second.of)];
    const auto run = lane.runs.find(found->second.run);
    if (run != lane.runs.end()) {
      if (run->second.facts != nullptr) facts = run->second.facts;
      if (run->second.order != nullptr) {
        progress.set_pending(
            static_cast<uint32_t>(run->second.order->hosts.size()));
      }
      if (run->second.stage < Stage::kAsking) {
        progress.set_place(static_cast<uint32_t>(
            1 + std::distance(lane.waiting_runs.begin(),
                              lane.waiting_runs.lower_bound(run->first))));
      }
    }
  }
  return facts == nullptr ? progress : facts->progress();
}

std::vector<RunningCheck> FactQueue::Running() const {
  std::map<RunId, RunningCheck> running;
  {
    absl::MutexLock lock(&mutex_);
    for (const Lane& lane : lanes_) {
      for (const auto& [id, run] : lane.runs) {
        if (run.stage == Stage::kAsking && run.facts != nullptr &&
            run.order->judged.has_value()) {
          running[id] = {run.order, run.facts};
        }
      }
    }
  }
  return Each<RunningCheck>(running,
                            [](const auto& each) { return each.second; });
}

absl::StatusOr<RunningCheck> FactQueue::Find(const std::string& run_id) const {
  for (RunningCheck& check : Running()) {
    if (check.order->run_id == run_id) return std::move(check);
  }
  absl::MutexLock lock(&mutex_);
  for (const auto& [ticket, place] : places_) {
    if (place.order != nullptr && place.order->run_id == run_id) {
      return PreconditionWords("msg-hub-check-ends", run_id);
    }
  }
  return NotFoundWords("msg-hub-check-not-running", run_id);
}

void FactQueue::EndRuns(bool all) {
  std::vector<std::shared_ptr<FactRun>> begun;
  std::vector<Ended> ended;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    for (size_t lane = 0; lane < lanes_.size(); ++lane) {
      std::vector<RunId> ids;
      for (const auto& [id, run] : lanes_[lane].runs) {
        if (!all && run.stage == Stage::kAsking && limits_[lane].until_taken) {
          continue;
        }
        if (run.stage == Stage::kAsking) begun.push_back(run.facts);
        if (run.stage != Stage::kOver) ids.push_back(id);
      }
      for (const RunId id : ids) {
        ended.push_back(TakeOffLocked(static_cast<CallClass>(lane), id));
      }
    }
  }
  for (const auto& facts : begun) {
    if (facts != nullptr) facts->Cancel();
  }
  const absl::Status why = UnavailableWords("msg-hub-stopping");
  for (const Ended& each : ended) Tell(each, why);
}

}  // namespace clusterd
