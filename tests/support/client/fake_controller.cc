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
    *response = script_.spec;
    return script_.spec_status;
  }

  grpc::Status ListHosts(grpc::ServerContext*, const ListHostsRequest*,
                         ListHostsResponse* response) override {
    *response = script_.hosts;
    return script_.hosts_status;
  }

  grpc::Status DescribeHost(grpc::ServerContext*,
                            const DescribeHostRequest* request,
                            DescribeHostResponse* response) override {
    owner_.Note(&ControllerSeen::described_host, request->host());
    *response = script_.description;
    return script_.describe_status;
  }

  grpc::Status Check(grpc::ServerContext*, const CheckRequest* request,
                     grpc::ServerWriter<CheckEvent>* writer) override {
    size_t before = 0;
    {
      absl::MutexLock lock(&owner_.mutex_);
      owner_.seen_.check_request = *request;
      before = owner_.seen_.checks++;
    }
    if (before < script_.first_checks.size()) {
      return Play(script_.first_checks[before], false, grpc::Status::OK,
                  *writer);
    }
    return Play(script_.check_events, script_.check_hangs, script_.check_status,
                *writer);
  }

  grpc::Status CheckSoFar(grpc::ServerContext*,
                          const CheckSoFarRequest* request,
                          Report* response) override {
    owner_.Note(&ControllerSeen::asked_so_far, request->run_id());
    if (!script_.so_far.has_value()) {
      return grpc::Status(grpc::StatusCode::NOT_FOUND, "not under way");
    }
    *response = *script_.so_far;
    return grpc::Status::OK;
  }

  grpc::Status GetAuditHeads(grpc::ServerContext*, const GetAuditHeadsRequest*,
                             GetAuditHeadsResponse* response) override {
    *response = script_.audit_heads;
    return script_.audit_status;
  }

  grpc::Status ForgetHost(grpc::ServerContext*,
                          const ForgetHostRequest* request,
                          ForgetHostResponse* response) override {
    owner_.Note(&ControllerSeen::forgotten_host, request->host());
    *response = script_.forgotten;
    return script_.forget_status;
  }

  grpc::Status Plan(grpc::ServerContext*, const PlanRequest* request,
                    grpc::ServerWriter<PlanEvent>* writer) override {
    owner_.Note(&ControllerSeen::plan_request, *request);
    return Play(script_.plan_events, script_.plan_hangs, script_.plan_status,
                *writer);
  }

  grpc::Status Learn(grpc::ServerContext*, const LearnRequest* request,
                     grpc::ServerWriter<LearnEvent>* writer) override {
    owner_.Note(&ControllerSeen::learn_request, *request);
    return Play(script_.learn_events, false, script_.learn_status, *writer);
  }

  grpc::Status PrepareLaunch(grpc::ServerContext*, const LaunchRequest* request,
                             grpc::ServerWriter<LaunchEvent>* writer) override {
    owner_.Note(&ControllerSeen::launch_request, *request);
    return Play(script_.launch_events, false, script_.launch_status, *writer);
  }

  grpc::Status ReadLogs(grpc::ServerContext*, const LogsRequest* request,
                        grpc::ServerWriter<LogsEvent>* writer) override {
    owner_.Note(&ControllerSeen::logs_request, *request);
    return Play(script_.logs_events, false, script_.logs_status, *writer);
  }

  grpc::Status ApplyPlan(grpc::ServerContext*, const ApplyPlanRequest* request,
                         grpc::ServerWriter<ApplyEvent>* writer) override {
    owner_.Note(&ControllerSeen::apply_request, *request);
    return Apply(*writer);
  }

  grpc::Status RollBack(grpc::ServerContext*, const RollBackRequest* request,
                        grpc::ServerWriter<ApplyEvent>* writer) override {
    owner_.Note(&ControllerSeen::roll_back_request, *request);
    return Apply(*writer);
  }

  grpc::Status ListHistory(grpc::ServerContext*,
                           const ListHistoryRequest* request,
                           ListHistoryResponse* response) override {
    absl::MutexLock lock(&owner_.mutex_);
    const size_t calls = owner_.seen_.history_requests.size();
    owner_.seen_.history_requests.push_back(*request);
    if (calls < script_.history.size()) {
      *response = script_.history[calls];
    }
    return script_.history_status;
  }

  grpc::Status GetHistory(grpc::ServerContext*,
                          const GetHistoryRequest* request,
                          HistoryRecord* response) override {
    owner_.Note(&ControllerSeen::record_id, request->id());
    *response = script_.record;
    const std::vector<HistoryRecord>& records = script_.records;
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
    return script_.record_status;
  }

  grpc::Status Watch(grpc::ServerContext*, const WatchRequest*,
                     grpc::ServerWriter<ClusterNow>* writer) override {
    const auto& watches = script_.watches;
    size_t call = 0;
    {
      absl::MutexLock lock(&owner_.mutex_);
      call = static_cast<size_t>(owner_.seen_.watches++);
    }
    if (call >= watches.size()) return script_.watch_status;
    return Play(watches[call], call + 1 == watches.size(), script_.watch_status,
                *writer);
  }

  grpc::Status AbortApply(grpc::ServerContext*,
                          const AbortApplyRequest* request,
                          AbortApplyResponse* response) override {
    owner_.Note(&ControllerSeen::aborted_id, request->id());
    *response = script_.aborted;
    return script_.abort_status;
  }

  grpc::Status Confirm(grpc::ServerContext*, const ConfirmRequest* request,
                       ConfirmResponse* response) override {
    owner_.Note(&ControllerSeen::confirmed_id, request->id());
    *response = script_.confirmed;
    return script_.confirm_status;
  }

  grpc::Status Extend(grpc::ServerContext*, const ExtendRequest* request,
                      ConfirmResponse* response) override {
    owner_.Note(&ControllerSeen::extend_request, *request);
    *response = script_.confirmed;
    return script_.confirm_status;
  }

  grpc::Status Cancel(grpc::ServerContext*, const CancelRequest* request,
                      CancelResponse* response) override {
    owner_.Note(&ControllerSeen::cancelled_id, request->id());
    *response = script_.cancelled;
    return script_.cancel_status;
  }

  grpc::Status Lock(grpc::ServerContext*, const LockRequest* request,
                    LockResponse* response) override {
    owner_.Note(&ControllerSeen::lock_request, *request);
    *response = script_.locked;
    return script_.lock_status;
  }

  grpc::Status Waive(grpc::ServerContext*, const WaiveRequest* request,
                     WaiverResponse* response) override {
    owner_.Note(&ControllerSeen::waive_request, *request);
    *response = script_.waived;
    return script_.waive_status;
  }

  grpc::Status EndWaiver(grpc::ServerContext*, const EndWaiverRequest*,
                         WaiverResponse* response) override {
    *response = script_.waived;
    return script_.waive_status;
  }

  grpc::Status ListWaivers(grpc::ServerContext*, const ListWaiversRequest*,
                           ListWaiversResponse* response) override {
    *response = script_.waivers;
    return script_.waive_status;
  }

  grpc::Status Unlock(grpc::ServerContext*, const UnlockRequest*,
                      UnlockResponse* response) override {
    *response = script_.unlocked;
    return script_.lock_status;
  }

  grpc::Status ListLocks(grpc::ServerContext*, const ListLocksRequest*,
                         ListLocksResponse* response) override {
    *response = script_.locks;
    return script_.lock_status;
  }

 private:
  grpc::Status Apply(grpc::ServerWriter<ApplyEvent>& writer) {
    const std::vector<ApplyEvent>& later = script_.events_of_cancel;
    for (const ApplyEvent& event : script_.apply_events) writer.Write(event);
    if (!later.empty()) {
      absl::MutexLock lock(&owner_.mutex_);
      owner_.mutex_.Await(absl::Condition(&owner_, &FakeController::MayGoOn));
    }
    return Play(later, script_.apply_hangs, script_.apply_status, writer);
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
  const ControllerScript& script_ = owner_.script_;
};

