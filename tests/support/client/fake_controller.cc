#include "tests/support/client/fake_controller.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/values/version.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/support/channel_arguments.h"

namespace clusterd {
class FakeController::ControllerService final : public Controller::Service {
 public:
  explicit ControllerService(FakeController& owner) : owner_(owner) {}

  grpc::Status GetSpec(grpc::ServerContext*, const GetSpecRequest*,
                       GetSpecResponse* response) override {
    *response = owner_.script_.spec;
    return owner_.script_.spec_status;
  }

  grpc::Status ListHosts(grpc::ServerContext*, const ListHostsRequest*,
                         ListHostsResponse* response) override {
    *response = owner_.script_.hosts;
    return owner_.script_.hosts_status;
  }

  grpc::Status DescribeHost(grpc::ServerContext*,
                            const DescribeHostRequest* request,
                            DescribeHostResponse* response) override {
    {
      absl::MutexLock lock(&owner_.mutex_);
      owner_.described_host_ = request->host();
    }
    *response = owner_.script_.description;
    return owner_.script_.describe_status;
  }

  grpc::Status Check(grpc::ServerContext*, const CheckRequest* request,
                     grpc::ServerWriter<CheckEvent>* writer) override {
    const ControllerScript& script = owner_.script_;
    size_t before = 0;
    {
      absl::MutexLock lock(&owner_.mutex_);
      owner_.check_request_ = *request;
      before = owner_.checks_++;
    }
    if (before < script.first_checks.size()) {
      return Play(script.first_checks[before], false, grpc::Status::OK,
                  *writer);
    }
    return Play(script.check_events, script.check_hangs, script.check_status,
                *writer);
  }

  grpc::Status CheckSoFar(grpc::ServerContext*,
                          const CheckSoFarRequest* request,
                          Report* response) override {
    absl::MutexLock lock(&owner_.mutex_);
    owner_.asked_so_far_ = request->run_id();
    if (!owner_.script_.so_far.has_value()) {
      return grpc::Status(grpc::StatusCode::NOT_FOUND, "not under way");
    }
    *response = *owner_.script_.so_far;
    return grpc::Status::OK;
  }

  grpc::Status GetAuditHeads(grpc::ServerContext*, const GetAuditHeadsRequest*,
                             GetAuditHeadsResponse* response) override {
    *response = owner_.script_.audit_heads;
    return owner_.script_.audit_status;
  }

  grpc::Status ForgetHost(grpc::ServerContext*,
                          const ForgetHostRequest* request,
                          ForgetHostResponse* response) override {
    absl::MutexLock lock(&owner_.mutex_);
    owner_.forgotten_host_ = request->host();
    *response = owner_.script_.forgotten;
    return owner_.script_.forget_status;
  }

  grpc::Status Plan(grpc::ServerContext*, const PlanRequest* request,
                    grpc::ServerWriter<PlanEvent>* writer) override {
    {
      absl::MutexLock lock(&owner_.mutex_);
      owner_.plan_request_ = *request;
    }
    return Play(owner_.script_.plan_events, owner_.script_.plan_hangs,
                owner_.script_.plan_status, *writer);
  }

  grpc::Status Learn(grpc::ServerContext*, const LearnRequest* request,
                     grpc::ServerWriter<LearnEvent>* writer) override {
    {
      absl::MutexLock lock(&owner_.mutex_);
      owner_.learn_request_ = *request;
    }
    return Play(owner_.script_.learn_events, false, owner_.script_.learn_status,
                *writer);
  }

  grpc::Status PrepareLaunch(grpc::ServerContext*, const LaunchRequest* request,
                             grpc::ServerWriter<LaunchEvent>* writer) override {
    {
      absl::MutexLock lock(&owner_.mutex_);
      owner_.launch_request_ = *request;
    }
    return Play(owner_.script_.launch_events, false,
                owner_.script_.launch_status, *writer);
  }

