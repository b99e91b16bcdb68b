// The gRPC service that clusterctl talks to: who may, on which thread, and what
// the client sees. Any user of the cluster may look and plan, operators may
// change hosts, admins may force; hosts may do nothing of it.
#ifndef DAEMON_CONTROLLER_CONTROLLER_SERVICE_H_
#define DAEMON_CONTROLLER_CONTROLLER_SERVICE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/identity/certificate.h"
#include "daemon/controller/change/cluster_changes.h"
#include "daemon/controller/hosts/controller_parts.h"
#include "daemon/controller/hosts/fact_run.h"
#include "daemon/controller/hosts/running_checks.h"
#include "daemon/controller/jobs/job_desk.h"
#include "daemon/controller/logs_run.h"
#include "daemon/controller/shared_runs.h"
#include "daemon/controller/slots.h"
#include "daemon/process/worker_pool.h"
#include "grpcpp/support/server_callback.h"
#include "proto/controller.grpc.pb.h"

namespace clusterd {

// Fills in the response from a thread of the pool, for what waits for the disk.
// `done` is called once, when the response is as it is sent; with
// ResourceExhausted at once if the pool is full.
template <typename Response>
void AnswerOnPool(WorkerPool* pool, Response* response,
                  std::function<absl::StatusOr<Response>()> read,
                  const std::function<void(const absl::Status& status)>& done) {
  const bool taken = pool->TryRun([response, read = std::move(read), done] {
    absl::StatusOr<Response> answer = read();
    const absl::Status status = answer.status();
    if (status.ok()) *response = *std::move(answer);
    done(status);
  });
  if (!taken) {
    done(absl::ResourceExhaustedError(
        "the controller has too much to do, try again later"));
  }
}

// Every call: Unauthenticated or PermissionDenied unless the peer is a user of
// this cluster in the role that the call needs.
class ControllerService final : public Controller::CallbackService {
 public:
  // All must outlive it and its server.
  ControllerService(const ControllerParts& parts, ClusterChanges* changes,
                    RunningChecks* running, JobDesk* jobs)
      : parts_(parts), changes_(changes), running_(running), jobs_(jobs) {}

  // InvalidArgument for hosts that the spec does not name; NotFound or
  // InvalidArgument for rules, as ValidateSelection; ResourceExhausted when as
  // many calls wait for their turn as may. Of a job the errors are JobDesk's;
  // InvalidArgument if the request also names hosts.
  grpc::ServerWriteReactor<CheckEvent>* Check(
      grpc::CallbackServerContext* context,
      const CheckRequest* request) override;

  // NotFound for a check that is not under way, FailedPrecondition for one that
  // is about to end; ResourceExhausted when as many are asked for as may.
  grpc::ServerUnaryReactor* CheckSoFar(grpc::CallbackServerContext* context,
                                       const CheckSoFarRequest* request,
                                       Report* response) override;

  // InvalidArgument for hosts that are neither attached nor in the spec;
  // FailedPrecondition if none is named and none is attached; ResourceExhausted
  // as above. With ListHosts, ForgetHost and DescribeHost all that is served
  // while the controller learns: then every other call is FailedPrecondition.
  grpc::ServerWriteReactor<LearnEvent>* Learn(
      grpc::CallbackServerContext* context,
      const LearnRequest* request) override;

  // Errors as Check of a job. A run of its own, since it tells facts.
  grpc::ServerWriteReactor<LaunchEvent>* PrepareLaunch(
      grpc::CallbackServerContext* context,
      const LaunchRequest* request) override;

  // InvalidArgument for hosts that the spec does not name; ResourceExhausted
  // when as many calls wait for their turn as may. A plan that the history
  // could not keep says so in not_kept.
  grpc::ServerWriteReactor<PlanEvent>* Plan(
      grpc::CallbackServerContext* context,
      const PlanRequest* request) override;

  // Operators; with force admins. Errors are those of ClusterChanges, and for
  // an apply those of ReadKeptPlan: what is applied is the plan that this
  // controller has made and kept, and nothing that the client has.
  grpc::ServerWriteReactor<ApplyEvent>* ApplyPlan(
      grpc::CallbackServerContext* context,
      const ApplyPlanRequest* request) override;
  grpc::ServerWriteReactor<ApplyEvent>* RollBack(
      grpc::CallbackServerContext* context,
      const RollBackRequest* request) override;

  // Operators, also of a run that an admin forced: it only ever does less.
  // Errors are those of ClusterChanges::Cancel; ResourceExhausted as above.
  grpc::ServerUnaryReactor* Cancel(grpc::CallbackServerContext* context,
                                   const CancelRequest* request,
                                   CancelResponse* response) override;

  grpc::ServerUnaryReactor* ListHosts(grpc::CallbackServerContext* context,
                                      const ListHostsRequest* request,
                                      ListHostsResponse* response) override;

  // Operators. NotFound for a host that is neither in the spec nor remembered,
  // FailedPrecondition for one that is attached.
  grpc::ServerUnaryReactor* ForgetHost(grpc::CallbackServerContext* context,
                                       const ForgetHostRequest* request,
                                       ForgetHostResponse* response) override;

