#include "config/plan/settings.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/plan/make_plan.h"
#include "config/plan/setting_rows.h"
#include "config/words/message.h"
#include "tests/support/config/plan_steps.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

struct Row {
  const char* name;
};

TEST(HasRowForEachTest, SeesRowsThatAreMissingTooManyOrOutOfOrder) {
  static constexpr const char* kNames[] = {"a", "bc"};
  static constexpr Row kAll[] = {{"a"}, {"bc"}};
  static constexpr Row kTurned[] = {{"bc"}, {"a"}};
  static constexpr Row kPrefix[] = {{"a"}, {"b"}};
  static constexpr Row kFew[] = {{"a"}};
  static_assert(HasRowForEach(kNames, kAll), "");
  static_assert(!HasRowForEach(kNames, kTurned), "");
  static_assert(!HasRowForEach(kNames, kPrefix), "");
  static_assert(!HasRowForEach(kNames, kFew), "");
}

TEST(FindSettingTest, HasEachSettingOnce) {
  std::set<const Setting*> rows;
  const auto check = [&rows](const char* name, bool is_of_device) {
    const Setting* row = FindSetting(name);
    ASSERT_NE(row, nullptr) << name;
    EXPECT_STREQ(row->name, name);
    EXPECT_EQ(row->device != nullptr, is_of_device) << name;
    rows.insert(row);
  };
  for (const char* name : kDeviceSettingNames) check(name, true);
  for (const char* name : kHostSettingNames) check(name, false);
  EXPECT_EQ(rows.size(),
            std::size(kDeviceSettingNames) + std::size(kHostSettingNames));
  EXPECT_EQ(FindSetting("colour"), nullptr);
}

TEST(SettingOfTest, WantsATargetThatHasTheSetting) {
  PlanStep step = DeviceStep(3, kGatewaySetting, "none", "10.0.0.254");
  EXPECT_EQ(SettingOf(step), FindSetting(kGatewaySetting));
  step.mutable_target()->set_kernel_parameter(kSomaxconnKey);
  EXPECT_EQ(SettingOf(step), nullptr);
  EXPECT_EQ(SettingOf(PlanStep()), nullptr);
}

TEST(GoalNameTest, NamesARewriteAsTheSettingThatItIs) {
  const std::string to = "10.0.0.1/255.255.255.0";
  EXPECT_EQ(GoalName(DeviceStep(3, kAddressSetting, "none", to)),
            "device 3: address");
  EXPECT_EQ(GoalName(RewriteStep(3, kAddressSetting, "none", to)),
            "device 3: address");
  EXPECT_EQ(GoalName(RewriteStep(3, kTlsSetting, "none", "on")),
            "device 3: tls");
}

TEST(GoalNameTest, TellsTargetsApart) {
  EXPECT_EQ(GoalName(RunningStep(kSomaxconnKey, "1", "2")),
            "net.core.somaxconn");
  EXPECT_EQ(GoalName(AtBootStep(kSomaxconnKey, "1", "2")),
            absl::StrCat(kSomaxconnKey, " at boot"));
  EXPECT_EQ(GoalName(StopStep(UFW)), "ufw: active");
  EXPECT_EQ(GoalName(OpenStep(UFW, TcpPorts(22, 22, "10.0.0.0/24"))),
            "ufw: allowed 22-22/tcp from 10.0.0.0/24");
  EXPECT_EQ(GoalName(FormStep("add the final newline", "")), "hccn.conf: form");
  EXPECT_EQ(GoalName(PlanStep()), "");
}

