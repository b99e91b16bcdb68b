#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/plan/applied_drift.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/kernel_parameters.h"
#include "config/plan/make_plan.h"
#include "config/plan/named_facts.h"
#include "config/plan/settings.h"
#include "config/values/change_kind.h"
#include "config/words/words.h"
#include "tests/support/config/good_cluster.h"
#include "tests/support/config/plan_steps.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

StepVerdict VerdictOn(const PlanStep& step, const HostFacts& facts) {
  return JudgeStep(step, SettingFacts(facts));
}

// "FACT = NOW, not WANTED"; "" if the step holds.
std::string WhyNotSo(const PlanStep& step, const HostFacts& facts) {
  const StepVerdict verdict = VerdictOn(step, facts);
  if (verdict.state == StepVerdict::kSo) return "";
  return absl::StrCat(FactKeyText(verdict.fact), " = ",
                      SettingText(verdict.now), ", not ",
                      SettingText(verdict.wanted));
}

TEST(StepVerdictTest, SaysWhatMovedOrWhatAFactLacks) {
  const auto why = [](const StepVerdict& verdict) {
    return ValueText(verdict.Why());
  };
  const FactKey key = KernelFact("x", SETTING_RUNNING);
  SettingValue lacks;
  lacks.mutable_texts();
  EXPECT_EQ(why({StepVerdict::kMoved, key, NumberValue(1), NumberValue(2)}),
            "x is 1, applied was 2");
  EXPECT_EQ(why({StepVerdict::kMoved, key, lacks, NumberValue(2)}),
            "x lacks 2");
  EXPECT_EQ(why({StepVerdict::kUnknown, {}, {}, {}}),
            Say("plan-say-change-unknown"));
}

TEST(JudgeStepTest, WantsADeviceToHaveItLiveAndInTheFile) {
  const PlanStep step =
      DeviceStep(0, SETTING_ADDRESS, "none", "10.0.0.1/255.255.255.0");
  HostFacts facts = GoodFacts("node-01");
  EXPECT_EQ(WhyNotSo(step, facts), "");
  SetConf(&facts, "address_0", "10.9.9.9");
  EXPECT_EQ(WhyNotSo(step, facts),
            "hccn.conf: address_0 = 10.9.9.9, not 10.0.0.1");
  SetConf(&facts, "address_0", "10.0.0.1");
  SetConf(&facts, "netmask_0", "255.0.0.0");
  EXPECT_EQ(WhyNotSo(step, facts),
            "hccn.conf: netmask_0 = 255.0.0.0, not 255.255.255.0");
  SetConf(&facts, "netmask_0", "255.255.255.0");
  MakeMissing(DeviceOf(&facts, 0)->mutable_address(), Missing::TIMED_OUT, "");
  EXPECT_EQ(WhyNotSo(step, facts),
            "device 0: address = unknown, not 10.0.0.1/24");
}

TEST(JudgeStepTest, JudgesEverySettingOfADeviceByItsFactAndItsKey) {
  HostFacts facts = GoodFacts("node-01");
  DeviceOf(&facts, 0)->mutable_mtu()->set_value(1500);
  SetConf(&facts, "mtu_0", "1500");
  DeviceOf(&facts, 0)->mutable_pfc()->set_value("0,0,0,0,1,0,0,0");
  SetConf(&facts, "bitmap_0", "0,0,0,0,1,0,0,0");
  DeviceOf(&facts, 0)->mutable_roce_port()->set_value("auto");
  SetConf(&facts, "roce_port_0", "-1");
  DeviceOf(&facts, 0)->mutable_dscp_to_tc()->set_value("33:1,46:2");
  SetConf(&facts, "dscp_tc_0", "46:2,3:0,33:1,");
  for (const DeviceSetting& setting : DeviceSettings()) {
    const SettingValue live = setting.Live(*DeviceOf(&facts, 0));
    PlanStep step = DeviceStep(0, setting.id, "none", "none");
    *step.mutable_to() = live;
    EXPECT_EQ(WhyNotSo(step, facts), "") << setting.words;
    const auto lines = ConfLinesOf(setting, live);
    const std::string key = HccnConfKey(lines.front().key, 0);
    HostFacts stale = facts;
    SetConf(&stale, key, "");
    EXPECT_EQ(VerdictOn(step, stale).state, StepVerdict::kMoved);
    const std::string gone = setting.is_map() ? " = 0:0" : " = none";
    EXPECT_EQ(WhyNotSo(step, stale).find("hccn.conf: " + key + gone), 0u)
        << WhyNotSo(step, stale);
  }
}

