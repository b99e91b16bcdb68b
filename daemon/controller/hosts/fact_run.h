// Asks all hosts at once for their facts, for a check or a plan. Waits for each
// until its deadline, and for all until the run's, then hands over all facts.
// If a host does not answer, its facts say so: it is `unknown` in a check and
// blocked in a plan, but never fails the run.
#ifndef DAEMON_CONTROLLER_HOSTS_FACT_RUN_H_
#define DAEMON_CONTROLLER_HOSTS_FACT_RUN_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/plan/make_plan.h"
#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/process/callback_gate.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "proto/controller.pb.h"
#include "proto/facts.pb.h"
#include "proto/finding.pb.h"
#include "proto/job.pb.h"
#include "proto/plan.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// The hosts that a request names, or all, in the order of the spec.
// InvalidArgument if the spec lacks some, naming each, or has no hosts.
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

// The task for every host of the spec, with its deadline for one host. `job`
// adds what the job needs; `selection` limits it to the needs of its rules.
HostTask ObservationOf(const ClusterSpec& spec, const std::string& host,
                       const NetworkNamespace& target = {},
                       const JobSpec* job = nullptr,
                       const RuleSelection* selection = nullptr);

// How many of these hosts have answered; the first awaited ones, by index.
template <typename Awaited>
CheckProgress ProgressOf(const std::vector<std::string>& hosts, size_t pending,
                         uint32_t failed, const Awaited& awaited) {
  constexpr int kMaxAwaited = 8;
  CheckProgress progress;
  progress.set_pending(static_cast<uint32_t>(pending));
  progress.set_failed(failed);
  progress.set_answered(static_cast<uint32_t>(hosts.size() - pending) - failed);
  for (const auto& [index, task] : awaited) {
    if (progress.awaited_size() == kMaxAwaited) break;
    progress.add_awaited(hosts[index]);
  }
  return progress;
}

struct FactOrder {
  std::string run_id = NewRunId();
  std::string actor;  // The caller's SPIFFE id.
  std::shared_ptr<const ClusterSpec> spec;
  std::vector<std::string> hosts;  // From SelectHosts.
  NetworkNamespace network_namespace;
  absl::Time started_at;
  // The job to check; the spec and the hosts are narrowed to it. Null: none.
  std::shared_ptr<const JobSpec> job = nullptr;
  // Hosts that are asked only if AskHeld names them, within this time.
  absl::flat_hash_set<std::string> held = {};
  absl::Duration hold_for = absl::ZeroDuration();
  FindingValue why_held = {};  // Why they are not asked.
  // Asks only for facts that these rules need; unset: for all.
  std::optional<RuleSelection> selection = {};
  // The rules of a check, for its result so far; unset: it has none.
  std::optional<RuleSelection> judged = {};
  // Limits a plan's steps.
  PlanSelection steps = {};
};

// The offset of a host's clock from ours: at the begin of its observation and
// `asked`, and at its end and `answered`.
ClockFact CompareClocks(const HostFacts& facts, absl::Time asked,
                        absl::Time answered);

// The findings of a check, from the facts of a run. REQUIRES:
// ValidateSelection(selection) is OK.
Report MakeCheckReport(const FactOrder& order, const RuleSelection& selection,
                       const std::vector<HostFacts>& facts, absl::Time now);

// Each host's steps of an apply, and the findings that they would not fix.
// Changes nothing.
ClusterPlan MakeHostsPlan(const FactOrder& order,
                          const std::vector<HostFacts>& facts, absl::Time now);

// Safe for concurrent use.
class FactRun : public std::enable_shared_from_this<FactRun> {
 public:
  struct Callbacks {
    // progress() has changed. Called on any thread, often; must not block.
    std::function<void()> on_progress;
    // Called last and once, on a thread of the pool, unless cancelled before.
    // One entry for each host, in their order.
    std::function<void(std::vector<HostFacts> facts)> on_facts;
  };

  // All parts must outlive the run.
  FactRun(std::shared_ptr<const FactOrder> order, const ControllerParts& parts,
          Callbacks callbacks);

  // Begins, on a thread of the pool. ResourceExhausted if the pool is full.
  absl::Status Start();
  // Asks one held host, or all. Ignores others, and those timed out.
  void AskHeld(const std::string& host) ABSL_LOCKS_EXCLUDED(mutex_);
  void AskAllHeld() ABSL_LOCKS_EXCLUDED(mutex_);
  // The caller has left: cancels the hosts' tasks and drops the callbacks.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);

  CheckProgress progress() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The facts so far, in the order of the hosts; `awaited` gets the hosts still
  // missing. FailedPrecondition if none is: the result is about to arrive.
  absl::StatusOr<std::vector<HostFacts>> FactsSoFar(
      std::vector<std::string>* awaited) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void AskAll() ABSL_LOCKS_EXCLUDED(mutex_);
  void Ask(size_t index) ABSL_LOCKS_EXCLUDED(mutex_);
  void GiveUpHeld() ABSL_LOCKS_EXCLUDED(mutex_);
  void OnFacts(size_t index, HostFacts facts) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDeadline() ABSL_LOCKS_EXCLUDED(mutex_);
  // Keeps slow work, such as judging or planning, off the threads of gRPC.
  void HandOverSoon() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Duration run_deadline() const;

  const std::shared_ptr<const FactOrder> order_;
  const ControllerParts parts_;
  const HostTask observation_;  // For any host.
  const CallbackGate gate_;     // Never closed: Cancel drops the callbacks.

  mutable absl::Mutex mutex_;
  Callbacks callbacks_ ABSL_GUARDED_BY(mutex_);
  std::vector<HostFacts> facts_ ABSL_GUARDED_BY(mutex_);  // As order_->hosts.
  // The tasks that wait for an answer, by the index of the host.
  std::map<size_t, AttachedHosts::TaskId> pending_ ABSL_GUARDED_BY(mutex_);
  std::set<size_t> unasked_ ABSL_GUARDED_BY(mutex_);  // Also by index.
  uint32_t failed_ ABSL_GUARDED_BY(mutex_) = 0;
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
  // All facts have arrived, or the run stops waiting.
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

// A check under way, for partial results.
struct RunningCheck {
  std::shared_ptr<const FactOrder> order;  // With `judged`.
  std::shared_ptr<const FactRun> run;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_FACT_RUN_H_
