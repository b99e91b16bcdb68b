// A controller and a local daemon behind gRPC's in-process channel, with
// scripted answers: no socket, no certificate, no other thread's timing.
#ifndef TESTS_SUPPORT_CLIENT_FAKE_CONTROLLER_H_
#define TESTS_SUPPORT_CLIENT_FAKE_CONTROLLER_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "client/connection/connector.h"
#include "grpcpp/server.h"
#include "proto/agent_hub.grpc.pb.h"
#include "proto/controller.grpc.pb.h"
#include "proto/trust.grpc.pb.h"

namespace clusterd {

// The fake's answers. Set before the first call and not changed later.
struct ControllerScript {
  GetSpecResponse spec;
  grpc::Status spec_status;
  ListHostsResponse hosts;
  grpc::Status hosts_status;
  ForgetHostResponse forgotten;
  grpc::Status forget_status;
  GetAuditHeadsResponse audit_heads;
  grpc::Status audit_status;
  DescribeHostResponse description;
  grpc::Status describe_status;

  std::vector<CheckEvent> check_events;
  // If set: the events of the first checks, in order; then check_events.
  std::vector<std::vector<CheckEvent>> first_checks;
  // The answer to CheckSoFar; unset: NotFound.
  std::optional<Report> so_far;
  // The status of a check's stream, after its events.
  grpc::Status check_status;
  // After its events a check waits until the fake is destroyed.
  bool check_hangs = false;

  std::vector<PlanEvent> plan_events;
  grpc::Status plan_status;
  bool plan_hangs = false;

  std::vector<LearnEvent> learn_events;
  grpc::Status learn_status;

  std::vector<LaunchEvent> launch_events;
  grpc::Status launch_status;

  std::vector<LogsEvent> logs_events;
  grpc::Status logs_status;

  // For applies and rollbacks alike.
  std::vector<ApplyEvent> apply_events;
  grpc::Status apply_status;
  bool apply_hangs = false;
  // If set: sent when a user has cancelled the run, before it hangs.
  std::vector<ApplyEvent> events_of_cancel;

  CancelResponse cancelled;
  grpc::Status cancel_status;
  AbortApplyResponse aborted;
  grpc::Status abort_status;
  ConfirmResponse confirmed;  // To Confirm and Extend.
  grpc::Status confirm_status;

  LockResponse locked;
  UnlockResponse unlocked;
  ListLocksResponse locks;
  grpc::Status lock_status;  // For all three.

  WaiverResponse waived;  // To Waive and EndWaiver.
  ListWaiversResponse waivers;
  grpc::Status waive_status;

  // Answers of ListHistory, in order; then empty ones.
  std::vector<ListHistoryResponse> history;
  grpc::Status history_status;
  HistoryRecord record;
  // If set: found by the start of their ids, in place of `record`.
  std::vector<HistoryRecord> records;
  grpc::Status record_status;

  // The messages of each Watch call, in order. A call then ends with
  // watch_status; the last one hangs.
  std::vector<std::vector<ClusterNow>> watches;
  grpc::Status watch_status;

  CreateTokenResponse token;
  ListTokensResponse tokens;
  RevokeTokenResponse revoked;
  ListCertificatesResponse certificates;
  ApproveHostResponse approved;
  ResetHostResponse reset;
  grpc::Status trust_status;  // For all of these.

  CheckSelfResponse self;
  grpc::Status self_status;
  HookAnswer hook;
  grpc::Status hook_status;
};

// The requests that the fake has received.
struct ControllerSeen {
  std::optional<CheckRequest> check_request;
  std::optional<HookRequest> hook_request;
  std::optional<PlanRequest> plan_request;
  std::optional<LearnRequest> learn_request;
  std::optional<LaunchRequest> launch_request;
  std::optional<LogsRequest> logs_request;
  std::optional<ApplyPlanRequest> apply_request;
  std::optional<RollBackRequest> roll_back_request;
  std::optional<LockRequest> lock_request;
  std::optional<WaiveRequest> waive_request;
  std::optional<ExtendRequest> extend_request;
  std::optional<CreateTokenRequest> token_request;
  std::optional<ConnectionSettings> settings;
  std::vector<ListHistoryRequest> history_requests;
  int checks = 0;
  int watches = 0;
  std::string socket_path;
  std::string asked_so_far;
  std::string forgotten_host;
  std::string described_host;
  std::string record_id;
  std::string cancelled_id;
  std::string aborted_id;
  std::string confirmed_id;
  std::string decision;
};

// Safe for concurrent use.
class FakeController : public Connector {
 public:
  explicit FakeController(ControllerScript script);
  ~FakeController() override;