TEST(JudgeStepTest, TakesAMapOfClassNoughtForOneThatIsNotThere) {
  HostFacts facts = GoodFacts("node-01");
  TextFact* const live = DeviceOf(&facts, 0)->mutable_dscp_to_tc();
  live->set_value("");
  const PlanStep step = DeviceStep(0, SETTING_DSCP_TO_TC, "33:1", "0:0");
  EXPECT_EQ(WhyNotSo(step, facts), "");
  SetConf(&facts, "dscp_tc_0", "33:0,46:0,");
  EXPECT_EQ(WhyNotSo(step, facts), "");
  SetConf(&facts, "dscp_tc_0", "33:0,46:2,");
  EXPECT_EQ(WhyNotSo(step, facts), "hccn.conf: dscp_tc_0 = 46:2, not 0:0");
  live->set_value("46:2");
  EXPECT_EQ(WhyNotSo(step, facts), "device 0: dscp to tc = 46:2, not 0:0");
}

TEST(JudgeStepTest, ReadsARewriteAsItsSetting) {
  const HostFacts facts = GoodFacts("node-01");
  EXPECT_EQ(WhyNotSo(RewriteStep(1, SETTING_ADDRESS, "none",
                                 "10.0.0.2/255.255.255.0"),
                     facts),
            "");
  EXPECT_EQ(WhyNotSo(RewriteStep(1, SETTING_TLS, "0", "on"), facts),
            "device 1: tls = off, not on");
}

TEST(JudgeStepTest, IsContentWithMoreThanWasApplied) {
  const PlanStep ports = RunningStep(kReservedPortsKey, "none", "60000-60015");
  const PlanStep number = RunningStep(kSomaxconnKey, "128", "65535");
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_kernel()->mutable_reserved_ports()->set_value("1,60000-60031");
  facts.mutable_kernel()->mutable_somaxconn()->set_value(70000);
  EXPECT_EQ(WhyNotSo(ports, facts), "");
  EXPECT_EQ(WhyNotSo(number, facts), "");
  facts.mutable_kernel()->mutable_somaxconn()->set_value(4096);
  EXPECT_EQ(WhyNotSo(number, facts), "net.core.somaxconn = 4096, not 65535");
  facts.mutable_kernel()->mutable_reserved_ports()->set_value("");
  EXPECT_EQ(WhyNotSo(ports, facts),
            "net.ipv4.ip_local_reserved_ports = none, not 60000-60015");
}

TEST(JudgeStepTest, ChecksTheFileThatWinsAtBoot) {
  const PlanStep step = AtBootStep(kSomaxconnKey, "none", "65535");
  HostFacts facts = GoodFacts("node-01");
  EXPECT_EQ(WhyNotSo(step, facts), "");
  auto* later =
      facts.mutable_kernel()->mutable_somaxconn_at_boot()->mutable_value();
  later->add_assignments()->set_value("128");
  EXPECT_EQ(WhyNotSo(step, facts),
            "net.core.somaxconn at boot = 128, not 65535");
}

