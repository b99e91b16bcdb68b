#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The report of a host without the tool: nothing is known of any device.
void RemoveTool(HostFacts* host) {
  SetMissing(Missing::ABSENT, "/usr/bin/hccn_tool",
             host->mutable_hccn_tool()->mutable_path());
  host->mutable_hccn_tool()->clear_generation();
  for (DeviceFacts& device : *host->mutable_devices()) {
    const std::string detail = absl::StrCat("hccn_tool -i ", device.id());
    SetMissing(Missing::ABSENT, detail, device.mutable_address());
    SetMissing(Missing::ABSENT, detail, device.mutable_gateway());
    SetMissing(Missing::ABSENT, detail, device.mutable_detect_address());
    SetMissing(Missing::ABSENT, detail, device.mutable_net_health());
    SetMissing(Missing::ABSENT, detail, device.mutable_link());
    SetMissing(Missing::ABSENT, detail, device.mutable_lldp());
    SetMissing(Missing::ABSENT, detail, device.mutable_mtu());
    SetMissing(Missing::ABSENT, detail, device.mutable_tls());
  }
}

TEST(CheckHccnToolTest, IsUnknownWithoutTheTool) {
  TestCluster cluster;
  RemoveTool(&cluster.facts[1]);
  const RuleResult result = cluster.Check("hccn-tool");
  EXPECT_EQ(result.state(), UNKNOWN);
  EXPECT_THAT(
      Lines(result),
      HasSubstr(
          "UNKNOWN server1 not-known what=hccn_tool, reason=does not exist: "
          "/usr/bin/hccn_tool, how-to-learn=install what is missing, or mount "
          "it into the container in which clusterd runs"));
  EXPECT_EQ(result.summary(), "1 of 2 hosts");
}

TEST(CheckHccnToolTest, CostsEveryDependentRuleOneUnknown) {
  TestCluster cluster;
  RemoveTool(&cluster.facts[1]);
  for (const char* rule :
       {"link", "net-health", "lldp", "device-ip-set", "device-ip-planned",
        "device-ip-persistent", "device-ip-allowed", "gateway",
        "gateway-persistent", "detect-address", "detect-address-persistent",
        "subnet-pairs", "subnet-distinct", "subnet-across-hosts", "ip-unique",
        "ip-host-part", "netmask-uniform", "tls-uniform", "mtu-uniform"}) {
    const RuleResult result = cluster.Check(rule);
    EXPECT_EQ(result.state(), UNKNOWN) << rule;
    ASSERT_EQ(result.findings_size(), 1) << rule << "\n" << Lines(result);
    EXPECT_EQ(result.findings(0).caused_by(), "hccn-tool") << rule;
    EXPECT_EQ(Who(result.findings(0)), "server1:0-7") << rule;
  }
}

TEST(CheckHccnToolTest, CostsEveryDependentRuleOneUnknownWithoutIdsToo) {
  TestCluster cluster;
  RemoveTool(&cluster.facts[0]);
  cluster.facts[0].clear_devices();
  SetMissing(Missing::ABSENT, "", cluster.facts[0].mutable_device_ids());
  const RuleResult result = cluster.Check("link");
  EXPECT_EQ(Lines(result), "UNKNOWN server0 [hccn-tool] no-device-asked\n");
}

TEST(CheckHccnToolTest, IsUnknownForAToolThatFailsWhateverItIsAsked) {
  TestCluster cluster;
  const std::string path = cluster.facts[0].hccn_tool().path().value();
  RemoveTool(&cluster.facts[0]);
  cluster.facts[0].mutable_hccn_tool()->mutable_path()->set_value(path);
  cluster.facts[0].mutable_hccn_tool()->set_generation(NpuToolFacts::CLASSIC);
  for (DeviceFacts& device : *cluster.facts[0].mutable_devices()) {
    device.mutable_tls()->mutable_value()->set_source("/etc/hccn.conf");
  }
  const RuleResult result = cluster.Check("hccn-tool");
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_THAT(
      Brief(result.findings(0)),
      HasSubstr(
          "silent tool=/usr/local/Ascend/driver/tools/hccn_tool, why=does not "
          "exist: hccn_tool -i 0, how-to-learn=install what is missing, or "
          "mount it into the container in which clusterd runs"));
  EXPECT_EQ(cluster.Check("link").findings(0).caused_by(), "hccn-tool");
  EXPECT_EQ(cluster.Check("tls-uniform").state(), PASS);
}

