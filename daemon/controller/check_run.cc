#include "daemon/controller/check_run.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/rules/judge.h"
#include "config/version/version.h"
#include "daemon/controller/fact_limits.h"

namespace clusterd {
namespace {

constexpr size_t kMaxAwaited = 8;
constexpr size_t kMaxNamedInError = 20;

}  // namespace

absl::StatusOr<std::vector<std::string>> SelectHosts(
    const ClusterSpec& spec, const CheckRequest& request) {
  if (spec.servers().empty()) {
    return absl::InvalidArgumentError("the spec names no host");
  }
  std::set<std::string> wanted(request.hosts().begin(), request.hosts().end());
  std::vector<std::string> selected;
  for (const ServerSpec& server : spec.servers()) {
    if (request.hosts().empty() || wanted.erase(server.host()) > 0) {
      selected.push_back(server.host());
    }
  }
  if (wanted.empty()) return selected;
  const size_t count = wanted.size();
  while (wanted.size() > kMaxNamedInError) wanted.erase(--wanted.end());
  return absl::InvalidArgumentError(absl::StrCat(
      "not in the spec of cluster \"", spec.name(),
      "\": ", absl::StrJoin(wanted, ", "),
      count > kMaxNamedInError
          ? absl::StrCat(" and ", count - kMaxNamedInError, " more")
          : ""));
}

CheckRun::CheckRun(std::string run_id, std::shared_ptr<const ClusterSpec> spec,
                   std::vector<std::string> hosts, RuleSelection selection,
                   const Parts& parts, Callbacks callbacks)
    : run_id_(std::move(run_id)),
      spec_(std::move(spec)),
      hosts_(std::move(hosts)),
      selection_(std::move(selection)),
      parts_(parts),
      started_at_(parts.scheduler->Now()),
      callbacks_(std::move(callbacks)),
      facts_(hosts_.size()),
      tasks_(hosts_.size(), 0) {
  for (size_t i = 0; i < hosts_.size(); ++i) pending_.insert(i);
}

absl::Duration CheckRun::run_deadline() const {
  return absl::Milliseconds(spec_->deadlines().run_ms());
}

absl::Status CheckRun::Start() {
  if (parts_.pool->TryRun([run = shared_from_this()] { run->AskAll(); })) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      "the controller has as many checks to begin as it can hold");
}

void CheckRun::AskAll() {
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    timer_ =
        parts_.scheduler->RunAfter(run_deadline(), [weak = weak_from_this()] {
          if (const std::shared_ptr<CheckRun> run = weak.lock()) {
            run->OnDeadline();
          }
        });
  }
  Observation observation;
  observation.request = MakeObserveRequest(*spec_);
  observation.deadline = absl::Milliseconds(spec_->deadlines().host_ms());
  for (size_t i = 0; i < hosts_.size(); ++i) {
    observation.host = hosts_[i];
    const AttachedHosts::TaskId task = parts_.hosts->Observe(
        observation, [run = shared_from_this(), i](HostFacts facts) {
          run->OnFacts(i, std::move(facts));
        });
    bool too_late;
    {
      absl::MutexLock lock(&mutex_);
      tasks_[i] = task;
      too_late = closed_;
    }
    // Cancelled, or out of time, while we were asking.
    if (too_late) parts_.hosts->Cancel(task);
  }
}

void CheckRun::OnFacts(size_t index, HostFacts facts) {
  bool all;
  std::function<void()> on_progress;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_ || pending_.erase(index) == 0) return;
    if (facts.has_missing()) ++failed_;
    facts_[index] = std::move(facts);
    all = pending_.empty();
    closed_ = all;
    on_progress = callbacks_.on_progress;
    if (all) parts_.scheduler->Cancel(timer_);
  }
  if (on_progress) on_progress();
  if (all) JudgeSoon();
}

void CheckRun::OnDeadline() {
  std::vector<AttachedHosts::TaskId> overdue;
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    closed_ = true;
    for (const size_t index : pending_) {
      facts_[index] = MissingFacts(
          hosts_[index], Missing::TIMED_OUT,
          absl::StrCat("no answer in ", absl::FormatDuration(run_deadline()),
                       " (deadlines.run)"));
      overdue.push_back(tasks_[index]);
      ++failed_;
    }
    pending_.clear();
  }
  for (const AttachedHosts::TaskId task : overdue) parts_.hosts->Cancel(task);
  JudgeSoon();
}

void CheckRun::Cancel() {
  std::vector<AttachedHosts::TaskId> waiting;
  Callbacks dropped;
  {
    absl::MutexLock lock(&mutex_);
    dropped = std::move(callbacks_);
    callbacks_ = Callbacks{};
    closed_ = true;
    for (const size_t index : pending_) waiting.push_back(tasks_[index]);
    pending_.clear();
    parts_.scheduler->Cancel(timer_);
  }
  for (const AttachedHosts::TaskId task : waiting) parts_.hosts->Cancel(task);
}

CheckProgress CheckRun::progress() const {
  CheckProgress progress;
  absl::MutexLock lock(&mutex_);
  progress.set_pending(static_cast<uint32_t>(pending_.size()));
  progress.set_failed(failed_);
  progress.set_answered(static_cast<uint32_t>(hosts_.size() - pending_.size()) -
                        failed_);
  for (const size_t index : pending_) {
    if (progress.awaited_size() == static_cast<int>(kMaxAwaited)) break;
    progress.add_awaited(hosts_[index]);
  }
  return progress;
}

// Judging takes milliseconds that the threads of gRPC should not be kept for.
void CheckRun::JudgeSoon() {
  if (!parts_.pool->TryRun([run = shared_from_this()] { run->JudgeNow(); })) {
    JudgeNow();
  }
}

void CheckRun::JudgeNow() {
  std::vector<HostFacts> facts;
  std::function<void(Report)> on_report;
  {
    absl::MutexLock lock(&mutex_);
    facts.swap(facts_);
    on_report = std::move(callbacks_.on_report);
    callbacks_ = Callbacks{};
  }
  if (!on_report) return;
  std::vector<const HostFacts*> pointers;
  pointers.reserve(facts.size());
  for (const HostFacts& host : facts) pointers.push_back(&host);
  JudgeOptions options;
  options.selection = selection_;
  Report report = BuildReport(*spec_, pointers, options);
  report.set_run_id(run_id_);
  report.set_started_at_ms(absl::ToUnixMillis(started_at_));
  report.set_elapsed_ms(static_cast<uint64_t>(
      absl::ToInt64Milliseconds(parts_.scheduler->Now() - started_at_)));
  report.set_clusterd_version(kClusterdVersion);
  on_report(std::move(report));
}

}  // namespace clusterd
