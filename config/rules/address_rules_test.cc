#include "absl/strings/str_cat.h"
#include "config/plan/make_plan.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not;

constexpr char kMask[] = "255.255.255.0";

TEST(CheckDeviceIpSetTest, GivesTheCommandThatSetsThePlannedAddress) {
  TestCluster cluster;
  cluster.device(0, 3).mutable_address()->mutable_value()->clear_settings();
  EXPECT_EQ(Lines(cluster.Check("device-ip-set")),
            "FAIL server0:3 none-as-planned planned=192.168.103.1/24, "
            "command=-ip -s address 192.168.103.1 netmask 255.255.255.0\n");
  const RuleResult planned = cluster.Check("device-ip-planned");
  EXPECT_EQ(planned.state(), PASS);
  EXPECT_EQ(planned.findings(0).state(), SKIPPED);
  cluster.PlanAddress(0, 3, "", "");
  EXPECT_EQ(cluster.Check("device-ip-set").findings(0).finding(), "none");
}

// An initial host has one finding, with as many values as its plan has steps.
TEST(CheckDeviceIpSetTest, SaysOnceThatAHostWasNeverConfigured) {
  for (const char* product : {"atlas-a2", "atlas-training", "atlas-a3"}) {
    TestCluster cluster(product, "", 3);
    cluster.MakeNew(0);
    cluster.MakeNew(2);
    const ClusterPlan plan = MakePlan(cluster.spec, Pointers(cluster.facts));
    ASSERT_GT(plan.hosts(0).steps_size(), 0) << product;
    const RuleResult result = cluster.Check("device-ip-set");
    ASSERT_EQ(result.findings_size(), 1) << product << Lines(result);
    const Finding& finding = result.findings(0);
    EXPECT_EQ(Brief(finding), absl::StrCat("never-configured values=",
                                           plan.hosts(0).steps_size()));
    EXPECT_EQ(finding.subjects_size(), 2);
    EXPECT_TRUE(finding.fixed_by_plan());
    EXPECT_EQ(cluster.Check("net-health").findings(0).caused_by(),
              "device-ip-set");
  }
}

TEST(CheckDeviceIpSetTest, CountsTheValuesThatThePlanHas) {
  TestCluster cluster("atlas-a2");
  cluster.MakeNew(0);
  EXPECT_EQ(Lines(cluster.Check("device-ip-set")),
            "FAIL server0:0-7 never-configured values=24\n");
  cluster.Set(0, "hccn_conf {missing {reason: ABSENT detail: 'no such file'}}");
  const RuleResult result = cluster.Check("device-ip-set");
  EXPECT_EQ(Lines(result),
            "FAIL server0:0-7 never-configured-without-file values=24\n");
  // A plan is blocked until there is a file.
  EXPECT_FALSE(result.findings(0).fixed_by_plan());
  EXPECT_EQ(cluster.Check("hccn-conf").findings(0).caused_by(),
            "device-ip-set");
  TestCluster less("atlas-a2");
  less.MakeNew(0);
  // The plan, not this rule, checks what the host allows.
  less.facts[0].mutable_allows()->add_kinds("observe");
  for (DeviceSpec& device : *less.spec.mutable_servers(0)->mutable_devices()) {
    device.clear_gateway();
  }
  EXPECT_EQ(Lines(less.Check("device-ip-set")),
            "FAIL server0:0-7 never-configured values=16\n");
}

TEST(CheckDeviceIpSetTest, KnowsAHostThatSomebodyConfigured) {
  const struct {
    const char* name;
    const char* device;
    const char* host = "";
    bool is_planned = true;
  } kCases[] = {{"gateway", "gateway {value: '10.0.0.254'}"},
                {"detect address", "detect_address {value: '10.0.0.254'}"},
                {"may have a gateway", "gateway {missing {reason: TIMED_OUT}}"},
                {"stored address", "",
                 "hccn_conf {value {entries {key: 'address' device: 3 "
                 "value: '10.0.0.4'}}}"},
                {"no plan sets all of it", "", "", false}};
  for (const auto& each : kCases) {
    TestCluster cluster("atlas-a2");
    cluster.MakeNew(0);
    cluster.Set(0, 3, each.device).Set(0, each.host);
    if (!each.is_planned) cluster.PlanAddress(0, 3, "", "");
    EXPECT_THAT(cluster.Check("device-ip-set"),
                Finds(Not(HasSubstr("never-configured"))))
        << each.name;
  }
}

