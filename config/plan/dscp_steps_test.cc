// Steps for a map, which the tool takes pair by pair.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "config/plan/make_plan.h"
#include "config/plan/settings.h"
#include "config/plan/step_planners.h"
#include "config/words/words.h"
#include "tests/support/config/good_cluster.h"
#include "tests/support/config/plan_steps.h"

namespace clusterd {
namespace {

// The plan for one device with this live map and this hccn.conf.
HostPlan PlanOfMap(const std::string& wanted, const std::string& live,
                   const std::string& stored) {
  ClusterSpec spec = GoodSpec();
  spec.mutable_lossless()->set_dscp_to_tc(wanted);
  spec.mutable_servers(0)->mutable_devices()->RemoveLast();
  HostFacts facts = GoodFacts("node-01");
  DeviceOf(&facts, 0)->mutable_dscp_to_tc()->set_value(live);
  SetConf(&facts, "dscp_tc_0", stored);
  return DeviceStepsOf(spec, facts);
}

TEST(PlanDscpTest, PlansNothingWhereDeviceAndFileHaveTheMap) {
  for (const char* const stored :
       {"33:1,46:2,", "46:2,3:0,33:1,", "46:2,33:1"}) {
    const HostPlan plan = PlanOfMap("33:1,46:2", "33:1,46:2", stored);
    EXPECT_TRUE(plan.steps().empty()) << stored;
    EXPECT_TRUE(plan.blocked().empty()) << stored;
  }
  for (const char* const stored : {"", "33:0,"}) {
    EXPECT_TRUE(PlanOfMap("0:0", "", stored).steps().empty()) << stored;
    EXPECT_TRUE(PlanOfMap("", "", stored).steps().empty()) << stored;
  }
}

TEST(PlanDscpTest, SetsTheWholeMapAndRestsOnDeviceAndFile) {
  const HostPlan plan = PlanOfMap("33:1,46:2", "3:2", "3:2,");
  ASSERT_THAT(StepTexts(plan),
              ::testing::ElementsAre("device 0: DSCP to TC 3:2 -> 33:1,46:2"));
  EXPECT_EQ(plan.steps(0).kind(), CHANGE_DEVICE_ADDRESS);
  EXPECT_EQ(plan.steps(0).undo(), Say("plan-say-undo-set", "3:2"));
  ASSERT_THAT(FactNames(plan), ::testing::ElementsAre("device 0: dscp to tc",
                                                      "hccn.conf: dscp_tc_0"));
  EXPECT_EQ(SettingText(plan.facts(1).value()), "3:2");
}

TEST(PlanDscpTest, PutsEveryDscpBackToNoughtWhereTheSpecWantsNone) {
  EXPECT_THAT(StepTexts(PlanOfMap("0:0", "3:2", "3:2,")),
              ::testing::ElementsAre("device 0: DSCP to TC 3:2 -> 0:0"));
}

TEST(PlanDscpTest, WritesTheLineThatTheFileLacks) {
  const HostPlan plan = PlanOfMap("33:1", "33:1", "");
  ASSERT_THAT(StepTexts(plan), ::testing::ElementsAre(
                                   "device 0: hccn.conf dscp_tc 0:0 -> 33:1"));
  EXPECT_EQ(plan.steps(0).kind(), CHANGE_HCCN_CONF);
}

TEST(PlanDscpTest, BlocksWhereTheFileHasWhatIsNoMap) {
  EXPECT_THAT(BlockedTexts(PlanOfMap("33:1", "", "33:7,")),
              ::testing::ElementsAre(BlockedAs(
                  "device 0: DSCP to TC 33:1",
                  Worded("plan-say-not-such-a-map", "dscp_tc_0=33:7,"),
                  Worded("plan-say-correct-line"))));
}

}  // namespace
}  // namespace clusterd
