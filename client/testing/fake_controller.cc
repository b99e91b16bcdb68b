#include "client/testing/fake_controller.h"

#include <utility>

#include "absl/strings/str_cat.h"
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
    {
      absl::MutexLock lock(&owner_.mutex_);
      owner_.check_request_ = *request;
    }
    for (const CheckEvent& event : owner_.script_.check_events) {
      writer->Write(event);
    }
    if (owner_.script_.check_hangs) owner_.closing_.WaitForNotification();
    return owner_.script_.check_status;
  }

 private:
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

 private:
  FakeController& owner_;
};

FakeController::FakeController(ControllerScript script)
    : script_(std::move(script)),
      controller_(std::make_unique<ControllerService>(*this)),
      local_(std::make_unique<LocalService>(*this)) {
  grpc::ServerBuilder builder;
  builder.RegisterService(controller_.get());
  builder.RegisterService(local_.get());
  server_ = builder.BuildAndStart();
}

FakeController::~FakeController() {
  closing_.Notify();
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

std::optional<ConnectionSettings> FakeController::settings() const {
  absl::MutexLock lock(&mutex_);
  return settings_;
}

std::string FakeController::socket_path() const {
  absl::MutexLock lock(&mutex_);
  return socket_path_;
}

std::string FakeController::described_host() const {
  absl::MutexLock lock(&mutex_);
  return described_host_;
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
  report.set_schema_version(1);
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

}  // namespace clusterd