  grpc::Status ReadLogs(grpc::ServerContext*, const LogsRequest* request,
                        grpc::ServerWriter<LogsEvent>* writer) override {
    {
      absl::MutexLock lock(&owner_.mutex_);
      owner_.logs_request_ = *request;
    }
    return Play(owner_.script_.logs_events, false, owner_.script_.logs_status,
                *writer);
  }

  grpc::Status ApplyPlan(grpc::ServerContext*, const ApplyPlanRequest* request,
                         grpc::ServerWriter<ApplyEvent>* writer) override {
    {
      absl::MutexLock lock(&owner_.mutex_);
      owner_.apply_request_ = *request;
    }
    return Apply(*writer);
  }

  grpc::Status RollBack(grpc::ServerContext*, const RollBackRequest* request,
                        grpc::ServerWriter<ApplyEvent>* writer) override {
    {
      absl::MutexLock lock(&owner_.mutex_);
      owner_.roll_back_request_ = *request;
    }
    return Apply(*writer);
  }

  grpc::Status ListHistory(grpc::ServerContext*,
                           const ListHistoryRequest* request,
                           ListHistoryResponse* response) override {
    absl::MutexLock lock(&owner_.mutex_);
    const size_t calls = owner_.history_requests_.size();
    owner_.history_requests_.push_back(*request);
    if (calls < owner_.script_.history.size()) {
      *response = owner_.script_.history[calls];
    }
    return owner_.script_.history_status;
  }

  grpc::Status GetHistory(grpc::ServerContext*,
                          const GetHistoryRequest* request,
                          HistoryRecord* response) override {
    {
      absl::MutexLock lock(&owner_.mutex_);
      owner_.record_id_ = request->id();
    }
    *response = owner_.script_.record;
    const std::vector<HistoryRecord>& records = owner_.script_.records;
    if (!records.empty()) {
      const auto found = std::find_if(
          records.begin(), records.end(), [&](const HistoryRecord& record) {
            return absl::StartsWith(record.entry().id(), request->id());
          });
      if (found == records.end()) {
        return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such entry");
      }
      *response = *found;
    }
    return owner_.script_.record_status;
  }

  grpc::Status Watch(grpc::ServerContext*, const WatchRequest*,
                     grpc::ServerWriter<ClusterNow>* writer) override {
    const auto& watches = owner_.script_.watches;
    size_t call = 0;
    {
      absl::MutexLock lock(&owner_.mutex_);
      call = static_cast<size_t>(owner_.watches_++);
    }
    if (call >= watches.size()) return owner_.script_.watch_status;
    return Play(watches[call], call + 1 == watches.size(),
                owner_.script_.watch_status, *writer);
  }

  grpc::Status AbortApply(grpc::ServerContext*,
                          const AbortApplyRequest* request,
                          AbortApplyResponse* response) override {
    absl::MutexLock lock(&owner_.mutex_);
    owner_.aborted_id_ = request->id();
    *response = owner_.script_.aborted;
    return owner_.script_.abort_status;
  }

  grpc::Status Confirm(grpc::ServerContext*, const ConfirmRequest* request,
                       ConfirmResponse* response) override {
    absl::MutexLock lock(&owner_.mutex_);
    owner_.confirmed_id_ = request->id();
    *response = owner_.script_.confirmed;
    return owner_.script_.confirm_status;
  }

  grpc::Status Extend(grpc::ServerContext*, const ExtendRequest* request,
                      ConfirmResponse* response) override {
    absl::MutexLock lock(&owner_.mutex_);
    owner_.extend_request_ = *request;
    *response = owner_.script_.confirmed;
    return owner_.script_.confirm_status;
  }

  grpc::Status Cancel(grpc::ServerContext*, const CancelRequest* request,
                      CancelResponse* response) override {
    {
      absl::MutexLock lock(&owner_.mutex_);
      owner_.cancelled_id_ = request->id();
    }
    *response = owner_.script_.cancelled;
    return owner_.script_.cancel_status;
  }

