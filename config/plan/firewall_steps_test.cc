#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "config/plan/named_facts.h"
#include "config/plan/settings.h"
#include "config/plan/step_planners.h"
#include "config/words/words.h"
#include "tests/support/config/good_cluster.h"
#include "tests/support/config/plan_steps.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;

AllowedPort Port(uint32_t first, uint32_t last, const std::string& protocol,
                 const std::string& source) {
  AllowedPort port;
  port.set_first_port(first);
  port.set_last_port(last);
  port.set_protocol(protocol);
  port.set_source(source);
  return port;
}

AllowedPorts Allowed(const std::vector<AllowedPort>& ports) {
  AllowedFact::Allowed allowed;
  for (const AllowedPort& port : ports) *allowed.add_ports() = port;
  return AllowedPorts(allowed);
}

TEST(AllowedPortsTest, AddsUpRulesForTheSameAddress) {
  const AllowedPorts allowed =
      Allowed({Port(60000, 60007, "tcp", "10.0.0.0/24"),
               Port(60008, 60015, "", "10.0.0.7"), Port(22, 22, "tcp", "")});
  EXPECT_EQ(allowed.For(*Ipv4Address::Parse("10.0.0.7")).ToString(),
            "22,60000-60015");
  EXPECT_EQ(allowed.For(*Ipv4Address::Parse("10.0.0.8")).ToString(),
            "22,60000-60007");
  EXPECT_EQ(allowed.For(*Ipv4Address::Parse("10.1.0.8")).ToString(), "22");
}

TEST(AllowedPortsTest, IgnoresUdpAndSourcesOfAnotherKind) {
  const AllowedPorts allowed =
      Allowed({Port(22, 22, "udp", ""), Port(22, 22, "tcp", "fd00::/8"),
               Port(22, 22, "tcp", "ipset:trusted")});
  EXPECT_TRUE(allowed.For(*Ipv4Address::Parse("10.0.0.7")).empty());
}

TEST(AllowedPortsTest, ContainsASourceOnlyIfARuleHoldsAllOfIt) {
  const AllowedPorts allowed =
      Allowed({Port(60000, 60015, "tcp", "10.0.0.0/24"),
               Port(22, 22, "tcp", "10.0.0.7")});
  EXPECT_TRUE(allowed.Contains(Port(60000, 60003, "tcp", "10.0.0.4/30")));
  EXPECT_FALSE(allowed.Contains(Port(60000, 60016, "tcp", "10.0.0.4/30")));
  EXPECT_FALSE(allowed.Contains(Port(60000, 60003, "tcp", "10.0.0.0/16")));
  EXPECT_TRUE(allowed.Contains(Port(22, 22, "tcp", "10.0.0.7/32")));
  EXPECT_FALSE(allowed.Contains(Port(22, 22, "tcp", "nonsense")));
}

HostPlan Plan(const ClusterSpec& spec, const HostFacts& facts) {
  HostPlanBuilder builder(facts);
  PlanFirewallSteps(spec, &builder);
  return builder.Finish();
}

// The steps that open these ports of the firewall for the source.
std::vector<std::string> Opens(FirewallProgram program,
                               const std::string& source,
                               const std::vector<PortSet::Range>& ports) {
  std::vector<PlanStep> steps;
  for (const auto& [first, last] : ports) {
    steps.push_back(OpenStep(program, TcpPorts(first, last, source)));
  }
  return StepTexts(steps);
}

ClusterSpec OpenPorts() {
  ClusterSpec spec = GoodSpec("firewall: FIREWALL_OPEN_PORTS");
  return spec;
}

// Facts with this firewall.
HostFacts WithUfw(bool active = true, bool starts_at_boot = true) {
  HostFacts facts = GoodFacts("node-01");
  *facts.mutable_ufw() = InstalledFirewall(active, starts_at_boot);
  return facts;
}
HostFacts WithFirewalld(bool active = true) {
  HostFacts facts = GoodFacts("node-01");
  *facts.mutable_firewalld() = InstalledFirewall(active, active);
  return facts;
}

TEST(PlanFirewallStepsTest, StopsWhatIsActiveOrWouldStart) {
  HostFacts facts = WithUfw();
  *facts.mutable_firewalld() = InstalledFirewall(false, true);
  EXPECT_THAT(StepTexts(Plan(GoodSpec(), facts)),
              ElementsAre(Say("plan-say-stop-both", "ufw"),
                          Say("plan-say-stop-at-boot", "firewalld")));
}

TEST(PlanFirewallStepsTest, LeavesAloneWhatIsStoppedAbsentOrToBeIgnored) {
  HostFacts facts = GoodFacts("node-01");
  EXPECT_TRUE(Plan(GoodSpec(), facts).steps().empty());
  *facts.mutable_ufw() = InstalledFirewall(false, false);
  EXPECT_TRUE(Plan(GoodSpec(), facts).steps().empty());
  *facts.mutable_ufw() = InstalledFirewall(true, true);
  ClusterSpec ignore = GoodSpec("firewall: FIREWALL_IGNORE");
  EXPECT_TRUE(Plan(ignore, facts).steps().empty());
}

