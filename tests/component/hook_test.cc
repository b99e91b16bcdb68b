// A scheduler's hook on its host: the daemon's socket, its stream, and a
// simulated controller.
#include <atomic>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "config/identity/signature.h"
#include "config/identity/tls_credentials.h"
#include "config/launch/job_spec.h"
#include "daemon/process/signals.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "proto/agent_hub.grpc.pb.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_daemon.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::Contains, ::testing::HasSubstr, ::testing::StartsWith;

// Created before any thread of the process, as in daemon_test.cc.
BlockedSignals process_signals;

// Answers every question about a job, and none about a drain.
class JudgingHub final : public AgentHub::Service {
 public:
  // Verdicts have the time of `clock`, which must outlive it.
  JudgingHub(const TlsFiles& identity, Clock* clock)
      : key_(TestCertificates::Text(identity.key)),
        certificate_(TestCertificates::Text(identity.certificate)),
        clock_(clock) {}

  grpc::Status Attach(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<HubMessage, AgentMessage>* stream) override {
    HubMessage welcome;
    welcome.mutable_welcome()->set_cluster("test");
    AgentMessage message;
    stream->Read(&message);
    stream->Write(welcome);
    while (stream->Read(&message)) {
      if (!message.has_job_question()) continue;
      if (hangs_up) return grpc::Status::OK;
      if (in_maintenance) stream->Write(Maintenance());
      stream->Write(AnswerTo(message.job_question()));
    }
    return grpc::Status::OK;
  }

  std::atomic<bool> hangs_up{false};
  std::atomic<bool> in_maintenance{false};  // Sent before the next answer.
  std::atomic<int> asked{0};

 private:
  HubMessage Maintenance() const {
    HubMessage message;
    Waiver* const waiver = message.mutable_waivers()->add_waivers();
    waiver->set_rule("maintenance");
    waiver->set_until_ms(absl::ToUnixMillis(clock_->Now() + absl::Hours(1)));
    return message;
  }
  HubMessage AnswerTo(const JobQuestion& question) {
    ++asked;
    auto verdict = FromText<JobVerdict>(
        "cluster: 'test' run_id: 'ab12' verdict: PASS "
        "hosts {host: 'server0' state: PASS address: '10.0.0.1'}");
    JobSpec job;
    EXPECT_TRUE(job.ParseFromString(question.job()));
    verdict.set_job_digest(JobDigest(job));
    verdict.set_judged_at_ms(absl::ToUnixMillis(clock_->Now()));
    HubMessage message;
    JobAnswer& answer = *message.mutable_job_answer();
    answer.set_question_id(question.question_id());
    SignedVerdict& made = *answer.mutable_verdict();
    made.set_verdict(verdict.SerializeAsString());
    made.set_signature(SignText(key_, made.verdict()).value_or(""));
    made.set_certificate(certificate_);
    return message;
  }

  const std::string key_;
  const std::string certificate_;
  Clock* const clock_;
};

HookRequest Prolog(const std::string& job, const std::string& product = "") {
  HookRequest request;
  request.set_kind(HOOK_SLURM_PROLOG);
  request.set_wait_ms(300'000);  // The longest wait of a hook.
  JobSpec spec;
  spec.set_id(job);
  spec.set_product(product);
  spec.add_servers()->set_host("server0");
  *request.mutable_job() = spec.SerializeAsString();
  return request;
}

HookAnswer Ask(const std::string& socket, const HookRequest& request) {
  const auto client = LocalAgent::NewStub(grpc::CreateChannel(
      "unix:" + socket, grpc::experimental::LocalCredentials(UDS)));
  HookAnswer answer;
  const grpc::Status status =
      client->RunHook(NewContext().get(), request, &answer);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return answer;
}

class HookTest : public testing::Test {
 protected:
  HookTest() {
    const auto credentials = MakeServerCredentials(certificates_.Controller());
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", *credentials, &port);
    builder.RegisterService(&hub_);
    server_ = builder.BuildAndStart();
    flags_ =
        FlagsFor(&certificates_, "server0", absl::StrCat("127.0.0.1:", port));
    // The certificates are valid from now.
    machine_->clock.Advance(absl::Now() - machine_->clock.Now());
    daemon_ =
        std::make_unique<TestDaemon>(flags_, machine_.get(), &process_signals);
    EXPECT_TRUE(daemon_->log().WaitFor("attached to"));
  }
  void TearDown() override {
    EXPECT_TRUE(daemon_->Terminate().ok());
    server_->Shutdown();
  }

  TestCertificates certificates_;
  const std::unique_ptr<Scenario> machine_ = OpenUfwScenario();
  JudgingHub hub_{certificates_.Controller(), &machine_->clock};
  std::unique_ptr<grpc::Server> server_;
  AgentFlags flags_;
  std::unique_ptr<TestDaemon> daemon_;
};

TEST_F(HookTest, IsAnsweredByTheControllersSignedVerdict) {
  const HookAnswer answer = Ask(flags_.socket, Prolog("slurm:1.0"));
  EXPECT_EQ(answer.decision(), HookAnswer::ALLOW);
  EXPECT_THAT(answer.basis(), StartsWith("verdict of run ab12"));
  EXPECT_THAT(answer.environment(), Contains("HCCL_IF_IP=10.0.0.1"));
  EXPECT_EQ(hub_.asked, 1);
  EXPECT_TRUE(daemon_->log().WaitFor("hook slurm-prolog, job \"slurm:1.0\""));
}

TEST_F(HookTest, FailsOpenWhenTheControllerGoesAwayInTheMiddle) {
  hub_.hangs_up = true;
  const HookAnswer answer = Ask(flags_.socket, Prolog("slurm:1.0", "atlas-a2"));
  EXPECT_EQ(answer.decision(), HookAnswer::ALLOW);
  EXPECT_EQ(answer.basis(), "this host alone");
  EXPECT_THAT(answer.let_through(),
              Contains(HasSubstr("the controller went away")));
}

TEST_F(HookTest, KnowsTheLastVerdictWhileTheControllerIsAway) {
  Ask(flags_.socket, Prolog("slurm:1.0"));
  hub_.hangs_up = true;
  const HookAnswer answer = Ask(flags_.socket, Prolog("slurm:1.0"));
  EXPECT_EQ(hub_.asked, 1);
  EXPECT_THAT(answer.basis(),
              StartsWith("this host alone and the kept verdict of run ab12"));
}

TEST_F(HookTest, RefusesWithoutAJobOnAHostInMaintenanceAlsoOnceItIsAlone) {
  hub_.in_maintenance = true;
  Ask(flags_.socket, Prolog("slurm:1.0"));
  HookRequest plain;
  plain.set_kind(HOOK_PLAIN);
  for (const bool is_away : {false, true}) {
    hub_.hangs_up = is_away;
    if (is_away) Ask(flags_.socket, Prolog("slurm:2.0"));  // Breaks the stream.
    const HookAnswer answer = Ask(flags_.socket, plain);
    EXPECT_EQ(answer.decision(), HookAnswer::REFUSE);
    EXPECT_THAT(answer.reason(),
                StartsWith("clusterd: maintenance: in maintenance until"));
    plain.set_kind(HOOK_SLURM_HEALTH);
    EXPECT_EQ(Ask(flags_.socket, plain).decision(), HookAnswer::ALLOW);
    plain.set_kind(HOOK_PLAIN);
  }
}

}  // namespace
}  // namespace clusterd
