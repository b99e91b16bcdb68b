#include "config/plan/tls_steps.h"

#include <gtest/gtest.h>

#include <string>

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

TEST(PlanTlsStepsTest, DoesNotAskForWhatTheSpecAllowsAlready) {
  ClusterSpec spec = GoodSpec();
  spec.set_allow_tls_query(true);
  HostFacts facts = GoodFacts("node-01");
  MakeMissing(DeviceOf(&facts, 0)->mutable_tls(), Missing::NOT_QUERIED,
              "this host does not allow that");
  const HostPlan plan = Plan(spec, facts);
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_NE(plan.blocked(0).reason().find("this host does not allow that"),
            std::string::npos);
  EXPECT_EQ(plan.blocked(0).fix().find("allow_tls_query"), std::string::npos);
}

TEST(PlanTlsStepsTest, RewritesTheFileThatSaysAnotherSwitchThanTheDevice) {
  for (const char* in_file : {"1", "2"}) {
    HostFacts facts = GoodFacts("node-01");
    SetConf(&facts, "tls_enable_0", in_file);
    const HostPlan plan = Plan(GoodSpec(), facts);
    ASSERT_EQ(plan.steps_size(), 1);
    EXPECT_EQ(
        StepText(plan.steps(0)),
        std::string("device 0: hccn.conf tls_enable ") + in_file + " -> 0");
    EXPECT_EQ(plan.steps(0).kind(), CHANGE_HCCN_CONF);
  }
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
