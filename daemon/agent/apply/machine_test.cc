#include "daemon/agent/apply/machine.h"

#include "gtest/gtest.h"
#include "tests/support/host/scratch_root.h"

namespace clusterd {
namespace {

TEST(FindMachinePathsTest, FindsProgramsBelowTheRoot) {
  ScratchRoot root;
  root.Write("/etc/ascend_install.info",
             "Driver_Install_Path_Param=/opt/Ascend\n");
  root.WriteProgram("/opt/Ascend/driver/tools/hccn_tool", "");
  root.WriteProgram("/sbin/ufw", "");
  root.WriteProgram("/usr/bin/systemctl", "");
  const MachinePaths paths = FindMachinePaths(root.paths());
  EXPECT_EQ(paths.hccn_tool,
            root.path() + "/opt/Ascend/driver/tools/hccn_tool");
  EXPECT_EQ(paths.firewalls.ufw, root.path() + "/sbin/ufw");
  EXPECT_EQ(paths.firewalls.systemctl, root.path() + "/usr/bin/systemctl");
}

TEST(FindMachinePathsTest, NeverLeadsToTheProgramsOfTheMachineOutside) {
  ScratchRoot root;
  const MachinePaths paths = FindMachinePaths(root.paths());
  EXPECT_EQ(paths.hccn_tool,
            root.path() + "/usr/local/Ascend/driver/tools/hccn_tool");
  EXPECT_EQ(paths.firewalls.ufw, root.path() + "/usr/sbin/ufw");
  EXPECT_EQ(paths.firewalls.firewall_cmd,
            root.path() + "/usr/bin/firewall-cmd");
  EXPECT_EQ(paths.firewalls.systemctl, root.path() + "/usr/bin/systemctl");
}

TEST(FindMachinePathsTest, LeavesOutAProgramThatAnybodyCouldHaveChanged) {
  ScratchRoot root;
  root.WriteProgram("/usr/sbin/ufw", "");
  root.SetMode("/usr/sbin/ufw", 0777);
  EXPECT_EQ(FindMachinePaths(root.paths()).firewalls.ufw, "");
}

}  // namespace
}  // namespace clusterd
