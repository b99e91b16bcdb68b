#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/setting_rows.h"
#include "config/plan/settings.h"
#include "config/values/hccn_conf_line.h"
#include "daemon/agent/apply/machine.h"
#include "daemon/host/change/mutation_token_issuer.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/config/plan_steps.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Fault = FakeMachine::Fault;

// Runs the machine's commands; a test may hook the end of each.
class WatchedRunner final : public CommandRunner {
 public:
  explicit WatchedRunner(CommandRunner* runner) : runner_(runner) {}
  absl::StatusOr<CommandResult> Run(const Command& command) override {
    absl::StatusOr<CommandResult> result = runner_->Run(command);
    if (after) after();
    return result;
  }

  std::function<void()> after;

 private:
  CommandRunner* const runner_;
};

struct Runner {
  std::unique_ptr<Scenario> scenario = OpenUfwScenario();
  WatchedRunner commands{&scenario->machine};
  MutationTokenIssuer issuer;
  Machine machine{Access(), MachinePaths()};
  SettingActions actions{&machine};

  MachineAccess Access() {
    MachineAccess access = scenario->Access();
    access.runner = &commands;
    return access;
  }
  absl::StatusOr<FindingValue> Run(const PlanStep& step) {
    return actions.Set(issuer.token(), step, {});
  }
  FakeMachine::Device& device(uint32_t id) {
    return scenario->machine.device(id);
  }
  std::string Conf() {
    return *scenario->machine.files().Content("/etc/hccn.conf");
  }
};

PlanStep Gateway(uint32_t device, const std::string& to) {
  return DeviceStep(device, kGatewaySetting, "10.20.0.1", to);
}

PlanStep Repair(const std::string& sha256) {
  return FormStep("add the final newline", sha256);
}

TEST(SetOnDeviceTest, SpeaksTheClassicCommandLine) {
  const struct {
    const char* setting;
    const char* to;
    const char* command;
  } cases[] = {
      {kAddressSetting, "10.20.0.17/255.255.255.0",
       "-ip -s address 10.20.0.17 netmask 255.255.255.0"},
      {kGatewaySetting, "10.20.0.9", "-gateway -s gateway 10.20.0.9"},
      {kDetectSetting, "10.20.0.9", "-netdetect -s address 10.20.0.9"},
      {kMtuSetting, "9000", "-mtu -s size 9000"},
      {kTlsSetting, "off", "-tls -s enable 0"},
      {kTlsSetting, "on", "-tls -s enable 1"},
      {kPfcSetting, "0,0,0,0,1,0,0,0", "-pfc -s bitmap 0,0,0,0,1,0,0,0"},
      {kRocePortSetting, "4791", "-udp -s port 4791"},
      {kRocePortSetting, "auto", "-udp -s auto"},
      {kDscpSetting, "33:1", "-dscp_to_tc -s dscp 33 tc 1"},
  };
  std::set<std::string> settings;
  for (const auto& [setting, to, command] : cases) {
    Runner test;
    (void)test.Run(DeviceStep(1, setting, "", to));
    ASSERT_EQ(test.scenario->machine.commands().size(), 1u);
    EXPECT_EQ(test.scenario->machine.commands()[0],
              absl::StrCat(MachinePaths().hccn_tool, " -i 1 ", command));
    settings.insert(setting);
  }
  EXPECT_EQ(settings.size(), DeviceSettings().size());
}

