// Asks hosts for their facts, all at once, for a check or a plan: waits for
// each no longer than its deadline and for all no longer than the run's, then
// hands over what there is. A host without an answer has facts that say so: it
// costs a check one `unknown` and is blocked in a plan, and never costs the
// run.
#ifndef DAEMON_CONTROLLER_HOSTS_FACT_RUN_H_
#define DAEMON_CONTROLLER_HOSTS_FACT_RUN_H_

#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/plan/make_plan.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/controller_parts.h"
#include "daemon/process/callback_gate.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/controller.pb.h"
#include "proto/facts.pb.h"
#include "proto/finding.pb.h"
#include "proto/job.pb.h"
#include "proto/plan.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// The hosts that a request names, in the order of the spec; all of them if it
// names none. InvalidArgument naming each that the spec does not have, or if
// the spec has none.
absl::StatusOr<std::vector<std::string>> SelectHosts(
    const ClusterSpec& spec,
    const google::protobuf::RepeatedPtrField<std::string>& names);

// "a, b, c and 5 more", for messages about hosts.
inline FindingValue NameList(const std::vector<std::string>& names) {
  return Listed(names, 20);
}
inline std::string NamesText(const std::vector<std::string>& names) {
  return ValueText(NameList(names));
}

// Ids of checks, plans, applies and rollbacks: 16 random hex digits.
std::string NewRunId();

// What every host of the spec is asked, with the spec's deadline for one host;
// with a job, what that needs, too; with a selection, no more than its rules
// do.
HostTask ObservationOf(const ClusterSpec& spec, const std::string& host,
                       const NetworkNamespace& target = {},
                       const JobSpec* job = nullptr,
                       const RuleSelection* selection = nullptr);

struct FactOrder {
  std::string run_id;
  std::string actor;  // The SPIFFE id of who asks.
  std::shared_ptr<const ClusterSpec> spec;
  std::vector<std::string> hosts;  // From SelectHosts.
  NetworkNamespace network_namespace;
  absl::Time started_at;
  // The job that is checked; the spec and the hosts are narrowed to it. Null:
  // none is.
  std::shared_ptr<const JobSpec> job = nullptr;
  // Hosts that are asked only if AskHeld names them, in so long from the begin.
  absl::flat_hash_set<std::string> held = {};
  absl::Duration hold_for = absl::ZeroDuration();
  std::string why_held = {};  // They are not asked.
  // The rules of a check; unset: all that hosts can tell is asked.
  std::optional<RuleSelection> selection = {};
  // What a plan is narrowed to.
  PlanSelection steps = {};
};

// How far a host's clock, at the begin and the end of its observation, is ahead
// of ours, by which it was asked and had answered.
ClockFact CompareClocks(const HostFacts& facts, absl::Time asked,
                        absl::Time answered);

// What a check finds in the facts of a run.
// REQUIRES: ValidateSelection(selection) is OK.
Report MakeCheckReport(const FactOrder& order, const RuleSelection& selection,
                       const std::vector<HostFacts>& facts, absl::Time now);

// What apply would do to each host, and which findings of a check of the same
// facts it would leave there. Changes nothing.
ClusterPlan MakeHostsPlan(const FactOrder& order,
                          const std::vector<HostFacts>& facts, absl::Time now);

// Safe for concurrent use.
class FactRun : public std::enable_shared_from_this<FactRun> {
 public:
  struct Callbacks {
    // progress() has news. From any thread, often; must not block.
    std::function<void()> on_progress;
    // Last, once, from a thread of the pool, unless cancelled before. As many
    // entries as there are hosts, in their order.
    std::function<void(std::vector<HostFacts> facts)> on_facts;
  };

  // All parts must outlive the run.
  FactRun(std::shared_ptr<const FactOrder> order, const ControllerParts& parts,
          Callbacks callbacks);

  // Begins, on a thread of the pool. ResourceExhausted if the pool is full.
  absl::Status Start();
  // Asks one that is held, or all of them. Nothing for others, also those whose
  // time is over.
  void AskHeld(const std::string& host) ABSL_LOCKS_EXCLUDED(mutex_);
  void AskAllHeld() ABSL_LOCKS_EXCLUDED(mutex_);
  // Nobody waits any more: tells the hosts, drops the callbacks.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);

  CheckProgress progress() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The facts that are in, in the order of the hosts; `awaited` gets those
  // whose facts say that they are not. FailedPrecondition when no host is
  // awaited any more: all is on its way.
  absl::StatusOr<std::vector<HostFacts>> FactsSoFar(
      std::vector<std::string>* awaited) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void AskAll() ABSL_LOCKS_EXCLUDED(mutex_);
  void Ask(size_t index) ABSL_LOCKS_EXCLUDED(mutex_);
  void GiveUpHeld() ABSL_LOCKS_EXCLUDED(mutex_);
  void OnFacts(size_t index, HostFacts facts) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDeadline() ABSL_LOCKS_EXCLUDED(mutex_);
  // Judging, planning and keeping are not for the threads of gRPC.
  void HandOverSoon() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Duration run_deadline() const;

  const std::shared_ptr<const FactOrder> order_;
  const ControllerParts parts_;
  const HostTask observation_;  // For any host.
  const CallbackGate gate_;  // Is never closed: whoever has left is not called.

  mutable absl::Mutex mutex_;
  Callbacks callbacks_ ABSL_GUARDED_BY(mutex_);
  std::vector<HostFacts> facts_ ABSL_GUARDED_BY(mutex_);  // As order_->hosts.
  // The tasks that wait for an answer, by the index of the host.
  std::map<size_t, AttachedHosts::TaskId> pending_ ABSL_GUARDED_BY(mutex_);
  std::set<size_t> unasked_ ABSL_GUARDED_BY(mutex_);  // By the index, too.
  uint32_t failed_ ABSL_GUARDED_BY(mutex_) = 0;
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
  // All facts are in, or no more will be waited for.
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

// The checks that are under way, by the id of their run, for whoever wants to
// know what one has found so far.
struct RunningCheck {
  std::shared_ptr<const FactOrder> order;
  RuleSelection selection;
  std::weak_ptr<const FactRun> run;
};

// Safe for concurrent use.
class RunningChecks {
 public:
  // Until its run has gone.
  void Note(RunningCheck check) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    for (auto old = checks_.begin(); old != checks_.end();) {
      old = old->second.run.expired() ? checks_.erase(old) : std::next(old);
    }
    checks_[check.order->run_id] = std::move(check);
  }

  // Those whose run has not gone, by their ids.
  std::vector<RunningCheck> All() const ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<RunningCheck> all;
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, check] : checks_) {
      if (!check.run.expired()) all.push_back(check);
    }
    return all;
  }

  // Without an order if none is known by that id; its run may have gone.
  RunningCheck Find(const std::string& run_id) const
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto found = checks_.find(run_id);
    return found == checks_.end() ? RunningCheck() : found->second;
  }

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, RunningCheck> checks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_FACT_RUN_H_
