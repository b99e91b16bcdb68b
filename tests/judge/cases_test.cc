// Failures of real jobs, each with the hosts' facts before it and the rule that
// must report it. The numbers are those of the list of cases that the rules
// were written from; each was reported in public.
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using Change = std::function<void(TestCluster&)>;

struct Case {
  int number;
  const char* name;  // The test's.
  const char* product;
  Change happen;
  const char* rule;
  State state;
  const char* who;  // As Who() has it; several: any finding of the rule.
};

// Merges the text into the facts of a host, or of one of its devices.
Change OnHost(int host, const char* text) {
  return [=](TestCluster& c) { c.Set(host, text); };
}
Change OnDevice(int host, int device, const char* text) {
  return [=](TestCluster& c) { c.Set(host, device, text); };
}

void HoldPort(TestCluster& c) {
  c.Set(0,
        "sockets {value {sockets {port: 60000 protocol: 'tcp' "
        "address: '0.0.0.0' state: 'LISTEN' pid: 4242 command: 'haproxy'}}}");
}

void SwitchTls(TestCluster& c) { c.Set(1, 3, "tls {value {enabled: true}}"); }

void CutLink(TestCluster& c) {
  c.Set(0, 3, "link {value: DOWN}");
  c.device(0, 3).mutable_lldp()->mutable_value()->Clear();
}

// A job that hangs, or another user's, has every device of server1.
void HoldDevices(TestCluster& c) {
  c.Set(1,
        "npu_processes {value {processes {pid: 4711 command: 'python3' "
        "devices: [0, 1, 2, 3, 4, 5, 6, 7]}}}");
}

std::vector<Case> LaunchCases() {
  return {
      {5, "AnEarlierJobStillUsesTheDevices", "atlas-a2", HoldDevices,
       "device-idle", WARN, "server1:0-7"},
      {6, "AnEarlierJobStillUsesThePeersDevices", "atlas-training", HoldDevices,
       "device-idle", WARN, "server1:0-7"},
      {8, "AnotherJobUsesADevice", "atlas-a2",
       [](TestCluster& c) {
         HoldDevices(c);
         HoldDevices(c);
       },
       "device-idle", WARN, "server1:0-7"},
      {9, "TheHostsNameResolvesToAnAddressOfLo", "atlas-a2",
       [](TestCluster& c) {
         auto* name = c.facts[1].mutable_own_name()->mutable_value();
         name->clear_addresses();
         name->add_addresses("127.0.1.1");
       },
       "host-name", WARN, "server1"},
      {21, "HcclTakesAnotherInterfaceOfTheHost", "atlas-a2",
       OnHost(1,
              "interfaces {value {interfaces {name: 'bond0' up: true "
              "addresses: '10.8.0.9'}}}"),
       "host-interface", WARN, "server1"},
      {27, "TheNicOfHcclIsNotThere", "atlas-training",
       OnHost(1,
              "environment {value {variables {name: 'HCCL_SOCKET_IFNAME' "
              "value: '=enp189s0f0' file: '/etc/profile.d/hccl.sh' "
              "line: 1}}}"),
       "host-interface", FAIL, "server1"},
      {27, "NothingMapsTheHostsNameToAnAddress", "atlas-training",
       [](TestCluster& c) {
         c.facts[1].mutable_own_name()->mutable_value()->clear_addresses();
       },
       "host-name", WARN, "server1"},
      {32, "ADeviceHasAnIpv6AddressAlone", "atlas-a2",
       [](TestCluster& c) {
         c.device(0, 3).mutable_address()->mutable_value()->clear_settings();
         c.Set(0, 3, "ipv6_address {value: 'fd00::17/64'}");
       },
       "device-ip-set", UNKNOWN, "server0:3"},
  };
}

std::vector<Case> ContainerAndFileCases() {
  return {
      {1, "HccnConfIsNotMountedInTheContainer", "atlas-a2",
       OnHost(0,
              "hccn_conf {missing {reason: ABSENT "
              "detail: '/etc/hccn.conf'}}"),
       "hccn-conf", FAIL, "server0"},
      {2, "ToolIsNotMountedInTheContainer", "atlas-a2",
       OnHost(0,
              "hccn_tool {path {missing {reason: ABSENT "
              "detail: 'hccn_tool'}}}"),
       "hccn-tool", UNKNOWN, "server0"},
      {3, "AFolderWasMountedAsHccnConf", "atlas-a2",
       OnHost(0,
              "hccn_conf {missing {reason: UNREADABLE "
              "detail: 'a directory'}}"),
       "hccn-conf", FAIL, "server0"},
      {4, "OneDeviceHasAStaleAddressInHccnConf", "atlas-a3",
       [](TestCluster& c) {
         for (HccnConf::Entry& entry : *c.facts[1]
                                            .mutable_hccn_conf()
                                            ->mutable_value()
                                            ->mutable_entries()) {
           if (entry.device() == 7 && entry.key() == "address") {
             entry.set_value("10.0.0.99");
           }
         }
       },
       "device-ip-persistent", FAIL, "server1:7"},
      {7, "AnotherProgramHoldsTheBasePort", "atlas-a2", HoldPort, "ports-free",
       FAIL, "server0"},
      {14, "RankTablesAreMadeOfAnAddressThatTheDeviceHasNoMore", "atlas-a2",
       [](TestCluster& c) { c.SetAddress(0, 3, "10.0.0.77", "255.255.255.0"); },
       "device-ip-planned", FAIL, "server0:3"},
      {22, "AnotherProgramHoldsAPortOfTheRange", "atlas-training", HoldPort,
       "ports-free", FAIL, "server0"},
      {30, "ASubsetOfDevicesIsComparedByIdsAndNotByNumber", "atlas-training",
       [](TestCluster& c) {
         for (ServerSpec& server : *c.spec.mutable_servers()) {
           server.mutable_devices()->DeleteSubrange(0, 4);
         }
         c.facts[0].mutable_device_ids()->mutable_value()->mutable_ids()->Set(
             5, 9);
       },
       "device-count", FAIL, "server0"},
  };
}

