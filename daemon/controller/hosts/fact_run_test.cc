#include "daemon/controller/hosts/fact_run.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "config/plan/make_plan.h"
#include "config/plan/settings.h"
#include "config/rules/catalogue.h"
#include "config/values/version.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/config/plan_steps.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SelectHostsTest, KeepsOrderOfTheSpecAndDropsRepeats) {
  const ClusterSpec spec = MakeSpec("atlas-training", "", 3);
  CheckRequest request;
  request.add_hosts("server2");
  request.add_hosts("server0");
  request.add_hosts("server2");
  EXPECT_THAT(*SelectHosts(spec, request.hosts()),
              ElementsAre("server0", "server2"));
  EXPECT_EQ(SelectHosts(spec, {})->size(), 3u);
}

TEST(SelectHostsTest, NamesHostsThatAreNotThere) {
  CheckRequest request;
  for (int i = 0; i < 25; ++i) request.add_hosts("x" + std::to_string(100 + i));
  const absl::Status status =
      SelectHosts(MakeSpec("atlas-training", "", 1), request.hosts()).status();
  EXPECT_THAT(status, Fails(absl::StatusCode::kInvalidArgument,
                            HasText("x118, x119 and 5 more")));
  EXPECT_TRUE(absl::IsInvalidArgument(SelectHosts(ClusterSpec(), {}).status()));
}

TEST(CompareClocksTest, KnowsTheDifferenceUpToTheRoundTrip) {
  const absl::Time asked = absl::FromUnixMillis(1000000);
  HostFacts facts;
  facts.set_observed_at_ms(1060010);  // A minute ahead, 10 ms later.
  facts.set_elapsed_ms(300);
  const ClockFact fact =
      CompareClocks(facts, asked, asked + absl::Milliseconds(330));
  EXPECT_EQ(fact.value().ahead_at_least_ms(), 59979);
  EXPECT_EQ(fact.value().ahead_at_most_ms(), 60011);
}

TEST(CompareClocksTest, ClockThatWasSetMeanwhileLeavesBothOpen) {
  HostFacts facts;
  facts.set_observed_at_ms(1000000);
  facts.set_elapsed_ms(5000);
  const absl::Time asked = absl::FromUnixMillis(1000000);
  const ClockFact fact =
      CompareClocks(facts, asked, asked + absl::Milliseconds(10));
  EXPECT_EQ(fact.value().ahead_at_least_ms(), 1);
  EXPECT_EQ(fact.value().ahead_at_most_ms(), 4989);
}

// A host that answers when the test says so.
class FakeLink final : public HostLink {
 public:
  void Send(HubMessage message) override {
    absl::MutexLock lock(&mutex_);
    if (message.has_task()) task_ = message.task();
    if (message.has_cancel()) cancelled_ = true;
  }
  void Close(const absl::Status&) override {}

  Task WaitForTask() {
    absl::MutexLock lock(&mutex_);
    const auto asked = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return task_.task_id() != 0;
    };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&asked), kPatience));
    return task_;
  }
  // A run that is cancelled while it asks cancels its task a moment later.
  bool WaitForCancel() {
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&cancelled_), kPatience);
  }

 private:
  absl::Mutex mutex_;
  Task task_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

class FactRunTest : public testing::Test {
 protected:
  struct Host {
    std::shared_ptr<FakeLink> link;
    uint64_t session;
  };

  Host Attach(const std::string& name) {
    auto link = std::make_shared<FakeLink>();
    Attachment attachment;
    attachment.host = name;
    attachment.hello.set_protocol_version(kProtocolVersion);
    attachment.link = link;
    const auto session = hosts_.Attach(std::move(attachment));
    EXPECT_TRUE(session.ok()) << session.status();
    return {link, *session};
  }

  // `observed_at`: by the host's clock.
  void Answer(const Host& host, int server, absl::Time observed_at = {}) {
    TaskResult result;
    result.set_task_id(host.link->WaitForTask().task_id());
    *result.mutable_facts() = MakeHealthyHost(*spec_, spec_->servers(server));
    result.mutable_facts()->set_observed_at_ms(absl::ToUnixMillis(observed_at));
    EXPECT_TRUE(hosts_.OnResult(host.session, std::move(result)).ok());
  }

