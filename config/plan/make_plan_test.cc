#include "config/plan/make_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/named_facts.h"
#include "config/plan/settings.h"
#include "config/plan/step_planners.h"
#include "config/values/change_kind.h"
#include "config/values/sha256.h"
#include "config/values/version.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "tests/support/config/good_cluster.h"
#include "tests/support/config/plan_steps.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::StartsWith;

TEST(MakePlanTest, IsEmptyWhereNothingIsToBeDoneAndPutsHostsInSpecOrder) {
  const HostFacts first = GoodFacts("node-01");
  const HostFacts second = GoodFacts("node-02");
  const ClusterPlan plan = MakePlan(GoodSpec(), {&second, &first});
  ASSERT_EQ(plan.hosts_size(), 2);
  EXPECT_EQ(plan.hosts(0).host(), "node-01");
  EXPECT_EQ(plan.digest(), MakePlan(GoodSpec(), {&first, &second}).digest());
  for (const HostPlan& host : plan.hosts()) {
    EXPECT_TRUE(host.steps().empty()) << host.DebugString();
    EXPECT_TRUE(host.blocked().empty()) << host.DebugString();
  }
  EXPECT_EQ(plan.cluster(), "demo");
  EXPECT_EQ(plan.spec_digest(), "abc");
  EXPECT_EQ(plan.cluster_hosts(), 2u);
}

TEST(MakePlanTest, BlocksASilentHostAndAStranger) {
  const auto silent =
      FromText<HostFacts>("host: 'node-01' missing {reason: NO_ANSWER}");
  const HostFacts stranger = GoodFacts("node-99");
  const ClusterPlan plan = MakePlan(GoodSpec(), {&stranger, &silent});
  EXPECT_THAT(BlockedReasons(plan.hosts(0)),
              ElementsAre(Say("plan-say-nothing-known", "no answer")));
  EXPECT_THAT(BlockedReasons(plan.hosts(1)),
              ElementsAre(Say("plan-say-not-named")));
}

// A user may read translated messages; the texts are English.
TEST(MakePlanTest, SaysTheSameInTextsAndInWords) {
  HostFacts facts = GoodFacts("node-01", "kernel {somaxconn {value: 128}}");
  SetConf(&facts, "gateway_0", "10.0.0.9");
  MakeMissing(DeviceOf(&facts, 1)->mutable_gateway(), Missing::TIMED_OUT, "");
  const ClusterPlan plan = MakePlan(GoodSpec(), {&facts});
  const InLanguage chinese(Language::kChinese);
  EXPECT_EQ(MakePlan(GoodSpec(), {&facts}).digest(), plan.digest());
  ASSERT_FALSE(plan.hosts(0).blocked().empty());
  for (const BlockedChange& blocked : plan.hosts(0).blocked()) {
    EXPECT_EQ(EnglishText(blocked.reason_said()), blocked.reason());
    EXPECT_NE(ValueText(blocked.reason_said()), blocked.reason());
    EXPECT_EQ(EnglishText(blocked.fix_said()), blocked.fix());
  }
}

TEST(MakePlanTest, EmptyFactsGiveReasonsAndNoStep) {
  const auto nothing = FromText<HostFacts>("host: 'node-01'");
  const ClusterPlan plan = MakePlan(GoodSpec(), {&nothing});
  EXPECT_TRUE(plan.hosts(0).steps().empty());
  EXPECT_GE(plan.hosts(0).blocked_size(), 6);
  for (const BlockedChange& blocked : plan.hosts(0).blocked()) {
    EXPECT_FALSE(blocked.reason().empty());
    EXPECT_FALSE(blocked.fix().empty());
  }
}

