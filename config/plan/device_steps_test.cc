#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/named_facts.h"
#include "config/plan/settings.h"
#include "config/plan/step_planners.h"
#include "config/words/words.h"
#include "tests/support/config/good_cluster.h"
#include "tests/support/config/plan_steps.h"

namespace clusterd {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

// "": no step, and nothing is blocked.
std::string Content(const HostPlan& plan) {
  return plan.steps().empty() && plan.blocked().empty()
             ? ""
             : plan.ShortDebugString();
}

void SetLive(HostFacts* facts, uint32_t id, const std::string& address) {
  DeviceAddressFact* fact = DeviceOf(facts, id)->mutable_address();
  fact->mutable_value()->clear_settings();
  if (address.empty()) return;
  Ipv4Setting* setting = fact->mutable_value()->add_settings();
  setting->set_address(address);
  setting->set_netmask("255.255.255.0");
}

// Device 0 has this address instead of 10.0.0.1, and device 1 instead of .2.
HostFacts LiveFacts(const std::string& first,
                    const std::string& second = "10.0.0.2") {
  HostFacts facts = GoodFacts("node-01");
  SetLive(&facts, 0, first);
  SetLive(&facts, 1, second);
  return facts;
}

ClusterSpec SpecWithoutGateway() {
  ClusterSpec spec = GoodSpec();
  spec.mutable_servers(0)->mutable_devices(0)->clear_gateway();
  return spec;
}

TEST(PlanDeviceStepsTest, PlansNothingWhereAllIsRight) {
  EXPECT_EQ(Content(DeviceStepsOf(GoodSpec(), GoodFacts("node-01"))), "");
}

TEST(PlanDeviceStepsTest, SetsAddressThenGatewayThenDetectAddress) {
  HostFacts facts = LiveFacts("10.7.0.1");
  DeviceOf(&facts, 0)->mutable_gateway()->set_value("10.7.0.254");
  DeviceOf(&facts, 0)->mutable_detect_address()->set_value("0.0.0.0");
  EXPECT_EQ(StepTexts(DeviceStepsOf(GoodSpec(), facts)),
            (std::vector<std::string>{
                "device 0: address 10.7.0.1/24 -> 10.0.0.1/24",
                "device 0: gateway 10.7.0.254 -> 10.0.0.254",
                "device 0: detect address 0.0.0.0 -> 10.0.0.254"}));
}

TEST(PlanDeviceStepsTest, PutsAGatewayBackThatTheNewAddressMayDrop) {
  const HostPlan plan =
      DeviceStepsOf(SpecWithoutGateway(), LiveFacts("10.0.0.99"));
  ASSERT_EQ(plan.steps_size(), 2);
  ASSERT_EQ(plan.steps(0).consequences_size(), 1);
  EXPECT_EQ(plan.steps(0).consequences(0), Say("plan-say-unseen-routes"));
  EXPECT_EQ(
      StepText(plan.steps(1)),
      StepText(DeviceStep(0, SETTING_GATEWAY, "10.0.0.254", "10.0.0.254")));
}

TEST(PlanDeviceStepsTest, ReportsWhatANewSubnetDropsForGood) {
  HostFacts facts = LiveFacts("10.7.0.1");
  DeviceOf(&facts, 0)->mutable_gateway()->set_value("10.7.0.254");
  SetConf(&facts, "gateway_0", "10.7.0.254");
  AddConf(&facts, "route_address_172.16.0.0_netmask_255.255.0.0",
          "gateway_10.7.0.253");
  AddConf(&facts, "route_address_172.17.0.0_netmask_255.255.0.0",
          "gateway_10.0.0.253");
  AddConf(&facts, "ip_route",
          "add 10.7.0.0/24 via 10.7.0.253 dev eth0 table 1");
  const HostPlan plan = DeviceStepsOf(SpecWithoutGateway(), facts);
  const PlanStep& step = plan.steps(0);
  ASSERT_EQ(step.dropped_size(), 3);
  EXPECT_EQ(step.dropped(0).key(), "gateway");
  EXPECT_EQ(step.dropped(2).key(), "ip_route");
  ASSERT_EQ(step.consequences_size(), 4);
  EXPECT_NE(step.consequences(1).find("172.16.0.0"), std::string::npos);
}

TEST(PlanDeviceStepsTest, DropsNothingThatARepairMakesReadable) {
  HostFacts facts = LiveFacts("10.0.0.99");
  SetConf(&facts, "address_0", "10.0.0.1\\r");
  SetConf(&facts, "gateway_0", "10.0.0.254\\r");
  AddConf(&facts, "route_address_172.16.0.0_netmask_255.255.0.0",
          "10.0.0.253\\r");
  const HostPlan plan = DeviceStepsOf(GoodSpec(), facts);
  ASSERT_FALSE(plan.steps().empty());
  EXPECT_TRUE(plan.steps(0).dropped().empty())
      << plan.steps(0).ShortDebugString();
  // Every change warns of routes that only the device has.
  EXPECT_EQ(plan.steps(0).consequences_size(), 1);
}

TEST(PlanDeviceStepsTest, WritesAFileThatDisagreesThroughTheTool) {
  HostFacts facts = GoodFacts("node-01");
  SetConf(&facts, "address_1", "10.9.9.9");
  SetConf(&facts, "netdetect_1", "");
  const HostPlan plan = DeviceStepsOf(GoodSpec(), facts);
  EXPECT_EQ(StepTexts(plan),
            StepTexts({RewriteStep(1, SETTING_ADDRESS, "10.9.9.9/255.255.255.0",
                                   "10.0.0.2/255.255.255.0"),
                       RewriteStep(1, SETTING_DETECT_ADDRESS, "none",
                                   "10.0.0.254")}));
  EXPECT_EQ(plan.steps(0).kind(), CHANGE_HCCN_CONF);
}

TEST(PlanDeviceStepsTest, SaysThatAnUnsetAddressCannotBeTakenBack) {
  const HostPlan plan = DeviceStepsOf(GoodSpec(), LiveFacts(""));
  ASSERT_GE(plan.steps_size(), 1);
  // Without an address it had no routes.
  EXPECT_THAT(plan.steps(0).consequences(),
              ElementsAre(Say("plan-say-no-clear", "address")));
}

// The spec does not name any setting of device 0.
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
  EXPECT_TRUE(DeviceStepsOf(SilentSpec(), facts).steps().empty());
  SetConf(&facts, "gateway_0", "");
  SetConf(&facts, "netdetect_0", "10.0.0.77");
  const HostPlan plan = DeviceStepsOf(SilentSpec(), facts);
  EXPECT_EQ(StepTexts(plan),
            StepTexts({RewriteStep(0, SETTING_GATEWAY, "none", "10.0.0.254"),
                       RewriteStep(0, SETTING_DETECT_ADDRESS, "10.0.0.77",
                                   "10.0.0.254")}));
  EXPECT_EQ(plan.steps(0).kind(), CHANGE_HCCN_CONF);
  EXPECT_TRUE(FindMovedFacts(plan, facts).empty());
  // If the spec names only an address, the device keeps the other two as well.
  ClusterSpec address_only = SpecWithoutGateway();
  address_only.mutable_servers(0)->mutable_devices(0)->clear_detect_address();
  EXPECT_EQ(StepTexts(DeviceStepsOf(address_only, facts)), StepTexts(plan));
}

