#include "daemon/agent/apply/step_runner.h"

#include <gtest/gtest.h>

#include <functional>

#include "absl/strings/str_replace.h"
#include "config/plan/sysctl_file.h"
#include "daemon/agent/apply/apply_scenarios.h"
#include "daemon/host/change/mutation_token_issuer.h"

namespace clusterd {
namespace {

using Fault = FakeMachine::Fault;

// The machine's commands, of each of which a test may see the end.
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
  Machine machine{Doors(), MachinePaths()};
  StepRunner runner{&machine};

  MachineDoors Doors() {
    MachineDoors doors;
    doors.files = &scenario->machine.files();
    doors.runner = &commands;
    doors.reader = &scenario->machine;
    doors.clock = &scenario->clock;
    doors.turns = &scenario->turns;
    return doors;
  }
  absl::StatusOr<std::string> Run(const PlanStep& step) {
    return runner.Run(issuer.token(), step, {});
  }
  FakeMachine::Device& device(uint32_t id) {
    return scenario->machine.device(id);
  }
  std::string Conf() {
    return *scenario->machine.files().Content("/etc/hccn.conf");
  }
};

PlanStep Gateway(uint32_t device, const std::string& to) {
  PlanStep step;
  step.mutable_gateway()->set_device(device);
  step.mutable_gateway()->set_to(to);
  return step;
}

PlanStep Repair(const std::string& text_sha256) {
  PlanStep step;
  step.mutable_hccn_conf_repair()->add_problems()->set_kind(
      HccnConf::Problem::NO_FINAL_NEWLINE);
  step.mutable_hccn_conf_repair()->set_from_sha256(text_sha256);
  return step;
}

TEST(StepRunnerTest, PutsBackLinesThatTheToolLost) {
  Runner test;
  test.scenario->machine.files().Put(
      "/etc/hccn.conf",
      "gateway_1=10.20.0.1\nIPv6gateway_1=fd00::1\n# was gateway_1=1\n");
  const auto done = test.Run(Gateway(1, "10.20.0.9"));
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(*done, "/etc/hccn.conf: put back 2 lines that the tool lost");
  EXPECT_EQ(test.Conf(),
            "IPv6gateway_1=fd00::1\n# was gateway_1=1\n"
            "gateway_1=10.20.0.9\n");
}

TEST(StepRunnerTest, LeavesAKeyThatSomebodySetWhileTheToolRan) {
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
  EXPECT_EQ(*done, "/etc/hccn.conf: put back 1 lines that the tool lost");
  EXPECT_EQ(test.Conf(),
            "IPv6gateway_1=fd00::1\nmtu_1=9000\ngateway_1=10.20.0.9\n");
}

TEST(StepRunnerTest, LeavesTheLockToTheToolWhileItRuns) {
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

TEST(StepRunnerTest, FailsOnEverySuccessThatIsNone) {
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

TEST(StepRunnerTest, SeesThatAFailureHasActedAfterAll) {
  Runner test;
  test.device(1).fault = Fault::kActsAndFails;
  const auto done = test.Run(Gateway(1, "10.20.0.9"));
  EXPECT_EQ(test.device(1).gateway, "10.20.0.9");
  EXPECT_NE(done.status().message().find(
                "/etc/hccn.conf: gateway_1 is 10.20.0.1, expected 10.20.0.9"),
            absl::string_view::npos)
      << done.status();
}

TEST(StepRunnerTest, IsContentWhenDeviceAndFileAreRightWhateverTheStatus) {
  Runner test;
  test.device(1).gateway = "10.20.0.9";
  test.scenario->machine.files().Put("/etc/hccn.conf", "gateway_1=10.20.0.9\n");
  test.device(1).fault = Fault::kDeviceRefuses;
  EXPECT_TRUE(test.Run(Gateway(1, "10.20.0.9")).ok());
}

TEST(StepRunnerTest, AlreadySoNeedsDeviceAndFile) {
  Runner test;
  EXPECT_TRUE(*test.runner.IsAlreadySo(Gateway(1, "10.20.0.1")));
  test.scenario->machine.files().Put("/etc/hccn.conf", "x=1\n");
  EXPECT_FALSE(*test.runner.IsAlreadySo(Gateway(1, "10.20.0.1")));
}

TEST(StepRunnerTest, AbortsWhenTheValueIsNeitherOldNorNew) {
  Runner test;
  PlanStep address;
  DeviceAddressChange* change = address.mutable_device_address();
  change->set_device(1);
  change->mutable_from()->set_address("10.1.1.1");
  change->mutable_from()->set_netmask("255.255.255.0");
  change->mutable_to()->set_address("10.1.1.2");
  change->mutable_to()->set_netmask("255.255.255.0");
  const auto moved = test.runner.IsAlreadySo(address);
  EXPECT_TRUE(absl::IsAborted(moved.status()));
  EXPECT_EQ(moved.status().message(),
            "device 1: address was 10.1.1.1/255.255.255.0 when this was "
            "planned, now 10.20.0.2/255.255.255.0");
  PlanStep sysctl;
  sysctl.mutable_sysctl()->set_key(kSomaxconnKey);
  sysctl.mutable_sysctl()->set_from("128");
  sysctl.mutable_sysctl()->set_to("65535");
  EXPECT_TRUE(absl::IsAborted(test.runner.IsAlreadySo(sysctl).status()));
  EXPECT_TRUE(
      absl::IsAborted(test.runner.IsAlreadySo(Repair("0000")).status()));
  EXPECT_TRUE(absl::IsAborted(test.Run(Repair("0000")).status()));
}

TEST(StepRunnerTest, CannotTellASilentDevice) {
  Runner test;
  test.device(1).fault = Fault::kSilent;
  EXPECT_EQ(test.runner.IsAlreadySo(Gateway(1, "10.20.0.9")).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(StepRunnerTest, WaitsBoundedForWhoHoldsHccnConf) {
  Runner test;
  test.scenario->machine.files().SetLockedElsewhere("/etc/hccn.conf", true);
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(test.Run(Gateway(1, "10.20.0.9")).status()));
  // The tool would wait for ever.
  EXPECT_TRUE(test.scenario->machine.commands().empty());
}

TEST(StepRunnerTest, RefusesToReplaceALinkBySysctlFile) {
  Runner test;
  test.scenario->machine.files().PutLink(kSysctlFile);
  PlanStep step;
  step.mutable_sysctl_file()->set_path(kSysctlFile);
  EXPECT_EQ(test.Run(step).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace clusterd