TEST(MakePlanTest, OrdersTheFamiliesAndStatesPreconditionAndUndo) {
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_hccn_conf()->mutable_value()->add_problems()->set_kind(
      HccnConf::Problem::NO_FINAL_NEWLINE);
  DeviceOf(&facts, 0)->mutable_detect_address()->set_value("0.0.0.0");
  DeviceOf(&facts, 0)->mutable_tls()->mutable_value()->set_enabled(true);
  facts.mutable_kernel()->mutable_somaxconn()->set_value(1);
  SetAtBoot(facts.mutable_kernel()->mutable_somaxconn_at_boot(), "", "");
  *facts.mutable_ufw() = InstalledFirewall(true, true);
  const HostPlan plan = MakePlan(GoodSpec(), {&facts}).hosts(0);
  std::vector<SettingId> order;
  for (const PlanStep& step : plan.steps()) {
    order.push_back(step.setting());
    EXPECT_FALSE(step.precondition().empty());
    EXPECT_FALSE(step.undo().empty());
  }
  EXPECT_EQ(order, (std::vector<SettingId>{SETTING_FORM, SETTING_DETECT_ADDRESS,
                                           SETTING_TLS, SETTING_RUNNING,
                                           SETTING_AT_BOOT, SETTING_ACTIVE}));
  EXPECT_TRUE(CheckHostPlan(plan).ok()) << CheckHostPlan(plan);
  EXPECT_EQ(plan.command_ms(), 10000u);
}

TEST(MakePlanTest, LeavesOutWhatOneHostDoesNotAllowAndKeepsTheOthers) {
  HostFacts first = GoodFacts("node-01");
  HostFacts second = GoodFacts("node-02");
  for (HostFacts* facts : {&first, &second}) {
    facts->mutable_kernel()->mutable_somaxconn()->set_value(1);
    DeviceOf(facts, 0)->mutable_detect_address()->set_value("0.0.0.0");
  }
  first.mutable_allows()->add_kinds("sysctl");
  const ClusterPlan plan = MakePlan(GoodSpec(), {&first, &second});
  ASSERT_EQ(plan.hosts(0).steps_size(), 1);
  EXPECT_EQ(plan.hosts(0).steps(0).setting(), SETTING_RUNNING);
  EXPECT_EQ(plan.hosts(0).blocked_size(), 1);
  EXPECT_EQ(plan.hosts(1).steps_size(), 2);
  EXPECT_TRUE(plan.hosts(1).blocked().empty());
  for (const HostPlan& host : plan.hosts()) {
    EXPECT_TRUE(CheckHostPlan(host).ok()) << CheckHostPlan(host);
  }
}

// Facts of container train-1 on the host; all values are too low.
HostFacts ContainerFacts(const std::string& host) {
  auto facts = FromText<HostFacts>(R"(
      network_namespace: 'container:train-1'
      kernel {reserved_ports {value: '8080'} somaxconn {value: 4096}
              tcp_max_syn_backlog {value: 2048}
              network_namespace {value: 4026532000}
              initial_namespace {value: false}
              proc_sys_writable {value: true}})");
  facts.set_host(host);
  return facts;
}

NetworkNamespace TrainContainer() {
  NetworkNamespace target;
  target.set_container("train-1");
  return target;
}

HostPlan PlanContainer(const HostFacts& facts) {
  return MakePlan(GoodSpec(), {&facts}, TrainContainer()).hosts(0);
}

TEST(MakePlanInNamespaceTest, SetsRunningParametersAndNothingElse) {
  ClusterSpec spec = GoodSpec("kernel {persistent: true}");
  const HostFacts facts = ContainerFacts("node-01");
  const HostPlan plan = MakePlan(spec, {&facts}, TrainContainer()).hosts(0);
  ASSERT_EQ(plan.steps_size(), 3);
  for (const PlanStep& step : plan.steps()) {
    EXPECT_EQ(step.setting(), SETTING_RUNNING);
  }
  EXPECT_TRUE(plan.blocked().empty());
  EXPECT_EQ(SettingText(plan.steps(0).to()), "8080,60000-60015");
  EXPECT_EQ(plan.network_namespace().container(), "train-1");
  EXPECT_TRUE(CheckHostPlan(plan).ok()) << CheckHostPlan(plan);
}

