#include "tests/component/test_controller.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/identity/grpc_status.h"
#include "config/identity/tls_credentials.h"
#include "config/spec/spec_loader.h"
#include "config/words/message.h"
#include "grpc/grpc.h"
#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

// These deadlines pass only by a test's own clock.
ClusterSpec PatientSpec(int servers) {
  ClusterSpec spec = MakeSpec("atlas-training", "", servers);
  spec.mutable_deadlines()->set_host_ms(1'800'000);
  spec.mutable_deadlines()->set_run_ms(7'200'000);
  return spec;
}

// gRPC frees the memory of connections on threads of its own. In a program that
// ends meanwhile, the sanitizer reports it as leaked.
class GrpcIsDone final : public testing::Environment {
 public:
  void TearDown() override {
    EXPECT_TRUE(WaitUntil([] { return grpc_is_initialized() == 0; }));
  }
};
[[maybe_unused]] const testing::Environment* const kGrpcIsDone =
    testing::AddGlobalTestEnvironment(new GrpcIsDone);

}  // namespace

ControllerServerOptions TrustedOptions(const TestCertificates& certificates,
                                       const IssueOptions& intermediate) {
  ControllerServerOptions options;
  options.trust.ca_dir = MakeCaDir(certificates.authority(), intermediate);
  options.trust.state = NewStateFolder();
  options.trust.enrol_listen = "127.0.0.1:0";
  options.trust.enrolment_program =
      std::filesystem::current_path() / "daemon/controller/clusterd-controller";
  return options;
}

TestController::TestController(TestCertificates* certificates, int servers,
                               Scheduler* scheduler,
                               const ControllerServerOptions& options,
                               const HistoryLimits& limits)
    : certificates_(certificates),
      scheduler_(scheduler),
      options_(options),
      spec_path_(certificates->folder() + "/cluster.yaml") {
  if (servers > 0) {
    std::ofstream(spec_path_) << SpecToYaml(PatientSpec(servers));
  }
  auto spec = SpecHolder::Open(spec_path_, "test", scheduler,
                               /*may_learn=*/servers == 0);
  EXPECT_TRUE(spec.ok()) << spec.status();
  if (spec.ok()) spec_ = *std::move(spec);
  OpenGate({}, &gate_scheduler_);
  const std::string state = NewStateFolder();
  history_ = OpenStore(state, limits);
  audit_path_ = absl::StrCat(state, "/", kAuditFileName);
}

TestController::~TestController() { Stop(); }

void TestController::OpenGate(IdentityGateOptions options,
                              Scheduler* gate_scheduler) {
  options.cluster = "test";
  if (options.state.empty()) options.state = NewStateFolder();
  gate_.reset();
  auto gate = IdentityGate::Open(options, gate_scheduler, &log_);
  ASSERT_TRUE(gate.ok()) << gate.status();
  gate_ = *std::move(gate);
}

void TestController::Start() { StartAs(certificates_->Controller()); }

void TestController::StartAs(const TlsFiles& files, unsigned refresh_seconds) {
  options_.listen = port_.address();
  options_.tls = files;
  const auto credentials = MakeServerCredentials(files, refresh_seconds);
  ASSERT_TRUE(credentials.ok()) << credentials.status();
  audit_ =
      std::make_unique<AuditLog>(audit_path_, AuditLimits{1 << 20},
                                 "spiffe://test/controller", scheduler_, &log_);
  auto server = ControllerServer::Start(
      options_, *credentials,
      ControllerParts{spec_.get(), history_.get(), scheduler_, &pool_, &log_,
                      /*hosts=*/nullptr, gate_.get(), audit_.get()});
  ASSERT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
}

void TestController::Stop() {
  server_.reset();
  audit_.reset();
}

void TestController::ReadSpecAgain() {
  const absl::Status status = spec_->Reload();
  ASSERT_TRUE(status.ok()) << status;
  server_->OnSpecRead();
  pool_.Drain();
}

std::string TestController::address() const { return port_.address(); }

std::unique_ptr<Controller::Stub> TestController::Client(Role role) {
  return ClientAs(certificates_->User("tester", role));
}

