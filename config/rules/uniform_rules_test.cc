#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not, ::testing::StartsWith;

TEST(CheckNetmaskUniformTest, NamesTheWiderMaskThatSwallowsTheOthers) {
  TestCluster cluster;
  cluster.SetAddress(0, 3, "192.168.103.1", "255.255.0.0");
  EXPECT_EQ(Lines(cluster.Check("netmask-uniform")),
            "FAIL server0:3 [device-ip-planned] another netmask=255.255.0.0, "
            "address=192.168.103.1, right=255.255.255.0, others=15 other "
            "devices, subnet=192.168.0.0/16, command=-ip -s address "
            "192.168.103.1 netmask 255.255.255.0\n");
  // The live address is kept where none is planned.
  cluster.SetAddress(0, 3, "192.168.103.9", "255.255.0.0");
  cluster.PlanAddress(0, 3, "", "");
  EXPECT_THAT(cluster.Check("netmask-uniform"),
              Finds("address 192.168.103.9 netmask 255.255.255.0"));
  // Subnets that are apart may have different masks.
  cluster.SetAddress(0, 3, "10.0.0.1", "255.255.0.0");
  EXPECT_EQ(cluster.Check("netmask-uniform").state(), PASS);
}

TEST(CheckNetmaskUniformTest, NamesTheNarrowerMaskInside) {
  TestCluster cluster;
  cluster.SetAddress(1, 6, "192.168.102.4", "255.255.255.128");
  EXPECT_THAT(cluster.Check("netmask-uniform"),
              FindsOne("server1:6", testing::_));
  // The plan decides between two.
  TestCluster two("atlas-300t", "", 1);
  two.SetAddress(0, 0, "10.0.0.1", "255.255.255.128");
  EXPECT_EQ(Who(two.Check("netmask-uniform").findings(0)), "server0:1");
}

void SetTls(bool enabled, DeviceFacts* device) {
  device->mutable_tls()->mutable_value()->set_enabled(enabled);
}

TEST(CheckTlsUniformTest, NamesTheMinorityAcrossHosts) {
  TestCluster cluster;
  SetTls(true, &cluster.device(1, 4));
  EXPECT_EQ(Lines(cluster.Check("tls-uniform")),
            "FAIL server1:4 other switch=on, wanted=off, right=0, others=15 "
            "other devices\n");
  cluster.ForEachDevice([](DeviceFacts& device) { SetTls(true, &device); });
  EXPECT_EQ(cluster.Check("tls-uniform").state(), PASS);
  TestCluster three("atlas-training", "", 3);
  for (int i = 0; i < 8; ++i) SetTls(true, &three.device(1, i));
  EXPECT_EQ(Lines(three.Check("tls-uniform")),
            "FAIL server1:0-7 other switch=on, wanted=off, right=0, others=16 "
            "other devices\n");
}

TEST(CheckTlsUniformTest, FollowsTheSpecThenTheDeviceAndThenTheFile) {
  const struct {
    const char* name;
    bool planned;
    const char* tls;  // Of one device.
    const char* lines;
  } kCases[] = {
      {"the spec decides", true, "",
       "FAIL server0:0-7 server1:0-7 unlike-spec switch=off, wanted=on, "
       "right=1, others=0 other devices\n"},
      {"the file agrees", false, "in_file: '0'", ""},
      {"the file has another switch than the device", false, "in_file: '1'",
       "FAIL server1:4 other-in-file switch=off, in-file=\"1\", right=0\n"},
      {"the device is believed where the file says otherwise", false,
       "enabled: true in_file: '0'",
       "FAIL server1:4 unlike-spec switch=on, wanted=off, right=0, others=15 "
       "other devices\n"}};
  for (const auto& each : kCases) {
    TestCluster cluster;
    cluster.spec.set_tls(each.planned);
    cluster.Set(1, 4, absl::StrCat("tls {value {", each.tls, "}}"));
    EXPECT_EQ(Lines(cluster.Check("tls-uniform")), each.lines) << each.name;
  }
}

