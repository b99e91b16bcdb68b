// Metrics of this host for node_exporter's textfile collector, which needs no
// open port (`metrics_file` in agent.yaml): attachment, results of its own
// check, drift, an apply that is not rolled back, and when its certificates
// end. Written after changes and every minute, which proves that this daemon
// lives (node_textfile_mtime_seconds). The host checks itself every ten minutes
// and after each change. If the folder is missing, or others may write it, it
// logs that once and retries.
#ifndef DAEMON_AGENT_METRICS_METRICS_FILE_H_
#define DAEMON_AGENT_METRICS_METRICS_FILE_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/identity/tls_credentials.h"
#include "daemon/process/callback_gate.h"
#include "daemon/process/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "proto/agent_hub.pb.h"

namespace clusterd {

struct HostNumbers {
  AgentStatus status;
  // Unset until the first check.
  std::optional<CheckSelfResponse> check;
  // "host" and "ca", of readable files.
  std::vector<std::pair<std::string, absl::Time>> certificate_ends;
};

// The text of the file. Pure.
std::string HostMetrics(const HostNumbers& numbers);

// Safe for concurrent use.
class MetricsFile {
 public:
  static constexpr absl::Duration kWriteInterval = absl::Minutes(1);
  static constexpr absl::Duration kRoundInterval = absl::Minutes(10);

  // All pointers must live until Stop.
  struct Parts {
    TlsFiles tls;
    // All run on a thread of the pool; `check` for minutes at worst.
    std::function<AgentStatus()> status;
    std::function<CheckSelfResponse()> check;
    std::function<absl::Status(const std::string& text)> write;
    // Draws from [0, 1), so that hosts do not check in step.
    std::function<double()> random;
    Scheduler* scheduler = nullptr;
    WorkerPool* pool = nullptr;
    Log* log = nullptr;
  };

  explicit MetricsFile(Parts parts) : parts_(std::move(parts)) {}
  ~MetricsFile() { Stop(); }

  // Writes soon; `round` also renews the last check. Does not block.
  void OnChanged(bool round) ABSL_LOCKS_EXCLUDED(mutex_) {
    const CallbackGate::Pass pass(gate_);
    if (!pass) return;
    absl::MutexLock lock(&mutex_);
    round_due_ = round_due_ || round;
    BeginLocked();
  }
  // Ends the writes, and waits for a running one.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_) {
    gate_.Close();
    absl::MutexLock lock(&mutex_);
    parts_.scheduler->Cancel(timer_);
    timer_ = 0;
  }

 private:
  void BeginLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Write() ABSL_LOCKS_EXCLUDED(mutex_);

  const Parts parts_;
  const CallbackGate gate_;

  absl::Mutex mutex_;
  bool round_due_ ABSL_GUARDED_BY(mutex_) = true;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;  // Or about to.
  bool again_ ABSL_GUARDED_BY(mutex_) = false;
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;

  // Used only by Write, which never runs twice at once.
  HostNumbers numbers_;
  absl::Time round_at_ = absl::InfinitePast();
  std::string reported_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_METRICS_METRICS_FILE_H_
