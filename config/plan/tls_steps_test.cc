#include "config/plan/tls_steps.h"

#include <gtest/gtest.h>

#include "config/plan/good_cluster.h"
#include "config/plan/plan_text.h"

namespace clusterd {
namespace {

HostPlan Plan(const ClusterSpec& spec, const HostFacts& facts) {
  HostPlanBuilder builder(facts);
  PlanTlsSteps(spec, spec.servers(0), &builder);
  return builder.Finish();
}

TEST(PlanTlsStepsTest, PlansNothingWhenTheSpecIsSilentOrMet) {
  ClusterSpec silent = GoodSpec();
  silent.clear_tls();
  HostFacts facts = GoodFacts("node-01");
  EXPECT_TRUE(Plan(GoodSpec(), facts).steps().empty());
  DeviceOf(&facts, 0)->mutable_tls()->mutable_value()->set_enabled(true);
  EXPECT_TRUE(Plan(silent, facts).steps().empty());
}

TEST(PlanTlsStepsTest, SwitchesTheDeviceThatDiffers) {
  HostFacts facts = GoodFacts("node-01");
  DeviceOf(&facts, 1)->mutable_tls()->mutable_value()->set_enabled(true);
  const HostPlan plan = Plan(GoodSpec(), facts);
  ASSERT_EQ(plan.steps_size(), 1);
  EXPECT_EQ(StepText(plan.steps(0)), "device 1: TLS on -> off");
  EXPECT_EQ(plan.steps(0).kind(), CHANGE_TLS);
}

TEST(PlanTlsStepsTest, BlocksASwitchThatIsNotKnown) {
  HostFacts facts = GoodFacts("node-01");
  MakeMissing(DeviceOf(&facts, 0)->mutable_tls(), Missing::NOT_QUERIED,
              "the query writes hccn.conf");
  const HostPlan plan = Plan(GoodSpec(), facts);
  EXPECT_TRUE(plan.steps().empty());
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_NE(plan.blocked(0).fix().find("allow_tls_query"), std::string::npos);
}

TEST(PlanTlsStepsTest, WritesTheKeyThatTheFileLacks) {
  HostFacts facts = GoodFacts("node-01");
  SetConf(&facts, "tls_enable_0", "");
  const HostPlan plan = Plan(GoodSpec(), facts);
  ASSERT_EQ(plan.steps_size(), 1);
  EXPECT_EQ(StepText(plan.steps(0)),
            "device 0: hccn.conf tls_enable none -> 0");
}

TEST(PlanTlsStepsTest, BlocksAllDevicesWithoutTheTool) {
  HostFacts facts = GoodFacts("node-01");
  MakeMissing(facts.mutable_hccn_tool()->mutable_path(), Missing::ABSENT, "");
  const HostPlan plan = Plan(GoodSpec(), facts);
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_EQ(plan.blocked(0).devices_size(), 2);
}

}  // namespace
}  // namespace clusterd
