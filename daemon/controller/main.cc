// clusterd-controller: builds the objects, waits for signals.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "config/identity/regular_file.h"
#include "config/identity/tls_credentials.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/controller_flags.h"
#include "daemon/controller/controller_server.h"
#include "daemon/controller/gate/identity_gate.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/controller/trust/enrolment_process.h"
#include "daemon/process/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/signals.h"
#include "daemon/process/watchdog.h"
#include "daemon/process/worker_pool.h"

// gperftools/malloc_extension_c.h; only release builds link it.
extern "C" __attribute__((weak)) void MallocExtension_ReleaseFreeMemory();

namespace clusterd {
namespace {

constexpr int kWorkers = 2;
constexpr size_t kMaxQueuedWork = 64;
// Only changes of hosts run here, so that no read delays them.
constexpr int kChangeWorkers = 1;
// Some 200,000 lines; then a new file is begun.
constexpr size_t kMaxAuditBytes = size_t{64} << 20;
// For users, unidentified connections, the history and the spec.
constexpr rlim_t kFurtherFiles = 512;

void LogLines(const absl::Status& status, Log* log) {
  for (const absl::string_view line :
       absl::StrSplit(status.message(), '\n', absl::SkipEmpty())) {
    log->Error(line);
  }
}

// Raises the soft limit of open files to the hard one: without descriptors the
// controller cannot accept hosts. Logs how many hosts the limit suffices for.
void RaiseOpenFiles(int hosts, Log* log) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
      limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) getrlimit(RLIMIT_NOFILE, &limit);
  }
  // Each host has one connection, briefly two when it reconnects.
  const rlim_t wanted = 2 * static_cast<rlim_t>(hosts) + kFurtherFiles;
  if (limit.rlim_cur >= wanted) {
    log->Info("up to ", limit.rlim_cur, " open files; ", hosts, " hosts need ",
              wanted);
    return;
  }
  log->Warning(
      "only ", limit.rlim_cur, " files may be open, ", hosts, " hosts need ",
      wanted,
      ": further connections wait; raise LimitNOFILE= of its unit, or ulimit "
      "-Hn");
}

// The allocator would keep the memory that a flood of connections took.
void GiveBackMemory() {
  if (MallocExtension_ReleaseFreeMemory != nullptr) {
    MallocExtension_ReleaseFreeMemory();
  }
}

void Reload(SpecHolder* spec, ControllerServer* server, Log* log) {
  const absl::Status status = spec->Reload();
  if (status.ok()) server->OnSpecRead();
  log->Write(
      status.ok() ? LogLevel::kNotice : LogLevel::kError,
      status.ok() ? "spec read again" : "spec refused, the one before stays:");
  LogLines(status, log);
}

absl::Status Run(const ControllerFlags& flags, BlockedSignals* signals,
                 Log* log) {
  const std::string notify =
      std::getenv("NOTIFY_SOCKET") ? std::getenv("NOTIFY_SOCKET") : "";
  ASSIGN_OR_RETURN(
      const SpiffeId self,
      ReadOwnIdentity(flags.tls, flags.cluster, IdentityKind::kController));
  ASSIGN_OR_RETURN(
      const auto credentials,
      MakeServerCredentials(
          flags.tls, kTlsRefreshSeconds, [log](const std::string& why) {
            log->Error(
                "certificate files refused, the last good pair stays in use: ",
                why);
          }));
  ThreadScheduler scheduler;
  ASSIGN_OR_RETURN(const auto spec, SpecHolder::Open(flags.spec, self.cluster,
                                                     &scheduler, flags.learn));
  RaiseOpenFiles(spec->spec()->servers_size(), log);
  ASSIGN_OR_RETURN(const auto history, OpenHistory(flags.state, log));
  IdentityGateOptions gate_options;
  gate_options.cluster = self.cluster;
  gate_options.state = flags.state;
  const auto entries = history->List(ListHistoryRequest());
  gate_options.is_new = entries.ok() && entries->entries().empty();
  gate_options.ca = flags.tls.ca;
  gate_options.crl = flags.crl;
  ASSIGN_OR_RETURN(const auto gate,
                   IdentityGate::Open(gate_options, &scheduler, log));
  AuditLog audit(absl::StrCat(flags.state, "/", kAuditFileName),
                 {kMaxAuditBytes}, self.ToString(), &scheduler, log);
  WorkerPool pool(kWorkers, kMaxQueuedWork, kChangeWorkers);
  ControllerServerOptions options;
  options.listen = flags.listen;
  options.tls = flags.tls;
  options.drain = flags.drain;
  options.status_listen = flags.status_listen;
  options.trust = {flags.ca_dir, flags.state, flags.enrol_listen,
                   flags.leaf_life, /*enrolment_program=*/""};
  const ControllerParts parts{
      spec.get(),        history.get(), &scheduler, &pool, log,
      /*hosts=*/nullptr, gate.get(),    &audit};
  ASSIGN_OR_RETURN(const auto server,
                   ControllerServer::Start(options, credentials, parts));
  if (!flags.port_file.empty()) {
    RETURN_IF_ERROR(
        ReplaceFile(flags.port_file, absl::StrCat(server->port(), "\n"), 0644));
  }
  RunEvery(&scheduler, absl::Hours(24), [&flags, log] {
    for (const std::string& line :
         EndingOfController(flags.tls, flags.ca_dir, absl::Now())) {
      log->Warning(line);
    }
  });
  log->Notice(
      "clusterd-controller ", kClusterdVersion, ": cluster ", self.cluster,
      ", ",
      spec->learns()
          ? absl::StrCat("learns: there is no ", flags.spec, " yet")
          : absl::StrCat(spec->spec()->servers_size(), " hosts in the spec"),
      ", listening on port ", server->port());
  const absl::Status ready = NotifySystemd(notify, "READY=1");
  if (!ready.ok()) log->Warning(ready.message());
  RunEvery(&scheduler, absl::Minutes(1), &GiveBackMemory);
  const Watchdog watchdog(
      WatchdogLimit(std::getenv("WATCHDOG_USEC"), std::getenv("WATCHDOG_PID")),
      server->PartsToWatch(),
      [&notify] { NotifySystemd(notify, "WATCHDOG=1").IgnoreError(); }, log);
  while (signals->Wait() == DaemonSignal::kReload) {
    Reload(spec.get(), server.get(), log);
  }
  log->Notice("stopping");
  return NotifySystemd(notify, "STOPPING=1");
}

}  // namespace
}  // namespace clusterd

int main(int argc, char** argv) {
  // It costs up to a quarter of the CPU in a storm, and finds only our own
  // errors; the tests enable it.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  clusterd::KeepOutOfCores();
  clusterd::DescriptorLog log(STDERR_FILENO, !isatty(STDERR_FILENO));
  if (argc == 2 && absl::string_view(argv[1]) == clusterd::kEnrolmentProcess) {
    clusterd::SendGrpcLogTo(&log);
    return clusterd::RunEnrolmentProcess(&log);
  }
  clusterd::ControllerFlags flags;
  if (const std::optional<int> status =
          clusterd::ParseControllerFlags(argc, argv, &flags)) {
    return *status;
  }
  clusterd::BlockedSignals signals;
  clusterd::SendGrpcLogTo(&log);
  const absl::Status status = clusterd::Run(flags, &signals, &log);
  clusterd::LogLines(status, &log);
  return status.ok() ? 0 : 1;
}