TEST(SetOnDeviceTest, SetsEachSettingOnTheDeviceAndInTheFile) {
  const struct {
    const char* setting;
    const char* to;
    const char* line;
  } cases[] = {
      {kAddressSetting, "10.20.0.17/255.255.255.0", "address_1=10.20.0.17\n"},
      {kGatewaySetting, "10.20.0.9", "gateway_1=10.20.0.9\n"},
      {kDetectSetting, "10.20.0.9", "netdetect_1=10.20.0.9\n"},
      {kMtuSetting, "9000", "mtu_1=9000\n"},
      {kTlsSetting, "off", "tls_enable_1=0\n"},
      {kPfcSetting, "0,0,0,0,1,0,0,0", "bitmap_1=0,0,0,0,1,0,0,0\n"},
      {kRocePortSetting, "4791", "roce_port_1=4791\n"},
      {kDscpSetting, "33:1,46:2", "dscp_tc_1=33:1,46:2,\n"},
  };
  for (const auto& [setting, to, line] : cases) {
    Runner test;
    test.scenario->machine.files().Put("/etc/hccn.conf", test.Conf() + "\n");
    const PlanStep step =
        DeviceStep(1, setting,
                   FindSetting(setting)
                       ->device->live(test.scenario->machine.ReadDevice(1))
                       .value,
                   to);
    EXPECT_FALSE(*test.actions.IsAlreadySo(step)) << setting;
    const auto done = test.Run(step);
    ASSERT_TRUE(done.ok()) << done.status();
    EXPECT_NE(test.Conf().find(line), std::string::npos) << test.Conf();
    EXPECT_TRUE(*test.actions.IsAlreadySo(step)) << setting;
  }
}

// The commands of a map, without their common start.
std::vector<std::string> MapCommands(const Runner& test) {
  std::vector<std::string> pairs;
  for (const std::string& command : test.scenario->machine.commands()) {
    const size_t at = command.find("-dscp_to_tc -s dscp ");
    if (at != std::string::npos) pairs.push_back(command.substr(at + 20));
  }
  return pairs;
}

TEST(SetOnDeviceTest, TellsOfAMapWhatDiffersAndWhatGoesBackToNought) {
  Runner test;
  test.device(1).dscp = "3:2,46:2";
  test.scenario->machine.files().Put("/etc/hccn.conf",
                                     test.Conf() + "\ndscp_tc_1=3:2,46:2,\n");
  const PlanStep step = DeviceStep(1, kDscpSetting, "3:2,46:2", "33:1,46:2");
  const auto done = test.Run(step);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(MapCommands(test), (std::vector<std::string>{"3 tc 0", "33 tc 1"}));
  EXPECT_EQ(test.device(1).dscp, "33:1,46:2");
  // The tool keeps a pair that was reset to 0.
  EXPECT_NE(test.Conf().find("dscp_tc_1=3:0,46:2,33:1,\n"), std::string::npos);
  EXPECT_TRUE(*test.actions.IsAlreadySo(step));
}

TEST(SetOnDeviceTest, StoresOfAMapWhatTheFileAloneHasOtherwise) {
  Runner test;
  test.device(1).dscp = "33:1";
  test.scenario->machine.files().Put("/etc/hccn.conf",
                                     test.Conf() + "\ndscp_tc_1=8:0,46:2,\n");
  const PlanStep step = RewriteStep(1, kDscpSetting, "46:2", "33:1");
  EXPECT_FALSE(*test.actions.IsAlreadySo(step));
  const auto done = test.Run(step);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(MapCommands(test),
            (std::vector<std::string>{"33 tc 1", "46 tc 0"}));
  EXPECT_NE(test.Conf().find("dscp_tc_1=8:0,46:0,33:1,\n"), std::string::npos);
}

