// Reads the logs of hosts for one client, a few hosts at once, and sends each
// as soon as it arrives. However slow the client is, at most kLogsAtOnce hosts,
// at 2 MiB each, are asked or unread.
#ifndef DAEMON_CONTROLLER_SERVICE_LOGS_RUN_H_
#define DAEMON_CONTROLLER_SERVICE_LOGS_RUN_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/stream/event_stream.h"
#include "proto/controller.pb.h"

namespace clusterd {

inline constexpr size_t kLogsAtOnce = 8;

struct LogsOrder {
  std::vector<std::string> hosts;  // From SelectHosts.
  LogsQuery query;
  bool record = false;
  absl::Duration host_deadline;  // For each task.
  // For the audit files: the caller, and our own file's newest line.
  AuditEntry caller;
  AuditHead audit_head;
};

// Safe for concurrent use.
class LogsRun : public std::enable_shared_from_this<LogsRun> {
 public:
  using Stream = EventStream<LogsEvent>;

  // `hosts` must outlive it; gRPC holds `stream`.
  LogsRun(LogsOrder order, AttachedHosts* hosts,
          const std::shared_ptr<Stream>& stream)
      : order_(std::move(order)), hosts_(hosts), stream_(stream) {}

  // Asks as many hosts as fit, and ends the stream after the last one. The
  // owner calls it again whenever the client has taken an event.
  void Advance() ABSL_LOCKS_EXCLUDED(mutex_);
  // The client has left: cancels the hosts' tasks.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);

  CheckProgress progress() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The next host to ask; false: none can be asked now.
  bool TakeNext(size_t* index, bool* is_over) ABSL_LOCKS_EXCLUDED(mutex_);
  void Ask(size_t index, const Task& task) ABSL_LOCKS_EXCLUDED(mutex_);
  // A host answers twice: with its logs, and then with its recording.
  void OnAnswer(size_t index, absl::StatusOr<TaskResult> result)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Deliver(size_t index) ABSL_LOCKS_EXCLUDED(mutex_);

  struct Asked {
    LogsOfHost answer;  // The parts received.
    AttachedHosts::TaskId task = 0;
    uint64_t tasks = 0;  // Tasks that were sent to it.
  };

  const LogsOrder order_;
  AttachedHosts* const hosts_;
  const std::weak_ptr<Stream> stream_;

  mutable absl::Mutex mutex_;
  // Hosts without an answer so far, by index.
  std::map<size_t, Asked> asked_ ABSL_GUARDED_BY(mutex_);
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t failed_ ABSL_GUARDED_BY(mutex_) = 0;
  // Set while a thread is in Advance, which must not nest: a detached host
  // answers at once, and ten thousand of them would overflow the stack.
  bool advancing_ ABSL_GUARDED_BY(mutex_) = false;
  bool again_ ABSL_GUARDED_BY(mutex_) = false;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_SERVICE_LOGS_RUN_H_
