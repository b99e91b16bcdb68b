#include "tests/sim/ascend950/run_tool_950.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace clusterd::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class RunTool950Test : public ::testing::Test {
 protected:
  RunTool950Test() : root_(::testing::TempDir() + "/sim950XXXXXX") {
    EXPECT_NE(mkdtemp(root_.data()), nullptr);
    for (const char* folder :
         {"/etc", "/var", "/var/lib", "/var/lib/hccn_sim"}) {
      EXPECT_EQ(mkdir((root_ + folder).c_str(), 0755), 0);
    }
    Write("/etc/hccn.conf", "");
  }

  void Write(const std::string& path, const std::string& text) {
    std::ofstream(root_ + path) << text;
  }
  void State(const std::string& text) {
    Write("/var/lib/hccn_sim/state", text);
  }
  std::string ReadConf() const {
    std::ostringstream text;
    text << std::ifstream(root_ + "/etc/hccn.conf").rdbuf();
    return text.str();
  }

  // Returns the status; out_ and err_ have the output.
  int Run(const std::string& line, uid_t uid = 0) {
    FakeTerminal terminal;
    const std::vector<std::string> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    const int status =
        RunTool950(words, ServerBelow(root_, uid, /*now=*/0), &terminal);
    out_ = terminal.out();
    err_ = terminal.err();
    return status;
  }

  struct Case {
    const char* line;
    int status;
    const char* out;
    const char* err = "";
  };
  void Expect(const std::vector<Case>& cases) {
    for (const Case& run : cases) {
      EXPECT_EQ(Run(run.line), run.status) << run.line;
      EXPECT_EQ(out_, run.out) << run.line;
      EXPECT_EQ(err_, run.err) << run.line;
    }
  }

  std::string root_;
  std::string out_;
  std::string err_;
};

TEST_F(RunTool950Test, AnswersQueriesFromTheState) {
  State(
      "ip.0=10.20.0.17; mask.0=255.255.255.0; gateway.0=10.20.0.1; mtu.0=4200; "
      "netdetect.0=10.20.0.1; net_health.0=6; tls.0=1");
  Expect({{"-g -ip -i 0 -d bond0", 0,
           "ipaddr:10.20.0.17\nnetmask:255.255.255.0\n"},
          {"-g -gateway -i 0 -d bond0", 0, "default gateway:10.20.0.1\n"},
          {"-g -mtu -i 0 -d bond0", 0, "mtu:4200\n"},
          {"-g -netdetect -i 0", 0, "netdetect addr: 10.20.0.1\n"},
          {"-g -net_health -i 0", 0, "net health status: Init\n"},
          {"-g -link -i 0 -u 0 -p 4", 0, "link status: UP\n"},
          {"-g -cfg_recovery -i 0", 0, "config status:NONE\n"}});
  EXPECT_EQ(Run("-g -tls -i 0"), 0);
  EXPECT_THAT(out_, StartsWith("device 0, tls switch[1](0:disable, 1:enable)"));
}

TEST_F(RunTool950Test, SaysThatNothingIsPreset) {
  Expect({{"-g -ip -i 3 -d bond3", 6, "",
           "Get ip failed, because no ip was preset there!\n"},
          {"-g -gateway -i 3 -d bond3", 5, "",
           "Get gateway failed, because no gateway was preset there!\n"}});
}

TEST_F(RunTool950Test, IsBusyAsOftenAsScripted) {
  State("busy.0=1");
  Expect(
      {{"-g -net_health -i 0", 1, "hccn_tool is busy, please try again.\n"}});
  EXPECT_EQ(Run("-g -net_health -i 0"), 0);
}

TEST_F(RunTool950Test, LetsOnlyRootChangeADevice) {
  for (const char* line :
       {"-s -ip -i 0 -d bond0 -address 10.20.0.17 -netmask 255.255.255.0",
        "-s -gateway -i 0 -d bond0 -address 10.20.0.1",
        "-s -netdetect -i 0 -address 10.20.0.1", "-s -tls -i 0 -enable 0",
        "-s -cfg_recovery -i 0"}) {
    EXPECT_EQ(Run(line, /*uid=*/1000), 2) << line;
    EXPECT_EQ(err_, "permission denied: pls check this cmd run permission.\n");
  }
  EXPECT_EQ(ReadConf(), "");
}

