// Gateways that hccn_tool drops: of devices with DHCP, and shared ones.
#include <string>

#include "absl/strings/str_cat.h"
#include "config/plan/make_plan.h"
#include "config/plan/named_facts.h"
#include "config/plan/settings.h"
#include "config/plan/step_planners.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/good_cluster.h"
#include "tests/support/config/plan_steps.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::Contains, ::testing::ElementsAre, ::testing::HasSubstr,
    ::testing::IsEmpty;

void SetAddress(HostFacts* facts, uint32_t id, const std::string& address) {
  DeviceOf(facts, id)
      ->mutable_address()
      ->mutable_value()
      ->mutable_settings(0)
      ->set_address(address);
}

void SetGateway(HostFacts* facts, uint32_t id, const std::string& live,
                const std::string& stored) {
  DeviceOf(facts, id)->mutable_gateway()->set_value(live);
  SetConf(facts, absl::StrCat("gateway_", id), stored);
}

HostFacts FactsWithDhcp() {
  HostFacts facts = GoodFacts("node-01");
  SetConf(&facts, "udhcpc_enable_0", "1");
  return facts;
}

TEST(PlanDhcpGatewayTest, BlocksAPlannedGatewayWithKeyAndWhatToDo) {
  HostFacts facts = FactsWithDhcp();
  SetGateway(&facts, 0, "10.0.0.253", "10.0.0.253");
  const HostPlan plan = DeviceStepsOf(GoodSpec(), facts);
  EXPECT_THAT(BlockedTexts(plan),
              ElementsAre(BlockedAs(
                  "device 0: gateway 10.0.0.254",
                  Worded("plan-say-stores-no-gateway", "udhcpc_enable_0"),
                  Worded("plan-say-take-out-dhcp", "udhcpc_enable_0"))));
}

TEST(PlanDhcpGatewayTest, LeavesTheRightOneAloneWhateverTheFileHas) {
  HostFacts facts = FactsWithDhcp();
  SetGateway(&facts, 0, "10.0.0.254", "");
  const HostPlan plan = DeviceStepsOf(GoodSpec(), facts);
  EXPECT_THAT(plan.steps(), IsEmpty());
  EXPECT_THAT(plan.blocked(), IsEmpty());
}

TEST(PlanDhcpGatewayTest, ANewAddressIsBlockedWhateverTheLineSays) {
  for (const char* value : {"1", "0", "on", ""}) {
    HostFacts facts = GoodFacts("node-01");
    AddConf(&facts, "udhcpc_enable", value);
    SetAddress(&facts, 0, "10.0.0.99");
    SetGateway(&facts, 0, "10.0.0.254", "");
    const HostPlan plan = DeviceStepsOf(GoodSpec(), facts);
    EXPECT_THAT(plan.steps(), IsEmpty());
    ASSERT_GT(plan.blocked_size(), 0) << value;
    EXPECT_THAT(BlockedTexts(plan)[0],
                HasSubstr(Say("plan-say-address-by-dhcp", "udhcpc_enable_0")));
  }
}

TEST(PlanAddressTest, IsBlockedByALineOverWhichTheToolFails) {
  HostFacts facts = GoodFacts("node-01");
  auto* const problem =
      facts.mutable_hccn_conf()->mutable_value()->add_problems();
  MergeText("kind: BAD_VALUE line: 7 text: 'send_arp_status_0=2'", problem);
  SetAddress(&facts, 0, "10.0.0.99");
  EXPECT_THAT(BlockedTexts(DeviceStepsOf(GoodSpec(), facts)),
              Contains(HasSubstr(
                  Say("plan-say-set-fails-over", 7, "send_arp_status_0=2"))));
  // The tool ends with 16 over this one.
  problem->set_text("ip_route_0=x");
  EXPECT_THAT(
      BlockedTexts(DeviceStepsOf(GoodSpec(), facts)),
      Contains(HasSubstr(Say("plan-say-set-fails-over", 7, "ip_route_0=x"))));
  problem->set_text("send_arp_status_1=2");
  EXPECT_THAT(StepTexts(DeviceStepsOf(GoodSpec(), facts)),
              Contains("device 0: address 10.0.0.99/24 -> 10.0.0.1/24"));
}

ClusterSpec TrainingSpec(const std::string& mode) {
  ClusterSpec spec = GoodSpec("product: 'atlas-training'");
  spec.set_mode(mode);
  return spec;
}

// Device 1 is in a subnet of its own, as the rails of SMP are.
ClusterSpec RailSpec() {
  ClusterSpec spec = TrainingSpec("smp");
  DeviceSpec* device = spec.mutable_servers(0)->mutable_devices(1);
  device->set_address("10.1.0.1");
  device->set_gateway("10.1.0.254");
  device->set_detect_address("10.1.0.254");
  return spec;
}

// The same, and the spec names no gateway for device 0.
ClusterSpec SecondRailSpec() {
  ClusterSpec spec = RailSpec();
  spec.mutable_servers(0)->mutable_devices(0)->clear_gateway();
  return spec;
}

HostFacts RailFacts() {
  HostFacts facts = GoodFacts("node-01");
  SetAddress(&facts, 1, "10.1.0.1");
  SetConf(&facts, "address_1", "10.1.0.1");
  DeviceOf(&facts, 1)->mutable_detect_address()->set_value("10.1.0.254");
  SetConf(&facts, "netdetect_1", "10.1.0.254");
  SetGateway(&facts, 1, "", "");
  return facts;
}