TEST(CheckHccnToolTest, NamesDevicesThatHangOrStayBusy) {
  TestCluster cluster;
  SetMissing(Missing::TIMED_OUT, "no answer in 10s (deadlines.command)",
             cluster.device(0, 3).mutable_lldp());
  SetMissing(Missing::BUSY, "5 times", cluster.device(1, 4).mutable_mtu());
  const std::string lines = Lines(cluster.Check("hccn-tool"));
  EXPECT_THAT(lines,
              HasSubstr("UNKNOWN server0:3 no-answer why=timed out: no answer "
                        "in 10s (deadlines.command), how-to-learn=find out "
                        "what hangs on the host; if it is only slow, raise "
                        "deadlines.command or deadlines.host in cluster.yaml"));
  EXPECT_THAT(lines, HasSubstr("UNKNOWN server1:4 no-answer why=busy: 5 times, "
                               "how-to-learn=wait until the other hccn_tool "
                               "ends (pgrep -a hccn_tool), then check again"));
  EXPECT_EQ(cluster.Check("lldp").findings(0).caused_by(), "hccn-tool");
  EXPECT_EQ(cluster.Check("mtu-uniform").findings(0).caused_by(), "hccn-tool");
  EXPECT_EQ(cluster.Check("link").state(), PASS);
}

TEST(CheckHccnToolTest, IsTheCauseOfWhatWasNotAskedAfterAHang) {
  TestCluster cluster;
  DeviceFacts& device = cluster.device(0, 3);
  SetMissing(Missing::TIMED_OUT, "no answer in 2s", device.mutable_link());
  SetMissing(Missing::TIMED_OUT, "not asked after that", device.mutable_lldp());
  const RuleResult result = cluster.Check("lldp");
  EXPECT_EQ(result.state(), UNKNOWN);
  EXPECT_EQ(result.findings(0).caused_by(), "hccn-tool");
}

TEST(CheckHccnToolTest, IsTheCauseWhereTheToolExitsZeroAndSaysNothing) {
  TestCluster cluster;
  for (int i = 0; i < 8; ++i) {
    cluster.Mute(0, i, Missing::UNREADABLE, "status 0 without a word");
    cluster.device(0, i).mutable_lldp()->mutable_value()->set_heard(false);
  }
  const RuleResult result = cluster.Check("hccn-tool");
  EXPECT_EQ(result.state(), UNKNOWN);
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_THAT(
      Brief(result.findings(0)),
      HasSubstr("silent tool=/usr/local/Ascend/driver/tools/hccn_tool, why=not "
                "understood: `hccn_tool -i 0 -ip -g`: status 0 without a word, "
                "how-to-learn=look on the host at what the reason names; this "
                "version of clusterd does not understand it"));
  EXPECT_THAT(
      Lines(cluster.Check("lldp")),
      StartsWith(
          "UNKNOWN server0:0-7 [hccn-tool] no-tool what=LLDP neighbour"));
}

TEST(CheckHccnToolTest, IsTheCauseForADeviceOfWhichNothingCanBeRead) {
  TestCluster cluster;
  cluster.Mute(0, 3, Missing::UNREADABLE, "unexpected \"0xdeadbeef\"");
  EXPECT_THAT(
      Lines(cluster.Check("hccn-tool")),
      StartsWith("UNKNOWN server0:3 not-readable why=not understood: "
                 "`hccn_tool -i 3 -ip -g`: unexpected \"0xdeadbeef\", "
                 "how-to-learn=look on the host at what the reason names; this "
                 "version of clusterd does not understand it"));
  EXPECT_THAT(
      Lines(cluster.Check("link")),
      StartsWith("UNKNOWN server0:3 [hccn-tool] tool-unreadable what=link"));
}

TEST(CheckHccnToolTest, IsNotTheCauseOfWhatClusterdChoseNotToAsk) {
  TestCluster cluster;
  cluster.Mute(0, 3, Missing::TIMED_OUT, "no answer in 2s");
  SetMissing(Missing::NOT_QUERIED, "it cannot be given a copy",
             cluster.device(0, 3).mutable_tls());
  EXPECT_THAT(Lines(cluster.Check("tls-uniform")),
              StartsWith("UNKNOWN server0:3 not-asked why=not queried: it "
                         "cannot be given a copy"));
}

