#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::HasSubstr, ::testing::Not;

void AddPort(uint32_t first, uint32_t last, const std::string& protocol,
             const std::string& source, AllowedFact* fact) {
  AllowedPort* port = fact->mutable_value()->add_ports();
  port->set_first_port(first);
  port->set_last_port(last);
  port->set_protocol(protocol);
  port->set_source(source);
}

void Allow(uint32_t first, uint32_t last, const std::string& source,
           FirewallFacts* firewall, const std::string& protocol = "tcp") {
  AddPort(first, last, protocol, source, firewall->mutable_allowed());
}

void AllowPermanently(uint32_t first, uint32_t last, const std::string& source,
                      FirewallFacts* firewall) {
  AddPort(first, last, "tcp", source, firewall->mutable_allowed_permanently());
}

// Two hosts at 172.16.0.1 and 172.16.0.2; server0's ufw is active.
TestCluster OpenPortsCluster(absl::string_view product = "atlas-training") {
  TestCluster cluster(product);
  cluster.spec.set_firewall(FIREWALL_OPEN_PORTS);
  cluster.facts[0].mutable_ufw()->mutable_active()->set_value(true);
  return cluster;
}

// The same with firewalld in place of ufw.
TestCluster FirewalldCluster() {
  TestCluster cluster = OpenPortsCluster();
  cluster.Set(
      0, R"(ufw {active {value: false}} firewalld {active {value: true}})");
  return cluster;
}

// The brief of ufw's finding: shut ports, needed ports, and the fix.
std::string UfwIsShut(const std::string& shut, const std::string& ports,
                      const std::string& perhaps = "") {
  const std::string range = absl::StrReplaceAll(ports, {{"-", ":"}});
  const auto rule = [&](const char* peer) {
    return absl::StrCat("ufw allow proto tcp from ", peer, " to any port ",
                        range);
  };
  return absl::StrCat("shut state=ufw is active, shut=",
                      Say("shut-ports", shut, "172.16.0.2", perhaps),
                      ", ports=", ports, ", fix=", rule("172.16.0.1"), " && ",
                      rule("172.16.0.2"), "\n");
}

// The commands that let both hosts into firewalld.
std::string FirewalldFix(const char* zone = "") {
  const auto rule = [&](const char* peer) {
    return absl::StrCat(
        "firewall-cmd --permanent ", zone,
        "--add-rich-rule='rule family=\"ipv4\" source address=\"", peer,
        "\" port port=\"60000-60031\" protocol=\"tcp\" accept'");
  };
  return absl::StrCat(rule("172.16.0.1"), " && ", rule("172.16.0.2"));
}

TEST(CheckFirewallTest, FailsForAnActiveFirewallOfEitherKind) {
  TestCluster cluster;
  cluster.facts[0].mutable_ufw()->mutable_active()->set_value(true);
  cluster.facts[1].mutable_firewalld()->mutable_active()->set_value(true);
  EXPECT_EQ(
      Lines(cluster.Check("firewall")),
      "FAIL server0 is-active firewall=ufw, fix=ufw disable\nFAIL server1 "
      "is-active firewall=firewalld, fix=systemctl disable --now firewalld\n");
  cluster.facts[0].mutable_firewalld()->mutable_active()->set_value(true);
  EXPECT_THAT(cluster.Check("firewall"),
              Finds("FAIL server0 server1 is-active firewall=firewalld, "));
}

TEST(CheckFirewallTest, WarnsOfOneThatStartsAtBoot) {
  TestCluster cluster;
  // Not installed.
  for (HostFacts& host : cluster.facts) {
    host.mutable_ufw()->Clear();
    host.mutable_ufw()->mutable_installed()->set_value(false);
  }
  EXPECT_EQ(cluster.Check("firewall").state(), PASS);
  cluster.Set(0, "firewalld {enabled_at_boot {value: true}}");
  EXPECT_EQ(Lines(cluster.Check("firewall")),
            "WARN server0 starts-at-boot firewall=firewalld, fix=systemctl "
            "disable --now firewalld\n");
}

DropRule* AddDropRule(const std::string& ports, HostFacts* host) {
  DropRule* const rule =
      host->mutable_drop_rules()->mutable_value()->add_rules();
  rule->set_text("-A INPUT -p tcp -j DROP");
  rule->set_ports(ports);
  return rule;
}

