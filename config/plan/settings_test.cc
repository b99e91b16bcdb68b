#include "config/plan/settings.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/plan/kernel_parameters.h"
#include "config/plan/make_plan.h"
#include "config/words/message.h"
#include "tests/support/config/plan_steps.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

struct Row {
  SettingId id;
};

TEST(HasRowForEachTest, SeesRowsThatAreMissingTooManyOrOutOfOrder) {
  static constexpr SettingId kIds[] = {SETTING_MTU, SETTING_TLS};
  static constexpr Row kAll[] = {{SETTING_MTU}, {SETTING_TLS}};
  static constexpr Row kTurned[] = {{SETTING_TLS}, {SETTING_MTU}};
  static constexpr Row kOther[] = {{SETTING_MTU}, {SETTING_PFC}};
  static constexpr Row kFew[] = {{SETTING_MTU}};
  static_assert(HasRowForEach(kIds, kAll), "");
  static_assert(!HasRowForEach(kIds, kTurned), "");
  static_assert(!HasRowForEach(kIds, kOther), "");
  static_assert(!HasRowForEach(kIds, kFew), "");
}

TEST(FindSettingTest, HasEachSettingOnce) {
  std::set<const Setting*> rows;
  const auto check = [&rows](SettingId id, bool is_of_device) {
    const Setting* row = FindSetting(id);
    ASSERT_NE(row, nullptr) << SettingName(id);
    EXPECT_EQ(row->id, id);
    EXPECT_EQ(row->device != nullptr, is_of_device) << SettingName(id);
    rows.insert(row);
  };
  for (const SettingId id : kDeviceSettingIds) check(id, true);
  for (const SettingId id : kHostSettingIds) check(id, false);
  EXPECT_EQ(rows.size(),
            std::size(kDeviceSettingIds) + std::size(kHostSettingIds));
  // The enum has each of them, and UNSPECIFIED.
  EXPECT_EQ(rows.size() + 1, size_t{SettingId_ARRAYSIZE});
  EXPECT_EQ(FindSetting(SETTING_UNSPECIFIED), nullptr);
  EXPECT_EQ(FindSetting(static_cast<SettingId>(99)), nullptr);
}

TEST(SettingOfTest, WantsATargetThatHasTheSetting) {
  PlanStep step = DeviceStep(3, SETTING_GATEWAY, "none", "10.0.0.254");
  EXPECT_EQ(SettingOf(step), FindSetting(SETTING_GATEWAY));
  step.mutable_target()->set_kernel_parameter(kSomaxconnKey);
  EXPECT_EQ(SettingOf(step), nullptr);
  EXPECT_EQ(SettingOf(PlanStep()), nullptr);
}

TEST(GoalOfTest, TellsTargetsApartAndNamesARewriteAsItsSetting) {
  const std::string to = "10.0.0.1/255.255.255.0";
  const std::pair<PlanStep, std::string> kCases[] = {
      {DeviceStep(3, SETTING_ADDRESS, "none", to), "device 3: address"},
      {RewriteStep(3, SETTING_ADDRESS, "none", to), "device 3: address"},
      {RewriteStep(3, SETTING_TLS, "none", "on"), "device 3: tls"},
      {RunningStep(kSomaxconnKey, "1", "2"), "net.core.somaxconn"},
      {AtBootStep(kSomaxconnKey, "1", "2"),
       absl::StrCat(kSomaxconnKey, " at boot")},
      {StopStep(UFW), "ufw: active"},
      {OpenStep(UFW, TcpPorts(22, 22, "10.0.0.0/24")),
       "ufw: allowed 22-22/tcp from 10.0.0.0/24"},
      {FormStep("add the final newline", ""), "hccn.conf: form"},
      {PlanStep(), ""}};
  for (const auto& [step, goal] : kCases) {
    EXPECT_EQ(FactKeyText(GoalOf(step)), goal);
  }
}