TEST(CheckTlsCertificatesTest, FailsForAnExpiredOneWhereTlsIsOn) {
  TestCluster cluster;
  TlsFact::Switch* tls = cluster.device(0, 3).mutable_tls()->mutable_value();
  EXPECT_EQ(cluster.Check("tls-certificates").state(), PASS);
  TlsCertificate* certificate = tls->mutable_certificates(0);
  certificate->set_name("subca1");
  certificate->set_ends("Mon Feb 19 03:19:21 2024");
  certificate->set_status(TlsCertificate::EXPIRED);
  EXPECT_THAT(Lines(cluster.Check("tls-certificates")),
              StartsWith("WARN server0:3 expired-unused names=subca1, ends=Mon "
                         "Feb 19 03:19:21 2024"));
  tls->set_enabled(true);
  EXPECT_EQ(cluster.Check("tls-certificates").state(), FAIL);
  certificate->set_status(TlsCertificate::ENDS_SOON);
  EXPECT_EQ(cluster.Check("tls-certificates").state(), WARN);
  tls->set_enabled(false);
  EXPECT_EQ(cluster.Check("tls-certificates").state(), PASS);
}

TEST(CheckHccnToolTest, IsUnknownForAnotherGeneration) {
  TestCluster cluster;
  cluster.facts[0].mutable_hccn_tool()->set_generation(
      NpuToolFacts::ASCEND_950);
  const RuleResult result = cluster.Check("hccn-tool");
  EXPECT_EQ(result.state(), UNKNOWN);
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_THAT(
      Brief(result.findings(0)),
      HasSubstr(
          "other-generation tool=/usr/local/Ascend/driver/tools/hccn_tool, "
          "generation=the Ascend 950 command line (hccn_tool -g -ip -i N -d "
          "bond<slot>), right=the classic command line (hccn_tool -i N -ip "
          "-g), product=Atlas training series (SMP)"));
}

TEST(CheckDeviceCountTest, NamesTheDevicesThatAreLacking) {
  TestCluster cluster;
  auto* ids = cluster.facts[1].mutable_device_ids()->mutable_value();
  ids->mutable_ids()->RemoveLast();
  cluster.facts[1].mutable_devices()->RemoveLast();
  const RuleResult result = cluster.Check("device-count");
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(Who(result.findings(0)), "server1:7");
  EXPECT_EQ(Brief(result.findings(0)),
            "missing found=0-6, in-source= in /dev/davinci*, expected=0-7, "
            "lacking=7, extra=none");
  EXPECT_EQ(cluster.Check("link").summary(), "15 of 16 devices on 2 hosts");
}

TEST(CheckDeviceCountTest, NamesDevicesThatNobodyExpects) {
  TestCluster cluster;
  cluster.facts[0].mutable_device_ids()->mutable_value()->add_ids(12);
  EXPECT_THAT(Lines(cluster.Check("device-count")),
              HasSubstr("FAIL server0:12 extra found=0-7,12, in-source= in "
                        "/dev/davinci*, expected=0-7, lacking=none, extra=12"));
}

// Six 310P3 of npu-smi's NPU IDs, and a container that was given such numbers.
TEST(CheckDeviceCountTest, NamesNpuIdsThatAreTakenForDevices) {
  TestCluster cluster("atlas-300t", "", 1);
  auto* ids = cluster.facts[0].mutable_device_ids()->mutable_value();
  for (const uint32_t npu : {1, 4}) ids->add_npu_ids(npu);
  EXPECT_EQ(cluster.Check("device-count").state(), PASS);
  ids->clear_ids();
  for (const uint32_t id : {0, 1}) ids->add_ids(id);
  EXPECT_THAT(
      Lines(cluster.Check("device-count")),
      HasSubstr("npu-ids found=0-1, in-source= in /dev/davinci*, expected=1,4, "
                "lacking=4, extra=none, mistaken=1,4 in cluster.yaml are NPU "
                "IDs of npu-smi info, not numbers of /dev/davinciN"));
  TestCluster box("atlas-a2", "", 1);
  ids = box.facts[0].mutable_device_ids()->mutable_value();
  ids->clear_ids();
  for (const uint32_t npu : {10, 12, 14, 16}) {
    ids->add_ids(npu);
    ids->add_npu_ids(npu);
  }
  EXPECT_THAT(
      Lines(box.Check("device-count")),
      HasSubstr("npu-ids found=10,12,14,16, in-source= in /dev/davinci*, "
                "expected=0-7, lacking=0-7, extra=10,12,14,16, "
                "mistaken=10,12,14,16 on the host are NPU IDs of npu-smi info, "
                "not numbers of /dev/davinciN"));
  box.facts[0].mutable_in_container()->set_value(true);
  EXPECT_THAT(
      Lines(box.Check("container-mounts")),
      HasSubstr(
          "lacks-npu-ids lacking=/dev/davinci0, /dev/davinci1, /dev/davinci2, "
          "/dev/davinci3, /dev/davinci4, /dev/davinci5, /dev/davinci6, "
          "/dev/davinci7, mistaken=10,12,14,16 on the host are NPU IDs of "
          "npu-smi info, not numbers of /dev/davinciN"));
}

