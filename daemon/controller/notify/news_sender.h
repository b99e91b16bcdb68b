// Tells the notifiers of cluster.yaml what is new, on threads of its own, so
// that one that is slow or away holds up neither checks nor the others.
//
//   of one notifier                one after the other, each schedule in turn
//   of one notifier and schedule   what waits behind the one that is being
//                                  told is replaced by what is newer
//   a command                      is run once; again 5 s, 30 s and 2 min
//                                  after a try that RunNotifierCommand calls
//                                  Unavailable, and then every 2 min for a
//                                  day, unless there is something newer by then
//   one that cluster.yaml has      is told nothing more; what it was not told
//   no more                        yet, those are told that are new there; what
//                                  it is being told, it and they
// What came of it is a line of the log, once for each news and notifier; one
// more when the quick tries are over. A restart ends the tries.
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

// The hosts on which each rule fails that was not sent as failing there; "":
// the cluster.
using NewFailures = std::map<std::string, std::vector<std::string>>;

// A new verdict of a scheduled check, or failures that started under the same
// one, and the JSON that notifiers are told:
//   {"schema_version":1, "cluster":"demo", "schedule":"links",
//    "run_id":"3fa2c4d5e6f70812", "verdict_before":"pass", "verdict":"fail",
//    "summary":"2 failed, 8 passed; 2 worse; new: link on node[01-02]",
//    "new_failures":{"link":"node[01-02]"}, "diff":{…}, "report":{…}}
// `diff` is a ReportDiff, since the check before; `verdict_before` is what was
// told last, which may be of an earlier one; UNKNOWN where a restart hides it.
struct VerdictNews {
  State before = PASS;
  NewFailures started;
  Report report;  // With its run, schedule, cluster and verdict.
  ReportDiff diff;
};

// "schedule links: fail, was pass (check 3fa2c4d5e6f70812)", for logs; with
// "new: link on node[01-02]" in place of the same verdict before.
std::string NewsText(const VerdictNews& news);

// On one line. Of the report's hosts only those that do not pass.
std::string NewsJson(VerdictNews news);

// Wakes threads that wait in poll() when a controller stops. Safe for
// concurrent use.
class StopSignal {
 public:
  // From now on fd() can be read; nobody reads it.
  void Set() const { eventfd_write(fd(), 1); }
  // -1 where the system has no descriptor left: nobody is woken then.
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

  // From now on `spec.notify` are told; before the first time nobody is.
  void ReadSpec(const ClusterSpec& spec) ABSL_LOCKS_EXCLUDED(mutex_);

  // All of them. Makes the JSON, and so takes long for a large report.
  void Send(VerdictNews news) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends what is being told; no notifier is told any more.
  void Stop();

 private:
  struct Notified {
    uint64_t number = 0;  // Newer ones have higher ones.
    std::string schedule;
    std::string text;  // For the log.
    std::string json;
  };
  using NotifiedPtr = std::shared_ptr<const Notified>;
  // Of one notifier and schedule, while there is something for it.
  struct Lane {
    Notifier to;
    NotifiedPtr current;
    NotifiedPtr waiting;  // Null: nothing.
    size_t tries = 0;
    absl::Time began;      // The first one.
    bool is_gone = false;  // Its notifier, of cluster.yaml.
  };

  // A lane that this begins is added to `begun`, for TellSoon.
  void GiveLocked(const Notifier& to, const NotifiedPtr& told,
                  std::vector<std::string>* begun)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Tells what is current, or waits, and what is to come after it.
  void TellNext(const std::string& lane) ABSL_LOCKS_EXCLUDED(mutex_);
  // When it is the lane's turn at its notifier.
  void TellSoon(const std::string& lane) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndTurn(const std::string& lane) ABSL_LOCKS_EXCLUDED(mutex_);
  void LogResult(const Notifier& to, const Notified& told,
                 const absl::StatusOr<std::string>& result) const;

  Scheduler* const scheduler_;
  Log* const log_;
  const StopSignal stop_;
  const CallbackGate gate_;
  absl::Mutex mutex_;
  // By what they are.
  std::map<std::string, Notifier> notify_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, Lane> lanes_ ABSL_GUARDED_BY(mutex_);
  // While one lane of a notifier is being told: its others that wait for that.
  std::map<std::string, std::deque<std::string>> turns_ ABSL_GUARDED_BY(mutex_);
  // As many threads as a spec can have notifiers, so that one that hangs holds
  // up no other.
  WorkerPool pool_{16, 4096};  // Last: its threads use the rest.
};

// Runs the program of a notifier, which reads the news on its standard input.
// Those are in memory, whole, before it starts, so that a program that does not
// read them holds up nothing.
//
// The first line of what it wrote, on either stream, fit for a log. It runs in
// "/", as our own user, in a process group of its own, which is killed when it
// ends, at the deadline, and when `stop` (of a StopSignal) can be read; it
// inherits nothing, and its environment is PATH and LC_ALL.
//
// FailedPrecondition, with that line, for another status than 0 or a signal;
// NotFound or PermissionDenied if it cannot be run; DeadlineExceeded;
// Cancelled: `stop`; Unavailable: no process or memory to be had, or a status
// of 75, EX_TEMPFAIL of <sysexits.h>, by which a program asks to be run again
// later. REQUIRES: argv[0] is an absolute path.
absl::StatusOr<std::string> RunNotifierCommand(
    const std::vector<std::string>& argv, absl::string_view input,
    absl::Duration deadline, int stop);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_NOTIFY_NEWS_SENDER_H_
