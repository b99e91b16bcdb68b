#include "daemon/controller/cluster_changes.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/plan_digest.h"
#include "config/spec/network_namespace.h"
#include "daemon/controller/fact_run.h"
#include "daemon/controller/history/history_entry.h"

namespace clusterd {
namespace {

constexpr absl::Duration kLeastDeadline = absl::Minutes(2);
constexpr absl::Duration kLongestDeadline = absl::Hours(24);
constexpr size_t kMaxNamedInError = 20;
// When the pool has no room for what hosts tell.
constexpr absl::Duration kPoolRetry = absl::Milliseconds(100);
// Runs with lost hosts that are looked for and remembered, the newest.
constexpr size_t kMaxUnsettled = 64;

std::string NamesOf(const std::vector<std::string>& names) {
  std::vector<std::string> shown(
      names.begin(), names.begin() + std::min(names.size(), kMaxNamedInError));
  std::string text = absl::StrJoin(shown, ", ");
  if (names.size() > shown.size()) {
    absl::StrAppend(&text, " and ", names.size() - shown.size(), " more");
  }
  return text;
}

// Empty for what the controller plans by itself.
bool IsPlanId(absl::string_view id) {
  return id.size() <= kMaxHistoryIdBytes &&
         std::all_of(id.begin(), id.end(), [](unsigned char c) {
           return absl::ascii_isdigit(c) || absl::ascii_islower(c) || c == '-';
         });
}

const char* KindOf(bool rollback) { return rollback ? "rollback" : "apply"; }

// Where the kernel parameters of a plan are; one target for all its hosts.
std::string NamespaceOf(const ClusterPlan& plan) {
  for (const HostPlan& host : plan.hosts()) {
    if (host.has_network_namespace()) {
      return NetworkNamespaceText(host.network_namespace());
    }
  }
  return "";
}

// Whether a rollback has something to ask there: hosts that are clean again or
// were never asked have nothing of the apply left.
bool MayHoldChanges(const ApplyResult& result) {
  switch (result.outcome()) {
    case ApplyResult::OUTCOME_UNSPECIFIED:
    case ApplyResult::APPLIED:
    case ApplyResult::LOST:
    // Once more may help: a tool hung, a container engine was away.
    case ApplyResult::UNDONE_WITH_RESIDUES:
    case ApplyResult::ROLLED_BACK_WITH_RESIDUES:
      return true;
    default:
      return false;
  }
}

}  // namespace

int CountChanges(const HostPlan& plan) {
  int changes = 0;
  for (const PlanStep& step : plan.steps()) {
    changes += std::max(1, step.firewall_open().ports_size());
  }
  return changes;
}

absl::Duration HostChangeDeadline(int changes, uint32_t command_ms) {
  return std::min(kLongestDeadline,
                  kLeastDeadline + absl::Milliseconds(command_ms) * 4 *
                                       std::max(0, changes));
}

ClusterChanges::ClusterChanges(std::string cluster, const Parts& parts)
    : cluster_(std::move(cluster)),
      parts_(parts),
      retry_(std::make_shared<Retry>()) {
  absl::MutexLock lock(&retry_->mutex);
  retry_->changes = this;
}

ClusterChanges::~ClusterChanges() { Stop(); }

absl::Status ClusterChanges::CheckPlan(const ClusterPlan& plan) const {
  const absl::Status verified = VerifyPlan(plan);
  if (!verified.ok()) return verified;
  if (plan.cluster() != cluster_) {
    return absl::InvalidArgumentError(
        absl::StrCat("plan: for cluster \"", plan.cluster(), "\", expected \"",
                     cluster_, "\""));
  }
  // No part of the digest, and kept for everybody to read.
  if (!IsPlanId(plan.plan_id())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "plan: \"",
        absl::CHexEscape(plan.plan_id().substr(0, kMaxHistoryIdBytes)),
        "\" is no plan id, expected 0-9, a-z and -"));
  }
  const std::shared_ptr<const ClusterSpec> spec = parts_.spec->spec();
  std::set<std::string> known;
  for (const ServerSpec& server : spec->servers()) known.insert(server.host());
  std::vector<std::string> unknown;
  std::set<std::string> planned;
  bool has_steps = false;
  for (const HostPlan& host : plan.hosts()) {
    const absl::Status place = CheckNetworkNamespace(host.network_namespace());
    if (!place.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("plan: ", std::string(place.message())));
    }
    if (!planned.insert(host.host()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("plan: host \"", host.host(), "\" stands twice"));
    }
    if (!host.steps().empty() && known.count(host.host()) == 0) {
      unknown.push_back(host.host());
    }
    has_steps |= !host.steps().empty();
  }
  if (plan.spec_sha256() != SpecSha256(*spec)) {
    return absl::AbortedError(
        "plan: the spec has changed since it was made; plan again");
  }
  if (!unknown.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("plan: not in the spec of cluster \"", cluster_,
                     "\": ", NamesOf(unknown)));
  }
  if (!has_steps) {
    return absl::FailedPreconditionError("plan: nothing to do on any host");
  }
  return absl::OkStatus();
}

