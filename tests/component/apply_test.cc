// Applies over the stream: clusterd as a service, on a machine in memory, with
// a simulated controller.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "config/identity/tls_credentials.h"
#include "config/plan/applied_drift.h"
#include "daemon/controller/hosts/fact_limits.h"
#include "daemon/process/signals.h"
#include "gmock/gmock.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "proto/agent_hub.grpc.pb.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_daemon.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Created before any thread of the process, gRPC's included.
BlockedSignals process_signals;

constexpr char kAllowAll[] =
    "allow: [observe, sysctl, device-address, firewall, tls, hccn-conf]\n";

// Longer than any task takes.
constexpr uint32_t kDeadlineMs = 600'000;

// Welcomes a host, keeps its messages, and sends those of the test. One stream
// at a time.
class PlayedHub final : public AgentHub::Service {
 public:
  using Stream = grpc::ServerReaderWriter<HubMessage, AgentMessage>;

  grpc::Status Attach(grpc::ServerContext* context, Stream* stream) override {
    AgentMessage message;
    if (!stream->Read(&message)) return grpc::Status::OK;
    HubMessage welcome;
    welcome.mutable_welcome()->set_cluster("test");
    {
      absl::MutexLock lock(&mutex_);
      hello_ = message.hello();
      context_ = context;
      stream_ = stream;
      ++attached_;
      stream->Write(welcome);
    }
    while (stream->Read(&message)) {
      absl::MutexLock lock(&mutex_);
      messages_.push_back(message);
    }
    absl::MutexLock lock(&mutex_);
    // The next stream may begin before this one's end is noticed.
    if (stream_ == stream) stream_ = nullptr;
    return grpc::Status::OK;
  }

  Hello WaitForHello(int count = 1) {
    absl::MutexLock lock(&mutex_);
    const auto attached = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return attached_ >= count && stream_ != nullptr;
    };
    Wait(attached);
    return hello_;
  }
  void Send(const HubMessage& message) {
    absl::MutexLock lock(&mutex_);
    ASSERT_NE(stream_, nullptr);
    EXPECT_TRUE(stream_->Write(message));
  }
  // Acts as a controller that loses power.
  void BreakStream() {
    absl::MutexLock lock(&mutex_);
    ASSERT_NE(stream_, nullptr);
    context_->TryCancel();
  }
  // Takes the next message.
  AgentMessage Next() {
    absl::MutexLock lock(&mutex_);
    const auto some = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return !messages_.empty();
    };
    if (!Wait(some)) return AgentMessage();
    AgentMessage message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }

 private:
  template <typename Done>
  bool Wait(const Done& done) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const bool came =
        mutex_.AwaitWithTimeout(absl::Condition(&done), kPatience);
    EXPECT_TRUE(came);
    return came;
  }

  absl::Mutex mutex_;
  Hello hello_ ABSL_GUARDED_BY(mutex_);
  grpc::ServerContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  Stream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  int attached_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<AgentMessage> messages_ ABSL_GUARDED_BY(mutex_);
};

HubMessage ApplyMessage(uint64_t id, const HostPlan& plan,
                        const std::string& apply_id = "a1") {
  HubMessage message;
  message.mutable_task()->set_task_id(id);
  message.mutable_task()->set_deadline_ms(kDeadlineMs);
  ApplyTask* apply = message.mutable_task()->mutable_apply();
  apply->set_apply_id(apply_id);
  *apply->mutable_plan() = plan;
  apply->set_plan_digest("digest");
  apply->set_actor("ada");
  return message;
}

HubMessage RollbackMessage(uint64_t id) {
  HubMessage message;
  message.mutable_task()->set_task_id(id);
  message.mutable_task()->mutable_rollback()->set_apply_id("a1");
  message.mutable_task()->mutable_rollback()->set_actor("bob");
  return message;
}

class ApplyTaskTest : public testing::Test {
 protected:
  ApplyTaskTest() {
    const auto credentials = MakeServerCredentials(certificates_.Controller());
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", *credentials, &port);
    builder.RegisterService(&hub_);
    server_ = builder.BuildAndStart();
    flags_ = FlagsFor(&certificates_, kScenarioHost,
                      absl::StrCat("127.0.0.1:", port));
    flags_.config = certificates_.folder() + "/agent.yaml";
    Allow(kAllowAll);
  }
  ~ApplyTaskTest() override {
    daemon_.reset();
    server_->Shutdown();
  }

  void Allow(const std::string& text) { std::ofstream(flags_.config) << text; }

