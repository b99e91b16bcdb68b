// clusterd: builds the objects, waits for signals.
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "daemon/agent/identity/enrolment_call.h"
#include "daemon/agent/run_daemon.h"
#include "daemon/agent/self_check.h"
#include "daemon/host/change/file_system.h"
#include "daemon/host/change/host_reader.h"
#include "daemon/host/change/sysctl_writer.h"
#include "daemon/host/command/orphans.h"
#include "daemon/host/command/posix_command_runner.h"
#include "daemon/host/device_users.h"
#include "daemon/host/machine_observer.h"
#include "daemon/process/watchdog.h"

namespace clusterd {
namespace {

// The driver's libraries for hccn_tool, if the loader does not know them;
// Ascend's container guides set the same two (vllm-ascend, installation).
constexpr char kDriverLibraries[] =
    "/usr/local/Ascend/driver/lib64/driver:"
    "/usr/local/Ascend/driver/lib64/common";

// Folder of this host's audit file, also if the host joins again.
std::string StateOf(const JoinFlags& flags) {
  const absl::StatusOr<AgentConfig> config = ReadAgentConfig(absl::StrCat(
      absl::StripSuffix(flags.root, "/"), flags.folder, "/agent.yaml"));
  return config.ok() && !config->state.empty() ? config->state : kDefaultState;
}

}  // namespace
}  // namespace clusterd

int main(int argc, char** argv) {
  // Costs up to a quarter of the CPU in a storm and finds only our own
  // mistakes; the tests enable it.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  clusterd::KeepOutOfCores();
  if (argc > 1 && absl::string_view(argv[1]) == "join") {
    return clusterd::RunJoin(argc - 1, argv + 1, &clusterd::StateOf);
  }
  clusterd::AgentFlags flags;
  if (const std::optional<int> status =
          clusterd::ParseAgentFlags(argc, argv, &flags)) {
    return *status;
  }
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  clusterd::PosixCommandRunner runner(clusterd::kDriverLibraries);
  clusterd::SystemClock clock;
  clusterd::MachineObserver observer({flags.root}, &runner, &clock);
  if (flags.once || flags.record) {
    if (const auto status = clusterd::AddAgentConfig(&flags)) return *status;
    return flags.record ? clusterd::RecordHost(STDOUT_FILENO, flags.root,
                                               &runner, &clock, &std::cerr)
                        : clusterd::RunOnce(flags, name, &observer, &std::cout,
                                            &std::cerr);
  }
  clusterd::BlockedSignals signals;
  clusterd::DescriptorLog log(STDERR_FILENO, !isatty(STDERR_FILENO));
  clusterd::SendGrpcLogTo(&log);
  for (const absl::Status& ends :
       {clusterd::AdoptOrphans(), clusterd::CheckProgramGroups()}) {
    if (!ends.ok()) log.Warning(ends.message());
  }
  const auto files = clusterd::MakePosixFileSystem(flags.root);
  const auto reader = clusterd::MakeHostReader(
      {&observer, observer.locks(), {flags.root}, &runner, &clock});
  const auto namespaces =
      clusterd::MakeNamespaceAccess({flags.root}, &runner, &clock, files.get());
  clusterd::DaemonParts parts;
  parts.observer = &observer;
  parts.access = {files.get(), &runner, reader.get(), &clock, observer.locks()};
  parts.access.namespaces = namespaces.get();
  parts.read_host = [&reader] { return reader->ReadHost(); };
  parts.device_users = [&flags, &clock] {
    const clusterd::TimeBudget budget(&clock, absl::Seconds(30),
                                      absl::Seconds(30));
    return clusterd::ReadDeviceUsers({flags.root}, getpid(), budget);
  };
  parts.signals = &signals;
  parts.log = &log;
  parts.watchdog = clusterd::WatchdogLimit(std::getenv("WATCHDOG_USEC"),
                                           std::getenv("WATCHDOG_PID"));
  const char* const notify_socket = std::getenv("NOTIFY_SOCKET");
  const std::string notify = notify_socket ? notify_socket : "";
  clusterd::FirstRecovery first(flags, name, parts);
  first.Run();
  if (const auto status = clusterd::AddAgentConfig(&flags)) {
    first.Finish("");
    return *status;
  }
  first.Finish(flags.state);
  first.Remember(flags.state);
  const absl::Status status = clusterd::RunDaemon(flags, notify, parts);
  if (!status.ok()) log.Error(status.message());
  return status.ok() ? 0 : 1;
}
