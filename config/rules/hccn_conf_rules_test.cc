#include <set>

#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::HasSubstr, ::testing::Not,
    ::testing::StartsWith;

HccnConf* ConfOf(int host, TestCluster* cluster) {
  return cluster->facts[host].mutable_hccn_conf()->mutable_value();
}

void AddProblem(HccnConf::Problem::Kind kind, uint32_t line,
                const std::string& text, HccnConf* conf) {
  HccnConf::Problem* problem = conf->add_problems();
  problem->set_kind(kind);
  problem->set_line(line);
  problem->set_text(text);
}

// Removes the entry of a key for a device from the file.
void Erase(const std::string& key, uint32_t device, HccnConf* conf) {
  for (int i = 0; i < conf->entries_size(); ++i) {
    if (conf->entries(i).key() != key || conf->entries(i).device() != device) {
      continue;
    }
    conf->mutable_entries()->DeleteSubrange(i, 1);
    return;
  }
  FAIL() << "no " << key << "_" << device;
}

TEST(CheckHccnConfTest, FailsWithoutTheFile) {
  TestCluster cluster;
  HccnConfFact* const conf = cluster.facts[0].mutable_hccn_conf();
  SetMissing(Missing::ABSENT, "/etc/hccn.conf", conf);
  const RuleResult result = cluster.Check("hccn-conf");
  EXPECT_THAT(result,
              Finds("FAIL server0 absent why=does not exist: /etc/hccn.conf"));
  EXPECT_THAT(result.findings(0).fix(), HasSubstr("install -m 0644 /dev"));
  SetMissing(Missing::UNREADABLE, "is a directory", conf);
  EXPECT_THAT(cluster.Check("hccn-conf"), Fails("is a directory"));
  SetMissing(Missing::NOT_PERMITTED, "mode 0640", conf);
  cluster.facts[1].clear_hccn_conf();
  EXPECT_THAT(cluster.Check("hccn-conf"),
              IsUnknown("not permitted: mode 0640", Say("why-not-asked")));
}

TEST(CheckHccnConfTest, ExplainsEveryKindOfProblemInItsOwnWords) {
  std::set<std::string> whys;
  for (int kind = HccnConf::Problem::NO_FINAL_NEWLINE;
       kind <= HccnConf::Problem::Kind_MAX; ++kind) {
    TestCluster cluster;
    AddProblem(static_cast<HccnConf::Problem::Kind>(kind), 4, "address_0 = 1",
               ConfOf(0, &cluster));
    const RuleResult result = cluster.Check("hccn-conf");
    EXPECT_EQ(result.state(),
              kind == HccnConf::Problem::MALFORMED_LINE ? WARN : FAIL)
        << kind;
    whys.insert(result.findings(0).why());
    EXPECT_THAT(result.findings(0).fix(), Not(HasSubstr("sed -i")));
  }
  EXPECT_EQ(whys.size(), 9u);
}

TEST(CheckHccnConfTest, QuotesTheLineOfAProblem) {
  const struct {
    HccnConf::Problem::Kind kind;
    const char* text;
    const char* finding;
    State state;
  } kCases[] = {
      {HccnConf::Problem::MALFORMED_ROUTE, "route_5=172.16.0.0",
       "malformed-route line=99, text=\"route_5=172.16.0.0\"", FAIL},
      {HccnConf::Problem::TRAILING_BLANK, "tls_enable_3=0 ",
       "trailing-blank line=99, text=\"tls_enable_3=0 \"", FAIL},
      {HccnConf::Problem::DUPLICATE_KEY, "bitmap_3=1",
       "duplicate-key line=99, key=\"bitmap_3=1\"", FAIL},
      // Reported by a newer host.
      {static_cast<HccnConf::Problem::Kind>(77), "", "", UNKNOWN},
  };
  for (const auto& c : kCases) {
    TestCluster cluster;
    AddProblem(c.kind, 99, c.text, ConfOf(0, &cluster));
    const RuleResult result = cluster.Check("hccn-conf");
    EXPECT_EQ(result.state(), c.state) << c.text;
    EXPECT_THAT(Brief(result.findings(0)), HasSubstr(c.finding));
    if (c.kind != HccnConf::Problem::TRAILING_BLANK) continue;
    EXPECT_THAT(result.findings(0).why(), Not(HasSubstr("ignore")));
  }
}