// `ids: 0-3` on servers with eight devices.
TestCluster FourOfEight() {
  TestCluster cluster;
  for (ServerSpec& server : *cluster.spec.mutable_servers()) {
    server.mutable_devices()->DeleteSubrange(4, 4);
  }
  return cluster;
}

TEST(CheckDeviceCountTest, LeavesTheDevicesThatAreNotPlannedToOthers) {
  TestCluster cluster = FourOfEight();
  EXPECT_EQ(cluster.MakeReport().verdict(), PASS);
  EXPECT_EQ(cluster.Check("device-count").state(), PASS);
  EXPECT_EQ(cluster.Check("link").summary(), "8 devices on 2 hosts");
  // One is broken, one dead, one in the subnet of another.
  cluster.device(0, 5).mutable_link()->set_value(LinkFact::DOWN);
  cluster.device(0, 5).mutable_lldp()->mutable_value()->set_heard(false);
  cluster.device(0, 5).mutable_net_health()->set_value(NET_HEALTH_FAULT);
  cluster.device(0, 5).mutable_gateway()->set_value("10.9.9.9");
  cluster.device(0, 5).mutable_mtu()->set_value(9000);
  cluster.device(0, 5).mutable_recovery()->set_value(RecoveryFact::FAIL);
  cluster.Mute(0, 6, Missing::TOOL_FAILED, "The device is not exist!");
  cluster.SetAddress(1, 7, "192.168.100.77", "255.255.0.0");
  const Report report = cluster.MakeReport();
  for (const RuleResult& result : report.rules()) {
    EXPECT_TRUE(result.state() == PASS || result.state() == SKIPPED)
        << Lines(result);
  }
}

TEST(CheckDeviceCountTest, LetsHostsHaveDevicesOfTheirOwn) {
  TestCluster cluster("atlas-a2");
  cluster.spec.mutable_servers(1)->mutable_devices()->DeleteSubrange(0, 6);
  EXPECT_EQ(cluster.MakeReport().verdict(), PASS);
  EXPECT_EQ(cluster.Check("link").summary(), "10 devices on 2 hosts");
  cluster.facts[1].mutable_device_ids()->mutable_value()->clear_ids();
  cluster.facts[1].mutable_devices()->DeleteSubrange(6, 1);
  EXPECT_THAT(
      Lines(cluster.Check("device-count")),
      StartsWith("FAIL server1:6-7 missing found=none, in-source= in "
                 "/dev/davinci*, expected=6-7, lacking=6-7, extra=none"));
}

TEST(CheckDeviceCountTest,
     TakesTheToolForWorkingWhereAnUnplannedDeviceAnswers) {
  TestCluster cluster = FourOfEight();
  for (int i = 0; i < 4; ++i) {
    cluster.Mute(0, i, Missing::TOOL_FAILED, "The device is not exist!");
  }
  EXPECT_EQ(cluster.Check("hccn-tool").state(), PASS);
  EXPECT_THAT(
      Lines(cluster.Check("device-count")),
      StartsWith(
          "FAIL server0:0 dead why=the tool failed: `hccn_tool -i 0 -ip -g`: "
          "The device is not exist!, how-to-learn=run on the host by hand what "
          "the reason names; /var/log/hccn_tool/ has the tool's own log"));
}

TEST(CheckDeviceCountTest, CutsIdsWithoutEnd) {
  TestCluster cluster;
  auto* ids = cluster.facts[0].mutable_device_ids()->mutable_value();
  for (int i = 0; i < 100000; ++i) ids->add_ids(2 * i);
  const RuleResult result = cluster.Check("device-count");
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_LT(result.findings(0).observed().size(), 500u);
  EXPECT_LE(result.findings(0).subjects(0).devices_size(), 256);
}

