// Keeps this host attached to its controller: dials, says hello, does the tasks
// that come down the stream, and after any end of it waits and dials again.
//   attaching -> attached -> (ended: wait) -> attaching -> ...
// An apply outlives the stream that asked for it: its result goes to whatever
// stream there is when it ends, or among the past applies to the next.
#ifndef DAEMON_AGENT_AGENT_STREAM_H_
#define DAEMON_AGENT_AGENT_STREAM_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "daemon/agent/apply_tasks.h"
#include "daemon/agent/backoff.h"
#include "daemon/agent/event_loop.h"
#include "daemon/agent/hub_connection.h"
#include "daemon/agent/task_runner.h"
#include "daemon/host/host_observer.h"
#include "daemon/log/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "grpcpp/security/credentials.h"
#include "proto/agent_hub.pb.h"

namespace clusterd {

struct AgentStreamOptions {
  DialOptions dial;
  std::string cluster;
  // As in the own certificate; the controller reads it there, not here.
  std::string host;
  // The name of the simulation, where this is not a real host.
  std::string simulation;
  std::string boot_id;
  std::string machine_id;
  BackoffOptions backoff;
  // From dialling to the controller's welcome.
  absl::Duration welcome_timeout = absl::Seconds(30);
  TaskLimits limits;
  // Called on the loop's thread whenever the host has attached or detached.
  std::function<void(bool attached)> on_change;
};

// What the stream needs and does not own. All must outlive it; `pool` and
// `scheduler` must be destroyed, and `applies` stopped, before `loop` is
// destroyed.
struct AgentStreamParts {
  HostObserver* observer = nullptr;
  EventLoop* loop = nullptr;
  Scheduler* scheduler = nullptr;
  WorkerPool* pool = nullptr;
  Log* log = nullptr;
  // Draws from [0, 1); called on the loop's thread.
  std::function<double()> random;
  // nullptr: this daemon observes only.
  ApplyTasks* applies = nullptr;
};

// Safe for concurrent use.
class AgentStream {
 public:
  AgentStream(AgentStreamOptions options,
              std::shared_ptr<grpc::ChannelCredentials> credentials,
              const AgentStreamParts& parts);
  // Stops if nobody did.
  ~AgentStream();
  AgentStream(const AgentStream&) = delete;
  AgentStream& operator=(const AgentStream&) = delete;

  // Begins to attach. Once.
  void Start();
  // Takes leave of the controller, without waiting for it.
  void BeginStop();
  // BeginStop, and waits until all has ended: a second at most.
  void Stop();

  // Tells the controller; dropped while there is none.
  void SendDrift(DriftReport report);

  AgentStatus Status() const;

 private:
  class Core;
  const std::shared_ptr<Core> core_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_AGENT_STREAM_H_
