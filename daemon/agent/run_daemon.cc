#include "daemon/agent/run_daemon.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "config/identity/tls_credentials.h"
#include "config/version/version.h"
#include "daemon/agent/agent_stream.h"
#include "daemon/agent/event_loop.h"
#include "daemon/agent/local_server.h"
#include "daemon/agent/machine_ids.h"
#include "daemon/agent/self_check.h"
#include "daemon/process/notify_systemd.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"

namespace clusterd {
namespace {

constexpr int kWorkers = 4;
constexpr size_t kMaxQueuedWork = 16;

}  // namespace

absl::Status RunDaemon(const AgentFlags& flags,
                       const std::string& notify_socket, HostObserver* observer,
                       BlockedSignals* signals, Log* log) {
  const absl::StatusOr<SpiffeId> self =
      ReadOwnIdentity(flags.tls, flags.cluster, IdentityKind::kHost);
  if (!self.ok()) return self.status();
  const auto credentials = MakeChannelCredentials(flags.tls, flags.cluster);
  if (!credentials.ok()) return credentials.status();
  EventLoop loop;
  ThreadScheduler scheduler;
  WorkerPool pool(kWorkers, kMaxQueuedWork);
  std::mt19937_64 generator(std::random_device{}());
  AgentStreamParts parts{observer, &loop, &scheduler, &pool, log, [&generator] {
                           return std::uniform_real_distribution<>()(generator);
                         }};
  AgentStreamOptions options;
  options.dial.controller = flags.controller;
  options.cluster = flags.cluster;
  options.host = self->name;
  const MachineIds ids = ReadMachineIds(flags.root);
  options.boot_id = ids.boot_id;
  options.machine_id = ids.machine_id;
  AgentStream stream(options, *credentials, parts);
  const auto local = LocalServer::Start(
      flags.socket,
      {[&stream] { return stream.Status(); },
       [observer, self] { return CheckSelf(observer, self->name, {}); }});
  if (!local.ok()) return local.status();
  stream.Start();
  log->Notice(absl::StrCat("clusterd ", kClusterdVersion, ": host ", self->name,
                           " of cluster ", flags.cluster));
  const absl::Status ready = NotifySystemd(notify_socket, "READY=1");
  if (!ready.ok()) log->Warning(ready.message());
  while (signals->Wait() != DaemonSignal::kStop) continue;
  log->Notice("stopping");
  stream.Stop();
  return NotifySystemd(notify_socket, "STOPPING=1");
}

}  // namespace clusterd