TEST(MakePlanInNamespaceTest, RestsOnTheInode) {
  HostFacts facts = ContainerFacts("node-01");
  const HostPlan plan = PlanContainer(facts);
  EXPECT_TRUE(FindMovedFacts(plan, facts).empty());
  facts.mutable_kernel()->mutable_network_namespace()->set_value(4026532001);
  EXPECT_EQ(
      ValueText(MovedFactsWords(FindMovedFacts(plan, facts))),
      Say("plan-say-was-now", "network namespace", "4026532000", "4026532001"));
}

TEST(MakePlanInNamespaceTest, TellsTheThreeTroublesApart) {
  HostFacts facts = ContainerFacts("node-01");
  MakeMissing(facts.mutable_kernel()->mutable_tcp_max_syn_backlog(),
              Missing::ABSENT, "this kernel keeps it for the host alone");
  const HostPlan missing_key = PlanContainer(facts);
  EXPECT_EQ(missing_key.steps_size(), 2);
  ASSERT_EQ(missing_key.blocked_size(), 1);
  EXPECT_EQ(missing_key.blocked(0).reason(),
            Say("plan-say-absent-in",
                MissingWords(&facts.kernel().tcp_max_syn_backlog().missing()),
                facts.network_namespace()));
  EXPECT_EQ(missing_key.blocked(0).fix(), Say("plan-say-set-on-host"));
  facts = ContainerFacts("node-01");
  facts.mutable_kernel()->mutable_proc_sys_writable()->set_value(false);
  facts.mutable_kernel()->mutable_somaxconn()->set_value(65535);
  const HostPlan read_only = PlanContainer(facts);
  ASSERT_THAT(BlockedReasons(read_only),
              ElementsAre(Say("plan-say-proc-sys-read-only"), testing::_));
  EXPECT_EQ(read_only.blocked(0).fix(),
            Say("plan-say-recreate-container",
                "net.ipv4.ip_local_reserved_ports", "8080,60000-60015"));
}

TEST(MakePlanInNamespaceTest, NotesThatHostAndContainerAreOne) {
  HostFacts facts = ContainerFacts("node-01");
  EXPECT_TRUE(PlanContainer(facts).notes().empty());
  facts.mutable_kernel()->mutable_initial_namespace()->set_value(true);
  const HostPlan plan = PlanContainer(facts);
  ASSERT_EQ(plan.notes_size(), 1);
  EXPECT_EQ(plan.notes_said().values(0).words(), "plan-say-also-at-boot");
  EXPECT_THAT(plan.notes(0), StartsWith("container train-1 on node-01 "));
}

TEST(MakePlanInNamespaceTest, PlansNothingOnFactsOfAnotherNamespace) {
  const HostFacts own = GoodFacts("node-01");
  const HostPlan for_container = PlanContainer(own);
  EXPECT_TRUE(for_container.steps().empty());
  ASSERT_EQ(for_container.blocked_size(), 1);
  EXPECT_EQ(for_container.blocked(0).what(), "the host");
  const HostFacts container = ContainerFacts("node-01");
  const HostPlan for_host = MakePlan(GoodSpec(), {&container}).hosts(0);
  EXPECT_TRUE(for_host.steps().empty());
  EXPECT_EQ(for_host.blocked_size(), 1);
  EXPECT_FALSE(for_host.has_network_namespace());
}

TEST(MakePlanInNamespaceTest, BlocksAHostWithoutThatContainer) {
  const auto facts = FromText<HostFacts>(
      "host: 'node-01' network_namespace: 'container:train-1' "
      "missing {reason: ABSENT detail: 'no such container, says docker'}");
  const HostPlan plan = PlanContainer(facts);
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_EQ(plan.blocked(0).reason(),
            Say("plan-say-nothing-known", MissingWords(&facts.missing())));
  EXPECT_EQ(plan.blocked(0).fix(), Say("plan-say-start-container"));
}