TEST(PlanUnnamedTest, LeavesAloneWhatToolOrBootWouldNotTakeOrNobodyKnows) {
  std::vector<HostFacts> cases(7, GoodFacts("node-01"));
  for (const int i : {0, 1, 2, 3, 4}) SetConf(&cases[i], "gateway_0", "");
  // A gateway outside, no address, and DHCP.
  DeviceOf(&cases[0], 0)->mutable_gateway()->set_value("10.9.9.9");
  SetConf(&cases[1], "address_0", "10.0.0.99");
  SetConf(&cases[2], "udhcpc_enable_0", "1");
  // Unknown values, values only in the file, and a reserved address.
  MakeMissing(DeviceOf(&cases[3], 0)->mutable_gateway(), Missing::BUSY, "");
  MakeMissing(DeviceOf(&cases[3], 0)->mutable_detect_address(), Missing::BUSY,
              "");
  MakeMissing(DeviceOf(&cases[4], 0)->mutable_address(), Missing::TIMED_OUT,
              "");
  DeviceOf(&cases[5], 0)->mutable_gateway()->set_value("");
  DeviceOf(&cases[5], 0)->mutable_detect_address()->set_value("0.0.0.0");
  DeviceOf(&cases[6], 0)->mutable_detect_address()->set_value("192.168.1.9");
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(Content(DeviceStepsOf(SilentSpec(), cases[i])), "") << i;
  }
}