TEST(JudgeStepTest, SeesAFirewallThatCameBackAndARuleThatWent) {
  const PlanStep disable = StopStep(UFW);
  const AllowedPort port = TcpPorts(22, 22, "10.0.0.0/24");
  const PlanStep open = OpenStep(UFW, port);
  HostFacts facts = GoodFacts("node-01", "ufw {active {value: true}}");
  facts.mutable_ufw()->mutable_enabled_at_boot()->set_value(true);
  facts.mutable_ufw()->mutable_allowed()->mutable_value();
  EXPECT_EQ(WhyNotSo(disable, facts), "ufw: active = yes, not no");
  EXPECT_EQ(WhyNotSo(open, facts),
            "ufw: allowed = , not 22-22/tcp from 10.0.0.0/24");
  *facts.mutable_ufw()->mutable_allowed()->mutable_value()->add_ports() = port;
  EXPECT_EQ(WhyNotSo(open, facts), "");
  facts.mutable_ufw()->mutable_active()->set_value(false);
  facts.mutable_ufw()->mutable_enabled_at_boot()->set_value(false);
  facts.mutable_ufw()->clear_allowed();
  EXPECT_EQ(WhyNotSo(open, facts), "ufw: active = no, not yes");
  *facts.mutable_ufw() = InstalledFirewall(false, true);
  EXPECT_EQ(WhyNotSo(disable, facts), "ufw: starts at boot = yes, not no");
}

TEST(JudgeStepTest, SeesPortsThatFirewalldHasNowOrPermanentlyAlone) {
  const AllowedPort port = TcpPorts(22, 22, "10.0.0.0/24");
  const PlanStep open = OpenStep(FIREWALLD, port);
  HostFacts facts = GoodFacts("node-01");
  FirewallFacts* firewalld = facts.mutable_firewalld();
  *firewalld = InstalledFirewall(true, true);
  AllowedFact* now = firewalld->mutable_allowed();
  AllowedFact* stored = firewalld->mutable_allowed_permanently();
  *now->mutable_value()->add_ports() = port;
  EXPECT_EQ(
      WhyNotSo(open, facts),
      "firewalld: allowed permanently = , not 22-22/tcp from 10.0.0.0/24");
  *stored->mutable_value()->add_ports() = port;
  EXPECT_EQ(WhyNotSo(open, facts), "");
  now->mutable_value()->clear_ports();
  EXPECT_EQ(WhyNotSo(open, facts),
            "firewalld: allowed = , not 22-22/tcp from 10.0.0.0/24");
}

TEST(JudgeStepTest, SeesAProblemThatIsBackInTheFile) {
  const PlanStep step = FormStep("add the final newline", "");
  HostFacts facts = GoodFacts("node-01");
  EXPECT_EQ(WhyNotSo(step, facts), "");
  HccnConf* conf = facts.mutable_hccn_conf()->mutable_value();
  // No step repairs that, so its repair cannot be gone.
  conf->add_problems()->set_kind(HccnConf::Problem::MALFORMED_LINE);
  EXPECT_EQ(WhyNotSo(step, facts), "");
  conf->add_problems()->set_kind(HccnConf::Problem::NO_FINAL_NEWLINE);
  conf->mutable_problems(1)->set_line(9);
  EXPECT_EQ(WhyNotSo(step, facts),
            "hccn.conf: form = no final newline in line 9, not good");
  MakeMissing(facts.mutable_hccn_conf(), Missing::NOT_PERMITTED, "");
  EXPECT_EQ(VerdictOn(step, facts).state, StepVerdict::kUnknown);
  MakeMissing(facts.mutable_hccn_conf(), Missing::ABSENT, "");
  EXPECT_EQ(VerdictOn(step, facts).state, StepVerdict::kSo);
}

TEST(JudgeStepTest, PrefersWhatMovedToWhatIsNotKnown) {
  PlanStep step = DeviceStep(0, SETTING_GATEWAY, "none", "10.0.0.254");
  HostFacts facts = GoodFacts("node-01");
  EXPECT_EQ(VerdictOn(step, facts).state, StepVerdict::kSo);
  MakeMissing(DeviceOf(&facts, 0)->mutable_gateway(), Missing::TIMED_OUT, "");
  EXPECT_EQ(VerdictOn(step, facts).state, StepVerdict::kUnknown);
  EXPECT_EQ(WhyNotSo(step, facts),
            "device 0: gateway = unknown, not 10.0.0.254");
  SetConf(&facts, "gateway_0", "10.0.0.253");
  EXPECT_EQ(VerdictOn(step, facts).state, StepVerdict::kMoved);
  EXPECT_EQ(WhyNotSo(step, facts),
            "hccn.conf: gateway_0 = 10.0.0.253, not 10.0.0.254");
  step.set_setting(static_cast<SettingId>(99));
  EXPECT_EQ(VerdictOn(step, facts).state, StepVerdict::kUnknown);
  EXPECT_EQ(VerdictOn(step, facts).fact, FactKey());
}