  grpc::Status Lock(grpc::ServerContext*, const LockRequest* request,
                    LockResponse* response) override {
    {
      absl::MutexLock lock(&owner_.mutex_);
      owner_.lock_request_ = *request;
    }
    *response = owner_.script_.locked;
    return owner_.script_.lock_status;
  }

  grpc::Status Waive(grpc::ServerContext*, const WaiveRequest* request,
                     WaiverResponse* response) override {
    absl::MutexLock lock(&owner_.mutex_);
    owner_.waive_request_ = *request;
    *response = owner_.script_.waived;
    return owner_.script_.waive_status;
  }

  grpc::Status EndWaiver(grpc::ServerContext*, const EndWaiverRequest*,
                         WaiverResponse* response) override {
    *response = owner_.script_.waived;
    return owner_.script_.waive_status;
  }

  grpc::Status ListWaivers(grpc::ServerContext*, const ListWaiversRequest*,
                           ListWaiversResponse* response) override {
    *response = owner_.script_.waivers;
    return owner_.script_.waive_status;
  }

  grpc::Status Unlock(grpc::ServerContext*, const UnlockRequest*,
                      UnlockResponse* response) override {
    *response = owner_.script_.unlocked;
    return owner_.script_.lock_status;
  }

  grpc::Status ListLocks(grpc::ServerContext*, const ListLocksRequest*,
                         ListLocksResponse* response) override {
    *response = owner_.script_.locks;
    return owner_.script_.lock_status;
  }

 private:
  grpc::Status Apply(grpc::ServerWriter<ApplyEvent>& writer) {
    const std::vector<ApplyEvent>& later = owner_.script_.events_of_cancel;
    if (!later.empty()) {
      for (const ApplyEvent& event : owner_.script_.apply_events) {
        writer.Write(event);
      }
      {
        absl::MutexLock lock(&owner_.mutex_);
        owner_.mutex_.Await(absl::Condition(&owner_, &FakeController::MayGoOn));
      }
      return Play(later, owner_.script_.apply_hangs,
                  owner_.script_.apply_status, writer);
    }
    return Play(owner_.script_.apply_events, owner_.script_.apply_hangs,
                owner_.script_.apply_status, writer);
  }

  template <typename Event>
  grpc::Status Play(const std::vector<Event>& events, bool hangs,
                    const grpc::Status& status,
                    grpc::ServerWriter<Event>& writer) {
    for (const Event& event : events) writer.Write(event);
    if (hangs) owner_.closing_.WaitForNotification();
    return status;
  }

  FakeController& owner_;
};

class FakeController::LocalService final : public LocalAgent::Service {
 public:
  explicit LocalService(FakeController& owner) : owner_(owner) {}

  grpc::Status CheckSelf(grpc::ServerContext*, const CheckSelfRequest*,
                         CheckSelfResponse* response) override {
    *response = owner_.script_.self;
    return owner_.script_.self_status;
  }

  grpc::Status RunHook(grpc::ServerContext*, const HookRequest* request,
                       HookAnswer* answer) override {
    absl::MutexLock lock(&owner_.mutex_);
    owner_.hook_request_ = *request;
    *answer = owner_.script_.hook;
    return owner_.script_.hook_status;
  }

 private:
  FakeController& owner_;
};

class FakeController::TrustService final : public Trust::Service {
 public:
  explicit TrustService(FakeController& owner) : owner_(owner) {}