TEST(MakePlanTest, BlocksAHostWhoseProcSysIsReadOnly) {
  HostFacts facts = GoodFacts("node-01", "kernel {somaxconn {value: 128}}");
  facts.mutable_kernel()->mutable_proc_sys_writable()->set_value(false);
  const HostPlan plan = MakePlan(GoodSpec(), {&facts}).hosts(0);
  EXPECT_TRUE(plan.steps().empty());
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_EQ(plan.blocked(0).fix(), Say("plan-say-run-on-host"));
}

// Adds a step as planners do, which rests on the fact of its own name.
void Add(const PlanStep& step, HostPlanBuilder* builder) {
  builder->AddStep(GoalOf(step), step.from(), step.to(), {GoalOf(step)})
      ->set_kind(step.kind());
}

TEST(HostPlanBuilderTest, NumbersStepsAndKeepsTheirFactsOnceAndSorted) {
  const HostFacts facts = GoodFacts("node-01");
  HostPlanBuilder builder(facts);
  const FactKey second = DeviceFact(1, SETTING_TLS);
  builder.AddStep(second, SwitchValue(true), SwitchValue(false),
                  {second, DeviceFact(0, SETTING_TLS)});
  Add(DeviceStep(0, SETTING_TLS, "on", "off"), &builder);
  const HostPlan plan = builder.Finish();
  EXPECT_EQ(plan.host(), "node-01");
  EXPECT_EQ(plan.steps(1).id(), 2u);
  EXPECT_EQ(plan.steps(1).kind(), CHANGE_TLS);
  EXPECT_EQ(plan.steps(0).target().device(), 1u);
  EXPECT_THAT(FactNames(plan), ElementsAre("device 0: tls", "device 1: tls"));
  EXPECT_EQ(plan.facts(0).value(), SwitchValue(false));
}

TEST(HostPlanBuilderTest, ReadsTheFirstLineOfAKeyWithoutCarriageReturn) {
  HostFacts facts = GoodFacts("node-01");
  SetConf(&facts, "address_0", "10.0.0.1\r");
  const HostPlanBuilder builder(facts);
  EXPECT_EQ(builder.ConfValue("address_0"), "10.0.0.1");
  EXPECT_EQ(builder.ConfValue("address_9"), "");
}

// A plan with one step of each of these kinds, on a host that allows some.
class AllowedStepsTest : public testing::Test {
 protected:
  AllowedStepsTest() : facts_(GoodFacts("node-01")) {
    facts_.mutable_allows()->set_file("/etc/clusterd/agent.yaml");
  }

  HostPlan Plan(const std::vector<std::string>& allowed, bool repair = false) {
    for (const std::string& kind : allowed) {
      facts_.mutable_allows()->add_kinds(kind);
    }
    HostPlanBuilder builder(facts_);
    if (repair) Add(FormStep("add the final newline", ""), &builder);
    Add(DeviceStep(1, SETTING_GATEWAY, "10.0.0.9", "10.0.0.254"), &builder);
    Add(RunningStep("net.core.somaxconn", "128", "65535"), &builder);
    return builder.Finish();
  }

  // Why a step of this kind is blocked, and how to allow these kinds.
  std::string NotAllowed(const char* kind) const {
    return Say("plan-say-not-allowed", kind, WhatIsAllowed(facts_.allows()));
  }
  std::string ToAllow(const std::set<ChangeKind>& kinds) const {
    return Say("plan-say-then-plan", HowToAllow(facts_.allows(), kinds));
  }

  HostFacts facts_;
};

TEST_F(AllowedStepsTest, KeepsThemAllWhereAllIsAllowedOrTheHostDoesNotTell) {
  const HostPlan plan = Plan({"observe", "sysctl", "device-address", "newer"});
  EXPECT_EQ(plan.steps_size(), 2);
  EXPECT_TRUE(plan.blocked().empty());
  EXPECT_EQ(plan.facts_size(), 2);
  facts_.clear_allows();
  EXPECT_EQ(Plan({}).steps_size(), 2);
}