TEST(JudgeStepTest, TellsAFileThatIsGoneFromOneThatCannotBeRead) {
  const PlanStep step = DeviceStep(0, SETTING_TLS, "on", "off");
  HostFacts facts = GoodFacts("node-01");
  MakeMissing(facts.mutable_hccn_conf(), Missing::NOT_PERMITTED, "");
  EXPECT_EQ(VerdictOn(step, facts).state, StepVerdict::kUnknown);
  MakeMissing(facts.mutable_hccn_conf(), Missing::ABSENT, "");
  EXPECT_EQ(VerdictOn(step, facts).state, StepVerdict::kMoved);
  EXPECT_EQ(WhyNotSo(step, facts), "hccn.conf: tls_enable_0 = none, not 0");
}

TEST(JudgeStepTest, TakesAFirewallThatWasRemovedAsStopped) {
  const PlanStep disable = StopStep(UFW);
  const PlanStep open = OpenStep(UFW, TcpPorts(22, 22, "10.0.0.0/24"));
  HostFacts facts = GoodFacts("node-01");
  EXPECT_EQ(VerdictOn(disable, facts).state, StepVerdict::kSo);
  EXPECT_EQ(VerdictOn(open, facts).state, StepVerdict::kSo);
  MakeMissing(facts.mutable_ufw()->mutable_installed(), Missing::TIMED_OUT, "");
  EXPECT_EQ(VerdictOn(disable, facts).state, StepVerdict::kUnknown);
  EXPECT_EQ(VerdictOn(open, facts).state, StepVerdict::kUnknown);
}

TEST(JudgeStepTest, CannotTellAPortWithoutTheRules) {
  const AllowedPort port = TcpPorts(22, 22, "10.0.0.0/24");
  const PlanStep open = OpenStep(FIREWALLD, port);
  HostFacts facts = GoodFacts("node-01", "firewalld {installed {value: true}}");
  facts.mutable_firewalld()->mutable_active()->set_value(true);
  MakeMissing(facts.mutable_firewalld()->mutable_allowed(),
              Missing::TOOL_FAILED, "");
  EXPECT_EQ(VerdictOn(open, facts).state, StepVerdict::kUnknown);
  facts.mutable_firewalld()->mutable_allowed()->mutable_value();
  EXPECT_EQ(VerdictOn(open, facts).state, StepVerdict::kMoved);
  *facts.mutable_firewalld()->mutable_allowed()->mutable_value()->add_ports() =
      port;
  EXPECT_EQ(VerdictOn(open, facts).state, StepVerdict::kUnknown);
  EXPECT_EQ(WhyNotSo(open, facts),
            "firewalld: allowed permanently = unknown, not 22-22/tcp from "
            "10.0.0.0/24");
}

// A plan that saw these facts so.
HostPlan PlanOf(const std::vector<PlanStep>& steps, const NamedFacts& seen) {
  HostPlan plan;
  for (const PlanStep& step : steps) *plan.add_steps() = step;
  for (const auto& [key, value] : seen) {
    PlanFact* const fact = plan.add_facts();
    *fact->mutable_key() = key;
    *fact->mutable_value() = value;
  }
  return plan;
}

FactKey Running(const std::string& parameter) {
  return KernelFact(parameter, SETTING_RUNNING);
}

bool IsSoNow(const HostPlan& plan, const HostFacts& facts) {
  return IsAlreadySo(plan, FindMovedFacts(plan, facts), SettingFacts(facts));
}