TEST(CheckDeviceIpSetTest, IsUnknownForWhatIsNoAddress) {
  TestCluster cluster;
  cluster.SetAddress(0, 3, "10.0.0.300", kMask);
  EXPECT_THAT(cluster.Check("device-ip-set"), IsUnknown("10.0.0.300"));
}

TEST(CheckDeviceIpSetTest, IsUnknownForADeviceWithAnIpv6AddressAlone) {
  TestCluster cluster;
  DeviceFacts& device = cluster.device(0, 3);
  device.mutable_address()->mutable_value()->clear_settings();
  device.mutable_ipv6_address()->set_value("fd00::17/64");
  EXPECT_THAT(cluster.Check("device-ip-set"),
              IsUnknown("UNKNOWN server0:3 ipv6-only address=fd00::17/64"));
  device.mutable_ipv6_address()->set_value("");
  EXPECT_EQ(cluster.Check("device-ip-set").state(), FAIL);
  // The answer of a product whose tool knows no IPv6.
  SetMissing(Missing::NOT_SUPPORTED, "This device does not support IPV6!",
             device.mutable_ipv6_address());
  EXPECT_EQ(cluster.Check("device-ip-set").state(), FAIL);
}

TEST(CheckDeviceIpPlannedTest, FailsForAnotherAddressOrMask) {
  TestCluster cluster;
  cluster.SetAddress(0, 3, "192.168.103.77", kMask);
  cluster.SetAddress(1, 2, "192.168.102.3", "255.255.0.0");
  EXPECT_EQ(Lines(cluster.Check("device-ip-planned")),
            "FAIL server0:3 another live=192.168.103.77/24, "
            "planned=192.168.103.1/24, command=-ip -s address 192.168.103.1 "
            "netmask 255.255.255.0\nFAIL server1:2 another "
            "live=192.168.102.3/16, planned=192.168.102.3/24, command=-ip -s "
            "address 192.168.102.3 netmask 255.255.255.0\n");
}

TEST(CheckDeviceIpPlannedTest, PassesWhenOneOfSeveralIsThePlannedOne) {
  TestCluster cluster;
  Ipv4Setting* more =
      cluster.device(0, 3).mutable_address()->mutable_value()->add_settings();
  more->set_address("192.168.103.77");
  more->set_netmask(kMask);
  EXPECT_EQ(cluster.Check("device-ip-planned").state(), PASS);
}

TEST(CheckDeviceIpPlannedTest, IsSkippedWithoutAPlan) {
  TestCluster cluster;
  for (ServerSpec& server : *cluster.spec.mutable_servers()) {
    server.clear_devices();
  }
  const RuleResult result = cluster.Check("device-ip-planned");
  EXPECT_EQ(result.state(), SKIPPED);
  EXPECT_EQ(result.skip_reason(), Say("no-addresses-planned"));
}

struct Allowed {
  const char* product;
  const char* mode;
  const char* address;
  const char* netmask;
  const char* refusal;  // None: it is allowed.
};