TEST_F(RunTool950Test, LetsTheUserWhoMadeTheServerChangeIt) {
  State("root_uid=1000");
  const char kLine[] = "-s -netdetect -i 0 -address 10.20.0.1";
  EXPECT_EQ(Run(kLine, /*uid=*/1000), 0) << err_;
  EXPECT_EQ(Run(kLine, /*uid=*/1001), 2);
}

TEST_F(RunTool950Test, SetsAnAddressOnTheDeviceAndInTheFile) {
  EXPECT_EQ(
      Run("-s -ip -i 3 -d bond3 -address 10.20.0.17 -netmask 255.255.255.0"),
      0);
  EXPECT_EQ(out_, "Cmd executed successfully!\n");
  EXPECT_EQ(Run("-g -ip -i 3 -d bond3"), 0);
  EXPECT_EQ(out_, "ipaddr:10.20.0.17\nnetmask:255.255.255.0\n");
  EXPECT_EQ(ReadConf(), "address_3=10.20.0.17\nnetmask_3=255.255.255.0\n");
  EXPECT_EQ(Run("-g -dev_info -i 3"), 0);
  EXPECT_THAT(out_, HasSubstr("| bond3           | 10.20.0.17 "));
}

TEST_F(RunTool950Test, RefusesAnAddressInASubnetOfVirtualNics) {
  for (const char* address : {"192.168.1.7", "192.168.2.7"}) {
    EXPECT_EQ(Run(absl::StrCat("-s -ip -i 0 -d bond0 -address ", address,
                               " -netmask 255.255.255.0")),
              4);
    EXPECT_EQ(err_, "The ip address configured is conflicted!\n");
  }
  EXPECT_EQ(ReadConf(), "");
  EXPECT_EQ(Run("-g -ip -i 0 -d bond0"), 6);
}

TEST_F(RunTool950Test, KeepsNoAddressInTheFileUnderDhcp) {
  Write("/etc/hccn.conf", "udhcpc_enable_0=on\n");
  EXPECT_EQ(
      Run("-s -ip -i 0 -d bond0 -address 10.20.0.17 -netmask 255.255.255.0"),
      0);
  EXPECT_EQ(ReadConf(), "udhcpc_enable_0=on\n");
}

TEST_F(RunTool950Test, SaysThatTheFileWasNotWritten) {
  ASSERT_EQ(unlink((root_ + "/etc/hccn.conf").c_str()), 0);
  EXPECT_EQ(Run("-s -netdetect -i 0 -address 10.20.0.1"), 18);
  EXPECT_THAT(err_, HasSubstr("but persistent configuration"));
  Expect({{"-g -netdetect -i 0", 0, "netdetect addr: 10.20.0.1\n"}});
}

TEST_F(RunTool950Test, SetsDetectAddressAndTlsSwitch) {
  EXPECT_EQ(Run("-s -netdetect -i 0 -address 10.20.0.1"), 0);
  EXPECT_EQ(Run("-s -tls -i 0 -enable 1"), 0);
  EXPECT_EQ(ReadConf(), "netdetect_0=10.20.0.1\ntls_enable_0=1\n");
  EXPECT_EQ(Run("-g -net_health -i 0"), 0);
  EXPECT_EQ(out_, "net health status: Success\n");
  EXPECT_EQ(Run("-g -tls -i 0"), 0);
  EXPECT_THAT(out_, StartsWith("device 0, tls switch[1]"));
}

TEST_F(RunTool950Test, NamesBondAndLinesAfterTheSlot) {
  State("bond.0=4");
  EXPECT_EQ(
      Run("-s -ip -i 0 -d bond4 -address 10.20.0.17 -netmask 255.255.255.0"),
      0);
  EXPECT_EQ(ReadConf(), "address_4=10.20.0.17\nnetmask_4=255.255.255.0\n");
  EXPECT_EQ(Run("-s -gateway -i 0 -d bond4 -address 10.20.0.1"), 0);
  EXPECT_THAT(ReadConf(), HasSubstr("gateway_4=10.20.0.1\n"));
}

TEST_F(RunTool950Test, TurnsEveryEthPortDownWithoutLink) {
  State("ports.0=0/4/ETH/UP 1/5/ETH/UP 1/6/UB/UP; link.0=0");
  Expect({{"-g -link -i 0 -u 0 -p 4", 0, "link status: DOWN\n"},
          {"-g -link -i 0 -u 1 -p 5", 0, "link status: DOWN\n"},
          {"-g -link -i 0 -u 1 -p 6", 0, "link status: UP\n"}});
  EXPECT_EQ(Run("-g -link -i 0 -u 7 -p 6"), 13);
  EXPECT_THAT(err_, StartsWith("target port is invalid, please check.\n"));
}

