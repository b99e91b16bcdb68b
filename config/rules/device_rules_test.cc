#include <set>

#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::StartsWith;

// The report of a host without the tool: nothing is known of any device.
void RemoveTool(HostFacts* host) {
  SetMissing(Missing::ABSENT, "/usr/bin/hccn_tool",
             host->mutable_hccn_tool()->mutable_path());
  host->mutable_hccn_tool()->clear_generation();
  for (DeviceFacts& device : *host->mutable_devices()) {
    const auto remove = [&device](auto*... facts) {
      const std::string detail = absl::StrCat("hccn_tool -i ", device.id());
      (SetMissing(Missing::ABSENT, detail, facts), ...);
    };
    remove(device.mutable_address(), device.mutable_gateway(),
           device.mutable_detect_address(), device.mutable_net_health(),
           device.mutable_link(), device.mutable_lldp(), device.mutable_mtu(),
           device.mutable_tls());
  }
}

TEST(CheckHccnToolTest, CostsEveryDependentRuleOneUnknown) {
  TestCluster cluster;
  RemoveTool(&cluster.facts[1]);
  const RuleResult tool = cluster.Check("hccn-tool");
  EXPECT_EQ(Lines(tool),
            "UNKNOWN server1 not-known what=hccn_tool, reason=does not exist: "
            "/usr/bin/hccn_tool, how-to-learn=" +
                Say("learn-absent") + "\n");
  EXPECT_EQ(JudgedCount(tool), 1);
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
  // The same without ids.
  cluster.facts[1].clear_devices();
  SetMissing(Missing::ABSENT, "", cluster.facts[1].mutable_device_ids());
  EXPECT_EQ(Lines(cluster.Check("link")),
            "UNKNOWN server1 [hccn-tool] no-device-asked\n");
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
  EXPECT_THAT(Brief(result.findings(0)),
              HasSubstr("silent tool=/usr/local/Ascend/driver/tools/hccn_tool, "
                        "why=does not exist: hccn_tool -i 0, how-to-learn=" +
                        Say("learn-absent")));
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
                        "in 10s (deadlines.command), how-to-learn=" +
                        Say("learn-timed-out")));
  EXPECT_THAT(
      lines,
      HasSubstr("UNKNOWN server1:4 no-answer why=busy: 5 times, how-to-learn=" +
                Say("learn-busy")));
  EXPECT_EQ(cluster.Check("lldp").findings(0).caused_by(), "hccn-tool");
  EXPECT_EQ(cluster.Check("mtu-uniform").findings(0).caused_by(), "hccn-tool");
  EXPECT_EQ(cluster.Check("link").state(), PASS);
  // After that link was not asked.
  SetMissing(Missing::TIMED_OUT, "not asked after that",
             cluster.device(0, 3).mutable_link());
  EXPECT_EQ(cluster.Check("link").findings(0).caused_by(), "hccn-tool");
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
  EXPECT_THAT(Brief(result.findings(0)),
              HasSubstr("silent tool=/usr/local/Ascend/driver/tools/hccn_tool, "
                        "why=not understood: `hccn_tool -i 0 -ip -g`: status 0 "
                        "without a word, how-to-learn=" +
                        Say("learn-unreadable")));
  EXPECT_THAT(
      cluster.Check("lldp"),
      Finds(StartsWith(
          "UNKNOWN server0:0-7 [hccn-tool] no-tool what=LLDP neighbour")));
}

TEST(CheckHccnToolTest, IsTheCauseForADeviceOfWhichNothingCanBeRead) {
  TestCluster cluster;
  cluster.Mute(0, 3, Missing::UNREADABLE, "unexpected \"0xdeadbeef\"");
  EXPECT_THAT(
      cluster.Check("hccn-tool"),
      Finds(StartsWith(
          "UNKNOWN server0:3 not-readable why=not understood: `hccn_tool -i 3 "
          "-ip -g`: unexpected \"0xdeadbeef\", how-to-learn=" +
          Say("learn-unreadable"))));
  EXPECT_THAT(cluster.Check("link"),
              Finds(StartsWith(
                  "UNKNOWN server0:3 [hccn-tool] tool-unreadable what=link")));
}