// Every device reports "on", whatever the spec says.
TEST(CheckTlsUniformTest, ComparesTheNumberInTheFileAlsoWithoutTlsInTheSpec) {
  TestCluster cluster;
  cluster.ForEachDevice([](DeviceFacts& device) { SetTls(true, &device); });
  TlsFact::Switch* tls = cluster.device(1, 4).mutable_tls()->mutable_value();
  for (const char* on : {"1", "01", "+1", " 1"}) {
    tls->set_in_file(on);
    EXPECT_EQ(cluster.Check("tls-uniform").state(), PASS) << on;
  }
  for (const char* other : {"0", "00", "10", "x"}) {
    tls->set_in_file(other);
    EXPECT_EQ(Lines(cluster.Check("tls-uniform")),
              absl::StrCat("FAIL server1:4 other-in-file switch=on, in-file=\"",
                           other, "\", right=1\n"))
        << other;
  }
}

TEST(CheckTlsUniformTest, FoldsDevicesThatCannotBeAskedOverACopy) {
  TestCluster cluster;
  for (int i = 0; i < 8; ++i) {
    SetMissing(Missing::NOT_QUERIED, "it cannot be given a copy",
               cluster.device(0, i).mutable_tls());
  }
  EXPECT_THAT(cluster.Check("tls-uniform"),
              Finds(StartsWith("UNKNOWN server0:0-7 not-asked why=not queried: "
                               "it cannot be given a copy")));
  EXPECT_EQ(cluster.Check("tls-uniform").findings_size(), 1);
}

TEST(CheckTlsUniformTest, TakesTheToolsWordWhereNoFileHasTheKey) {
  TestCluster cluster;
  cluster.ForEachDevice([](DeviceFacts& device) {
    SetTls(false, &device);
    TlsFact::Switch* tls = device.mutable_tls()->mutable_value();
    tls->set_source("hccn_tool -tls -g");
    tls->clear_in_file();
  });
  EXPECT_EQ(cluster.Check("tls-uniform").state(), PASS);
  SetTls(true, &cluster.device(1, 4));
  EXPECT_EQ(cluster.Check("tls-uniform").state(), FAIL);
}

TEST(CheckTlsUniformTest, BlamesTheToolAndNotTheFileThatTellsTheSwitch) {
  for (const auto& [reason, finding] :
       {std::pair(Missing::TIMED_OUT, "tool-silent"),
        std::pair(Missing::UNREADABLE, "tool-unreadable")}) {
    TestCluster cluster;
    cluster.spec.set_tls(false);
    cluster.Mute(0, 3, reason, "no answer in 2s");
    SetMissing(reason, "not asked after that",
               cluster.device(0, 3).mutable_tls());
    EXPECT_THAT(cluster.Check("tls-uniform"),
                Finds(StartsWith(absl::StrCat("UNKNOWN server0:3 [hccn-tool] ",
                                              finding, " what=TLS switch"))));
  }
}

TEST(CheckTlsUniformTest, QuotesASwitchThatIsNone) {
  TestCluster cluster;
  SetMissing(Missing::UNREADABLE, "tls_enable_3 is \"x\"",
             cluster.device(0, 3).mutable_tls());
  EXPECT_THAT(cluster.Check("tls-uniform"),
              Finds("UNKNOWN server0:3 unreadable why=not understood: "
                    "tls_enable_3 is \"x\""));
}

TEST(CheckTlsUniformTest, NamesTheFileAsCauseWhereItsRepairTellsTheSwitch) {
  TestCluster cluster;
  SetMissing(Missing::UNREADABLE, "tls_enable_3 is \"1\\r\"",
             cluster.device(0, 3).mutable_tls());
  HccnConf* conf = cluster.facts[0].mutable_hccn_conf()->mutable_value();
  conf->clear_entries();
  HccnConf::Entry* entry = conf->add_entries();
  MergeText(R"(key: 'tls_enable' device: 3 value: '1\\r')", entry);
  EXPECT_EQ(cluster.Check("tls-uniform").findings(0).caused_by(), "");
  conf->add_problems()->set_kind(HccnConf::Problem::CARRIAGE_RETURN);
  EXPECT_EQ(cluster.Check("tls-uniform").findings(0).caused_by(), "hccn-conf");
  entry->set_value("x\\r");
  EXPECT_EQ(cluster.Check("tls-uniform").findings(0).caused_by(), "");
}