  // Makes the plan first: from then on, only the daemon uses the machine.
  void Start(Applier::DeviceUsers users = &TestDaemon::NoUsers) {
    plan_ = scenario_->Plan();
    before_ = scenario_->State();
    daemon_ = std::make_unique<TestDaemon>(
        flags_, scenario_.get(), &process_signals, "", std::move(users));
    hello_ = hub_.WaitForHello();
    past_ = hub_.Next().past_applies();
  }
  // The applier searches for users of devices before the first effect, so this
  // blocks the apply in the search until go_on_.
  void StartAnApplyThatWaits() {
    Start([this] {
      begun_.Notify();
      go_on_.WaitForNotification();
      return TestDaemon::NoUsers();
    });
    hub_.Send(ApplyMessage(1, plan_));
    begun_.WaitForNotification();
  }
  void ExpectObserves() {
    HubMessage observe;
    observe.mutable_task()->set_task_id(2);
    observe.mutable_task()->set_deadline_ms(kDeadlineMs);
    observe.mutable_task()->mutable_observe();
    hub_.Send(observe);
    EXPECT_TRUE(hub_.Next().result().has_facts());
  }
  // Files after the daemon has ended.
  std::map<std::string, std::string> StateAtTheEnd() {
    EXPECT_TRUE(daemon_->Terminate().ok());
    return scenario_->State();
  }
  // Breaks the stream; returns the daemon's past applies on the next one.
  PastApplies PastAfterABreak() {
    hub_.BreakStream();
    hub_.WaitForHello(2);
    return hub_.Next().past_applies();
  }
  static ApplyResult OnlyOne(const PastApplies& past) {
    EXPECT_EQ(past.results_size(), 1) << past.ShortDebugString();
    return past.results().empty() ? ApplyResult() : past.results(0);
  }
  // The next message that is not progress.
  AgentMessage NextButProgress() {
    AgentMessage message = hub_.Next();
    while (message.has_progress()) message = hub_.Next();
    return message;
  }

  absl::Notification begun_;
  absl::Notification go_on_;
  TestCertificates certificates_;
  PlayedHub hub_;
  std::unique_ptr<grpc::Server> server_;
  AgentFlags flags_;
  std::unique_ptr<Scenario> scenario_ = OpenUfwScenario();
  HostPlan plan_;
  std::map<std::string, std::string> before_;
  std::unique_ptr<TestDaemon> daemon_;
  Hello hello_;
  // The daemon's first message after the welcome.
  PastApplies past_;
};