TEST_F(AllowedStepsTest, BlocksTheOthersAndRestsOnTheirFactsNoMore) {
  const HostPlan plan = Plan({"observe", "sysctl"});
  ASSERT_EQ(plan.steps_size(), 1);
  EXPECT_EQ(plan.steps(0).id(), 1u);
  EXPECT_EQ(plan.steps(0).setting(), SETTING_RUNNING);
  EXPECT_THAT(FactNames(plan), ElementsAre("net.core.somaxconn"));
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_EQ(plan.blocked(0).kind(), CHANGE_DEVICE_ADDRESS);
  EXPECT_THAT(plan.blocked(0).devices(), ElementsAre(1));
  EXPECT_EQ(plan.blocked(0).what(), "gateway 10.0.0.9 -> 10.0.0.254");
  EXPECT_EQ(plan.blocked(0).reason(), NotAllowed("device-address"));
  EXPECT_EQ(plan.blocked(0).fix(),
            ToAllow({CHANGE_OBSERVE, CHANGE_SYSCTL, CHANGE_DEVICE_ADDRESS}));
}

TEST_F(AllowedStepsTest, NamesAllThatIsNeededInOneLine) {
  const HostPlan plan = Plan({});
  EXPECT_TRUE(plan.steps().empty());
  EXPECT_TRUE(plan.facts().empty());
  ASSERT_EQ(plan.blocked_size(), 2);
  for (const BlockedChange& blocked : plan.blocked()) {
    EXPECT_EQ(blocked.fix(), ToAllow({CHANGE_SYSCTL, CHANGE_DEVICE_ADDRESS}));
  }
  EXPECT_EQ(plan.blocked(1).reason(), NotAllowed("sysctl"));
}

TEST_F(AllowedStepsTest, LetsTheToolWriteNoFileThatMayNotBeRepaired) {
  const HostPlan plan = Plan({"observe", "sysctl", "device-address"}, true);
  ASSERT_EQ(plan.steps_size(), 1);
  EXPECT_EQ(plan.steps(0).setting(), SETTING_RUNNING);
  EXPECT_EQ(plan.steps(0).id(), 1u);
  ASSERT_EQ(plan.blocked_size(), 2);
  EXPECT_EQ(plan.blocked(0).kind(), CHANGE_HCCN_CONF);
  EXPECT_EQ(plan.blocked(1).kind(), CHANGE_DEVICE_ADDRESS);
  EXPECT_EQ(plan.blocked(1).reason(),
            Say("plan-say-repair-not-allowed", WhatIsAllowed(facts_.allows())));
}

TEST_F(AllowedStepsTest, NamesTheMistakeOrThatThereIsNoFile) {
  facts_.mutable_allows()->set_mistake("agent.yaml:2:1: unknown key");
  const HostPlan wrong = Plan({"observe"});
  EXPECT_EQ(wrong.blocked(0).reason(), NotAllowed("device-address"));
  EXPECT_EQ(wrong.blocked(0).fix(), ToAllow({}));
  facts_.mutable_allows()->clear_mistake();
  facts_.mutable_allows()->clear_file();
  EXPECT_EQ(Plan({}).blocked(0).fix(),
            ToAllow({CHANGE_OBSERVE, CHANGE_SYSCTL, CHANGE_DEVICE_ADDRESS}));
}

ClusterPlan Plan() {
  HostFacts facts = GoodFacts("node-01", "kernel {somaxconn {value: 128}}");
  return MakePlan(GoodSpec(), {&facts});
}

TEST(PlanDigestTest, IsTheSameForTheSameFactsWhoeverKeepsThePlan) {
  ClusterPlan plan = Plan();
  EXPECT_EQ(plan.digest(), Plan().digest());
  EXPECT_TRUE(VerifyPlan(plan).ok());
  MergeText(
      "plan_id: 'p7' created_at_ms: 12345 created_by: 'ada' "
      "not_kept: 'the disk is full'",
      &plan);
  EXPECT_TRUE(VerifyPlan(plan).ok());
}

