#include "config/plan/drift_repair.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/good_cluster.h"
#include "config/plan/host_plan_check.h"
#include "config/plan/make_plan.h"
#include "config/plan/plan_text.h"
#include "config/plan/sysctl_file.h"

namespace clusterd {
namespace {

// What the spec plans for a host with these facts.
HostPlan Planned(const HostFacts& facts, const ClusterSpec& spec = GoodSpec()) {
  return MakePlan(spec, {&facts}).hosts(0);
}

void AddDrift(const std::string& kind, const std::string& target,
              const std::string& to, DriftFact::Drifts* drifts) {
  AppliedDrift* drift = drifts->add_drifts();
  drift->set_apply_id("aa");
  drift->set_kind(kind);
  AppliedDrift::Goal* goal = drift->add_goals();
  goal->set_target(target);
  goal->set_to(to);
}

DriftFact::Drifts OneDrift(const std::string& kind, const std::string& target,
                           const std::string& to) {
  DriftFact::Drifts drifts;
  AddDrift(kind, target, to, &drifts);
  return drifts;
}

std::string Steps(const DriftRepair& repair) {
  std::string text;
  for (const PlanStep& step : repair.plan.steps()) {
    absl::StrAppend(&text, step.id(), " ", StepText(step), "\n");
  }
  return text;
}

TEST(PlanDriftRepairTest, KeepsOnlyTheStepOfWhatDrifted) {
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_kernel()->mutable_somaxconn()->set_value(128);
  facts.mutable_kernel()->mutable_tcp_max_syn_backlog()->set_value(128);
  const HostPlan planned = Planned(facts);
  ASSERT_EQ(planned.steps_size(), 2);
  const DriftRepair repair = PlanDriftRepair(
      planned, OneDrift("sysctl", kSynBacklogKey, "65535"), {"sysctl"});
  EXPECT_EQ(Steps(repair), "1 net.ipv4.tcp_max_syn_backlog: 128 -> 65535\n");
  EXPECT_TRUE(repair.left.empty());
  EXPECT_TRUE(CheckHostPlan(repair.plan).ok()) << CheckHostPlan(repair.plan);
}

TEST(PlanDriftRepairTest, DoesNothingAboutKindsThatAreNotEnforced) {
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_kernel()->mutable_somaxconn()->set_value(128);
  const auto drifts = OneDrift("sysctl", kSomaxconnKey, "65535");
  const DriftRepair repair =
      PlanDriftRepair(Planned(facts), drifts, {"firewall"});
  EXPECT_EQ(Steps(repair), "");
  EXPECT_TRUE(repair.left.empty());
  DriftFact fact;
  *fact.mutable_value() = drifts;
  EXPECT_FALSE(HasEnforcedDrift(fact, {"firewall"}));
  EXPECT_TRUE(HasEnforcedDrift(fact, {"firewall", "sysctl"}));
  EXPECT_FALSE(HasEnforcedDrift(DriftFact(), {"sysctl"}));
}

TEST(PlanDriftRepairTest, LeavesWhatTheSpecWantsOtherwiseNow) {
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_kernel()->mutable_somaxconn()->set_value(128);
  ClusterSpec spec = GoodSpec();
  spec.mutable_kernel()->set_somaxconn(32768);
  const DriftRepair repair =
      PlanDriftRepair(Planned(facts, spec),
                      OneDrift("sysctl", kSomaxconnKey, "65535"), {"sysctl"});
  EXPECT_EQ(Steps(repair), "");
  EXPECT_EQ(absl::StrJoin(repair.left, "\n"),
            "net.core.somaxconn: the spec asks for 32768 now, apply aa set "
            "65535");
}

TEST(PlanDriftRepairTest, SaysWhereThePlanHasNoStep) {
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_kernel()->mutable_somaxconn()->set_value(65535);
  const DriftRepair repair = PlanDriftRepair(
      Planned(facts), OneDrift("sysctl", kSomaxconnKey, "70000"), {"sysctl"});
  EXPECT_EQ(Steps(repair), "");
  EXPECT_EQ(absl::StrJoin(repair.left, "\n"),
            "net.core.somaxconn: the plan has no step for what apply aa set: "
            "70000");
}

TEST(PlanDriftRepairTest, SaysWhyThePlanBlocksIt) {
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_kernel()->mutable_somaxconn()->set_value(128);
  DeviceOf(&facts, 1)->mutable_gateway()->set_value("10.0.0.9");
  facts.mutable_allows()->set_file("/etc/clusterd/agent.yaml");
  facts.mutable_allows()->add_kinds("observe");
  DriftFact::Drifts drifts = OneDrift("sysctl", kSomaxconnKey, "65535");
  AddDrift("device-address", "device 0: gateway", "10.0.0.254", &drifts);
  AddDrift("device-address", "device 1: gateway", "10.0.0.254", &drifts);
  const DriftRepair repair =
      PlanDriftRepair(Planned(facts), drifts, {"sysctl", "device-address"});
  EXPECT_EQ(Steps(repair), "");
  const std::string why =
      "; it allows observe; put \"allow: [observe, sysctl, device-address]\" "
      "into /etc/clusterd/agent.yaml there, then plan again";
  EXPECT_EQ(absl::StrJoin(repair.left, "\n"),
            absl::StrCat("device 0: gateway: the plan has no step for what "
                         "apply aa set: 10.0.0.254\n"
                         "device 1: gateway: the plan blocks \"gateway "
                         "10.0.0.9 -> 10.0.0.254\": this host does not allow "
                         "device-address",
                         why,
                         "\nnet.core.somaxconn: the plan blocks "
                         "\"net.core.somaxconn: 128 -> 65535\": this host does "
                         "not allow sysctl",
                         why));
}

TEST(PlanDriftRepairTest, KeepsPortsThatOthersReservedMeanwhile) {
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_kernel()->mutable_reserved_ports()->set_value("8080");
  const auto drifts = OneDrift("sysctl", kReservedPortsKey, "60000-60015");
  EXPECT_EQ(Steps(PlanDriftRepair(Planned(facts), drifts, {"sysctl"})),
            "1 net.ipv4.ip_local_reserved_ports: 8080 -> 8080,60000-60015\n");
  // The spec has become larger: that is for a person to apply.
  ClusterSpec larger = GoodSpec();
  larger.mutable_hccl()->set_port_count(32);
  EXPECT_EQ(Steps(PlanDriftRepair(Planned(facts, larger), drifts, {"sysctl"})),
            "");
}

TEST(PlanDriftRepairTest, TakesOneSettingOutOfAFile) {
  HostFacts facts = GoodFacts("node-01");
  KernelFacts* kernel = facts.mutable_kernel();
  SetAtBoot(kernel->mutable_somaxconn_at_boot(), "", "");
  SetAtBoot(kernel->mutable_tcp_max_syn_backlog_at_boot(), "", "");
  const DriftRepair repair = PlanDriftRepair(
      Planned(facts), OneDrift("sysctl", "net.core.somaxconn at boot", "65535"),
      {"sysctl"});
  EXPECT_EQ(Steps(repair),
            "1 /etc/sysctl.d/90-clusterd.conf: net.core.somaxconn = 65535\n");
}

// Device 0 has another address, in a subnet without its gateway.
HostFacts MovedAddress() {
  HostFacts facts = GoodFacts("node-01");
  Ipv4Setting* live =
      DeviceOf(&facts, 0)->mutable_address()->mutable_value()->mutable_settings(
          0);
  live->set_address("10.9.0.1");
  SetConf(&facts, "address_0", "10.9.0.1");
  DeviceOf(&facts, 0)->mutable_gateway()->set_value("10.9.0.254");
  SetConf(&facts, "gateway_0", "10.9.0.254");
  return facts;
}

TEST(PlanDriftRepairTest, DropsNoGatewayThatItDoesNotSetAgain) {
  const HostPlan planned = Planned(MovedAddress());
  DriftFact::Drifts drifts =
      OneDrift("device-address", "device 0: address", "10.0.0.1/255.255.255.0");
  const DriftRepair alone =
      PlanDriftRepair(planned, drifts, {"device-address"});
  EXPECT_EQ(Steps(alone), "");
  EXPECT_EQ(absl::StrJoin(alone.left, "\n"),
            "device 0: address: putting it back would drop a gateway or route "
            "that is set now");
  AddDrift("device-address", "device 0: gateway", "10.0.0.254", &drifts);
  const DriftRepair both = PlanDriftRepair(planned, drifts, {"device-address"});
  EXPECT_EQ(Steps(both),
            "1 device 0: address 10.9.0.1/24 -> 10.0.0.1/24\n"
            "2 device 0: gateway 10.9.0.254 -> 10.0.0.254\n");
  EXPECT_TRUE(both.left.empty());
}

TEST(PlanDriftRepairTest, NeedsTheKindOfTheStepToBeEnforcedToo) {
  HostFacts facts = GoodFacts("node-01");
  SetConf(&facts, "gateway_0", "");
  const auto drifts =
      OneDrift("device-address", "device 0: gateway", "10.0.0.254");
  const DriftRepair repair =
      PlanDriftRepair(Planned(facts), drifts, {"device-address"});
  EXPECT_EQ(Steps(repair), "");
  EXPECT_EQ(absl::StrJoin(repair.left, "\n"),
            "device 0: gateway: putting it back is a change of kind hccn-conf, "
            "which is not enforced");
  EXPECT_EQ(
      PlanDriftRepair(Planned(facts), drifts, {"device-address", "hccn-conf"})
          .plan.steps_size(),
      1);
}

}  // namespace
}  // namespace clusterd