TEST(CheckDeviceCountTest, TakesIdsWithGapsFromTheSpec) {
  TestCluster cluster("atlas-300t");
  EXPECT_EQ(cluster.Check("device-count").state(), PASS);
  cluster.facts[0].mutable_device_ids()->mutable_value()->set_ids(0, 0);
  EXPECT_THAT(Lines(cluster.Check("device-count")),
              HasSubstr("missing found=0,4, in-source= in /dev/davinci*, "
                        "expected=1,4, lacking=1, extra=none"));
}

TEST(CheckDeviceCountTest, TakesIdsFromTheProductWhereTheSpecListsNone) {
  TestCluster cluster;
  for (ServerSpec& server : *cluster.spec.mutable_servers()) {
    server.clear_devices();
  }
  EXPECT_EQ(cluster.Check("device-count").state(), PASS);
  cluster.facts[0].mutable_device_ids()->mutable_value()->clear_ids();
  EXPECT_EQ(cluster.Check("device-count").state(), FAIL);
}

TEST(CheckDeviceCountTest, IsSkippedWhenNobodySays) {
  TestCluster cluster("atlas-300t");
  for (ServerSpec& server : *cluster.spec.mutable_servers()) {
    server.clear_devices();
  }
  EXPECT_EQ(cluster.Check("device-count").state(), SKIPPED);
}

TEST(CheckDeviceCountTest, FailsForADeadDevice) {
  TestCluster cluster;
  cluster.Mute(0, 3, Missing::TOOL_FAILED, "The device is not exist!");
  const RuleResult result = cluster.Check("device-count");
  EXPECT_EQ(result.state(), FAIL);
  EXPECT_THAT(
      Lines(result),
      StartsWith(
          "FAIL server0:3 dead why=the tool failed: `hccn_tool -i 3 -ip -g`: "
          "The device is not exist!, how-to-learn=run on the host by hand what "
          "the reason names; /var/log/hccn_tool/ has the tool's own log"));
  EXPECT_EQ(cluster.Check("hccn-tool").state(), PASS);
  EXPECT_EQ(Lines(cluster.Check("link")),
            "UNKNOWN server0:3 [device-count] dead-device what=link\n");
}

TEST(CheckDeviceCountTest, FailsNobodyForADeadDeviceThatNobodyExpects) {
  TestCluster cluster("atlas-300t");
  for (ServerSpec& server : *cluster.spec.mutable_servers()) {
    server.clear_devices();
  }
  cluster.Mute(0, 1, Missing::TOOL_FAILED, "The device is not exist!");
  EXPECT_EQ(cluster.Check("device-count").state(), UNKNOWN);
}

TEST(CheckDeviceCountTest, CallsNoDeviceDeadWhereTheToolMayBeWhatIsBroken) {
  TestCluster cluster;
  for (int i = 0; i < 8; ++i) {
    cluster.Mute(0, i, Missing::TOOL_FAILED, "Get invalid device id.");
  }
  EXPECT_EQ(cluster.Check("device-count").state(), PASS);
  EXPECT_EQ(cluster.Check("hccn-tool").state(), UNKNOWN);
  EXPECT_EQ(cluster.Check("link").findings(0).caused_by(), "hccn-tool");
  // The tool could not be started, and then nothing more was asked.
  TestCluster other;
  other.Mute(0, 3, Missing::TOOL_FAILED, "");
  DeviceFacts& device = other.device(0, 3);
  SetMissing(Missing::TOOL_FAILED, "fork: no process",
             device.mutable_address());
  SetMissing(Missing::TOOL_FAILED, "fork: no process",
             device.mutable_net_health());
  EXPECT_EQ(other.Check("device-count").state(), PASS);
  EXPECT_EQ(Who(other.Check("hccn-tool").findings(0)), "server0:3");
}

TEST(CheckDeviceCountTest, IsUnknownWithoutTheIds) {
  TestCluster cluster;
  SetMissing(Missing::NOT_PERMITTED, "/dev",
             cluster.facts[0].mutable_device_ids());
  EXPECT_EQ(cluster.Check("device-count").state(), UNKNOWN);
}

