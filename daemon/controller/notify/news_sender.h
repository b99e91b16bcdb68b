// Sends news to the notifiers of cluster.yaml, on its own threads, so that a
// slow or unreachable one delays neither checks nor the others.
//
//   one notifier                   news one at a time, schedules in turn
//   one notifier and schedule      newer news replaces the one that waits
//                                  after the one being sent
//   a command                      is run once; again 5 s, 30 s and 2 min
//                                  after a try that RunNotifierCommand calls
//                                  Unavailable, then every 2 min for a day,
//                                  unless there is newer news by then
//   removed from cluster.yaml      gets nothing more; newly configured ones
//                                  get its unsent news, and also the news that
//                                  is being sent to it
// The result is logged once for each news and notifier, and again when the
// quick tries are over. A restart ends the tries.
#ifndef DAEMON_CONTROLLER_NOTIFY_NEWS_SENDER_H_
#define DAEMON_CONTROLLER_NOTIFY_NEWS_SENDER_H_

#include <sys/eventfd.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/values/owned_fd.h"
#include "daemon/process/callback_gate.h"
#include "daemon/process/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "proto/finding.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// The hosts on which each rule newly fails, not yet sent; "" is the cluster.
using NewFailures = std::map<std::string, std::vector<std::string>>;

// A new verdict of a scheduled check, or failures that began under the same
// verdict, and the JSON for notifiers:
//   {"schema_version":1, "cluster":"demo", "schedule":"links",
//    "run_id":"3fa2c4d5e6f70812", "verdict_before":"pass", "verdict":"fail",
//    "summary":"2 failed, 8 passed; 2 worse; new: link on node[01-02]",
//    "new_failures":{"link":"node[01-02]"}, "diff":{…}, "report":{…}}
// `diff` is a ReportDiff from the check before. `verdict_before` is the last
// notified one, maybe of an older check; UNKNOWN if a restart hides it.
struct VerdictNews {
  State before = PASS;
  NewFailures started;
  Report report;  // With its run, schedule, cluster and verdict.
  ReportDiff diff;
};

// "schedule links: fail, was pass (check 3fa2c4d5e6f70812)", for logs. If the
// verdict is the same, "new: link on node[01-02]" instead of the earlier one.
std::string NewsText(const VerdictNews& news);

// JSON on one line, only with hosts of the report that do not pass.
std::string NewsJson(VerdictNews news);

// Wakes threads in poll() when a controller stops. Safe for concurrent use.
class StopSignal {
 public:
  // Makes fd() readable; it is never read.
  void Set() const { eventfd_write(fd(), 1); }
  // -1 if descriptors ran out: then it wakes no thread.
  int fd() const { return fd_.get(); }

 private:
  const OwnedFd fd_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

// Safe for concurrent use; calls nothing under its lock.
class NewsSender {
 public:
  // Both must live until Stop.
  NewsSender(Scheduler* scheduler, Log* log)
      : scheduler_(scheduler), log_(log) {}
  ~NewsSender() { Stop(); }

  // Notifies `spec.notify` from now on; nothing is sent before this call.
  void ReadSpec(const ClusterSpec& spec) ABSL_LOCKS_EXCLUDED(mutex_);

  // Notifies all. It makes the JSON, which takes long for a large report.
  void Send(VerdictNews news) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends running notifiers, and starts no others.
  void Stop();

 private:
  struct Notified {
    uint64_t number = 0;  // Increases with each news.
    std::string schedule;
    std::string text;  // For the log.
    std::string json;
  };
  using NotifiedPtr = std::shared_ptr<const Notified>;
  // The open news of one notifier and schedule.
  struct Lane {
    Notifier to;
    NotifiedPtr current;
    NotifiedPtr waiting;  // Null: nothing.
    size_t tries = 0;
    absl::Time began;      // The first one.
    bool is_gone = false;  // No longer in cluster.yaml.
  };

  // Gives it news; adds a lane that this begins to `begun`, for TellSoon.
  void GiveLocked(const Notifier& to, const NotifiedPtr& note,
                  std::vector<std::string>* begun)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Sends the lane's current news, or waits; then sends the next.
  void TellNext(const std::string& lane) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sends once its notifier is free for the lane.
  void TellSoon(const std::string& lane) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndTurn(const std::string& lane) ABSL_LOCKS_EXCLUDED(mutex_);
  void LogResult(const Notifier& to, const Notified& note,
                 const absl::StatusOr<std::string>& result) const;

  Scheduler* const scheduler_;
  Log* const log_;
  const StopSignal stop_;
  const CallbackGate gate_;
  absl::Mutex mutex_;
  // Keyed by their content.
  std::map<std::string, Notifier> notify_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Lane> lanes_ ABSL_GUARDED_BY(mutex_);
  // By notifier: the lanes that wait while another one is being sent.
  std::map<std::string, std::deque<std::string>> turns_ ABSL_GUARDED_BY(mutex_);
  // One thread for each possible notifier: one that hangs delays no other.
  WorkerPool pool_{16, 4096};  // Last: its threads use the rest.
};

// Runs the program of a notifier, which reads the news on its standard input.
// All of the news is in memory before it starts, so that a program that does
// not read blocks nothing.
//
// Returns the first line of its output, on either stream, fit for a log. It
// runs in "/", as our own user, with nothing inherited and only PATH and LC_ALL
// set. Its own process group is killed when it ends, at the deadline, and when
// `stop` (of a StopSignal) is readable.
//
// FailedPrecondition, with that line, for another status than 0 or a signal;
// NotFound or PermissionDenied if it cannot be run; DeadlineExceeded;
// Cancelled: `stop`. Unavailable: out of processes or memory, or status 75,
// EX_TEMPFAIL of <sysexits.h>, by which a program asks for a later retry.
// REQUIRES: argv[0] is an absolute path.
absl::StatusOr<std::string> RunNotifierCommand(
    const std::vector<std::string>& argv, absl::string_view input,
    absl::Duration deadline, int stop);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_NOTIFY_NEWS_SENDER_H_
