// clusterd: builds the objects, waits for signals.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "daemon/agent/agent_flags.h"
#include "daemon/agent/host_veto.h"
#include "daemon/agent/once.h"
#include "daemon/agent/record.h"
#include "daemon/agent/run_daemon.h"
#include "daemon/host/change/host_namespace_door.h"
#include "daemon/host/change/observer_host_reader.h"
#include "daemon/host/change/posix_file_system.h"
#include "daemon/host/clock.h"
#include "daemon/host/device_users.h"
#include "daemon/host/machine_observer.h"
#include "daemon/host/posix_command_runner.h"
#include "daemon/log/log.h"
#include "daemon/process/grpc_log.h"
#include "daemon/process/signals.h"

namespace clusterd {
namespace {

// Where hccn_tool finds the driver's libraries when the loader does not know
// them; Ascend's container guides set the same two (vllm-ascend, installation).
constexpr char kDriverLibraries[] =
    "/usr/local/Ascend/driver/lib64/driver:"
    "/usr/local/Ascend/driver/lib64/common";

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
  clusterd::ObserverOptions options;
  options.why_no_conf_write = [&flags] {
    return clusterd::WhyNoConfWrite(flags.config);
  };
  clusterd::MachineObserver observer({flags.root}, &runner, &clock, options);
  if (flags.once) {
    char name[256] = {};
    gethostname(name, sizeof(name) - 1);
    return clusterd::RunOnce(flags, name, &observer, &std::cout, &std::cerr);
  }
  clusterd::BlockedSignals signals;
  clusterd::DescriptorLog log(STDERR_FILENO, !isatty(STDERR_FILENO));
  clusterd::SendGrpcLogTo(&log);
  clusterd::PosixFileSystem files(flags.root);
  clusterd::ObserverHostReader reader(&observer, observer.turns(), {flags.root},
                                      &runner, &clock);
  clusterd::HostNamespaceDoor namespaces({flags.root}, &runner, &clock, &files);
  clusterd::DaemonParts parts;
  parts.observer = &observer;
  parts.doors = {&files, &runner, &reader, &clock, observer.turns()};
  parts.doors.namespaces = &namespaces;
  parts.look = [&reader] { return reader.ReadHost(); };
  parts.device_users = [&flags] {
    return clusterd::ReadDeviceUsers({flags.root}, getpid());
  };
  parts.signals = &signals;
  parts.log = &log;
  const char* const notify_socket = std::getenv("NOTIFY_SOCKET");
  const absl::Status status =
      clusterd::RunDaemon(flags, notify_socket ? notify_socket : "", parts);
  if (!status.ok()) log.Error(status.message());
  return status.ok() ? 0 : 1;
}