TEST(ConfLinesOfTest, GivesEachPartOfAValueToItsKey) {
  const auto address =
      ConfLinesOf(DeviceSettingOf(SETTING_ADDRESS),
                  ValueOf(SETTING_ADDRESS, "10.0.0.1/255.255.255.0"));
  ASSERT_EQ(address.size(), 2u);
  EXPECT_EQ(address[0].key, "address");
  EXPECT_EQ(address[0].text, "10.0.0.1");
  EXPECT_EQ(address[1].key, "netmask");
  EXPECT_EQ(address[1].text, "255.255.255.0");
  const auto tls = ConfLinesOf(DeviceSettingOf(SETTING_TLS), SwitchValue(true));
  ASSERT_EQ(tls.size(), 1u);
  EXPECT_EQ(tls[0].key, "tls_enable");
  EXPECT_EQ(tls[0].text, "1");
}

TEST(StoredTextTest, ReadsTheListOfAMapAndLeavesOtherTextsAsTheyAre) {
  const DeviceSetting& map = DeviceSettingOf(SETTING_DSCP_TO_TC);
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
    EXPECT_EQ(StoredText(map, text), part) << text;
    EXPECT_EQ(StoredText(DeviceSettingOf(SETTING_MTU), text), text);
  }
}

TEST(StepTextTest, SaysEachSettingInOneLine) {
  const struct {
    PlanStep step;
    const char* text;
  } kCases[] = {
      {DeviceStep(3, SETTING_ADDRESS, "none", "10.20.0.17/255.255.255.0"),
       "device 3: address none -> 10.20.0.17/24"},
      {DeviceStep(3, SETTING_GATEWAY, "none", "10.0.0.254"),
       "device 3: gateway none -> 10.0.0.254"},
      {DeviceStep(3, SETTING_GATEWAY, "10.0.0.254", "10.0.0.254"),
       "device 3: gateway 10.0.0.254 put back"},
      {DeviceStep(3, SETTING_DETECT_ADDRESS, "0.0.0.0", "10.0.0.254"),
       "device 3: detect address 0.0.0.0 -> 10.0.0.254"},
      {DeviceStep(3, SETTING_MTU, "1500", "9000"),
       "device 3: MTU 1500 -> 9000"},
      {DeviceStep(3, SETTING_TLS, "on", "off"), "device 3: TLS on -> off"},
      {DeviceStep(3, SETTING_PFC, "0,0,0,0,0,0,0,0", "0,0,0,0,1,0,0,0"),
       "device 3: PFC 0,0,0,0,0,0,0,0 -> 0,0,0,0,1,0,0,0"},
      {DeviceStep(3, SETTING_ROCE_PORT, "auto", "4791"),
       "device 3: RoCE port auto -> 4791"},
      {RewriteStep(3, SETTING_ROCE_PORT, "-1", "4791"),
       "device 3: hccn.conf roce_port -1 -> 4791"},
      {DeviceStep(3, SETTING_DSCP_TO_TC, "0:0", "33:1,46:2"),
       "device 3: DSCP to TC 0:0 -> 33:1,46:2"},
      {RewriteStep(3, SETTING_DSCP_TO_TC, "3:2", "33:1"),
       "device 3: hccn.conf dscp_tc 3:2 -> 33:1"},
      {RewriteStep(3, SETTING_ADDRESS, "none", "10.0.0.1/255.255.255.0"),
       "device 3: hccn.conf address none -> 10.0.0.1/24"},
      {RewriteStep(3, SETTING_DETECT_ADDRESS, "1.2.3.4", "10.0.0.254"),
       "device 3: hccn.conf netdetect 1.2.3.4 -> 10.0.0.254"},
      {RewriteStep(3, SETTING_TLS, "2", "off"),
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
  plan.add_facts();
  *plan.add_steps() = step;
  plan.mutable_steps(0)->set_id(1);
  return plan;
}

bool IsGood(const PlanStep& step) { return CheckHostPlan(PlanOf(step)).ok(); }

PlanStep GoodAddress() {
  return DeviceStep(3, SETTING_ADDRESS, "none", "10.0.0.1/255.255.255.0");
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
      DeviceStep(0, SETTING_GATEWAY, "none", "10.0.0.254"),
      DeviceStep(0, SETTING_DETECT_ADDRESS, "0.0.0.0", "10.0.0.254"),
      DeviceStep(0, SETTING_MTU, "1500", "9000"),
      DeviceStep(0, SETTING_TLS, "on", "off"),
      DeviceStep(0, SETTING_PFC, "0,0,0,0,0,0,0,0", "0,0,0,0,1,0,0,0"),
      DeviceStep(0, SETTING_ROCE_PORT, "code(nslb_dp)", "4791"),
      DeviceStep(0, SETTING_ROCE_PORT, "4791", "auto"),
      DeviceStep(0, SETTING_DSCP_TO_TC, "33:1,46:2", "0:0"),
      DeviceStep(0, SETTING_DSCP_TO_TC, "0:0", "0:3,63:1"),
      RewriteStep(0, SETTING_TLS, "2 ?", "off"),
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
  unknown.set_setting(static_cast<SettingId>(99));
  PlanStep other_file = form;
  other_file.mutable_target()->set_file("/etc/cron.d/x");
  PlanStep bad_form = form;
  *bad_form.mutable_to() = TextsValue({"bad"});
  PlanStep start = StopStep(UFW);
  *start.mutable_to() = YesValue(true);
  PlanStep of_other =
      AddressStep(3, "none", "10.0.0.1/255.255.255.0", "10.0.0.2");
  of_other.mutable_dropped(0)->set_device(4);
  PlanStep gateway = DeviceStep(3, SETTING_GATEWAY, "none", "10.0.0.254");
  *gateway.add_dropped() =
      AddressStep(3, "none", "10.0.0.1/255.255.255.0", "10.0.0.2").dropped(0);
  std::vector<PlanStep> steps = {
      PlanStep(), no_target, other_target, unknown, other_file, bad_form, start,
      of_other, gateway,
      // Only settings that the tool writes into the file may have this kind.
      OfKind(RunningStep(kSomaxconnKey, "128", "65535"), CHANGE_HCCN_CONF),
      OfKind(StopStep(UFW), CHANGE_KIND_UNSPECIFIED),
      RewriteStep(3, SETTING_ADDRESS, "none", "10.0.0.1"),
      RunningStep("kernel.core_pattern", "", "|/tmp/x"),
      AtBootStep("kernel.core_pattern", "", "|/tmp/x"),
      RunningStep(kSomaxconnKey, "", "65535\n1"),
      AtBootStep(kSomaxconnKey, "", "65535\n1"),
      DeviceStep(3, SETTING_ADDRESS, "none", "10.0.0.1"),
      DeviceStep(3, SETTING_ADDRESS, "none", "10.0.0.1/0.0.0.0"),
      DeviceStep(64, SETTING_TLS, "on", "off"),
      DeviceStep(3, SETTING_TLS, "on", "1"),
      DeviceStep(3, SETTING_GATEWAY, "\x1b[2J", "10.0.0.1")};
  // No routes of the device.
  for (const char* const key : {"address", "IPv6gateway", ""}) {
    PlanStep& step = steps.emplace_back(GoodAddress());
    step.add_dropped()->set_key(key);
    step.mutable_dropped(0)->set_device(3);
  }
  for (const std::string address :
       {"", "0.0.0.0", "-s", "10.0.0.1; reboot", "none", "10.0.0.1\n"}) {
    steps.push_back(DeviceStep(3, SETTING_GATEWAY, "none", address));
    steps.push_back(DeviceStep(3, SETTING_DETECT_ADDRESS, "none", address));
    steps.push_back(
        DeviceStep(3, SETTING_ADDRESS, "none", address + "/255.255.255.0"));
  }
  const std::pair<SettingId, std::vector<const char*>> kValues[] = {
      {SETTING_MTU, {"", "1279", "9703", "01500", "1500 -x"}},
      {SETTING_ROCE_PORT, {"", "none", "4096", "65536", "04791", "-1"}},
      {SETTING_PFC, {"", "0,0,0,0,1,0,0", "0,0,0,0,2,0,0,0", "-s"}},
      {SETTING_DSCP_TO_TC,
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
  *plan.add_facts()->mutable_key() = NamespaceFact();
  return plan;
}

TEST(CheckHostPlanInNamespaceTest, TakesRunningParametersOnly) {
  EXPECT_TRUE(CheckHostPlan(NamespacePlan()).ok())
      << CheckHostPlan(NamespacePlan());
  HostPlan address = PlanOf(GoodAddress());
  address.mutable_network_namespace()->set_container("train-1");
  *address.add_facts()->mutable_key() = NamespaceFact();
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
            InvalidWords("msg-plan-namespace-fact", "network namespace"));
}

}  // namespace
}  // namespace clusterd