  grpc::Status CreateToken(grpc::ServerContext*,
                           const CreateTokenRequest* request,
                           CreateTokenResponse* response) override {
    absl::MutexLock lock(&owner_.mutex_);
    owner_.token_request_ = *request;
    *response = owner_.script_.token;
    return owner_.script_.trust_status;
  }
  grpc::Status ListTokens(grpc::ServerContext*, const ListTokensRequest*,
                          ListTokensResponse* response) override {
    *response = owner_.script_.tokens;
    return owner_.script_.trust_status;
  }
  grpc::Status RevokeToken(grpc::ServerContext*,
                           const RevokeTokenRequest* request,
                           RevokeTokenResponse* response) override {
    *response = owner_.script_.revoked;
    return Decide("revoke", request->id());
  }
  grpc::Status ListCertificates(grpc::ServerContext*,
                                const ListCertificatesRequest*,
                                ListCertificatesResponse* response) override {
    *response = owner_.script_.certificates;
    return owner_.script_.trust_status;
  }
  grpc::Status ApproveHost(grpc::ServerContext*,
                           const ApproveHostRequest* request,
                           ApproveHostResponse* response) override {
    *response = owner_.script_.approved;
    return Decide("approve", request->name() + " " + request->key());
  }
  grpc::Status RefuseHost(grpc::ServerContext*,
                          const ApproveHostRequest* request,
                          ApproveHostResponse* response) override {
    *response = owner_.script_.approved;
    return Decide("refuse", request->name() + " " + request->key());
  }
  grpc::Status ResetHost(grpc::ServerContext*, const ResetHostRequest* request,
                         ResetHostResponse* response) override {
    *response = owner_.script_.reset;
    return Decide("reset", request->key().empty()
                               ? request->name()
                               : request->name() + " " + request->key());
  }

 private:
  grpc::Status Decide(const char* what, const std::string& about) {
    absl::MutexLock lock(&owner_.mutex_);
    owner_.decision_ = absl::StrCat(what, " ", about);
    return owner_.script_.trust_status;
  }

