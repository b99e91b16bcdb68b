#include "config/plan/host_plan_check.h"

#include <gtest/gtest.h>

#include <functional>

namespace clusterd {
namespace {

HostPlan PlanOf(ChangeKind kind, const std::function<void(PlanStep*)>& fill) {
  HostPlan plan;
  plan.set_host("node-01");
  plan.add_facts()->set_name("x");
  PlanStep* step = plan.add_steps();
  step->set_id(1);
  step->set_kind(kind);
  fill(step);
  return plan;
}

absl::Status CheckStep(ChangeKind kind,
                       const std::function<void(PlanStep*)>& fill) {
  return CheckHostPlan(PlanOf(kind, fill));
}

void FillAddress(PlanStep* step) {
  step->mutable_device_address()->set_device(3);
  step->mutable_device_address()->mutable_to()->set_address("10.0.0.1");
  step->mutable_device_address()->mutable_to()->set_netmask("255.255.255.0");
}

TEST(CheckHostPlanTest, AcceptsAnEmptyPlanAndAGoodStep) {
  EXPECT_TRUE(CheckHostPlan(HostPlan()).ok());
  EXPECT_TRUE(CheckStep(CHANGE_DEVICE_ADDRESS, FillAddress).ok());
}

TEST(CheckHostPlanTest, RefusesAStepUnderAKindThatTheHostMayAllow) {
  const absl::Status status = CheckStep(CHANGE_SYSCTL, FillAddress);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("expected \"device-address\""),
            absl::string_view::npos);
}

TEST(CheckHostPlanTest, RefusesAddressesThatAreNone) {
  for (const char* const address : {"", "0.0.0.0", "-s", "10.0.0.1; reboot"}) {
    EXPECT_FALSE(
        CheckStep(CHANGE_DEVICE_ADDRESS,
                  [&](PlanStep* step) {
                    FillAddress(step);
                    step->mutable_device_address()->mutable_to()->set_address(
                        address);
                  })
            .ok())
        << address;
  }
  EXPECT_FALSE(CheckStep(CHANGE_DEVICE_ADDRESS, [](PlanStep* step) {
                 FillAddress(step);
                 step->mutable_device_address()->set_device(64);
               }).ok());
}

TEST(CheckHostPlanTest, RefusesToDropKeysThatAreNoRoutesOfTheDevice) {
  for (const char* const key : {"address", "IPv6gateway", ""}) {
    EXPECT_FALSE(CheckStep(CHANGE_DEVICE_ADDRESS,
                           [&](PlanStep* step) {
                             FillAddress(step);
                             auto* entry =
                                 step->mutable_device_address()->add_dropped();
                             entry->set_key(key);
                             entry->set_device(3);
                           })
                     .ok())
        << key;
  }
}

TEST(CheckHostPlanTest, RefusesForeignKernelParametersAndFiles) {
  const auto sysctl = [](const char* key, const char* value) {
    return CheckStep(CHANGE_SYSCTL, [&](PlanStep* step) {
      step->mutable_sysctl()->set_key(key);
      step->mutable_sysctl()->set_to(value);
    });
  };
  EXPECT_TRUE(sysctl("net.core.somaxconn", "65535").ok());
  EXPECT_FALSE(sysctl("kernel.core_pattern", "|/tmp/x").ok());
  EXPECT_FALSE(sysctl("net.core.somaxconn", "65535\n1").ok());
  const auto file = [](const char* path) {
    return CheckStep(CHANGE_SYSCTL, [&](PlanStep* step) {
      step->mutable_sysctl_file()->set_path(path);
      auto* setting = step->mutable_sysctl_file()->add_settings();
      setting->set_key("net.core.somaxconn");
      setting->set_to("65535");
    });
  };
  EXPECT_TRUE(file("/etc/sysctl.d/90-clusterd.conf").ok());
  EXPECT_FALSE(file("/etc/cron.d/x").ok());
}

TEST(CheckHostPlanTest, RefusesToOpenPortsToEverybody) {
  const auto open = [](const char* source, uint32_t first, uint32_t last) {
    return CheckStep(CHANGE_FIREWALL, [&](PlanStep* step) {
      step->mutable_firewall_open()->set_program(UFW);
      AllowedPort* port = step->mutable_firewall_open()->add_ports();
      port->set_first_port(first);
      port->set_last_port(last);
      port->set_protocol("tcp");
      port->set_source(source);
    });
  };
  EXPECT_TRUE(open("10.0.0.0/24", 60000, 60015).ok());
  EXPECT_TRUE(open("10.0.0.0/16", 60000, 60015).ok());
  EXPECT_FALSE(open("0.0.0.0/0", 22, 22).ok());
  EXPECT_FALSE(open("0.0.0.0/1", 22, 22).ok());
  EXPECT_FALSE(open("10.0.0.0/15", 60000, 60015).ok());
  EXPECT_FALSE(open("", 22, 22).ok());
  EXPECT_FALSE(open("10.0.0.0/24\" accept", 22, 22).ok());
  EXPECT_FALSE(open("10.0.0.0/24", 0, 22).ok());
  EXPECT_FALSE(open("10.0.0.0/24", 23, 22).ok());
}

TEST(CheckHostPlanTest, RefusesStepsOutOfNumberWithoutFactsOrWithoutChange) {
  HostPlan numbered = PlanOf(CHANGE_DEVICE_ADDRESS, FillAddress);
  numbered.mutable_steps(0)->set_id(2);
  EXPECT_FALSE(CheckHostPlan(numbered).ok());
  HostPlan factless = PlanOf(CHANGE_DEVICE_ADDRESS, FillAddress);
  factless.clear_facts();
  EXPECT_FALSE(CheckHostPlan(factless).ok());
  EXPECT_FALSE(CheckStep(CHANGE_SYSCTL, [](PlanStep*) {}).ok());
}

TEST(CheckHostPlanTest, RefusesRewritesAndRepairsThatAreNot) {
  EXPECT_FALSE(CheckStep(CHANGE_HCCN_CONF, [](PlanStep* step) {
                 step->mutable_hccn_conf_rewrite()->set_setting(
                     HccnConfRewriteChange::ADDRESS);
                 step->mutable_hccn_conf_rewrite()->set_live("10.0.0.1");
               }).ok());
  EXPECT_FALSE(CheckStep(CHANGE_HCCN_CONF, [](PlanStep* step) {
                 step->mutable_hccn_conf_repair()->add_problems()->set_kind(
                     HccnConf::Problem::MALFORMED_LINE);
               }).ok());
}

HostPlan NamespacePlan() {
  HostPlan plan = PlanOf(CHANGE_SYSCTL, [](PlanStep* step) {
    step->mutable_sysctl()->set_key("net.core.somaxconn");
    step->mutable_sysctl()->set_to("65535");
  });
  plan.mutable_network_namespace()->set_container("train-1");
  plan.add_facts()->set_name("network namespace");
  return plan;
}

TEST(CheckHostPlanInNamespaceTest, TakesRunningParametersOnly) {
  EXPECT_TRUE(CheckHostPlan(NamespacePlan()).ok())
      << CheckHostPlan(NamespacePlan());
  HostPlan address = PlanOf(CHANGE_DEVICE_ADDRESS, FillAddress);
  address.mutable_network_namespace()->set_container("train-1");
  address.add_facts()->set_name("network namespace");
  const absl::Status status = CheckHostPlan(address);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("expected only running kernel parameters in "
                                  "container:train-1"),
            absl::string_view::npos)
      << status;
}

TEST(CheckHostPlanInNamespaceTest, RefusesATargetThatIsNone) {
  HostPlan plan = NamespacePlan();
  for (const char* const name : {"", "-f", "a b", "../x"}) {
    plan.mutable_network_namespace()->set_container(name);
    EXPECT_FALSE(CheckHostPlan(plan).ok()) << name;
  }
  plan.mutable_network_namespace()->set_path("/etc/../proc/1/mem");
  EXPECT_FALSE(CheckHostPlan(plan).ok());
  plan.mutable_network_namespace()->clear_target();
  EXPECT_FALSE(CheckHostPlan(plan).ok());
}

TEST(CheckHostPlanInNamespaceTest, WantsTheNamespaceAmongTheFacts) {
  HostPlan plan = NamespacePlan();
  plan.mutable_facts()->RemoveLast();
  EXPECT_NE(CheckHostPlan(plan).message().find(
                "do not rest on the fact \"network namespace\""),
            absl::string_view::npos);
}

}  // namespace
}  // namespace clusterd