  absl::StatusOr<std::shared_ptr<grpc::Channel>> ToController(
      const ConnectionSettings& settings) override;
  absl::StatusOr<std::shared_ptr<grpc::Channel>> ToLocalDaemon(
      const std::string& socket_path) override;

  // The last ones seen; none before the first.
  auto check_request() const { return seen().check_request; }
  auto hook_request() const { return seen().hook_request; }
  auto plan_request() const { return seen().plan_request; }
  auto learn_request() const { return seen().learn_request; }
  auto launch_request() const { return seen().launch_request; }
  auto logs_request() const { return seen().logs_request; }
  auto apply_request() const { return seen().apply_request; }
  auto roll_back_request() const { return seen().roll_back_request; }
  auto lock_request() const { return seen().lock_request; }
  auto waive_request() const { return seen().waive_request; }
  auto extend_request() const { return seen().extend_request; }
  auto token_request() const { return seen().token_request; }
  auto settings() const { return seen().settings; }
  // All, in order.
  auto history_requests() const { return seen().history_requests; }
  int checks() const { return seen().checks; }
  int watches() const { return seen().watches; }
  // Ids, hosts and paths; empty before the first.
  auto socket_path() const { return seen().socket_path; }
  auto asked_so_far() const { return seen().asked_so_far; }
  auto forgotten_host() const { return seen().forgotten_host; }
  auto described_host() const { return seen().described_host; }
  auto record_id() const { return seen().record_id; }
  auto cancelled_id() const { return seen().cancelled_id; }
  auto aborted_id() const { return seen().aborted_id; }
  auto confirmed_id() const { return seen().confirmed_id; }
  // The id or host of the last decision about trust: "reset node07".
  auto decision() const { return seen().decision; }

 private:
  class ControllerService;
  class LocalService;
  class TrustService;

  ControllerSeen seen() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return seen_;
  }
  template <typename Member, typename Value>
  void Note(Member ControllerSeen::*member, const Value& value)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    seen_.*member = value;
  }
  // True once the fake ends, or a run is cancelled: its script continues.
  bool MayGoOn() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return closing_.HasBeenNotified() || !seen_.cancelled_id.empty();
  }

  const ControllerScript script_;
  absl::Notification closing_;
  std::unique_ptr<ControllerService> controller_;
  std::unique_ptr<LocalService> local_;
  std::unique_ptr<TrustService> trust_;
  std::unique_ptr<grpc::Server> server_;

  mutable absl::Mutex mutex_;
  ControllerSeen seen_ ABSL_GUARDED_BY(mutex_);
};

// A spec of servers "server0" to "server<n-1>" with one device each.
ClusterSpec SpecOfServers(int count);

// A report of these hosts with one rule, "link", that passed.
Report PassingReport(const std::vector<std::string>& hosts);

CheckEvent EventOf(const Report& report);
CheckEvent EventOf(const CheckProgress& progress);
PlanEvent EventOf(const ClusterPlan& plan);
ApplyEvent EventOf(const ApplyProgress& progress);
ApplyEvent EventOf(const ApplyResult& result);
ApplyEvent EventOf(const ApplyReport& report);
ApplyEvent EventOf(const ApplyWave& wave);
ApplyEvent EventOf(const CancelResponse& cancelled);

}  // namespace clusterd

#endif  // TESTS_SUPPORT_CLIENT_FAKE_CONTROLLER_H_