HccnConf::Entry* AddLine(const std::string& key, uint32_t device,
                         const std::string& value, HccnConf* conf) {
  HccnConf::Entry* entry = conf->add_entries();
  entry->set_key(key);
  entry->set_device(device);
  entry->set_value(value);
  return entry;
}

// Adds a line of a device that the recovery does not take.
void AddBadLine(const std::string& key, uint32_t device,
                const std::string& value, HccnConf* conf) {
  AddLine(key, device, value, conf)->set_line(99);
  AddProblem(HccnConf::Problem::BAD_VALUE, 99,
             key + "_" + std::to_string(device) + "=" + value, conf);
}

TEST(CheckHccnConfTest, NamesTheOneDeviceThatALineBreaks) {
  TestCluster cluster;
  // This device is not there.
  AddBadLine("ip_route", 12, "x", ConfOf(0, &cluster));
  EXPECT_EQ(cluster.Check("hccn-conf").state(), PASS);
  TestCluster other;
  AddBadLine("ip_route", 3, "x", ConfOf(0, &other));
  EXPECT_THAT(
      other.Check("hccn-conf"),
      Finds(StartsWith(
          "FAIL server0:3 bad-address line=99, text=\"ip_route_3=x\"")));
}

TEST(CheckHccnConfTest, LetsTheToolRewriteABadValueThatIsPlanned) {
  TestCluster cluster;
  AddBadLine("gateway", 3, "", ConfOf(0, &cluster));
  EXPECT_THAT(Brief(cluster.Check("hccn-conf").findings(0)),
              HasSubstr("bad-value line=99, text=\"gateway_3=\", "
                        "command=-gateway -s gateway 192.168.103.254"));
}

TEST(CheckHccnConfTest, FailsForADeviceWhoseLastRecoveryFailed) {
  for (const auto word : {RecoveryFact::FAIL, RecoveryFact::FAULT}) {
    TestCluster cluster;
    cluster.device(0, 3).mutable_recovery()->set_value(word);
    const RuleResult result = cluster.Check("hccn-conf");
    EXPECT_EQ(result.state(), FAIL);
    EXPECT_EQ(Lines(result),
              absl::StrCat("FAIL server0:3 recovery-failed word=",
                           RecoveryFact::Recovery_Name(word), "\n"));
    EXPECT_EQ(result.findings(0).command(), "hccn_tool -i 3 -cfg recovery");
  }
}

TEST(CheckHccnConfTest, IsUnknownWhereTheRecoveryIsNotKnown) {
  TestCluster cluster;
  RecoveryFact* const recovery = cluster.device(0, 3).mutable_recovery();
  recovery->set_value(RecoveryFact::NONE);
  EXPECT_EQ(cluster.Check("hccn-conf").state(), PASS);
  SetMissing(Missing::UNREADABLE, "`hccn_tool -i 3 -cfg status`: unknown",
             recovery);
  EXPECT_THAT(cluster.Check("hccn-conf"), IsUnknown("-cfg status"));
  recovery->Clear();
  EXPECT_EQ(cluster.Check("hccn-conf").state(), UNKNOWN);
  recovery->set_value(RecoveryFact::START);
  EXPECT_EQ(cluster.Check("hccn-conf").state(), UNKNOWN);
  SetMissing(Missing::NOT_SUPPORTED, "unknown", recovery);
  const RuleResult result = cluster.Check("hccn-conf");
  EXPECT_EQ(result.state(), PASS);
  EXPECT_THAT(result.summary(),
              HasSubstr("2 hosts; " +
                        Say("recovery-not-supported", Counted(1, "device"))));
}