TEST(PlanUnnamedTest, BlocksNothingOnAHostWithoutSetCommands) {
  ClusterSpec spec = SilentSpec();
  spec.mutable_servers(0)->mutable_devices()->RemoveLast();
  spec.clear_tls();
  HostFacts facts = GoodFacts("node-01");
  SetConf(&facts, "gateway_0", "");
  EXPECT_EQ(DeviceStepsOf(spec, facts).steps_size(), 1);
  facts.mutable_hccn_tool()->set_generation(NpuToolFacts::ASCEND_950);
  EXPECT_EQ(Content(DeviceStepsOf(spec, facts)), "");
}

TEST(PlanDeviceStepsTest, BlocksADeviceOfWhichTheAddressIsUnknown) {
  HostFacts facts = GoodFacts("node-01");
  MakeMissing(DeviceOf(&facts, 0)->mutable_address(), Missing::TIMED_OUT,
              "no answer in 10s");
  EXPECT_THAT(
      BlockedTexts(DeviceStepsOf(GoodSpec(), facts)),
      ElementsAre(BlockedAs(
          "device 0: address 10.0.0.1 netmask 255.255.255.0",
          Worded("plan-say-live-not-known", "address",
                 MissingWords(&DeviceOf(&facts, 0)->address().missing())),
          Worded("plan-say-ask-the-tool"))));
}

TEST(PlanDeviceStepsTest, BlocksADeviceThatTheHostDoesNotHave) {
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_devices()->RemoveLast();
  const HostPlan plan = DeviceStepsOf(GoodSpec(), facts);
  ASSERT_EQ(plan.blocked_size(), 2);  // Its addresses, and its TLS switch.
  EXPECT_EQ(plan.blocked(0).kind(), CHANGE_DEVICE_ADDRESS);
  EXPECT_EQ(plan.blocked(0).devices(0), 1u);
  EXPECT_EQ(plan.blocked(1).kind(), CHANGE_TLS);
  EXPECT_EQ(plan.blocked(1).devices(0), 1u);
}

TEST(PlanDeviceStepsTest, BlocksGatewayAndDetectAddressThatAreUnknown) {
  HostFacts facts = GoodFacts("node-01");
  MakeMissing(DeviceOf(&facts, 0)->mutable_gateway(), Missing::BUSY, "");
  MakeMissing(DeviceOf(&facts, 1)->mutable_detect_address(), Missing::BUSY, "");
  const HostPlan plan = DeviceStepsOf(GoodSpec(), facts);
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
    const HostPlan plan = DeviceStepsOf(GoodSpec(), *facts);
    EXPECT_TRUE(plan.steps().empty());
    ASSERT_EQ(plan.blocked_size(), 2);  // And the TLS switch.
    EXPECT_EQ(plan.blocked(0).devices_size(), 2);
  }
}

TEST(PlanDeviceStepsTest, BlocksAddressesThatTheToolTakesAndNoNetworkDoes) {
  for (const char* const address :
       {"127.0.0.1", "224.0.0.1", "240.0.0.1", "10.0.0.0", "10.0.0.255"}) {
    ClusterSpec spec = GoodSpec();
    spec.mutable_servers(0)->mutable_devices(0)->set_address(address);
    EXPECT_EQ(DeviceStepsOf(spec, GoodFacts("node-01")).blocked_size(), 1)
        << address;
  }
  ClusterSpec spec = GoodSpec();
  spec.mutable_servers(0)->mutable_devices(0)->set_netmask("0.0.0.0");
  EXPECT_EQ(DeviceStepsOf(spec, GoodFacts("node-01")).blocked_size(), 1);
}

TEST(PlanDeviceStepsTest, BlocksARefusedAddressAndAGatewayOutsideTheSubnet) {
  ClusterSpec refused = GoodSpec();
  refused.mutable_servers(0)->mutable_devices(0)->set_address("192.168.1.7");
  EXPECT_THAT(BlockedReasons(DeviceStepsOf(refused, GoodFacts("node-01"))),
              ElementsAre(::testing::HasSubstr("192.168.1.0/24")));
  ClusterSpec outside = GoodSpec();
  outside.mutable_servers(0)->mutable_devices(0)->set_gateway("10.1.0.254");
  const HostPlan plan = DeviceStepsOf(outside, GoodFacts("node-01"));
  EXPECT_TRUE(plan.steps().empty());
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_EQ(plan.blocked(0).what(), "gateway 10.1.0.254");
}