TEST(CheckDeviceIpAllowedTest, RefusesWhatTheToolOrTheNetworkRefuses) {
  constexpr Allowed kCases[] = {
      {"atlas-training", "smp", "192.168.1.7", kMask, "192.168.1.0/24"},
      {"atlas-training", "smp", "192.168.5.7", kMask, "192.168.5.0/24"},
      {"atlas-training", "smp", "192.168.6.7", kMask, ""},
      {"atlas-training", "amp", "192.168.2.7", kMask, "192.168.2.0/24"},
      {"atlas-training", "amp", "192.168.3.7", kMask, ""},
      {"atlas-a2", "", "192.168.2.7", kMask, "192.168.2.0/24"},
      {"atlas-a2", "", "192.168.3.7", kMask, ""},
      {"atlas-a3", "", "192.168.7.7", kMask, "192.168.0.0/21"},
      {"atlas-a3", "", "192.168.8.7", kMask, ""},
      {"atlas-a3-superpod", "", "192.168.100.7", kMask, "192.0.0.0/8"},
      {"atlas-a3-superpod", "", "193.168.100.7", kMask, ""},
      {"atlas-training", "", "127.10.0.1", kMask, "loopback"},
      {"atlas-training", "", "224.0.0.7", kMask, "multicast"},
      {"atlas-training", "", "240.0.0.7", kMask, "class E"},
      {"atlas-training", "", "10.0.0.0", kMask, "the network address of"},
      {"atlas-training", "", "10.0.0.255", kMask, "the broadcast address of"},
      {"atlas-training", "", "10.0.0.255", "255.255.254.0", ""},
      {"atlas-training", "", "10.0.0.7", "255.255.255.255", ""},
      {"atlas-training", "", "10.0.0.7", "0.0.0.0", "netmask 0.0.0.0"},
  };
  for (const Allowed& c : kCases) {
    TestCluster cluster(c.product, c.mode);
    cluster.SetAddress(0, 1, c.address, c.netmask);
    const RuleResult result = cluster.Check("device-ip-allowed");
    EXPECT_EQ(result.state(), *c.refusal == 0 ? PASS : FAIL)
        << c.address << " on " << c.product;
    if (*c.refusal == 0) continue;
    ASSERT_EQ(result.findings_size(), 1) << c.address;
    EXPECT_THAT(result.findings(0).observed(), HasSubstr(c.refusal));
  }
}

TEST(CheckDeviceIpAllowedTest, AsksForAnotherPlanWhenThePlanIsWrong) {
  TestCluster cluster;
  cluster.SetAddress(0, 3, "192.168.1.7", kMask);
  cluster.PlanAddress(0, 3, "192.168.1.7", kMask);
  EXPECT_THAT(cluster.Check("device-ip-allowed"),
              Finds("planned address=192.168.1.7/24, why=" +
                    Say("is-reserved", "192.168.1.0/24", "")));
}

// Devices 0 to 2 of server0 have no gateway, which device 3 would share.
void LeaveGatewayToDevice3(TestCluster* cluster) {
  for (const int id : {0, 1, 2}) {
    cluster->device(0, id).mutable_gateway()->set_value("");
    cluster->spec.mutable_servers(0)->mutable_devices(id)->clear_gateway();
  }
}

RuleResult CheckGatewayOf(const char* gateway, const char* planned) {
  TestCluster cluster;
  LeaveGatewayToDevice3(&cluster);
  cluster.device(0, 3).mutable_gateway()->set_value(gateway);
  cluster.spec.mutable_servers(0)->mutable_devices(3)->set_gateway(planned);
  return cluster.Check("gateway");
}

TEST(CheckGatewayTest, FailsForAGatewayThatCannotRoute) {
  const struct {
    const char* gateway;
    const char* says;
  } kCases[] = {
      {"192.168.103.1", "is the device's own address"},
      {"192.168.103.0", "is the network address of 192.168.103.0/24"},
      {"192.168.103.255", "is the broadcast address of 192.168.103.0/24"},
      {"192.168.104.254", "is outside the device's subnet 192.168.103.0/24"},
  };
  for (const auto& c : kCases) {
    const RuleResult result = CheckGatewayOf(c.gateway, "192.168.103.254");
    EXPECT_THAT(result, Fails(c.says)) << c.gateway;
    EXPECT_EQ(result.findings(0).finding(), "not-as-planned");
    EXPECT_EQ(result.findings(0).command(),
              "hccn_tool -i 3 -gateway -s gateway 192.168.103.254");
  }
}

