#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/plan/hccn_conf_text.h"
#include "config/plan/kernel_parameters.h"
#include "config/plan/settings.h"
#include "config/values/hccn_conf_line.h"
#include "config/words/message.h"
#include "daemon/agent/apply/machine.h"
#include "daemon/host/change/mutation_token_issuer.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/config/plan_steps.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
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
  explicit Runner(std::unique_ptr<Scenario> of = OpenUfwScenario())
      : scenario(std::move(of)) {}

  const std::unique_ptr<Scenario> scenario;
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
  // Returns the words of a step that succeeds.
  FindingValue Done(const PlanStep& step) { return Run(step).value(); }
  FakeMachine::Device& device(uint32_t id) {
    return scenario->machine.device(id);
  }
  FakeFileSystem& files() { return scenario->machine.files(); }
  std::string Conf() { return *files().Content("/etc/hccn.conf"); }
  void PutConf(const std::string& text) {
    files().Put("/etc/hccn.conf", text, 0640, 0, 12);
  }
  // Returns the saved resources; fails the test if Save fails.
  std::vector<SavedResource> Saved(const PlanStep& step) {
    return actions.Save(step).value();
  }
  // The residues of a restore.
  std::vector<std::string> Restore(const std::vector<SavedResource>& saved) {
    std::vector<std::string> residues;
    for (const FindingValue& each : actions.Restore(issuer.token(), saved)) {
      residues.push_back(ValueText(each));
    }
    return residues;
  }
};

PlanStep Gateway(uint32_t device, const std::string& to) {
  return DeviceStep(device, SETTING_GATEWAY, "10.20.0.1", to);
}

PlanStep Repair(const std::string& sha256) {
  return FormStep("add the final newline", sha256);
}

// The step, as a plan would have it now.
PlanStep AsItIs(PlanStep step, FakeMachine& machine) {
  *step.mutable_from() = DeviceSettingOf(step.setting())
                             .Live(machine.ReadDevice(step.target().device()));
  return step;
}

TEST(SetOnDeviceTest, SetsEachSettingOnTheDeviceAndInTheFile) {
  const struct {
    SettingId setting;
    const char* to;
    const char* command;
    const char* line;
  } cases[] = {
      {SETTING_ADDRESS, "10.20.0.17/255.255.255.0",
       "-ip -s address 10.20.0.17 netmask 255.255.255.0",
       "address_1=10.20.0.17\n"},
      {SETTING_GATEWAY, "10.20.0.9", "-gateway -s gateway 10.20.0.9",
       "gateway_1=10.20.0.9\n"},
      {SETTING_DETECT_ADDRESS, "10.20.0.9", "-netdetect -s address 10.20.0.9",
       "netdetect_1=10.20.0.9\n"},
      {SETTING_MTU, "9000", "-mtu -s size 9000", "mtu_1=9000\n"},
      {SETTING_TLS, "off", "-tls -s enable 0", "tls_enable_1=0\n"},
      {SETTING_PFC, "0,0,0,0,1,0,0,0", "-pfc -s bitmap 0,0,0,0,1,0,0,0",
       "bitmap_1=0,0,0,0,1,0,0,0\n"},
      {SETTING_ROCE_PORT, "4791", "-udp -s port 4791", "roce_port_1=4791\n"},
      {SETTING_DSCP_TO_TC, "33:1", "-dscp_to_tc -s dscp 33 tc 1",
       "dscp_tc_1=33:1,\n"},
  };
  EXPECT_EQ(std::size(cases), DeviceSettings().size());
  for (const auto& [setting, to, command, line] : cases) {
    Runner test;
    test.PutConf(test.Conf() + "\n");
    const PlanStep step =
        AsItIs(DeviceStep(1, setting, "none", to), test.scenario->machine);
    EXPECT_FALSE(*test.actions.IsAlreadySo(step)) << to;
    test.Done(step);
    EXPECT_THAT(test.scenario->machine.commands(),
                ::testing::Contains(
                    absl::StrCat(MachinePaths().hccn_tool, " -i 1 ", command)));
    EXPECT_NE(test.Conf().find(line), std::string::npos) << test.Conf();
    EXPECT_TRUE(*test.actions.IsAlreadySo(step)) << to;
  }
}

