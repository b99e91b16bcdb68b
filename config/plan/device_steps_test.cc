#include "config/plan/device_steps.h"

#include <gtest/gtest.h>

#include "config/plan/good_cluster.h"
#include "config/plan/plan_text.h"

namespace clusterd {
namespace {

HostPlan Plan(const ClusterSpec& spec, const HostFacts& facts) {
  HostPlanBuilder builder(facts);
  PlanDeviceSteps(spec, spec.servers(0), &builder);
  return builder.Finish();
}

std::vector<std::string> Texts(const HostPlan& plan) {
  std::vector<std::string> texts;
  for (const PlanStep& step : plan.steps()) texts.push_back(StepText(step));
  return texts;
}

void SetLive(HostFacts* facts, uint32_t id, const std::string& address) {
  DeviceAddressFact* fact = DeviceOf(facts, id)->mutable_address();
  fact->mutable_value()->clear_settings();
  if (address.empty()) return;
  Ipv4Setting* setting = fact->mutable_value()->add_settings();
  setting->set_address(address);
  setting->set_netmask("255.255.255.0");
}

void AddRoute(HostFacts* facts, const std::string& key,
              const std::string& value) {
  HccnConf::Entry* entry =
      facts->mutable_hccn_conf()->mutable_value()->add_entries();
  entry->set_key(key);
  entry->set_device(0);
  entry->set_value(value);
}

TEST(PlanDeviceStepsTest, PlansNothingWhereAllIsRight) {
  const HostPlan plan = Plan(GoodSpec(), GoodFacts("node-01"));
  EXPECT_TRUE(plan.steps().empty());
  EXPECT_TRUE(plan.blocked().empty());
}

TEST(PlanDeviceStepsTest, SetsAddressThenGatewayThenDetectAddress) {
  HostFacts facts = GoodFacts("node-01");
  SetLive(&facts, 0, "10.7.0.1");
  DeviceOf(&facts, 0)->mutable_gateway()->set_value("10.7.0.254");
  DeviceOf(&facts, 0)->mutable_detect_address()->set_value("0.0.0.0");
  EXPECT_EQ(Texts(Plan(GoodSpec(), facts)),
            (std::vector<std::string>{
                "device 0: address 10.7.0.1/24 -> 10.0.0.1/24",
                "device 0: gateway 10.7.0.254 -> 10.0.0.254",
                "device 0: detect address 0.0.0.0 -> 10.0.0.254"}));
}

TEST(PlanDeviceStepsTest, PutsAGatewayBackThatTheNewAddressMayDrop) {
  HostFacts facts = GoodFacts("node-01");
  SetLive(&facts, 0, "10.0.0.99");
  ClusterSpec spec = GoodSpec();
  spec.mutable_servers(0)->mutable_devices(0)->clear_gateway();
  const HostPlan plan = Plan(spec, facts);
  ASSERT_EQ(plan.steps_size(), 2);
  ASSERT_EQ(plan.steps(0).consequences_size(), 1);
  EXPECT_EQ(plan.steps(0).consequences(0),
            "routes that only the device has, and hccn.conf does not, are not "
            "seen here and may go with the old address");
  EXPECT_TRUE(plan.steps(1).gateway().put_back());
  EXPECT_EQ(plan.steps(1).gateway().to(), "10.0.0.254");
}

TEST(PlanDeviceStepsTest, ReportsWhatANewSubnetDropsForGood) {
  HostFacts facts = GoodFacts("node-01");
  SetLive(&facts, 0, "10.7.0.1");
  DeviceOf(&facts, 0)->mutable_gateway()->set_value("10.7.0.254");
  SetConf(&facts, "gateway_0", "10.7.0.254");
  AddRoute(&facts, "route_address_172.16.0.0_netmask_255.255.0.0",
           "gateway_10.7.0.253");
  AddRoute(&facts, "route_address_172.17.0.0_netmask_255.255.0.0",
           "gateway_10.0.0.253");
  AddRoute(&facts, "ip_route",
           "add 10.7.0.0/24 via 10.7.0.253 dev eth0 table 1");
  ClusterSpec spec = GoodSpec();
  spec.mutable_servers(0)->mutable_devices(0)->clear_gateway();
  const HostPlan plan = Plan(spec, facts);
  const PlanStep& step = plan.steps(0);
  ASSERT_EQ(step.device_address().dropped_size(), 3);
  EXPECT_EQ(step.device_address().dropped(0).key(), "gateway");
  EXPECT_EQ(step.device_address().dropped(2).key(), "ip_route");
  ASSERT_EQ(step.consequences_size(), 4);
  EXPECT_NE(step.consequences(1).find("172.16.0.0"), std::string::npos);
}

TEST(PlanDeviceStepsTest, DropsNothingThatARepairMakesReadable) {
  HostFacts facts = GoodFacts("node-01");
  SetLive(&facts, 0, "10.0.0.99");
  SetConf(&facts, "address_0", "10.0.0.1\\r");
  SetConf(&facts, "gateway_0", "10.0.0.254\\r");
  AddRoute(&facts, "route_address_172.16.0.0_netmask_255.255.0.0",
           "10.0.0.253\\r");
  const HostPlan plan = Plan(GoodSpec(), facts);
  ASSERT_FALSE(plan.steps().empty());
  EXPECT_TRUE(plan.steps(0).device_address().dropped().empty())
      << plan.steps(0).ShortDebugString();
  // Routes of the device alone, which it says of every change.
  EXPECT_EQ(plan.steps(0).consequences_size(), 1);
}

TEST(PlanDeviceStepsTest, WritesAFileThatDisagreesThroughTheTool) {
  HostFacts facts = GoodFacts("node-01");
  SetConf(&facts, "address_1", "10.9.9.9");
  SetConf(&facts, "netdetect_1", "");
  const HostPlan plan = Plan(GoodSpec(), facts);
  EXPECT_EQ(Texts(plan),
            (std::vector<std::string>{
                "device 1: hccn.conf address 10.9.9.9/255.255.255.0 -> "
                "10.0.0.2/255.255.255.0",
                "device 1: hccn.conf netdetect none -> 10.0.0.254"}));
  EXPECT_EQ(plan.steps(0).kind(), CHANGE_HCCN_CONF);
}

TEST(PlanDeviceStepsTest, SaysThatAnUnsetAddressCannotBeTakenBack) {
  HostFacts facts = GoodFacts("node-01");
  SetLive(&facts, 0, "");
  const HostPlan plan = Plan(GoodSpec(), facts);
  ASSERT_GE(plan.steps_size(), 1);
  EXPECT_NE(plan.steps(0).consequences(0).find(
                "no command of hccn_tool is known to clear it"),
            std::string::npos);
  // Without an address it had no routes either.
  EXPECT_EQ(plan.steps(0).consequences_size(), 1);
}

// The spec names nothing of device 0.
ClusterSpec SilentSpec() {
  ClusterSpec spec = GoodSpec();
  DeviceSpec* device = spec.mutable_servers(0)->mutable_devices(0);
  const uint32_t id = device->id();
  device->Clear();
  device->set_id(id);
  return spec;
}

TEST(PlanUnnamedTest, LetsTheFileHaveWhatTheDeviceHas) {
  HostFacts facts = GoodFacts("node-01");
  EXPECT_TRUE(Plan(SilentSpec(), facts).steps().empty());
  SetConf(&facts, "gateway_0", "");
  SetConf(&facts, "netdetect_0", "10.0.0.77");
  const HostPlan plan = Plan(SilentSpec(), facts);
  EXPECT_EQ(Texts(plan),
            (std::vector<std::string>{
                "device 0: hccn.conf gateway none -> 10.0.0.254",
                "device 0: hccn.conf netdetect 10.0.0.77 -> 10.0.0.254"}));
  EXPECT_EQ(plan.steps(0).kind(), CHANGE_HCCN_CONF);
  EXPECT_TRUE(FindMovedFacts(plan, facts).empty());
  // An address alone in the spec leaves the other two to the device as well.
  ClusterSpec address_only = GoodSpec();
  address_only.mutable_servers(0)->mutable_devices(0)->clear_gateway();
  address_only.mutable_servers(0)->mutable_devices(0)->clear_detect_address();
  EXPECT_EQ(Texts(Plan(address_only, facts)), Texts(plan));
}

TEST(PlanUnnamedTest, LeavesAloneWhatTheToolWouldRefuseOrTheBootNotTake) {
  HostFacts outside = GoodFacts("node-01");
  SetConf(&outside, "gateway_0", "");
  DeviceOf(&outside, 0)->mutable_gateway()->set_value("10.9.9.9");
  HostFacts no_address = GoodFacts("node-01");
  SetConf(&no_address, "gateway_0", "");
  SetConf(&no_address, "address_0", "10.0.0.99");
  HostFacts dhcp = GoodFacts("node-01");
  SetConf(&dhcp, "gateway_0", "");
  SetConf(&dhcp, "udhcpc_enable_0", "1");
  HostFacts reserved = GoodFacts("node-01");
  DeviceOf(&reserved, 0)->mutable_detect_address()->set_value("192.168.1.9");
  for (const HostFacts* facts : {&outside, &no_address, &dhcp, &reserved}) {
    const HostPlan plan = Plan(SilentSpec(), *facts);
    EXPECT_TRUE(plan.steps().empty()) << plan.ShortDebugString();
    EXPECT_TRUE(plan.blocked().empty()) << plan.ShortDebugString();
  }
}

TEST(PlanUnnamedTest, LeavesAloneWhatTheFileAloneHasOrNobodyKnows) {
  HostFacts unset = GoodFacts("node-01");
  DeviceOf(&unset, 0)->mutable_gateway()->set_value("");
  DeviceOf(&unset, 0)->mutable_detect_address()->set_value("0.0.0.0");
  HostFacts unknown = GoodFacts("node-01");
  SetConf(&unknown, "gateway_0", "");
  MakeMissing(DeviceOf(&unknown, 0)->mutable_gateway(), Missing::BUSY, "");
  MakeMissing(DeviceOf(&unknown, 0)->mutable_detect_address(), Missing::BUSY,
              "");
  HostFacts silent = GoodFacts("node-01");
  SetConf(&silent, "gateway_0", "");
  MakeMissing(DeviceOf(&silent, 0)->mutable_address(), Missing::TIMED_OUT, "");
  for (const HostFacts* facts : {&unset, &unknown, &silent}) {
    const HostPlan plan = Plan(SilentSpec(), *facts);
    EXPECT_TRUE(plan.steps().empty()) << plan.ShortDebugString();
    EXPECT_TRUE(plan.blocked().empty()) << plan.ShortDebugString();
  }
}

TEST(PlanUnnamedTest, BlocksNothingOnAHostWithoutSetCommands) {
  ClusterSpec spec = SilentSpec();
  spec.mutable_servers(0)->mutable_devices()->RemoveLast();
  HostFacts facts = GoodFacts("node-01");
  SetConf(&facts, "gateway_0", "");
  EXPECT_EQ(Plan(spec, facts).steps_size(), 1);
  facts.mutable_hccn_tool()->set_generation(NpuToolFacts::ASCEND_950);
  const HostPlan plan = Plan(spec, facts);
  EXPECT_TRUE(plan.steps().empty());
  EXPECT_TRUE(plan.blocked().empty());
}

TEST(PlanDeviceStepsTest, BlocksADeviceOfWhichTheAddressIsUnknown) {
  HostFacts facts = GoodFacts("node-01");
  MakeMissing(DeviceOf(&facts, 0)->mutable_address(), Missing::TIMED_OUT,
              "no answer in 10s");
  const HostPlan plan = Plan(GoodSpec(), facts);
  EXPECT_TRUE(plan.steps().empty());
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_EQ(BlockedText(plan.blocked(0)),
            "device 0: address 10.0.0.1 netmask 255.255.255.0 cannot be "
            "planned: its live address is not known: timed out: no answer in "
            "10s; let hccn_tool answer on this host, then plan again");
}

TEST(PlanDeviceStepsTest, BlocksADeviceThatTheHostDoesNotHave) {
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_devices()->RemoveLast();
  const HostPlan plan = Plan(GoodSpec(), facts);
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_EQ(plan.blocked(0).devices(0), 1u);
}

TEST(PlanDeviceStepsTest, BlocksGatewayAndDetectAddressThatAreUnknown) {
  HostFacts facts = GoodFacts("node-01");
  MakeMissing(DeviceOf(&facts, 0)->mutable_gateway(), Missing::BUSY, "");
  MakeMissing(DeviceOf(&facts, 1)->mutable_detect_address(), Missing::BUSY, "");
  const HostPlan plan = Plan(GoodSpec(), facts);
  EXPECT_TRUE(plan.steps().empty());
  EXPECT_EQ(plan.blocked_size(), 2);
}

TEST(PlanDeviceStepsTest, BlocksAllWithoutToolOrFile) {
  HostFacts no_tool = GoodFacts("node-01");
  MakeMissing(no_tool.mutable_hccn_tool()->mutable_path(), Missing::ABSENT, "");
  HostFacts no_file = GoodFacts("node-01");
  MakeMissing(no_file.mutable_hccn_conf(), Missing::ABSENT, "");
  HostFacts other_tool = GoodFacts("node-01");
  other_tool.mutable_hccn_tool()->set_generation(NpuToolFacts::ASCEND_950);
  HostFacts long_line = GoodFacts("node-01");
  long_line.mutable_hccn_conf()->mutable_value()->add_problems()->set_kind(
      HccnConf::Problem::LINE_TOO_LONG);
  for (HostFacts* facts : {&no_tool, &no_file, &other_tool, &long_line}) {
    SetLive(facts, 0, "10.7.0.1");
    const HostPlan plan = Plan(GoodSpec(), *facts);
    EXPECT_TRUE(plan.steps().empty());
    ASSERT_EQ(plan.blocked_size(), 1);
    EXPECT_EQ(plan.blocked(0).devices_size(), 2);
  }
}

TEST(PlanDeviceStepsTest, BlocksAddressesThatTheToolTakesAndNoNetworkDoes) {
  for (const char* const address :
       {"127.0.0.1", "224.0.0.1", "240.0.0.1", "10.0.0.0", "10.0.0.255"}) {
    ClusterSpec spec = GoodSpec();
    spec.mutable_servers(0)->mutable_devices(0)->set_address(address);
    EXPECT_EQ(Plan(spec, GoodFacts("node-01")).blocked_size(), 1) << address;
  }
  ClusterSpec spec = GoodSpec();
  spec.mutable_servers(0)->mutable_devices(0)->set_netmask("0.0.0.0");
  EXPECT_EQ(Plan(spec, GoodFacts("node-01")).blocked_size(), 1);
}

TEST(PlanDeviceStepsTest, BlocksAnAddressThatTheToolRefusesOnTheProduct) {
  ClusterSpec spec = GoodSpec();
  spec.mutable_servers(0)->mutable_devices(0)->set_address("192.168.1.7");
  const HostPlan plan = Plan(spec, GoodFacts("node-01"));
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_NE(plan.blocked(0).reason().find("192.168.1.0/24"), std::string::npos);
}

TEST(PlanDeviceStepsTest, BlocksAGatewayOutsideTheSubnet) {
  ClusterSpec spec = GoodSpec();
  spec.mutable_servers(0)->mutable_devices(0)->set_gateway("10.1.0.254");
  const HostPlan plan = Plan(spec, GoodFacts("node-01"));
  EXPECT_TRUE(plan.steps().empty());
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_EQ(plan.blocked(0).what(), "gateway 10.1.0.254");
}

TEST(PlanDeviceStepsTest, FreesAnAddressBeforeAnotherDeviceTakesIt) {
  HostFacts facts = GoodFacts("node-01");
  SetLive(&facts, 0, "10.0.0.9");
  SetLive(&facts, 1, "10.0.0.1");
  const std::vector<std::string> texts = Texts(Plan(GoodSpec(), facts));
  ASSERT_EQ(texts.size(), 4u);
  EXPECT_EQ(texts[0], "device 1: address 10.0.0.1/24 -> 10.0.0.2/24");
  EXPECT_EQ(texts[2], "device 0: address 10.0.0.9/24 -> 10.0.0.1/24");
}

TEST(PlanDeviceStepsTest, BlocksDevicesThatSwapAddresses) {
  HostFacts facts = GoodFacts("node-01");
  SetLive(&facts, 0, "10.0.0.2");
  SetLive(&facts, 1, "10.0.0.1");
  const HostPlan plan = Plan(GoodSpec(), facts);
  EXPECT_TRUE(plan.steps().empty());
  EXPECT_EQ(plan.blocked_size(), 2);
}

TEST(PlanDeviceStepsTest, BlocksAnAddressThatAnotherDeviceKeeps) {
  HostFacts facts = GoodFacts("node-01");
  SetLive(&facts, 0, "10.0.0.9");
  DeviceFacts* other = facts.add_devices();
  other->set_id(7);
  Ipv4Setting* setting =
      other->mutable_address()->mutable_value()->add_settings();
  setting->set_address("10.0.0.1");
  setting->set_netmask("255.255.255.0");
  const HostPlan plan = Plan(GoodSpec(), facts);
  EXPECT_TRUE(plan.steps().empty());
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_NE(plan.blocked(0).reason().find("device 7"), std::string::npos);
}

TEST(PlanDeviceStepsTest, RestsOnEveryFactThatDecided) {
  HostFacts facts = GoodFacts("node-01");
  SetLive(&facts, 0, "10.7.0.1");
  const HostPlan plan = Plan(GoodSpec(), facts);
  std::vector<std::string> names;
  for (const PlanFact& fact : plan.facts()) names.push_back(fact.name());
  EXPECT_EQ(names, (std::vector<std::string>{
                       "device 0: address", "device 0: gateway",
                       "hccn.conf: address_0", "hccn.conf: gateway_0",
                       "hccn.conf: netmask_0", "hccn.conf: routes_0"}));
  EXPECT_TRUE(FindMovedFacts(plan, facts).empty());
}

}  // namespace
}  // namespace clusterd