TEST(SetOnDeviceTest, StopsInAMapAtTheCommandThatChangesNothing) {
  Runner test;
  const PlanStep step = DeviceStep(1, kDscpSetting, "0:0", "3:1,33:1,46:2");
  const auto saved = test.actions.Save(step);
  ASSERT_TRUE(saved.ok()) << saved.status();
  const auto before = test.scenario->machine.State("/var/lib/clusterd");
  int runs = 0;
  test.commands.after = [&] {
    if (++runs == 1) {
      test.device(1).fault = FakeMachine::Fault::kSuccessChangesNothing;
    }
  };
  const auto done = test.Run(step);
  EXPECT_EQ(MapCommands(test), (std::vector<std::string>{"3 tc 1", "33 tc 1"}));
  EXPECT_EQ(done.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(done.status().message().find(
                "DSCP to TC is 3:1, expected 3:1,33:1,46:2; the tool said"),
            absl::string_view::npos)
      << done.status();
  test.device(1).fault = FakeMachine::Fault::kNone;
  EXPECT_TRUE(test.actions.Restore(test.issuer.token(), *saved).empty());
  EXPECT_EQ(test.scenario->machine.State("/var/lib/clusterd"), before);
}

TEST(SetOnDeviceTest, PutsBackLinesThatTheToolLost) {
  Runner test;
  test.scenario->machine.files().Put(
      "/etc/hccn.conf",
      "gateway_1=10.20.0.1\nIPv6gateway_1=fd00::1\n# was gateway_1=1\n");
  const auto done = test.Run(Gateway(1, "10.20.0.9"));
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(ValueText(*done),
            "/etc/hccn.conf: put back 2 lines that the tool lost");
  EXPECT_EQ(test.Conf(),
            "IPv6gateway_1=fd00::1\n# was gateway_1=1\n"
            "gateway_1=10.20.0.9\n");
}

TEST(SetOnDeviceTest, LeavesAKeyThatSomebodySetWhileTheToolRan) {
  Runner test;
  FakeFileSystem& files = test.scenario->machine.files();
  files.Put("/etc/hccn.conf",
            "mtu_1=1500\ngateway_1=10.20.0.1\nIPv6gateway_1=fd00::1\n");
  test.commands.after = [&] {
    files.Put("/etc/hccn.conf",
              absl::StrReplaceAll(test.Conf(), {{"1500", "9000"}}));
  };
  const auto done = test.Run(Gateway(1, "10.20.0.9"));
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(ValueText(*done),
            "/etc/hccn.conf: put back 1 line that the tool lost");
  EXPECT_EQ(test.Conf(),
            "IPv6gateway_1=fd00::1\nmtu_1=9000\ngateway_1=10.20.0.9\n");
}

TEST(SetOnDeviceTest, LeavesTheLockToTheToolWhileItRuns) {
  Runner test;
  test.scenario->machine.files().Put("/etc/hccn.conf", "gateway_1=10.20.0.1\n");
  int free = 0;
  test.commands.after = [&] {
    auto conf = test.scenario->machine.files().Open("/etc/hccn.conf",
                                                    OpenMode::kReadWrite);
    free += *(*conf)->TryLock() ? 1 : 0;
  };
  ASSERT_TRUE(test.Run(Gateway(1, "10.20.0.9")).ok());
  EXPECT_EQ(free, 1);
}

TEST(SetOnDeviceTest, FailsOnEverySuccessThatIsNone) {
  for (const Fault fault :
       {Fault::kSuccessChangesNothing, Fault::kSuccessLosesKey,
        Fault::kActsAndFails, Fault::kDeviceRefuses, Fault::kHangs,
        Fault::kHangsHalfWay, Fault::kBusy}) {
    Runner test;
    test.device(1).fault = fault;
    const auto done = test.Run(Gateway(1, "10.20.0.9"));
    EXPECT_EQ(done.status().code(), absl::StatusCode::kFailedPrecondition)
        << static_cast<int>(fault);
    EXPECT_NE(done.status().message().find("the tool said"),
              absl::string_view::npos)
        << done.status();
  }
}

TEST(SetOnDeviceTest, SeesThatAFailureHasActedAfterAll) {
  Runner test;
  test.device(1).fault = Fault::kActsAndFails;
  const auto done = test.Run(Gateway(1, "10.20.0.9"));
  EXPECT_EQ(test.device(1).gateway, "10.20.0.9");
  EXPECT_NE(done.status().message().find(
                "/etc/hccn.conf: gateway_1 is 10.20.0.1, expected 10.20.0.9"),
            absl::string_view::npos)
      << done.status();
}

TEST(SetOnDeviceTest, IsContentWhenDeviceAndFileAreRightWhateverTheStatus) {
  Runner test;
  test.device(1).gateway = "10.20.0.9";
  test.scenario->machine.files().Put("/etc/hccn.conf", "gateway_1=10.20.0.9\n");
  test.device(1).fault = Fault::kDeviceRefuses;
  EXPECT_TRUE(test.Run(Gateway(1, "10.20.0.9")).ok());
}

TEST(IsAlreadySoTest, AlreadySoNeedsDeviceAndFile) {
  Runner test;
  EXPECT_TRUE(*test.actions.IsAlreadySo(Gateway(1, "10.20.0.1")));
  test.scenario->machine.files().Put("/etc/hccn.conf", "x=1\n");
  EXPECT_FALSE(*test.actions.IsAlreadySo(Gateway(1, "10.20.0.1")));
}

TEST(IsAlreadySoTest, AbortsWhenTheValueIsNeitherOldNorNew) {
  Runner test;
  const PlanStep address = DeviceStep(
      1, kAddressSetting, "10.1.1.1/255.255.255.0", "10.1.1.2/255.255.255.0");
  const auto moved = test.actions.IsAlreadySo(address);
  EXPECT_TRUE(absl::IsAborted(moved.status()));
  EXPECT_EQ(moved.status().message(),
            "device 1: address was 10.1.1.1/255.255.255.0 when this was "
            "planned, now 10.20.0.2/255.255.255.0");
  EXPECT_TRUE(absl::IsAborted(
      test.actions.IsAlreadySo(RunningStep(kSomaxconnKey, "128", "65535"))
          .status()));
  EXPECT_TRUE(
      absl::IsAborted(test.actions.IsAlreadySo(Repair("0000")).status()));
  EXPECT_TRUE(absl::IsAborted(test.Run(Repair("0000")).status()));
}

TEST(RepairFormTest, HoldsAfterARebootWroteTheToolsOwnLines) {
  Runner test;
  const std::string bad = test.Conf() + "mtu_1=1500\r\n";
  FakeFileSystem& files = test.scenario->machine.files();
  files.Put("/etc/hccn.conf", bad + "xsfp_reset_max_times_1=0\n");
  const auto repaired = test.Run(Repair(HccnConfDigest(bad)));
  EXPECT_TRUE(repaired.ok()) << repaired.status();
  EXPECT_EQ(test.Conf(), RepairHccnConf(bad) + "xsfp_reset_max_times_1=0\n");
  // A later edit by a person is not repaired unseen.
  files.Put("/etc/hccn.conf", bad + "mtu_0=9000\n");
  EXPECT_TRUE(absl::IsAborted(test.Run(Repair(HccnConfDigest(bad))).status()));
}

TEST(IsAlreadySoTest, TakesAGatewayThatIsGoneForOneThatAnAddressDropped) {
  Runner test;
  PlanStep gateway = DeviceStep(1, kGatewaySetting, "10.7.7.7", "10.20.0.9");
  EXPECT_FALSE(*test.actions.IsAlreadySo(gateway));
  // A rewrite changes the file alone: the device must have it.
  gateway.set_kind(CHANGE_HCCN_CONF);
  EXPECT_TRUE(absl::IsAborted(test.actions.IsAlreadySo(gateway).status()));
  gateway.set_to("10.20.0.1");
  EXPECT_TRUE(*test.actions.IsAlreadySo(gateway));
}

TEST(IsAlreadySoTest, CannotTellASilentDevice) {
  Runner test;
  test.device(1).fault = Fault::kSilent;
  EXPECT_EQ(test.actions.IsAlreadySo(Gateway(1, "10.20.0.9")).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(SetOnDeviceTest, WaitsBoundedForWhoHoldsHccnConf) {
  Runner test;
  test.scenario->machine.files().SetLockedElsewhere("/etc/hccn.conf", true);
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(test.Run(Gateway(1, "10.20.0.9")).status()));
  // The tool would wait for ever.
  EXPECT_TRUE(test.scenario->machine.commands().empty());
}

TEST(SetAtBootTest, RefusesToReplaceALinkBySysctlFile) {
  Runner test;
  test.scenario->machine.files().PutLink(kSysctlFile);
  EXPECT_EQ(
      test.Run(AtBootStep(kSomaxconnKey, "none", "65535")).status().code(),
      absl::StatusCode::kFailedPrecondition);
}

TEST(SaveTest, SavesEachThingOnceBeforeItIsTouchedFirst) {
  auto scenario = OpenUfwScenario();
  const HostPlan plan = scenario->Plan();
  Machine machine(scenario->Access(), MachinePaths());
  SettingActions actions(&machine);
  std::map<int, int> kinds;
  int rules = 0;
  int of_devices = 0;
  std::set<uint32_t> devices;
  for (const PlanStep& step : plan.steps()) {
    const auto saved = actions.Save(step);
    ASSERT_TRUE(saved.ok()) << saved.status();
    for (const SavedResource& each : *saved) ++kinds[each.resource_case()];
    rules += step.target().has_rule() ? 1 : 0;
    if (!IsOfDevice(step)) continue;
    // A device is saved with its first step, and with steps of own settings.
    const bool is_first = devices.insert(step.target().device()).second;
    if (is_first || !SettingOf(step)->device->always_saved) ++of_devices;
  }
  EXPECT_GT(rules, 1);
  EXPECT_EQ(kinds[SavedResource::kFileInPlace], 1);
  EXPECT_EQ(devices.size(), 3u);
  EXPECT_EQ(kinds[SavedResource::kDevice], of_devices);
  EXPECT_EQ(kinds[SavedResource::kSysctl], 3);
  EXPECT_EQ(kinds[SavedResource::kFile], 1);
  // Its state and files once, and each of its rules.
  EXPECT_EQ(kinds[SavedResource::kFirewall], 1 + rules);
}

TEST(SaveTest, SavingChangesNothing) {
  auto scenario = OpenUfwScenario();
  const auto before = scenario->State();
  const HostPlan plan = scenario->Plan();
  Machine machine(scenario->Access(), MachinePaths());
  SettingActions actions(&machine);
  for (const PlanStep& step : plan.steps()) (void)actions.Save(step);
  EXPECT_EQ(scenario->State(), before);
}

TEST(SaveTest, RefusesADeviceThatCouldNotBePutBack) {
  auto scenario = OpenUfwScenario();
  const PlanStep step = Gateway(1, "10.20.0.9");
  scenario->machine.device(1).fault = FakeMachine::Fault::kSilent;
  Machine machine(scenario->Access(), MachinePaths());
  SettingActions actions(&machine);
  const auto saved = actions.Save(step);
  EXPECT_EQ(saved.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(saved.status().message().find("could not be put back"),
            absl::string_view::npos);
}

std::string SavedValues(const absl::StatusOr<std::vector<SavedResource>>& all) {
  std::string text;
  for (const SavedResource& each : *all) {
    for (const SavedDevice::Value& value : each.device().values()) {
      absl::StrAppend(&text, value.setting(), "=", value.value(), "\n");
    }
  }
  return text;
}

TEST(SaveTest, SavesWhatNoOtherSettingTakesAlongWithTheStepThatSetsIt) {
  Runner test;
  FakeMachine::Device& device = test.device(1);
  const std::string mtu = device.mtu;
  const auto first =
      test.actions.Save(DeviceStep(1, kGatewaySetting, "", "10.20.0.9"));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(SavedValues(first).find("mtu"), std::string::npos);
  EXPECT_EQ(SavedValues(first).find("tls"), std::string::npos);
  EXPECT_NE(SavedValues(first).find("address="), std::string::npos);
  const auto second =
      test.actions.Save(DeviceStep(1, kMtuSetting, mtu, "9000"));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(SavedValues(second), absl::StrCat("mtu=", mtu, "\n"));
  const auto third = test.actions.Save(DeviceStep(1, kMtuSetting, mtu, "9100"));
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_TRUE(third->empty());
}

TEST(SaveTest, RefusesAnMtuThatNoCommandPutsBack) {
  Runner test;
  test.device(1).mtu = "1000";  // Below 1280 the tool asks a question.
  const absl::Status status =
      test.actions.Save(DeviceStep(1, kMtuSetting, "1000", "9000")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("device 1: MTU is 1000, which no command"),
            absl::string_view::npos)
      << status;
}

TEST(RestoreTest, RestoringWhatIsAsItWasRunsNoSetCommand) {
  auto scenario = DisableFirewallsScenario();
  const HostPlan plan = scenario->Plan();
  Machine machine(scenario->Access(), MachinePaths());
  SettingActions actions(&machine);
  std::vector<SavedResource> saved;
  for (const PlanStep& step : plan.steps()) {
    const auto more = actions.Save(step);
    ASSERT_TRUE(more.ok()) << more.status();
    saved.insert(saved.end(), more->begin(), more->end());
  }
  MutationTokenIssuer issuer;
  const auto before = scenario->State();
  EXPECT_TRUE(actions.Restore(issuer.token(), saved).empty());
  EXPECT_EQ(scenario->State(), before);
  for (const std::string& command : scenario->machine.commands()) {
    EXPECT_EQ(command.find(" -s "), std::string::npos) << command;
  }
}

TEST(RestoreTest, MendsAHalfWrittenHccnConfBeforeItRunsTheTool) {
  auto scenario = OpenUfwScenario();
  const auto before = scenario->State();
  Machine machine(scenario->Access(), MachinePaths());
  SettingActions actions(&machine);
  const PlanStep step = DeviceStep(1, kAddressSetting, "", "");
  const auto saved = actions.Save(step);
  ASSERT_TRUE(saved.ok());
  scenario->machine.device(1).address = "10.20.0.77";
  // With a line like this the tool sets no address.
  scenario->machine.files().Put(
      "/etc/hccn.conf", "route_address_172.16.0.0_netmask_255.255.0.0_1=gat",
      0640, 0, 12);
  MutationTokenIssuer issuer;
  const auto residues = actions.Restore(issuer.token(), *saved);
  EXPECT_TRUE(residues.empty()) << ValueText(residues[0]);
  EXPECT_EQ(scenario->State(), before);
}

TEST(SaveTest, SavesOnlyRoutesThatTheFileHas) {
  auto scenario = OpenUfwScenario();
  scenario->machine.files().Put(
      "/etc/hccn.conf",
      "route_address_172.16.0.0_netmask_255.255.0.0_1=gateway_10.20.0.9\n"
      "ip_route_1=add 10.0.0.0/24 via 10.20.0.9 dev eth1 table 100\r\n",
      0640, 0, 12);
  PlanStep step = DeviceStep(1, kAddressSetting, "", "");
  const auto drop = [&step](const std::string& key, const std::string& value) {
    HccnConf::Entry* entry = step.add_dropped();
    entry->set_key(key);
    entry->set_device(1);
    entry->set_value(value);
  };
  drop("route_address_172.16.0.0_netmask_255.255.0.0", "gateway_10.66.6.6");
  drop("route_address_10.66.0.0_netmask_255.255.0.0", "gateway_10.20.0.9");
  drop("ip_route", "add 10.0.0.0/24 via 10.66.6.6 dev eth1 table 100");
  drop("ip_route", "add 10.0.0.0/24 via 10.20.0.9 dev eth1 table 100");
  Machine machine(scenario->Access(), MachinePaths());
  const auto saved = SettingActions(&machine).Save(step);
  ASSERT_TRUE(saved.ok()) << saved.status();
  const SavedDevice& device = saved->back().device();
  ASSERT_EQ(device.routes_size(), 2);
  EXPECT_EQ(device.routes(0).value(), "gateway_10.20.0.9");
  EXPECT_EQ(device.routes(1).value(),
            "add 10.0.0.0/24 via 10.20.0.9 dev eth1 table 100");
}

TEST(RestoreTest, NamesWhatItCouldNotPutBackWithBothValues) {
  auto scenario = OpenUfwScenario();
  Machine machine(scenario->Access(), MachinePaths());
  SettingActions actions(&machine);
  const PlanStep step = DeviceStep(1, kDetectSetting, "", "");
  const auto saved = actions.Save(step);
  ASSERT_TRUE(saved.ok());
  FakeMachine::Device& device = scenario->machine.device(1);
  device.detect = "10.20.0.253";
  device.fault = FakeMachine::Fault::kDeviceRefuses;
  MutationTokenIssuer issuer;
  const auto residues = actions.Restore(issuer.token(), *saved);
  ASSERT_EQ(residues.size(), 1u);
  EXPECT_EQ(ValueText(residues[0]),
            "device 1: detect address is 10.20.0.253, was 0.0.0.0 (`hccn_tool "
            "-i 1 -netdetect -s address 0.0.0.0`: status 1: Command execute "
            "failed!)");
}

// Answers `-route -g` with a text of its own; refuses `-route -a`, and
// `-ip_route -a` unless it takes that.
class OtherRoutes final : public CommandRunner {
 public:
  OtherRoutes(CommandRunner* others, std::string table, bool takes = false)
      : others_(others), table_(std::move(table)), takes_(takes) {}

  absl::StatusOr<CommandResult> Run(const Command& command) override {
    const bool is_policy =
        command.argv.size() > 4 && command.argv[3] == "-ip_route";
    if (command.argv.size() < 5 ||
        (command.argv[3] != "-route" && !is_policy)) {
      return others_->Run(command);
    }
    CommandResult result;
    if (command.argv[4] == "-g") {
      result.standard_output = table_;
    } else if (++added; !is_policy || !takes_) {
      result.exit_status = 1;
      result.standard_error = "Command execute failed!\n";
    }
    return result;
  }

  int added = 0;

 private:
  CommandRunner* const others_;
  const std::string table_;
  const bool takes_;
};

TEST(RestoreTest, APolicyRouteIsBackIfTheToolTookIt) {
  for (const bool takes : {false, true}) {
    auto scenario = OpenUfwScenario();
    Machine saver(scenario->Access(), MachinePaths());
    const auto all =
        SettingActions(&saver).Save(DeviceStep(1, kDetectSetting, "", ""));
    ASSERT_TRUE(all.ok()) << all.status();
    SavedResource saved = all->back();
    HccnConf::Entry* route = saved.mutable_device()->add_routes();
    route->set_key("ip_route");
    route->set_device(1);
    route->set_value("add 10.0.0.0/24 via 10.20.0.9 dev eth1 table 100");
    OtherRoutes runner(&scenario->machine, "", takes);
    MachineAccess access = scenario->Access();
    access.runner = &runner;
    Machine machine(access, MachinePaths());
    MutationTokenIssuer issuer;
    const auto residues =
        SettingActions(&machine).Restore(issuer.token(), {saved});
    EXPECT_EQ(runner.added, 1);
    EXPECT_EQ(residues.empty(), takes);
    if (takes) continue;
    ASSERT_EQ(residues.size(), 1u);
    EXPECT_THAT(ValueText(residues[0]),
                HasSubstr("(`hccn_tool -i 1 -ip_route -a ip 10.0.0.0"));
  }
}

TEST(RestoreTest, TellsARouteThatIsNotBackFromOneThatCannotBeTold) {
  struct Case {
    const char* table;
    std::string residue;
    int added;
  };
  const std::string columns =
      "Routing table:\nDestination Gateway Genmask Flags Metric Ref Use "
      "Iface\n";
  const std::string row = "172.16.0.0 10.20.0.9 255.255.0.0 UG 0 0 0 eth1\n";
  const std::string line =
      "route_address_172.16.0.0_netmask_255.255.0.0=gateway_10.20.0.9";
  const std::string complete = columns + row;
  for (const Case& each :
       {Case{complete.c_str(), "", 0},
        Case{columns.c_str(),
             "device 1: the live route " + line +
                 " is not back; hccn.conf has it",
             1},
        Case{"Kernel IP routing table\n",
             "device 1: whether the live route " + line +
                 " is back is not known: `hccn_tool -i 1 -route -g`: ",
             1}}) {
    auto scenario = OpenUfwScenario();
    SavedResource saved;
    {
      Machine machine(scenario->Access(), MachinePaths());
      const PlanStep step = DeviceStep(1, kDetectSetting, "", "");
      const auto all = SettingActions(&machine).Save(step);
      ASSERT_TRUE(all.ok()) << all.status();
      saved = all->back();
    }
    HccnConf::Entry* route = saved.mutable_device()->add_routes();
    route->set_key("route_address_172.16.0.0_netmask_255.255.0.0");
    route->set_device(1);
    route->set_value("gateway_10.20.0.9");
    OtherRoutes runner(&scenario->machine, each.table);
    MachineAccess access = scenario->Access();
    access.runner = &runner;
    Machine machine(access, MachinePaths());
    MutationTokenIssuer issuer;
    const auto residues =
        SettingActions(&machine).Restore(issuer.token(), {saved});
    EXPECT_EQ(runner.added, each.added) << each.table;
    if (each.residue.empty()) {
      EXPECT_TRUE(residues.empty()) << ValueText(residues[0]);
      continue;
    }
    ASSERT_EQ(residues.size(), 1u);
    EXPECT_THAT(ValueText(residues[0]), StartsWith(each.residue));
  }
}

}  // namespace
}  // namespace clusterd