TEST_F(RunTool950Test, ReportsWhetherAJobUsesTheDeviceAndWhatIsScripted) {
  State("process.1=1; say.2=0xdeadbeef");
  Expect({{"-g -process -i 0", 0, "device hccp process: not exist\n"},
          {"-g -process -i 1", 0, "device hccp process: exist\n"},
          {"-g -net_health -i 2", 0, "0xdeadbeef"}});
}

TEST_F(RunTool950Test, RefusesAGatewayOutsideTheSubnet) {
  Write("/etc/hccn.conf", "address_0=10.20.0.17\nnetmask_0=255.255.255.0\n");
  Expect({{"-s -gateway -i 0 -d bond0 -address 10.21.0.1", 7, "",
           "The segment of configured gateway doesn't match that of the "
           "configured ip address!\n"},
          {"-s -gateway -i 0 -d bond0 -address 10.20.0.1", 0,
           "Cmd executed successfully!\n"}});
  EXPECT_THAT(ReadConf(), HasSubstr("gateway_0=10.20.0.1\n"));
  EXPECT_EQ(Run("-g -gateway -i 0 -d bond0"), 0);
}

TEST_F(RunTool950Test, TakesTheFilesValuesAtRecovery) {
  Write("/etc/hccn.conf",
        "address_2=10.20.0.19\nnetmask_2=255.255.255.0\nmtu_2=4200\n");
  EXPECT_EQ(Run("-s -cfg_recovery -i 2"), 0);
  Expect({{"-g -ip -i 2 -d bond2", 0,
           "ipaddr:10.20.0.19\nnetmask:255.255.255.0\n"},
          {"-g -cfg_recovery -i 2", 0, "config status:SUCCESS\n"}});
}

TEST_F(RunTool950Test, InsistsOnTheBondOfTheSlot) {
  State("bond.0=4");
  const std::pair<const char*, const char*> kRefused[] = {
      {"-d bond0",
       "Bond device ID mismatch: name='bond0', expected 'bond4'.\n"},
      {"-d eth0", "Command is only applicable to bond devices"},
      {"", "Device name is empty, expected 'bond4'."}};
  for (const auto& [device, said] : kRefused) {
    EXPECT_EQ(Run(absl::StrCat("-g -ip -i 0 ", device)), 14);
    EXPECT_THAT(err_, StartsWith(said));
  }
}

TEST_F(RunTool950Test, RefusesTheClassicCommandLine) {
  EXPECT_EQ(Run("-i 0 -ip -g"), 2);
  EXPECT_EQ(err_,
            "Please specify a valid mode.\n"
            "Enter [ hccn_tool -h ] for more details.\n");
  EXPECT_EQ(Run(""), 1);
  EXPECT_EQ(Run("-g"), 3);
}

TEST_F(RunTool950Test, SaysInItsOwnWordsWhatItDoesNotModel) {
  State("health.7=0xffffffff");
  for (const char* line :
       {"-h", "-g -optical -i 0 -d bond0", "-t -ping -i 0 -address 10.0.0.1",
        "-g -ip -i 99 -d bond99", "-g -ip -d bond0", "-g -link -i 0",
        "-s -ip -i 0 -d bond0 -address 10.0.0.1",
        "-s -ip -i 0 -d bond0 -address 10.0.0.1 -netmask 255.0.255.0",
        "-s -gateway -i 0 -d bond0 -address 10.0.0.1",
        "-s -netdetect -i 0 -address 10.0.0", "-s -tls -i 0 -enable 2",
        "-s -mtu -i 0 -d bond0 -size 1500", "-g -net_health -i 7",
        "-g -net_health -i 0 -i 0", "-g -net_health -i"}) {
    EXPECT_EQ(Run(line), kNotModelled) << line;
    EXPECT_EQ(out_, "");
    EXPECT_THAT(err_, StartsWith("simulated Ascend 950 hccn_tool: "));
    EXPECT_THAT(err_, HasSubstr("not modelled; this is no answer of the "
                                "vendor's tool"));
  }
}

}  // namespace
}  // namespace clusterd::sim