TEST(CheckHccnToolTest, IsNotTheCauseOfWhatClusterdChoseNotToAsk) {
  TestCluster cluster;
  cluster.Mute(0, 3, Missing::TIMED_OUT, "no answer in 2s");
  SetMissing(Missing::NOT_QUERIED, "it cannot be given a copy",
             cluster.device(0, 3).mutable_tls());
  EXPECT_THAT(cluster.Check("tls-uniform"),
              Finds(StartsWith("UNKNOWN server0:3 not-asked why=not queried: "
                               "it cannot be given a copy")));
}

TEST(CheckTlsCertificatesTest, FailsForAnExpiredOneWhereTlsIsOn) {
  TestCluster cluster;
  TlsFact::Switch* tls = cluster.device(0, 3).mutable_tls()->mutable_value();
  EXPECT_EQ(cluster.Check("tls-certificates").state(), PASS);
  TlsCertificate* certificate = tls->mutable_certificates(0);
  certificate->set_name("subca1");
  certificate->set_ends("Mon Feb 19 03:19:21 2024");
  certificate->set_status(TlsCertificate::EXPIRED);
  EXPECT_THAT(cluster.Check("tls-certificates"),
              Finds(StartsWith("WARN server0:3 expired-unused names=subca1, "
                               "ends=Mon Feb 19 03:19:21 2024")));
  tls->set_enabled(true);
  EXPECT_EQ(cluster.Check("tls-certificates").state(), FAIL);
  certificate->set_status(TlsCertificate::ENDS_SOON);
  EXPECT_EQ(cluster.Check("tls-certificates").state(), WARN);
  tls->set_enabled(false);
  EXPECT_EQ(cluster.Check("tls-certificates").state(), PASS);
}

TEST(CheckHccnToolTest, IsUnknownForAnotherGeneration) {
  TestCluster cluster;
  cluster.Set(0, "hccn_tool {generation: ASCEND_950}");
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
  EXPECT_THAT(cluster.Check("device-count"),
              FindsOne("server1:7",
                       "missing found=0-6, in-source= in /dev/davinci*, "
                       "expected=0-7, lacking=7, extra=none"));
  EXPECT_EQ(JudgedCount(cluster.Check("link")), 15);
}

