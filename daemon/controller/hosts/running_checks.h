// The checks that are under way, by the id of their run, for whoever wants to
// know what one has found so far.
#ifndef DAEMON_CONTROLLER_HOSTS_RUNNING_CHECKS_H_
#define DAEMON_CONTROLLER_HOSTS_RUNNING_CHECKS_H_

#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "daemon/controller/hosts/fact_run.h"
#include "proto/finding.pb.h"

namespace clusterd {

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

#endif  // DAEMON_CONTROLLER_HOSTS_RUNNING_CHECKS_H_