TEST(PlanDeviceStepsTest, BlocksWhatTheToolCannotTakeOrPutBack) {
  ClusterSpec spec = GoodSpec("lossless {roce_port: 4791}");
  HostFacts facts = GoodFacts("node-01");
  DeviceOf(&facts, 0)->mutable_roce_port()->set_value("multi_qp");
  const HostPlan mode = DeviceStepsOf(spec, facts);
  ASSERT_GT(mode.blocked_size(), 0);
  EXPECT_EQ(mode.blocked(0).reason(),
            Say("plan-say-not-put-back", "RoCE port", "multi_qp"));
  spec = GoodSpec();
  spec.mutable_lossless()->set_pfc("1,1,1,1,1,0,0,0");
  facts = GoodFacts("node-01");
  DeviceOf(&facts, 0)->mutable_pfc()->set_value("0,0,0,0,0,0,0,0");
  const HostPlan pfc = DeviceStepsOf(spec, facts);
  ASSERT_GT(pfc.blocked_size(), 0);
  EXPECT_EQ(pfc.blocked(0).reason(), Say("plan-say-priorities", 4));
  // The tool of the A1 generation takes eight.
  spec.set_product("atlas-training");
  spec.set_mode("smp");
  EXPECT_THAT(StepTexts(DeviceStepsOf(spec, facts)),
              Contains("device 0: PFC 0,0,0,0,0,0,0,0 -> 1,1,1,1,1,0,0,0"));
}

TEST(PlanDeviceStepsTest, FreesAnAddressBeforeAnotherDeviceTakesIt) {
  const std::vector<std::string> texts =
      StepTexts(DeviceStepsOf(GoodSpec(), LiveFacts("10.0.0.9", "10.0.0.1")));
  ASSERT_EQ(texts.size(), 4u);
  EXPECT_EQ(texts[0], "device 1: address 10.0.0.1/24 -> 10.0.0.2/24");
  EXPECT_EQ(texts[2], "device 0: address 10.0.0.9/24 -> 10.0.0.1/24");
}

// Boards from 0x30 on do not compare addresses, so a tool that refuses another
// device's address is not a reason that is true everywhere.
TEST(PlanDeviceStepsTest, BlocksASwapForAReasonThatIsTrueOnEveryBoard) {
  const HostPlan plan =
      DeviceStepsOf(GoodSpec(), LiveFacts("10.0.0.2", "10.0.0.1"));
  EXPECT_TRUE(plan.steps().empty());
  ASSERT_EQ(plan.blocked_size(), 2);
  EXPECT_EQ(BlockedText(plan.blocked(0)),
            BlockedAs("device 0: address 10.0.0.1", Worded("plan-say-circle"),
                      Worded("plan-say-break-circle")));
}

TEST(PlanDeviceStepsTest, BlocksAnAddressThatAnotherDeviceKeeps) {
  HostFacts facts = LiveFacts("10.0.0.9");
  facts.add_devices()->set_id(7);
  SetLive(&facts, 7, "10.0.0.1");
  EXPECT_THAT(BlockedReasons(DeviceStepsOf(GoodSpec(), facts)),
              ElementsAre(::testing::HasSubstr("device 7")));
}

TEST(PlanDeviceStepsTest, BlocksAnAddressThatABlockedDeviceKeeps) {
  HostFacts facts = LiveFacts("10.0.0.2", "10.0.0.9");
  facts.add_devices()->set_id(7);
  SetLive(&facts, 7, "10.0.0.1");
  const auto keeps = [](const char* change, int device) {
    return BlockedAs(change, Worded("plan-say-another-keeps-it", device),
                     Worded("plan-say-correct-either"));
  };
  EXPECT_THAT(BlockedTexts(DeviceStepsOf(GoodSpec(), facts)),
              ElementsAre(keeps("device 0: address 10.0.0.1", 7),
                          keeps("device 1: address 10.0.0.2", 0)));
}

TEST(PlanDeviceStepsTest, RestsOnEveryFactThatDecided) {
  const HostFacts facts = LiveFacts("10.7.0.1");
  const HostPlan plan = DeviceStepsOf(GoodSpec(), facts);
  EXPECT_THAT(FactNames(plan),
              ElementsAre("device 0: address", "device 0: gateway",
                          "hccn.conf: address_0", "hccn.conf: gateway_0",
                          "hccn.conf: netmask_0", "hccn.conf: routes_0"));
  EXPECT_TRUE(FindMovedFacts(plan, facts).empty());
}