TEST(ConfLinesOfTest, GivesEachPartOfAValueToItsKey) {
  const auto address = ConfLinesOf(*FindSetting(kAddressSetting)->device, 3,
                                   "10.0.0.1/255.255.255.0");
  ASSERT_EQ(address.size(), 2u);
  EXPECT_EQ(address[0].key, "address_3");
  EXPECT_EQ(address[0].value, "10.0.0.1");
  EXPECT_EQ(address[1].key, "netmask_3");
  EXPECT_EQ(address[1].value, "255.255.255.0");
  const auto tls = ConfLinesOf(*FindSetting(kTlsSetting)->device, 0, "on");
  ASSERT_EQ(tls.size(), 1u);
  EXPECT_EQ(tls[0].key, "tls_enable_0");
  EXPECT_EQ(tls[0].value, "1");
}

TEST(StoredPartTest, ReadsTheListOfAMapAndLeavesOtherTextsAsTheyAre) {
  const DeviceSetting& map = *FindSetting(kDscpSetting)->device;
  const struct {
    const char* text;
    const char* part;
  } kCases[] = {{"", "0:0"},
                {"33:0,", "0:0"},
                {"46:2,3:0,33:1,", "33:1,46:2"},
                {"33:1", "33:1"},
                {"33:1,33:2,", "33:1,33:2,"},
                {"33:9,", "33:9,"},
                {"none", "none"}};
  for (const auto& [text, part] : kCases) {
    EXPECT_EQ(StoredPart(map, text), part) << text;
    EXPECT_EQ(StoredPart(*FindSetting(kMtuSetting)->device, text), text);
  }
}

TEST(StepTextTest, SaysEachSettingInOneLine) {
  const struct {
    PlanStep step;
    const char* text;
  } kCases[] = {
      {DeviceStep(3, kAddressSetting, "none", "10.20.0.17/255.255.255.0"),
       "device 3: address none -> 10.20.0.17/24"},
      {DeviceStep(3, kGatewaySetting, "none", "10.0.0.254"),
       "device 3: gateway none -> 10.0.0.254"},
      {DeviceStep(3, kGatewaySetting, "10.0.0.254", "10.0.0.254"),
       "device 3: gateway 10.0.0.254 put back"},
      {DeviceStep(3, kDetectSetting, "0.0.0.0", "10.0.0.254"),
       "device 3: detect address 0.0.0.0 -> 10.0.0.254"},
      {DeviceStep(3, kMtuSetting, "1500", "9000"),
       "device 3: MTU 1500 -> 9000"},
      {DeviceStep(3, kTlsSetting, "on", "off"), "device 3: TLS on -> off"},
      {DeviceStep(3, kPfcSetting, "0,0,0,0,0,0,0,0", "0,0,0,0,1,0,0,0"),
       "device 3: PFC 0,0,0,0,0,0,0,0 -> 0,0,0,0,1,0,0,0"},
      {DeviceStep(3, kRocePortSetting, "auto", "4791"),
       "device 3: RoCE port auto -> 4791"},
      {RewriteStep(3, kRocePortSetting, "-1", "4791"),
       "device 3: hccn.conf roce_port -1 -> 4791"},
      {DeviceStep(3, kDscpSetting, "0:0", "33:1,46:2"),
       "device 3: DSCP to TC 0:0 -> 33:1,46:2"},
      {RewriteStep(3, kDscpSetting, "3:2", "33:1"),
       "device 3: hccn.conf dscp_tc 3:2 -> 33:1"},
      {RewriteStep(3, kAddressSetting, "none", "10.0.0.1/255.255.255.0"),
       "device 3: hccn.conf address none -> 10.0.0.1/255.255.255.0"},
      {RewriteStep(3, kDetectSetting, "1.2.3.4", "10.0.0.254"),
       "device 3: hccn.conf netdetect 1.2.3.4 -> 10.0.0.254"},
      {RewriteStep(3, kTlsSetting, "2", "off"),
       "device 3: hccn.conf tls_enable 2 -> 0"},
      {RunningStep(kReservedPortsKey, "none", "60000-60015"),
       "net.ipv4.ip_local_reserved_ports: empty -> 60000-60015"},
      {AtBootStep(kSomaxconnKey, "none", "65535"),
       "/etc/sysctl.d/90-clusterd.conf: net.core.somaxconn = 65535"},
      {AtBootStep(kSomaxconnKey, "512", "65535"),
       "/etc/sysctl.d/90-clusterd.conf: net.core.somaxconn = 512 -> 65535"},
      {StopStep(UFW),
       "ufw: active, starts at boot -> stopped, does not start at boot"},
      {OpenStep(FIREWALLD, TcpPorts(22, 22, "10.0.0.0/24")),
       "firewalld: allow 22/tcp from 10.0.0.0/24"},
      {OpenStep(UFW, TcpPorts(60000, 60015, "10.0.0.0/24")),
       "ufw: allow 60000-60015/tcp from 10.0.0.0/24"},
      {FormStep("line 2: remove carriage returns", ""),
       "/etc/hccn.conf: line 2: remove carriage returns"},
  };
  for (const auto& each : kCases) EXPECT_EQ(StepText(each.step), each.text);
}

