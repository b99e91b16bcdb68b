// The main job on an Ascend 950 cluster, with the real programs. Rules judge
// the values of its own command line; the rest is unknown, with a reason.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/demo_cluster.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

constexpr char kTool950[] = "tests/sim/ascend950/hccn_tool_950";
constexpr char kClassicTool[] = "tests/sim/hccn_tool";

// `command`: the deadline of each tool.
std::string SpecWith(const std::string& command) {
  return absl::StrCat(R"(version: 1
name: demo
product: ascend-950
servers:
  - hosts: server[0-1]
    address: 192.168.7.[22-23]
devices:
  rails:
    - {device: 0-7, subnet: 10.51.0.0/24, host: 1 + 8*n + d}
  gateway: 254
  detect_address: gateway
kernel: {somaxconn: 65535, tcp_max_syn_backlog: 65535, persistent: true}
firewall: disabled
tls: false
mtu: 4200
deadlines: {command: )",
                      command, R"(, host: 10m, run: 20m}
)");
}

const std::vector<std::string> kTwoHosts = {"server0", "server1"};

TEST(Ascend950ClusterTest, IsJudgedByWhatItsToolTells) {
  DemoCluster cluster(SpecWith("1m"), kTwoHosts, kTool950);
  cluster.StartAll();
  const CheckOutcome outcome = cluster.Check();
  for (const char* rule :
       {"hccn-tool", "device-count", "link", "lldp", "net-health",
        "detect-address", "device-ip-set", "device-ip-planned",
        "device-ip-persistent", "netmask-uniform", "ip-unique", "gateway",
        "mtu-uniform", "tls-uniform", "hccn-conf"}) {
    EXPECT_EQ(StateOf(outcome.report, rule), PASS)
        << rule << ": " << Shown(outcome.report, rule);
  }
  for (const RuleResult& rule : outcome.report.rules()) {
    EXPECT_TRUE(rule.state() == PASS || rule.state() == SKIPPED)
        << rule.ShortDebugString();
    if (rule.rule() != "version-uniform") continue;
    // No PCI id of an Ascend 950 is published, so its series stays unknown.
    EXPECT_THAT(rule.summary(), HasSubstr("NPU series not compared"));
  }
  EXPECT_EQ(outcome.process.exit_status, 0) << outcome.process.standard_output;
}

struct FaultCase {
  const char* name;
  const char* fault;  // On server1.
  const char* rule;
  State state;
  const char* text;
};

class Ascend950FaultTest : public testing::TestWithParam<FaultCase> {};

TEST_P(Ascend950FaultTest, IsFoundAndNamed) {
  const FaultCase& fault = GetParam();
  const bool hangs = absl::StrContains(fault.fault, "hang");
  DemoCluster cluster(SpecWith(hangs ? "10s" : "1m"), kTwoHosts, kTool950);
  cluster.SetFault("server1", fault.fault);
  cluster.StartAll();
  const CheckOutcome outcome = cluster.Check();
  EXPECT_EQ(StateOf(outcome.report, fault.rule), fault.state)
      << Shown(outcome.report, fault.rule);
  EXPECT_THAT(Shown(outcome.report, fault.rule), HasSubstr("server1"));
  EXPECT_THAT(Shown(outcome.report, fault.rule), HasSubstr(fault.text));
}

INSTANTIATE_TEST_SUITE_P(
    OfEveryKind, Ascend950FaultTest,
    testing::Values(
        FaultCase{"Link", "3:link=DOWN", "link", FAIL, "DOWN"},
        FaultCase{"NetHealth", "2:net_health=ReceiveTimeout", "net-health",
                  FAIL, "Receive timeout"},
        FaultCase{"Lldp", "5:lldp=none", "lldp", FAIL, "LLDP"},
        FaultCase{"NoAddress", "0:address=none", "device-ip-set", FAIL, "no"},
        FaultCase{"WrongAddress", "4:address=10.51.0.99", "device-ip-planned",
                  FAIL, "10.51.0.99"},
        FaultCase{"StoredAddress", "6:stored_address=10.51.0.77",
                  "device-ip-persistent", FAIL, "10.51.0.77"},
        FaultCase{"LiveAddress", "3:live_address=10.51.0.99",
                  "device-ip-persistent", FAIL, "10.51.0.12"},
        FaultCase{"Netmask", "3:netmask=255.255.0.0", "netmask-uniform", FAIL,
                  "255.255.0.0"},
        FaultCase{"Gateway", "3:gateway=10.51.0.99", "gateway", WARN,
                  "10.51.0.99"},
        FaultCase{"DetectAddress", "3:detect=none", "detect-address", FAIL,
                  "server1"},
        FaultCase{"Process", "3:process=python3", "device-idle", WARN,
                  "python3"},
        FaultCase{"Busy", "3:busy=always", "hccn-tool", UNKNOWN, "server1"},
        FaultCase{"Mtu", "7:mtu=1500", "mtu-uniform", FAIL, "1500"},
        FaultCase{"Tls", "1:tls=1", "tls-uniform", FAIL, "1"},
        FaultCase{"Rubbish", "3:answer=0xdeadbeef", "hccn-tool", UNKNOWN,
                  "not known for the Ascend 950 tool"},
        FaultCase{"UbPortsOnly", "3:state=ports=0/4/UB/UP", "link", UNKNOWN,
                  "no ETH port"},
        FaultCase{"OtherSlot", "3:state=bond=5", "device-ip-set", UNKNOWN,
                  "device 3 has bond5"},
        FaultCase{"DeviceGone", "3:gone=1", "device-count", FAIL,
                  "not modelled"},
        FaultCase{"Hang", "2:hang=1", "hccn-tool", UNKNOWN, "10s"}),
    [](const testing::TestParamInfo<FaultCase>& info) {
      return info.param.name;
    });

TEST(WrongGenerationTest, IsNamedForAClassicToolOnAnAscend950) {
  DemoCluster cluster(SpecWith("1m"), kTwoHosts, kClassicTool);
  cluster.StartAll();
  const CheckOutcome outcome = cluster.Check();
  EXPECT_EQ(StateOf(outcome.report, "hccn-tool"), UNKNOWN);
  EXPECT_THAT(Shown(outcome.report, "hccn-tool"),
              HasSubstr("it has the classic command line"));
  EXPECT_EQ(StateOf(outcome.report, "link"), UNKNOWN);
}

}  // namespace
}  // namespace clusterd