TEST(PlanSharedGatewayTest, OneForFourIsEnoughWhereAllHaveTheSame) {
  HostFacts facts = GoodFacts("node-01");
  SetGateway(&facts, 1, "", "");
  for (const char* mode : {"amp", "smp"}) {
    const HostPlan plan = DeviceStepsOf(TrainingSpec(mode), facts);
    EXPECT_THAT(plan.steps(), IsEmpty()) << mode;
    EXPECT_THAT(plan.blocked(), IsEmpty()) << mode;
  }
  EXPECT_EQ(DeviceStepsOf(GoodSpec(), facts).steps_size(), 1);
}

TEST(PlanSharedGatewayTest, PlansOneStepForAllThatLackTheSame) {
  HostFacts facts = GoodFacts("node-01");
  for (const uint32_t id : {0, 1}) SetGateway(&facts, id, "", "");
  EXPECT_THAT(StepTexts(DeviceStepsOf(TrainingSpec("amp"), facts)),
              ElementsAre("device 0: gateway none -> 10.0.0.254"));
}

TEST(PlanSharedGatewayTest, BlocksRailsOfWhichTheToolKeepsOne) {
  const HostPlan plan = DeviceStepsOf(RailSpec(), RailFacts());
  EXPECT_THAT(
      BlockedTexts(plan),
      ElementsAre(BlockedAs("device 1: gateway 10.1.0.254",
                            Worded("plan-say-one-gateway", "0-3", 0),
                            Worded("plan-say-name-one-gateway", "0-3"))));
}

TEST(PlanSharedGatewayTest, TheDeviceThatHasItsOwnKeepsIt) {
  HostFacts facts = RailFacts();
  SetGateway(&facts, 0, "", "");
  SetGateway(&facts, 1, "10.1.0.254", "10.1.0.254");
  const HostPlan plan = DeviceStepsOf(RailSpec(), facts);
  EXPECT_THAT(plan.steps(), IsEmpty());
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_THAT(plan.blocked(0).devices(), ElementsAre(0));
}

TEST(PlanSharedGatewayTest, TellsWhoseGatewayGoesAndRestsOnIt) {
  const ClusterSpec spec = SecondRailSpec();
  const HostFacts facts = RailFacts();
  HostPlan plan = DeviceStepsOf(spec, facts);
  EXPECT_THAT(StepTexts(plan),
              ElementsAre("device 1: gateway none -> 10.1.0.254"));
  const PlanStep& step = plan.steps(0);
  ASSERT_EQ(step.dropped_size(), 1);
  EXPECT_EQ(step.dropped(0).device(), 0u);
  EXPECT_THAT(step.consequences(),
              Contains(Say("plan-say-loses-gateway", "0-3",
                           "gateway_0=10.0.0.254", 0, "10.0.0.254")));
  EXPECT_EQ(CheckHostPlan(plan), absl::OkStatus());
  // The removed gateway belongs to the step: applied again, it holds.
  HostFacts after = facts;
  SetGateway(&after, 0, "", "");
  SetGateway(&after, 1, "10.1.0.254", "10.1.0.254");
  const auto moved = FindMovedFacts(plan, after);
  EXPECT_EQ(moved.size(), 4u);
  EXPECT_TRUE(IsAlreadySo(plan, moved, SettingFacts(after)));
  EXPECT_THAT(DeviceStepsOf(spec, after).steps(), IsEmpty());
}

TEST(PlanSharedGatewayTest, DoesNotTakeOneForWhatTheSpecDoesNotName) {
  ClusterSpec spec = RailSpec();
  for (DeviceSpec& device : *spec.mutable_servers(0)->mutable_devices()) {
    device.clear_gateway();
  }
  HostFacts facts = RailFacts();
  SetGateway(&facts, 1, "10.1.0.254", "");
  EXPECT_THAT(DeviceStepsOf(spec, facts).steps(), IsEmpty());
  spec.set_product("atlas-a2");
  EXPECT_EQ(DeviceStepsOf(spec, facts).steps_size(), 1);
}

TEST(PlanSharedGatewayTest, BlocksWhereWhatWouldGoIsNoAddressOrNotKnown) {
  HostFacts bad = RailFacts();
  SetGateway(&bad, 0, "", "bad");
  EXPECT_THAT(BlockedReasons(DeviceStepsOf(SecondRailSpec(), bad)),
              ElementsAre(HasSubstr("gateway_0=bad")));
  HostFacts unknown = RailFacts();
  MakeMissing(DeviceOf(&unknown, 0)->mutable_gateway(), Missing::BUSY, "");
  EXPECT_THAT(BlockedReasons(DeviceStepsOf(SecondRailSpec(), unknown)),
              ElementsAre(HasSubstr(Say("plan-say-takes-gateway", 0))));
}

TEST(CheckHostPlanTest, OnlyAGatewayTakesThatOfAnotherDevice) {
  HostPlan plan = DeviceStepsOf(SecondRailSpec(), RailFacts());
  ASSERT_EQ(plan.steps_size(), 1);
  PlanStep* step = plan.mutable_steps(0);
  step->mutable_dropped(0)->set_key("ip_route");
  EXPECT_THAT(CheckHostPlan(plan).message(), HasSubstr("ip_route"));
  step->mutable_dropped(0)->set_key("gateway");
  step->mutable_dropped(0)->set_device(64);
  EXPECT_TRUE(absl::IsInvalidArgument(CheckHostPlan(plan)));
}

}  // namespace
}  // namespace clusterd