TEST(StepTextTest, NeverLeavesAnUnknownChangeBlank) {
  EXPECT_EQ(StepText(PlanStep()), Say("plan-say-change-unknown"));
}

TEST(BlockedTextTest, NamesDevicesReasonAndFix) {
  const auto blocked = FromText<BlockedChange>(
      "devices: [1, 4] what: 'device addresses' reason: 'hccn_tool: absent' "
      "fix: 'install it'");
  EXPECT_EQ(BlockedText(blocked), BlockedAs("devices 1,4: device addresses",
                                            ToFindingValue("hccn_tool: absent"),
                                            ToFindingValue("install it")));
}

HostPlan PlanOf(const PlanStep& step) {
  HostPlan plan;
  plan.set_host("node-01");
  plan.add_facts()->set_name("x");
  *plan.add_steps() = step;
  plan.mutable_steps(0)->set_id(1);
  return plan;
}

bool IsGood(const PlanStep& step) { return CheckHostPlan(PlanOf(step)).ok(); }

PlanStep GoodAddress() {
  return DeviceStep(3, kAddressSetting, "none", "10.0.0.1/255.255.255.0");
}

PlanStep OfKind(PlanStep step, ChangeKind kind) {
  step.set_kind(kind);
  return step;
}

TEST(CheckHostPlanTest, AcceptsAnEmptyPlanAndGoodSteps) {
  EXPECT_TRUE(CheckHostPlan(HostPlan()).ok());
  const PlanStep kGood[] = {
      GoodAddress(),
      AddressStep(3, "10.9.0.1/255.0.0.0", "10.0.0.1/255.255.255.0",
                  "10.9.0.254"),
      DeviceStep(0, kGatewaySetting, "none", "10.0.0.254"),
      DeviceStep(0, kDetectSetting, "0.0.0.0", "10.0.0.254"),
      DeviceStep(0, kMtuSetting, "1500", "9000"),
      DeviceStep(0, kTlsSetting, "on", "off"),
      DeviceStep(0, kPfcSetting, "0,0,0,0,0,0,0,0", "0,0,0,0,1,0,0,0"),
      DeviceStep(0, kRocePortSetting, "code(nslb_dp)", "4791"),
      DeviceStep(0, kRocePortSetting, "4791", "auto"),
      DeviceStep(0, kDscpSetting, "33:1,46:2", "0:0"),
      DeviceStep(0, kDscpSetting, "0:0", "0:3,63:1"),
      RewriteStep(0, kTlsSetting, "2 ?", "off"),
      RunningStep(kSomaxconnKey, "128", "65535"),
      AtBootStep(kReservedPortsKey, "none", "60000-60015"),
      StopStep(FIREWALLD),
      OpenStep(UFW, TcpPorts(22, 22, "10.0.0.0/24")),
      FormStep("add the final newline", "abc"),
  };
  for (const PlanStep& step : kGood) {
    EXPECT_TRUE(IsGood(step)) << CheckHostPlan(PlanOf(step));
  }
}