TEST(CheckMtuUniformTest, WarnsOfTheMinorityOfARail) {
  TestCluster cluster("atlas-training", "", 3);
  EXPECT_EQ(Lines(cluster.Set(2, 4, "mtu {value: 9000}").Check("mtu-uniform")),
            "WARN server2:4 other mtu=9000, right=1500, device=4, others=2 "
            "other hosts\n");
  // Rails may differ.
  for (const int host : {0, 1}) {
    cluster.device(host, 4).mutable_mtu()->set_value(9000);
  }
  EXPECT_EQ(cluster.Check("mtu-uniform").state(), PASS);
  EXPECT_THAT(cluster.SetSpec("mtu: 4200").Check("mtu-uniform"),
              Fails("unlike-spec mtu=1500, right=4200"));
}

TEST(CheckVersionUniformTest, GroupsByValueSmallestFirst) {
  TestCluster cluster("atlas-a2", "", 6);
  const auto driver = [&](int host) {
    return cluster.facts[host].mutable_versions()->mutable_driver();
  };
  driver(1)->set_value("23.0.rc2");
  driver(3)->set_value("23.0.rc2");
  driver(5)->set_value("22.0.4");
  EXPECT_EQ(
      Lines(cluster.Check("version-uniform")),
      "WARN server5 mixed what=driver, version=22.0.4, hosts=1 host, "
      "right=24.1.rc1, others=3 hosts\nWARN server1 server3 mixed what=driver, "
      "version=23.0.rc2, hosts=2 hosts, right=24.1.rc1, others=3 hosts\n");
}

TEST(CheckVersionUniformTest, OneAgainstOneIsNoMajority) {
  TestCluster cluster;
  cluster.facts[1].mutable_versions()->mutable_driver()->set_value("23.0.7");
  EXPECT_EQ(Lines(cluster.Check("version-uniform")),
            "WARN server0 tied what=driver, version=24.1.rc1, hosts=1 host, "
            "expects=" +
                Say("no-majority", "23.0.7 (1 host)") +
                "\nWARN server1 tied what=driver, version=23.0.7, hosts=1 "
                "host, expects=" +
                Say("no-majority", "24.1.rc1 (1 host)") + "\n");
}

TEST(CheckVersionUniformTest, WarnsOfAnotherKernelFirmwareOrCann) {
  TestCluster cluster("atlas-a2", "", 3);
  cluster.Set(2, "identity {kernel_release {value: '5.10.0-318'}}");
  EXPECT_EQ(Lines(cluster.Check("version-uniform")),
            "WARN server2 mixed what=kernel, version=5.10.0-318, hosts=1 host, "
            "right=5.10.0, others=2 hosts\n");
  cluster.Set(1, "versions {firmware {value: '1.8'} cann {value: '8.0.0'}}");
  EXPECT_THAT(cluster.Check("version-uniform"),
              Finds("WARN server1 mixed what=CANN, version=8.0.0, hosts=1 "
                    "host, right=8.2.RC1, others=2 hosts\n"));
  EXPECT_EQ(cluster.Check("version-uniform").findings_size(), 3);
}

TEST(CheckVersionUniformTest, FailsForAnotherSeriesThanTheProducts) {
  TestCluster cluster;
  cluster.SetHosts("identity {npu_series {value: 'A2 x 8'}}");
  EXPECT_THAT(cluster.Check("version-uniform"),
              Finds("FAIL server0 server1 other-series series=\"A2 x 8\", "
                    "expected=A1, product=Atlas training series (SMP)"));
  TestCluster mixed;
  mixed.Set(1, "identity {npu_series {value: 'A1 x 7, A2 x 1'}}");
  EXPECT_EQ(mixed.Check("version-uniform").state(), FAIL);
}

TEST(CheckVersionUniformTest, FailsForMixedSeriesWhereTheProductNamesNone) {
  TestCluster cluster("atlas-300t", "", 3);
  cluster.facts[2].mutable_identity()->mutable_npu_series()->set_value("A2");
  EXPECT_THAT(cluster.Check("version-uniform"),
              Finds("FAIL server2 mixed-series what=NPU series, version=A2, "
                    "hosts=1 host, right=A1, others=2 hosts"));
}