TEST(IsAlreadySoTest, IsSoWhereOnlyWhatTheStepsSetHasMovedAndAllOfItIsSo) {
  const HostFacts facts = GoodFacts("node-01");
  const std::vector<PlanStep> steps = {
      DeviceStep(0, SETTING_ADDRESS, "none", "10.0.0.1/255.255.255.0"),
      RunningStep(kSomaxconnKey, "4096", "65535")};
  const NamedFacts seen = {{DeviceFact(0, SETTING_ADDRESS), NoneValue()},
                           {ConfLineFact(0, "netmask"), NoneValue()},
                           {Running(kSomaxconnKey), NumberValue(4096)}};
  EXPECT_TRUE(IsSoNow(PlanOf(steps, seen), facts));
  EXPECT_TRUE(IsSoNow(HostPlan(), facts));
  // Unchanged facts: there is something to do.
  EXPECT_FALSE(IsSoNow(
      PlanOf(steps, {{Running(kSomaxconnKey), NumberValue(65535)}}), facts));
}

TEST(IsAlreadySoTest, IsNotSoWhereAStepLacksOrSomethingElseMoved) {
  const HostFacts facts = GoodFacts("node-01");
  const PlanStep so = RunningStep(kSomaxconnKey, "4096", "65535");
  const PlanStep lacks = RunningStep(kSynBacklogKey, "4096", "2000000");
  NamedFacts seen = {{Running(kSomaxconnKey), NumberValue(4096)}};
  EXPECT_FALSE(IsSoNow(PlanOf({so, lacks}, seen), facts));
  EXPECT_TRUE(IsSoNow(PlanOf({so}, seen), facts));
  for (const FactKey& other :
       {ConfLineFact(0, "gateway"), DeviceFact(0, SETTING_GATEWAY),
        NamespaceFact()}) {
    NamedFacts both = seen;
    both[other] = TextsValue({"another"});
    EXPECT_FALSE(IsSoNow(PlanOf({so}, both), facts)) << FactKeyText(other);
  }
}

TEST(IsAlreadySoTest, KnowsWhatTheToolDropsWithAnAddress) {
  HostFacts facts = GoodFacts("node-01");
  SetConf(&facts, "gateway_0", "");
  const std::string wanted = "10.0.0.1/255.255.255.0";
  const NamedFacts seen = {
      {DeviceFact(0, SETTING_ADDRESS), NoneValue()},
      {ConfLineFact(0, "gateway"), TextsValue({"10.9.0.254"})}};
  EXPECT_TRUE(IsSoNow(
      PlanOf({AddressStep(0, "none", wanted, "10.9.0.254")}, seen), facts));
  EXPECT_FALSE(IsSoNow(
      PlanOf({DeviceStep(0, SETTING_ADDRESS, "none", wanted)}, seen), facts));
}

// The plan of a host with these facts.
HostPlan Planned(const HostFacts& facts, const ClusterSpec& spec = GoodSpec()) {
  return MakePlan(spec, {&facts}).hosts(0);
}

// The value that the step set has drifted since.
void AddDrift(const PlanStep& step, DriftFact::Drifts* drifts) {
  AppliedDrift* drift = drifts->add_drifts();
  drift->set_apply_id("aa");
  drift->set_kind(ChangeKindName(step.kind()));
  *drift->mutable_target() = GoalOf(step);
  *drift->mutable_to() = step.to();
}

DriftFact::Drifts OneDrift(const PlanStep& step) {
  DriftFact::Drifts drifts;
  AddDrift(step, &drifts);
  return drifts;
}

// The texts of the steps, which are numbered from 1.
std::vector<std::string> Steps(const DriftRepair& repair) {
  for (int i = 0; i < repair.plan.steps_size(); ++i) {
    EXPECT_EQ(repair.plan.steps(i).id(), i + 1u);
  }
  return StepTexts(repair.plan);
}