// The devices have no address, and a live detect address that is not stored.
TEST(PlanDeviceStepsTest, LeavesRocePortsAloneThatTheSpecSaysAreUnused) {
  ClusterSpec spec = GoodSpec("roce_unused: true");
  for (ServerSpec& server : *spec.mutable_servers()) {
    for (DeviceSpec& device : *server.mutable_devices()) {
      const uint32_t id = device.id();
      device.Clear();
      device.set_id(id);
    }
  }
  HostFacts facts = GoodFacts("node-01");
  for (DeviceFacts& device : *facts.mutable_devices()) {
    device.mutable_address()->mutable_value()->clear_settings();
    device.mutable_gateway()->set_value("");
    SetConf(&facts, HccnConfKey("netdetect", device.id()), "");
  }
  // None of these settings is set either, with and without hccn.conf.
  spec.set_mtu(9000);
  spec.mutable_lossless()->set_pfc("0,0,0,0,1,0,0,0");
  spec.mutable_lossless()->set_dscp_to_tc("33:4");
  spec.mutable_lossless()->set_roce_port(4791);
  spec.clear_tls();
  for (const bool has_file : {true, false}) {
    if (!has_file) {
      MakeMissing(facts.mutable_hccn_conf(), Missing::ABSENT, "hccn.conf");
    }
    EXPECT_EQ(Content(DeviceStepsOf(spec, facts)), "");
  }
  spec.set_roce_unused(false);
  EXPECT_FALSE(DeviceStepsOf(spec, facts).blocked().empty());
}

TEST(PlanTlsStepsTest, SwitchesTheDeviceThatDiffersUnlessTheSpecIsSilent) {
  ClusterSpec silent = GoodSpec();
  silent.clear_tls();
  HostFacts facts = GoodFacts("node-01");
  EXPECT_TRUE(DeviceStepsOf(GoodSpec(), facts).steps().empty());
  DeviceOf(&facts, 1)->mutable_tls()->mutable_value()->set_enabled(true);
  EXPECT_TRUE(DeviceStepsOf(silent, facts).steps().empty());
  const HostPlan plan = DeviceStepsOf(GoodSpec(), facts);
  ASSERT_THAT(StepTexts(plan), ElementsAre("device 1: TLS on -> off"));
  EXPECT_EQ(plan.steps(0).kind(), CHANGE_TLS);
}

TEST(PlanTlsStepsTest, BlocksASwitchThatIsNotKnown) {
  HostFacts facts = GoodFacts("node-01");
  MakeMissing(DeviceOf(&facts, 0)->mutable_tls(), Missing::NOT_QUERIED,
              "it cannot be given a copy");
  const HostPlan plan = DeviceStepsOf(GoodSpec(), facts);
  EXPECT_TRUE(plan.steps().empty());
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_EQ(plan.blocked(0).fix(), Say("plan-say-remove-reason"));
}

TEST(PlanTlsStepsTest, SetsNothingOnADeviceWithoutACertificate) {
  HostFacts facts = GoodFacts("node-01");
  TlsFact::Switch* tls = DeviceOf(&facts, 0)->mutable_tls()->mutable_value();
  tls->set_enabled(false);
  tls->set_no_certificate(true);
  SetConf(&facts, "tls_enable_0", "");
  EXPECT_TRUE(DeviceStepsOf(GoodSpec(), facts).steps().empty());
  ClusterSpec on = GoodSpec("tls: true");
  const HostPlan plan = DeviceStepsOf(on, facts);
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_EQ(plan.blocked(0).devices(0), 0u);
  EXPECT_EQ(plan.blocked(0).reason(), Say("plan-say-no-certificate"));
}

TEST(PlanTlsStepsTest, RewritesTheFileThatSaysNotTheSwitchOfTheDevice) {
  const std::string head = "device 0: hccn.conf tls_enable ";
  for (const auto& [in_file, step] : std::map<std::string, std::string>{
           {"1", head + "1 -> 0"},
           {"2", head + "2 -> 0"},
           {"", StepText(RewriteStep(0, SETTING_TLS, "none", "off"))}}) {
    HostFacts facts = GoodFacts("node-01");
    SetConf(&facts, "tls_enable_0", in_file);
    const HostPlan plan = DeviceStepsOf(GoodSpec(), facts);
    ASSERT_THAT(StepTexts(plan), ElementsAre(step));
    EXPECT_EQ(plan.steps(0).kind(), CHANGE_HCCN_CONF);
  }
}

