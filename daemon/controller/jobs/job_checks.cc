#include "daemon/controller/jobs/job_checks.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "config/hccl/job_variables.h"
#include "config/launch/job_spec.h"
#include "config/report/job_verdict.h"
#include "config/rules/judge.h"
#include "config/values/network_namespace.h"
#include "config/values/sha256.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/hosts/spec_holder.h"

namespace clusterd {
namespace {

// Logs and histories contain ids of jobs and names of users.
constexpr size_t kMaxNameBytes = 256;

// A digest: a question about 1,152 servers is long, and each of them sends it.
// It is narrowed and checked only once.
std::string KeyOf(const JobAsk& ask) {
  const std::string selection = ask.selection.SerializeAsString();
  const std::string target = ask.network_namespace.SerializeAsString();
  return Sha256(absl::StrCat(
      selection.size(), " ", target.size(), " ", selection, target,
      ask.job_bytes.empty() ? ask.job.SerializeAsString() : ask.job_bytes));
}

absl::Status ReadJob(JobAsk* ask) {
  if (ask->job_bytes.empty()) return absl::OkStatus();
  if (!ask->job.ParseFromString(ask->job_bytes)) {
    return absl::InvalidArgumentError("job: no JobSpec");
  }
  ask->job_bytes.clear();
  return absl::OkStatus();
}

absl::Status CheckName(absl::string_view subject, const std::string& name) {
  if (PrintableText(name, kMaxNameBytes) == name) return absl::OkStatus();
  return InvalidArgument(subject, ": ", QuotedText(name), ", expected at most ",
                         kMaxNameBytes, " printable characters");
}

// The memory that the question's run takes: the job, and the narrowed spec.
size_t BytesOf(const JobAsk& ask) {
  constexpr size_t kBytesOfServer = 4096;
  return ask.job.ByteSizeLong() + ask.selection.ByteSizeLong() +
         kBytesOfServer * static_cast<size_t>(ask.job.servers_size());
}

// Adds the hosts' addresses for a launch.
void AddAddresses(const ClusterSpec& narrowed,
                  const std::vector<HostFacts>& facts, JobVerdict* verdict) {
  for (int i = 0; i < verdict->hosts_size(); ++i) {
    // Both lists have the order of the job.
    if (i >= narrowed.servers_size() ||
        narrowed.servers(i).host() != verdict->hosts(i).host()) {
      continue;
    }
    JobVerdict::Host& host = *verdict->mutable_hosts(i);
    host.set_address(narrowed.servers(i).address());
    host.set_sets_base_port(
        static_cast<size_t>(i) < facts.size() &&
        facts[i].host() == host.host() &&
        FindVariable(facts[i], nullptr, "HCCL_IF_BASE_PORT") != nullptr);
  }
  verdict->set_master_port(narrowed.rendezvous_port());
  if (!narrowed.hccl().base_port_auto()) {
    verdict->set_hccl_base_port(narrowed.hccl().base_port());
  }
}

// A host outside the job only gets the error that it is.
absl::StatusOr<JobChecks::Result> For(
    const std::string& host, const absl::StatusOr<JobChecks::Result>& result) {
  if (host.empty() || !result.ok() || (*result)->hosts.contains(host)) {
    return result;
  }
  return DeniedWords("msg-hub-not-in-job", host);
}

}  // namespace

absl::Status NarrowOrder(const JobSpec& job, FactOrder* order) {
  RETURN_IF_ERROR(CheckName("job id", job.id()));
  RETURN_IF_ERROR(CheckName("user", job.user()));
  RETURN_IF_ERROR(CheckName("ssh: user", job.ssh().user()));
  ASSIGN_OR_RETURN(ClusterSpec narrowed, NarrowToJob(*order->spec, job));
  order->hosts = Each<std::string>(narrowed.servers(), &ServerSpec::host);
  order->spec = std::make_shared<const ClusterSpec>(std::move(narrowed));
  order->job = std::make_shared<const JobSpec>(job);
  return absl::OkStatus();
}

JobChecks::CallId JobChecks::NewCall() {
  absl::MutexLock lock(&mutex_);
  return ++last_call_;
}

void JobChecks::Ask(CallId call, JobAsk ask, const Caller& caller) {
  const std::string key = KeyOf(ask);
  const std::string host = ask.host;
  const std::string actor = ask.actor;
  Result kept;
  absl::StatusOr<RunPtr> run = nullptr;
  bool is_new = false;
  std::shared_ptr<FactRun> held;
  if (!IsKnown(key, ask)) {
    const absl::Status read = ReadJob(&ask);
    if (!read.ok()) return caller.on_end(read);
  }
  {
    absl::MutexLock lock(&mutex_);
    kept = FindKeptLocked(key, ask);
    if (kept == nullptr) run = JoinLocked(key, &ask, &is_new);
    if (kept == nullptr && run.ok()) {
      // The run must ask that host too; for a user, all hosts.
      held = (*run)->facts;
      (*run)->calls[call] = {caller, host, actor};
      calls_[call] = {*run, host.empty() ? actor : ""};
      if (host.empty()) {
        (*run)->for_user = true;
        ++calls_of_user_[actor];
      } else {
        (*run)->known_by[host] = parts_.scheduler->Now();
      }
    }
  }
  if (held != nullptr) {
    host.empty() ? held->AskAllHeld() : held->AskHeld(host);
  }
  if (kept != nullptr) {
    caller.on_end(For(host, kept));
  } else if (!run.ok()) {
    caller.on_end(run.status());
  } else if (is_new) {
    OnPrepared(*run, Prepare(**run));
  } else {
    caller.on_progress();
  }
}

bool JobChecks::IsKnown(const std::string& key, const JobAsk& ask) {
  absl::MutexLock lock(&mutex_);
  return FindKeptLocked(key, ask) != nullptr || FindRunLocked(key, ask);
}

JobChecks::RunPtr JobChecks::FindRunLocked(const std::string& key,
                                           const JobAsk& ask) const {
  const auto base = parts_.spec->spec();
  const bool joins_begun = !ask.host.empty() || !ask.job.id().empty();
  for (const RunPtr& run : runs_) {
    if (run->key == key && run->base == base &&
        (run->stage < Run::kAsking ||
         (joins_begun && MayAskLocked(*run, ask.host)))) {
      return run;
    }
  }
  return nullptr;
}

absl::StatusOr<JobChecks::RunPtr> JobChecks::JoinLocked(const std::string& key,
                                                        JobAsk* ask,
                                                        bool* is_new) {
  if (stopping_) return UnavailableWords("msg-hub-stopping");
  if (calls_.size() >= limits_.callers) {
    return ExhaustedWords("msg-hub-job-calls", limits_.callers);
  }
  if (ask->host.empty() && calls_of_user_.count(ask->actor) > 0 &&
      calls_of_user_[ask->actor] >= limits_.callers_of_user) {
    return ExhaustedWords("msg-hub-job-calls-of-user", limits_.callers_of_user,
                          ask->actor);
  }
  if (RunPtr found = FindRunLocked(key, *ask); found != nullptr) return found;
  // The known run has just ended.
  RETURN_IF_ERROR(ReadJob(ask));
  const size_t bytes = BytesOf(*ask);
  size_t waiting = 0;
  size_t own = 0;
  size_t all_bytes = bytes;
  size_t own_bytes = bytes;
  for (const RunPtr& run : runs_) {
    if (run->stage < Run::kAsking) ++waiting;
    all_bytes += run->bytes;
    if (run->ask.actor != ask->actor || run->ask.host != ask->host) continue;
    ++own;
    own_bytes += run->bytes;
  }
  if (waiting >= limits_.waiting || all_bytes > limits_.bytes ||
      own >= limits_.begun_by_one || own_bytes > limits_.bytes_of_one) {
    return ExhaustedWords("msg-hub-job-queue-full");
  }
  if (!ask->host.empty() && ask->job.servers_size() > 1) {
    RETURN_IF_ERROR(CountBegunLocked(ask->host));
  }
  const auto run = std::make_shared<Run>();
  run->key = key;
  run->known_by = KnownByLocked(key);
  run->ask = std::move(*ask);
  run->base = parts_.spec->spec();
  run->came_at = parts_.scheduler->Now();
  run->bytes = bytes;
  runs_.push_back(run);
  *is_new = true;
  return run;
}

absl::StatusOr<JobChecks::Prepared> JobChecks::Prepare(const Run& run) const {
  if (parts_.spec->learns()) return parts_.spec->WhyRefused();
  Prepared prepared;
  prepared.order = std::make_shared<FactOrder>();
  prepared.order->run_id = NewRunId();
  prepared.order->actor = run.ask.actor;
  prepared.order->spec = run.base;
  prepared.order->network_namespace = run.ask.network_namespace;
  RETURN_IF_ERROR(CheckNetworkNamespace(run.ask.network_namespace));
  RETURN_IF_ERROR(ValidateSelection(run.ask.selection));
  RETURN_IF_ERROR(NarrowOrder(run.ask.job, prepared.order.get()));
  prepared.hosts.insert(prepared.order->hosts.begin(),
                        prepared.order->hosts.end());
  prepared.digest = JobDigest(run.ask.job);
  return prepared;
}

void JobChecks::OnPrepared(const RunPtr& run,
                           absl::StatusOr<Prepared> prepared) {
  if (!prepared.ok()) return End(run, prepared.status());
  // A host outside the job must not begin a run.
  Calls strangers;
  bool wanted;
  {
    absl::MutexLock lock(&mutex_);
    run->prepared = *std::move(prepared);
    for (auto call = run->calls.begin(); call != run->calls.end();) {
      const std::string& host = call->second.host;
      if (host.empty() || run->prepared.hosts.contains(host)) {
        ++call;
        continue;
      }
      calls_.erase(call->first);
      strangers.insert(run->calls.extract(call++));
    }
    wanted = !run->calls.empty();
    if (wanted && run->stage == Run::kPreparing) run->stage = Run::kWaiting;
    if (!wanted) TakeOffLocked(run.get());
  }
  const auto nothing = std::make_shared<const JudgedJob>();
  Tell(strangers, Result(nothing));
  if (wanted) NoteProgress(*run);
  BeginNext();
}

JobChecks::Result JobChecks::FindKeptLocked(const std::string& key,
                                            const JobAsk& ask) {
  const absl::Time now = parts_.scheduler->Now();
  const auto base = parts_.spec->spec();
  while (!kept_order_.empty()) {
    const Kept& oldest = kept_.at(kept_order_.front());
    if (oldest.base.lock() == base &&
        now - oldest.result->began <= limits_.kept_for) {
      break;
    }
    DropOldestLocked();
  }
  const auto found = kept_.find(key);
  if (found == kept_.end() || found->second.base.lock() != base) return nullptr;
  // The age is negative if the clock was set back.
  const absl::Duration age = now - found->second.result->began;
  const bool young = age >= absl::ZeroDuration() && age <= ask.max_age;
  const auto& unasked = found->second.result->unasked;
  const bool answers =
      unasked.empty() || (!ask.host.empty() && !unasked.contains(ask.host));
  return young && answers ? found->second.result : nullptr;
}

void JobChecks::KeepLocked(const Run& run, const Result& result) {
  const auto old = kept_.find(run.key);
  if (old != kept_.end()) {
    kept_bytes_ -= old->second.bytes;
    kept_order_.remove(run.key);
  }
  size_t bytes = result->event.ByteSizeLong() + result->verdict.common.size();
  for (const auto& [host, own] : result->verdict.own) {
    bytes += host.size() + own.size();
  }
  kept_[run.key] = {run.base, result, bytes, run.known_by};
  kept_order_.push_back(run.key);
  kept_bytes_ += bytes;
  while (kept_.size() > limits_.kept || kept_bytes_ > limits_.kept_bytes) {
    DropOldestLocked();
  }
}

void JobChecks::DropOldestLocked() {
  const auto oldest = kept_.find(kept_order_.front());
  kept_bytes_ -= oldest->second.bytes;
  kept_.erase(oldest);
  kept_order_.pop_front();
}

void JobChecks::BeginNext() {
  while (true) {
    RunPtr next;
    bool late;
    {
      absl::MutexLock lock(&mutex_);
      next = TakeNextLocked();
      if (next == nullptr) return;
      late = next->stage == Run::kOver;
    }
    if (!late) {
      Begin(next);
      continue;
    }
    End(next, DeadlineExceeded("the check of this job had no turn in ",
                               DurationText(limits_.longest_wait)));
  }
}

JobChecks::RunPtr JobChecks::TakeNextLocked() {
  const absl::Time now = parts_.scheduler->Now();
  size_t begun = absl::c_count_if(
      runs_, [](const RunPtr& run) { return run->stage == Run::kAsking; });
  absl::flat_hash_map<absl::string_view, size_t> asked;
  absl::flat_hash_map<absl::string_view, size_t> shared;  // By asking host.
  absl::flat_hash_map<absl::string_view, size_t> of_user;
  absl::flat_hash_map<std::pair<absl::string_view, absl::string_view>, size_t>
      asked_by;
  for (const RunPtr& run : runs_) {
    if (run->stage == Run::kPreparing || run->stage == Run::kOver) continue;
    // Only hosts give up: a user sees the place in the queue.
    if (run->stage == Run::kWaiting &&
        now - run->came_at > limits_.longest_wait &&
        absl::c_all_of(run->calls, [](const auto& call) {
          return !call.second.host.empty();
        })) {
      run->stage = Run::kOver;
      return run;
    }
    if (begun >= limits_.at_once) continue;
    if (!run->ask.host.empty() && run->prepared.hosts.size() > 1 &&
        ++shared[run->ask.host] > limits_.shared_by_host) {
      continue;
    }
    // Limits runs of a single user; joined runs count by their shares.
    const std::string& actor = run->ask.actor;
    if (absl::c_all_of(run->calls, [&actor](const auto& call) {
          return call.second.host.empty() && call.second.actor == actor;
        })) {
      const auto used_up = [&](const std::string& host) {
        return asked_by[{actor, host}] >= limits_.of_host_by_user;
      };
      if (of_user[actor] >= limits_.at_once_of_user ||
          absl::c_any_of(run->prepared.hosts, used_up)) {
        continue;
      }
      ++of_user[actor];
      for (const auto& host : run->prepared.hosts) ++asked_by[{actor, host}];
    }
    // Count queued runs too: a later run must not overtake on the same host.
    bool free = true;
    for (const std::string& host : run->prepared.hosts) {
      free &= ++asked[host] <= limits_.of_host;
    }
    if (run->stage != Run::kWaiting || !free) continue;
    run->stage = Run::kAsking;
    run->held_until = now + limits_.known_wait;
    return run;
  }
  return nullptr;
}

void JobChecks::Begin(const RunPtr& run) {
  const std::shared_ptr<FactOrder>& order = run->prepared.order;
  order->started_at = parts_.scheduler->Now();
  HoldUnknowing(run.get());
  // The FactRun drops both callbacks at its end.
  FactRun::Callbacks callbacks;
  callbacks.on_progress = [this, run] { NoteProgress(*run); };
  callbacks.on_facts = [this, run](const std::vector<HostFacts>& facts) {
    Conclude(run, facts);
  };
  const auto facts =
      std::make_shared<FactRun>(order, parts_, std::move(callbacks));
  std::vector<std::string> came;
  {
    absl::MutexLock lock(&mutex_);
    // All callers have left, or JobChecks stops.
    if (run->stage != Run::kAsking) return facts->Cancel();
    run->facts = facts;
    for (const std::string& host : order->held) {
      if (run->for_user || run->known_by.contains(host)) came.push_back(host);
    }
  }
  running_->Note({order, run->ask.selection, facts});
  const absl::Status started = facts->Start();
  for (const std::string& host : came) facts->AskHeld(host);
  if (started.ok()) return NoteProgress(*run);
  facts->Cancel();
  End(run, started);
}

void JobChecks::Conclude(const RunPtr& run,
                         const std::vector<HostFacts>& facts) {
  const Result result = Judge(*run, facts);
  {
    absl::MutexLock lock(&mutex_);
    // With another cluster.yaml the same facts may mean something else.
    if (!stopping_ && parts_.spec->spec() == run->base) {
      KeepLocked(*run, result);
    }
  }
  End(run, result);
}

JobChecks::Result JobChecks::Judge(const Run& run,
                                   const std::vector<HostFacts>& facts) const {
  const auto judged = std::make_shared<JudgedJob>();
  judged->hosts = run.prepared.hosts;
  judged->began = run.prepared.order->started_at;
  {
    absl::MutexLock lock(&mutex_);
    for (const std::string& host : judged->hosts) {
      if (!run.for_user && !run.known_by.contains(host)) {
        judged->unasked.insert(host);
      }
    }
  }
  HistoryRecord record =
      RecordOfCheck(MakeCheckReport(*run.prepared.order, run.ask.selection,
                                    facts, parts_.scheduler->Now()),
                    run.prepared.order->actor);
  parts_.history->AddOrLog(record, parts_.log).IgnoreError();
  const std::string job =
      run.ask.job.id().empty() ? "without an id" : run.ask.job.id();
  Report& report = *judged->event.mutable_report();
  report = std::move(*record.mutable_report());
  if (run.ask.selection.ByteSizeLong() == 0 &&
      run.ask.network_namespace.ByteSizeLong() == 0) {
    JobVerdict verdict = MakeJobVerdict(report, run.ask.job);
    verdict.set_job_digest(run.prepared.digest);
    AddAddresses(*run.prepared.order->spec, facts, &verdict);
    judged->verdict = BytesForHosts(std::move(verdict));
    judged->signer = make_signer_();
    if (!judged->signer.ok()) {
      parts_.log->Error("job ", job, ": the verdict cannot be signed: ",
                        judged->signer.status().message());
    }
  }
  parts_.log->Info("job ", job, ": ", StateWord(KnownState(report.verdict())),
                   ", check ", run.prepared.order->run_id, " of ",
                   Count(run.prepared.hosts.size(), "host"), " for ",
                   ActorName(run.prepared.order->actor));
  return judged;
}

void JobChecks::End(const RunPtr& run, const absl::StatusOr<Result>& result) {
  Calls calls;
  {
    absl::MutexLock lock(&mutex_);
    calls = TakeOffLocked(run.get());
  }
  Tell(calls, result);
  BeginNext();
}

JobChecks::Calls JobChecks::TakeOffLocked(Run* run) {
  run->stage = Run::kOver;
  runs_.remove_if([run](const RunPtr& each) { return each.get() == run; });
  for (const auto& [id, call] : run->calls) {
    if (!call.host.empty()) calls_.erase(id);
  }
  Calls calls;
  calls.swap(run->calls);
  return calls;
}

void JobChecks::Tell(const Calls& calls, const absl::StatusOr<Result>& result) {
  for (const auto& [id, call] : calls) {
    call.caller.on_end(For(call.host, result));
  }
}

void JobChecks::NoteProgress(const Run& run) const {
  std::vector<std::function<void()>> notified;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, call] : run.calls) {
      // Hosts get only the end.
      if (call.host.empty()) notified.push_back(call.caller.on_progress);
    }
  }
  for (const auto& tell : notified) tell();
}

