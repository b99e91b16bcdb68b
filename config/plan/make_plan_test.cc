#include "config/plan/make_plan.h"

#include <gtest/gtest.h>

#include "config/plan/good_cluster.h"
#include "config/plan/host_plan_check.h"

namespace clusterd {
namespace {

TEST(MakePlanTest, IsEmptyWhereNothingIsToBeDone) {
  const HostFacts first = GoodFacts("node-01");
  const HostFacts second = GoodFacts("node-02");
  const ClusterPlan plan = MakePlan(GoodSpec(), {&first, &second});
  EXPECT_TRUE(IsNothingToDo(plan));
  EXPECT_EQ(plan.hosts_size(), 2);
  EXPECT_EQ(plan.cluster(), "demo");
  EXPECT_EQ(plan.spec_digest(), "abc");
}

TEST(MakePlanTest, APlanOfNoHostIsNotNothingToDo) {
  EXPECT_FALSE(IsNothingToDo(MakePlan(GoodSpec(), {})));
}

TEST(MakePlanTest, PutsHostsInSpecOrder) {
  const HostFacts first = GoodFacts("node-01");
  const HostFacts second = GoodFacts("node-02");
  const ClusterPlan plan = MakePlan(GoodSpec(), {&second, &first});
  EXPECT_EQ(plan.hosts(0).host(), "node-01");
  EXPECT_EQ(plan.digest(), MakePlan(GoodSpec(), {&first, &second}).digest());
}

TEST(MakePlanTest, BlocksASilentHostAndAStranger) {
  HostFacts silent;
  silent.set_host("node-01");
  silent.mutable_missing()->set_reason(Missing::NO_ANSWER);
  const HostFacts stranger = GoodFacts("node-99");
  const ClusterPlan plan = MakePlan(GoodSpec(), {&stranger, &silent});
  EXPECT_FALSE(IsNothingToDo(plan));
  ASSERT_EQ(plan.hosts(0).blocked_size(), 1);
  EXPECT_EQ(plan.hosts(0).blocked(0).reason(),
            "nothing is known about it: no answer");
  ASSERT_EQ(plan.hosts(1).blocked_size(), 1);
  EXPECT_EQ(plan.hosts(1).blocked(0).reason(), "the spec does not name it");
}

TEST(MakePlanTest, EmptyFactsGiveReasonsAndNoStep) {
  HostFacts nothing;
  nothing.set_host("node-01");
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
  facts.mutable_ufw()->mutable_installed()->set_value(true);
  facts.mutable_ufw()->mutable_active()->set_value(true);
  facts.mutable_ufw()->mutable_enabled_at_boot()->set_value(true);
  const HostPlan plan = MakePlan(GoodSpec(), {&facts}).hosts(0);
  std::vector<PlanStep::ChangeCase> order;
  for (const PlanStep& step : plan.steps()) {
    order.push_back(step.change_case());
    EXPECT_FALSE(step.precondition().empty());
    EXPECT_FALSE(step.undo().empty());
  }
  EXPECT_EQ(order, (std::vector<PlanStep::ChangeCase>{
                       PlanStep::kHccnConfRepair, PlanStep::kDetectAddress,
                       PlanStep::kTls, PlanStep::kSysctl, PlanStep::kSysctlFile,
                       PlanStep::kFirewallDisable}));
  EXPECT_TRUE(CheckHostPlan(plan).ok()) << CheckHostPlan(plan);
  EXPECT_EQ(plan.command_ms(), 10000u);
}

}  // namespace
}  // namespace clusterd
