// The real applier, reader, file system and processes on a simulated server:
// the parts of clusterd's main(), without a network.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/plan/make_plan.h"
#include "config/plan/settings.h"
#include "config/rules/judge.h"
#include "config/spec/spec_loader.h"
#include "daemon/agent/apply/applier.h"
#include "daemon/agent/apply/machine.h"
#include "daemon/host/change/file_system.h"
#include "daemon/host/change/host_reader.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/posix_command_runner.h"
#include "daemon/host/machine_observer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/private_root.h"
#include "tests/sim/simulated_host.h"
#include "tests/sim/test_folder.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kTool[] = "tests/sim/hccn_tool";
constexpr char kSpec[] = "config/examples/two-servers.yaml";
// Files of the fake tool and of clusterd.
constexpr const char* kNotTheMachine[] = {
    "/var/lib/clusterd", "/var/lib/hccn_sim", "/var/log/hccn_tool"};

// The machine's own clock with short waits. Pauses between two queries do not
// matter here, and one of a second follows each change of a detect address.
class ImpatientClock final : public Clock {
 public:
  absl::Time Now() override { return clock_.Now(); }
  absl::Duration Monotonic() override { return clock_.Monotonic(); }
  void SleepFor(absl::Duration duration) override {
    clock_.SleepFor(duration / 50);
  }

 private:
  SystemClock clock_;
};

class SimulatedApplyTest : public testing::Test {
 protected:
  void Make(const std::vector<std::string>& faults) {
    std::ifstream file(kSpec);
    const auto spec =
        LoadSpec(kSpec, std::string(std::istreambuf_iterator<char>(file), {}));
    ASSERT_TRUE(spec.ok()) << spec.status();
    spec_ = *spec;
    // Even on a slow machine only commands that hang are late.
    spec_.mutable_deadlines()->set_command_ms(300'000);
    spec_.mutable_deadlines()->set_host_ms(1'800'000);
    sim::SimulatedHostOptions options;
    options.root = root_;
    options.tool = std::filesystem::absolute(kTool);
    options.host = "server0";
    options.faults = faults;
    ASSERT_EQ(sim::CreateSimulatedHost(spec_, options), absl::OkStatus());
    std::filesystem::create_directories(root_ + "/var/lib/clusterd");
    const HostPaths paths{root_};
    observer_ = std::make_unique<MachineObserver>(paths, &runner_, &clock_);
    files_ = MakePosixFileSystem(root_);
    reader_ =
        MakeHostReader({observer_.get(), observer_->locks(), paths, &runner_,
                        &clock_, absl::Minutes(5), absl::Minutes(30)});
    ApplierOptions applier;
    applier.host = "server0";
    applier.find_paths = [paths] { return FindMachinePaths(paths); };
    applier_ = std::make_unique<Applier>(
        applier,
        MachineAccess{files_.get(), &runner_, reader_.get(), &clock_,
                      observer_->locks()},
        [] {
          return AllowsOnly({CHANGE_OBSERVE, CHANGE_SYSCTL,
                             CHANGE_DEVICE_ADDRESS, CHANGE_TLS,
                             CHANGE_HCCN_CONF});
        },
        [this, paths] {
          const TimeBudget budget(&clock_, absl::Hours(1), absl::Hours(1));
          return ReadDeviceUsers(paths, /*self=*/0, budget);
        });
  }

  // Like a check of the controller.
  HostPlan Plan() {
    HostFacts facts = observer_->Observe("server0", MakeObserveRequest(spec_));
    return MakePlan(spec_, {&facts}).hosts(0);
  }
  absl::StatusOr<ApplyResult> Apply(const HostPlan& plan) {
    ApplyRequest request;
    request.plan = plan;
    request.apply_id = "a1";
    request.actor = "ada";
    return applier_->Apply(request);
  }
  absl::StatusOr<ApplyResult> RollBack() {
    RollbackRequest request;
    request.apply_id = "a1";
    request.actor = "ada";
    return applier_->Rollback(request);
  }

  // Every file of the server, and its devices' values.
  std::map<std::string, std::string> State() {
    std::map<std::string, std::string> state;
    for (const DeviceSpec& device : spec_.servers(0).devices()) {
      state[absl::StrCat("device ", device.id())] =
          reader_->ReadDevice(device.id()).ShortDebugString();
    }
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(root_)) {
      const std::string path = entry.path().string().substr(root_.size());
      bool skip = !entry.is_regular_file();
      for (const char* folder : kNotTheMachine) {
        skip = skip || absl::StartsWith(path, folder);
      }
      if (skip) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      state[path] = {std::istreambuf_iterator<char>(file), {}};
    }
    return state;
  }

  // Differences from `before`, with both texts.
  std::vector<std::string> DifferencesFrom(
      const std::map<std::string, std::string>& before) {
    std::map<std::string, std::string> after = State();
    std::vector<std::string> differences;
    for (const auto& [name, text] : before) {
      if (after.count(name) == 0) {
        differences.push_back(absl::StrCat(name, " is gone"));
      } else if (after[name] != text) {
        differences.push_back(
            absl::StrCat(name, " was:\n", text, "is:\n", after[name]));
      }
      after.erase(name);
    }
    for (const auto& [name, text] : after) {
      differences.push_back(absl::StrCat(name, " is new:\n", text));
    }
    return differences;
  }