TEST(CheckVersionUniformTest, NotesAHostWhoseCannLivesInContainers) {
  TestCluster cluster("atlas-a2", "", 3);
  SetMissing(Missing::ABSENT, "no file",
             cluster.facts[1].mutable_versions()->mutable_cann());
  const RuleResult result = cluster.Check("version-uniform");
  EXPECT_EQ(result.state(), PASS) << Lines(result);
  EXPECT_EQ(result.summary(),
            "3 hosts; " + Say("not-compared-on", "CANN", Counted(1, "host"),
                              "does not exist: no file"));
}

TEST(CheckVersionUniformTest, NotesASeriesThatNobodyPublished) {
  for (const char* product : {"ascend-950", "atlas-a2"}) {
    TestCluster cluster(product, "", 2);
    for (HostFacts& host : cluster.facts) {
      SetMissing(Missing::ABSENT, "no PCI id",
                 host.mutable_identity()->mutable_npu_series());
    }
    const RuleResult result = cluster.Check("version-uniform");
    // The A2's id is published, and so it should be there.
    const bool published = product == std::string("atlas-a2");
    EXPECT_EQ(result.state(), published ? UNKNOWN : PASS) << Lines(result);
    const std::string note =
        Say("not-compared-on", "NPU series", Counted(2, "host"), "");
    EXPECT_EQ(absl::StrContains(result.summary(), note), !published)
        << result.summary();
  }
}

TEST(CheckVersionUniformTest, LetsAllHostsBeWithoutCannAndSaysSo) {
  for (const auto reason : {Missing::ABSENT, Missing::NOT_QUERIED}) {
    TestCluster cluster;
    for (HostFacts& host : cluster.facts) {
      SetMissing(reason, "place not known",
                 host.mutable_versions()->mutable_cann());
    }
    const RuleResult result = cluster.Check("version-uniform");
    EXPECT_EQ(result.state(), PASS);
    if (reason == Missing::ABSENT) continue;
    EXPECT_EQ(result.summary(),
              "2 hosts; " + Say("not-compared-on", "CANN", Counted(2, "host"),
                                "not queried: place not known"));
  }
}

TEST(CheckVersionUniformTest, IsUnknownWithoutAVersion) {
  TestCluster cluster;
  SetMissing(Missing::ABSENT, "version.info",
             cluster.facts[1].mutable_versions()->mutable_driver());
  const RuleResult result = cluster.Check("version-uniform");
  EXPECT_THAT(result, IsUnknown("not-known what=driver, reason=does not exist: "
                                "version.info, how-to-learn=" +
                                Say("learn-absent")));
  EXPECT_EQ(JudgedCount(result), 1);
  cluster.Set(1, "versions {driver {missing {reason: NOT_QUERIED}}}");
  EXPECT_EQ(cluster.Check("version-uniform").state(), UNKNOWN);
  EXPECT_EQ(TestCluster("atlas-300t", "", 1).Check("version-uniform").state(),
            SKIPPED);
}

// A spec that names neither ports nor backlogs.
constexpr char kSilentSpec[] =
    "hccl {base_port_auto: true port_count_auto: true} "
    "kernel {somaxconn_auto: true tcp_max_syn_backlog_auto: true}";

TestCluster SilentCluster() {
  return TestCluster("atlas-training", "", 4).SetSpec(kSilentSpec);
}

TEST(CheckRootsUniformTest, FailsForARootThatTheControllerDoesNotHave) {
  TestCluster cluster("atlas-training", "", 4);
  EXPECT_EQ(cluster.Check("roots-uniform").state(), PASS);
  const std::string good = cluster.facts[2].roots().value().hashes(0);
  cluster.facts[2].mutable_roots()->mutable_value()->add_hashes("sha256:bad");
  EXPECT_THAT(cluster.Check("roots-uniform"),
              Finds(StartsWith("FAIL server2 more roots=" + good +
                               " sha256:bad, right=" + good +
                               ", who=the controller\n")));
  // Also if all hosts have it: the controller was cleaned, they were not.
  for (HostFacts& host : cluster.facts) {
    *host.mutable_roots() = cluster.facts[2].roots();
  }
  const RuleResult all = cluster.Check("roots-uniform");
  EXPECT_EQ(all.state(), FAIL);
  EXPECT_EQ(all.findings(0).subjects_size(), 4);
  TestCluster unknown("atlas-training", "", 3);
  unknown.facts[1].clear_roots();
  EXPECT_EQ(unknown.Check("roots-uniform").state(), UNKNOWN);
  EXPECT_EQ(JudgedCount(unknown.Check("roots-uniform")), 2);
}