TEST(CheckHccnConfTest, RepairsInPlaceUnderTheToolsLock) {
  TestCluster cluster;
  AddProblem(HccnConf::Problem::NO_FINAL_NEWLINE, 0, "", ConfOf(0, &cluster));
  AddProblem(HccnConf::Problem::CARRIAGE_RETURN, 0, "", ConfOf(1, &cluster));
  const RuleResult result = cluster.Check("hccn-conf");
  EXPECT_EQ(Brief(result.findings(0)), "no-final-newline");
  EXPECT_EQ(Brief(result.findings(1)), "carriage-return");
  EXPECT_THAT(result.findings(0).fix(), HasSubstr("flock /etc/hccn.conf sh"));
  EXPECT_THAT(result.findings(1).fix(),
              AllOf(HasSubstr("flock /etc/hccn.conf sh"),
                    HasSubstr("cat \"$t\" > /etc/hccn")));
}

TEST(CheckHccnConfTest, LetsTheToolRewriteARepeatedKeyThatIsPlanned) {
  TestCluster cluster;
  HccnConf* conf = ConfOf(0, &cluster);
  AddLine("address", 3, "192.168.103.1", conf)->set_line(99);
  AddProblem(HccnConf::Problem::DUPLICATE_KEY, 99, "address_3=192.168.103.1",
             conf);
  EXPECT_EQ(Lines(cluster.Check("hccn-conf")),
            "FAIL server0:3 duplicate-key line=99, key=\"address_3\", "
            "command=-ip -s address 192.168.103.1 netmask 255.255.255.0\n");
}

TEST(CheckHccnConfTest, FailsForProblemsThatItDoesNotShow) {
  for (const auto& [kind, count] :
       {std::pair(HccnConf::Problem::MALFORMED_ROUTE, 1000),
        // A warning each.
        std::pair(HccnConf::Problem::MALFORMED_LINE, 17)}) {
    TestCluster cluster;
    for (int i = 1; i <= count; ++i) {
      AddProblem(kind, i, "a b", ConfOf(0, &cluster));
    }
    const RuleResult result = cluster.Check("hccn-conf");
    ASSERT_EQ(result.findings_size(), 17);
    EXPECT_EQ(result.findings(15).state(), count == 17 ? WARN : FAIL);
    EXPECT_EQ(result.findings(16).state(), FAIL);
    EXPECT_EQ(Brief(result.findings(16)),
              "more problems=" + Say("count-more-problem", count - 16));
  }
}

// Makes every line end in CR LF, as clusterd reports it.
void EndLinesInCrLf(HccnConf* conf) {
  for (HccnConf::Entry& entry : *conf->mutable_entries()) {
    entry.set_value(entry.value() + "\\r");
    AddProblem(HccnConf::Problem::CARRIAGE_RETURN, entry.line(), entry.key(),
               conf);
  }
}

TEST(CheckHccnConfTest, TellsOnceWhatOneCommandRepairs) {
  TestCluster cluster;
  HccnConf* conf = ConfOf(0, &cluster);
  EndLinesInCrLf(conf);
  ASSERT_GT(conf->problems_size(), 16);
  AddProblem(HccnConf::Problem::NO_FINAL_NEWLINE, 99, "", conf);
  const RuleResult result = cluster.Check("hccn-conf");
  ASSERT_EQ(result.findings_size(), 2);
  EXPECT_EQ(Brief(result.findings(0)), "carriage-return");
  EXPECT_THAT(Brief(result.findings(1)), HasSubstr("no-final-newline"));
}

constexpr const char* kPersistentRules[] = {
    "device-ip-persistent", "gateway-persistent", "detect-address-persistent"};