TEST(PlanDigestTest, ChangesWithEveryEdit) {
  ClusterPlan value = Plan();
  value.mutable_hosts(0)->mutable_steps(0)->mutable_to()->set_number(1);
  ClusterPlan fact = Plan();
  fact.mutable_hosts(0)->mutable_facts(0)->mutable_value()->set_number(129);
  ClusterPlan host = Plan();
  host.mutable_hosts(0)->set_host("node-02");
  ClusterPlan spec = Plan();
  spec.set_spec_sha256("0");
  for (const ClusterPlan& plan : {value, fact, host, spec}) {
    // Without the right digest.
    EXPECT_EQ(VerifyPlan(plan),
              InvalidWords("msg-plan-digest-differs", Plan().digest()));
  }
  // The steps of this spec are the same.
  ClusterSpec other = GoodSpec("deadlines {run_ms: 1}");
  HostFacts facts = GoodFacts("node-01");
  EXPECT_NE(MakePlan(other, {&facts}).digest(),
            MakePlan(GoodSpec(), {&facts}).digest());
}

TEST(VerifyPlanTest, RefusesAnotherSchema) {
  ClusterPlan plan = Plan();
  plan.set_schema_version(kPlanSchemaVersion + 1);
  plan.set_digest(PlanDigest(plan));
  EXPECT_EQ(VerifyPlan(plan).code(), absl::StatusCode::kFailedPrecondition);
}

// A cluster whose first host was taken out of a pattern by index: node-02 keeps
// its addresses, and the spec wants those of node-01.
ClusterSpec SpecAfterTakingOut() {
  ClusterSpec spec = GoodSpec();
  ServerSpec second = spec.servers(1);
  *second.mutable_devices() = spec.servers(0).devices();
  spec.clear_servers();
  *spec.add_servers() = second;
  return spec;
}

bool TellsHowToPin(const HostPlan& plan) {
  return absl::c_linear_search(plan.notes(), Say("plan-say-moved-by-index"));
}

TEST(MakePlanTest, SaysThatAPatternByIndexMovedGoodAddressesAndHowToPin) {
  HostFacts second = GoodFacts("node-02");
  const ClusterPlan plan = MakePlan(SpecAfterTakingOut(), {&second});
  EXPECT_GE(plan.hosts(0).steps_size(), 2);
  EXPECT_TRUE(TellsHowToPin(plan.hosts(0))) << plan.DebugString();
  const PlanCounts counts = CountPlan(plan);
  EXPECT_TRUE(counts.readdresses_many());
  EXPECT_EQ(ReaddressedText(counts), Say("plan-readdressed", 1, "1 host"));
  second.mutable_allows()->add_kinds(ChangeKindName(CHANGE_SYSCTL));
  const ClusterPlan no_change = MakePlan(SpecAfterTakingOut(), {&second});
  EXPECT_TRUE(no_change.hosts(0).steps().empty());
  EXPECT_TRUE(TellsHowToPin(no_change.hosts(0)));
  EXPECT_FALSE(CountPlan(no_change).readdresses_many());
}

TEST(MakePlanTest, DoesNotTakeARepairForMovedAddresses) {
  const auto addresses = [](HostFacts* facts, int i) {
    return facts->mutable_devices(i)->mutable_address()->mutable_value();
  };
  HostFacts one_wrong = GoodFacts("node-01");
  addresses(&one_wrong, 0)->mutable_settings(0)->set_address("10.0.0.77");
  HostFacts other_subnets = GoodFacts("node-01");
  HostFacts none_set = GoodFacts("node-01");
  for (int i = 0; i < 2; ++i) {
    addresses(&other_subnets, i)
        ->mutable_settings(0)
        ->set_address(absl::StrCat("10.9.0.", i + 1));
    addresses(&none_set, i)->clear_settings();
  }
  for (const HostFacts* facts : {&one_wrong, &other_subnets, &none_set}) {
    const HostPlan plan = MakePlan(GoodSpec(), {facts}).hosts(0);
    EXPECT_FALSE(plan.steps().empty());
    EXPECT_FALSE(TellsHowToPin(plan)) << plan.DebugString();
  }
}