// With neither ufw nor firewalld all of them used to pass.
TEST(CheckFirewallTest, RuleThatMayDropIsAWarning) {
  for (const char* ports : {"60000-60031", "60003", ""}) {
    TestCluster cluster;
    AddDropRule(ports, &cluster.facts[1]);
    EXPECT_THAT(cluster.Check("firewall"),
                Warns("WARN server1 rule-not-understood rule=\"-A INPUT -p tcp "
                      "-j DROP\", ports=60000-60031"))
        << ports;
  }
}

TEST(CheckFirewallTest, PolicyThatSurelyDropsNeededPortsFails) {
  TestCluster cluster;
  DropRule* const rule = AddDropRule("", &cluster.facts[1]);
  rule->set_surely_ports("0-21,23-60015");
  EXPECT_THAT(cluster.Check("firewall"),
              Fails("rule-drops rule=\"-A INPUT -p tcp -j DROP\", "
                    "ports=60000-60031, dropped=60000-60015"));
  rule->set_surely_ports("0-21");
  EXPECT_EQ(cluster.Check("firewall").state(), WARN);
}

// Row 6: the version of CANN is not known.
TestCluster ClusterOfUnknownCann() {
  TestCluster cluster;
  cluster.spec.mutable_hccl()->set_port_count_auto(true);
  for (HostFacts& host : cluster.facts) {
    SetMissing(Missing::ABSENT, "no CANN",
               host.mutable_versions()->mutable_cann());
  }
  return cluster;
}

// iptables-services with the documents' 16 ports accepted before its REJECT.
TEST(CheckFirewallTest, PortsOfNewerCannThatARuleDropsAreAWarning) {
  TestCluster cluster = ClusterOfUnknownCann();
  DropRule* const rule = AddDropRule("", &cluster.facts[1]);
  rule->set_surely_ports("0-21,23-59999,60016-65535");
  EXPECT_THAT(cluster.Check("firewall"),
              Warns("rule-drops rule=\"-A INPUT -p tcp -j DROP\", "
                    "ports=60000-60031, dropped=60016-60031, perhaps=" +
                    Say("perhaps-by-cann")));
  rule->set_surely_ports("0-21,23-60000,60016-65535");
  EXPECT_EQ(cluster.Check("firewall").state(), FAIL);
  // The rendezvous port is certain for any CANN.
  rule->set_surely_ports("29500,60016-65535");
  cluster.spec.set_rendezvous_port(29500);
  EXPECT_EQ(cluster.Check("firewall").state(), FAIL);
  cluster.spec.clear_rendezvous_port();
  cluster.spec.mutable_hccl()->set_cann("8.2.RC1");
  EXPECT_EQ(cluster.Check("firewall").state(), FAIL);
  cluster.spec.mutable_hccl()->set_cann("8.0.0");
  rule->set_surely_ports("60016-65535");
  rule->set_ports("60016-65535");
  EXPECT_EQ(cluster.Check("firewall").state(), PASS);
}

TEST(CheckFirewallTest, RuleForOtherPortsIsNoneOfAJobs) {
  TestCluster cluster;
  AddDropRule("7,9000-9100", &cluster.facts[1]);
  EXPECT_EQ(cluster.Check("firewall").state(), PASS);
  SetMissing(Missing::NOT_PERMITTED, "nft: Operation not permitted",
             cluster.facts[0].mutable_drop_rules());
  EXPECT_EQ(cluster.Check("firewall").state(), UNKNOWN);
}

TEST(CheckFirewallTest, IsSkippedWhereTheSpecIgnoresIt) {
  TestCluster cluster;
  cluster.spec.set_firewall(FIREWALL_IGNORE);
  cluster.facts[0].mutable_ufw()->mutable_active()->set_value(true);
  const RuleResult result = cluster.Check("firewall");
  EXPECT_EQ(result.state(), SKIPPED);
  EXPECT_THAT(result.skip_reason(), HasSubstr(Say("firewall-ignored")));
}

TEST(CheckFirewallTest, IsUnknownForEveryStateThatCannotBeRead) {
  for (const int part : {0, 1, 2}) {
    TestCluster cluster;
    FirewallFacts* ufw = cluster.facts[0].mutable_ufw();
    BoolFact* facts[] = {ufw->mutable_installed(), ufw->mutable_active(),
                         ufw->mutable_enabled_at_boot()};
    SetMissing(Missing::NOT_PERMITTED, "ufw status", facts[part]);
    EXPECT_THAT(cluster.Check("firewall"),
                IsUnknown(Say("why-with-detail", Say("why-not-permitted"),
                              "ufw status")))
        << part;
    // The other one is still reported.
    cluster.facts[0].mutable_firewalld()->mutable_active()->set_value(true);
    EXPECT_EQ(cluster.Check("firewall").state(), FAIL) << part;
  }
}

