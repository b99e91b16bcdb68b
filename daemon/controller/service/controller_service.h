// The gRPC service for clusterctl: authorisation, threads and the events that a
// client sees. call_roles.h has the role that each call needs.
#ifndef DAEMON_CONTROLLER_SERVICE_CONTROLLER_SERVICE_H_
#define DAEMON_CONTROLLER_SERVICE_CONTROLLER_SERVICE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/identity/certificate.h"
#include "daemon/controller/calls/controller_parts.h"
#include "daemon/controller/calls/user_calls.h"
#include "daemon/controller/change/cluster_changes.h"
#include "daemon/controller/jobs/job_checks.h"
#include "daemon/controller/queue/fact_queue.h"
#include "daemon/controller/service/logs_run.h"
#include "daemon/controller/stream/event_stream.h"
#include "daemon/controller/stream/send_budget.h"
#include "daemon/controller/watch/cluster_watch.h"
#include "daemon/process/worker_pool.h"
#include "grpcpp/support/server_callback.h"
#include "proto/controller.grpc.pb.h"

namespace clusterd {

// Errors of every call: Unauthenticated, PermissionDenied or FailedPrecondition
// unless the gate admits the peer as a user with the needed role, also while a
// stream is open; ResourceExhausted when too many calls run, in total or of
// that user. Calls that change hosts, or read for a change, never wait for
// other reads. A change, or a read of users' logs, is refused if the audit file
// cannot record it first.
class ControllerService final : public Controller::CallbackService {
 public:
  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  // All must outlive it and its server. `notes`: remarks about the controller
  // itself for every check's report.
  ControllerService(const ControllerParts& parts, ClusterChanges* changes,
                    JobChecks* jobs, ClusterWatch* watch,

                    std::function<std::vector<std::string>()> notes);
  ~ControllerService() override { lock_writer_.Drain(); }

  // InvalidArgument for hosts that the spec does not name; rules fail as in
  // ValidateSelection; ResourceExhausted when the queue is full. Errors of a
  // job's check are those of JobChecks; InvalidArgument if it also names hosts.
  grpc::ServerWriteReactor<CheckEvent>* Check(
      Context* context, const CheckRequest* request) override;

  // NotFound for a check that is not under way, FailedPrecondition for one that
  // is about to end; ResourceExhausted for too many such calls.
  Unary* CheckSoFar(Context* context, const CheckSoFarRequest* request,
                    Report* response) override;

  // InvalidArgument for hosts neither attached nor in the spec;
  // FailedPrecondition if none is named or attached; ResourceExhausted as
  // above. A learning controller serves only this, ListHosts, ForgetHost and
  // DescribeHost: other calls are FailedPrecondition.
  grpc::ServerWriteReactor<LearnEvent>* Learn(
      Context* context, const LearnRequest* request) override;

  // Errors as Check for a job. It is a separate run, because it sends facts.
  grpc::ServerWriteReactor<LaunchEvent>* PrepareLaunch(
      Context* context, const LaunchRequest* request) override;

  // InvalidArgument for hosts that the spec lacks; ResourceExhausted when the
  // queue is full. not_kept says why the history could not keep the plan.
  grpc::ServerWriteReactor<PlanEvent>* Plan(
      Context* context, const PlanRequest* request) override;

  // Errors are those of ClusterChanges, for an apply also those of
  // ReadKeptPlan. Only a plan kept by this controller is applied, never a
  // client's copy.
  grpc::ServerWriteReactor<ApplyEvent>* ApplyPlan(
      Context* context, const ApplyPlanRequest* request) override;
  grpc::ServerWriteReactor<ApplyEvent>* RollBack(
      Context* context, const RollBackRequest* request) override;

  // Errors are those of ClusterChanges::Cancel; ResourceExhausted as above.
  Unary* Cancel(Context* context, const CancelRequest* request,
                CancelResponse* response) override;
  // For admins. Errors are those of ClusterChanges::Abort.
  Unary* AbortApply(Context* context, const AbortApplyRequest* request,
                    AbortApplyResponse* response) override;
  // Errors are those of ClusterChanges::Confirm and Extend.
  Unary* Confirm(Context* context, const ConfirmRequest* request,
                 ConfirmResponse* response) override;
  Unary* Extend(Context* context, const ExtendRequest* request,
                ConfirmResponse* response) override;