absl::StatusOr<ApplyOrder> ClusterChanges::OrderOfApply(
    std::shared_ptr<const ClusterPlan> plan) const {
  const absl::Status valid = CheckPlan(*plan);
  if (!valid.ok()) return valid;
  ApplyOrder order;
  order.report.set_plan_id(plan->plan_id());
  order.report.set_plan_digest(plan->digest());
  int blocked = 0;
  for (int i = 0; i < plan->hosts_size(); ++i) {
    const HostPlan& host = plan->hosts(i);
    if (!host.blocked().empty()) ++blocked;
    if (host.steps().empty()) continue;
    order.hosts.push_back(
        {host.host(), i,
         HostChangeDeadline(CountChanges(host), host.command_ms())});
  }
  const size_t idle =
      static_cast<size_t>(plan->hosts_size()) - order.hosts.size();
  if (idle > 0) {
    order.report.add_notes(
        absl::StrCat(idle, " of ", plan->hosts_size(),
                     " hosts of the plan have no step and were not asked"));
  }
  if (blocked > 0) {
    order.report.add_notes(
        absl::StrCat("changes that the plan has as blocked are still open on ",
                     blocked, blocked == 1 ? " host" : " hosts"));
  }
  order.plan = std::move(plan);
  return order;
}

absl::Status ClusterChanges::CheckAttached(const ApplyOrder& order) const {
  std::vector<std::string> absent;
  for (const ApplyOrder::Host& host : order.hosts) {
    if (!parts_.hosts->IsAttached(host.name)) absent.push_back(host.name);
  }
  if (absent.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("not attached: ", NamesOf(absent),
                   "; let them attach, or plan without them"));
}

absl::StatusOr<ApplyOrder> ClusterChanges::OrderOfRollback(
    const HistoryRecord& record) const {
  const ApplyReport& apply = record.apply();
  ApplyOrder order;
  order.report.set_rollback(true);
  order.report.set_apply_id(apply.apply_id());
  order.report.set_plan_id(apply.plan_id());
  order.report.set_plan_digest(apply.plan_digest());
  // Only for the words of the steps; a history that has dropped it, or has
  // another under that id, costs those.
  std::map<std::string, int> in_plan;
  absl::StatusOr<HistoryRecord> plan = parts_.history->Get(apply.plan_id());
  if (plan.ok() && plan->plan().digest() == apply.plan_digest()) {
    order.plan =
        std::make_shared<const ClusterPlan>(std::move(*plan->mutable_plan()));
    for (int i = 0; i < order.plan->hosts_size(); ++i) {
      in_plan[order.plan->hosts(i).host()] = i;
    }
  }
  const uint32_t command_ms = parts_.spec->spec()->deadlines().command_ms();
  for (const ApplyResult& host : apply.hosts()) {
    if (!MayHoldChanges(host)) continue;
    const auto found = in_plan.find(host.host());
    const int index = found == in_plan.end() ? -1 : found->second;
    const int changes =
        index < 0 ? host.steps_size() : CountChanges(order.plan->hosts(index));
    order.hosts.push_back({host.host(), index,
                           HostChangeDeadline(changes, command_ms),
                           host.outcome() == ApplyResult::LOST});
  }
  if (order.hosts.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("apply ", apply.apply_id(),
                     ": nothing to take back, no host of it is applied or has "
                     "something left over"));
  }
  return order;
}

absl::Status ClusterChanges::TakeTurn(const Holder& holder) {
  absl::MutexLock lock(&mutex_);
  if (stopped_) return absl::UnavailableError("the controller is stopping");
  if (holder_.has_value()) {
    return absl::UnavailableError(
        absl::StrCat(holder_->what, " runs since ",
                     absl::FormatTime(absl::RFC3339_sec, holder_->since,
                                      absl::UTCTimeZone()),
                     ", and only one may at a time"));
  }
  holder_ = holder;
  ++busy_;
  return absl::OkStatus();
}

