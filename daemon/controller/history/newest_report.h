// The newest check of the whole cluster, whoever asked for it: what a page, a
// scrape or a watcher shows without asking any host.
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

// Whether the report is of all hosts of the spec and of all rules that need no
// job: neither of a job, nor of a network namespace, nor broken off. Whoever
// asks for a check cannot make it look better for all: a failure that was
// downgraded is only taken from a schedule of cluster.yaml.
bool IsOfWholeCluster(const Report& report, const ClusterSpec& spec);

// Safe for concurrent use.
class NewestReport {
 public:
  // Copies it if it is of the whole cluster and not older than the one that is
  // there, or that one is of a time that is to come: the clock was ahead.
  void Offer(const Report& report, const ClusterSpec& spec, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The newest that a history has, but for those of a time that is to come.
  // Reads a few reports at most, of a schedule the newest alone. Waits for the
  // disk.
  void Restore(const HistoryStore& history, const ClusterSpec& spec,
               absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  // Null: none yet. The same pointer until there is a newer one.
  std::shared_ptr<const Report> Get() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return report_;
  }
  // The one that was the newest before this one; null: there was none, or this
  // one is not the newest any more.
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
