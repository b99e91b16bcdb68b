// Tests whether firewalld starts at boot, by the files of its unit.
#include "daemon/host/firewall/firewall_observer.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/scratch_root.h"

namespace clusterd {
namespace {

constexpr char kFile[] = "/usr/lib/systemd/system/firewalld.service";
constexpr char kWants[] =
    "/etc/systemd/system/multi-user.target.wants/firewalld.service";

class UnitFilesTest : public ::testing::Test {
 protected:
  UnitFilesTest() {
    root_.WriteProgram("/usr/bin/firewall-cmd", "#!/bin/sh\n");
    runner_.Answers("firewall-cmd --state", "not running\n");
  }

  BoolFact Enabled() {
    const TimeBudget budget(&clock_, absl::Seconds(10), absl::Seconds(30));
    return ReadFirewalld({root_.paths(), &runner_, &budget}).enabled_at_boot();
  }

  ScratchRoot root_;
  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
};

TEST_F(UnitFilesTest, SeesAnEnabledUnit) {
  root_.Write(kFile, "[Unit]\n");
  root_.Link(kWants, kFile);
  EXPECT_TRUE(Enabled().value());
}

TEST_F(UnitFilesTest, SeesADisabledUnit) {
  root_.Write(kFile, "[Unit]\n");
  root_.MakeFolder("/etc/systemd/system/multi-user.target.wants");
  EXPECT_EQ(Enabled().state_case(), BoolFact::kValue);
  EXPECT_FALSE(Enabled().value());
}

TEST_F(UnitFilesTest, SeesAMaskedUnit) {
  root_.Write(kFile, "[Unit]\n");
  root_.Link(kWants, kFile);
  root_.Link("/etc/systemd/system/firewalld.service", "/dev/null");
  EXPECT_EQ(Enabled().state_case(), BoolFact::kValue);
  EXPECT_FALSE(Enabled().value());
}

TEST_F(UnitFilesTest, DoesNotCountALinkToAUnitThatIsGone) {
  root_.Link(kWants, kFile);
  EXPECT_EQ(Enabled().state_case(), BoolFact::kValue);
  EXPECT_FALSE(Enabled().value());
}

TEST_F(UnitFilesTest, DoesNotCountALinkToNull) {
  root_.Write(kFile, "[Unit]\n");
  root_.Link(kWants, "/dev/null");
  EXPECT_EQ(Enabled().state_case(), BoolFact::kValue);
  EXPECT_FALSE(Enabled().value());
}

TEST_F(UnitFilesTest, SeesRequirementsOfAnyTarget) {
  root_.Write(kFile, "[Unit]\n");
  root_.Link(
      "/usr/lib/systemd/system/network.target.requires/firewalld.service",
      "../firewalld.service");
  EXPECT_TRUE(Enabled().value());
}

TEST_F(UnitFilesTest, CannotTellWithoutSystemd) {
  EXPECT_EQ(Enabled().missing().reason(), Missing::ABSENT);
}

}  // namespace
}  // namespace clusterd