void ClusterChanges::GiveTurn() {
  std::shared_ptr<ApplyRun> run;
  absl::MutexLock lock(&mutex_);
  if (!holder_.has_value()) return;
  holder_.reset();
  run.swap(run_);
  --busy_;
}

absl::StatusOr<std::shared_ptr<ApplyRun>> ClusterChanges::StartApply(
    std::shared_ptr<const ClusterPlan> plan, const ChangeRequest& request,
    ApplyWatcher watcher) {
  return Start(
      /*rollback=*/false, request,
      [&]() -> absl::StatusOr<Prepared> {
        const std::string network_namespace = NamespaceOf(*plan);
        absl::StatusOr<ApplyOrder> order = OrderOfApply(std::move(plan));
        if (!order.ok()) return order.status();
        const absl::Status attached = CheckAttached(*order);
        if (!attached.ok()) return attached;
        return Prepared{*std::move(order), network_namespace};
      },
      std::move(watcher));
}

absl::StatusOr<std::shared_ptr<ApplyRun>> ClusterChanges::StartRollback(
    const std::string& apply_id, const ChangeRequest& request,
    ApplyWatcher watcher) {
  return Start(
      /*rollback=*/true, request,
      [&]() -> absl::StatusOr<Prepared> {
        const absl::StatusOr<HistoryRecord> record =
            parts_.history->FindApply(apply_id);
        if (!record.ok()) return record.status();
        absl::StatusOr<ApplyOrder> order = OrderOfRollback(*record);
        if (!order.ok()) return order.status();
        return Prepared{*std::move(order), record->entry().network_namespace()};
      },
      std::move(watcher));
}

// The turn comes first: what is read of the history must not change under us.
absl::StatusOr<std::shared_ptr<ApplyRun>> ClusterChanges::Start(
    bool rollback, const ChangeRequest& request,
    const std::function<absl::StatusOr<Prepared>()>& prepare,
    ApplyWatcher watcher) {
  const std::string run_id = NewRunId();
  const std::string what =
      absl::StrCat(KindOf(rollback), " ", run_id, " of ", request.actor);
  const absl::Status turn = TakeTurn(Holder{what, parts_.scheduler->Now()});
  if (!turn.ok()) return turn;
  absl::StatusOr<Prepared> prepared = prepare();
  if (!prepared.ok()) {
    GiveTurn();
    return prepared.status();
  }
  ApplyReport& report = prepared->order.report;
  report.set_run_id(run_id);
  if (!rollback) report.set_apply_id(run_id);
  report.set_cluster(cluster_);
  report.set_actor(request.actor);
  report.set_force(request.force);
  report.set_enforced(request.enforced);
  report.set_wave_size(request.wave_size == 0 ? kDefaultWaveSize
                                              : request.wave_size);
  parts_.log->Notice(absl::StrCat(
      what, " (", request.from, "): ",
      rollback ? absl::StrCat("takes back apply ", report.apply_id())
               : absl::StrCat("applies plan ", report.plan_id()),
      " on ", prepared->order.hosts.size(), " hosts, ", report.wave_size(),
      " at once", request.force ? ", forced" : "",
      request.enforced ? ", enforced" : ""));
  const std::shared_ptr<ApplyRun> run =
      MakeRun(*std::move(prepared), std::move(watcher));
  bool stopped;
  {
    absl::MutexLock lock(&mutex_);
    // From here on Stop sees it, and breaks it off.
    stopped = stopped_;
    if (!stopped) run_ = run;
  }
  if (stopped) {
    GiveTurn();
    return absl::UnavailableError("the controller is stopping");
  }
  const absl::Status started = run->Start();
  if (started.ok()) return run;
  parts_.log->Error(absl::StrCat(
      what, ": not begun, the history: ", std::string(started.message())));
  GiveTurn();
  return started;
}