TEST(CheckDeviceCountTest, LeavesOtherRulesUnknownOnAHostWithoutDevices) {
  TestCluster cluster;
  cluster.facts[0].mutable_device_ids()->mutable_value()->clear_ids();
  cluster.facts[0].clear_devices();
  EXPECT_EQ(Lines(cluster.Check("device-count")).substr(0, 17),
            "FAIL server0:0-7 ");
  const RuleResult link = cluster.Check("link");
  EXPECT_EQ(link.state(), UNKNOWN);
  EXPECT_EQ(link.findings(0).caused_by(), "device-count");
}

TEST(CheckLinkTest, FailsForTheDevicesThatAreDown) {
  TestCluster cluster;
  cluster.device(0, 3).mutable_link()->set_value(LinkFact::DOWN);
  cluster.device(1, 3).mutable_link()->set_value(LinkFact::DOWN);
  const RuleResult result = cluster.Check("link");
  EXPECT_EQ(result.state(), FAIL);
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(Who(result.findings(0)), "server0:3 server1:3");
  EXPECT_THAT(Brief(result.findings(0)), HasSubstr("down"));
  EXPECT_THAT(result.why(), HasSubstr("EI0009"));
}

TEST(CheckLinkTest, IsUnknownWithoutAnAnswer) {
  TestCluster cluster;
  SetMissing(Missing::TOOL_FAILED, "\"Command execute failed!\"",
             cluster.device(0, 3).mutable_link());
  EXPECT_THAT(
      Lines(cluster.Check("link")),
      HasSubstr("UNKNOWN server0:3 not-known what=link, reason=the tool "
                "failed: \"Command execute failed!\", how-to-learn=run on the "
                "host by hand what the reason names, and repair what it says"));
}

TEST(CheckLinkTest, DoesNotTakeAnUnspecifiedLinkForUp) {
  TestCluster cluster;
  cluster.device(0, 3).mutable_link()->set_value(LinkFact::LINK_UNSPECIFIED);
  EXPECT_EQ(cluster.Check("link").state(), UNKNOWN);
}

TEST(CheckNetHealthTest, ExplainsEveryCodeInItsOwnWords) {
  std::set<std::string> observed;
  std::set<std::string> whys;
  std::set<std::string> fixes;
  for (int health = NET_HEALTH_SOCKET_FAIL; health <= NetHealth_MAX; ++health) {
    TestCluster cluster;
    cluster.device(0, 3).mutable_net_health()->set_value(
        static_cast<NetHealth>(health));
    const RuleResult result = cluster.Check("net-health");
    ASSERT_EQ(result.findings_size(), 1) << health;
    EXPECT_EQ(result.state(),
              health == NET_HEALTH_DETECT_IP_SET ? UNKNOWN : FAIL);
    EXPECT_EQ(Who(result.findings(0)), "server0:3");
    observed.insert(result.findings(0).observed());
    whys.insert(result.findings(0).why());
    fixes.insert(result.findings(0).fix());
  }
  EXPECT_EQ(observed.size(), 9u);
  EXPECT_EQ(whys.size(), 9u);
  EXPECT_EQ(fixes.size(), 9u);
}

TEST(CheckNetHealthTest, CallsInitWithoutDetectAddressNotConfigured) {
  TestCluster cluster;
  DeviceFacts& device = cluster.device(0, 3);
  device.mutable_net_health()->set_value(NET_HEALTH_INIT);
  device.mutable_detect_address()->set_value("0.0.0.0");
  const RuleResult result = cluster.Check("net-health");
  EXPECT_THAT(Lines(result),
              HasSubstr("[detect-address] init-without-detect-address "
                        "command=-netdetect -s address 192.168.103.254"));
  EXPECT_EQ(Brief(result.findings(0)),
            "init-without-detect-address command=-netdetect -s address "
            "192.168.103.254");
}

TEST(CheckNetHealthTest, BlamesTheAddressOfInitWhereNoneIsSet) {
  TestCluster cluster;
  DeviceFacts& device = cluster.device(0, 3);
  device.mutable_address()->mutable_value()->clear_settings();
  device.mutable_gateway()->set_value("");
  device.mutable_detect_address()->set_value("");
  device.mutable_net_health()->set_value(NET_HEALTH_INIT);
  EXPECT_EQ(cluster.Check("net-health").findings(0).caused_by(),
            "device-ip-set");
  EXPECT_EQ(cluster.Check("device-ip-set").state(), FAIL);
  EXPECT_THAT(cluster.Check("detect-address").summary(),
              HasSubstr("15 of 16 devices"));
}

