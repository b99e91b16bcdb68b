// clusterd-controller: builds the objects, waits for signals.
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "config/identity/tls_credentials.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "daemon/controller/controller_flags.h"
#include "daemon/controller/controller_server.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/process/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/signals.h"
#include "daemon/process/worker_pool.h"

namespace clusterd {
namespace {

constexpr int kWorkers = 2;
constexpr size_t kMaxQueuedWork = 64;

void LogLines(const absl::Status& status, Log* log) {
  for (const absl::string_view line :
       absl::StrSplit(status.message(), '\n', absl::SkipEmpty())) {
    log->Error(line);
  }
}

void Reload(SpecHolder* spec, Log* log) {
  const absl::Status status = spec->Reload();
  log->Write(
      status.ok() ? LogLevel::kNotice : LogLevel::kError,
      status.ok() ? "spec read again" : "spec refused, the one before stays:");
  LogLines(status, log);
}

absl::Status Run(const ControllerFlags& flags, BlockedSignals* signals,
                 Log* log) {
  const std::string notify =
      std::getenv("NOTIFY_SOCKET") ? std::getenv("NOTIFY_SOCKET") : "";
  RETURN_IF_ERROR(
      ReadOwnIdentity(flags.tls, flags.cluster, IdentityKind::kController)
          .status());
  ASSIGN_OR_RETURN(const auto credentials, MakeServerCredentials(flags.tls));
  ThreadScheduler scheduler;
  ASSIGN_OR_RETURN(const auto spec,
                   SpecHolder::Open(flags.spec, flags.cluster, &scheduler));
  ASSIGN_OR_RETURN(const auto history, OpenHistory(flags.state, log));
  WorkerPool pool(kWorkers, kMaxQueuedWork);
  ControllerServerOptions options;
  options.listen = flags.listen;
  const ControllerParts parts{spec.get(), history.get(), &scheduler, &pool,
                              log};
  ASSIGN_OR_RETURN(const auto server,
                   ControllerServer::Start(options, credentials, parts));
  if (!flags.port_file.empty()) {
    RETURN_IF_ERROR(WritePortFile(flags.port_file, server->port()));
  }
  log->Notice(
      absl::StrCat("clusterd-controller ", kClusterdVersion, ": cluster ",
                   flags.cluster, ", ", spec->spec()->servers_size(),
                   " hosts in the spec, listening on port ", server->port()));
  const absl::Status ready = NotifySystemd(notify, "READY=1");
  if (!ready.ok()) log->Warning(ready.message());
  while (signals->Wait() == DaemonSignal::kReload) Reload(spec.get(), log);
  log->Notice("stopping");
  return NotifySystemd(notify, "STOPPING=1");
}

}  // namespace
}  // namespace clusterd

int main(int argc, char** argv) {
  // It costs up to a quarter of the CPU in a storm and looks for mistakes of
  // ours; the tests have it on.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  clusterd::ControllerFlags flags;
  if (const std::optional<int> status =
          clusterd::ParseControllerFlags(argc, argv, &flags)) {
    return *status;
  }
  clusterd::BlockedSignals signals;
  clusterd::DescriptorLog log(STDERR_FILENO, !isatty(STDERR_FILENO));
  clusterd::SendGrpcLogTo(&log);
  const absl::Status status = clusterd::Run(flags, &signals, &log);
  clusterd::LogLines(status, &log);
  return status.ok() ? 0 : 1;
}