std::shared_ptr<ApplyRun> ClusterChanges::MakeRun(Prepared prepared,
                                                  ApplyWatcher watcher) {
  ApplyRun::Parts parts;
  parts.hosts = parts_.hosts;
  parts.scheduler = parts_.scheduler;
  parts.pool = parts_.pool;
  parts.log = parts_.log;
  parts.reattach_wait = parts_.reattach_wait;
  ApplyRun::Callbacks callbacks;
  callbacks.save =
      [history = parts_.history, network_namespace = prepared.network_namespace,
       added = std::make_shared<bool>(false)](const ApplyReport& to_save) {
        const HistoryRecord record = RecordOfApply(to_save, network_namespace);
        const absl::Status saved =
            *added ? history->Update(record) : history->Add(record);
        *added |= saved.ok();
        return saved;
      };
  callbacks.on_end = [this](const ApplyReport& ended) { OnRunEnd(ended); };
  callbacks.watcher = std::move(watcher);
  return std::make_shared<ApplyRun>(std::move(prepared.order), parts,
                                    std::move(callbacks));
}

void ClusterChanges::OnRunEnd(const ApplyReport& report) {
  std::string outcome = "stopped";
  if (report.outcome() == ApplyReport::SUCCEEDED) outcome = "succeeded";
  parts_.log->Notice(absl::StrCat(KindOf(report.rollback()), " ",
                                  report.run_id(), " of ", report.actor(), ": ",
                                  outcome));
  {
    absl::MutexLock lock(&mutex_);
    RememberLostLocked(report);
    for (const ApplyResult& host : report.hosts()) {
      if (!report.rollback() ||
          (host.outcome() != ApplyResult::ROLLED_BACK &&
           host.outcome() != ApplyResult::ROLLED_BACK_WITH_RESIDUES)) {
        continue;
      }
      corrections_.push_back({report.apply_id(), host, report.run_id()});
    }
  }
  // Before the turn is given: a second rollback must see the first one's marks.
  CorrectAll();
  GiveTurn();
}

void ClusterChanges::RememberLostLocked(const ApplyReport& report) {
  Unsettled unsettled;
  unsettled.apply_id = report.apply_id();
  unsettled.rollback = report.rollback();
  for (const ApplyResult& host : report.hosts()) {
    if (host.outcome() == ApplyResult::LOST) {
      unsettled.hosts.insert(host.host());
    }
  }
  if (unsettled.hosts.empty() || unsettled_.size() >= kMaxUnsettled) return;
  unsettled_[report.run_id()] = std::move(unsettled);
}

void ClusterChanges::Recover() {
  absl::StatusOr<RunningRecords> running = parts_.history->FindRunning();
  // Whoever opened a closed one has said why.
  if (absl::IsFailedPrecondition(running.status())) return;
  if (!running.ok()) {
    parts_.log->Error(
        absl::StrCat("history: ", std::string(running.status().message())));
    return;
  }
  for (const absl::Status& damaged : running->damaged) {
    parts_.log->Error(absl::StrCat(
        "history: an apply or rollback was cut off by the end of the last "
        "controller, and on which hosts cannot be told: ",
        std::string(damaged.message())));
  }
  for (HistoryRecord& record : running->records) Interrupt(std::move(record));
  ListHistoryRequest newest;
  newest.add_kinds(HISTORY_APPLY);
  newest.add_kinds(HISTORY_ROLLBACK);
  newest.set_limit(kMaxUnsettled);
  const absl::StatusOr<ListHistoryResponse> list = parts_.history->List(newest);
  if (!list.ok()) return;
  for (const HistoryEntry& entry : list->entries()) {
    if (entry.outcome() == "succeeded") continue;
    const absl::StatusOr<HistoryRecord> record =
        parts_.history->Get(entry.id());
    if (!record.ok()) continue;
    absl::MutexLock lock(&mutex_);
    RememberLostLocked(record->apply());
  }
}

void ClusterChanges::Interrupt(HistoryRecord record) {
  if (!record.has_apply()) return;
  const std::string network_namespace = record.entry().network_namespace();
  ApplyReport report = std::move(*record.mutable_apply());
  report.set_outcome(ApplyReport::INTERRUPTED);
  report.add_notes("the controller ended while it ran");
  for (ApplyResult& host : *report.mutable_hosts()) {
    if (host.outcome() == ApplyResult::NOT_STARTED && host.error().empty()) {
      host.set_error("the controller ended before its wave");
    }
  }
  const std::string what = absl::StrCat(
      KindOf(report.rollback()), " ", report.run_id(), " of ", report.actor());
  const absl::Status kept = parts_.history->Update(
      RecordOfApply(std::move(report), network_namespace));
  parts_.log->Warning(
      absl::StrCat(what, ": interrupted, the controller ended while it ran",
                   kept.ok() ? "" : "; not kept: ",
                   kept.ok() ? "" : std::string(kept.message())));
}