TEST(PlanFirewallStepsTest, BlocksAFirewallWhoseStateIsNotKnown) {
  for (const FirewallPolicy policy : {FIREWALL_DISABLED, FIREWALL_OPEN_PORTS}) {
    ClusterSpec spec = GoodSpec();
    spec.set_firewall(policy);
    HostFacts facts = WithUfw();
    MakeMissing(facts.mutable_ufw()->mutable_active(), Missing::TIMED_OUT, "");
    MakeMissing(facts.mutable_firewalld()->mutable_installed(),
                Missing::NOT_PERMITTED, "");
    const HostPlan plan = Plan(spec, facts);
    EXPECT_TRUE(plan.steps().empty());
    EXPECT_EQ(plan.blocked_size(), 2);
  }
}

TEST(PlanFirewallStepsTest, OpensThreePortsOnlyFromTheClustersHosts) {
  EXPECT_EQ(StepTexts(Plan(OpenPorts(), WithFirewalld())),
            Opens(FIREWALLD, "192.168.7.22/31",
                  {{60000, 60015}, {29500, 29500}, {22, 22}}));
}

void Allow(uint32_t first, uint32_t last, AllowedFact* fact) {
  *fact->mutable_value()->add_ports() = Port(first, last, "tcp", "");
}

TEST(PlanFirewallStepsTest, StoresInFirewalldWhatIsOpenNowAlone) {
  HostFacts facts = WithFirewalld();
  FirewallFacts* firewalld = facts.mutable_firewalld();
  Allow(1, 65535, firewalld->mutable_allowed());
  Allow(22, 22, firewalld->mutable_allowed_permanently());
  const HostPlan plan = Plan(OpenPorts(), facts);
  EXPECT_EQ(StepTexts(plan), Opens(FIREWALLD, "192.168.7.22/31",
                                   {{60000, 60015}, {29500, 29500}}));
  EXPECT_THAT(plan.steps(0).consequences(),
              ElementsAre(Say("plan-say-open-now", "60000-60015")));
  EXPECT_EQ(plan.steps(1).consequences(0), Say("plan-say-open-now", "29500"));
  EXPECT_THAT(FactNames(plan),
              ElementsAre("firewalld: active", "firewalld: allowed",
                          "firewalld: allowed permanently"));
  // Another program stored the rules since: the plan no longer fits this host.
  Allow(1, 65535, firewalld->mutable_allowed_permanently());
  EXPECT_EQ(FindMovedFacts(plan, facts).size(), 1u);
  EXPECT_TRUE(Plan(OpenPorts(), facts).steps().empty());
}

TEST(PlanFirewallStepsTest, BlocksOpeningForPeersThatMeetAnotherZone) {
  HostFacts facts = WithFirewalld();
  auto* const stored =
      facts.mutable_firewalld()->mutable_allowed_permanently()->mutable_value();
  stored->add_other_sources("ipset:blacklist");
  stored->add_other_sources("203.0.113.0/24");
  EXPECT_EQ(Plan(OpenPorts(), facts).steps_size(), 3);
  stored->add_other_sources("192.168.7.0/24");
  EXPECT_THAT(BlockedReasons(Plan(OpenPorts(), facts)),
              ElementsAre(::testing::HasSubstr(
                  Say("plan-say-meets-other-zone", "192.168.7.22"))));
}

TEST(PlanFirewallStepsTest, OpensNowInFirewalldWhatIsStoredAlone) {
  HostFacts facts = WithFirewalld();
  Allow(1, 65535, facts.mutable_firewalld()->mutable_allowed_permanently());
  const HostPlan plan = Plan(OpenPorts(), facts);
  ASSERT_EQ(plan.steps_size(), 3);
  for (const PlanStep& step : plan.steps()) {
    const AllowedPort& port = step.target().rule().port();
    EXPECT_THAT(
        step.consequences(),
        ElementsAre(Say("plan-say-open-permanently",
                        RangeText(port.first_port(), port.last_port()))));
  }
}

TEST(PlanFirewallStepsTest, BlocksFirewalldOfWhichTheStoredRulesAreUnknown) {
  HostFacts facts = WithFirewalld();
  MakeMissing(facts.mutable_firewalld()->mutable_allowed_permanently(),
              Missing::TIMED_OUT, "");
  EXPECT_THAT(BlockedReasons(Plan(OpenPorts(), facts)),
              ElementsAre(Say("plan-say-permanent-not-known", "timed out")));
  // ufw does not have or need such facts.
  *facts.mutable_ufw() = InstalledFirewall(true, true);
  facts.mutable_ufw()->clear_allowed_permanently();
  EXPECT_EQ(Plan(OpenPorts(), facts).steps_size(), 3);
}