std::shared_ptr<grpc::Channel> TestController::ChannelAs(
    const TlsFiles& files, grpc::ChannelArguments arguments) {
  const auto credentials = MakeChannelCredentials(files, "test");
  EXPECT_TRUE(credentials.ok()) << credentials.status();
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address(), *credentials, arguments);
}

std::string EnrolmentProcess() {
  std::vector<std::string> found;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(task.path() / "children");
    for (std::string child; children >> child;) found.push_back(child);
  }
  EXPECT_EQ(found.size(), 1u);
  return found.empty() ? "none" : found[0];
}

std::unique_ptr<grpc::ClientContext> NewContext() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(PatientDeadline());
  return context;
}

std::unique_ptr<grpc::ClientContext> NewStreamContext() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(absl::ToChronoTime(absl::Now() + 5 * kPatience));
  return context;
}

TlsFiles TestController::FilesOf(const std::string& role) {
  return certificates_->Issue(
      role, {absl::StrCat("spiffe://test/user/", role, "/role/", role)});
}

ListHostsResponse TestController::ListHosts() {
  ListHostsResponse response;
  const grpc::Status status =
      Client()->ListHosts(NewContext().get(), {}, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return Rendered(response);
}

HostEntry TestController::Entry(const std::string& host) {
  const ListHostsResponse list = ListHosts();
  for (const HostEntry& entry : list.hosts()) {
    if (entry.host() == host) return entry;
  }
  ADD_FAILURE() << "no host " << host << " in the list";
  return {};
}

absl::Status TestController::Check(const CheckRequest& request, Report* report,
                                   std::vector<CheckProgress>* events) {
  const auto client = Client();
  const auto context = NewContext();
  const auto stream = client->Check(context.get(), request);
  CheckEvent event;
  int reports = 0;
  while (stream->Read(&event)) {
    if (event.has_progress()) {
      EXPECT_EQ(reports, 0) << "progress after the report";
      if (events != nullptr) events->push_back(event.progress());
    } else {
      ++reports;
      *report = event.report();
    }
  }
  const absl::Status status = ToAbslStatus(stream->Finish());
  EXPECT_EQ(reports, status.ok() ? 1 : 0);
  return status;
}

absl::StatusOr<ClusterPlan> PlanOver(Controller::Stub& client,
                                     const PlanRequest& request,
                                     std::vector<CheckProgress>* progress) {
  const auto context = NewContext();
  const auto stream = client.Plan(context.get(), request);
  ClusterPlan plan;
  for (PlanEvent event; stream->Read(&event);) {
    if (event.has_plan()) plan = event.plan();
    if (event.has_progress() && progress != nullptr) {
      progress->push_back(event.progress());
    }
  }
  const absl::Status status = ToAbslStatus(stream->Finish());
  if (!status.ok()) return status;
  return plan;
}

ApplyPlanRequest ApplyOf(const ClusterPlan& plan) {
  ApplyPlanRequest request;
  request.set_plan_id(plan.plan_id());
  request.set_digest(plan.digest());
  return request;
}

absl::StatusOr<ApplyReport> ReportOf(grpc::ClientReader<ApplyEvent>& stream) {
  ApplyReport report;
  for (ApplyEvent event; stream.Read(&event);) {
    if (event.has_report()) report = event.report();
  }
  const absl::Status status = ToAbslStatus(stream.Finish());
  if (!status.ok()) return status;
  return report;
}

absl::StatusOr<ApplyReport> ApplyOver(Controller::Stub& client,
                                      const ClusterPlan& plan) {
  const auto context = NewContext();
  return ReportOf(*client.ApplyPlan(context.get(), ApplyOf(plan)));
}

RuleResult RuleOf(const Report& report, const std::string& rule) {
  for (const RuleResult& result : report.rules()) {
    if (result.rule() == rule) return result;
  }
  ADD_FAILURE() << "no rule " << rule << " in the report";
  return {};
}

HostStatus HostOf(const Report& report, const std::string& host) {
  for (const HostStatus& status : report.hosts()) {
    if (status.host() == host) return status;
  }
  ADD_FAILURE() << "no host " << host << " in the report";
  return {};
}

}  // namespace clusterd