TEST(CheckRootsUniformTest, ComparesHostsIfNoControllerSentItsRoots) {
  TestCluster cluster("atlas-training", "", 4);
  for (HostFacts& host : cluster.facts) host.clear_controller_roots();
  EXPECT_EQ(cluster.Check("roots-uniform").state(), PASS);
  cluster.facts[2].mutable_roots()->mutable_value()->set_hashes(0, "\x1b");
  EXPECT_THAT(
      cluster.Check("roots-uniform"),
      Finds(StartsWith(absl::StrCat("FAIL server2 more roots=\\x1b, right=",
                                    cluster.facts[0].roots().value().hashes(0),
                                    ", who=most hosts"))));
  TestCluster alone("atlas-training", "", 1);
  alone.facts[0].clear_controller_roots();
  EXPECT_EQ(alone.Check("roots-uniform").state(), SKIPPED);
}

TEST(CheckRootsUniformTest, WarnsWhileABundleIsOnItsWay) {
  TestCluster cluster("atlas-training", "", 2);
  for (HostFacts& host : cluster.facts) {
    host.mutable_controller_roots()->add_hashes("sha256:new");
    host.mutable_controller_roots()->set_bundle(2);
    *host.mutable_roots()->mutable_value() = host.controller_roots();
  }
  EXPECT_EQ(cluster.Check("roots-uniform").state(), PASS);
  RootsFact::Roots* const late =
      cluster.facts[1].mutable_roots()->mutable_value();
  late->set_bundle(1);
  EXPECT_THAT(cluster.Check("roots-uniform"),
              Finds(StartsWith("WARN server1 other-bundle number=1, right=2")));
  late->mutable_hashes()->RemoveLast();
  const std::string kept = late->hashes(0);
  EXPECT_THAT(cluster.Check("roots-uniform"),
              Finds(StartsWith("WARN server1 less roots=" + kept + ", right=" +
                               kept + " sha256:new, who=the controller")));
}

TEST(CheckBacklogUniformTest, NamesTheFewerWhereTheSpecNamesNoNumber) {
  TestCluster cluster = SilentCluster();
  cluster.SetHosts("kernel {somaxconn {value: 4096}}");
  cluster.facts[2].mutable_kernel()->mutable_somaxconn()->set_value(1024);
  EXPECT_EQ(Lines(cluster.Check("backlog-uniform")),
            "WARN server2 mixed what=net.core.somaxconn, value=1024, hosts=1 "
            "host, right=4096, others=3 hosts\n");
}

TEST(CheckBacklogUniformTest, LeavesTheSpecsNumbersToTheirOwnRules) {
  TestCluster cluster = SilentCluster();
  // As good as what HCCL advises.
  cluster.facts[2].mutable_kernel()->mutable_somaxconn()->set_value(100000);
  EXPECT_EQ(cluster.Check("backlog-uniform").state(), PASS);
  cluster.facts[2].mutable_kernel()->mutable_somaxconn()->set_value(100);
  cluster.spec.mutable_kernel()->set_somaxconn_auto(false);
  EXPECT_EQ(cluster.Check("backlog-uniform").state(), PASS);
  cluster.spec.mutable_kernel()->set_tcp_max_syn_backlog_auto(false);
  EXPECT_EQ(cluster.Check("backlog-uniform").state(), SKIPPED);
  TestCluster unknown = SilentCluster();
  unknown.facts[1].mutable_kernel()->clear_tcp_max_syn_backlog();
  EXPECT_EQ(unknown.Check("backlog-uniform").state(), UNKNOWN);
  EXPECT_EQ(JudgedCount(unknown.Check("backlog-uniform")), 3);
}

std::string PortsUniformWith(const std::string& ports) {
  TestCluster cluster = SilentCluster();
  cluster.facts[2].mutable_kernel()->mutable_reserved_ports()->set_value(ports);
  return Lines(cluster.Check("ports-uniform"));
}