// The observed text of a finding about a gateway or detect address.
std::string Broken(const char* kind, const char* address, const char* why,
                   const char* subnet) {
  return absl::StrCat(
      "observed=",
      Say(absl::StrCat(kind, "-broken"), address, Say(why, subnet)), ", ");
}

TEST(CheckGatewayTest, BlamesTheAddressThatIsNotAsPlanned) {
  TestCluster cluster;
  cluster.SetAddress(0, 3, "192.168.9.1", kMask);
  DeviceSpec* planned = cluster.spec.mutable_servers(0)->mutable_devices(3);
  planned->set_gateway("192.168.103.254");
  const RuleResult result = cluster.Check("gateway");
  EXPECT_EQ(result.state(), FAIL);
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(result.findings(0).caused_by(), "device-ip-planned");
  EXPECT_THAT(result.findings(0).fix(), Not(HasSubstr("hccn_tool")));
  // A plan that contradicts itself is not the address's fault.
  planned->set_gateway("10.0.0.1");
  cluster.device(0, 3).mutable_gateway()->set_value("10.0.0.1");
  EXPECT_THAT(Brief(cluster.Check("gateway").findings(0)),
              HasSubstr("does-not-suit " +
                        Broken("gateway", "10.0.0.1", "is-outside-subnet",
                               "192.168.9.0/24") +
                        "command=-gateway -s gateway , kind=gateway"));
}

TEST(CheckGatewayTest, WarnsWhenThePlannedOneIsNotSet) {
  EXPECT_EQ(Lines(CheckGatewayOf("", "192.168.103.254")),
            "WARN server0:3 not-as-planned observed=no gateway is set, "
            "command=-gateway -s gateway , planned=192.168.103.254\n");
  EXPECT_EQ(CheckGatewayOf("192.168.103.253", "192.168.103.254").state(), WARN);
}

// cluster.yaml names no gateway, and no device has one.
TestCluster WithoutGateways(const char* product) {
  TestCluster cluster(product, "", 2);
  cluster.SetDevices("gateway {value: ''}");
  for (ServerSpec& server : *cluster.spec.mutable_servers()) {
    for (DeviceSpec& device : *server.mutable_devices()) device.clear_gateway();
  }
  return cluster;
}

// The router of the device's subnet.
std::string RouterOf(int host, int id) {
  return TestCluster("atlas-a2", "", 2).device(host, id).gateway().value();
}

TEST(CheckGatewayTest, OneThatSomeDevicesAloneHaveIsAWarning) {
  TestCluster cluster = WithoutGateways("atlas-a2");
  EXPECT_EQ(cluster.Check("gateway").state(), PASS);
  cluster.device(1, 3).mutable_gateway()->set_value(RouterOf(1, 3));
  const RuleResult one = cluster.Check("gateway");
  EXPECT_THAT(one, Finds("WARN server1:3 few-with gateway=" + RouterOf(1, 3) +
                         ", others=15 devices\n"));
  ASSERT_EQ(one.findings_size(), 1);
  EXPECT_FALSE(one.findings(0).fixed_by_plan());
  // All but one.
  for (const int host : {0, 1}) {
    for (int id = 0; id < 8; ++id) {
      if (host == 0 && id == 5) continue;
      cluster.device(host, id).mutable_gateway()->set_value(RouterOf(host, id));
    }
  }
  EXPECT_EQ(Lines(cluster.Check("gateway")),
            "WARN server0:5 few-without gateway=0.0.0.0, others=15 devices\n");
  cluster.device(0, 5).mutable_gateway()->set_value(RouterOf(0, 5));
  EXPECT_EQ(cluster.Check("gateway").state(), PASS);
  // A rail, for which the spec plans a gateway.
  for (const int host : {0, 1}) {
    for (int id = 0; id < 8; ++id) {
      if (id == 2) {
        cluster.spec.mutable_servers(host)->mutable_devices(id)->set_gateway(
            RouterOf(host, id));
      } else {
        cluster.device(host, id).mutable_gateway()->set_value("");
      }
    }
  }
  EXPECT_EQ(cluster.Check("gateway").state(), PASS);
}

