// The newest check of the whole cluster by any user. Pages, scrapes and
// watchers show it without asking any host.
#ifndef DAEMON_CONTROLLER_HISTORY_NEWEST_REPORT_H_
#define DAEMON_CONTROLLER_HISTORY_NEWEST_REPORT_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/controller/history/history_store.h"
#include "proto/finding.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// True if the report covers all hosts of the spec and all rules that need no
// job, without a job or network namespace, and is complete. Only schedules of
// cluster.yaml may downgrade failures in it, so that no user can make the
// cluster look better to others.
bool IsOfWholeCluster(const Report& report, const ClusterSpec& spec);

// Safe for concurrent use.
class NewestReport {
 public:
  // Copies it if it covers the whole cluster and is not older than the current
  // one. Also replaces a current one from the future, when the clock was ahead.
  void Offer(const Report& report, const ClusterSpec& spec, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Restores the newest report of a history, ignoring those from the future.
  // Reads only a few reports: the newest of each schedule. Waits for the disk.
  void Restore(const HistoryStore& history, const ClusterSpec& spec,
               absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  // Null: there is none yet. The same pointer until a newer one replaces it.
  std::shared_ptr<const Report> Get() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return report_;
  }
  // The report before this one; null: none, or this is no longer the newest.
  std::shared_ptr<const Report> Before(const Report& report) const
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return report_.get() == &report ? before_ : nullptr;
  }

 private:
  mutable absl::Mutex mutex_;
  std::shared_ptr<const Report> before_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const Report> report_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HISTORY_NEWEST_REPORT_H_
