#include "config/plan/step_check.h"

#include <gtest/gtest.h>

#include "config/plan/good_cluster.h"
#include "config/plan/sysctl_file.h"

namespace clusterd {
namespace {

TEST(WhyNotSoTest, IsEmptyForADeviceThatHasItLiveAndInTheFile) {
  PlanStep step;
  step.mutable_device_address()->set_device(0);
  step.mutable_device_address()->mutable_to()->set_address("10.0.0.1");
  step.mutable_device_address()->mutable_to()->set_netmask("255.255.255.0");
  HostFacts facts = GoodFacts("node-01");
  EXPECT_EQ(WhyNotSo(step, facts), "");
  SetConf(&facts, "address_0", "10.9.9.9");
  EXPECT_EQ(WhyNotSo(step, facts),
            "hccn.conf: address_0 is 10.9.9.9, applied was 10.0.0.1");
  MakeMissing(DeviceOf(&facts, 0)->mutable_address(), Missing::TIMED_OUT, "");
  EXPECT_EQ(WhyNotSo(step, facts),
            "device 0: address is unknown, applied was 10.0.0.1/255.255.255.0");
}

TEST(WhyNotSoTest, ReadsARewriteAsItsSetting) {
  PlanStep step;
  HccnConfRewriteChange* rewrite = step.mutable_hccn_conf_rewrite();
  rewrite->set_device(1);
  rewrite->set_setting(HccnConfRewriteChange::ADDRESS);
  rewrite->set_live("10.0.0.2/255.255.255.0");
  EXPECT_EQ(WhyNotSo(step, GoodFacts("node-01")), "");
  rewrite->set_setting(HccnConfRewriteChange::TLS);
  rewrite->set_live("1");
  EXPECT_EQ(WhyNotSo(step, GoodFacts("node-01")),
            "device 1: tls is off, applied was on");
}

TEST(WhyNotSoTest, IsContentWithMoreThanWasApplied) {
  PlanStep ports;
  ports.mutable_sysctl()->set_key(kReservedPortsKey);
  ports.mutable_sysctl()->set_to("60000-60015");
  PlanStep number;
  number.mutable_sysctl()->set_key(kSomaxconnKey);
  number.mutable_sysctl()->set_to("65535");
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_kernel()->mutable_reserved_ports()->set_value("1,60000-60031");
  facts.mutable_kernel()->mutable_somaxconn()->set_value(70000);
  EXPECT_EQ(WhyNotSo(ports, facts), "");
  EXPECT_EQ(WhyNotSo(number, facts), "");
  facts.mutable_kernel()->mutable_somaxconn()->set_value(4096);
  EXPECT_EQ(WhyNotSo(number, facts),
            "net.core.somaxconn is 4096, applied was 65535");
}

TEST(WhyNotSoTest, LooksAtTheFileThatWinsAtBoot) {
  PlanStep step;
  auto* setting = step.mutable_sysctl_file()->add_settings();
  setting->set_key(kSomaxconnKey);
  setting->set_to("65535");
  HostFacts facts = GoodFacts("node-01");
  EXPECT_EQ(WhyNotSo(step, facts), "");
  auto* later =
      facts.mutable_kernel()->mutable_somaxconn_at_boot()->mutable_value();
  later->add_assignments()->set_value("128");
  EXPECT_EQ(WhyNotSo(step, facts),
            "net.core.somaxconn at boot is 128, applied was 65535");
}

TEST(WhyNotSoTest, SeesAFirewallThatCameBackAndARuleThatWent) {
  PlanStep disable;
  disable.mutable_firewall_disable()->set_program(UFW);
  PlanStep open;
  open.mutable_firewall_open()->set_program(UFW);
  AllowedPort* port = open.mutable_firewall_open()->add_ports();
  port->set_first_port(22);
  port->set_last_port(22);
  port->set_protocol("tcp");
  port->set_source("10.0.0.0/24");
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_ufw()->mutable_active()->set_value(true);
  facts.mutable_ufw()->mutable_enabled_at_boot()->set_value(true);
  facts.mutable_ufw()->mutable_allowed()->mutable_value();
  EXPECT_EQ(WhyNotSo(disable, facts), "ufw: active is yes, applied was no");
  EXPECT_EQ(WhyNotSo(open, facts),
            "ufw: lets in lacks 22-22/tcp from "
            "10.0.0.0/24");
  *facts.mutable_ufw()->mutable_allowed()->mutable_value()->add_ports() = *port;
  EXPECT_EQ(WhyNotSo(open, facts), "");
  facts.mutable_ufw()->mutable_active()->set_value(false);
  facts.mutable_ufw()->mutable_enabled_at_boot()->set_value(false);
  facts.mutable_ufw()->clear_allowed();
  EXPECT_EQ(WhyNotSo(open, facts), "ufw: active is no, applied was yes");
}

TEST(WhyNotSoTest, SeesPortsThatFirewalldHasNowOrPermanentlyAlone) {
  PlanStep open;
  open.mutable_firewall_open()->set_program(FIREWALLD);
  AllowedPort* port = open.mutable_firewall_open()->add_ports();
  port->set_first_port(22);
  port->set_last_port(22);
  port->set_protocol("tcp");
  port->set_source("10.0.0.0/24");
  HostFacts facts = GoodFacts("node-01");
  FirewallFacts* firewalld = facts.mutable_firewalld();
  firewalld->mutable_installed()->set_value(true);
  firewalld->mutable_active()->set_value(true);
  AllowedFact* now = firewalld->mutable_allowed();
  AllowedFact* stored = firewalld->mutable_allowed_permanently();
  *now->mutable_value()->add_ports() = *port;
  stored->mutable_value();
  EXPECT_EQ(WhyNotSo(open, facts),
            "firewalld: lets in permanently lacks 22-22/tcp from 10.0.0.0/24");
  *stored->mutable_value()->add_ports() = *port;
  EXPECT_EQ(WhyNotSo(open, facts), "");
  now->mutable_value()->clear_ports();
  EXPECT_EQ(WhyNotSo(open, facts),
            "firewalld: lets in lacks 22-22/tcp from 10.0.0.0/24");
}

TEST(WhyNotSoTest, SeesAProblemThatIsBackInTheFile) {
  PlanStep step;
  step.mutable_hccn_conf_repair()->add_problems()->set_kind(
      HccnConf::Problem::NO_FINAL_NEWLINE);
  HostFacts facts = GoodFacts("node-01");
  EXPECT_EQ(WhyNotSo(step, facts), "");
  facts.mutable_hccn_conf()->mutable_value()->add_problems()->set_kind(
      HccnConf::Problem::NO_FINAL_NEWLINE);
  EXPECT_NE(WhyNotSo(step, facts), "");
}

StepVerdict VerdictOn(const PlanStep& step, const HostFacts& facts) {
  return JudgeSteps({step}, facts).front();
}

TEST(JudgeStepsTest, PrefersWhatMovedToWhatIsNotKnown) {
  PlanStep step;
  step.mutable_gateway()->set_device(0);
  step.mutable_gateway()->set_to("10.0.0.254");
  HostFacts facts = GoodFacts("node-01");
  EXPECT_EQ(VerdictOn(step, facts).state, StepVerdict::kSo);
  MakeMissing(DeviceOf(&facts, 0)->mutable_gateway(), Missing::TIMED_OUT, "");
  EXPECT_EQ(VerdictOn(step, facts).state, StepVerdict::kUntold);
  EXPECT_EQ(VerdictOn(step, facts).why,
            "device 0: gateway is unknown, applied was 10.0.0.254");
  SetConf(&facts, "gateway_0", "10.0.0.253");
  EXPECT_EQ(VerdictOn(step, facts).state, StepVerdict::kMoved);
  EXPECT_EQ(VerdictOn(step, facts).why,
            "hccn.conf: gateway_0 is 10.0.0.253, applied was 10.0.0.254");
}

TEST(JudgeStepsTest, TellsAFileThatIsGoneFromOneThatCannotBeRead) {
  PlanStep step;
  step.mutable_tls()->set_device(0);
  HostFacts facts = GoodFacts("node-01");
  MakeMissing(facts.mutable_hccn_conf(), Missing::NOT_PERMITTED, "");
  EXPECT_EQ(VerdictOn(step, facts).state, StepVerdict::kUntold);
  MakeMissing(facts.mutable_hccn_conf(), Missing::ABSENT, "");
  EXPECT_EQ(VerdictOn(step, facts).state, StepVerdict::kMoved);
  EXPECT_EQ(VerdictOn(step, facts).why,
            "hccn.conf: tls_enable_0 is none, applied was 0");
}

TEST(JudgeStepsTest, TakesAFirewallThatWasRemovedAsStopped) {
  PlanStep disable;
  disable.mutable_firewall_disable()->set_program(UFW);
  HostFacts facts = GoodFacts("node-01");
  EXPECT_EQ(VerdictOn(disable, facts).state, StepVerdict::kSo);
  MakeMissing(facts.mutable_ufw()->mutable_installed(), Missing::TIMED_OUT, "");
  EXPECT_EQ(VerdictOn(disable, facts).state, StepVerdict::kUntold);
}

TEST(JudgeStepsTest, CannotTellAPortWithoutTheRules) {
  PlanStep open;
  open.mutable_firewall_open()->set_program(FIREWALLD);
  AllowedPort* port = open.mutable_firewall_open()->add_ports();
  port->set_first_port(22);
  port->set_last_port(22);
  port->set_protocol("tcp");
  port->set_source("10.0.0.0/24");
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_firewalld()->mutable_installed()->set_value(true);
  facts.mutable_firewalld()->mutable_active()->set_value(true);
  MakeMissing(facts.mutable_firewalld()->mutable_allowed(),
              Missing::TOOL_FAILED, "");
  EXPECT_EQ(VerdictOn(open, facts).state, StepVerdict::kUntold);
  facts.mutable_firewalld()->mutable_allowed()->mutable_value();
  EXPECT_EQ(VerdictOn(open, facts).state, StepVerdict::kMoved);
  *facts.mutable_firewalld()->mutable_allowed()->mutable_value()->add_ports() =
      *port;
  EXPECT_EQ(VerdictOn(open, facts).state, StepVerdict::kUntold);
  EXPECT_EQ(VerdictOn(open, facts).why,
            "firewalld: lets in permanently is unknown, applied was 22-22/tcp "
            "from 10.0.0.0/24");
}

TEST(FindDriftTest, NamesTheStepsThatDoNotHoldAnyMore) {
  HostPlan plan;
  for (uint32_t device = 0; device < 2; ++device) {
    PlanStep* step = plan.add_steps();
    step->set_id(device + 1);
    step->mutable_gateway()->set_device(device);
    step->mutable_gateway()->set_to("10.0.0.254");
  }
  HostFacts facts = GoodFacts("node-01");
  EXPECT_TRUE(FindDrift(plan, facts).empty());
  DeviceOf(&facts, 1)->mutable_gateway()->set_value("");
  const std::vector<DriftedStep> drifted = FindDrift(plan, facts);
  ASSERT_EQ(drifted.size(), 1u);
  EXPECT_EQ(drifted[0].step, 2u);
  EXPECT_EQ(drifted[0].why,
            "device 1: gateway is none, applied was 10.0.0.254");
}

}  // namespace
}  // namespace clusterd