TEST(SetOnDeviceTest, SpeaksWordsForTheOtherValuesOfASwitchAndAPort) {
  const struct {
    SettingId setting;
    const char* to;
    const char* command;
  } cases[] = {{SETTING_TLS, "on", "-tls -s enable 1"},
               {SETTING_ROCE_PORT, "auto", "-udp -s auto"}};
  for (const auto& [setting, to, command] : cases) {
    Runner test;
    (void)test.Run(DeviceStep(1, setting, "", to));
    EXPECT_THAT(test.scenario->machine.commands(),
                ::testing::ElementsAre(
                    absl::StrCat(MachinePaths().hccn_tool, " -i 1 ", command)));
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

TEST(SetOnDeviceTest, ListsDifferencesOfAMapAndWhatBecomesZero) {
  Runner test;
  test.device(1).dscp = "3:2,46:2";
  test.PutConf(test.Conf() + "\ndscp_tc_1=3:2,46:2,\n");
  const PlanStep step =
      DeviceStep(1, SETTING_DSCP_TO_TC, "3:2,46:2", "33:1,46:2");
  test.Done(step);
  EXPECT_EQ(MapCommands(test), (std::vector<std::string>{"3 tc 0", "33 tc 1"}));
  EXPECT_EQ(test.device(1).dscp, "33:1,46:2");
  // The tool keeps a pair that was reset to 0.
  EXPECT_NE(test.Conf().find("dscp_tc_1=3:0,46:2,33:1,\n"), std::string::npos);
  EXPECT_TRUE(*test.actions.IsAlreadySo(step));
}

TEST(SetOnDeviceTest, StoresOfAMapWhatTheFileAloneHasOtherwise) {
  Runner test;
  test.device(1).dscp = "33:1";
  test.PutConf(test.Conf() + "\ndscp_tc_1=8:0,46:2,\n");
  const PlanStep step = RewriteStep(1, SETTING_DSCP_TO_TC, "46:2", "33:1");
  EXPECT_FALSE(*test.actions.IsAlreadySo(step));
  test.Done(step);
  EXPECT_EQ(MapCommands(test),
            (std::vector<std::string>{"33 tc 1", "46 tc 0"}));
  EXPECT_NE(test.Conf().find("dscp_tc_1=8:0,46:0,33:1,\n"), std::string::npos);
}

TEST(SetOnDeviceTest, StopsInAMapAtTheCommandThatChangesNothing) {
  Runner test;
  const PlanStep step =
      DeviceStep(1, SETTING_DSCP_TO_TC, "0:0", "3:1,33:1,46:2");
  const auto saved = test.actions.Save(step).value();
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
  EXPECT_THAT(done.status(),
              HasText(Say("msg-step-not-set",
                          Worded("plan-say-is-expected", "device 1: DSCP to TC",
                                 "3:1", "3:1,33:1,46:2"),
                          "")));
  test.device(1).fault = FakeMachine::Fault::kNone;
  EXPECT_TRUE(test.actions.Restore(test.issuer.token(), saved).empty());
  EXPECT_EQ(test.scenario->machine.State("/var/lib/clusterd"), before);
}

TEST(SetOnDeviceTest, PutsBackLinesThatTheToolLost) {
  Runner test;
  test.PutConf(
      "gateway_1=10.20.0.1\nIPv6gateway_1=fd00::1\n# was gateway_1=1\n");
  EXPECT_EQ(ValueText(test.Done(Gateway(1, "10.20.0.9"))),
            Say("plan-say-lines-put-back", 2, "/etc/hccn.conf"));
  EXPECT_EQ(test.Conf(),
            "IPv6gateway_1=fd00::1\n# was gateway_1=1\n"
            "gateway_1=10.20.0.9\n");
}

TEST(SetOnDeviceTest, LeavesAKeyThatSomebodySetWhileTheToolRan) {
  Runner test;
  FakeFileSystem& files = test.files();
  files.Put("/etc/hccn.conf",
            "mtu_1=1500\ngateway_1=10.20.0.1\nIPv6gateway_1=fd00::1\n");
  test.commands.after = [&] {
    files.Put("/etc/hccn.conf",
              absl::StrReplaceAll(test.Conf(), {{"1500", "9000"}}));
  };
  EXPECT_EQ(ValueText(test.Done(Gateway(1, "10.20.0.9"))),
            Say("plan-say-lines-put-back", 1, "/etc/hccn.conf"));
  EXPECT_EQ(test.Conf(),
            "IPv6gateway_1=fd00::1\nmtu_1=9000\ngateway_1=10.20.0.9\n");
}

TEST(SetOnDeviceTest, LeavesTheLockToTheToolWhileItRuns) {
  Runner test;
  test.PutConf("gateway_1=10.20.0.1\n");
  int free = 0;
  test.commands.after = [&] {
    auto conf = test.files().Open("/etc/hccn.conf", OpenMode::kReadWrite);
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
    EXPECT_THAT(
        test.Run(Gateway(1, "10.20.0.9")),
        Fails(absl::StatusCode::kFailedPrecondition, HasText("the tool said")));
  }
  // A failure that has acted after all.
  Runner acted;
  acted.device(1).fault = Fault::kActsAndFails;
  const auto done = acted.Run(Gateway(1, "10.20.0.9"));
  EXPECT_EQ(acted.device(1).gateway, "10.20.0.9");
  EXPECT_THAT(std::string(done.status().message()),
              HasSubstr(Say("plan-say-is-expected", "/etc/hccn.conf: gateway_1",
                            "10.20.0.1", "10.20.0.9")));
}

TEST(SetOnDeviceTest, IsContentWhenDeviceAndFileAreRightWhateverTheStatus) {
  Runner test;
  test.device(1).gateway = "10.20.0.9";
  test.PutConf("gateway_1=10.20.0.9\n");
  test.device(1).fault = Fault::kDeviceRefuses;
  EXPECT_TRUE(test.Run(Gateway(1, "10.20.0.9")).ok());
}

TEST(IsAlreadySoTest, AlreadySoNeedsDeviceAndFile) {
  Runner test;
  EXPECT_TRUE(*test.actions.IsAlreadySo(Gateway(1, "10.20.0.1")));
  test.PutConf("x=1\n");
  EXPECT_FALSE(*test.actions.IsAlreadySo(Gateway(1, "10.20.0.1")));
  Runner silent;
  silent.device(1).fault = Fault::kSilent;
  EXPECT_TRUE(absl::IsFailedPrecondition(
      silent.actions.IsAlreadySo(Gateway(1, "10.20.0.9")).status()));
}

TEST(IsAlreadySoTest, AbortsWhenTheValueIsNeitherOldNorNew) {
  Runner test;
  const PlanStep address = DeviceStep(
      1, SETTING_ADDRESS, "10.1.1.1/255.255.255.0", "10.1.1.2/255.255.255.0");
  EXPECT_EQ(test.actions.IsAlreadySo(address).status(),
            AbortedWords("msg-step-moved",
                         Worded("plan-say-of-device", 1, Term("address")),
                         "10.1.1.1/24", "10.20.0.2/24"));
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
  FakeFileSystem& files = test.files();
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
  PlanStep gateway = DeviceStep(1, SETTING_GATEWAY, "10.7.7.7", "10.20.0.9");
  EXPECT_FALSE(*test.actions.IsAlreadySo(gateway));
  // A rewrite changes only the file: the device must have the value.
  gateway.set_kind(CHANGE_HCCN_CONF);
  EXPECT_TRUE(absl::IsAborted(test.actions.IsAlreadySo(gateway).status()));
  gateway.mutable_to()->set_address("10.20.0.1");
  EXPECT_TRUE(*test.actions.IsAlreadySo(gateway));
}

TEST(SetOnDeviceTest, WaitsBoundedForWhoHoldsHccnConf) {
  Runner test;
  test.files().SetLockedElsewhere("/etc/hccn.conf", true);
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(test.Run(Gateway(1, "10.20.0.9")).status()));
  // The tool would wait forever.
  EXPECT_TRUE(test.scenario->machine.commands().empty());
}

TEST(SaveTest, SavesEachThingOnceBeforeItIsTouchedAndChangesNothing) {
  Runner test;
  const auto before = test.scenario->State();
  const HostPlan plan = test.scenario->Plan();
  std::map<int, int> kinds;
  int rules = 0;
  int of_devices = 0;
  std::set<uint32_t> devices;
  for (const PlanStep& step : plan.steps()) {
    for (const SavedResource& each : test.Saved(step)) {
      ++kinds[each.resource_case()];
    }
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
  EXPECT_EQ(test.scenario->State(), before);
}

std::string SavedValues(const std::vector<SavedResource>& all) {
  std::string text;
  for (const SavedResource& each : all) {
    for (const SavedDevice::Value& value : each.device().values()) {
      absl::StrAppend(&text, SettingName(value.setting()), "=",
                      SettingText(value.value()), "\n");
    }
  }
  return text;
}

TEST(SaveTest, SavesWhatNoOtherSettingTakesAlongWithTheStepThatSetsIt) {
  Runner test;
  const std::string mtu = test.device(1).mtu;
  const std::string first =
      SavedValues(test.Saved(DeviceStep(1, SETTING_GATEWAY, "", "10.20.0.9")));
  EXPECT_EQ(first.find("mtu"), std::string::npos);
  EXPECT_EQ(first.find("tls"), std::string::npos);
  EXPECT_NE(first.find("address="), std::string::npos);
  const PlanStep step = DeviceStep(1, SETTING_MTU, mtu, "9000");
  EXPECT_EQ(SavedValues(test.Saved(step)), absl::StrCat("mtu=", mtu, "\n"));
  EXPECT_TRUE(test.Saved(DeviceStep(1, SETTING_MTU, mtu, "9100")).empty());
}

TEST(SaveTest, RefusesWhatCouldNotBePutBack) {
  const auto refusal = [](Runner* test, const PlanStep& step) {
    const absl::Status status = test->actions.Save(step).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    return std::string(status.message());
  };
  Runner silent;
  silent.device(1).fault = Fault::kSilent;
  EXPECT_THAT(refusal(&silent, Gateway(1, "10.20.0.9")),
              HasSubstr("could not be put back"));
  Runner small;
  small.device(1).mtu = "1000";  // Below 1280 the tool asks a question.
  EXPECT_THAT(refusal(&small, DeviceStep(1, SETTING_MTU, "1000", "9000")),
              HasSubstr(Say("msg-step-not-put-back", "device 1: MTU", "1000")));
}

TEST(RestoreTest, RestoringWhatIsAsItWasRunsNoSetCommand) {
  Runner test(DisableFirewallsScenario());
  const HostPlan plan = test.scenario->Plan();
  std::vector<SavedResource> saved;
  for (const PlanStep& step : plan.steps()) {
    for (const SavedResource& each : test.Saved(step)) saved.push_back(each);
  }
  const auto before = test.scenario->State();
  EXPECT_THAT(test.Restore(saved), IsEmpty());
  EXPECT_EQ(test.scenario->State(), before);
  for (const std::string& command : test.scenario->machine.commands()) {
    EXPECT_EQ(command.find(" -s "), std::string::npos) << command;
  }
}

TEST(RestoreTest, RestoresAHalfWrittenHccnConfBeforeItRunsTheTool) {
  Runner test;
  const auto before = test.scenario->State();
  const auto saved = test.Saved(DeviceStep(1, SETTING_ADDRESS, "", ""));
  test.device(1).address = "10.20.0.77";
  // With a line like this the tool sets no address.
  test.PutConf("route_address_172.16.0.0_netmask_255.255.0.0_1=gat");
  EXPECT_THAT(test.Restore(saved), IsEmpty());
  EXPECT_EQ(test.scenario->State(), before);
}

const std::string kPolicyRoute =
    "add 10.0.0.0/24 via 10.20.0.9 dev eth1 table 100";

TEST(SaveTest, SavesOnlyRoutesThatTheFileHas) {
  Runner test;
  test.PutConf(
      "route_address_172.16.0.0_netmask_255.255.0.0_1=gateway_10.20.0.9\n"
      "ip_route_1=" +
      kPolicyRoute + "\r\n");
  PlanStep step = DeviceStep(1, SETTING_ADDRESS, "", "");
  const auto drop = [&step](const std::string& key, const std::string& value) {
    HccnConf::Entry* entry = step.add_dropped();
    entry->set_key(key);
    entry->set_device(1);
    entry->set_value(value);
  };
  drop("route_address_172.16.0.0_netmask_255.255.0.0", "gateway_10.66.6.6");
  drop("route_address_10.66.0.0_netmask_255.255.0.0", "gateway_10.20.0.9");
  drop("ip_route", "add 10.0.0.0/24 via 10.66.6.6 dev eth1 table 100");
  drop("ip_route", kPolicyRoute);
  const std::vector<SavedResource> saved = test.Saved(step);
  ASSERT_FALSE(saved.empty());
  const SavedDevice& device = saved.back().device();
  ASSERT_EQ(device.routes_size(), 2);
  EXPECT_EQ(device.routes(0).value(), "gateway_10.20.0.9");
  EXPECT_EQ(device.routes(1).value(), kPolicyRoute);
}

TEST(RestoreTest, NamesWhatItCouldNotPutBackWithBothValues) {
  Runner test;
  const auto saved = test.Saved(DeviceStep(1, SETTING_DETECT_ADDRESS, "", ""));
  test.device(1).detect = "10.20.0.253";
  test.device(1).fault = Fault::kDeviceRefuses;
  EXPECT_THAT(test.Restore(saved),
              ElementsAre(AllOf(
                  StartsWith(Say("plan-say-is-was", "device 1: detect address",
                                 "10.20.0.253", "0.0.0.0")),
                  HasSubstr("`hccn_tool -i 1 -netdetect -s address 0.0.0.0`: " +
                            Say("plan-say-status", 1)))));
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

// A device as it was saved, which had this route too, restored by a tool with
// these routes.
struct RestoredRoute {
  RestoredRoute(const std::string& key, const std::string& value,
                const std::string& table, bool takes = false)
      : tool(&test.scenario->machine, table, takes) {
    SavedResource saved =
        test.Saved(DeviceStep(1, SETTING_DETECT_ADDRESS, "", "")).back();
    HccnConf::Entry* route = saved.mutable_device()->add_routes();
    route->set_key(key);
    route->set_device(1);
    route->set_value(value);
    MachineAccess access = test.scenario->Access();
    access.runner = &tool;
    Machine machine(access, MachinePaths());
    for (const FindingValue& each :
         SettingActions(&machine).Restore(test.issuer.token(), {saved})) {
      residues.push_back(ValueText(each));
    }
  }

  Runner test;
  OtherRoutes tool;
  std::vector<std::string> residues;
};

TEST(RestoreTest, APolicyRouteIsBackIfTheToolTookIt) {
  const RestoredRoute taken("ip_route", kPolicyRoute, "", /*takes=*/true);
  EXPECT_EQ(taken.tool.added, 1);
  EXPECT_THAT(taken.residues, IsEmpty());
  const RestoredRoute refused("ip_route", kPolicyRoute, "");
  EXPECT_EQ(refused.tool.added, 1);
  EXPECT_THAT(
      refused.residues,
      ElementsAre(HasSubstr("(`hccn_tool -i 1 -ip_route -a ip 10.0.0.0")));
}

TEST(RestoreTest, DistinguishesAMissingRouteFromAnUnknownOne) {
  const std::string key = "route_address_172.16.0.0_netmask_255.255.0.0";
  const std::string gateway = "gateway_10.20.0.9";
  const std::string line = key + "=" + gateway;
  const std::string columns =
      "Routing table:\nDestination Gateway Genmask Flags Metric Ref Use "
      "Iface\n";
  const RestoredRoute there(
      key, gateway,
      columns + "172.16.0.0 10.20.0.9 255.255.0.0 UG 0 0 0 eth1\n");
  EXPECT_EQ(there.tool.added, 0);
  EXPECT_THAT(there.residues, IsEmpty());
  const RestoredRoute gone(key, gateway, columns);
  EXPECT_EQ(gone.tool.added, 1);
  EXPECT_THAT(
      gone.residues,
      ElementsAre(StartsWith(Say("plan-say-of-device", 1,
                                 Worded("plan-say-route-not-back", line)))));
  const RestoredRoute unread(key, gateway, "Kernel IP routing table\n");
  EXPECT_EQ(unread.tool.added, 1);
  ASSERT_EQ(unread.residues.size(), 1u);
  EXPECT_THAT(unread.residues[0], StartsWith("device 1: whether the live "));
  EXPECT_THAT(unread.residues[0], HasSubstr("`hccn_tool -i 1 -route -g`: "));
}

}  // namespace
}  // namespace clusterd