void ClusterChanges::OnPastApplies(const std::string& host,
                                   const PastApplies& past) {
  std::shared_ptr<ApplyRun> run;
  bool news = false;
  {
    absl::MutexLock lock(&mutex_);
    run = run_;
    for (const ApplyResult& result : past.results()) {
      for (auto& [run_id, unsettled] : unsettled_) {
        if (unsettled.apply_id != result.apply_id() ||
            !SettlesHost(unsettled.rollback, result) ||
            unsettled.hosts.erase(host) == 0) {
          continue;
        }
        corrections_.push_back({run_id, result, ""});
        news = true;
      }
    }
    for (auto each = unsettled_.begin(); each != unsettled_.end();) {
      each =
          each->second.hosts.empty() ? unsettled_.erase(each) : std::next(each);
    }
  }
  if (news) CorrectSoon();
  if (run == nullptr) return;
  for (const ApplyResult& result : past.results()) {
    run->OnPastApply(host, result);
  }
}

void ClusterChanges::CorrectSoon() {
  {
    absl::MutexLock lock(&mutex_);
    if (stopped_) return;
    ++busy_;
  }
  const bool taken = parts_.pool->TryRun([this] {
    CorrectAll();
    absl::MutexLock lock(&mutex_);
    --busy_;
  });
  if (taken) return;
  {
    absl::MutexLock lock(&mutex_);
    --busy_;
  }
  parts_.scheduler->RunAfter(kPoolRetry, [retry = retry_] {
    absl::MutexLock lock(&retry->mutex);
    if (retry->changes != nullptr) retry->changes->CorrectSoon();
  });
}

// Rewrites each kept report once, whatever number of its hosts has spoken.
void ClusterChanges::CorrectAll() {
  while (true) {
    std::string run_id;
    std::vector<Correction> together;
    {
      absl::MutexLock lock(&mutex_);
      const auto free = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
        return !correcting_;
      };
      mutex_.Await(absl::Condition(&free));
      if (corrections_.empty()) return;
      correcting_ = true;
      run_id = corrections_.front().run_id;
      std::deque<Correction> others;
      for (Correction& correction : corrections_) {
        if (correction.run_id == run_id) {
          together.push_back(std::move(correction));
        } else {
          others.push_back(std::move(correction));
        }
      }
      corrections_ = std::move(others);
    }
    Correct(run_id, together);
    absl::MutexLock lock(&mutex_);
    correcting_ = false;
  }
}

void ClusterChanges::Correct(const std::string& run_id,
                             const std::vector<Correction>& corrections) {
  absl::StatusOr<HistoryRecord> record = parts_.history->Get(run_id);
  if (!record.ok() || !record->has_apply()) return;
  ApplyReport report = std::move(*record->mutable_apply());
  std::map<std::string, ApplyResult*> by_host;
  for (ApplyResult& host : *report.mutable_hosts()) {
    by_host[host.host()] = &host;
  }
  std::set<std::string> rollbacks;
  for (const Correction& correction : corrections) {
    const auto found = by_host.find(correction.result.host());
    if (found == by_host.end()) continue;
    ApplyResult* const host = found->second;
    if (!correction.rolled_back_by.empty()) {
      host->set_outcome(correction.result.outcome());
      *host->mutable_residues() = correction.result.residues();
      rollbacks.insert(correction.rolled_back_by);
    } else if (host->outcome() == ApplyResult::LOST) {
      *host = correction.result;
      host->clear_facts_after();
      host->clear_of_rollback();
    }
  }
  for (const std::string& rollback : rollbacks) {
    report.add_notes(absl::StrCat("taken back by rollback ", rollback));
  }
  const absl::Status kept = parts_.history->Update(
      RecordOfApply(std::move(report), record->entry().network_namespace()));
  if (!kept.ok()) {
    parts_.log->Error(
        absl::StrCat("history: what hosts tell of ", run_id,
                     " is not kept: ", std::string(kept.message())));
  }
}

void ClusterChanges::Stop() {
  std::shared_ptr<ApplyRun> run;
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    run = run_;
  }
  {
    absl::MutexLock lock(&retry_->mutex);
    retry_->changes = nullptr;
  }
  if (run != nullptr && run->Stop()) GiveTurn();
  absl::MutexLock lock(&mutex_);
  const auto idle = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return busy_ == 0;
  };
  mutex_.Await(absl::Condition(&idle));
}

}  // namespace clusterd