TEST(PlanDriftRepairTest, KeepsOnlyTheStepOfWhatDrifted) {
  HostFacts facts = GoodFacts("node-01", "kernel {somaxconn {value: 128}}");
  facts.mutable_kernel()->mutable_tcp_max_syn_backlog()->set_value(128);
  const HostPlan planned = Planned(facts);
  ASSERT_EQ(planned.steps_size(), 2);
  const DriftRepair repair = PlanDriftRepair(
      planned, OneDrift(RunningStep(kSynBacklogKey, "none", "65535")),
      {"sysctl"});
  EXPECT_EQ(Steps(repair),
            StepTexts({RunningStep(kSynBacklogKey, "128", "65535")}));
  EXPECT_TRUE(repair.left.empty());
  EXPECT_TRUE(CheckHostPlan(repair.plan).ok()) << CheckHostPlan(repair.plan);
}

TEST(PlanDriftRepairTest, DoesNothingAboutKindsThatAreNotEnforced) {
  HostFacts facts = GoodFacts("node-01", "kernel {somaxconn {value: 128}}");
  const auto drifts = OneDrift(RunningStep(kSomaxconnKey, "none", "65535"));
  const DriftRepair repair =
      PlanDriftRepair(Planned(facts), drifts, {"firewall"});
  EXPECT_THAT(Steps(repair), IsEmpty());
  EXPECT_TRUE(repair.left.empty());
  DriftFact fact;
  *fact.mutable_value() = drifts;
  EXPECT_FALSE(HasEnforcedDrift(fact, {"firewall"}));
  EXPECT_TRUE(HasEnforcedDrift(fact, {"firewall", "sysctl"}));
  EXPECT_FALSE(HasEnforcedDrift(DriftFact(), {"sysctl"}));
}

TEST(PlanDriftRepairTest, LeavesWhatTheSpecWantsOtherwiseNow) {
  HostFacts facts = GoodFacts("node-01", "kernel {somaxconn {value: 128}}");
  ClusterSpec spec = GoodSpec("kernel {somaxconn: 32768}");
  const DriftRepair repair = PlanDriftRepair(
      Planned(facts, spec),
      OneDrift(RunningStep(kSomaxconnKey, "none", "65535")), {"sysctl"});
  EXPECT_THAT(Steps(repair), IsEmpty());
  EXPECT_THAT(repair.left, ElementsAre("net.core.somaxconn: the spec asks for "
                                       "32768 now, apply aa set 65535"));
}

TEST(PlanDriftRepairTest, SaysWhyThePlanBlocksIt) {
  HostFacts facts = GoodFacts("node-01", "kernel {somaxconn {value: 128}}");
  DeviceOf(&facts, 1)->mutable_gateway()->set_value("10.0.0.9");
  facts.mutable_allows()->set_file("/etc/clusterd/agent.yaml");
  facts.mutable_allows()->add_kinds("observe");
  DriftFact::Drifts drifts =
      OneDrift(RunningStep(kSomaxconnKey, "none", "65535"));
  AddDrift(DeviceStep(0, SETTING_GATEWAY, "none", "10.0.0.254"), &drifts);
  AddDrift(DeviceStep(1, SETTING_GATEWAY, "none", "10.0.0.254"), &drifts);
  const HostPlan planned = Planned(facts);
  const DriftRepair repair =
      PlanDriftRepair(planned, drifts, {"sysctl", "device-address"});
  EXPECT_THAT(Steps(repair), IsEmpty());
  ASSERT_EQ(planned.blocked_size(), 2);
  const auto blocks = [&planned](int i) {
    const BlockedChange& blocked = planned.blocked(i);
    return absl::StrCat(": the plan blocks \"", blocked.what(),
                        "\": ", blocked.reason(), "; ", blocked.fix());
  };
  EXPECT_THAT(
      repair.left,
      ElementsAre("device 0: gateway: the plan has no step for what "
                  "apply aa set: 10.0.0.254",
                  "device 1: gateway" + blocks(0), kSomaxconnKey + blocks(1)));
}

