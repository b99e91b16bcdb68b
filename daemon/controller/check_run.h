// One check: asks all its hosts at once, waits for each no longer than its
// deadline and for all no longer than the run's, then judges what there is.
// A host without an answer costs one `unknown`, never the run.
#ifndef DAEMON_CONTROLLER_CHECK_RUN_H_
#define DAEMON_CONTROLLER_CHECK_RUN_H_

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/controller/attached_hosts.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "proto/controller.pb.h"
#include "proto/facts.pb.h"
#include "proto/finding.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// The hosts that a request names, in the order of the spec; all of them if it
// names none. InvalidArgument naming each that the spec does not have, or if
// the spec has none.
absl::StatusOr<std::vector<std::string>> SelectHosts(
    const ClusterSpec& spec, const CheckRequest& request);

// Safe for concurrent use.
class CheckRun : public std::enable_shared_from_this<CheckRun> {
 public:
  struct Callbacks {
    // progress() has news. From any thread, often; must not block.
    std::function<void()> on_progress;
    // Last, once, from a thread of the pool, unless cancelled before.
    std::function<void(Report report)> on_report;
  };
  struct Parts {
    AttachedHosts* hosts = nullptr;
    Scheduler* scheduler = nullptr;
    WorkerPool* pool = nullptr;
  };

  // All parts must outlive the run. REQUIRES: ValidateSelection is OK, `hosts`
  // came from SelectHosts.
  CheckRun(std::string run_id, std::shared_ptr<const ClusterSpec> spec,
           std::vector<std::string> hosts, RuleSelection selection,
           const Parts& parts, Callbacks callbacks);

  // Begins, on a thread of the pool. ResourceExhausted if the pool is full.
  absl::Status Start();
  // Nobody waits any more: tells the hosts, drops the callbacks.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);

  CheckProgress progress() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void AskAll() ABSL_LOCKS_EXCLUDED(mutex_);
  void OnFacts(size_t index, HostFacts facts) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnDeadline() ABSL_LOCKS_EXCLUDED(mutex_);
  void JudgeSoon() ABSL_LOCKS_EXCLUDED(mutex_);
  void JudgeNow() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Duration run_deadline() const;

  const std::string run_id_;
  const std::shared_ptr<const ClusterSpec> spec_;
  const std::vector<std::string> hosts_;
  const RuleSelection selection_;
  const Parts parts_;
  const absl::Time started_at_;

  mutable absl::Mutex mutex_;
  Callbacks callbacks_ ABSL_GUARDED_BY(mutex_);
  std::vector<HostFacts> facts_ ABSL_GUARDED_BY(mutex_);  // As hosts_.
  std::vector<AttachedHosts::TaskId> tasks_ ABSL_GUARDED_BY(mutex_);
  std::set<size_t> pending_ ABSL_GUARDED_BY(mutex_);  // Indices of hosts_.
  uint32_t failed_ ABSL_GUARDED_BY(mutex_) = 0;
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
  // All facts are in, or no more will be waited for.
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CHECK_RUN_H_
