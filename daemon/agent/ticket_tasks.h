// The controller's tasks that read what a vendor's ticket needs: a job's logs,
// and one look with every run of hccn_tool and npu-smi. Both need the word
// "logs" in this host's agent.yaml, since they tell what its users wrote. One
// at a time: each reads up to 64 MiB, and the controller is not trusted with
// this host's time.
#ifndef DAEMON_AGENT_TICKET_TASKS_H_
#define DAEMON_AGENT_TICKET_TASKS_H_

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/audit/audit_log.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/hccn/device_locks.h"
#include "proto/agent_hub.pb.h"
#include "proto/facts.pb.h"
#include "proto/host_recording.pb.h"
#include "proto/logs.pb.h"

namespace clusterd {

// One look at the machine below `root` with every run of hccn_tool, as it was.
// `locks` are waited for at each device; null: nobody else asks devices.
HostRecording MakeRecording(const std::string& host, const std::string& root,
                            CommandRunner* runner, Clock* clock,
                            DeviceLocks* locks, const ObserveRequest& request);

// Makes a recording one that a controller takes: a file that a run did not
// change stands once, before the first run that saw it, and outputs from the
// first one that is too much are taken out, and of runs that are still too many
// the last. Then it is not `complete`.
void BoundRecording(size_t max_bytes, HostRecording* recording);

// Safe for concurrent use.
class TicketTasks {
 public:
  struct Parts {
    std::string root;
    CommandRunner* runner = nullptr;
    Clock* clock = nullptr;
    DeviceLocks* locks = nullptr;
    std::function<HostAllows()> allows;
    // Has a line before and after; null: nobody asks for one.
    AuditLog* audit = nullptr;
  };

  // What the parts point to must outlive it.
  explicit TicketTasks(Parts parts) : parts_(std::move(parts)) {}

  // Blocks for up to `deadline`. PermissionDenied, naming the word, if the host
  // does not allow it: of logs in HostLogs.missing. ResourceExhausted while
  // another is read; AuditLog's errors if its file cannot be written.
  absl::StatusOr<HostLogs> ReadLogs(const LogsTask& task,
                                    absl::Duration deadline);
  absl::StatusOr<HostRecording> Record(const std::string& host,
                                       const RecordTask& task,
                                       absl::Duration deadline);

 private:
  absl::Status CheckAllowed(const AuditEntry& entry) const;
  // Whether this one may begin, of which the audit file then has a line.
  absl::Status Begin(const AuditEntry& entry);
  void End(const AuditEntry& entry, absl::string_view result);

  const Parts parts_;
  std::atomic<bool> reads_{false};  // While something is read.
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_TICKET_TASKS_H_