class FakeController::LocalService final : public LocalAgent::Service {
 public:
  explicit LocalService(FakeController& owner) : owner_(owner) {}

  grpc::Status CheckSelf(grpc::ServerContext*, const CheckSelfRequest*,
                         CheckSelfResponse* response) override {
    *response = script_.self;
    return script_.self_status;
  }

  grpc::Status RunHook(grpc::ServerContext*, const HookRequest* request,
                       HookAnswer* answer) override {
    owner_.Note(&ControllerSeen::hook_request, *request);
    *answer = script_.hook;
    return script_.hook_status;
  }

 private:
  FakeController& owner_;
  const ControllerScript& script_ = owner_.script_;
};

class FakeController::TrustService final : public Trust::Service {
 public:
  explicit TrustService(FakeController& owner) : owner_(owner) {}

  grpc::Status CreateToken(grpc::ServerContext*,
                           const CreateTokenRequest* request,
                           CreateTokenResponse* response) override {
    owner_.Note(&ControllerSeen::token_request, *request);
    *response = script_.token;
    return script_.trust_status;
  }
  grpc::Status ListTokens(grpc::ServerContext*, const ListTokensRequest*,
                          ListTokensResponse* response) override {
    *response = script_.tokens;
    return script_.trust_status;
  }
  grpc::Status RevokeToken(grpc::ServerContext*,
                           const RevokeTokenRequest* request,
                           RevokeTokenResponse* response) override {
    *response = script_.revoked;
    return Decide("revoke", request->id());
  }
  grpc::Status ListCertificates(grpc::ServerContext*,
                                const ListCertificatesRequest*,
                                ListCertificatesResponse* response) override {
    *response = script_.certificates;
    return script_.trust_status;
  }
  grpc::Status ApproveHost(grpc::ServerContext*,
                           const ApproveHostRequest* request,
                           ApproveHostResponse* response) override {
    *response = script_.approved;
    return Decide("approve", request->name() + " " + request->key());
  }
  grpc::Status RefuseHost(grpc::ServerContext*,
                          const ApproveHostRequest* request,
                          ApproveHostResponse* response) override {
    *response = script_.approved;
    return Decide("refuse", request->name() + " " + request->key());
  }
  grpc::Status ResetHost(grpc::ServerContext*, const ResetHostRequest* request,
                         ResetHostResponse* response) override {
    *response = script_.reset;
    return Decide("reset", request->key().empty()
                               ? request->name()
                               : request->name() + " " + request->key());
  }

