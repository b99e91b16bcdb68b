// The gRPC service that clusterctl talks to. Any user of the cluster may look;
// hosts may not. What changes hosts is in change_service.h.
#ifndef DAEMON_CONTROLLER_CONTROLLER_SERVICE_H_
#define DAEMON_CONTROLLER_CONTROLLER_SERVICE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "daemon/controller/attached_hosts.h"
#include "daemon/controller/change_service.h"
#include "daemon/controller/cluster_changes.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/slots.h"
#include "daemon/controller/spec_holder.h"
#include "daemon/log/log.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/worker_pool.h"
#include "grpcpp/support/server_callback.h"
#include "proto/controller.grpc.pb.h"

namespace clusterd {

struct ControllerServiceOptions {
  std::string cluster;
  // Runs, and descriptions of one host, that may be under way at once.
  int max_checks = 8;
  int max_plans = 4;
  int max_describes = 32;
  // Entries of the history on their way to clients; each may be as long as the
  // plan of a whole cluster, and a client may take it as slowly as it likes.
  int max_records = 4;
};

// What the service speaks for. All must outlive it and its server.
struct ControllerServiceParts {
  AttachedHosts* hosts = nullptr;
  const SpecHolder* spec = nullptr;
  HistoryStore* history = nullptr;
  ClusterChanges* changes = nullptr;
  Scheduler* scheduler = nullptr;
  WorkerPool* pool = nullptr;
  Log* log = nullptr;
};

// Every call: Unauthenticated or PermissionDenied unless the peer is a user of
// this cluster.
class ControllerService final : public Controller::CallbackService {
 public:
  ControllerService(ControllerServiceOptions options,
                    const ControllerServiceParts& parts);

  // InvalidArgument for hosts that the spec does not name; NotFound or
  // InvalidArgument for rules, as ValidateSelection; ResourceExhausted when
  // max_checks run.
  grpc::ServerWriteReactor<CheckEvent>* Check(
      grpc::CallbackServerContext* context,
      const CheckRequest* request) override;

  grpc::ServerUnaryReactor* ListHosts(grpc::CallbackServerContext* context,
                                      const ListHostsRequest* request,
                                      ListHostsResponse* response) override;

  // NotFound for a host that is neither in the spec nor attached. A host that
  // does not answer has facts that say so.
  grpc::ServerUnaryReactor* DescribeHost(
      grpc::CallbackServerContext* context, const DescribeHostRequest* request,
      DescribeHostResponse* response) override;

  grpc::ServerUnaryReactor* GetSpec(grpc::CallbackServerContext* context,
                                    const GetSpecRequest* request,
                                    GetSpecResponse* response) override;

  // As change_service.h says.
  grpc::ServerWriteReactor<PlanEvent>* Plan(
      grpc::CallbackServerContext* context,
      const PlanRequest* request) override;
  grpc::ServerWriteReactor<ApplyEvent>* ApplyPlan(
      grpc::CallbackServerContext* context,
      const ApplyPlanRequest* request) override;
  grpc::ServerWriteReactor<ApplyEvent>* RollBack(
      grpc::CallbackServerContext* context,
      const RollBackRequest* request) override;

  // Errors are the store's; of GetHistory also ResourceExhausted when
  // max_records are on their way.
  grpc::ServerUnaryReactor* ListHistory(grpc::CallbackServerContext* context,
                                        const ListHistoryRequest* request,
                                        ListHistoryResponse* response) override;
  grpc::ServerUnaryReactor* GetHistory(grpc::CallbackServerContext* context,
                                       const GetHistoryRequest* request,
                                       HistoryRecord* response) override;

 private:
  // Why the caller is refused; logged together with what it asked for.
  absl::Status Admit(const grpc::CallbackServerContext& context,
                     absl::string_view call) const;
  // Keeps a check, or logs why not.
  void KeepCheck(const Report& report, const std::string& actor) const;
  absl::Status PrepareCheck(const CheckRequest& request,
                            const ClusterSpec& spec,
                            std::vector<std::string>* hosts) const;

  const ControllerServiceOptions options_;
  const ControllerServiceParts parts_;

  Slots checks_;
  Slots describes_;
  Slots records_;
  ChangeService change_;
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CONTROLLER_SERVICE_H_
