// The current state of the cluster for all watchers (Controller.Watch): read
// once a second while there are watchers, and sent when it has changed.
// Watchers share one state, so a slow reader gets the newest.
#ifndef DAEMON_CONTROLLER_WATCH_CLUSTER_WATCH_H_
#define DAEMON_CONTROLLER_WATCH_CLUSTER_WATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/controller/hosts/fact_run.h"
#include "daemon/process/callback_gate.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "proto/controller.pb.h"
#include "proto/finding.pb.h"

namespace clusterd {

// How much of a check watchers get: a few kilobytes for any cluster.
inline constexpr int kShownWrong = 20;     // Rules, and changes.
inline constexpr int kShownFindings = 3;   // For a rule.
inline constexpr int kShownSubjects = 20;  // For a finding or change.

// Without name and next_at_ms. `wrong` omits rules whose findings another rule
// explains; its `summary` names all subjects, even if some are cut. A note
// counts the omitted changes. `changes` is null if there was no earlier check.
ClusterNow::ScheduleNow CheckNow(const Report& newest,
                                 const ReportDiff* changes);

// "check 0123456789abcdef of ann, 12 hosts"; at most 10, and how many more.
std::vector<FindingValue> RunningWords(const std::vector<RunningCheck>& checks);

// Makes ClusterNow.asked, once for each check. Not thread-safe.
class AskedCheck {
 public:
  // From the newest check of all hosts and the one before it, null if there is
  // none. Also nullopt for a scheduled check.
  std::optional<ClusterNow::ScheduleNow> Of(
      const std::shared_ptr<const Report>& newest,
      const std::shared_ptr<const Report>& before);

 private:
  std::weak_ptr<const Report> report_;
  ClusterNow::ScheduleNow now_;
};

// The sources of ClusterNow's fields, all set. Called on a thread of the pool,
// one after the other; must not wait for long.
struct WatchSources {
  // Sets the fields about hosts.
  std::function<void(ClusterNow* now)> hosts;
  // Sorted as in the spec. `newest`, `changes` and `wrong` as CheckNow.
  std::function<std::vector<ClusterNow::ScheduleNow>()> schedules;
  std::function<std::optional<ClusterNow::ScheduleNow>()> asked;
  std::function<std::vector<FindingValue>()> running;
  // Applies that wait to be confirmed.
  std::function<std::vector<ConfirmResponse>()> pending;
};

// Safe for concurrent use; calls nothing under its lock.
class ClusterWatch {
 public:
  using WatcherId = uint64_t;
  // Called on any thread; neither may block.
  struct Watcher {
    // now() has changed. First called at once, or once it is known.
    std::function<void()> on_change;
    // Called once, at Stop; within Join if Stop came first.
    std::function<void(const absl::Status& why)> on_stop;
  };

  static constexpr absl::Duration kInterval = absl::Seconds(1);

  // Scheduler and pool must outlive it.
  ClusterWatch(std::string cluster, WatchSources sources, Scheduler* scheduler,
               WorkerPool* pool)
      : cluster_(std::move(cluster)),
        sources_(std::move(sources)),
        scheduler_(scheduler),
        pool_(pool) {}
  ~ClusterWatch() { Stop(); }

  // An id for Join, so that a call knows its watcher before any callback.
  WatcherId NewWatcher() ABSL_LOCKS_EXCLUDED(mutex_);
  void Join(WatcherId id, Watcher watcher) ABSL_LOCKS_EXCLUDED(mutex_);
  // Also for a watcher that never joined. One more callback may follow.
  void Leave(WatcherId id) ABSL_LOCKS_EXCLUDED(mutex_);

  // Null before the first on_change.
  std::shared_ptr<const ClusterNow> now() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Stops reading, and ends all watchers with Unavailable.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void RunRoundSoon();
  void RunRound() ABSL_LOCKS_EXCLUDED(mutex_);
  ClusterNow Observe() const;

  const std::string cluster_;
  const WatchSources sources_;
  Scheduler* const scheduler_;
  WorkerPool* const pool_;
  const CallbackGate gate_;

  mutable absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  WatcherId last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<WatcherId, Watcher> watchers_ ABSL_GUARDED_BY(mutex_);
  bool in_round_ ABSL_GUARDED_BY(mutex_) = false;  // Reading, or about to.
  uint64_t rounds_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<const ClusterNow> now_ ABSL_GUARDED_BY(mutex_);
  std::string bytes_ ABSL_GUARDED_BY(mutex_);  // now_ without its time.
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_WATCH_CLUSTER_WATCH_H_