TEST(CheckGatewayTest, AsManyWithAsWithoutOneNameBoth) {
  TestCluster cluster = WithoutGateways("atlas-a2");
  for (int id = 0; id < 8; ++id) {
    cluster.device(1, id).mutable_gateway()->set_value(RouterOf(1, id));
  }
  const std::string lines = Lines(cluster.Check("gateway"));
  EXPECT_THAT(lines, HasSubstr("WARN server0:0-7 few-without gateway=0.0.0.0, "
                               "others=8 devices"));
  EXPECT_THAT(lines, HasSubstr("WARN server1:0"));
  EXPECT_THAT(lines, HasSubstr(" few-with gateway=" + RouterOf(1, 0) +
                               ", others=8 devices"));
}

TEST(CheckGatewayTest, OneForFourOfAnA1ServerThatNobodyPlansIsCorrect) {
  TestCluster cluster = WithoutGateways("atlas-training");
  const TestCluster healthy("atlas-training", "", 2);
  for (const int host : {0, 1}) {
    for (const int id : {0, 4}) {
      *cluster.device(host, id).mutable_gateway() =
          healthy.facts[host].devices(id).gateway();
    }
  }
  EXPECT_EQ(Lines(cluster.Check("gateway")), "");
}

// The state in which hccn_tool leaves a server of this product after gateways
// were set for devices 0 and 4 last: live and stored for these two alone.
TestCluster OneGatewayPerFour(const char* mode) {
  TestCluster cluster("atlas-training", mode);
  for (HostFacts& facts : cluster.facts) {
    for (DeviceFacts& device : *facts.mutable_devices()) {
      if (device.id() % 4 != 0) device.mutable_gateway()->set_value("");
    }
    auto* entries =
        facts.mutable_hccn_conf()->mutable_value()->mutable_entries();
    for (int i = entries->size(); i-- > 0;) {
      const HccnConf::Entry& entry = entries->Get(i);
      if (entry.key() == "gateway" && entry.device() % 4 != 0) {
        entries->DeleteSubrange(i, 1);
      }
    }
  }
  return cluster;
}

TEST(CheckGatewayTest, OneForFourOfAnA1ServerIsCorrect) {
  for (const char* mode : {"smp", "amp"}) {
    const TestCluster cluster = OneGatewayPerFour(mode);
    for (const char* rule :
         {"gateway", "gateway-persistent", "detect-address", "subnet-pairs",
          "subnet-distinct", "subnet-across-hosts"}) {
      EXPECT_THAT(cluster.Check(rule), Finds(Not(HasSubstr("server"))))
          << rule << " " << mode;
    }
    EXPECT_EQ(cluster.Check("gateway").state(), PASS);
    EXPECT_EQ(cluster.Check("gateway-persistent").state(), PASS);
  }
}

TEST(CheckGatewayTest, AFourWithoutAnyIsWarnedOf) {
  TestCluster cluster = OneGatewayPerFour("smp");
  cluster.device(0, 0).mutable_gateway()->set_value("");
  // Only one command is advised: each further one would undo the first.
  EXPECT_EQ(Lines(cluster.Check("gateway")),
            "WARN server0:0 not-as-planned observed=no gateway is set, "
            "command=-gateway -s gateway , planned=192.168.100.254\n");
  SetMissing(Missing::BUSY, "", cluster.device(0, 0).mutable_gateway());
  EXPECT_THAT(cluster.Check("gateway"), IsUnknown("gateway of device 0"));
}

