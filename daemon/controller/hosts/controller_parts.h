// What a controller is made of, one of each: everything below the gRPC services
// is handed this one struct and takes from it what it needs.
#ifndef DAEMON_CONTROLLER_HOSTS_CONTROLLER_PARTS_H_
#define DAEMON_CONTROLLER_HOSTS_CONTROLLER_PARTS_H_

#include "daemon/process/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"

namespace clusterd {

class AttachedHosts;
class AuditLog;
class HistoryStore;
class IdentityGate;
class NewestReport;
class SpecHolder;

// All must outlive whoever is given it.
struct ControllerParts {
  SpecHolder* spec = nullptr;
  HistoryStore* history = nullptr;
  Scheduler* scheduler = nullptr;
  // The server's alone: it is drained when the server ends.
  WorkerPool* pool = nullptr;
  Log* log = nullptr;
  // The server's own.
  AttachedHosts* hosts = nullptr;
  IdentityGate* gate = nullptr;
  // A server does not start without.
  AuditLog* audit = nullptr;
  // The server's own, for who concludes a check.
  NewestReport* newest = nullptr;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_HOSTS_CONTROLLER_PARTS_H_