TEST(CheckFirewallOpenPortsTest, FailsWithTheCommandsThatOpen) {
  EXPECT_EQ(Lines(OpenPortsCluster().Check("firewall")),
            "FAIL server0 " + UfwIsShut("60000-60031", "60000-60031"));
  TestCluster cluster = FirewalldCluster();
  EXPECT_THAT(cluster.SetSpec("ssh_port: 2222").Check("firewall"),
              Finds("source address=\"172.16.0.2\" port port=\"60000-60031\" "
                    "protocol=\"tcp\" accept'",
                    "port=\"2222\"", "&& firewall-cmd --reload"));
}

TEST(CheckFirewallOpenPortsTest, PassesWhenEveryOtherHostGetsIn) {
  for (const char* source :
       {"", "172.16.0.2", "172.16.0.0/24", "172.16.0.77/24", "0.0.0.0/0"}) {
    TestCluster cluster = OpenPortsCluster();
    Allow(60000, 60031, source, cluster.facts[0].mutable_ufw());
    EXPECT_EQ(cluster.Check("firewall").state(), PASS) << source;
  }
}

TEST(CheckFirewallOpenPortsTest, NamesThePartOfTheRangeThatIsShut) {
  TestCluster cluster = OpenPortsCluster();
  FirewallFacts* ufw = cluster.facts[0].mutable_ufw();
  Allow(60000, 60015, "", ufw);
  Allow(60016, 60031, "", ufw, "udp");
  EXPECT_EQ(Lines(cluster.Check("firewall")),
            "FAIL server0 " + UfwIsShut("60016-60031", "60000-60031"));
  // Rules for parts of the range add up.
  Allow(60016, 60031, "172.16.0.2", ufw, "");
  EXPECT_EQ(cluster.Check("firewall").state(), PASS);
}

// ufw opens 60000:60015, as the documents say.
TEST(CheckFirewallOpenPortsTest, PortsOfNewerCannThatAreShutAreAWarning) {
  TestCluster cluster = ClusterOfUnknownCann();
  cluster.spec.set_firewall(FIREWALL_OPEN_PORTS);
  FirewallFacts* ufw = cluster.facts[0].mutable_ufw();
  ufw->mutable_active()->set_value(true);
  Allow(60000, 60015, "", ufw);
  EXPECT_EQ(Lines(cluster.Check("firewall")),
            "WARN server0 " + UfwIsShut("60016-60031", "60000-60031",
                                        Say("perhaps-by-cann")));
  EXPECT_EQ(cluster.SetSpec("ssh_port: 2222").Check("firewall").state(), FAIL);
  cluster.spec.clear_ssh_port();
  cluster.facts[0].mutable_versions()->mutable_cann()->set_value("8.2.RC1");
  EXPECT_EQ(cluster.Check("firewall").state(), FAIL);
}

TEST(CheckFirewallOpenPortsTest, OpensTheBasePortOfLogins) {
  TestCluster cluster = OpenPortsCluster();
  cluster.spec.mutable_hccl()->set_base_port_auto(true);
  FirewallFacts* const ufw = cluster.facts[0].mutable_ufw();
  Allow(60000, 60031, "", ufw);
  EXPECT_EQ(cluster.Check("firewall").state(), PASS);
  cluster.SetInLogins(0, "HCCL_IF_BASE_PORT", "53000");
  EXPECT_EQ(Lines(cluster.Check("firewall")),
            "FAIL server0 " + UfwIsShut("53000-53031", "53000-53031"));
  Allow(53000, 53031, "", ufw);
  EXPECT_EQ(cluster.Check("firewall").state(), PASS);
}

TEST(CheckFirewallOpenPortsTest, PortsThatTheKernelChoosesAreAWarning) {
  TestCluster cluster = OpenPortsCluster("atlas-a2");
  FirewallFacts* const ufw = cluster.facts[0].mutable_ufw();
  Allow(60000, 60031, "", ufw);
  cluster.SetInLogins(0, "HCCL_HOST_SOCKET_PORT_RANGE", "auto");
  EXPECT_THAT(cluster.Check("firewall"),
              Warns("WARN server0 shut state=ufw is active, shut=TCP "
                    "32768-59999,60032-60999 from 172.16.0.2; " +
                    Say("kernel-chooses-ports",
                        " among them (HCCL_HOST_SOCKET_PORT_RANGE is auto in "
                        "/etc/environment:1)") +
                    ", ports=32768-60999, fix="));
  Allow(32768, 60999, "", ufw);
  EXPECT_EQ(cluster.Check("firewall").state(), PASS);
  // A port that the job surely needs fails.
  cluster.spec.set_rendezvous_port(29500);
  EXPECT_EQ(cluster.Check("firewall").state(), FAIL);
}