  std::shared_ptr<FactRun> Start() { return Start(spec_); }

  std::shared_ptr<FactRun> Start(std::shared_ptr<const ClusterSpec> spec) {
    order_->run_id = "0123456789abcdef";
    order_->actor = "alice";
    order_->spec = spec;
    order_->hosts = *SelectHosts(*spec, {});
    order_->started_at = scheduler_.Now();
    ControllerParts parts;
    parts.hosts = &hosts_;
    parts.scheduler = &scheduler_;
    parts.pool = &pool_;
    FactRun::Callbacks callbacks;
    callbacks.on_facts = [this](std::vector<HostFacts> facts) {
      facts_ = std::move(facts);
      gathered_.Notify();
    };
    auto run = std::make_shared<FactRun>(order_, parts, std::move(callbacks));
    EXPECT_TRUE(run->Start().ok());
    return run;
  }

  const std::vector<HostFacts>& WaitForFacts() {
    EXPECT_TRUE(gathered_.WaitForNotificationWithTimeout(kPatience));
    return facts_;
  }
  Report WaitForReport() {
    return MakeCheckReport(*order_, {}, WaitForFacts(), scheduler_.Now());
  }

  const std::shared_ptr<const ClusterSpec> spec_ =
      std::make_shared<const ClusterSpec>(MakeSpec("atlas-training", "", 2));
  ManualScheduler scheduler_;
  CapturedLog log_;
  AttachedHosts hosts_{&scheduler_, &log_};
  const std::shared_ptr<FactOrder> order_ = std::make_shared<FactOrder>();
  std::vector<HostFacts> facts_;
  absl::Notification gathered_;
  WorkerPool pool_{1, 8};
};