// A plan of a cluster of `hosts` that sets device 0 of the first `changed`.
ClusterPlan PlanOfCluster(uint32_t hosts, int changed, const std::string& from,
                          const std::string& to) {
  ClusterPlan plan;
  plan.set_cluster_hosts(hosts);
  for (int i = 0; i < changed; ++i) {
    *plan.add_hosts()->add_steps() = DeviceStep(0, SETTING_ADDRESS, from, to);
  }
  return plan;
}

TEST(CountPlanTest, KnowsWhenAddressesOfMoreThanATenthOfTheHostsChange) {
  const std::string old_one = "10.0.0.3/255.255.255.0";
  const std::string new_one = "10.0.0.2/255.255.255.0";
  const auto many = [](const ClusterPlan& plan) {
    return CountPlan(plan).readdresses_many();
  };
  EXPECT_FALSE(many(PlanOfCluster(20, 2, old_one, new_one)));
  EXPECT_TRUE(many(PlanOfCluster(20, 3, old_one, new_one)));
  EXPECT_TRUE(many(PlanOfCluster(19, 2, old_one, new_one)));
  // A controller that does not report the size of the cluster.
  EXPECT_TRUE(many(PlanOfCluster(0, 1, old_one, new_one)));
  EXPECT_FALSE(many(PlanOfCluster(20, 20, "none", new_one)));
  // Another netmask is another address.
  EXPECT_TRUE(many(PlanOfCluster(20, 3, "10.0.0.2/255.255.0.0", new_one)));
  ClusterPlan rewritten;
  *rewritten.add_hosts()->add_steps() =
      RewriteStep(0, SETTING_ADDRESS, old_one, new_one);
  EXPECT_FALSE(many(rewritten));
}

// The steps of one host, as planners add them, narrowed to a selection.
class NarrowTest : public testing::Test {
 protected:
  void Plan(const std::vector<PlanStep>& steps) {
    for (const PlanStep& step : steps) Add(step, &builder_);
  }

  // The names of the steps that are left.
  std::vector<std::string> Narrow(const PlanSelection& selection) {
    builder_.Narrow(selection);
    plan_ = builder_.Finish();
    std::vector<std::string> left;
    for (const PlanStep& step : plan_.steps()) {
      left.push_back(FactKeyText(GoalOf(step)));
    }
    notes_.assign(plan_.notes().begin(), plan_.notes().end());
    return left;
  }

  const HostFacts facts_ = GoodFacts("node-01");
  HostPlanBuilder builder_{facts_};
  HostPlan plan_;
  std::vector<std::string> notes_;
};

using Texts = std::vector<std::string>;

const PlanSelection kOfSysctl = {{"sysctl"}, {CHANGE_SYSCTL}, {}, {}};

PlanSelection OfSetting(SettingId setting) {
  return {{"rule"}, {}, {setting}, {}};
}

TEST_F(NarrowTest, LeavesAskedStepsNumberedAndRestingOnTheirFactsAlone) {
  Plan({DeviceStep(0, SETTING_TLS, "on", "off"),
        RunningStep("net.core.somaxconn", "128", "65535")});
  EXPECT_EQ(Narrow(kOfSysctl), Texts{"net.core.somaxconn"});
  EXPECT_EQ(plan_.steps(0).id(), 1u);
  EXPECT_EQ(FactNames(plan_), Texts{"net.core.somaxconn"});
  EXPECT_EQ(notes_, Texts{Say("plan-say-steps-left-out", 1)});
}