TEST(CheckFirewallTest, RuleThatDropsWhatTheKernelChoosesIsAWarning) {
  TestCluster cluster("atlas-a2");
  cluster.SetInLogins(1, "HCCL_HOST_SOCKET_PORT_RANGE", "auto");
  AddDropRule("", &cluster.facts[1])->set_surely_ports("0-21,23-65535");
  EXPECT_THAT(
      cluster.Check("firewall"),
      Warns("WARN server1 rule-drops rule=", "dropped=32768-60999, perhaps="));
}

TEST(CheckFirewallTest, PortsThatOnlyAShellKnowsAreUnknown) {
  TestCluster cluster = OpenPortsCluster();
  FirewallFacts* const ufw = cluster.facts[0].mutable_ufw();
  Allow(60000, 60031, "", ufw);
  for (const int host : {0, 1}) {
    cluster.SetInLogins(host, "HCCL_IF_BASE_PORT", "").set_computed(true);
  }
  // The other host has no filter.
  EXPECT_EQ(Lines(cluster.Check("firewall")),
            "UNKNOWN server0 unclear variable=HCCL_IF_BASE_PORT, "
            "where=/etc/environment:1\n");
}

TEST(CheckFirewallOpenPortsTest, NamesTheHostBetweenTwoAllowedOnes) {
  TestCluster cluster("atlas-a2", "", 4);
  cluster.spec.set_firewall(FIREWALL_OPEN_PORTS);
  FirewallFacts* ufw = cluster.facts[0].mutable_ufw();
  ufw->mutable_active()->set_value(true);
  Allow(1, 65535, "172.16.0.2", ufw);
  Allow(1, 65535, "172.16.0.4", ufw);
  EXPECT_THAT(cluster.Check("firewall"), Finds("from 172.16.0.3"));
}

// Sixteen servers in two ranges: the smallest subnet of all is 0.0.0.0/0.
TEST(CheckFirewallOpenPortsTest, FixNamesTheExactBlocksOfTwoRanges) {
  TestCluster cluster("atlas-a2", "", 16);
  cluster.spec.set_firewall(FIREWALL_OPEN_PORTS);
  for (int i = 0; i < 16; ++i) {
    cluster.spec.mutable_servers(i)->set_address(
        absl::StrCat(i < 8 ? "10.0.0." : "192.168.7.", 16 + i % 8));
  }
  cluster.Set(0, "firewalld {active {value: true}}");
  const std::string fix = cluster.Check("firewall").findings(0).fix();
  EXPECT_THAT(fix, HasSubstr("source address=\"10.0.0.16/29\" port"));
  EXPECT_THAT(fix, HasSubstr("source address=\"192.168.7.16/29\" port"));
  EXPECT_THAT(fix, Not(HasSubstr("0.0.0.0/")));
}

TEST(CheckFirewallOpenPortsTest, FixIsALoopOverManyBlocksAndThenThePlan) {
  TestCluster cluster("atlas-a2", "", 70);
  cluster.spec.set_firewall(FIREWALL_OPEN_PORTS);
  const auto fix = [&cluster](int scattered) {
    for (int i = 0; i < 70; ++i) {
      cluster.spec.mutable_servers(i)->set_address(
          i < scattered ? absl::StrCat("10.0.", 2 * i, ".1") : "10.9.0.1");
    }
    cluster.facts[0].mutable_ufw()->mutable_active()->set_value(true);
    return cluster.Check("firewall").findings(0).fix();
  };
  EXPECT_THAT(fix(9), HasSubstr("for s in 10.0.0.1 10.0.2.1 "));
  EXPECT_THAT(fix(9), HasSubstr("10.9.0.1; do ufw allow proto tcp from $s to "
                                "any port 60000:60031; done"));
  EXPECT_THAT(fix(69), AllOf(HasSubstr("clusterctl plan: "),
                             HasSubstr("TCP 60000-60031 from 70 ")));
}