TEST(CheckHccnConfTest, IsTheCauseOfWhatItsRepairEndsAndOfNothingElse) {
  for (const bool ends : {true, false}) {
    TestCluster cluster;
    for (HccnConf::Entry& entry : *ConfOf(0, &cluster)->mutable_entries()) {
      const bool is_stored = entry.key() == "address" ||
                             entry.key() == "gateway" ||
                             entry.key() == "netdetect";
      if (is_stored && !ends) entry.set_value("192.168.7.7");
    }
    EndLinesInCrLf(ConfOf(0, &cluster));
    for (const char* rule : kPersistentRules) {
      const RuleResult result = cluster.Check(rule);
      ASSERT_GT(result.findings_size(), 0) << rule;
      for (const Finding& finding : result.findings()) {
        EXPECT_EQ(finding.caused_by(), ends ? "hccn-conf" : "") << rule;
        EXPECT_THAT(finding.fix(), HasSubstr(ends ? "hccn_tool" : "")) << rule;
      }
    }
  }
}

void SetInFile(const std::string& key, const std::string& value,
               TestCluster* cluster) {
  for (HccnConf::Entry& entry : *ConfOf(0, cluster)->mutable_entries()) {
    if (entry.key() == key && entry.device() == 3) entry.set_value(value);
  }
}

// The finding about device 3, whose file has that line of its address.
std::string AddressLineIs(const char* line) {
  return absl::StrCat(
      "another live=192.168.103.1/24, address-line=", line,
      ", netmask-line=netmask_3=255.255.255.0 (line 17), device=3, "
      "address=192.168.103.1, netmask=255.255.255.0, command=-ip -s address "
      "192.168.103.1 netmask 255.255.255.0");
}

TEST(CheckDeviceIpPersistentTest, FailsForAStaleAddressInTheFile) {
  TestCluster cluster;
  SetInFile("address", "192.168.103.200", &cluster);
  EXPECT_EQ(Lines(cluster.Check("device-ip-persistent")),
            "FAIL server0:3 " +
                AddressLineIs("address_3=192.168.103.200 (line 16)") + "\n");
  SetInFile("address", "192.168.103.1\r", &cluster);
  EXPECT_EQ(cluster.Check("device-ip-persistent").state(), FAIL);
  // The live address is kept where none is planned.
  cluster.PlanAddress(0, 3, "", "");
  Erase("address", 3, ConfOf(0, &cluster));
  EXPECT_THAT(cluster.Check("device-ip-persistent"),
              Finds(AddressLineIs("no address_3")));
  SetMissing(Missing::ABSENT, "", cluster.facts[0].mutable_hccn_conf());
  const RuleResult unknown = cluster.Check("device-ip-persistent");
  EXPECT_EQ(unknown.state(), UNKNOWN);
  ASSERT_EQ(unknown.findings_size(), 1);
  EXPECT_EQ(unknown.findings(0).caused_by(), "hccn-conf");
}

TEST(CheckDeviceIpPersistentTest, LeavesDevicesWithoutAddressToTheirRule) {
  TestCluster cluster;
  cluster.device(0, 3).mutable_address()->mutable_value()->clear_settings();
  const RuleResult result = cluster.Check("device-ip-persistent");
  EXPECT_EQ(result.state(), PASS);
  EXPECT_EQ(JudgedCount(result), 15);
  EXPECT_EQ(result.findings(0).caused_by(), "device-ip-set");
}

TEST(CheckDeviceIpPersistentTest, FailsWhenTheFileHasNoAddressOrNoMask) {
  for (const char* key : {"address", "netmask"}) {
    TestCluster cluster;
    Erase(key, 3, ConfOf(0, &cluster));
    EXPECT_THAT(cluster.Check("device-ip-persistent"),
                Fails(std::string("no ") + key + "_3"));
  }
}

// The spec plans neither gateway nor detect address for device 3 of server0.
TestCluster UnplannedCluster() {
  TestCluster cluster;
  DeviceSpec* device = cluster.spec.mutable_servers(0)->mutable_devices(3);
  device->clear_gateway();
  device->clear_detect_address();
  return cluster;
}

