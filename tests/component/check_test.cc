// Checks from a client's request to its report, with hosts that answer, lag,
// die, lie or never come.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/process/manual_scheduler.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// The facts that the host of that number would report if all were well.
HostFacts Healthy(TestController& controller, int server) {
  const auto spec = controller.spec().spec();
  return MakeHealthyHost(*spec, spec->servers(server));
}

// A host that answers.
class GoodHost {
 public:
  GoodHost(TestCertificates* certificates, TestController* controller,
           int server)
      : observer_(Healthy(*controller, server)),
        host_(MakeOptions(certificates, controller, server), &observer_) {
    EXPECT_TRUE(host_.WaitAttached());
  }

  MemoryObserver& observer() { return observer_; }
  TestHost& host() { return host_; }

 private:
  static TestHost::Options MakeOptions(TestCertificates* certificates,
                                       TestController* controller, int server) {
    TestHost::Options options;
    options.name = controller->spec().spec()->servers(server).host();
    options.controller = controller->address();
    options.tls = certificates->Host(options.name);
    return options;
  }

  MemoryObserver observer_;
  TestHost host_;
};

// A check that runs beside the test.
class BackgroundCheck {
 public:
  explicit BackgroundCheck(TestController* controller)
      : thread_([this, controller] {
          status_ = controller->Check(CheckRequest(), &report_);
        }) {}
  ~BackgroundCheck() {
    if (thread_.joinable()) thread_.join();
  }
  const Report& Wait() {
    thread_.join();
    EXPECT_TRUE(status_.ok()) << status_;
    return report_;
  }

 private:
  Report report_;
  absl::Status status_;
  std::thread thread_;
};

TEST(CheckTest, HealthyClusterPassesWithProgressOnTheWay) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 2, &scheduler);
  controller.Start();
  GoodHost host0(&certificates, &controller, 0);
  GoodHost host1(&certificates, &controller, 1);

  Report report;
  std::vector<CheckProgress> progress;
  ASSERT_TRUE(controller.Check(CheckRequest(), &report, &progress).ok());

  EXPECT_EQ(report.verdict(), PASS) << report.DebugString();
  EXPECT_EQ(report.cluster(), "test");
  EXPECT_EQ(report.hosts_size(), 2);
  EXPECT_EQ(report.run_id().size(), 16u);
  EXPECT_GT(report.started_at_ms(), 0);
  ASSERT_FALSE(progress.empty());
  EXPECT_EQ(progress.back().answered(), 2u);
  EXPECT_EQ(progress.back().pending(), 0u);
}

TEST(CheckTest, HostThatNeverAttachedCostsItsOwnVerdictOnly) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 2, &scheduler);
  controller.Start();
  GoodHost host0(&certificates, &controller, 0);

  Report report;
  std::vector<CheckProgress> progress;
  ASSERT_TRUE(controller.Check(CheckRequest(), &report, &progress).ok());

  EXPECT_EQ(report.verdict(), UNKNOWN);
  EXPECT_EQ(HostOf(report, "server0").state(), PASS);
  EXPECT_EQ(HostOf(report, "server1").state(), UNKNOWN);
  EXPECT_THAT(HostOf(report, "server1").no_facts_reason(),
              HasSubstr("never attached"));
  EXPECT_EQ(RuleOf(report, "host-identity").state(), UNKNOWN);
  EXPECT_EQ(progress.back().failed(), 1u);
}

TEST(CheckTest, FaultIsFoundOnItsHostAndDevice) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 1, &scheduler);
  controller.Start();
  HostFacts facts = Healthy(controller, 0);
  facts.mutable_devices(5)->mutable_link()->set_value(LinkFact::DOWN);
  MemoryObserver observer(facts);
  TestHost::Options options;
  options.controller = controller.address();
  options.name = "server0";
  options.tls = certificates.Host("server0");
  TestHost host(options, &observer);
  ASSERT_TRUE(host.WaitAttached());

  Report report;
  ASSERT_TRUE(controller.Check(CheckRequest(), &report).ok());

  EXPECT_EQ(report.verdict(), FAIL);
  const RuleResult link = RuleOf(report, "link");
  ASSERT_EQ(link.findings_size(), 1);
  ASSERT_EQ(link.findings(0).subjects_size(), 1);
  EXPECT_EQ(link.findings(0).subjects(0).host(), "server0");
  ASSERT_EQ(link.findings(0).subjects(0).devices_size(), 1);
  EXPECT_EQ(link.findings(0).subjects(0).devices(0), 5u);
}