// Two zones with interfaces; eth0 has the host's address.
TestCluster ZonesCluster() {
  TestCluster cluster = FirewalldCluster();
  cluster.Set(0, R"(firewalld {other_zones {value {zones {
      name: "docker" interfaces: "docker0" allowed {value {}}
      allowed_permanently {value {}}}}}})");
  return cluster;
}

void AllowAll(AllowedFact* fact) { AddPort(1, 65535, "", "", fact); }

TEST(CheckFirewalldZonesTest, DockersZoneIsNoneOfTheHostsAddress) {
  TestCluster cluster = ZonesCluster();
  FirewallFacts* const firewalld = cluster.facts[0].mutable_firewalld();
  AllowAll(firewalld->mutable_allowed());
  AllowAll(firewalld->mutable_allowed_permanently());
  EXPECT_EQ(cluster.Check("firewall").state(), PASS)
      << Lines(cluster.Check("firewall"));
  // Docker's zone does not open ports of the host's address.
  firewalld->mutable_allowed()->mutable_value()->clear_ports();
  AllowAll(firewalld->mutable_other_zones()
               ->mutable_value()
               ->mutable_zones(0)
               ->mutable_allowed());
  EXPECT_EQ(cluster.Check("firewall").state(), FAIL);
}

TEST(CheckFirewalldZonesTest, ZoneOfTheHostsInterfaceIsJudgedAndFixed) {
  TestCluster cluster = ZonesCluster();
  FirewallZone* const zone = cluster.facts[0]
                                 .mutable_firewalld()
                                 ->mutable_other_zones()
                                 ->mutable_value()
                                 ->mutable_zones(0);
  zone->set_name("in'ternal");
  zone->set_interfaces(0, "eth+");
  const RuleResult result = cluster.Check("firewall");
  EXPECT_EQ(result.state(), FAIL);
  EXPECT_EQ(Brief(result.findings(0)),
            "shut state=firewalld is active, shut=TCP 60000-60031 from "
            "172.16.0.2, ports=60000-60031, fix=" +
                FirewalldFix("--zone='in'\\''ternal' ") +
                " && firewall-cmd --reload");
  AllowAll(zone->mutable_allowed());
  EXPECT_EQ(cluster.Check("firewall").state(), WARN);
  AllowAll(zone->mutable_allowed_permanently());
  EXPECT_EQ(cluster.Check("firewall").state(), PASS);
}

TEST(CheckFirewalldZonesTest, AddressOnNoInterfaceIsUnknown) {
  TestCluster cluster = ZonesCluster();
  AllowAll(cluster.facts[0].mutable_firewalld()->mutable_allowed());
  cluster.facts[0].mutable_interfaces()->mutable_value()->clear_interfaces();
  EXPECT_THAT(cluster.Check("firewall"),
              IsUnknown("zone-unclear address=172.16.0.1"));
}

TEST(CheckFirewallOpenPortsTest, DoesNotGuessWhatASourceInWordsMeans) {
  TestCluster cluster = OpenPortsCluster();
  // A rule of IPv6 opens nothing.
  Allow(60000, 60031, "fd00::/8", cluster.facts[0].mutable_ufw());
  EXPECT_EQ(cluster.Check("firewall").state(), FAIL);
  Allow(60000, 60031, "ipset:cluster", cluster.facts[0].mutable_ufw());
  EXPECT_THAT(cluster.Check("firewall"), IsUnknown("\"ipset:cluster\""));
}

TEST(CheckFirewalldZonesTest, SourcesOfOtherZonesCountByThePeersInThem) {
  const auto check = [](const char* source, bool stored = false) {
    TestCluster cluster = FirewalldCluster();
    FirewallFacts* const firewalld = cluster.facts[0].mutable_firewalld();
    AllowAll(firewalld->mutable_allowed());
    AllowAll(firewalld->mutable_allowed_permanently());
    AllowedFact* const fact = stored ? firewalld->mutable_allowed_permanently()
                                     : firewalld->mutable_allowed();
    fact->mutable_value()->add_other_sources(source);
    return cluster.Check("firewall");
  };
  EXPECT_EQ(check("203.0.113.0/24").state(), PASS);
  // The host's own address is not a peer's.
  EXPECT_EQ(check("172.16.0.1").state(), PASS);
  EXPECT_EQ(check("172.16.0.0/24").state(), UNKNOWN);
  EXPECT_EQ(check("172.16.0.0/24", true).state(), UNKNOWN);
  EXPECT_THAT(Lines(check("172.16.0.2")),
              HasSubstr("source-of-other-zone state=firewalld is active, "
                        "source=\"172.16.0.2\", ports=60000-60031"));
  EXPECT_EQ(check("ipset:blacklist").state(), WARN);
  EXPECT_THAT(Lines(check("ipset:blacklist")),
              HasSubstr("source-of-other-zone state=firewalld is active, "
                        "source=\"ipset:blacklist\", ports=60000-60031"));
}