  // NotFound for a host that is neither in the spec nor attached;
  // ResourceExhausted when as many are being described as may. A host that does
  // not answer has facts that say so.
  grpc::ServerUnaryReactor* DescribeHost(
      grpc::CallbackServerContext* context, const DescribeHostRequest* request,
      DescribeHostResponse* response) override;

  grpc::ServerUnaryReactor* GetSpec(grpc::CallbackServerContext* context,
                                    const GetSpecRequest* request,
                                    GetSpecResponse* response) override;

  // Errors are the store's; of GetHistory also ResourceExhausted when as many
  // entries are on their way as may.
  grpc::ServerUnaryReactor* ListHistory(grpc::CallbackServerContext* context,
                                        const ListHistoryRequest* request,
                                        ListHistoryResponse* response) override;
  grpc::ServerUnaryReactor* GetHistory(grpc::CallbackServerContext* context,
                                       const GetHistoryRequest* request,
                                       HistoryRecord* response) override;

  // Operators. InvalidArgument for hosts that the spec does not name;
  // ResourceExhausted when as many calls read logs as may.
  grpc::ServerWriteReactor<LogsEvent>* ReadLogs(
      grpc::CallbackServerContext* context,
      const LogsRequest* request) override;

 private:
  // Runs, and descriptions of one host, that may be under way at once.
  static constexpr size_t kMaxChecks = 8;
  static constexpr size_t kMaxPlans = 4;
  static constexpr int kMaxDescribes = 32;
  // Entries of the history on their way to clients; each may be as long as the
  // plan of a whole cluster, and a client may take it as slowly as it likes.
  static constexpr int kMaxRecords = 4;
  static constexpr int kMaxLogs = 2;
  // Each copies and judges the facts of a whole cluster.
  static constexpr int kMaxSoFar = 2;

  template <typename Event>
  using Conclusion = std::function<Event(const FactOrder& order,
                                         const std::vector<HostFacts>& facts)>;

  // The user who calls. Refusals are logged with what was asked for and from
  // where.
  absl::StatusOr<SpiffeId> Admit(const grpc::CallbackServerContext& context,
                                 absl::string_view call,
                                 Role needed = Role::kViewer) const;

  // Fills in the order, or says why not. `selection`: the rules that the
  // request names; null: it names none.
  template <typename Request>
  absl::Status Prepare(const grpc::CallbackServerContext& context,
                       const Request& request, const char* call,
                       const RuleSelection* selection, FactOrder* order) const;
  absl::Status Prepare(const grpc::CallbackServerContext& context,
                       const LearnRequest& request, const char* call,
                       const RuleSelection* selection, FactOrder* order) const;
  absl::Status Prepare(const grpc::CallbackServerContext& context,
                       const LaunchRequest& request, const char* call,
                       const RuleSelection* selection, FactOrder* order) const;
  absl::StatusOr<LogsOrder> PrepareLogs(
      const grpc::CallbackServerContext& context,
      const LogsRequest& request) const;
  // Streams the facts' progress, and then what `conclude` makes of them.
  template <typename Event, typename Request>
  grpc::ServerWriteReactor<Event>* AskHosts(
      grpc::CallbackServerContext* context, const Request& request,
      const char* call, const RuleSelection* selection, SharedRuns<Event>* runs,
      Conclusion<Event> conclude);
  grpc::ServerWriteReactor<CheckEvent>* CheckJob(
      grpc::CallbackServerContext* context, const CheckRequest& request);
  absl::StatusOr<Report> ReportSoFar(const std::string& run_id) const;
  // Answers from a thread of the pool, in a slot that is held until the client
  // has the answer or has gone; `all_taken` is said when none is free.
  template <typename Response>
  grpc::ServerUnaryReactor* AnswerInSlot(
      grpc::CallbackServerContext* context, Slots* slots,
      absl::string_view all_taken, Response* response,
      std::function<absl::StatusOr<Response>()> read);
  // Keeps a check or plan, or logs why not.
  absl::Status Keep(const HistoryRecord& record) const;

  // Streams a change that begins on a thread of the pool, once `complete` has
  // filled in there what is to be done.
  template <typename Request>
  grpc::ServerWriteReactor<ApplyEvent>* RunChange(
      grpc::CallbackServerContext* context, const char* call,
      const Request& request,
      std::function<absl::Status(ChangeRequest* change)> complete);

  const ControllerParts parts_;
  ClusterChanges* const changes_;
  RunningChecks* const running_;
  JobDesk* const jobs_;

  SharedRuns<CheckEvent> checks_{{kMaxChecks}};
  SharedRuns<LearnEvent> learns_{{kMaxPlans}};
  SharedRuns<LaunchEvent> launches_{{kMaxPlans}};
  SharedRuns<PlanEvent> plans_{{kMaxPlans}};
  Slots describes_{kMaxDescribes};
  Slots records_{kMaxRecords};
  Slots so_far_{kMaxSoFar};
  Slots logs_{kMaxLogs};
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CONTROLLER_SERVICE_H_
