#include "daemon/agent/apply/resource_keeper.h"

#include <gtest/gtest.h>

#include <utility>

#include "daemon/agent/apply/apply_scenarios.h"
#include "daemon/host/change/mutation_token_issuer.h"

namespace clusterd {
namespace {

MachineDoors Doors(Scenario* scenario) {
  MachineDoors doors;
  doors.files = &scenario->machine.files();
  doors.runner = &scenario->machine;
  doors.reader = &scenario->machine;
  doors.clock = &scenario->clock;
  doors.turns = &scenario->turns;
  return doors;
}

TEST(ResourceKeeperTest, SavesEachThingOnceBeforeItIsTouchedFirst) {
  auto scenario = OpenUfwScenario();
  const HostPlan plan = scenario->Plan();
  Machine machine(Doors(scenario.get()), MachinePaths());
  ResourceKeeper keeper(&machine);
  std::map<int, int> kinds;
  for (const PlanStep& step : plan.steps()) {
    const auto saved = keeper.Save(step);
    ASSERT_TRUE(saved.ok()) << saved.status();
    for (const SavedResource& each : *saved) ++kinds[each.resource_case()];
  }
  EXPECT_EQ(kinds[SavedResource::kFileInPlace], 1);
  EXPECT_EQ(kinds[SavedResource::kDevice], 3);
  EXPECT_EQ(kinds[SavedResource::kSysctl], 3);
  EXPECT_EQ(kinds[SavedResource::kFile], 1);
  EXPECT_EQ(kinds[SavedResource::kFirewall], 1);
}

TEST(ResourceKeeperTest, SavingChangesNothing) {
  auto scenario = OpenUfwScenario();
  const auto before = scenario->State();
  const HostPlan plan = scenario->Plan();
  Machine machine(Doors(scenario.get()), MachinePaths());
  ResourceKeeper keeper(&machine);
  for (const PlanStep& step : plan.steps()) (void)keeper.Save(step);
  EXPECT_EQ(scenario->State(), before);
}

TEST(ResourceKeeperTest, RefusesADeviceThatCouldNotBePutBack) {
  auto scenario = OpenUfwScenario();
  PlanStep step;
  step.mutable_gateway()->set_device(1);
  scenario->machine.device(1).fault = FakeMachine::Fault::kSilent;
  Machine machine(Doors(scenario.get()), MachinePaths());
  ResourceKeeper keeper(&machine);
  const auto saved = keeper.Save(step);
  EXPECT_EQ(saved.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(saved.status().message().find("could not be put back"),
            absl::string_view::npos);
}

TEST(ResourceKeeperTest, RestoringWhatIsAsItWasRunsNoSetCommand) {
  auto scenario = DisableFirewallsScenario();
  const HostPlan plan = scenario->Plan();
  Machine machine(Doors(scenario.get()), MachinePaths());
  ResourceKeeper keeper(&machine);
  std::vector<SavedResource> saved;
  for (const PlanStep& step : plan.steps()) {
    const auto more = keeper.Save(step);
    ASSERT_TRUE(more.ok()) << more.status();
    saved.insert(saved.end(), more->begin(), more->end());
  }
  MutationTokenIssuer issuer;
  const auto before = scenario->State();
  EXPECT_TRUE(keeper.Restore(issuer.token(), saved, plan).empty());
  EXPECT_EQ(scenario->State(), before);
  for (const std::string& command : scenario->machine.commands()) {
    EXPECT_EQ(command.find(" -s "), std::string::npos) << command;
  }
}

TEST(ResourceKeeperTest, MendsAHalfWrittenHccnConfBeforeItRunsTheTool) {
  auto scenario = OpenUfwScenario();
  const auto before = scenario->State();
  Machine machine(Doors(scenario.get()), MachinePaths());
  ResourceKeeper keeper(&machine);
  PlanStep step;
  step.mutable_device_address()->set_device(1);
  const auto saved = keeper.Save(step);
  ASSERT_TRUE(saved.ok());
  scenario->machine.device(1).address = "10.20.0.77";
  // With a line like this the tool sets no address.
  scenario->machine.files().Put(
      "/etc/hccn.conf", "route_address_172.16.0.0_netmask_255.255.0.0_1=gat",
      0640, 0, 12);
  MutationTokenIssuer issuer;
  const auto residues = keeper.Restore(issuer.token(), *saved, HostPlan());
  EXPECT_TRUE(residues.empty()) << residues[0];
  EXPECT_EQ(scenario->State(), before);
}

TEST(ResourceKeeperTest, SavesOnlyRoutesThatTheFileHas) {
  auto scenario = OpenUfwScenario();
  scenario->machine.files().Put(
      "/etc/hccn.conf",
      "route_address_172.16.0.0_netmask_255.255.0.0_1=gateway_10.20.0.9\n"
      "ip_route_1=add 10.0.0.0/24 via 10.20.0.9 dev eth1 table 100\r\n",
      0640, 0, 12);
  PlanStep step;
  step.mutable_device_address()->set_device(1);
  const auto drop = [&step](const std::string& key, const std::string& value) {
    HccnConf::Entry* entry = step.mutable_device_address()->add_dropped();
    entry->set_key(key);
    entry->set_device(1);
    entry->set_value(value);
  };
  drop("route_address_172.16.0.0_netmask_255.255.0.0", "gateway_10.66.6.6");
  drop("route_address_10.66.0.0_netmask_255.255.0.0", "gateway_10.20.0.9");
  drop("ip_route", "add 10.0.0.0/24 via 10.66.6.6 dev eth1 table 100");
  drop("ip_route", "add 10.0.0.0/24 via 10.20.0.9 dev eth1 table 100");
  Machine machine(Doors(scenario.get()), MachinePaths());
  const auto saved = ResourceKeeper(&machine).Save(step);
  ASSERT_TRUE(saved.ok()) << saved.status();
  const SavedDevice& device = saved->back().device();
  ASSERT_EQ(device.routes_size(), 2);
  EXPECT_EQ(device.routes(0).value(), "gateway_10.20.0.9");
  EXPECT_EQ(device.routes(1).value(),
            "add 10.0.0.0/24 via 10.20.0.9 dev eth1 table 100");
}

TEST(ResourceKeeperTest, NamesWhatItCouldNotPutBackWithBothValues) {
  auto scenario = OpenUfwScenario();
  Machine machine(Doors(scenario.get()), MachinePaths());
  ResourceKeeper keeper(&machine);
  PlanStep step;
  step.mutable_detect_address()->set_device(1);
  const auto saved = keeper.Save(step);
  ASSERT_TRUE(saved.ok());
  FakeMachine::Device& device = scenario->machine.device(1);
  device.detect = "10.20.0.253";
  device.fault = FakeMachine::Fault::kDeviceRefuses;
  MutationTokenIssuer issuer;
  const auto residues = keeper.Restore(issuer.token(), *saved, HostPlan());
  ASSERT_EQ(residues.size(), 1u);
  EXPECT_EQ(residues[0],
            "device 1: detect address is 10.20.0.253, was 0.0.0.0 (`hccn_tool "
            "-i 1 -netdetect -s address 0.0.0.0`: status 1: Command execute "
            "failed!)");
}

// Answers `-route -g` with a text of its own and refuses `-route -a`.
class OtherRoutes final : public CommandRunner {
 public:
  OtherRoutes(CommandRunner* others, std::string table)
      : others_(others), table_(std::move(table)) {}

  absl::StatusOr<CommandResult> Run(const Command& command) override {
    if (command.argv.size() < 5 || command.argv[3] != "-route") {
      return others_->Run(command);
    }
    CommandResult result;
    if (command.argv[4] == "-g") {
      result.standard_output = table_;
    } else {
      ++added;
      result.exit_status = 1;
      result.standard_error = "Command execute failed!\n";
    }
    return result;
  }

  int added = 0;

 private:
  CommandRunner* const others_;
  const std::string table_;
};

TEST(ResourceKeeperTest, TellsARouteThatIsNotBackFromOneThatCannotBeTold) {
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
                 " is back cannot be told: `hccn_tool -i 1 -route -g`: ",
             1}}) {
    auto scenario = OpenUfwScenario();
    SavedResource saved;
    {
      Machine machine(Doors(scenario.get()), MachinePaths());
      PlanStep step;
      step.mutable_detect_address()->set_device(1);
      const auto all = ResourceKeeper(&machine).Save(step);
      ASSERT_TRUE(all.ok()) << all.status();
      saved = all->back();
    }
    HccnConf::Entry* route = saved.mutable_device()->add_routes();
    route->set_key("route_address_172.16.0.0_netmask_255.255.0.0");
    route->set_device(1);
    route->set_value("gateway_10.20.0.9");
    OtherRoutes runner(&scenario->machine, each.table);
    MachineDoors doors = Doors(scenario.get());
    doors.runner = &runner;
    Machine machine(doors, MachinePaths());
    MutationTokenIssuer issuer;
    const auto residues =
        ResourceKeeper(&machine).Restore(issuer.token(), {saved}, HostPlan());
    EXPECT_EQ(runner.added, each.added) << each.table;
    if (each.residue.empty()) {
      EXPECT_TRUE(residues.empty()) << residues[0];
      continue;
    }
    ASSERT_EQ(residues.size(), 1u);
    EXPECT_EQ(residues[0].find(each.residue), 0u) << residues[0];
  }
}

}  // namespace
}  // namespace clusterd