void JobChecks::Leave(CallId call) {
  std::shared_ptr<FactRun> unwanted;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = calls_.find(call);
    if (found == calls_.end()) return;
    const RunPtr run = found->second.run;
    if (const std::string& user = found->second.user; !user.empty()) {
      if (--calls_of_user_[user] == 0) calls_of_user_.erase(user);
    }
    calls_.erase(found);
    run->calls.erase(call);
    if (!run->calls.empty() || run->stage == Run::kPreparing ||
        run->stage == Run::kOver) {
      return;
    }
    unwanted = run->facts;
    TakeOffLocked(run.get());
  }
  if (unwanted != nullptr) unwanted->Cancel();
  BeginNext();
}

CheckProgress JobChecks::ProgressOf(CallId call) const {
  CheckProgress progress;
  std::shared_ptr<FactRun> facts;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = calls_.find(call);
    if (found == calls_.end()) return progress;
    const Run& run = *found->second.run;
    facts = run.facts;
    progress.set_pending(static_cast<uint32_t>(run.prepared.hosts.size()));
    uint32_t place = run.stage == Run::kAsking ? 0 : 1;
    for (const RunPtr& other : runs_) {
      if (other.get() == &run) break;
      if (place > 0 && other->stage < Run::kAsking) ++place;
    }
    progress.set_place(run.stage == Run::kOver ? 0 : place);
  }
  return facts == nullptr ? progress : facts->progress();
}

void JobChecks::Stop() {
  std::vector<RunPtr> runs;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    runs.assign(runs_.begin(), runs_.end());
  }
  for (const RunPtr& run : runs) {
    std::shared_ptr<FactRun> facts;
    {
      absl::MutexLock lock(&mutex_);
      facts = run->facts;
    }
    if (facts != nullptr) facts->Cancel();
    End(run, UnavailableWords("msg-hub-stopping"));
  }
}

}  // namespace clusterd
