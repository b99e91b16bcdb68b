// The 950 dialect of daemon/host against the simulated tool, as processes.
#include "daemon/host/ascend950/dialect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "daemon/host/command/posix_command_runner.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

constexpr char kLldp[] =
    "Chassis ID TLV\\n\\tMAC: 00:11:22:33:44:55\\nPort ID TLV\\n"
    "\\tIfname: 400GE1/1/20:2\\nSystem Name TLV\\n\\tleaf-01\\n"
    "End of LLDPDU TLV\\n";

HccnVerdict Classify(const CommandResult& result) {
  return ClassifyHccnRun(result, NpuToolFacts::ASCEND_950);
}

class DialectTest : public ::testing::Test {
 protected:
  DialectTest() : root_(::testing::TempDir() + "/dialectXXXXXX") {
    EXPECT_NE(mkdtemp(root_.data()), nullptr);
    const std::string folder = root_ + "/usr/local/Ascend/driver/tools";
    std::filesystem::create_directories(folder);
    std::filesystem::create_directories(root_ + "/var/lib/hccn_sim");
    std::filesystem::create_directories(root_ + "/etc");
    tool_ = folder + "/hccn_tool";
    const std::string program =
        std::filesystem::absolute("tests/sim/ascend950/hccn_tool_950");
    EXPECT_EQ(symlink(program.c_str(), tool_.c_str()), 0);
  }

  void State(const std::string& text) {
    std::ofstream(root_ + "/var/lib/hccn_sim/state") << text;
  }

  CommandResult Run(const std::vector<std::string>& arguments) {
    Command command{{tool_}, kPatience};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    return runner_.Run(command).value();
  }

  DeviceFacts Read(uint32_t device) {
    const TimeBudget budget(&clock_, absl::Seconds(30), absl::Minutes(2));
    HccnSession session(tool_, NpuToolFacts::ASCEND_950, device, &runner_,
                        &clock_, &budget, &turns_);
    return ascend950::ReadDevice(device, &session).facts;
  }

  std::string root_;
  std::string tool_;
  PosixCommandRunner runner_;
  FakeClock clock_;
  DeviceLocks turns_;
};

TEST_F(DialectTest, ReadsAConfiguredDevice) {
  State(absl::StrCat(
      "ip.3=10.20.0.17; mask.3=255.255.255.0; gateway.3=10.20.0.1; mtu.3=4200; "
      "netdetect.3=10.20.0.1; net_health.3=0; lldp.3=",
      kLldp));
  const DeviceFacts facts = Read(3);
  ASSERT_EQ(facts.address().value().settings_size(), 1)
      << facts.address().missing().detail();
  EXPECT_EQ(facts.address().value().settings(0).address(), "10.20.0.17");
  EXPECT_EQ(facts.gateway().value(), "10.20.0.1");
  EXPECT_EQ(facts.mtu().value(), 4200u);
  EXPECT_EQ(facts.lldp().value().system_name(), "leaf-01");
  EXPECT_EQ(facts.link().value(), LinkFact::UP);
  EXPECT_EQ(facts.net_health().value(), NET_HEALTH_SUCCESS);
}

TEST_F(DialectTest, ReadsADeviceWithoutAddressAsUnset) {
  const DeviceFacts facts = Read(0);
  EXPECT_TRUE(facts.address().has_value()) << facts.address().DebugString();
  EXPECT_EQ(facts.address().value().settings_size(), 0);
  EXPECT_EQ(facts.gateway().value(), "");
  EXPECT_EQ(facts.detect_address().value(), "0.0.0.0");
}

TEST_F(DialectTest, PassesBusyOn) {
  State("busy.0=100");
  EXPECT_EQ(Read(0).net_health().missing().reason(), Missing::BUSY);
}

TEST_F(DialectTest, CannotNameTheBondOfAnotherSlot) {
  State("bond.0=4");
  const Missing missing = Read(0).address().missing();
  EXPECT_THAT(missing.detail(), HasSubstr("expected 'bond4'"));
}

TEST_F(DialectTest, RecognisesThatOnlyRootMayChangeADevice) {
  if (geteuid() == 0) {
    GTEST_SKIP() << "root may; run_tool_950_test says the same for any user";
  }
  const CommandResult result = Run({"-s", "-cfg_recovery", "-i", "0"});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_EQ(Classify(result).failure, HccnFailure::kNotPermitted);
}

TEST_F(DialectTest, IsRefusedInTheOtherGenerationsWords) {
  EXPECT_EQ(Classify(Run({"-i", "0", "-ip", "-g"})).failure,
            HccnFailure::kWrongCommandLine);
}

TEST_F(DialectTest, TakesAnUnpublishedAnswerForNoAnswer) {
  const HccnVerdict verdict =
      Classify(Run({"-g", "-optical", "-i", "0", "-d", "bond0"}));
  EXPECT_EQ(verdict.failure, HccnFailure::kOther);
  EXPECT_THAT(verdict.text, HasSubstr("status 70"));
}

}  // namespace
}  // namespace clusterd