// The finding that the file has that value in place of the live one.
std::string NotStored(const char* kind, const char* in_file,
                      const std::string& command,
                      const char* live = "192.168.103.254") {
  return absl::StrCat("WARN server0:3 not-stored kind=", kind,
                      ", in-file=", in_file, ", live=", live,
                      ", wanted=192.168.103.254, command=-", command,
                      " 192.168.103.254\n");
}

TEST(CheckGatewayPersistentTest, WarnsOfAGatewayThatTheFileDoesNotHave) {
  TestCluster cluster = UnplannedCluster();
  EXPECT_EQ(cluster.Check("gateway-persistent").state(), PASS);
  SetInFile("gateway", "192.168.103.9", &cluster);
  EXPECT_EQ(Lines(cluster.Check("gateway-persistent")),
            NotStored("gateway", "192.168.103.9", "gateway -s gateway"));
  Erase("gateway", 3, ConfOf(0, &cluster));
  EXPECT_EQ(Lines(cluster.Check("gateway-persistent")),
            NotStored("gateway", "none", "gateway -s gateway"));
  AddLine("udhcpc_enable", 3, "1", ConfOf(0, &cluster));
  const RuleResult dhcp = cluster.Check("gateway-persistent");
  EXPECT_EQ(dhcp.state(), PASS);
  EXPECT_EQ(JudgedCount(dhcp), 15);
  EXPECT_EQ(dhcp.findings(0).state(), SKIPPED);
  // A planned one is what the file should have.
  TestCluster planned;
  planned.device(0, 3).mutable_gateway()->set_value("192.168.103.9");
  EXPECT_EQ(Lines(planned.Check("gateway-persistent")),
            NotStored("gateway", "192.168.103.254", "gateway -s gateway",
                      "192.168.103.9"));
}

TEST(CheckGatewayPersistentTest, WarnsOfAGatewayThatOnlyTheFileHas) {
  TestCluster cluster = UnplannedCluster();
  cluster.device(0, 3).mutable_gateway()->set_value("");
  EXPECT_THAT(cluster.Check("gateway-persistent"),
              Finds("WARN server0:3 stored-alone kind=gateway, "
                    "in-file=192.168.103.254, line=18"));
  Erase("gateway", 3, ConfOf(0, &cluster));
  EXPECT_EQ(cluster.Check("gateway-persistent").state(), PASS);
}

TEST(CheckGatewayPersistentTest, IsUnknownWithoutTheFileOrTheAnswer) {
  TestCluster cluster;
  SetMissing(Missing::TIMED_OUT, "no answer in 10s",
             cluster.device(0, 3).mutable_gateway());
  EXPECT_EQ(cluster.Check("gateway-persistent").state(), UNKNOWN);
  SetMissing(Missing::NOT_PERMITTED, "", cluster.facts[0].mutable_hccn_conf());
  const RuleResult result = cluster.Check("gateway-persistent");
  EXPECT_EQ(result.state(), UNKNOWN);
  EXPECT_EQ(Who(result.findings(0)), "server0:0-7");
  EXPECT_EQ(result.findings(0).caused_by(), "hccn-conf");
}

// Removes only the line: the file never has the address of DHCP.
TEST(CheckDeviceIpPersistentTest, SkipsADeviceUnderDhcpWhateverTheValue) {
  TestCluster cluster = UnplannedCluster();
  cluster.spec.mutable_servers(0)->mutable_devices(3)->clear_address();
  Erase("address", 3, ConfOf(0, &cluster));
  Erase("netmask", 3, ConfOf(0, &cluster));
  EXPECT_EQ(cluster.Check("device-ip-persistent").state(), FAIL);
  HccnConf::Entry* dhcp = AddLine("udhcpc_enable", 3, "", ConfOf(0, &cluster));
  for (const char* value : {"1", "0", "on", ""}) {
    dhcp->set_value(value);
    const RuleResult result = cluster.Check("device-ip-persistent");
    EXPECT_EQ(result.state(), PASS) << value;
    EXPECT_EQ(JudgedCount(result), 15);
    ASSERT_EQ(result.findings_size(), 1);
    EXPECT_EQ(result.findings(0).state(), SKIPPED);
    EXPECT_THAT(Brief(result.findings(0)), HasSubstr("by-dhcp"));
  }
}