TEST(CheckTest, HostThatDiesInTheMiddleEndsItsWaitAtOnce) {
  TestCertificates certificates;
  ManualScheduler scheduler;  // No deadline can help.
  TestController controller(&certificates, 2, &scheduler);
  controller.Start();
  GoodHost host0(&certificates, &controller, 0);
  RawHost doomed(controller.address(), certificates.Host("server1"));
  ASSERT_TRUE(doomed.Attach());

  BackgroundCheck check(&controller);
  ASSERT_NE(doomed.ReceiveTask(), 0u);
  doomed.Kill();

  const Report& report = check.Wait();
  EXPECT_EQ(HostOf(report, "server0").state(), PASS);
  EXPECT_THAT(HostOf(report, "server1").no_facts_reason(),
              HasSubstr("its connection ended"));
}

TEST(CheckTest, SilentHostCostsItsDeadline) {
  TestCertificates certificates;
  ManualScheduler scheduler;
  TestController controller(&certificates, 1, &scheduler);
  controller.Start();
  RawHost silent(controller.address(), certificates.Host("server0"));
  ASSERT_TRUE(silent.Attach());
  const absl::Duration deadline =
      absl::Milliseconds(controller.spec().spec()->deadlines().host_ms());

  BackgroundCheck check(&controller);
  ASSERT_NE(silent.ReceiveTask(), 0u);
  scheduler.Advance(deadline);

  EXPECT_THAT(HostOf(check.Wait(), "server0").no_facts_reason(),
              HasSubstr("(deadlines.host)"));
  HubMessage cancel;
  ASSERT_TRUE(silent.Receive(&cancel));
  EXPECT_TRUE(cancel.has_cancel());
}

TEST(CheckTest, HostThatDoesNotKnowTheTaskIsReportedAsSuch) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 1, &scheduler);
  controller.Start();
  RawHost old(controller.address(), certificates.Host("server0"));
  ASSERT_TRUE(old.Attach());

  BackgroundCheck check(&controller);
  AgentMessage answer;
  answer.mutable_result()->set_task_id(old.ReceiveTask());
  answer.mutable_result()->set_unsupported("what is observe?");
  ASSERT_TRUE(old.Send(answer));

  EXPECT_THAT(HostOf(check.Wait(), "server0").no_facts_reason(),
              HasSubstr("clusterd raw does not know the task"));
}

TEST(CheckTest, HostSpeaksForNobodyElse) {
  TestCertificates certificates;
  ManualScheduler scheduler;
  TestController controller(&certificates, 2, &scheduler);
  controller.Start();
  RawHost liar(controller.address(), certificates.Host("server0"));
  RawHost victim(controller.address(), certificates.Host("server1"));
  ASSERT_TRUE(liar.Attach());
  ASSERT_TRUE(victim.Attach());

  BackgroundCheck check(&controller);
  const uint64_t own = liar.ReceiveTask();
  const uint64_t others = victim.ReceiveTask();
  HostFacts broken = Healthy(controller, 1);
  broken.mutable_devices(0)->mutable_link()->set_value(LinkFact::DOWN);
  AgentMessage answer;
  // The other's task, then the own one under the other's name.
  answer.mutable_result()->set_task_id(others);
  *answer.mutable_result()->mutable_facts() = broken;
  ASSERT_TRUE(liar.Send(answer));
  answer.mutable_result()->set_task_id(own);
  ASSERT_TRUE(liar.Send(answer));
  answer.mutable_result()->set_task_id(others);
  *answer.mutable_result()->mutable_facts() = Healthy(controller, 1);
  ASSERT_TRUE(victim.Send(answer));

  const Report& report = check.Wait();
  EXPECT_EQ(HostOf(report, "server0").state(), FAIL);
  const RuleResult link = RuleOf(report, "link");
  ASSERT_EQ(link.findings_size(), 1);
  ASSERT_EQ(link.findings(0).subjects_size(), 1);
  EXPECT_EQ(link.findings(0).subjects(0).host(), "server0");
}