TEST(CheckPortsUniformTest, ComparesWhatIsReservedOfTheHcclRange) {
  EXPECT_EQ(PortsUniformWith("8080,60000-60015,60016-60031\n"), "");
  for (const auto& [reserved, ports] :
       {std::pair("8080,60000-60015", "60000-60015"),
        std::pair("50000-50031", "no ports"), std::pair("all", "all")}) {
    EXPECT_EQ(
        PortsUniformWith(reserved),
        absl::StrCat("WARN server2 mixed what=60000-60031, ports=", ports,
                     ", hosts=1 host, right=60000-60031, others=3 hosts\n"));
  }
}

TEST(CheckPortsUniformTest, IsSkippedWhereTheSpecNamesThePorts) {
  TestCluster cluster = SilentCluster();
  cluster.Set(2, "kernel {reserved_ports {value: '8080,60000-60015'}}");
  EXPECT_EQ(cluster.Check("ports-uniform").state(), WARN);
  cluster.spec.mutable_hccl()->set_base_port_auto(false);
  EXPECT_EQ(cluster.Check("ports-uniform").state(), SKIPPED);
  cluster.SetSpec("hccl {base_port_auto: true port_count_auto: false}");
  EXPECT_EQ(cluster.Check("ports-uniform").state(), SKIPPED);
}

TEST(CheckSpeedUniformTest, WarnsOfThePortThatIsSlowerThanItsRail) {
  TestCluster cluster("atlas-a2", "", 3);
  EXPECT_EQ(cluster.Check("speed-uniform").state(), PASS);
  cluster.device(1, 3).mutable_speed_mbps()->set_value(100000);
  EXPECT_EQ(Lines(cluster.Check("speed-uniform")),
            "WARN server1:3 other speed=100000, right=200000, device=3, "
            "others=2 other hosts\n");
  // Rails may differ from each other.
  for (int host = 0; host < 3; ++host) {
    cluster.device(host, 3).mutable_speed_mbps()->set_value(100000);
  }
  EXPECT_EQ(cluster.Check("speed-uniform").state(), PASS);
}

TEST(CheckSpeedUniformTest, CostsNoVerdictWhereTheToolDoesNotTell) {
  TestCluster cluster;
  SetMissing(Missing::NOT_SUPPORTED, "Get invalid major cmd.",
             cluster.device(0, 3).mutable_speed_mbps());
  const RuleResult some = cluster.Check("speed-uniform");
  EXPECT_EQ(some.state(), PASS);
  EXPECT_EQ(JudgedCount(some), 15);
  EXPECT_THAT(some.summary(),
              HasSubstr(Say("no-speed-from", Counted(1, "device"), "")));
  cluster.ForEachDevice([](DeviceFacts& device) {
    SetMissing(Missing::NOT_SUPPORTED, "Get invalid major cmd.",
               device.mutable_speed_mbps());
  });
  const RuleResult none = cluster.Check("speed-uniform");
  EXPECT_EQ(none.state(), SKIPPED);
  EXPECT_THAT(none.skip_reason(), HasSubstr("Get invalid major cmd."));
  EXPECT_EQ(TestCluster("ascend-950").Check("speed-uniform").state(), SKIPPED);
}

TEST(CheckSpeedUniformTest, LeavesAPortWithoutALinkToRuleLink) {
  TestCluster cluster;
  cluster.device(0, 3).mutable_link()->set_value(LinkFact::DOWN);
  SetMissing(Missing::TOOL_FAILED, "Execute failed: Link status is down.",
             cluster.device(0, 3).mutable_speed_mbps());
  EXPECT_EQ(cluster.Check("speed-uniform").state(), PASS);
  cluster.device(0, 3).mutable_link()->set_value(LinkFact::UP);
  EXPECT_EQ(cluster.Check("speed-uniform").state(), UNKNOWN);
}

// A change of some hosts, and the rule that then advises the value of most.
struct Split {
  const char* rule;
  const char* device;  // Of device 3.
  const char* host = "";
  State state = WARN;
  // The advice does not depend on the majority.
  bool advises = false;
};