 private:
  grpc::Status Decide(const char* what, const std::string& about) {
    owner_.Note(&ControllerSeen::decision, absl::StrCat(what, " ", about));
    return script_.trust_status;
  }

  FakeController& owner_;
  const ControllerScript& script_ = owner_.script_;
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
  seen_.settings = settings;
  return server_->InProcessChannel(grpc::ChannelArguments());
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> FakeController::ToLocalDaemon(
    const std::string& socket_path) {
  absl::MutexLock lock(&mutex_);
  seen_.socket_path = socket_path;
  return server_->InProcessChannel(grpc::ChannelArguments());
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

namespace {

template <typename Event, typename Part>
Event Holding(Part* (Event::*part)(), const Part& value) {
  Event event;
  *(event.*part)() = value;
  return event;
}

}  // namespace

CheckEvent EventOf(const Report& report) {
  return Holding(&CheckEvent::mutable_report, report);
}
CheckEvent EventOf(const CheckProgress& progress) {
  return Holding(&CheckEvent::mutable_progress, progress);
}
PlanEvent EventOf(const ClusterPlan& plan) {
  return Holding(&PlanEvent::mutable_plan, plan);
}
ApplyEvent EventOf(const ApplyProgress& progress) {
  return Holding(&ApplyEvent::mutable_progress, progress);
}
ApplyEvent EventOf(const ApplyResult& result) {
  return Holding(&ApplyEvent::mutable_host, result);
}
ApplyEvent EventOf(const ApplyReport& report) {
  return Holding(&ApplyEvent::mutable_report, report);
}
ApplyEvent EventOf(const ApplyWave& wave) {
  return Holding(&ApplyEvent::mutable_wave, wave);
}
ApplyEvent EventOf(const CancelResponse& cancelled) {
  return Holding(&ApplyEvent::mutable_cancelled, cancelled);
}

}  // namespace clusterd