TEST(PlanFirewallStepsTest, NotesAFirewallThatWasOpenedAndIsStoppedSince) {
  HostFacts facts = WithFirewalld(false);
  EXPECT_TRUE(Plan(OpenPorts(), facts).notes().empty());
  AppliedDrift* drift = facts.mutable_drift()->mutable_value()->add_drifts();
  drift->set_apply_id("a1");
  drift->mutable_target()->mutable_target()->mutable_rule()->set_program(
      FIREWALLD);
  const HostPlan plan = Plan(OpenPorts(), facts);
  EXPECT_TRUE(plan.steps().empty());
  EXPECT_TRUE(plan.blocked().empty());
  EXPECT_THAT(plan.notes(),
              ElementsAre(Say("plan-say-stopped-since", "firewalld", "a1")));
}

TEST(PlanFirewallStepsTest, OpensOnlyWhatIsShut) {
  HostFacts facts = WithUfw();
  auto* const allowed = facts.mutable_ufw()->mutable_allowed()->mutable_value();
  *allowed->add_ports() = Port(22, 22, "tcp", "");
  *allowed->add_ports() = Port(1024, 65535, "", "192.168.7.22");
  EXPECT_EQ(StepTexts(Plan(OpenPorts(), facts)),
            Opens(UFW, "192.168.7.23/32", {{60000, 60015}, {29500, 29500}}));
}

TEST(PlanFirewallStepsTest, ASecondPlanAfterOpeningIsEmpty) {
  HostFacts facts = WithUfw();
  const HostPlan first = Plan(OpenPorts(), facts);
  for (const PlanStep& step : first.steps()) {
    *facts.mutable_ufw()->mutable_allowed()->mutable_value()->add_ports() =
        step.target().rule().port();
  }
  EXPECT_TRUE(Plan(OpenPorts(), facts).steps().empty());
}

TEST(PlanFirewallStepsTest, BlocksMoreRulesThanAPlanHolds) {
  ClusterSpec spec = OpenPorts();
  spec.clear_servers();
  for (int i = 0; i < 1001; ++i) {
    ServerSpec* server = spec.add_servers();
    server->set_host(absl::StrCat("n", i));
    server->set_address(absl::StrCat("10.", i / 256, ".", i % 256, ".1"));
  }
  const HostFacts facts = WithUfw();
  EXPECT_THAT(BlockedReasons(Plan(spec, facts)),
              ElementsAre(Say("plan-say-too-many-rules", 3003, 3000)));
  spec.mutable_servers()->RemoveLast();
  EXPECT_EQ(Plan(spec, facts).steps_size(), 3000);
}

TEST(PlanFirewallStepsTest, BlocksOpeningWhatIsStoppedButStartsAtBoot) {
  EXPECT_THAT(BlockedReasons(Plan(OpenPorts(), WithUfw(false, true))),
              ElementsAre(Say("plan-say-stopped-at-boot", "ufw")));
}

TEST(PlanFirewallStepsTest, BlocksOpeningWithoutRulesOrAddresses) {
  HostFacts facts = WithUfw();
  ClusterSpec nameless = OpenPorts();
  nameless.mutable_servers(1)->clear_address();
  EXPECT_THAT(Plan(nameless, facts).blocked(0).reason(),
              ::testing::HasSubstr("node-02"));
  MakeMissing(facts.mutable_ufw()->mutable_allowed(), Missing::UNREADABLE, "");
  EXPECT_EQ(Plan(OpenPorts(), facts).blocked_size(), 1);
}

// moby issue 28476.
TEST(PlanFirewallStepsTest, StoppingFirewalldNamesDockerWhereItRuns) {
  HostFacts facts = WithFirewalld();
  const auto consequence = [&facts] {
    return Plan(GoodSpec(), facts).steps(0).consequences(1);
  };
  EXPECT_EQ(consequence(), Say("plan-say-chains-go"));
  facts.mutable_docker_running()->set_value(true);
  EXPECT_EQ(consequence(), Say("plan-say-docker-chains-go"));
  // A stopped firewalld does not drop anything.
  *facts.mutable_firewalld() = InstalledFirewall(false, true);
  EXPECT_EQ(Plan(GoodSpec(), facts).steps(0).consequences_size(), 0);
}

TEST(PlanFirewallStepsTest, OpensPortsInTheDefaultZoneOnly) {
  HostFacts facts = WithFirewalld();
  FirewallFacts* const firewalld = facts.mutable_firewalld();
  FirewallZone* const zone =
      firewalld->mutable_other_zones()->mutable_value()->add_zones();
  zone->set_name("docker");
  zone->add_interfaces("docker0");
  EXPECT_THAT(Plan(OpenPorts(), facts).blocked(0).reason(),
              ::testing::HasSubstr("interfaces are not known"));
  HostInterface* const interface =
      facts.mutable_interfaces()->mutable_value()->add_interfaces();
  interface->set_name("eth0");
  interface->add_addresses(GoodSpec().servers(0).address());
  EXPECT_TRUE(Plan(OpenPorts(), facts).blocked().empty());
  zone->add_interfaces("eth+");
  EXPECT_EQ(Plan(OpenPorts(), facts).blocked(0).reason(),
            Say("plan-say-other-zone", "\"docker\""));
}

}  // namespace
}  // namespace clusterd