std::vector<Case> TlsAndKernelCases() {
  return {
      {10, "TlsIsOnForOneDeviceAlone", "atlas-a2", SwitchTls, "tls-uniform",
       FAIL, "server1:3"},
      {11, "TlsIsOnForOneRankAlone", "atlas-training", SwitchTls, "tls-uniform",
       FAIL, "server1:3"},
      {13, "TheRootCannotQueueEveryRank", "atlas-a2",
       OnHost(0,
              "kernel {somaxconn {value: 8} "
              "tcp_max_syn_backlog {value: 8}}"),
       "listen-backlog", FAIL, "server0"},
      {13, "TheKernelDropsWhoDialsTheRoot", "atlas-a2",
       OnHost(0, "kernel {tcp_max_syn_backlog {value: 8}}"), "syn-backlog",
       FAIL, "server0"},
      {15, "TlsDiffersBetweenNodesOfAJob", "atlas-a3", SwitchTls, "tls-uniform",
       FAIL, "server1:3"},
      {18, "TheTlsQueryFailsOnAManagedHost", "atlas-a2",
       OnDevice(0, 0,
                "tls {missing {reason: TOOL_FAILED "
                "detail: 'Command execute failed!'}}"),
       "tls-uniform", UNKNOWN, "server0:0"},
      {19, "FirewalldIsActiveOnOneNode", "atlas-training",
       OnHost(1, "firewalld {active {value: true}}"), "firewall", FAIL,
       "server1"},
      {19, "HccsIsOffOnOneNode", "atlas-a2",
       [](TestCluster& c) {
         for (int i = 0; i < 8; ++i) c.Set(1, i, "hccs {value {ok: false}}");
       },
       "hccs", FAIL, "server1:0-7"},
  };
}