  Unary* ListHosts(Context* context, const ListHostsRequest* request,
                   ListHostsResponse* response) override;
  // NotFound for a host that is neither in the spec nor remembered,
  // FailedPrecondition for one that is attached.
  Unary* ForgetHost(Context* context, const ForgetHostRequest* request,
                    ForgetHostResponse* response) override;
  // NotFound for a host neither in the spec nor attached; ResourceExhausted
  // when too many are described. If a host does not answer, its facts say so.
  Unary* DescribeHost(Context* context, const DescribeHostRequest* request,
                      DescribeHostResponse* response) override;
  Unary* GetSpec(Context* context, const GetSpecRequest* request,
                 GetSpecResponse* response) override;
  // Errors are the store's; GetHistory also returns ResourceExhausted when too
  // many entries are being sent.
  Unary* ListHistory(Context* context, const ListHistoryRequest* request,
                     ListHistoryResponse* response) override;
  Unary* GetHistory(Context* context, const GetHistoryRequest* request,
                    HistoryRecord* response) override;
  // ResourceExhausted when too many clients watch.
  grpc::ServerWriteReactor<ClusterNow>* Watch(
      Context* context, const WatchRequest* request) override;
  // InvalidArgument for hosts that the spec does not name; ResourceExhausted
  // when too many calls read logs.
  grpc::ServerWriteReactor<LogsEvent>* ReadLogs(
      Context* context, const LogsRequest* request) override;
  // InvalidArgument for an invalid identity, the caller's own, or a reason that
  // is too long; NotFound for a name without a kind that is not a host's, and
  // by Unlock for an identity that is not locked. Other errors are the gate's.
  // Lock answers even if the disk hangs.
  Unary* Lock(Context* context, const LockRequest* request,
              LockResponse* response) override;
  Unary* Unlock(Context* context, const UnlockRequest* request,
                UnlockResponse* response) override;
  Unary* ListLocks(Context* context, const ListLocksRequest* request,
                   ListLocksResponse* response) override;
  Unary* Waive(Context* context, const WaiveRequest* request,
               WaiverResponse* response) override;
  Unary* EndWaiver(Context* context, const EndWaiverRequest* request,
                   WaiverResponse* response) override;
  Unary* ListWaivers(Context* context, const ListWaiversRequest* request,
                     ListWaiversResponse* response) override;
  // For operators.
  Unary* GetAuditHeads(Context* context, const GetAuditHeadsRequest* request,
                       GetAuditHeadsResponse* response) override;

 private:
  template <typename Event>
  using Conclusion = std::function<Event(const FactOrder& order,
                                         const std::vector<HostFacts>& facts)>;

  // Chooses the order's hosts, or returns why not. `selection`: the rules that
  // the request names; null: the request has none.
  template <typename Request>
  absl::Status ChooseHosts(const Request& request,
                           const RuleSelection* selection,
                           FactOrder* order) const;
  absl::Status ChooseHosts(const LearnRequest& request,
                           const RuleSelection* selection,
                           FactOrder* order) const;
  absl::Status ChooseHosts(const LaunchRequest& request,
                           const RuleSelection* selection,
                           FactOrder* order) const;
  absl::StatusOr<LogsOrder> PrepareLogs(const Context& context,
                                        const SpiffeId& user,
                                        const LogsRequest& request) const;
  // Streams the progress of the facts, and then the result of `conclude`.
  template <typename Event, typename Request>
  grpc::ServerWriteReactor<Event>* AskHosts(Context* context,
                                            const Request& request,
                                            const char* call, CallClass of,
                                            const RuleSelection* selection,
                                            Conclusion<Event> conclude);
  // The stream's place in the queue, which it leaves at its end.
  template <typename Event>
  FactQueue::Ticket JoinQueue(const std::shared_ptr<EventStream<Event>>& stream,
                              const SpiffeId& user);
  // Ends the stream with end(stream, result), or the run's error.
  template <typename Event, typename Result, typename End>
  FactQueue::Caller<Result> CallerFor(
      const std::shared_ptr<EventStream<Event>>& stream, AuditEntry entry,
      End end);
  grpc::ServerWriteReactor<CheckEvent>* CheckJob(Context* context,
                                                 const CheckRequest& request);
  // Parses the identity in a request to lock or unlock, as LockName does.
  absl::StatusOr<std::string> IdentityNamed(const std::string& text) const;
  template <typename Response>
  using EndOfRun = absl::StatusOr<Response> (ClusterChanges::*)(
      const std::string& id, const std::string& actor, const std::string& from);
  // Ends a run by calling `end`, and logs a failure.
  template <typename Request, typename Response>
  Unary* EndRun(Context* context, const char* call, const Request& request,
                Response* response, EndOfRun<Response> end);
  // Confirms an apply, or extends it if `by` is set.
  Unary* AnswerConfirm(Context* context, const char* call,
                       const google::protobuf::Message& request,
                       const std::string& id, std::optional<absl::Duration> by,
                       ConfirmResponse* response);
  // Keeps a check or plan, or logs why that failed.
  absl::Status Keep(const HistoryRecord& record) const;

  // Streams a change. A thread of the pool begins it, after `complete` has
  // filled in the request there.
  template <typename Request>
  grpc::ServerWriteReactor<ApplyEvent>* RunChange(
      Context* context, const char* call, const Request& request,
      std::function<absl::Status(ChangeRequest* change)> complete);

  const ControllerParts parts_;
  ClusterChanges* const changes_;
  JobChecks* const jobs_;
  ClusterWatch* const watch_;
  const std::function<std::vector<std::string>()> notes_;
  const UserCalls calls_;

  // Bytes being sent to one user, for changes and for all other runs, so that
  // no reading delays a change.
  SendBudget budget_{64 << 20};
  SendBudget run_budget_{64 << 20};
  WorkerPool lock_writer_{1, 1024};  // May hang with the disk.
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_SERVICE_CONTROLLER_SERVICE_H_