TEST(CheckGatewayTest, TheOneOfAFourMayReadTheSameOnEachDevice) {
  TestCluster cluster = OneGatewayPerFour("smp");
  // A detect address is reached through the gateway of the four.
  cluster.device(0, 3).mutable_detect_address()->set_value("10.0.0.1");
  cluster.Plan(0, 3, "detect_address: '10.0.0.1'");
  EXPECT_EQ(cluster.Check("detect-address").state(), PASS);
  cluster.device(0, 3).mutable_gateway()->set_value("192.168.100.254");
  EXPECT_EQ(cluster.Check("gateway").state(), PASS);
  EXPECT_EQ(cluster.Check("gateway-persistent").state(), PASS);
}

TEST(CheckGatewayTest, IsJudgedWithoutAPlanToo) {
  EXPECT_EQ(CheckGatewayOf("", "").state(), PASS);
  EXPECT_EQ(CheckGatewayOf("192.168.103.253", "").state(), PASS);
  const RuleResult outside = CheckGatewayOf("10.0.0.1", "");
  EXPECT_EQ(outside.state(), FAIL);
  EXPECT_THAT(Brief(outside.findings(0)),
              HasSubstr("not-planned " +
                        Broken("gateway", "10.0.0.1", "is-outside-subnet",
                               "192.168.103.0/24") +
                        "command=-gateway -s gateway , kind=gateway, "
                        "subnet=192.168.103.0/24"));
  EXPECT_THAT(Lines(CheckGatewayOf("router", "")),
              HasSubstr("UNKNOWN server0:3 not-known what=gateway, reason=not "
                        "understood: \"router\", how-to-learn=" +
                        Say("learn-not-asked")));
}

// Device 3 of server0 has 192.168.103.1/24.
struct Detect {
  const char* detect;
  const char* planned;
  const char* gateway;
  State state;
  const char* says;
};

TEST(CheckDetectAddressTest, FollowsItsTable) {
  constexpr char kRouter[] = "192.168.103.254";
  const Detect kCases[] = {
      {kRouter, kRouter, kRouter, PASS, ""},
      {kRouter, "", kRouter, PASS, ""},
      {kRouter, kRouter, "", PASS, ""},
      {"0.0.0.0", kRouter, kRouter, FAIL, "no detect address is set"},
      {"", kRouter, kRouter, FAIL, "no detect address is set"},
      {"0.0.0.0", "", kRouter, WARN, "no detect address is set"},
      {"192.168.103.1", kRouter, kRouter, FAIL, "the device's own address"},
      {"192.168.1.199", kRouter, kRouter, FAIL, "lies in 192.168.1.0/24"},
      {"224.0.0.1", kRouter, kRouter, FAIL, "multicast"},
      {"192.168.103.255", kRouter, kRouter, FAIL, "the broadcast address"},
      {"10.0.0.1", kRouter, "", FAIL, "no gateway is set"},
      {"10.0.0.1", kRouter, kRouter, WARN, "tests the gateway as well"},
      {"10.0.0.1", "10.0.0.1", kRouter, PASS, ""},
      {"10.0.0.1", "10.0.0.1", "", FAIL, "no gateway is set"},
      {"192.168.103.9", kRouter, kRouter, WARN, "is 192.168.103.9"},
      {"switch", kRouter, kRouter, UNKNOWN, "\"switch\""},
  };
  for (const Detect& c : kCases) {
    TestCluster cluster;
    LeaveGatewayToDevice3(&cluster);
    cluster.device(0, 3).mutable_detect_address()->set_value(c.detect);
    cluster.device(0, 3).mutable_gateway()->set_value(c.gateway);
    cluster.spec.mutable_servers(0)->mutable_devices(3)->set_detect_address(
        c.planned);
    EXPECT_THAT(cluster.Check("detect-address"), Gives(c.state, c.says))
        << c.detect << ", planned " << c.planned;
  }
}

TEST(CheckDetectAddressTest, GivesTheCommandThatSetsThePlannedOne) {
  TestCluster cluster;
  cluster.device(0, 3).mutable_detect_address()->set_value("0.0.0.0");
  EXPECT_EQ(Brief(cluster.Check("detect-address").findings(0)),
            "not-as-planned observed=no detect address is set (0.0.0.0), "
            "command=-netdetect -s address , planned=192.168.103.254");
}