constexpr Split kSplits[] = {
    {"mtu-uniform", "mtu {value: 9000}"},
    {"speed-uniform", "speed_mbps {value: 25000}"},
    {"lossless", "pfc {value: '0,0,0,1,0,0,0,0'}"},
    {"lossless", "dscp_to_tc {value: '33:1'}"},
    {"lossless", "priority_to_tc {value: '0,0,0,0,1,0,0,0'}"},
    {"lossless", "roce_port {value: '4792'}"},
    {"tls-uniform", "tls {value {enabled: true}}", "", FAIL},
    {"version-uniform", "", "versions {firmware {value: '1.8'}}"},
    {"version-uniform", "", "identity {kernel_release {value: '5.10.9'}}"},
    {"backlog-uniform", "", "kernel {somaxconn {value: 1024}}", WARN, true},
    {"ports-uniform", "", "kernel {reserved_ports {value: '60000-60015'}}",
     WARN, true},
    {"roots-uniform", "", "roots {value {hashes: 'sha256:other'}}", FAIL}};

// The second half of the hosts, or two of five, get the other value.
TestCluster SplitCluster(const Split& split, int servers) {
  TestCluster cluster("atlas-a2", "", servers);
  cluster.SetSpec(kSilentSpec);
  const bool is_tls = split.rule == std::string("tls-uniform");
  for (int host = 0; host < servers; ++host) {
    HostFacts& facts = cluster.facts[host];
    facts.clear_controller_roots();
    if (host < servers - servers / 2) continue;
    if (split.rule == std::string("roots-uniform")) {
      facts.mutable_roots()->mutable_value()->clear_hashes();
    }
    cluster.Set(host, split.host);
    // All devices have one switch, and each rail has its other values.
    for (int i = 0; i < facts.devices_size(); ++i) {
      if (i == 3 || is_tls) cluster.Set(host, i, split.device);
    }
  }
  return cluster;
}

TEST(NoMajorityTest, AsManyAgainstAsManyNameBothAndAdviseNeither) {
  for (const Split& split : kSplits) {
    for (const int servers : {2, 4}) {
      const RuleResult result = SplitCluster(split, servers).Check(split.rule);
      SCOPED_TRACE(Lines(result));
      EXPECT_THAT(result, Gives(split.state, "server0",
                                absl::StrCat("server", servers - 1)))
          << split.rule;
      for (const Finding& finding : result.findings()) {
        EXPECT_EQ(finding.state(), split.state);
        EXPECT_EQ(finding.finding(), split.advises ? "mixed" : "tied");
        EXPECT_EQ(finding.expects().words(), "no-majority");
        EXPECT_EQ(finding.command(), "");
      }
    }
  }
}

TEST(NoMajorityTest, ThreeAgainstTwoAreAMajority) {
  for (const Split& split : kSplits) {
    const RuleResult result = SplitCluster(split, 5).Check(split.rule);
    SCOPED_TRACE(Lines(result));
    EXPECT_EQ(result.state(), split.state) << split.rule;
    for (const Finding& finding : result.findings()) {
      EXPECT_FALSE(finding.has_expects());
    }
    EXPECT_THAT(result, Finds(Not(HasSubstr("server0")), "server4"));
  }
}

TEST(NoMajorityTest, MasksOfAsManyDevicesNameBoth) {
  TestCluster cluster("atlas-a2");
  const auto tied = [](const char* who, const char* mask, const char* other) {
    return absl::StrCat("FAIL ", who, " tied what=netmask, version=", mask,
                        ", hosts=8 devices, expects=",
                        Say("no-majority", Say("value-of", other, "8 devices")),
                        "\n");
  };
  for (int host = 0; host < 2; ++host) {
    for (int i = 0; i < 8; ++i) {
      const std::string address =
          cluster.device(host, i).address().value().settings(0).address();
      if (host == 1) cluster.SetAddress(1, i, address, "255.255.255.128");
      cluster.PlanAddress(host, i, "", "");
    }
  }
  EXPECT_EQ(Lines(cluster.Check("netmask-uniform")),
            tied("server0:0-7", "255.255.255.0", "255.255.255.128") +
                tied("server1:0-7", "255.255.255.128", "255.255.255.0"));
}

}  // namespace
}  // namespace clusterd
