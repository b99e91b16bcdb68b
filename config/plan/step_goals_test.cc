#include "config/plan/step_goals.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "config/plan/sysctl_file.h"

namespace clusterd {
namespace {

std::string Text(const PlanStep& step) {
  std::string text;
  for (const AppliedDrift::Goal& goal : GoalsOf(step)) {
    absl::StrAppend(&text, goal.target(), " = ", goal.to(), "\n");
  }
  return text;
}

PlanStep FileStep() {
  PlanStep step;
  step.mutable_sysctl_file()->set_path(kSysctlFile);
  for (const char* key : {kSomaxconnKey, kSynBacklogKey}) {
    auto* setting = step.mutable_sysctl_file()->add_settings();
    setting->set_key(key);
    setting->set_to("65535");
  }
  return step;
}

PlanStep OpenStep(std::initializer_list<uint32_t> ports) {
  PlanStep step;
  step.mutable_firewall_open()->set_program(UFW);
  for (const uint32_t number : ports) {
    AllowedPort* port = step.mutable_firewall_open()->add_ports();
    port->set_first_port(number);
    port->set_last_port(number);
    port->set_protocol("tcp");
    port->set_source("10.0.0.0/24");
  }
  return step;
}

TEST(GoalsOfTest, NamesARewriteAsTheSettingThatItIs) {
  PlanStep set;
  set.mutable_device_address()->set_device(3);
  set.mutable_device_address()->mutable_to()->set_address("10.0.0.1");
  set.mutable_device_address()->mutable_to()->set_netmask("255.255.255.0");
  PlanStep rewrite;
  rewrite.mutable_hccn_conf_rewrite()->set_device(3);
  rewrite.mutable_hccn_conf_rewrite()->set_setting(
      HccnConfRewriteChange::ADDRESS);
  rewrite.mutable_hccn_conf_rewrite()->set_live("10.0.0.1/255.255.255.0");
  EXPECT_EQ(Text(set), "device 3: address = 10.0.0.1/255.255.255.0\n");
  EXPECT_EQ(Text(rewrite), Text(set));
  rewrite.mutable_hccn_conf_rewrite()->set_setting(HccnConfRewriteChange::TLS);
  rewrite.mutable_hccn_conf_rewrite()->set_live("1");
  PlanStep tls;
  tls.mutable_tls()->set_device(3);
  tls.mutable_tls()->set_to(true);
  EXPECT_EQ(Text(rewrite), "device 3: tls = on\n");
  EXPECT_EQ(Text(tls), Text(rewrite));
}

TEST(GoalsOfTest, HasOneGoalForEachThingThatAStepSets) {
  EXPECT_EQ(Text(FileStep()),
            "net.core.somaxconn at boot = 65535\n"
            "net.ipv4.tcp_max_syn_backlog at boot = 65535\n");
  EXPECT_EQ(Text(OpenStep({22, 80})),
            "ufw: lets in 22-22/tcp from 10.0.0.0/24 = yes\n"
            "ufw: lets in 80-80/tcp from 10.0.0.0/24 = yes\n");
  EXPECT_EQ(Text(PlanStep()), "");
}

TEST(SplitByGoalTest, GivesOneStepForEachGoal) {
  for (const PlanStep& step : {FileStep(), OpenStep({22, 80})}) {
    const std::vector<PlanStep> parts = SplitByGoal(step);
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(Text(parts[0]) + Text(parts[1]), Text(step));
  }
  PlanStep tls;
  tls.mutable_tls()->set_device(1);
  EXPECT_EQ(SplitByGoal(tls).size(), 1u);
  EXPECT_TRUE(SplitByGoal(PlanStep()).empty());
}

TEST(TakenTargetsTest, KnowsWhatAStepDoesBesideItsGoals) {
  TakenTargets taken;
  PlanStep address;
  address.mutable_device_address()->set_device(0);
  HccnConf::Entry* dropped = address.mutable_device_address()->add_dropped();
  dropped->set_key("gateway");
  dropped->set_device(0);
  EXPECT_FALSE(taken.Has("device 0: gateway"));
  taken.Add(address);
  EXPECT_TRUE(taken.Has("device 0: address"));
  EXPECT_TRUE(taken.Has("device 0: gateway"));
  EXPECT_FALSE(taken.Has("device 1: gateway"));
}

TEST(TakenTargetsTest, SeesThatStoppingAndOpeningAFirewallExcludeEachOther) {
  TakenTargets opened;
  opened.Add(OpenStep({22}));
  EXPECT_TRUE(opened.Has("ufw: active"));
  EXPECT_TRUE(opened.Has("ufw: lets in 22-22/tcp from 10.0.0.0/24"));
  EXPECT_FALSE(opened.Has("ufw: lets in 80-80/tcp from 10.0.0.0/24"));
  PlanStep disable;
  disable.mutable_firewall_disable()->set_program(UFW);
  TakenTargets stopped;
  stopped.Add(disable);
  EXPECT_TRUE(stopped.Has("ufw: lets in 80-80/tcp from 10.0.0.0/24"));
  EXPECT_FALSE(stopped.Has("firewalld: active"));
}

}  // namespace
}  // namespace clusterd