TEST_F(NarrowTest, AddsTheStepsThatAnAskedOneNeeds) {
  Plan({FormStep("add the final newline", std::string(64, 'a')),
        AddressStep(1, "10.0.0.2/255.255.255.0", "10.0.0.3/255.255.255.0", ""),
        AddressStep(0, "10.0.0.1/255.255.255.0", "10.0.0.2/255.255.255.0", ""),
        DeviceStep(0, SETTING_GATEWAY, "10.0.0.254", "10.0.0.254"),
        DeviceStep(0, SETTING_MTU, "1500", "9000"),
        RunningStep("net.core.somaxconn", "128", "65535")});
  EXPECT_EQ(Narrow(OfSetting(SETTING_GATEWAY)),
            (Texts{"hccn.conf: form", "device 1: address", "device 0: address",
                   "device 0: gateway"}));
  EXPECT_EQ(notes_, (Texts{Say("plan-say-steps-added", 3),
                           Say("plan-say-steps-left-out", 2)}));
}

TEST_F(NarrowTest, AddsTheGatewayThatAnAddressDropsAndNoOtherDevices) {
  Plan({AddressStep(0, "10.0.0.1/255.255.255.0", "10.0.1.2/255.255.255.0", ""),
        DeviceStep(0, SETTING_GATEWAY, "10.0.0.254", "10.0.1.254"),
        DeviceStep(1, SETTING_GATEWAY, "10.0.0.253", "10.0.0.254")});
  EXPECT_EQ(Narrow(OfSetting(SETTING_ADDRESS)),
            (Texts{"device 0: address", "device 0: gateway"}));
}

TEST_F(NarrowTest, NeedsNothingForWhatStandsAlone) {
  Plan({DeviceStep(0, SETTING_GATEWAY, "10.0.0.253", "10.0.0.254"),
        DeviceStep(0, SETTING_MTU, "1500", "9000")});
  EXPECT_EQ(Narrow(OfSetting(SETTING_MTU)), Texts{"device 0: mtu"});
}

TEST_F(NarrowTest, KeepsWhatIsBlockedOfKindsThatTheStepsCouldHave) {
  for (const ChangeKind kind :
       {CHANGE_OBSERVE, CHANGE_SYSCTL, CHANGE_DEVICE_ADDRESS, CHANGE_FIREWALL,
        CHANGE_HCCN_CONF}) {
    builder_.Block(kind, {}, ToFindingValue(ChangeKindName(kind)),
                   ToFindingValue("why"), ToFindingValue("fix"));
  }
  Narrow(OfSetting(SETTING_MTU));
  Texts left;
  for (const BlockedChange& blocked : plan_.blocked()) {
    left.push_back(blocked.what());
  }
  EXPECT_EQ(left, (Texts{"observe", "device-address", "hccn-conf"}));
  EXPECT_EQ(notes_, Texts{Say("plan-say-blocked-left-out", 2)});
}

TEST(MakePlanTest, NarrowedSaysToWhatAndLeavesNothingFailing) {
  HostFacts facts = GoodFacts("node-01", "kernel {somaxconn {value: 1}}");
  DeviceOf(&facts, 0)->mutable_detect_address()->set_value("0.0.0.0");
  ClusterPlan plan = MakePlan(GoodSpec(), {&facts}, {}, kOfSysctl);
  ASSERT_EQ(plan.hosts(0).steps_size(), 1);
  EXPECT_EQ(plan.only(0), "sysctl");
  EXPECT_TRUE(VerifyPlan(plan).ok()) << VerifyPlan(plan);
  EXPECT_NE(plan.digest(), MakePlan(GoodSpec(), {&facts}).digest());
  plan.mutable_hosts(0)->add_unfixed()->set_state(FAIL);
  EXPECT_EQ(PlanCountsText(CountPlan(plan)),
            Say("plan-only", "sysctl", "1 step on 1 host, of 1 host"));
  plan.mutable_hosts(0)->clear_steps();
  EXPECT_EQ(PlanCountsText(CountPlan(plan)),
            Say("plan-only", "sysctl", Worded("plan-nothing", "1 host")));
}

}  // namespace
}  // namespace clusterd