TEST(CheckHostPlanTest, RefusesAStepUnderAKindThatTheHostMayAllow) {
  EXPECT_EQ(
      CheckHostPlan(PlanOf(OfKind(GoodAddress(), CHANGE_SYSCTL))),
      InvalidWords("plan-say-of-plan-step", 1,
                   Worded("msg-plan-step-kind", "sysctl", "device-address")));
}

TEST(CheckHostPlanTest, RefusesStepsThatNoPlanHas) {
  const PlanStep form = FormStep("add the final newline", "abc");
  PlanStep no_target = GoodAddress();
  no_target.clear_target();
  PlanStep other_target = GoodAddress();
  other_target.mutable_target()->set_kernel_parameter(kSomaxconnKey);
  PlanStep unknown = GoodAddress();
  unknown.set_setting("colour");
  PlanStep other_file = form;
  other_file.mutable_target()->set_file("/etc/cron.d/x");
  PlanStep bad_form = form;
  bad_form.set_to("bad");
  PlanStep start = StopStep(UFW);
  start.set_to("yes");
  PlanStep of_other =
      AddressStep(3, "none", "10.0.0.1/255.255.255.0", "10.0.0.2");
  of_other.mutable_dropped(0)->set_device(4);
  PlanStep gateway = DeviceStep(3, kGatewaySetting, "none", "10.0.0.254");
  *gateway.add_dropped() =
      AddressStep(3, "none", "10.0.0.1/255.255.255.0", "10.0.0.2").dropped(0);
  std::vector<PlanStep> steps = {
      PlanStep(), no_target, other_target, unknown, other_file, bad_form, start,
      of_other, gateway,
      // Only settings that the tool writes into the file may have this kind.
      OfKind(RunningStep(kSomaxconnKey, "128", "65535"), CHANGE_HCCN_CONF),
      OfKind(StopStep(UFW), CHANGE_KIND_UNSPECIFIED),
      RewriteStep(3, kAddressSetting, "none", "10.0.0.1"),
      RunningStep("kernel.core_pattern", "", "|/tmp/x"),
      AtBootStep("kernel.core_pattern", "", "|/tmp/x"),
      RunningStep(kSomaxconnKey, "", "65535\n1"),
      AtBootStep(kSomaxconnKey, "", "65535\n1"),
      DeviceStep(3, kAddressSetting, "none", "10.0.0.1"),
      DeviceStep(3, kAddressSetting, "none", "10.0.0.1/0.0.0.0"),
      DeviceStep(64, kTlsSetting, "on", "off"),
      DeviceStep(3, kTlsSetting, "on", "1"),
      DeviceStep(3, kGatewaySetting, "\x1b[2J", "10.0.0.1")};
  // No routes of the device.
  for (const char* const key : {"address", "IPv6gateway", ""}) {
    PlanStep& step = steps.emplace_back(GoodAddress());
    step.add_dropped()->set_key(key);
    step.mutable_dropped(0)->set_device(3);
  }
  for (const std::string address :
       {"", "0.0.0.0", "-s", "10.0.0.1; reboot", "none", "10.0.0.1\n"}) {
    steps.push_back(DeviceStep(3, kGatewaySetting, "none", address));
    steps.push_back(DeviceStep(3, kDetectSetting, "none", address));
    steps.push_back(
        DeviceStep(3, kAddressSetting, "none", address + "/255.255.255.0"));
  }
  const std::pair<const char*, std::vector<const char*>> kValues[] = {
      {kMtuSetting, {"", "1279", "9703", "01500", "1500 -x"}},
      {kRocePortSetting, {"", "none", "4096", "65536", "04791", "-1"}},
      {kPfcSetting, {"", "0,0,0,0,1,0,0", "0,0,0,0,2,0,0,0", "-s"}},
      {kDscpSetting,
       {"", "none", "33:0", "46:2,33:1", "33:4", "64:1", "33:1,", "33:1 -x",
        "33:1,33:1"}}};
  for (const auto& [setting, values] : kValues) {
    for (const char* const to : values) {
      steps.push_back(DeviceStep(3, setting, "1500", to));
    }
  }
  for (const PlanStep& step : steps) {
    EXPECT_FALSE(IsGood(step)) << step.ShortDebugString();
  }
}

