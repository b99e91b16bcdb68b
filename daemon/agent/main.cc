// clusterd: builds the objects, waits for signals.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "config/identity/tls_credentials.h"
#include "config/version/version.h"
#include "daemon/agent/agent_flags.h"
#include "daemon/agent/agent_stream.h"
#include "daemon/agent/event_loop.h"
#include "daemon/agent/local_server.h"
#include "daemon/agent/machine_ids.h"
#include "daemon/agent/once.h"
#include "daemon/agent/record.h"
#include "daemon/agent/self_check.h"
#include "daemon/host/clock.h"
#include "daemon/host/machine_observer.h"
#include "daemon/host/posix_command_runner.h"
#include "daemon/log/log.h"
#include "daemon/process/grpc_log.h"
#include "daemon/process/notify_systemd.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/signals.h"
#include "daemon/process/worker_pool.h"

namespace clusterd {
namespace {

// Where hccn_tool finds the driver's libraries when the loader does not know
// them; Ascend's container guides set the same two (vllm-ascend, installation).
constexpr char kDriverLibraries[] =
    "/usr/local/Ascend/driver/lib64/driver:"
    "/usr/local/Ascend/driver/lib64/common";
constexpr int kWorkers = 4;
constexpr size_t kMaxQueuedWork = 16;

absl::Status Run(const AgentFlags& flags, HostObserver* observer,
                 BlockedSignals* signals, Log* log) {
  const char* const notify_socket = std::getenv("NOTIFY_SOCKET");
  const std::string notify = notify_socket ? notify_socket : "";
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
  const absl::Status ready = NotifySystemd(notify, "READY=1");
  if (!ready.ok()) log->Warning(ready.message());
  while (signals->Wait() != DaemonSignal::kStop) continue;
  log->Notice("stopping");
  stream.Stop();
  return NotifySystemd(notify, "STOPPING=1");
}

}  // namespace
}  // namespace clusterd

int main(int argc, char** argv) {
  clusterd::AgentFlags flags;
  if (const std::optional<int> status =
          clusterd::ParseAgentFlags(argc, argv, &flags)) {
    return *status;
  }
  clusterd::PosixCommandRunner runner(clusterd::kDriverLibraries);
  clusterd::SystemClock clock;
  if (!flags.record.empty()) {
    return clusterd::RecordHost(flags.record, flags.root, &runner, &clock,
                                &std::cout, &std::cerr);
  }
  clusterd::MachineObserver observer({flags.root}, &runner, &clock);
  if (flags.once) {
    char name[256] = {};
    gethostname(name, sizeof(name) - 1);
    return clusterd::RunOnce(flags, name, &observer, &std::cout, &std::cerr);
  }
  clusterd::BlockedSignals signals;
  clusterd::DescriptorLog log(STDERR_FILENO, !isatty(STDERR_FILENO));
  clusterd::SendGrpcLogTo(&log);
  const absl::Status status = clusterd::Run(flags, &observer, &signals, &log);
  if (!status.ok()) log.Error(status.message());
  return status.ok() ? 0 : 1;
}