// All other values are as planned, so no other rule would report it.
TEST(CheckDeviceIpPersistentTest, DhcpOfAPlannedDeviceIsSaidWhateverTheValue) {
  for (const char* value : {"0", "on", "1", ""}) {
    TestCluster cluster;
    AddLine("udhcpc_enable", 3, value, ConfOf(1, &cluster));
    const RuleResult result = cluster.Check("device-ip-persistent");
    ASSERT_THAT(result,
                testing::AllOf(Warns(), FindsOne("server1:3", testing::_)));
    EXPECT_EQ(Lines(result),
              absl::StrCat("WARN server1:3 planned-by-dhcp value=\"", value,
                           "\", planned=192.168.103.3/24\n"));
    EXPECT_THAT(result.findings(0).fix(), HasSubstr("hccn_tool -i 3 -udhcpc"));
    EXPECT_FALSE(result.findings(0).fixed_by_plan());
    // The same if the device has no address.
    cluster.device(1, 3).mutable_address()->mutable_value()->clear_settings();
    EXPECT_THAT(cluster.Check("device-ip-persistent"),
                Finds("WARN server1:3 planned-by-dhcp "));
  }
}

TEST(CheckDetectAddressPersistentTest, WarnsWhereDeviceAndFileDisagree) {
  TestCluster cluster = UnplannedCluster();
  EXPECT_EQ(cluster.Check("detect-address-persistent").state(), PASS);
  for (const char* stored : {"192.168.103.9", "rubbish"}) {
    SetInFile("netdetect", stored, &cluster);
    EXPECT_EQ(Lines(cluster.Check("detect-address-persistent")),
              NotStored("detect address", stored, "netdetect -s address"));
  }
  cluster.device(0, 3).mutable_detect_address()->set_value("0.0.0.0");
  SetInFile("netdetect", "192.168.103.254", &cluster);
  EXPECT_EQ(cluster.Check("detect-address-persistent").state(), WARN);
  SetInFile("netdetect", "0.0.0.0", &cluster);
  EXPECT_EQ(cluster.Check("detect-address-persistent").state(), PASS);
  Erase("netdetect", 3, ConfOf(0, &cluster));
  EXPECT_EQ(cluster.Check("detect-address-persistent").state(), PASS);
}

TEST(CheckDetectAddressPersistentTest, DoesNotGuessWhatAnAscend950Stores) {
  TestCluster cluster("ascend-950");
  for (const char* rule : {"gateway-persistent", "detect-address-persistent"}) {
    EXPECT_EQ(cluster.Check(rule).state(), PASS) << rule;
  }
  Erase("gateway", 3, ConfOf(0, &cluster));
  Erase("netdetect", 3, ConfOf(0, &cluster));
  for (const char* rule : {"gateway-persistent", "detect-address-persistent"}) {
    const RuleResult result = cluster.Check(rule);
    EXPECT_EQ(result.state(), UNKNOWN) << rule;
    EXPECT_EQ(Who(result.findings(0)), "server0:3");
    EXPECT_THAT(result, Finds(Say("recovery-classic-only")));
  }
}

struct StoredCase {
  const char* rule;
  const char* key;
  const char* stored;   // The file's form of `change`.
  const char* another;  // A value that the tool takes, too.
  const char* change;
  const char* kind;   // The finding's name for it.
  const char* value;  // The finding's.
};

constexpr StoredCase kStored[] = {
    {"mtu-persistent", "mtu", "4200", "1500", "mtu {value: 4200}", "MTU",
     "command=-mtu -s size 4200"},
    {"pfc-persistent", "bitmap", "0,0,0,0,1,0,0,0", "0,0,0,1,0,0,0,0",
     "pfc {value: '0,0,0,0,1,0,0,0'}", "PFC",
     "command=-pfc -s bitmap 0,0,0,0,1,0,0,0"},
    {"dscp-persistent", "dscp_tc", "46:2,33:1,", "33:1,",
     "dscp_to_tc {value: '33:1,46:2'}", "DSCP to TC", "33:1,46:2"},
    {"roce-port-persistent", "roce_port", "4791", "-1",
     "roce_port {value: '4791'}", "RoCE port", "command=-udp -s port 4791"},
};