TEST(CheckHostPlanTest, RefusesToOpenPortsToEverybody) {
  const auto open = [](const char* source, uint32_t first, uint32_t last) {
    return IsGood(OpenStep(UFW, TcpPorts(first, last, source)));
  };
  EXPECT_TRUE(open("10.0.0.0/24", 60000, 60015));
  EXPECT_TRUE(open("10.0.0.0/16", 60000, 60015));
  EXPECT_FALSE(open("0.0.0.0/0", 22, 22));
  EXPECT_FALSE(open("0.0.0.0/1", 22, 22));
  EXPECT_FALSE(open("10.0.0.0/15", 60000, 60015));
  EXPECT_FALSE(open("", 22, 22));
  EXPECT_FALSE(open("10.0.0.0/24\" accept", 22, 22));
  EXPECT_FALSE(open("10.0.0.0/24", 0, 22));
  EXPECT_FALSE(open("10.0.0.0/24", 23, 22));
  EXPECT_FALSE(open("10.0.0.0/24", 22, 65536));
  PlanStep udp = OpenStep(UFW, TcpPorts(22, 22, "10.0.0.0/24"));
  udp.mutable_target()->mutable_rule()->mutable_port()->set_protocol("udp");
  EXPECT_FALSE(IsGood(udp));
  PlanStep no_program = OpenStep(UFW, TcpPorts(22, 22, "10.0.0.0/24"));
  no_program.mutable_target()->mutable_rule()->clear_program();
  EXPECT_FALSE(IsGood(no_program));
}

TEST(CheckHostPlanTest, RefusesStepsOutOfNumberOrWithoutFacts) {
  HostPlan numbered = PlanOf(GoodAddress());
  numbered.mutable_steps(0)->set_id(2);
  EXPECT_FALSE(CheckHostPlan(numbered).ok());
  HostPlan factless = PlanOf(GoodAddress());
  factless.clear_facts();
  EXPECT_FALSE(CheckHostPlan(factless).ok());
}

TEST(CheckHostPlanTest, RefusesMoreStepsThanAReportCanName) {
  HostPlan plan = PlanOf(GoodAddress());
  for (int i = 1; i <= kMaxPlanSteps; ++i) {
    *plan.add_steps() = plan.steps(0);
    plan.mutable_steps(i)->set_id(i + 1);
  }
  EXPECT_FALSE(CheckHostPlan(plan).ok());
  plan.mutable_steps()->RemoveLast();
  EXPECT_TRUE(CheckHostPlan(plan).ok());
}

HostPlan NamespacePlan() {
  HostPlan plan = PlanOf(RunningStep("net.core.somaxconn", "128", "65535"));
  plan.mutable_network_namespace()->set_container("train-1");
  plan.add_facts()->set_name(kNetworkNamespaceFact);
  return plan;
}

TEST(CheckHostPlanInNamespaceTest, TakesRunningParametersOnly) {
  EXPECT_TRUE(CheckHostPlan(NamespacePlan()).ok())
      << CheckHostPlan(NamespacePlan());
  HostPlan address = PlanOf(GoodAddress());
  address.mutable_network_namespace()->set_container("train-1");
  address.add_facts()->set_name(kNetworkNamespaceFact);
  EXPECT_EQ(CheckHostPlan(address),
            InvalidWords("msg-plan-namespace-step", 1,
                         StepWords(address.steps(0)), "container:train-1"));
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
  EXPECT_EQ(CheckHostPlan(plan),
            InvalidWords("msg-plan-namespace-fact", kNetworkNamespaceFact));
}

}  // namespace
}  // namespace clusterd