// Device 3 of server0 has another address than planned, and no gateway.
TestCluster Misplaced(const char* address, const char* netmask) {
  TestCluster cluster;
  LeaveGatewayToDevice3(&cluster);
  cluster.SetAddress(0, 3, address, netmask);
  cluster.device(0, 3).mutable_gateway()->set_value("");
  return cluster;
}

TEST(CheckDetectAddressTest, BlamesTheAddressThatIsNotAsPlanned) {
  const struct {
    const char* address;
    const char* netmask;
    const char* says;
  } kCases[] = {
      {"192.168.9.1", kMask, "is outside the device's subnet 192.168.9.0/24"},
      {"192.168.103.1", "255.255.255.128", "is outside the device's subnet"},
      {"192.168.103.254", kMask, "is the device's own address"},
  };
  for (const auto& c : kCases) {
    const RuleResult result =
        Misplaced(c.address, c.netmask).Check("detect-address");
    ASSERT_EQ(result.findings_size(), 1);
    const Finding& finding = result.findings(0);
    EXPECT_EQ(finding.state(), FAIL);
    EXPECT_THAT(finding.observed(), HasSubstr(c.says));
    EXPECT_EQ(finding.caused_by(), "device-ip-planned");
    EXPECT_EQ(finding.finding(), "suits-planned-address");
  }
}

TEST(CheckDetectAddressTest, StillSetsAPlannedOneThatIsNotSet) {
  TestCluster cluster = Misplaced("192.168.9.1", kMask);
  cluster.device(0, 3).mutable_detect_address()->set_value("192.168.103.9");
  const RuleResult result = cluster.Check("detect-address");
  EXPECT_EQ(result.findings(0).caused_by(), "");
  EXPECT_EQ(Brief(result.findings(0)),
            "not-as-planned " +
                Broken("detect-address", "192.168.103.9",
                       "is-outside-without-gateway", "192.168.9.0/24") +
                "command=-netdetect -s address , planned=192.168.103.254");
}

TEST(CheckDetectAddressTest, AsksForAnotherPlanWhereThePlannedOneIsSet) {
  TestCluster cluster;
  DeviceSpec* planned = cluster.spec.mutable_servers(0)->mutable_devices(3);
  planned->set_detect_address("192.168.103.255");
  cluster.device(0, 3).mutable_detect_address()->set_value("192.168.103.255");
  const RuleResult result = cluster.Check("detect-address");
  EXPECT_EQ(result.findings(0).caused_by(), "");
  EXPECT_THAT(Brief(result.findings(0)),
              HasSubstr("does-not-suit " +
                        Broken("detect-address", "192.168.103.255",
                               "is-broadcast-address", "192.168.103.0/24") +
                        "command=-netdetect -s address , kind=detect address"));
}

TEST(CheckDetectAddressTest, BlamesThePlannedGatewayThatIsNotSet) {
  TestCluster cluster;
  LeaveGatewayToDevice3(&cluster);
  DeviceSpec* planned = cluster.spec.mutable_servers(0)->mutable_devices(3);
  planned->set_detect_address("10.0.0.1");
  planned->set_gateway("192.168.103.254");
  cluster.Set(0, 3, "detect_address {value: '10.0.0.1'} gateway {value: ''}");
  const RuleResult result = cluster.Check("detect-address");
  EXPECT_EQ(result.state(), FAIL);
  EXPECT_EQ(result.findings(0).caused_by(), "gateway");
  EXPECT_EQ(Brief(result.findings(0)),
            "waits-for-gateway " +
                Broken("detect-address", "10.0.0.1",
                       "is-outside-without-gateway", "192.168.103.0/24") +
                "gateway=192.168.103.254");
  cluster.device(0, 3).clear_gateway();
  EXPECT_EQ(cluster.Check("detect-address").state(), UNKNOWN);
}

}  // namespace
}  // namespace clusterd