TEST(CheckTest, ConflictOfTwoMachinesFailsHostIdentity) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 1, &scheduler);
  controller.Start();
  GoodHost host0(&certificates, &controller, 0);
  RawHost rival(controller.address(), certificates.Host("server0"));
  ASSERT_TRUE(rival.Send(RawHost::Hello("another machine", "boot")));
  ASSERT_FALSE(rival.End().ok());

  Report report;
  ASSERT_TRUE(controller.Check(CheckRequest(), &report).ok());

  const RuleResult identity = RuleOf(report, "host-identity");
  EXPECT_EQ(identity.state(), FAIL);
  ASSERT_EQ(identity.findings_size(), 1);
  EXPECT_THAT(identity.findings(0).observed(), HasSubstr("another machine"));
}

TEST(CheckTest, CancelledCheckStopsItsHosts) {
  TestCertificates certificates;
  ManualScheduler scheduler;
  TestController controller(&certificates, 1, &scheduler);
  controller.Start();
  RawHost host(controller.address(), certificates.Host("server0"));
  ASSERT_TRUE(host.Attach());
  const auto client = controller.Client();
  const auto context = NewContext();
  const auto stream = client->Check(context.get(), CheckRequest());
  const uint64_t task = host.ReceiveTask();
  ASSERT_NE(task, 0u);

  context->TryCancel();

  HubMessage message;
  ASSERT_TRUE(host.Receive(&message));
  EXPECT_EQ(message.cancel().task_id(), task);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST(CheckTest, ChecksOfSeveralClientsRunBesideEachOther) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 2, &scheduler);
  controller.Start();
  GoodHost host0(&certificates, &controller, 0);
  GoodHost host1(&certificates, &controller, 1);
  absl::Notification gate;
  host0.observer().HoldUntil(&gate);

  BackgroundCheck first(&controller);
  BackgroundCheck second(&controller);
  // Both have asked before either is answered.
  EXPECT_TRUE(host0.observer().WaitForBegun(2));
  gate.Notify();

  const std::string first_id = first.Wait().run_id();
  EXPECT_NE(first_id, second.Wait().run_id());
}

TEST(CheckTest, AsksOnlyTheHostsItWasToldTo) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 2, &scheduler);
  controller.Start();
  GoodHost host1(&certificates, &controller, 1);
  CheckRequest request;
  request.add_hosts("server1");
  Report report;
  ASSERT_TRUE(controller.Check(request, &report).ok());
  ASSERT_EQ(report.hosts_size(), 1);
  EXPECT_EQ(report.hosts(0).host(), "server1");
}

TEST(CheckTest, RefusesHostsAndRulesThatDoNotExist) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 1, &scheduler);
  controller.Start();
  Report report;
  CheckRequest hosts;
  hosts.add_hosts("server0");
  hosts.add_hosts("server7");
  hosts.add_hosts("server9");
  const absl::Status unknown_hosts = controller.Check(hosts, &report);
  EXPECT_EQ(unknown_hosts.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(unknown_hosts.message()),
              HasSubstr("not in the spec of cluster \"test\": server7, "
                        "server9"));
  CheckRequest rules;
  rules.mutable_selection()->add_only("lnik");
  const absl::Status unknown_rule = controller.Check(rules, &report);
  EXPECT_EQ(unknown_rule.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown_rule.message()), HasSubstr("link"));
}

TEST(DescribeTest, ShowsFactsOfOneHostNow) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 2, &scheduler);
  controller.Start();
  GoodHost host0(&certificates, &controller, 0);
  const auto client = controller.Client();
  DescribeHostRequest request;
  DescribeHostResponse response;
  request.set_host("server0");
  ASSERT_TRUE(
      client->DescribeHost(NewContext().get(), request, &response).ok());
  EXPECT_TRUE(response.entry().attached());
  EXPECT_EQ(response.facts().host(), "server0");
  EXPECT_EQ(response.facts().devices_size(), 8);

  request.set_host("server1");
  ASSERT_TRUE(
      client->DescribeHost(NewContext().get(), request, &response).ok());
  EXPECT_THAT(response.facts().missing().detail(), HasSubstr("never attached"));

  request.set_host("nobody");
  EXPECT_EQ(
      client->DescribeHost(NewContext().get(), request, &response).error_code(),
      grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace clusterd