TEST(CheckDeviceCountTest, NamesDevicesThatNobodyExpects) {
  TestCluster cluster;
  cluster.facts[0].mutable_device_ids()->mutable_value()->add_ids(12);
  EXPECT_THAT(cluster.Check("device-count"),
              Finds("FAIL server0:12 extra found=0-7,12, in-source= in "
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
  EXPECT_THAT(cluster.Check("device-count"),
              Finds("npu-ids found=0-1, in-source= in /dev/davinci*, "
                    "expected=1,4, lacking=4, extra=none, mistaken=" +
                    Say("npu-ids-planned", "1,4")));
  TestCluster box("atlas-a2", "", 1);
  ids = box.facts[0].mutable_device_ids()->mutable_value();
  ids->clear_ids();
  for (const uint32_t npu : {10, 12, 14, 16}) {
    ids->add_ids(npu);
    ids->add_npu_ids(npu);
  }
  const std::string mistaken =
      ", mistaken=" + Say("npu-ids-found", "10,12,14,16");
  EXPECT_THAT(box.Check("device-count"),
              Finds("npu-ids found=10,12,14,16, in-source= in /dev/davinci*, "
                    "expected=0-7, lacking=0-7, extra=10,12,14,16" +
                    mistaken));
  box.facts[0].mutable_in_container()->set_value(true);
  EXPECT_THAT(box.Check("container-mounts"),
              Finds("lacks-npu-ids lacking=/dev/davinci0, ",
                    ", /dev/davinci7" + mistaken));
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
  EXPECT_EQ(JudgedCount(cluster.Check("link")), 8);
  // One is broken, one dead, one in the subnet of another.
  cluster.Set(0, 5, R"(
      link {value: DOWN} lldp {value {heard: false}}
      net_health {value: NET_HEALTH_FAULT} gateway {value: "10.9.9.9"}
      mtu {value: 9000} recovery {value: FAIL})");
  cluster.Mute(0, 6, Missing::TOOL_FAILED, "The device is not exist!");
  cluster.SetAddress(1, 7, "192.168.100.77", "255.255.0.0");
  const Report report = cluster.MakeReport();
  for (const RuleResult& result : report.rules()) {
    EXPECT_TRUE(result.state() == PASS || result.state() == SKIPPED)
        << Lines(result);
  }
}

TEST(CheckDeviceCountTest, TakesTheToolForWorkingWhereOtherDevicesAnswer) {
  TestCluster cluster = FourOfEight();
  for (int i = 0; i < 4; ++i) {
    cluster.Mute(0, i, Missing::TOOL_FAILED, "The device is not exist!");
  }
  EXPECT_EQ(cluster.Check("hccn-tool").state(), PASS);
  EXPECT_THAT(cluster.Check("device-count"),
              Finds(StartsWith("FAIL server0:0 dead why=the tool failed: ")));
}

TEST(CheckDeviceCountTest, LetsHostsHaveDevicesOfTheirOwn) {
  TestCluster cluster("atlas-a2");
  cluster.spec.mutable_servers(1)->mutable_devices()->DeleteSubrange(0, 6);
  EXPECT_EQ(cluster.MakeReport().verdict(), PASS);
  EXPECT_EQ(JudgedCount(cluster.Check("link")), 10);
  cluster.facts[1].mutable_device_ids()->mutable_value()->clear_ids();
  cluster.facts[1].mutable_devices()->DeleteSubrange(6, 1);
  EXPECT_THAT(cluster.Check("device-count"),
              Finds(StartsWith(
                  "FAIL server1:6-7 missing found=none, in-source= in "
                  "/dev/davinci*, expected=6-7, lacking=6-7, extra=none")));
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

TEST(CheckDeviceCountTest, TakesIdsFromTheSpecAndThenFromTheProduct) {
  TestCluster cluster("atlas-300t");
  EXPECT_EQ(cluster.Check("device-count").state(), PASS);
  cluster.facts[0].mutable_device_ids()->mutable_value()->set_ids(0, 0);
  EXPECT_THAT(cluster.Check("device-count"),
              Finds("missing found=0,4, in-source= in /dev/davinci*, "
                    "expected=1,4, lacking=1, extra=none"));
  TestCluster product;
  for (int host : {0, 1}) {
    cluster.spec.mutable_servers(host)->clear_devices();
    product.spec.mutable_servers(host)->clear_devices();
  }
  EXPECT_EQ(cluster.Check("device-count").state(), SKIPPED);
  EXPECT_EQ(product.Check("device-count").state(), PASS);
  product.facts[0].mutable_device_ids()->mutable_value()->clear_ids();
  EXPECT_EQ(product.Check("device-count").state(), FAIL);
}

TEST(CheckDeviceCountTest, FailsForADeadDeviceThatIsExpected) {
  TestCluster cluster;
  cluster.Mute(0, 3, Missing::TOOL_FAILED, "The device is not exist!");
  EXPECT_EQ(Lines(cluster.Check("device-count")),
            "FAIL server0:3 dead why=the tool failed: `hccn_tool -i 3 -ip -g`: "
            "The device is not exist!, how-to-learn=" +
                Say("learn-from-tool-log") + "\n");
  EXPECT_EQ(cluster.Check("hccn-tool").state(), PASS);
  EXPECT_EQ(Lines(cluster.Check("link")),
            "UNKNOWN server0:3 [device-count] dead-device what=link\n");
  TestCluster other("atlas-300t");
  for (int host : {0, 1}) other.spec.mutable_servers(host)->clear_devices();
  other.Mute(0, 1, Missing::TOOL_FAILED, "The device is not exist!");
  EXPECT_EQ(other.Check("device-count").state(), UNKNOWN);
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

TEST(CheckDeviceCountTest, LeavesOtherRulesUnknownOnAHostWithoutDevices) {
  TestCluster cluster;
  cluster.facts[0].mutable_device_ids()->mutable_value()->clear_ids();
  cluster.facts[0].clear_devices();
  EXPECT_THAT(cluster.Check("device-count"),
              Finds(StartsWith("FAIL server0:0-7 ")));
  const RuleResult link = cluster.Check("link");
  EXPECT_EQ(link.state(), UNKNOWN);
  EXPECT_EQ(link.findings(0).caused_by(), "device-count");
  cluster.Set(0, "device_ids {missing {reason: NOT_PERMITTED detail: '/dev'}}");
  EXPECT_EQ(cluster.Check("device-count").state(), UNKNOWN);
}

TEST(CheckLinkTest, FailsForTheDevicesThatAreDown) {
  TestCluster cluster;
  cluster.Set(0, 3, "link {value: DOWN}").Set(1, 3, "link {value: DOWN}");
  const RuleResult result = cluster.Check("link");
  EXPECT_EQ(Lines(result), "FAIL server0:3 server1:3 down\n");
  EXPECT_THAT(result.why(), HasSubstr("EI0009"));
}

TEST(CheckLinkTest, IsUnknownWithoutAnAnswer) {
  TestCluster cluster;
  SetMissing(Missing::TOOL_FAILED, "\"Command execute failed!\"",
             cluster.device(0, 3).mutable_link());
  EXPECT_EQ(Lines(cluster.Check("link")),
            "UNKNOWN server0:3 not-known what=link, reason=the tool failed: "
            "\"Command execute failed!\", how-to-learn=" +
                Say("learn-tool-failed") + "\n");
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
  const RuleResult set = cluster.Check("net-health");
  EXPECT_EQ(set.findings(0).caused_by(), "");
  EXPECT_EQ(set.findings(0).finding(), "init");
  device.mutable_detect_address()->set_value("0.0.0.0");
  EXPECT_EQ(Lines(cluster.Check("net-health")),
            "FAIL server0:3 [detect-address] init-without-detect-address "
            "command=-netdetect -s address 192.168.103.254\n");
  // Nobody plans one.
  cluster.spec.mutable_servers(0)->mutable_devices(3)->clear_detect_address();
  EXPECT_THAT(cluster.Check("net-health"),
              Finds(StartsWith("WARN server0:3 [detect-address] ")));
  SetMissing(Missing::TOOL_FAILED, "a word", device.mutable_detect_address());
  EXPECT_EQ(cluster.Check("net-health").state(), UNKNOWN);
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
  EXPECT_EQ(JudgedCount(cluster.Check("detect-address")), 15);
}

TEST(CheckLldpTest, FailsForSilenceOnALinkThatIsUp) {
  TestCluster cluster;
  // A cable from device to device.
  cluster.Set(1, 4, "lldp {value {peer: NPU}}");
  EXPECT_EQ(cluster.Check("lldp").state(), PASS);
  cluster.device(0, 3).mutable_lldp()->mutable_value()->set_heard(false);
  EXPECT_THAT(cluster.Check("lldp"), Fails("FAIL server0:3 not-heard"));
  cluster.device(0, 3).mutable_link()->set_value(LinkFact::DOWN);
  const RuleResult result = cluster.Check("lldp");
  EXPECT_EQ(result.state(), PASS);
  EXPECT_EQ(JudgedCount(result), 15);
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(result.findings(0).state(), SKIPPED);
  EXPECT_EQ(result.findings(0).caused_by(), "link");
  cluster.ForEachDevice([](DeviceFacts& device) {
    device.mutable_lldp()->mutable_value()->set_heard(false);
    device.mutable_link()->set_value(LinkFact::DOWN);
  });
  const RuleResult all = cluster.Check("lldp");
  EXPECT_EQ(all.state(), SKIPPED);
  EXPECT_EQ(all.skip_reason(), "the link is DOWN");
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

}  // namespace
}  // namespace clusterd
