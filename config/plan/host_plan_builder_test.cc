#include "config/plan/host_plan_builder.h"

#include <gtest/gtest.h>

#include "config/plan/good_cluster.h"

namespace clusterd {
namespace {

TEST(HostPlanBuilderTest, NumbersStepsAndKeepsTheirFactsOnceAndSorted) {
  const HostFacts facts = GoodFacts("node-01");
  HostPlanBuilder builder(facts);
  builder.AddStep(CHANGE_TLS, {"device 1: tls", "device 0: tls"});
  builder.AddStep(CHANGE_TLS, {"device 0: tls"});
  const HostPlan plan = builder.Finish();
  EXPECT_EQ(plan.host(), "node-01");
  EXPECT_EQ(plan.steps(1).id(), 2u);
  ASSERT_EQ(plan.facts_size(), 2);
  EXPECT_EQ(plan.facts(0).name(), "device 0: tls");
  EXPECT_EQ(plan.facts(0).value(), "off");
}

TEST(HostPlanBuilderTest, ReadsTheFirstLineOfAKeyWithoutCarriageReturn) {
  HostFacts facts = GoodFacts("node-01");
  SetConf(&facts, "address_0", "10.0.0.1\r");
  const HostPlanBuilder builder(facts);
  EXPECT_EQ(builder.ConfValue("address", 0), "10.0.0.1");
  EXPECT_EQ(builder.ConfValue("address", 9), "");
}

TEST(HostPlanBuilderTest, FindsNoDeviceThatTheHostDidNotSend) {
  const HostFacts facts = GoodFacts("node-01");
  const HostPlanBuilder builder(facts);
  EXPECT_NE(builder.FindDevice(1), nullptr);
  EXPECT_EQ(builder.FindDevice(2), nullptr);
}

}  // namespace
}  // namespace clusterd