std::vector<Case> NetworkCases() {
  return {
      {12, "TheAddressChangedAndTheGatewayDidNot", "atlas-a2",
       [](TestCluster& c) {
         c.PlanAddress(0, 3, "10.7.0.4", "255.255.255.0");
         c.SetAddress(0, 3, "10.7.0.4", "255.255.255.0");
       },
       "gateway", FAIL, "server0:3"},
      {16, "NoNeighbourIsHeardSinceTheLinkIsDown", "atlas-a2", CutLink, "link",
       FAIL, "server0:3"},
      {17, "NoDetectAddressIsConfigured", "atlas-training",
       OnDevice(0, 4,
                "detect_address {value: '0.0.0.0'} "
                "net_health {value: NET_HEALTH_INIT}"),
       "detect-address", FAIL, "server0:4"},
      {17, "ADirectlyCabledDeviceProbesThePeerOfAnotherIndex", "atlas-training",
       [](TestCluster& c) {
         for (int i = 0; i < 8; ++i) {
           c.spec.mutable_servers(0)->mutable_devices(i)->clear_gateway();
           c.device(0, i).mutable_gateway()->set_value("");
         }
         const std::string& peer = c.spec.servers(1).devices(5).address();
         c.device(0, 4).mutable_detect_address()->set_value(peer);
         c.device(0, 4).mutable_net_health()->set_value(NET_HEALTH_UNREACHABLE);
       },
       "detect-address", FAIL, "server0:4"},
      {18, "ADeviceIsUnderAnotherLeafSwitchThanPlanned", "atlas-a2",
       [](TestCluster& c) {
         for (int i = 0; i < 8; ++i) {
           for (ServerSpec& server : *c.spec.mutable_servers()) {
             server.mutable_devices(i)->set_switch_name(
                 c.device(0, i).lldp().value().system_name());
           }
         }
         c.Set(1, 3,
               "lldp {value {system_name: 'leaf-17' "
               "chassis_id: '6c:b1:58:00:00:17'}}");
       },
       "lldp-rail", FAIL, "server1:3"},
      {20, "TheOpticalLinkIsDown", "atlas-a3", CutLink, "link", FAIL,
       "server0:3"},
      {24, "NoAddressWasEverSet", "atlas-a2",
       [](TestCluster& c) {
         c.device(0, 2).mutable_address()->mutable_value()->clear_settings();
       },
       "device-ip-set", FAIL, "server0:2"},
      {26, "TheDetectAddressLiesInTheReservedRange", "atlas-a3",
       OnDevice(0, 2, "detect_address {value: '192.168.1.9'}"),
       "detect-address", FAIL, "server0:2"},
      {33, "TwoDevicesOfASuperPodHaveOneSdid", "atlas-a3-superpod",
       [](TestCluster& c) {
         c.device(1, 0).mutable_super_pod()->mutable_value()->set_sdid(
             c.device(0, 0).super_pod().value().sdid());
       },
       "subnet-superpod", FAIL, "server0:0 server1:0"},
      {27, "TwoDevicesHaveOneAddress", "atlas-training",
       [](TestCluster& c) {
         c.SetAddress(0, 3, c.spec.servers(1).devices(3).address(),
                      "255.255.255.0");
       },
       "ip-unique", FAIL, "server0:3 server1:3"},
      {27, "APortIsDown", "atlas-training", CutLink, "link", FAIL, "server0:3"},
      {27, "ServersHaveOtherNumbersOfDevices", "atlas-training",
       [](TestCluster& c) {
         c.facts[1]
             .mutable_device_ids()
             ->mutable_value()
             ->mutable_ids()
             ->RemoveLast();
         c.facts[1].mutable_devices()->RemoveLast();
       },
       "device-count", FAIL, "server1:7"},
      {27, "TheRootMayOpenTooFewFiles", "atlas-training",
       [](TestCluster& c) {
         c.facts[0]
             .mutable_open_files()
             ->mutable_value()
             ->mutable_limits(0)
             ->set_hard(18);
       },
       "open-files", WARN, "server0"},
      {28, "DevicesAreNotOnOneNetworkSegment", "atlas-a2",
       [](TestCluster& c) {
         c.PlanAddress(1, 3, "10.9.0.4", "255.255.255.0");
         c.SetAddress(1, 3, "10.9.0.4", "255.255.255.0");
         c.device(1, 3).mutable_gateway()->set_value("");
       },
       "subnet-shared", FAIL, "server1:3"},
      {36, "AWrongNetmaskMakesAnotherSubnet", "atlas-training",
       [](TestCluster& c) {
         c.PlanAddress(0, 3, "192.168.103.1", "255.255.255.128");
         c.SetAddress(0, 3, "192.168.103.1", "255.255.255.128");
       },
       "subnet-pairs", FAIL, "server0:3,7"},
  };
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const auto& group : {LaunchCases(), ContainerAndFileCases(),
                            TlsAndKernelCases(), NetworkCases()}) {
    cases.insert(cases.end(), group.begin(), group.end());
  }
  return cases;
}

// Why no fact of a host shows the others.
const std::map<int, std::string>& SeenByNoFact() {
  static const auto* const cases = new std::map<int, std::string>{
      {23, "a variable of the job alone, HCCL_LOGIC_SUPERPOD_ID"},
      {25, "when the roles of a job start, and its timeouts"},
      {29, "the network of a pod that does not run yet"},
      {31, "a rank table that a container brings along"},
      {34, "memory and slow ranks while a job runs"},
      {35, "a rank that hangs in the user's own code"}};
  return *cases;
}

class CaseTest : public ::testing::TestWithParam<Case> {};

TEST_P(CaseTest, IsFoundByItsRule) {
  const Case& a_case = GetParam();
  TestCluster cluster(a_case.product);
  EXPECT_EQ(cluster.Check(a_case.rule).state(), PASS) << "before it happens";
  a_case.happen(cluster);
  const RuleResult result = cluster.Check(a_case.rule);
  bool found = false;
  for (const Finding& finding : result.findings()) {
    found = found || (finding.state() == a_case.state &&
                      absl::StartsWith(Who(finding), a_case.who));
  }
  EXPECT_TRUE(found) << a_case.who << " is not " << State_Name(a_case.state)
                     << ":\n"
                     << Lines(result);
}

INSTANTIATE_TEST_SUITE_P(Case, CaseTest, ::testing::ValuesIn(Cases()),
                         [](const auto& info) {
                           return absl::StrFormat("%02d%s", info.param.number,
                                                  info.param.name);
                         });

TEST(CasesTest, EveryCaseIsFoundOrHasAReasonWhyNoFactShowsIt) {
  constexpr int kCases = 36;
  std::set<int> found;
  for (const Case& a_case : Cases()) found.insert(a_case.number);
  for (int number = 1; number <= kCases; ++number) {
    EXPECT_NE(found.count(number), SeenByNoFact().count(number)) << number;
  }
}

}  // namespace
}  // namespace clusterd