  std::string ReadConf() const {
    std::ifstream file(root_ + "/etc/hccn.conf", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Expects a plan without a block, applies it, expects an empty plan, and
  // rolls back to the first state. Returns the plan.
  HostPlan ApplyAndRollBack() {
    HostPlan plan = Plan();
    EXPECT_THAT(plan.blocked(), IsEmpty()) << plan.ShortDebugString();
    const auto before = State();
    const auto applied = Apply(plan);
    EXPECT_TRUE(applied.ok()) << applied.status();
    if (!applied.ok()) return plan;
    EXPECT_EQ(applied->outcome(), ApplyResult::APPLIED) << applied->error();
    EXPECT_THAT(Plan().steps(), IsEmpty()) << Plan().ShortDebugString();
    const auto back = RollBack();
    EXPECT_TRUE(back.ok()) << back.status();
    if (!back.ok()) return plan;
    EXPECT_EQ(back->outcome(), ApplyResult::ROLLED_BACK)
        << back->ShortDebugString();
    EXPECT_THAT(DifferencesFrom(before), IsEmpty());
    return plan;
  }

  const sim::TestFolder folder_;
  const std::string root_ = folder_.path() + "/server0";
  ClusterSpec spec_;
  PosixCommandRunner runner_;
  ImpatientClock clock_;
  std::unique_ptr<MachineObserver> observer_;
  std::unique_ptr<FileSystem> files_;
  std::unique_ptr<HostReader> reader_;
  std::unique_ptr<Applier> applier_;
};

TEST_F(SimulatedApplyTest, SetsASwitchWithoutAKeyByTheFirstPlan) {
  if (!sim::MayEnterPrivately()) GTEST_SKIP() << "needs mount namespaces";
  Make({"2:tls=1", "2:tls=absent"});
  spec_.set_tls(false);
  const std::string before = ReadConf();
  const HostPlan plan = ApplyAndRollBack();
  ASSERT_EQ(plan.steps_size(), 1) << plan.ShortDebugString();
  EXPECT_EQ(StepText(plan.steps(0)), "device 2: TLS on -> off");
  EXPECT_EQ(ReadConf(), before);
}

TEST_F(SimulatedApplyTest, SetsPfcAndRocePortThatTheSpecNamesAndTheOldAgain) {
  Make({"3:state=bitmap=0,0,0,1,0,0,0,0", "3:state=roce_port=5000"});
  spec_.mutable_lossless()->set_pfc("0,0,0,0,1,0,0,0");
  spec_.mutable_lossless()->set_roce_port(4791);
  const HostPlan plan = ApplyAndRollBack();
  ASSERT_EQ(plan.steps_size(), 2 * spec_.servers(0).devices_size());
  EXPECT_EQ(StepText(plan.steps(0)),
            "device 0: PFC 0,0,0,0,0,0,0,0 -> 0,0,0,0,1,0,0,0");
  EXPECT_EQ(StepText(plan.steps(8)), "device 0: RoCE port auto -> 4791");
  EXPECT_EQ(StepText(plan.steps(3)),
            "device 3: PFC 0,0,0,1,0,0,0,0 -> 0,0,0,0,1,0,0,0");
  EXPECT_EQ(StepText(plan.steps(11)), "device 3: RoCE port 5000 -> 4791");
}

TEST_F(SimulatedApplyTest, SetsTheMapOfDscpThatTheSpecNamesAndTheOldAgain) {
  Make({"3:state=dscp_tc=3:2,46:2,", "4:state=dscp_tc=33:1,46:2,"});
  std::ofstream(root_ + "/etc/hccn.conf", std::ios::app)
      << "dscp_tc_3=3:2,46:2,\n";
  spec_.mutable_lossless()->set_dscp_to_tc("33:1,46:2");
  const HostPlan plan = ApplyAndRollBack();
  ASSERT_EQ(plan.steps_size(), spec_.servers(0).devices_size());
  EXPECT_EQ(StepText(plan.steps(0)), "device 0: DSCP to TC 0:0 -> 33:1,46:2");
  EXPECT_EQ(StepText(plan.steps(3)),
            "device 3: DSCP to TC 3:2,46:2 -> 33:1,46:2");
  EXPECT_EQ(StepText(plan.steps(4)),
            "device 4: hccn.conf dscp_tc 0:0 -> 33:1,46:2");
}

TEST_F(SimulatedApplyTest, RepairsAFileThatAnEditorHasRuined) {
  Make({"3:address=192.168.103.9"});
  std::string conf = absl::StrReplaceAll(ReadConf(), {{"\n", "\r\n"}});
  absl::StrAppend(&conf,
                  "route_address_172.16.0.0_netmask_255.255.0.0_3="
                  "192.168.103.253\r\nmtu_3=1500\r\nmtu_3=9000");
  std::ofstream(root_ + "/etc/hccn.conf", std::ios::binary) << conf;
  const HostPlan plan = ApplyAndRollBack();
  ASSERT_EQ(plan.steps_size(), 2) << plan.ShortDebugString();
  for (const char* const kind :
       {"add the final newline", "remove carriage returns",
        "write the route as gateway_ADDRESS", "remove the repeated key"}) {
    EXPECT_THAT(SettingText(plan.steps(0).from()), HasSubstr(kind));
  }
  EXPECT_EQ(plan.steps(1).target().device(), 3u);
  // Every change warns about the device's own routes.
  EXPECT_EQ(plan.steps(1).consequences_size(), 1);
}

TEST_F(SimulatedApplyTest, RefusesWhenTheServerMovedSinceThePlan) {
  Make({"3:address=192.168.9.9"});
  const HostPlan plan = Plan();
  ASSERT_TRUE(sim::AddFaults(root_, {"3:address=192.168.9.10"}).ok());
  const auto refused = Apply(plan);
  EXPECT_TRUE(absl::IsAborted(refused.status())) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("device 3: address was 192.168.9.9/24, now "
                        "192.168.9.10/24"));
}

}  // namespace
}  // namespace clusterd