TEST(CheckFirewallOpenPortsTest, IsUnknownWithoutTheRulesOrAnAddress) {
  TestCluster cluster = OpenPortsCluster();
  SetMissing(Missing::UNREADABLE, "line 4",
             cluster.facts[0].mutable_ufw()->mutable_allowed());
  EXPECT_THAT(cluster.Check("firewall"),
              Finds("UNKNOWN server0 not-known what=rules of ufw, reason=not "
                    "understood: line 4, how-to-learn=" +
                    Say("learn-unreadable")));
  TestCluster nameless = OpenPortsCluster();
  nameless.spec.mutable_servers(1)->clear_address();
  Allow(60000, 60031, "172.16.0.1", nameless.facts[0].mutable_ufw());
  EXPECT_EQ(nameless.Check("firewall").state(), UNKNOWN);
}

TEST(CheckFirewalldStoredTest, WarnsOfPortsThatAreOpenNowAlone) {
  TestCluster cluster = FirewalldCluster();
  FirewallFacts* firewalld = cluster.facts[0].mutable_firewalld();
  Allow(60000, 60031, "", firewalld);
  AllowPermanently(60000, 60015, "", firewalld);
  EXPECT_EQ(Lines(cluster.Check("firewall")),
            "WARN server0 open-until-reload firewall=firewalld, shut=TCP "
            "60016-60031 from 172.16.0.2, ports=60000-60031, fix=" +
                FirewalldFix() + "\n");
  AllowPermanently(60016, 60031, "172.16.0.0/24", firewalld);
  EXPECT_EQ(cluster.Check("firewall").state(), PASS);
}

TEST(CheckFirewalldStoredTest, FailsForPortsThatOnlyAReloadWouldOpen) {
  TestCluster cluster = FirewalldCluster();
  AllowPermanently(60000, 60031, "", cluster.facts[0].mutable_firewalld());
  EXPECT_EQ(Lines(cluster.Check("firewall")),
            "FAIL server0 open-after-reload state=firewalld is active, "
            "shut=TCP 60000-60031 from 172.16.0.2, ports=60000-60031, fix=" +
                FirewalldFix() + " && firewall-cmd --reload\n");
}

TEST(CheckFirewalldStoredTest, IsUnknownWithoutTheStoredRules) {
  TestCluster cluster = FirewalldCluster();
  FirewallFacts* firewalld = cluster.facts[0].mutable_firewalld();
  SetMissing(Missing::TIMED_OUT, "no answer in 10s",
             firewalld->mutable_allowed_permanently());
  // Ports closed now fail, even if they are stored as open.
  EXPECT_EQ(cluster.Check("firewall").state(), FAIL);
  Allow(60000, 60031, "", firewalld);
  EXPECT_THAT(cluster.Check("firewall"),
              Finds("UNKNOWN server0 not-known what=" +
                    Say("firewall-permanent-rules", "firewalld") +
                    ", reason=timed out: no answer in 10s, how-to-learn=" +
                    Say("learn-timed-out")));
  // Nothing of the kind is asked about ufw.
  TestCluster other = OpenPortsCluster();
  FirewallFacts* ufw = other.facts[0].mutable_ufw();
  Allow(60000, 60031, "", ufw);
  SetMissing(Missing::NOT_SUPPORTED, "", ufw->mutable_allowed_permanently());
  EXPECT_EQ(other.Check("firewall").state(), PASS);
}

TEST(CheckFirewallOpenPortsTest, WarnsOfRulesThatWouldShutAtBoot) {
  TestCluster cluster = OpenPortsCluster();
  FirewallFacts* ufw = cluster.facts[0].mutable_ufw();
  ufw->mutable_active()->set_value(false);
  ufw->mutable_enabled_at_boot()->set_value(true);
  EXPECT_EQ(cluster.Check("firewall").state(), WARN);
  ufw->clear_allowed();
  EXPECT_EQ(cluster.Check("firewall").state(), WARN);
  Allow(60000, 60031, "", ufw);
  EXPECT_EQ(cluster.Check("firewall").state(), PASS);
}

}  // namespace
}  // namespace clusterd
