#include "config/plan/applied_drift.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "config/plan/kernel_parameters.h"
#include "config/plan/settings.h"
#include "config/words/words.h"
#include "tests/support/config/good_cluster.h"
#include "tests/support/config/plan_steps.h"

namespace clusterd {
namespace {

PlanStep SysctlStep(const std::string& key, const std::string& to) {
  return RunningStep(key, "128", to);
}

PlanStep GatewayStep(uint32_t device, const std::string& to) {
  return DeviceStep(device, SETTING_GATEWAY, "none", to);
}

EndedApply Applied(const std::string& id, const std::vector<PlanStep>& steps) {
  EndedApply apply;
  apply.begin.set_apply_id(id);
  apply.begin.set_actor("alice");
  apply.begin.set_started_at_ms(1700000000000);
  apply.end.set_outcome(ApplyResult::APPLIED);
  for (const PlanStep& step : steps) {
    PlanStep* added = apply.begin.mutable_plan()->add_steps();
    *added = step;
    added->set_id(apply.begin.plan().steps_size());
    StepOutcome* outcome = apply.end.add_steps();
    outcome->set_step(added->id());
    outcome->set_state(StepOutcome::DONE);
  }
  return apply;
}

EndedApply Somaxconn(const std::string& id, const std::string& to) {
  return Applied(id, {SysctlStep(kSomaxconnKey, to)});
}

// "aa:1 sysctl: net.core.somaxconn = 128, not 65535" for each.
std::string Lines(
    const google::protobuf::RepeatedPtrField<AppliedDrift>& drifts) {
  std::string text;
  for (const AppliedDrift& drift : drifts) {
    absl::StrAppend(&text, drift.apply_id(), ":", drift.step(), " ",
                    drift.kind(), ": ", FactKeyText(drift.fact()), " = ",
                    SettingText(drift.now()), ", not ",
                    SettingText(drift.was()), "\n");
  }
  return text;
}

std::string Drifts(const std::vector<EndedApply>& applies,
                   const HostFacts& facts) {
  return Lines(FindAppliedDrift(applies, facts).value().drifts());
}

HostFacts LowSomaxconn() {
  HostFacts facts = GoodFacts("node-01", "kernel {somaxconn {value: 128}}");
  return facts;
}

TEST(FindAppliedDriftTest, IsEmptyWhileAllIsAsAppliedAndMissingWithoutFacts) {
  const EndedApply apply = Somaxconn("aa", "65535");
  const DriftFact fact = FindAppliedDrift({apply}, GoodFacts("node-01"));
  ASSERT_TRUE(fact.has_value());
  EXPECT_EQ(fact.value().drifts_size(), 0);
  EXPECT_EQ(fact.value().unknown_size(), 0);
  EXPECT_TRUE(FindAppliedDrift({}, LowSomaxconn()).has_value());
  HostFacts facts;
  facts.mutable_missing()->set_reason(Missing::NO_ANSWER);
  facts.mutable_missing()->set_detail("gone");
  const DriftFact unknown = FindAppliedDrift({apply}, facts);
  EXPECT_EQ(unknown.missing().reason(), Missing::NO_ANSWER);
  EXPECT_EQ(unknown.missing().detail(), "gone");
}

TEST(FindAppliedDriftTest, NamesApplyStepActorAndBothValues) {
  EndedApply apply = Applied("aa", {SysctlStep(kSynBacklogKey, "65535"),
                                    SysctlStep(kSomaxconnKey, "65535")});
  const DriftFact fact = FindAppliedDrift({apply}, LowSomaxconn());
  ASSERT_EQ(fact.value().drifts_size(), 1);
  const AppliedDrift& drift = fact.value().drifts(0);
  EXPECT_EQ(drift.apply_id(), "aa");
  EXPECT_EQ(drift.step(), 2u);
  EXPECT_EQ(drift.kind(), "sysctl");
  EXPECT_EQ(drift.change(), "net.core.somaxconn: 128 -> 65535");
  EXPECT_EQ(drift.why(),
            Say("plan-say-drifted", kSomaxconnKey, "128", "65535"));
  EXPECT_EQ(drift.applied_by(), "alice");
  EXPECT_EQ(drift.applied_at_ms(), 1700000000000);
  EXPECT_EQ(drift.target(), KernelFact(kSomaxconnKey, SETTING_RUNNING));
  EXPECT_EQ(drift.to(), NumberValue(65535));
}

TEST(FindAppliedDriftTest, CountsAStepThatWasSoAlready) {
  EndedApply apply = Somaxconn("aa", "65535");
  apply.end.mutable_steps(0)->set_state(StepOutcome::ALREADY_SO);
  EXPECT_NE(Drifts({apply}, LowSomaxconn()), "");
  apply.end.mutable_steps(0)->set_state(StepOutcome::NOT_RUN);
  EXPECT_EQ(Drifts({apply}, LowSomaxconn()), "");
}

TEST(FindAppliedDriftTest, LeavesOutWhatWasTakenBackOrNeverHeld) {
  for (const ApplyResult::Outcome outcome :
       {ApplyResult::UNDONE, ApplyResult::ROLLED_BACK,
        ApplyResult::UNDONE_WITH_RESIDUES,
        ApplyResult::ROLLED_BACK_WITH_RESIDUES, ApplyResult::NOTHING_TO_DO}) {
    EndedApply apply = Somaxconn("aa", "65535");
    apply.end.set_outcome(outcome);
    EXPECT_EQ(Drifts({apply}, LowSomaxconn()), "") << outcome;
  }
}

TEST(FindAppliedDriftTest, LetsTheLaterApplyDecide) {
  const EndedApply first = Somaxconn("aa", "65535");
  EndedApply second = Somaxconn("bb", "1024");
  HostFacts facts = GoodFacts("node-01", "kernel {somaxconn {value: 4096}}");
  EXPECT_EQ(Drifts({first, second}, facts), "");
  // Once rolled back, it decides nothing.
  second.end.set_outcome(ApplyResult::ROLLED_BACK);
  EXPECT_EQ(Drifts({first, second}, facts),
            "aa:1 sysctl: net.core.somaxconn = 4096, not 65535\n");
}

TEST(FindAppliedDriftTest, EndsAnEnforcedApplyWithTheOneItHoldsUp) {
  EndedApply asked_for = Somaxconn("aa", "65535");
  EndedApply enforced = Somaxconn("bb", "65535");
  enforced.begin.set_actor("spiffe://demo/controller");
  EXPECT_EQ(Drifts({asked_for, enforced}, LowSomaxconn()),
            "bb:1 sysctl: net.core.somaxconn = 128, not 65535\n");
  // The value is no longer wanted: the controller must not fight that.
  asked_for.end.set_outcome(ApplyResult::ROLLED_BACK);
  EXPECT_EQ(Drifts({asked_for, enforced}, LowSomaxconn()), "");
}

EndedApply Later(EndedApply apply, int seconds) {
  apply.begin.set_started_at_ms(apply.begin.started_at_ms() + seconds * 1000);
  return apply;
}

std::string LaterClaims(const EndedApply& apply,
                        const std::vector<EndedApply>& applies) {
  std::string text;
  for (const LaterClaim& claim : FindLaterClaims(apply, applies)) {
    absl::StrAppend(&text, claim.apply_id, " ", claim.actor, " ",
                    FactKeyText(claim.goal), "\n");
  }
  return text;
}

TEST(FindLaterClaimsTest, NamesWhatSomebodySetAgain) {
  const EndedApply before = Somaxconn("99", "128");
  const EndedApply apply =
      Later(Applied("aa", {SysctlStep(kSynBacklogKey, "65535"),
                           SysctlStep(kSomaxconnKey, "65535")}),
            1);
  const EndedApply again = Later(Somaxconn("bb", "1024"), 2);
  const EndedApply other =
      Later(Applied("cc", {GatewayStep(1, "10.0.0.254")}), 3);
  EXPECT_EQ(LaterClaims(apply, {before, apply, again, other}),
            absl::StrCat("bb alice ", kSomaxconnKey, "\n"));
  EXPECT_EQ(LaterClaims(again, {before, apply, again, other}), "");
}

TEST(FindLaterClaimsTest, GoesByNumberWhereTheClockWasSetBack) {
  EndedApply apply = Later(Somaxconn("aa", "65535"), 2);
  EndedApply again = Later(Somaxconn("bb", "1024"), 1);
  apply.begin.set_sequence(1);
  again.begin.set_sequence(2);
  EXPECT_EQ(LaterClaims(apply, {apply, again}),
            absl::StrCat("bb alice ", kSomaxconnKey, "\n"));
  EXPECT_EQ(LaterClaims(again, {apply, again}), "");
}

TEST(FindLaterClaimsTest, LeavesOutWhatIsOverEnforcedOrElsewhere) {
  const EndedApply apply = Somaxconn("aa", "65535");
  EndedApply over = Later(Somaxconn("bb", "1024"), 1);
  over.end.set_outcome(ApplyResult::ROLLED_BACK);
  EndedApply enforced = Later(Somaxconn("cc", "65535"), 2);
  enforced.begin.set_actor("spiffe://demo/controller");
  EndedApply elsewhere = Later(Somaxconn("dd", "1024"), 3);
  elsewhere.begin.mutable_plan()->mutable_network_namespace()->set_pid(4711);
  EXPECT_EQ(LaterClaims(apply, {apply, over, enforced, elsewhere}), "");
}

TEST(FindAppliedDriftTest, TakesOverOneSettingOfAFileAndLeavesTheOthers) {
  const std::vector<PlanStep> file = {
      AtBootStep(kSomaxconnKey, "none", "65535"),
      AtBootStep(kSynBacklogKey, "none", "65535")};
  const PlanStep later = AtBootStep(kSomaxconnKey, "65535", "1024");
  HostFacts facts = GoodFacts("node-01");
  KernelFacts* kernel = facts.mutable_kernel();
  SetAtBoot(kernel->mutable_somaxconn_at_boot(), kSysctlFile, "1024");
  SetAtBoot(kernel->mutable_tcp_max_syn_backlog_at_boot(), "", "");
  EXPECT_EQ(
      Drifts({Applied("aa", file), Applied("bb", {later})}, facts),
      "aa:2 sysctl: net.ipv4.tcp_max_syn_backlog at boot = none, not 65535\n");
  EXPECT_EQ(
      Drifts({Applied("aa", file)}, facts),
      "aa:1 sysctl: net.core.somaxconn at boot = 1024, not 65535\n"
      "aa:2 sysctl: net.ipv4.tcp_max_syn_backlog at boot = none, not 65535\n");
}

TEST(FindAppliedDriftTest, LetsStoppingAndOpeningAFirewallExcludeEachOther) {
  const EndedApply opened =
      Applied("aa", {OpenStep(UFW, TcpPorts(22, 22, "10.0.0.0/24"))});
  const EndedApply stopped = Applied("bb", {StopStep(UFW)});
  HostFacts facts = GoodFacts("node-01");
  *facts.mutable_ufw() = InstalledFirewall(false, false);
  EXPECT_EQ(Drifts({opened}, facts),
            "aa:1 firewall: ufw: active = no, not yes\n");
  const DriftFact drift = FindAppliedDrift({opened}, facts);
  const FirewallRule& opened_rule =
      drift.value().drifts(0).target().target().rule();
  EXPECT_EQ(opened_rule.program(), UFW);
  EXPECT_EQ(opened_rule.port().last_port(), 22u);
  EXPECT_EQ(Drifts({opened, stopped}, facts), "");
  // The firewall must run: one apply stopped it and a later one opened ports.
  *facts.mutable_ufw() = InstalledFirewall(true, true);
  EXPECT_EQ(Drifts({stopped, opened}, facts),
            "aa:1 firewall: ufw: allowed = , not 22-22/tcp from 10.0.0.0/24\n");
  // An apply to another firewall decides nothing.
  EXPECT_EQ(Drifts({stopped,
                    Applied("cc", {OpenStep(FIREWALLD,
                                            TcpPorts(22, 22, "10.0.0.0/24"))})},
                   facts),
            "bb:1 firewall: ufw: active = yes, not no\n");
}

TEST(FindAppliedDriftTest, KeepsTheRulesThatALaterOpeningDoesNotName) {
  const EndedApply first =
      Applied("aa", {OpenStep(UFW, TcpPorts(22, 22, "10.0.0.0/24"))});
  const EndedApply second =
      Applied("bb", {OpenStep(UFW, TcpPorts(22, 22, "10.0.1.0/24"))});
  HostFacts facts = GoodFacts("node-01");
  *facts.mutable_ufw() = InstalledFirewall(true, true);
  *facts.mutable_ufw()->mutable_allowed()->mutable_value()->add_ports() =
      TcpPorts(22, 22, "10.0.1.0/24");
  EXPECT_EQ(Drifts({first, second}, facts),
            "aa:1 firewall: ufw: allowed = , not 22-22/tcp from 10.0.0.0/24\n");
}

TEST(FindAppliedDriftTest, DoesNotMissAGatewayThatALaterAddressDropped) {
  const PlanStep address =
      AddressStep(0, "none", "10.9.0.1/255.255.255.0", "10.0.0.254");
  HostFacts facts = GoodFacts("node-01");
  MoveAddress(&facts, "10.9.0.1");
  DeviceOf(&facts, 0)->mutable_gateway()->set_value("");
  SetConf(&facts, "gateway_0", "");
  const EndedApply gateways = Applied(
      "aa", {GatewayStep(0, "10.0.0.254"), GatewayStep(1, "10.0.0.254")});
  EXPECT_EQ(Drifts({gateways, Applied("bb", {address})}, facts), "");
  EXPECT_NE(Drifts({gateways}, facts), "");
}

TEST(FindAppliedDriftTest, SaysOfWhichStepItCannotTell) {
  HostFacts facts = LowSomaxconn();
  MakeMissing(DeviceOf(&facts, 1)->mutable_gateway(), Missing::TIMED_OUT, "");
  const DriftFact fact =
      FindAppliedDrift({Applied("aa", {GatewayStep(1, "10.0.0.254"),
                                       SysctlStep(kSomaxconnKey, "65535")})},
                       facts);
  EXPECT_EQ(Lines(fact.value().drifts()),
            "aa:2 sysctl: net.core.somaxconn = 128, not 65535\n");
  EXPECT_EQ(
      Lines(fact.value().unknown()),
      "aa:1 device-address: device 1: gateway = unknown, not 10.0.0.254\n");
  ASSERT_EQ(fact.value().unknown(0).devices_size(), 1);
  EXPECT_EQ(fact.value().unknown(0).devices(0), 1u);
}

TEST(FindAppliedDriftTest, LeavesOutOtherNetworkNamespaces) {
  EndedApply apply = Somaxconn("aa", "65535");
  EndedApply inner = Somaxconn("bb", "1024");
  inner.begin.mutable_plan()->mutable_network_namespace()->set_container("t");
  EXPECT_EQ(Drifts({inner}, LowSomaxconn()), "");
  // An apply in a container does not take over settings of the host either.
  EXPECT_NE(Drifts({apply, inner}, LowSomaxconn()), "");
}

TEST(FindAppliedDriftTest, ListsNoMoreThanTheLimitAndWhatDriftedFirst) {
  std::vector<EndedApply> applies = {Somaxconn("aa", "65535")};
  std::vector<PlanStep> steps;
  for (uint32_t device = 0; device < kMaxAppliedDrifts + 9; ++device) {
    steps.push_back(GatewayStep(device + 2, "10.0.0.254"));
  }
  applies.push_back(Applied("bb", steps));
  const DriftFact fact = FindAppliedDrift(applies, LowSomaxconn());
  EXPECT_EQ(fact.value().drifts_size(), 1);
  EXPECT_EQ(fact.value().unknown_size(), kMaxAppliedDrifts - 1);
  EXPECT_EQ(fact.value().left_out(), 10u);
  EXPECT_EQ(fact.value().unknown(0).apply_id(), "bb");
  EXPECT_EQ(fact.value().unknown(0).step(), 1u);
}

TEST(FindAppliedDriftTest, CutsAGoalOnlyBeyondWhatAReportMayHold) {
  std::string ports = "10001";
  for (int port = 10003; port < 20000; port += 2) {
    absl::StrAppend(&ports, ",", port);
  }
  ASSERT_GT(ports.size(), 16384u);
  const DriftFact drift =
      FindAppliedDrift({Applied("aa", {SysctlStep(kReservedPortsKey, ports)})},
                       GoodFacts("node-01"));
  ASSERT_EQ(drift.value().drifts_size(), 1);
  EXPECT_EQ(SettingText(drift.value().drifts(0).to()),
            absl::StrCat(ports.substr(0, 8192), "..."));
  const std::string shorter = ports.substr(0, 1199);  // 200 ports.
  const DriftFact whole = FindAppliedDrift(
      {Applied("aa", {SysctlStep(kReservedPortsKey, shorter)})},
      GoodFacts("node-01"));
  ASSERT_EQ(whole.value().drifts_size(), 1);
  EXPECT_EQ(SettingText(whole.value().drifts(0).to()), shorter);
}

TEST(FindAppliedDriftTest, StaysBoundedWhereThousandsOfRulesAreGone) {
  std::vector<PlanStep> open;
  AllowedFact::Allowed all;
  for (int i = 0; i < 5000; ++i) {
    *all.add_ports() =
        TcpPorts(60000, 60031,
                 absl::StrCat("10.0.", i / 128, ".", 2 * (i % 128), "/32"));
    open.push_back(OpenStep(FIREWALLD, *all.ports().rbegin()));
  }
  const EndedApply apply = Applied("aa", open);
  HostFacts facts = GoodFacts("node-07");
  FirewallFacts* firewall = facts.mutable_firewalld();
  *firewall = InstalledFirewall(true, true);
  *firewall->mutable_allowed_permanently()->mutable_value() = all;
  const DriftFact drift = FindAppliedDrift({apply}, facts);
  EXPECT_EQ(drift.value().drifts_size(), kMaxAppliedDrifts);
  EXPECT_EQ(drift.value().left_out(), 5000u - kMaxAppliedDrifts);
  EXPECT_LT(drift.ByteSizeLong(), size_t{256} << 10);
  *firewall->mutable_allowed()->mutable_value() = all;
  EXPECT_EQ(Drifts({apply}, facts), "");
  firewall->mutable_allowed()->mutable_value()->mutable_ports()->RemoveLast();
  EXPECT_EQ(Drifts({apply}, facts),
            "aa:5000 firewall: firewalld: allowed = , not 60000-60031/tcp from "
            "10.0.39.14/32\n");
}

TEST(FindAppliedDriftTest, RulesOfAFirewallDoNotCrowdOutOtherSettings) {
  std::vector<PlanStep> open;
  for (int i = 0; i < 1000; ++i) {
    open.push_back(OpenStep(
        FIREWALLD,
        TcpPorts(60000, 60031,
                 absl::StrCat("10.0.", i / 250, ".", i % 250, "/32"))));
  }
  HostFacts facts = LowSomaxconn();
  *facts.mutable_firewalld() = InstalledFirewall(false, false);
  // The older apply comes last among equals.
  const DriftFact drift =
      FindAppliedDrift({Somaxconn("aa", "65535"), Applied("bb", open)}, facts);
  ASSERT_EQ(drift.value().drifts_size(), kMaxAppliedDrifts);
  EXPECT_EQ(drift.value().drifts(0).apply_id(), "aa");
}

TEST(FindAppliedDriftTest, SaysOfEachRuleThatTheFirewallIsStopped) {
  HostFacts facts = GoodFacts("node-01");
  *facts.mutable_firewalld() = InstalledFirewall(false, false);
  EXPECT_EQ(
      Drifts(
          {Applied("aa", {OpenStep(FIREWALLD, TcpPorts(22, 22, "10.0.0.1")),
                          OpenStep(FIREWALLD, TcpPorts(80, 80, "10.0.0.1"))})},
          facts),
      "aa:1 firewall: firewalld: active = no, not yes\n"
      "aa:2 firewall: firewalld: active = no, not yes\n");
}

}  // namespace
}  // namespace clusterd