TEST(PlanDriftRepairTest, KeepsPortsThatOthersReservedMeanwhile) {
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_kernel()->mutable_reserved_ports()->set_value("8080");
  const auto drifts =
      OneDrift(RunningStep(kReservedPortsKey, "none", "60000-60015"));
  EXPECT_EQ(
      Steps(PlanDriftRepair(Planned(facts), drifts, {"sysctl"})),
      StepTexts({RunningStep(kReservedPortsKey, "8080", "8080,60000-60015")}));
  // The spec has become larger: that is for a person to apply.
  ClusterSpec larger = GoodSpec("hccl {port_count: 32}");
  EXPECT_THAT(
      Steps(PlanDriftRepair(Planned(facts, larger), drifts, {"sysctl"})),
      IsEmpty());
}

TEST(PlanDriftRepairTest, TakesOneSettingOutOfAFile) {
  HostFacts facts = GoodFacts("node-01");
  KernelFacts* kernel = facts.mutable_kernel();
  SetAtBoot(kernel->mutable_somaxconn_at_boot(), "", "");
  SetAtBoot(kernel->mutable_tcp_max_syn_backlog_at_boot(), "", "");
  const DriftRepair repair = PlanDriftRepair(
      Planned(facts), OneDrift(AtBootStep(kSomaxconnKey, "none", "65535")),
      {"sysctl"});
  EXPECT_EQ(Steps(repair),
            StepTexts({AtBootStep(kSomaxconnKey, "none", "65535")}));
}

// Device 0 has another address, in a subnet without its gateway.
HostFacts MovedAddress() {
  HostFacts facts = GoodFacts("node-01");
  MoveAddress(&facts, "10.9.0.1");
  DeviceOf(&facts, 0)->mutable_gateway()->set_value("10.9.0.254");
  SetConf(&facts, "gateway_0", "10.9.0.254");
  return facts;
}

TEST(PlanDriftRepairTest, DropsNoGatewayThatItDoesNotSetAgain) {
  const HostPlan planned = Planned(MovedAddress());
  DriftFact::Drifts drifts = OneDrift(
      DeviceStep(0, SETTING_ADDRESS, "none", "10.0.0.1/255.255.255.0"));
  const DriftRepair alone =
      PlanDriftRepair(planned, drifts, {"device-address"});
  EXPECT_THAT(Steps(alone), IsEmpty());
  EXPECT_THAT(alone.left,
              ElementsAre("device 0: address: putting it back would drop a "
                          "gateway or route that is set now"));
  AddDrift(DeviceStep(0, SETTING_GATEWAY, "none", "10.0.0.254"), &drifts);
  const DriftRepair both = PlanDriftRepair(planned, drifts, {"device-address"});
  EXPECT_EQ(
      Steps(both),
      StepTexts({DeviceStep(0, SETTING_ADDRESS, "10.9.0.1/255.255.255.0",
                            "10.0.0.1/255.255.255.0"),
                 DeviceStep(0, SETTING_GATEWAY, "10.9.0.254", "10.0.0.254")}));
  EXPECT_TRUE(both.left.empty());
}

TEST(PlanDriftRepairTest, NeedsTheKindOfTheStepToBeEnforcedToo) {
  HostFacts facts = GoodFacts("node-01");
  SetConf(&facts, "gateway_0", "");
  const auto drifts =
      OneDrift(DeviceStep(0, SETTING_GATEWAY, "none", "10.0.0.254"));
  const DriftRepair repair =
      PlanDriftRepair(Planned(facts), drifts, {"device-address"});
  EXPECT_THAT(Steps(repair), IsEmpty());
  EXPECT_THAT(repair.left,
              ElementsAre("device 0: gateway: putting it back is a change of "
                          "kind hccn-conf, which is not enforced"));
  EXPECT_EQ(
      PlanDriftRepair(Planned(facts), drifts, {"device-address", "hccn-conf"})
          .plan.steps_size(),
      1);
}

}  // namespace
}  // namespace clusterd