TEST(CheckNetHealthTest, WarnsOfInitWhereNobodyPlansADetectAddress) {
  TestCluster cluster;
  DeviceFacts& device = cluster.device(0, 3);
  device.mutable_net_health()->set_value(NET_HEALTH_INIT);
  device.mutable_detect_address()->set_value("0.0.0.0");
  cluster.spec.mutable_servers(0)->mutable_devices(3)->clear_detect_address();
  const RuleResult result = cluster.Check("net-health");
  EXPECT_EQ(result.state(), WARN) << Lines(result);
  EXPECT_EQ(result.findings(0).caused_by(), "detect-address");
}

TEST(CheckNetHealthTest, IsUnknownForInitWithADetectAddressThatIsNotKnown) {
  TestCluster cluster;
  DeviceFacts& device = cluster.device(0, 3);
  device.mutable_net_health()->set_value(NET_HEALTH_INIT);
  SetMissing(Missing::TOOL_FAILED, "a word", device.mutable_detect_address());
  EXPECT_EQ(cluster.Check("net-health").state(), UNKNOWN);
}

TEST(CheckNetHealthTest, DoesNotClaimThatWhenADetectAddressIsSet) {
  TestCluster cluster;
  cluster.device(0, 3).mutable_net_health()->set_value(NET_HEALTH_INIT);
  const RuleResult result = cluster.Check("net-health");
  EXPECT_EQ(result.findings(0).caused_by(), "");
  EXPECT_THAT(Brief(result.findings(0)), HasSubstr("init"));
}

TEST(CheckNetHealthTest, IsUnknownWithoutAnAnswer) {
  TestCluster cluster;
  cluster.device(0, 3).clear_net_health();
  EXPECT_EQ(cluster.Check("net-health").state(), UNKNOWN);
}

TEST(CheckLldpTest, FailsForSilenceOnALinkThatIsUp) {
  TestCluster cluster;
  cluster.device(0, 3).mutable_lldp()->mutable_value()->set_heard(false);
  const RuleResult result = cluster.Check("lldp");
  EXPECT_EQ(result.state(), FAIL);
  EXPECT_THAT(Lines(result), HasSubstr("FAIL server0:3 not-heard"));
}

TEST(CheckLldpTest, IsSkippedForDevicesWhoseLinkIsDown) {
  TestCluster cluster;
  cluster.device(0, 3).mutable_lldp()->mutable_value()->set_heard(false);
  cluster.device(0, 3).mutable_link()->set_value(LinkFact::DOWN);
  const RuleResult result = cluster.Check("lldp");
  EXPECT_EQ(result.state(), PASS);
  EXPECT_EQ(result.summary(), "15 of 16 devices on 2 hosts");
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(result.findings(0).state(), SKIPPED);
  EXPECT_EQ(result.findings(0).caused_by(), "link");
}

TEST(CheckLldpTest, IsSkippedWhenEveryLinkIsDown) {
  TestCluster cluster;
  for (HostFacts& host : cluster.facts) {
    for (DeviceFacts& device : *host.mutable_devices()) {
      device.mutable_lldp()->mutable_value()->set_heard(false);
      device.mutable_link()->set_value(LinkFact::DOWN);
    }
  }
  const RuleResult result = cluster.Check("lldp");
  EXPECT_EQ(result.state(), SKIPPED);
  EXPECT_EQ(result.skip_reason(), "the link is DOWN");
}

TEST(CheckLldpTest, IsUnknownWhenSilenceCannotBeExplained) {
  TestCluster cluster;
  cluster.device(0, 3).mutable_lldp()->mutable_value()->set_heard(false);
  cluster.device(0, 3).clear_link();
  cluster.device(1, 3).clear_lldp();
  const RuleResult result = cluster.Check("lldp");
  EXPECT_EQ(result.state(), UNKNOWN);
  EXPECT_EQ(result.findings_size(), 2);
}

TEST(CheckLldpTest, AcceptsACableFromDeviceToDevice) {
  TestCluster cluster;
  cluster.device(0, 3).mutable_lldp()->mutable_value()->set_peer(
      LldpNeighbour::NPU);
  EXPECT_EQ(cluster.Check("lldp").state(), PASS);
}

}  // namespace
}  // namespace clusterd