TEST_F(FactRunTest, ReportsWhenTheLastHostHasAnswered) {
  const Host host0 = Attach("server0");
  const Host host1 = Attach("server1");
  const auto run = Start();
  Answer(host0, 0);
  host1.link->WaitForTask();
  EXPECT_EQ(run->progress().answered(), 1u);
  EXPECT_EQ(run->progress().pending(), 1u);
  EXPECT_THAT(run->progress().awaited(), ElementsAre("server1"));
  EXPECT_FALSE(gathered_.HasBeenNotified());
  scheduler_.Advance(absl::Seconds(3));
  Answer(host1, 1);
  const Report report = WaitForReport();
  EXPECT_THAT(report, HasFields(R"(
      verdict: PASS run_id: "0123456789abcdef" elapsed_ms: 3000)"));
  EXPECT_EQ(report.clusterd_version(), kClusterdVersion);
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(FactRunTest, ComparesTheClockOfEachHostWithTheControllers) {
  const Host host0 = Attach("server0");
  const Host host1 = Attach("server1");
  const auto run = Start();
  host0.link->WaitForTask();
  host1.link->WaitForTask();
  const absl::Time now = scheduler_.Now();
  Answer(host0, 0, now);
  Answer(host1, 1, now - absl::Minutes(7));
  const Report report = WaitForReport();
  EXPECT_EQ(report.verdict(), WARN) << report.DebugString();
  EXPECT_EQ(facts_[0].clock().value().ahead_at_most_ms(), 1);
  EXPECT_EQ(facts_[1].clock().value().ahead_at_most_ms(), -419999);
}

TEST_F(FactRunTest, TellsTheFactsSoFarWhileHostsAreAwaited) {
  const Host host0 = Attach("server0");
  const Host host1 = Attach("server1");
  const auto run = Start();
  EXPECT_EQ(run->progress().run_id(), "0123456789abcdef");
  Answer(host0, 0);
  host1.link->WaitForTask();
  std::vector<std::string> awaited;
  const auto so_far = run->FactsSoFar(&awaited).value();
  EXPECT_THAT(awaited, ElementsAre("server1"));
  ASSERT_EQ(so_far.size(), 2u);
  EXPECT_FALSE(so_far[0].has_missing());
  EXPECT_THAT(so_far[1].missing().detail(), HasSubstr("still awaited"));
  Answer(host1, 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(run->FactsSoFar(&awaited).status()));
  EXPECT_EQ(WaitForFacts().size(), 2u);
}

TEST_F(FactRunTest, NeverKeepsTheAnsweringThreadWhileThePoolIsFull) {
  const Host host0 = Attach("server0");
  const Host host1 = Attach("server1");
  const auto run = Start();
  host1.link->WaitForTask();
  pool_.Drain();
  absl::Notification go_on;
  absl::Notification begun;
  ASSERT_TRUE(pool_.TryRun([&begun, &go_on] {
    begun.Notify();
    go_on.WaitForNotification();
  }));
  begun.WaitForNotification();
  while (pool_.TryRun([] {})) continue;
  Answer(host0, 0);
  Answer(host1, 1);
  EXPECT_FALSE(gathered_.HasBeenNotified());
  go_on.Notify();
  pool_.Drain();
  scheduler_.Advance(absl::Seconds(1));
  EXPECT_EQ(WaitForReport().verdict(), PASS);
}

TEST_F(FactRunTest, KeepsWhatIsThereAtTheRunsDeadline) {
  ClusterSpec patient = *spec_;
  patient.mutable_deadlines()->set_host_ms(600000);
  patient.mutable_deadlines()->set_run_ms(60000);
  const auto spec = std::make_shared<const ClusterSpec>(patient);
  const Host host0 = Attach("server0");
  const Host host1 = Attach("server1");
  const auto run = Start(spec);
  Answer(host0, 0);
  host1.link->WaitForTask();
  // The run's own timer and that of the one task.
  ASSERT_TRUE(scheduler_.WaitForPending(2));
  scheduler_.Advance(absl::Minutes(1));
  const Report report = WaitForReport();
  ASSERT_THAT(report, HasFields(R"(
      verdict: UNKNOWN hosts { state: PASS }
      hosts { no_facts_reason: 'timed out: no answer in 1m (deadlines.run)' }
  )"));
  EXPECT_TRUE(host1.link->WaitForCancel());
}

TEST_F(FactRunTest, NeverReportsAfterCancel) {
  const Host host0 = Attach("server0");
  const auto run = Start();
  host0.link->WaitForTask();
  run->Cancel();
  run->Cancel();
  EXPECT_TRUE(host0.link->WaitForCancel());
  scheduler_.Advance(absl::Hours(1));
  absl::Notification drained;
  ASSERT_TRUE(pool_.TryRun([&drained] { drained.Notify(); }));
  drained.WaitForNotification();
  EXPECT_FALSE(gathered_.HasBeenNotified());
}

TEST_F(FactRunTest, ReportsAtOnceWhenNobodyIsAttached) {
  const auto run = Start();
  EXPECT_EQ(WaitForReport().verdict(), UNKNOWN);
  EXPECT_EQ(run->progress().failed(), 2u);
}

TEST_F(FactRunTest, PlanBlocksHostsThatDoNotAnswer) {
  const Host host0 = Attach("server0");
  order_->network_namespace.set_container("train");
  const auto run = Start();
  EXPECT_EQ(host0.link->WaitForTask().observe().network_namespace().container(),
            "train");
  Answer(host0, 0);
  const ClusterPlan plan =
      MakeHostsPlan(*order_, WaitForFacts(), scheduler_.Now());
  EXPECT_EQ(plan.plan_id(), "0123456789abcdef");
  EXPECT_EQ(plan.created_by(), "alice");
  EXPECT_EQ(plan.created_at_ms(), absl::ToUnixMillis(scheduler_.Now()));
  EXPECT_TRUE(VerifyPlan(plan).ok()) << VerifyPlan(plan);
  ASSERT_EQ(plan.hosts_size(), 2);
  EXPECT_EQ(plan.hosts(0).host(), "server0");
  ASSERT_EQ(plan.hosts(1).blocked_size(), 1);
  EXPECT_THAT(plan.hosts(1).blocked(0).reason(), HasSubstr("never attached"));
  EXPECT_EQ(run->progress().answered(), 1u);
  EXPECT_EQ(run->progress().failed(), 1u);
}

// Two healthy servers; each test breaks a part of one.
class MakeHostsPlanTest : public testing::Test {
 protected:
  MakeHostsPlanTest() : facts_(MakeHealthyFacts(spec_)) {}

  DeviceFacts& Device(int server, int device) {
    return *facts_[server].mutable_devices(device);
  }
  ClusterPlan Plan() const {
    FactOrder order;
    order.spec = std::make_shared<const ClusterSpec>(spec_);
    ClusterPlan plan = MakeHostsPlan(order, facts_, absl::UnixEpoch());
    EXPECT_TRUE(VerifyPlan(plan).ok()) << VerifyPlan(plan);
    return plan;
  }
  // The unfixed findings of one server, such as "link FAIL".
  std::vector<std::string> Unfixed(int server) const {
    std::vector<std::string> rules;
    const ClusterPlan plan = Plan();
    for (const UnfixedRule& rule : plan.hosts(server).unfixed()) {
      rules.push_back(rule.rule() + " " + State_Name(rule.state()));
    }
    return rules;
  }

  ClusterSpec spec_ = MakeSpec("atlas-training", "", 2);
  std::vector<HostFacts> facts_;
};

TEST_F(MakeHostsPlanTest, LeavesNothingWhereEveryRulePasses) {
  EXPECT_THAT(Unfixed(0), ElementsAre());
  EXPECT_THAT(Unfixed(1), ElementsAre());
}

TEST_F(MakeHostsPlanTest, NamesTheRulesThatNoStepFixes) {
  Device(0, 3).mutable_link()->set_value(LinkFact::DOWN);
  Device(0, 4).mutable_lldp()->mutable_missing()->set_reason(
      Missing::UNREADABLE);
  EXPECT_TRUE(Plan().hosts(0).steps().empty());
  EXPECT_THAT(Unfixed(0),
              ElementsAre("link FAIL", "lldp UNKNOWN", "lldp-rail UNKNOWN"));
  EXPECT_THAT(Unfixed(1), ElementsAre());
}

TEST_F(MakeHostsPlanTest, IsFixedByAStepOfTheSettingOnTheSameDeviceOnly) {
  Device(0, 2).mutable_detect_address()->set_value("10.9.9.9");
  EXPECT_EQ(Plan().hosts(0).steps_size(), 1) << Plan().DebugString();
  EXPECT_THAT(Unfixed(0), ElementsAre());
  // The plan has no step for a gateway that the spec does not name.
  spec_.mutable_servers(0)->mutable_devices(5)->clear_gateway();
  Device(0, 5).mutable_gateway()->set_value("10.9.9.9");
  EXPECT_THAT(Unfixed(0), testing::Contains("gateway FAIL"));
}

TEST_F(MakeHostsPlanTest, IsFixedByAStepOfTheSameKernelParameterOnly) {
  facts_[0].mutable_kernel()->mutable_somaxconn()->set_value(1);
  facts_[0].mutable_kernel()->mutable_tcp_max_syn_backlog()->set_value(1);
  EXPECT_EQ(Plan().hosts(0).steps_size(), 2);
  EXPECT_THAT(Unfixed(0), ElementsAre());
  // Too few for the devices of the cluster, and no plan raises it.
  spec_.mutable_kernel()->set_tcp_max_syn_backlog(0);
  EXPECT_EQ(Plan().hosts(0).steps_size(), 1);
  EXPECT_THAT(Unfixed(0), ElementsAre("syn-backlog FAIL"));
}

TEST_F(MakeHostsPlanTest, IsUnknownWhereAnotherHostsStepMayFixIt) {
  const std::string taken =
      Device(0, 0).address().value().settings(0).address();
  Device(1, 0)
      .mutable_address()
      ->mutable_value()
      ->mutable_settings(0)
      ->set_address(taken);
  EXPECT_THAT(Unfixed(0), testing::Contains("ip-unique UNKNOWN"));
  EXPECT_THAT(Unfixed(0), testing::Each(testing::EndsWith(" UNKNOWN")));
  EXPECT_THAT(Unfixed(1), ElementsAre());
}

TEST_F(MakeHostsPlanTest, NetmaskFixesAllThatFollowsFromIt) {
  Device(0, 0)
      .mutable_address()
      ->mutable_value()
      ->mutable_settings(0)
      ->set_netmask("255.255.0.0");
  EXPECT_FALSE(Plan().hosts(0).steps().empty());
  EXPECT_THAT(Unfixed(0), ElementsAre());
  EXPECT_THAT(Unfixed(1), ElementsAre());
}

TEST_F(MakeHostsPlanTest, FailsWhereTheHostAllowsNoStep) {
  facts_[0].mutable_kernel()->mutable_somaxconn()->set_value(1);
  facts_[0].mutable_allows()->Clear();
  facts_[0].mutable_allows()->add_kinds("observe");
  EXPECT_EQ(Plan().hosts(0).blocked_size(), 1);
  EXPECT_THAT(Unfixed(0), ElementsAre("listen-backlog FAIL"));
}

TEST_F(MakeHostsPlanTest, NamesWhatANarrowedPlanLeavesToOtherSteps) {
  facts_[0].mutable_kernel()->mutable_somaxconn()->set_value(1);
  Device(0, 2).mutable_detect_address()->set_value("10.9.9.9");
  Device(0, 3).mutable_link()->set_value(LinkFact::DOWN);
  FactOrder order;
  order.spec = std::make_shared<const ClusterSpec>(spec_);
  order.steps = *SelectSteps({"sysctl"});
  const ClusterPlan plan = MakeHostsPlan(order, facts_, absl::UnixEpoch());
  EXPECT_TRUE(VerifyPlan(plan).ok()) << VerifyPlan(plan);
  ASSERT_EQ(plan.hosts(0).steps_size(), 1) << plan.hosts(0).DebugString();
  EXPECT_EQ(plan.hosts(0).steps(0).target().kernel_parameter(),
            "net.core.somaxconn");
  EXPECT_THAT(plan.hosts(0).notes(),
              ElementsAre(Say("plan-say-steps-left-out", 1)));
  std::map<std::string, bool> left;  // True: --only leaves out its steps.
  for (const UnfixedRule& rule : plan.hosts(0).unfixed()) {
    left[rule.rule()] = rule.left_out();
  }
  EXPECT_THAT(left, testing::Contains(testing::Pair("detect-address", true)));
  EXPECT_THAT(left, testing::Contains(testing::Pair("link", false)));
  EXPECT_EQ(left.count("listen-backlog"), 0u);
  EXPECT_EQ(CountPlan(plan).hosts_failing, 0u);
}

TEST_F(MakeHostsPlanTest, SaysOfASilentHostOnlyThatItIsBlocked) {
  facts_[1] = MakeSilentHost("server1", Missing::TIMED_OUT, "no answer");
  EXPECT_EQ(Plan().hosts(1).blocked_size(), 1);
  EXPECT_THAT(Unfixed(1), ElementsAre());
}

TEST_F(MakeHostsPlanTest, CoversWhatIsLeftWithTheDigest) {
  Device(0, 3).mutable_link()->set_value(LinkFact::DOWN);
  ClusterPlan plan = Plan();
  plan.mutable_hosts(0)->clear_unfixed();
  EXPECT_FALSE(VerifyPlan(plan).ok());
}

// True if a plan can set it: a setting, or a running kernel parameter.
bool IsSet(const std::string& name) {
  const PlanStep step = RunningStep(
      name, "none",
      name == "net.ipv4.ip_local_reserved_ports" ? "60000-60031" : "65535");
  return FindSetting(ParseSettingName(name)) != nullptr ||
         SettingOf(step)->check(step).ok();
}

TEST(RuleCatalogueTest, NamesOnlySettingsThatAPlanHas) {
  EXPECT_FALSE(IsSet("gatewya"));
  for (const Rule& rule : RuleCatalogue()) {
    for (const absl::string_view names :
         {rule.fixed_by, rule.possible_causes}) {
      if (names.empty()) continue;
      const std::vector<std::string> each = absl::StrSplit(names, '/');
      for (const std::string& name : each) {
        EXPECT_TRUE(IsSet(name)) << rule.name << ": " << name;
      }
    }
  }
}

TEST(NewRunIdTest, IsSixteenHexDigitsAndNeverTheSame) {
  std::set<std::string> ids;
  for (int i = 0; i < 10'000; ++i) {
    const std::string id = NewRunId();
    EXPECT_EQ(id.size(), 16u);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_TRUE(ids.insert(id).second) << id;
  }
}

}  // namespace
}  // namespace clusterd