TEST(PlanTlsStepsTest, BlocksAllDevicesWithoutTheTool) {
  HostFacts facts = GoodFacts("node-01");
  MakeMissing(facts.mutable_hccn_tool()->mutable_path(), Missing::ABSENT, "");
  const HostPlan plan = DeviceStepsOf(GoodSpec(), facts);
  ASSERT_EQ(plan.blocked_size(), 2);
  EXPECT_EQ(plan.blocked(0).what(), "device addresses");
  EXPECT_EQ(plan.blocked(1).what(), "TLS switch off");
  EXPECT_EQ(plan.blocked(1).kind(), CHANGE_TLS);
  EXPECT_EQ(plan.blocked(1).devices_size(), 2);
}

// The spec asks for this MTU, and the devices have 1500.
ClusterSpec SpecOfMtu(uint32_t mtu) {
  ClusterSpec spec = GoodSpec();
  spec.set_mtu(mtu);
  return spec;
}

HostFacts FactsOfMtu(uint64_t mtu) {
  HostFacts facts = GoodFacts("node-01");
  for (const uint32_t id : {0, 1}) {
    DeviceOf(&facts, id)->mutable_mtu()->set_value(mtu);
    SetConf(&facts, HccnConfKey("mtu", id), absl::StrCat(mtu));
  }
  return facts;
}

TEST(PlanMtuTest, SetsItOnEveryDeviceThatDiffersAndRestsOnDeviceAndFile) {
  EXPECT_TRUE(DeviceStepsOf(GoodSpec(), FactsOfMtu(9000)).steps().empty());
  EXPECT_TRUE(DeviceStepsOf(SpecOfMtu(1500), FactsOfMtu(1500)).steps().empty());
  const HostPlan plan = DeviceStepsOf(SpecOfMtu(9000), FactsOfMtu(1500));
  EXPECT_THAT(StepTexts(plan), ElementsAre("device 0: MTU 1500 -> 9000",
                                           "device 1: MTU 1500 -> 9000"));
  EXPECT_EQ(plan.steps(0).kind(), CHANGE_DEVICE_ADDRESS);
  EXPECT_EQ(plan.steps(0).precondition(),
            Say("plan-say-if-idle", 0, "MTU 1500"));
  EXPECT_EQ(plan.steps(0).undo(), Say("plan-say-undo-set", 1500));
  EXPECT_THAT(FactNames(plan),
              ElementsAre("device 0: mtu", "hccn.conf: mtu_0", "device 1: mtu",
                          "hccn.conf: mtu_1"));
  EXPECT_TRUE(FindMovedFacts(plan, FactsOfMtu(1500)).empty());
}

TEST(PlanMtuTest, WritesTheKeyThatTheFileLacks) {
  HostFacts facts = FactsOfMtu(9000);
  SetConf(&facts, "mtu_1", "");
  const HostPlan plan = DeviceStepsOf(SpecOfMtu(9000), facts);
  EXPECT_EQ(StepTexts(plan),
            StepTexts({RewriteStep(1, SETTING_MTU, "none", "9000")}));
  EXPECT_EQ(plan.steps(0).kind(), CHANGE_HCCN_CONF);
}

TEST(PlanMtuTest, BlocksWhatIsNotKnownAndWhatTheToolAsksBackAbout) {
  HostFacts unknown = FactsOfMtu(1500);
  MakeMissing(DeviceOf(&unknown, 1)->mutable_mtu(), Missing::BUSY, "");
  const HostPlan plan = DeviceStepsOf(SpecOfMtu(9000), unknown);
  EXPECT_EQ(plan.steps_size(), 1);
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_EQ(BlockedText(plan.blocked(0)),
            BlockedAs("device 1: MTU 9000",
                      Worded("plan-say-live-not-known", "MTU", "busy"),
                      Worded("plan-say-ask-the-tool")));
  EXPECT_EQ(DeviceStepsOf(SpecOfMtu(1279), FactsOfMtu(1500)).blocked_size(), 2);
  EXPECT_TRUE(
      DeviceStepsOf(SpecOfMtu(1280), FactsOfMtu(1500)).blocked().empty());
}

}  // namespace
}  // namespace clusterd
