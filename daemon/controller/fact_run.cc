#include "daemon/controller/fact_run.h"

#include <cstdint>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "daemon/controller/fact_limits.h"

namespace clusterd {
namespace {

constexpr size_t kMaxAwaited = 8;
constexpr size_t kMaxNamedInError = 20;
// When the pool has no room for what is done with the facts.
constexpr absl::Duration kPoolRetry = absl::Milliseconds(100);

}  // namespace

absl::StatusOr<std::vector<std::string>> SelectHosts(
    const ClusterSpec& spec,
    const google::protobuf::RepeatedPtrField<std::string>& names) {
  if (spec.servers().empty()) {
    return absl::InvalidArgumentError("the spec names no host");
  }
  std::set<std::string> wanted(names.begin(), names.end());
  std::vector<std::string> selected;
  for (const ServerSpec& server : spec.servers()) {
    if (names.empty() || wanted.erase(server.host()) > 0) {
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

std::string NewRunId() {
  std::random_device random;
  const uint64_t id = static_cast<uint64_t>(random()) << 32 | random();
  return absl::StrCat(absl::Hex(id, absl::kZeroPad16));
}

FactRun::FactRun(std::shared_ptr<const ClusterSpec> spec,
                 std::vector<std::string> hosts, ObserveRequest observe,
                 const Parts& parts, Callbacks callbacks)
    : spec_(std::move(spec)),
      hosts_(std::move(hosts)),
      observe_(std::move(observe)),
      parts_(parts),
      callbacks_(std::move(callbacks)),
      facts_(hosts_.size()),
      tasks_(hosts_.size(), 0) {
  for (size_t i = 0; i < hosts_.size(); ++i) pending_.insert(i);
}

absl::Duration FactRun::run_deadline() const {
  return absl::Milliseconds(spec_->deadlines().run_ms());
}

absl::Status FactRun::Start() {
  if (parts_.pool->TryRun([run = shared_from_this()] { run->AskAll(); })) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      "the controller has as many checks and plans to begin as it can hold");
}

void FactRun::AskAll() {
  {
    absl::MutexLock lock(&mutex_);
    if (closed_) return;
    timer_ =
        parts_.scheduler->RunAfter(run_deadline(), [weak = weak_from_this()] {
          if (const std::shared_ptr<FactRun> run = weak.lock()) {
            run->OnDeadline();
          }
        });
  }
  Observation observation;
  observation.request = observe_;
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

void FactRun::OnFacts(size_t index, HostFacts facts) {
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
  if (all) HandOverSoon();
}

void FactRun::OnDeadline() {
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
  HandOverSoon();
}

void FactRun::Cancel() {
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

CheckProgress FactRun::progress() const {
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

// What is done with facts is judged, planned and kept on disk, and the threads
// of gRPC should not be kept for that.
void FactRun::HandOverSoon() {
  if (parts_.pool->TryRun([run = shared_from_this()] { run->HandOver(); })) {
    return;
  }
  parts_.scheduler->RunAfter(
      kPoolRetry, [run = shared_from_this()] { run->HandOverSoon(); });
}

void FactRun::HandOver() {
  std::vector<HostFacts> facts;
  std::function<void(std::vector<HostFacts>)> on_facts;
  {
    absl::MutexLock lock(&mutex_);
    facts.swap(facts_);
    on_facts = std::move(callbacks_.on_facts);
    callbacks_ = Callbacks{};
  }
  if (on_facts) on_facts(std::move(facts));
}

}  // namespace clusterd
