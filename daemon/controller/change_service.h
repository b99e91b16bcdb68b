// The calls of the Controller service that plan, apply and roll back: who may,
// on which thread, and what the client sees. What they do is in plan_run.h and
// cluster_changes.h.
#ifndef DAEMON_CONTROLLER_CHANGE_SERVICE_H_
#define DAEMON_CONTROLLER_CHANGE_SERVICE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "daemon/controller/apply_run.h"
#include "daemon/controller/attached_hosts.h"
#include "daemon/controller/cluster_changes.h"
#include "daemon/controller/event_stream.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/slots.h"
#include "daemon/controller/spec_holder.h"
#include "daemon/log/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "grpcpp/support/server_callback.h"
#include "proto/controller.pb.h"

namespace clusterd {

struct ChangeServiceParts {
  AttachedHosts* hosts = nullptr;
  const SpecHolder* spec = nullptr;
  HistoryStore* history = nullptr;
  ClusterChanges* changes = nullptr;
  Scheduler* scheduler = nullptr;
  WorkerPool* pool = nullptr;
  Log* log = nullptr;
};

// Safe for concurrent use. Every call: Unauthenticated or PermissionDenied
// unless the caller has the role.
class ChangeService {
 public:
  // All parts must outlive it and its calls; `plans` may be under way at once.
  ChangeService(std::string cluster, int plans,
                const ChangeServiceParts& parts);

  // Any user. InvalidArgument for hosts that the spec does not name;
  // ResourceExhausted when as many plans run as may. A plan that the history
  // could not keep says so in not_kept.
  grpc::ServerWriteReactor<PlanEvent>* Plan(
      grpc::CallbackServerContext* context, const PlanRequest* request);

  // Operators; with force admins. Errors are those of ClusterChanges, and for
  // an apply those of ReadKeptPlan: what is applied is the plan that this
  // controller has made and kept, and nothing that the client has.
  grpc::ServerWriteReactor<ApplyEvent>* ApplyPlan(
      grpc::CallbackServerContext* context, const ApplyPlanRequest* request);
  grpc::ServerWriteReactor<ApplyEvent>* RollBack(
      grpc::CallbackServerContext* context, const RollBackRequest* request);

 private:
  using ApplyStream = EventStream<ApplyEvent>;
  using BeginChange =
      std::function<absl::StatusOr<std::shared_ptr<ApplyRun>>(ApplyWatcher)>;

  // OK with what the change is to be done as, or why it is refused.
  absl::StatusOr<ChangeRequest> AdmitChange(
      const grpc::CallbackServerContext& context, const char* call,
      uint32_t wave_size, bool force) const;
  // Streams a change that begins on a thread of the pool.
  void RunChange(const std::shared_ptr<ApplyStream>& stream, const char* call,
                 const ChangeRequest& request, BeginChange begin);

  const std::string cluster_;
  const ChangeServiceParts parts_;
  Slots plans_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CHANGE_SERVICE_H_