TEST_F(ApplyTaskTest, AppliesWithProgressAndRollsBackByteForByte) {
  Start();
  EXPECT_THAT(hello_.tasks(), ElementsAre("observe", "logs", "record", "apply",
                                          "rollback", "confirm"));
  hub_.Send(ApplyMessage(7, plan_));
  for (const PlanStep& step : plan_.steps()) {
    const AgentMessage message = hub_.Next();
    ASSERT_TRUE(message.has_progress()) << message.ShortDebugString();
    EXPECT_EQ(message.progress().task_id(), 7u);
    EXPECT_EQ(message.progress().step().step(), step.id());
  }
  const AgentMessage applied = hub_.Next();
  EXPECT_EQ(applied.result().task_id(), 7u);
  EXPECT_EQ(applied.result().apply().outcome(), ApplyResult::APPLIED)
      << applied.ShortDebugString();
  EXPECT_EQ(applied.result().apply().host(), kScenarioHost);
  hub_.Send(RollbackMessage(8));
  const AgentMessage back = hub_.Next();
  EXPECT_EQ(back.result().task_id(), 8u);
  EXPECT_EQ(back.result().apply().outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_EQ(StateAtTheEnd(), before_);
  EXPECT_THAT(daemon_->log().Lines(),
              HasSubstr("rollback of apply a1 by bob ended: ROLLED_BACK"));
}

TEST_F(ApplyTaskTest, ObeysTheHostsVetoAsItIsWhenTheTaskComes) {
  Allow("allow: [observe, sysctl]\n");
  Start();
  hub_.Send(ApplyMessage(1, plan_));
  const ApplyResult refused = hub_.Next().result().apply();
  EXPECT_EQ(refused.outcome(), ApplyResult::REFUSED);
  EXPECT_THAT(refused.error(), HasSubstr("this host does not allow"));
  EXPECT_THAT(refused.error(), Tells("plan-say-allows", "observe, sysctl;"));
  Allow(absl::StrCat(kAllowAll, "alow: x\n"));
  hub_.Send(ApplyMessage(2, plan_));
  EXPECT_THAT(hub_.Next().result().apply().error(),
              AllOf(Tells("plan-say-allows-until", "observe"),
                    HasSubstr("agent.yaml:2:1")));
  EXPECT_TRUE(daemon_->log().WaitFor("agent.yaml:2:1"));
  Allow(kAllowAll);
  hub_.Send(ApplyMessage(3, plan_));
  EXPECT_EQ(NextButProgress().result().apply().outcome(), ApplyResult::APPLIED);
}

TEST_F(ApplyTaskTest, SaysOnceItIsWelcomeThatItKnowsOfNothing) {
  Start();
  EXPECT_TRUE(past_.knows_all()) << past_.ShortDebugString();
  EXPECT_THAT(past_.results(), IsEmpty());
  EXPECT_THAT(past_.journals(), IsEmpty());
  EXPECT_EQ(past_.at_work(), "");
}

// The plan and the journal have the text of all rules as one fact.
TEST_F(ApplyTaskTest, SendsNothingThatAControllerRefusesOfAHostWithManyRules) {
  std::string rules;
  scenario_->machine.firewall(UFW).rules.clear();
  for (int i = 0; i < 600; ++i) {
    const std::string rule =
        absl::StrCat(20000 + i, ":", 20000 + i, "/tcp from 10.123.145.67");
    absl::StrAppend(&rules, rule, "\n");
    scenario_->machine.firewall(UFW).rules.insert(rule);
  }
  scenario_->machine.files().Put("/etc/ufw/user.rules", rules, 0640);
  const HostFacts drifted = scenario_->machine.ReadHost();
  Start();
  size_t longest = 0;
  for (const PlanFact& fact : plan_.facts()) {
    longest = std::max(longest, fact.value().ByteSizeLong());
  }
  ASSERT_GT(longest, kMaxTextBytes);
  const auto taken = [this] {
    AgentMessage message = hub_.Next();
    while (message.has_progress()) {
      EXPECT_TRUE(CleanMessage(message.mutable_progress()).ok());
      message = hub_.Next();
    }
    EXPECT_EQ(message.has_result()
                  ? CleanMessage(message.mutable_result())
                  : CleanMessage(message.mutable_past_applies()),
              absl::OkStatus());
    return message;
  };
  hub_.Send(ApplyMessage(1, plan_));
  const ApplyResult applied = taken().result().apply();
  EXPECT_EQ(applied.outcome(), ApplyResult::APPLIED) << applied.error();
  hub_.BreakStream();
  hub_.WaitForHello(2);
  EXPECT_EQ(taken().past_applies().results_size(), 1);
  hub_.Send(RollbackMessage(2));
  const ApplyResult back = taken().result().apply();
  EXPECT_EQ(back.outcome(), ApplyResult::ROLLED_BACK) << back.error();
  EXPECT_TRUE(StateAtTheEnd() == before_);

  JournalBegin begin;
  *begin.mutable_plan() = plan_;
  DriftReport report;
  *report.mutable_drift() = FindAppliedDrift({{begin, applied}}, drifted);
  EXPECT_GT(report.drift().value().drifts_size(), 0);
  EXPECT_EQ(CleanMessage(&report), absl::OkStatus());
}

TEST_F(ApplyTaskTest, FinishesWhenTheStreamBreaksAndTellsTheNextOne) {
  StartAnApplyThatWaits();
  const PastApplies now = PastAfterABreak();
  EXPECT_EQ(now.at_work(), "a1") << now.ShortDebugString();
  EXPECT_THAT(now.results(), IsEmpty());
  go_on_.Notify();
  EXPECT_EQ(OnlyOne(hub_.Next().past_applies()).outcome(),
            ApplyResult::APPLIED);
  EXPECT_NE(StateAtTheEnd(), before_);
}

TEST_F(ApplyTaskTest, IsNotStoppedByACancelAndHoldsUpNoObservation) {
  StartAnApplyThatWaits();
  HubMessage cancel;
  cancel.mutable_cancel()->set_task_id(1);
  hub_.Send(cancel);
  ExpectObserves();
  hub_.Send(ApplyMessage(3, plan_, "a2"));
  const AgentMessage second = hub_.Next();
  EXPECT_EQ(second.result().task_id(), 3u);
  EXPECT_EQ(second.result().apply().outcome(), ApplyResult::REFUSED);
  EXPECT_THAT(second.result().apply().error(), Tells("msg-step-busy"));
  go_on_.Notify();
  const AgentMessage first = NextButProgress();
  EXPECT_EQ(first.result().task_id(), 1u);
  EXPECT_EQ(first.result().apply().outcome(), ApplyResult::APPLIED);
}

TEST_F(ApplyTaskTest, UndoesAnInterruptedApplyBeforeItAttaches) {
  const auto before = OpenUfwScenario()->State();
  scenario_ = CrashedScenario();
  ASSERT_NE(scenario_->State(), before);
  Start();
  const ApplyResult past = OnlyOne(past_);
  EXPECT_EQ(past.apply_id(), "a1");
  EXPECT_EQ(past.outcome(), ApplyResult::UNDONE);
  EXPECT_EQ(StateAtTheEnd(), before);
  const std::string lines = daemon_->log().Lines();
  ASSERT_THAT(lines, HasSubstr("apply a1 was cut off: UNDONE"));
  EXPECT_LT(lines.find("was cut off"), lines.find("attached to"));
}

TEST_F(ApplyTaskTest, TakesAPlanOfMegabytes) {
  std::string file;
  for (int i = 0; i < 50000; ++i) {
    absl::StrAppend(&file, "net.core.somaxconn = 512\n");
  }
  scenario_->machine.files().Put("/etc/sysctl.d/10-site.conf", file);
  Start();
  ASSERT_GT(plan_.ByteSizeLong(), size_t{2} << 20);
  hub_.Send(ApplyMessage(1, plan_));
  const AgentMessage applied = NextButProgress();
  EXPECT_EQ(applied.result().apply().outcome(), ApplyResult::APPLIED)
      << applied.result().apply().error();
  EXPECT_LT(applied.ByteSizeLong(), size_t{1} << 20);
}

}  // namespace
}  // namespace clusterd