TEST(CheckStoredSettingTest, WarnsWhereTheNextBootBringsAnotherValue) {
  for (const StoredCase& each : kStored) {
    SCOPED_TRACE(each.rule);
    TestCluster cluster;
    EXPECT_EQ(cluster.Check(each.rule).state(), PASS);
    EXPECT_THAT(cluster.Set(0, 3, each.change).Check(each.rule),
                Warns(StartsWith("WARN server0:3 "), each.value,
                      absl::StrCat("not-stored kind=", each.kind,
                                   ", in-file=no ", each.key, "_3, ")));
    AddLine(each.key, 3, each.another, ConfOf(0, &cluster));
    EXPECT_THAT(cluster.Check(each.rule),
                Finds(absl::StrCat("in-file=", each.key, "_3=", each.another,
                                   " (line 0), ")));
    SetInFile(each.key, each.stored, &cluster);
    EXPECT_EQ(cluster.Check(each.rule).state(), PASS)
        << Lines(cluster.Check(each.rule));
  }
}

TEST(CheckTlsPersistentTest, JudgesALineThatSaysAnother) {
  TestCluster cluster;
  EXPECT_EQ(cluster.Check("tls-persistent").state(), PASS);
  SetInFile("tls_enable", "1", &cluster);
  EXPECT_THAT(cluster.Check("tls-persistent"),
              Finds("not-stored kind=TLS, in-file=tls_enable_3=1 (line "
                    "20), live=off, wanted=off, command=-tls -s enable 0"));
  // The tool reads a number.
  for (const auto& [stored, state] :
       {std::pair("00", PASS), std::pair("+0", PASS), std::pair("01", WARN)}) {
    SetInFile("tls_enable", stored, &cluster);
    EXPECT_EQ(cluster.Check("tls-persistent").state(), state) << stored;
  }
  Erase("tls_enable", 3, ConfOf(0, &cluster));
  EXPECT_EQ(cluster.Check("tls-persistent").state(), PASS);
  // Without a line the next boot leaves it off.
  cluster.device(0, 3).mutable_tls()->mutable_value()->set_enabled(true);
  EXPECT_THAT(cluster.Check("tls-persistent"),
              Warns("not-stored kind=TLS, in-file=no tls_enable_3, "
                    "live=on, wanted=on, command=-tls -s enable 1"));
}

TEST(CheckRocePortPersistentTest, ReadsTheModeThatChoosesPorts) {
  TestCluster cluster;
  cluster.device(0, 3).mutable_roce_port()->set_value("multi_qp");
  EXPECT_EQ(cluster.Check("roce-port-persistent").state(), WARN);
  AddLine("udp_port_mode", 3, "multi_qp", ConfOf(0, &cluster));
  EXPECT_EQ(cluster.Check("roce-port-persistent").state(), PASS);
  cluster.device(0, 3).mutable_roce_port()->set_value("4791");
  AddLine("roce_port", 3, "4791", ConfOf(0, &cluster));
  EXPECT_EQ(cluster.Check("roce-port-persistent").state(), WARN);
}

TEST(CheckHccnConfTest, PassesAValueThatOnlyAnotherProductFailsOver) {
  for (const char* product : {"atlas-training", "atlas-a2"}) {
    TestCluster cluster(product);
    AddProblem(HccnConf::Problem::BAD_VALUE, 5, "bitmap_3=1,1,1,1,1,0,0,0",
               ConfOf(0, &cluster));
    EXPECT_EQ(cluster.Check("hccn-conf").state() == PASS,
              product == std::string("atlas-training"));
  }
}

}  // namespace
}  // namespace clusterd