  FakeController& owner_;
};

FakeController::FakeController(ControllerScript script)
    : script_(std::move(script)),
      controller_(std::make_unique<ControllerService>(*this)),
      local_(std::make_unique<LocalService>(*this)),
      trust_(std::make_unique<TrustService>(*this)) {
  grpc::ServerBuilder builder;
  builder.RegisterService(controller_.get());
  builder.RegisterService(local_.get());
  builder.RegisterService(trust_.get());
  server_ = builder.BuildAndStart();
}

FakeController::~FakeController() {
  {
    absl::MutexLock lock(&mutex_);
    closing_.Notify();
  }
  server_->Shutdown();
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> FakeController::ToController(
    const ConnectionSettings& settings) {
  absl::MutexLock lock(&mutex_);
  settings_ = settings;
  return server_->InProcessChannel(grpc::ChannelArguments());
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> FakeController::ToLocalDaemon(
    const std::string& socket_path) {
  absl::MutexLock lock(&mutex_);
  socket_path_ = socket_path;
  return server_->InProcessChannel(grpc::ChannelArguments());
}

std::optional<CheckRequest> FakeController::check_request() const {
  absl::MutexLock lock(&mutex_);
  return check_request_;
}

std::optional<HookRequest> FakeController::hook_request() const {
  absl::MutexLock lock(&mutex_);
  return hook_request_;
}

std::optional<PlanRequest> FakeController::plan_request() const {
  absl::MutexLock lock(&mutex_);
  return plan_request_;
}

std::optional<ApplyPlanRequest> FakeController::apply_request() const {
  absl::MutexLock lock(&mutex_);
  return apply_request_;
}

std::optional<RollBackRequest> FakeController::roll_back_request() const {
  absl::MutexLock lock(&mutex_);
  return roll_back_request_;
}
std::optional<LockRequest> FakeController::lock_request() const {
  absl::MutexLock lock(&mutex_);
  return lock_request_;
}

std::optional<WaiveRequest> FakeController::waive_request() const {
  absl::MutexLock lock(&mutex_);
  return waive_request_;
}

std::vector<ListHistoryRequest> FakeController::history_requests() const {
  absl::MutexLock lock(&mutex_);
  return history_requests_;
}

std::optional<LearnRequest> FakeController::learn_request() const {
  absl::MutexLock lock(&mutex_);
  return learn_request_;
}

std::optional<LaunchRequest> FakeController::launch_request() const {
  absl::MutexLock lock(&mutex_);
  return launch_request_;
}

std::optional<LogsRequest> FakeController::logs_request() const {
  absl::MutexLock lock(&mutex_);
  return logs_request_;
}

std::string FakeController::record_id() const {
  absl::MutexLock lock(&mutex_);
  return record_id_;
}

std::string FakeController::aborted_id() const {
  absl::MutexLock lock(&mutex_);
  return aborted_id_;
}

std::string FakeController::confirmed_id() const {
  absl::MutexLock lock(&mutex_);
  return confirmed_id_;
}

std::optional<ExtendRequest> FakeController::extend_request() const {
  absl::MutexLock lock(&mutex_);
  return extend_request_;
}

std::string FakeController::cancelled_id() const {
  absl::MutexLock lock(&mutex_);
  return cancelled_id_;
}

std::optional<ConnectionSettings> FakeController::settings() const {
  absl::MutexLock lock(&mutex_);
  return settings_;
}

std::string FakeController::socket_path() const {
  absl::MutexLock lock(&mutex_);
  return socket_path_;
}

int FakeController::watches() const {
  absl::MutexLock lock(&mutex_);
  return watches_;
}

int FakeController::checks() const {
  absl::MutexLock lock(&mutex_);
  return checks_;
}

std::string FakeController::asked_so_far() const {
  absl::MutexLock lock(&mutex_);
  return asked_so_far_;
}

std::string FakeController::forgotten_host() const {
  absl::MutexLock lock(&mutex_);
  return forgotten_host_;
}

std::string FakeController::described_host() const {
  absl::MutexLock lock(&mutex_);
  return described_host_;
}

std::optional<CreateTokenRequest> FakeController::token_request() const {
  absl::MutexLock lock(&mutex_);
  return token_request_;
}

std::string FakeController::decision() const {
  absl::MutexLock lock(&mutex_);
  return decision_;
}

ClusterSpec SpecOfServers(int count) {
  ClusterSpec spec;
  spec.set_version(1);
  spec.set_name("demo");
  spec.set_product("atlas-training");
  for (int i = 0; i < count; ++i) {
    ServerSpec& server = *spec.add_servers();
    server.set_host(absl::StrCat("server", i));
    server.add_devices()->set_id(0);
  }
  spec.mutable_deadlines()->set_run_ms(60'000);
  return spec;
}

Report PassingReport(const std::vector<std::string>& hosts) {
  Report report;
  report.set_schema_version(kReportSchemaVersion);
  report.set_cluster("demo");
  report.set_product("atlas-training");
  report.set_verdict(PASS);
  report.set_elapsed_ms(1300);
  RuleResult& rule = *report.add_rules();
  rule.set_rule("link");
  rule.set_category("device");
  rule.set_state(PASS);
  for (const std::string& host : hosts) {
    HostStatus& status = *report.add_hosts();
    status.set_host(host);
    status.set_state(PASS);
  }
  return report;
}

CheckEvent EventOf(const Report& report) {
  CheckEvent event;
  *event.mutable_report() = report;
  return event;
}

CheckEvent EventOf(const CheckProgress& progress) {
  CheckEvent event;
  *event.mutable_progress() = progress;
  return event;
}

PlanEvent EventOf(const ClusterPlan& plan) {
  PlanEvent event;
  *event.mutable_plan() = plan;
  return event;
}

ApplyEvent EventOf(const ApplyProgress& progress) {
  ApplyEvent event;
  *event.mutable_progress() = progress;
  return event;
}

ApplyEvent EventOf(const ApplyResult& result) {
  ApplyEvent event;
  *event.mutable_host() = result;
  return event;
}

ApplyEvent EventOf(const ApplyReport& report) {
  ApplyEvent event;
  *event.mutable_report() = report;
  return event;
}

ApplyEvent EventOf(const ApplyWave& wave) {
  ApplyEvent event;
  *event.mutable_wave() = wave;
  return event;
}

ApplyEvent EventOf(const CancelResponse& cancelled) {
  ApplyEvent event;
  *event.mutable_cancelled() = cancelled;
  return event;
}

}  // namespace clusterd
