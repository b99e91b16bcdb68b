#include "daemon/host/firewall/firewall_observer.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/host/command/posix_command_runner.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kStatus[] = "ufw status verbose";
constexpr char kState[] = "firewall-cmd --state";
constexpr char kDefaultZone[] = "firewall-cmd --get-default-zone";
constexpr char kZones[] = "firewall-cmd --list-all-zones";
constexpr char kStoredZones[] = "firewall-cmd --permanent --list-all-zones";

class FirewallObserverTest : public ::testing::Test {
 protected:
  FirewallObserverTest() {
    Install({"ufw"});
    root_.Write("/etc/ufw/ufw.conf", "ENABLED=no\n");
    root_.WriteProgram("/usr/bin/firewall-cmd", "#!/bin/sh\n");
    root_.Write("/usr/lib/systemd/system/firewalld.service", "[Unit]\n");
  }

  HostAccess Host() { return {root_.paths(), &runner_, &budget_}; }
  FirewallFacts Ufw() { return ReadUfw(Host()); }
  FirewallFacts Firewalld() { return ReadFirewalld(Host()); }
  DropRulesFact DropRules() {
    InterfacesFact interfaces;
    interfaces.mutable_value()->add_interfaces()->add_addresses("127.0.0.1");
    interfaces.mutable_value()->add_interfaces()->add_addresses("192.168.7.22");
    return ReadDropRules(Host(), interfaces);
  }
  Missing::Reason WhyUfwIsNotKnown() {
    return Ufw().active().missing().reason();
  }

  void Install(const std::vector<std::string>& programs) {
    for (const std::string& each : programs) {
      root_.WriteProgram("/usr/sbin/" + each, "#!/bin/sh\n");
    }
  }
  // firewalld runs with these zones, and has those stored.
  void RunFirewalld(const std::string& zones, const std::string& stored,
                    const std::string& default_zone = "public") {
    runner_.NowAnswers(kState, "running\n");
    runner_.NowAnswers(kDefaultZone, default_zone + "\n");
    runner_.NowAnswers(kZones, zones);
    runner_.NowAnswers(kStoredZones, stored);
  }

  ScratchRoot root_;
  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
  const TimeBudget budget_{&clock_, absl::Seconds(10), absl::Hours(1)};
};

TEST_F(FirewallObserverTest, SeesThatUfwIsNotInstalled) {
  root_.Remove("/usr/sbin/ufw");
  const FirewallFacts facts = Ufw();
  EXPECT_FALSE(facts.installed().value());
  EXPECT_EQ(facts.active().state_case(), BoolFact::STATE_NOT_SET);
  EXPECT_EQ(facts.enabled_at_boot().state_case(), BoolFact::STATE_NOT_SET);
  EXPECT_THAT(runner_.commands(), IsEmpty());
}

TEST_F(FirewallObserverTest, SeesInactiveUfw) {
  runner_.Answers(kStatus, "Status: inactive\n");
  const FirewallFacts facts = Ufw();
  EXPECT_TRUE(facts.installed().value());
  EXPECT_TRUE(facts.active().has_value());
  EXPECT_FALSE(facts.active().value());
  EXPECT_FALSE(facts.enabled_at_boot().value());
  EXPECT_EQ(facts.allowed().state_case(), AllowedFact::STATE_NOT_SET);
}

TEST_F(FirewallObserverTest, SeesActiveUfwWithItsRules) {
  root_.Write("/etc/ufw/ufw.conf", "ENABLED=yes\n");
  runner_.Answers(kStatus,
                  "Status: active\nLogging: on (low)\n"
                  "Default: deny (incoming), allow (outgoing), disabled "
                  "(routed)\nNew profiles: skip\n\n"
                  "To            Action      From\n"
                  "--            ------      ----\n"
                  "60000/tcp     ALLOW IN    Anywhere\n");
  const FirewallFacts facts = Ufw();
  ASSERT_THAT(facts, HasFields(R"(
      active { value: true } enabled_at_boot { value: true } allowed {
      value { ports { first_port: 60000 } } } allowed_permanently {
      missing { reason: NOT_SUPPORTED } })"));
}

TEST_F(FirewallObserverTest, KeepsActiveUfwApartFromRulesItCannotRead) {
  runner_.Answers(kStatus,
                  "Status: active\nDefault: deny (incoming), allow (outgoing)"
                  "\n\n--  ------  ----\n9 on eth0  ALLOW IN  Anywhere\n");
  const FirewallFacts facts = Ufw();
  EXPECT_TRUE(facts.active().value());
  EXPECT_EQ(facts.allowed().missing().reason(), Missing::UNREADABLE);
  EXPECT_THAT(facts.allowed().missing().detail(), HasSubstr("9 on eth0"));
}

TEST_F(FirewallObserverTest, NeverAsksSystemdAboutUfw) {
  root_.Link("/etc/systemd/system/multi-user.target.wants/ufw.service",
             "/usr/lib/systemd/system/ufw.service");
  runner_.Answers(kStatus, "Status: inactive\n");
  EXPECT_FALSE(Ufw().enabled_at_boot().value());
  EXPECT_EQ(runner_.commands().size(), 1u);
}

TEST_F(FirewallObserverTest, TakesUfwsSilenceAndRubbishForNoValue) {
  for (const char* error :
       {"ERROR: You need to be root to run this script\n",
        "ERROR: problem running iptables: iptables v1.8.9 (nf_tables): "
        "Could not fetch rule set generation id: Permission denied "
        "(you must be root)\n"}) {
    runner_.NowFails(kStatus, 1, error);
    EXPECT_EQ(WhyUfwIsNotKnown(), Missing::NOT_PERMITTED) << error;
  }
  runner_.NowHangs(kStatus);
  EXPECT_EQ(WhyUfwIsNotKnown(), Missing::TIMED_OUT);
  runner_.NowAnswers(kStatus, "Etat: actif\n");
  EXPECT_EQ(WhyUfwIsNotKnown(), Missing::UNREADABLE);
  runner_.NowFails(kStatus, 1, "ERROR: something\n");
  EXPECT_EQ(WhyUfwIsNotKnown(), Missing::TOOL_FAILED);
}

TEST_F(FirewallObserverTest, DoesNotRunAUfwThatAnybodyCouldReplace) {
  root_.SetMode("/usr/sbin", 0777);
  const FirewallFacts facts = Ufw();
  EXPECT_TRUE(facts.installed().value());
  EXPECT_EQ(facts.active().missing().reason(), Missing::NOT_PERMITTED);
  EXPECT_THAT(runner_.commands(), IsEmpty());
}

TEST_F(FirewallObserverTest, SaysThatFilesAreNotThere) {
  root_.Remove("/etc/ufw/ufw.conf");
  runner_.Answers(kStatus, "Status: inactive\n");
  EXPECT_EQ(Ufw().enabled_at_boot().missing().reason(), Missing::ABSENT);
  root_.Remove("/usr/bin/firewall-cmd");
  EXPECT_FALSE(Firewalld().installed().value());
}

TEST_F(FirewallObserverTest, SeesStoppedFirewalldThatStartsAtBoot) {
  root_.Link("/etc/systemd/system/multi-user.target.wants/firewalld.service",
             "/usr/lib/systemd/system/firewalld.service");
  runner_.Fails(kState, 252, "not running\n");
  const FirewallFacts facts = Firewalld();
  EXPECT_FALSE(facts.active().value());
  EXPECT_TRUE(facts.enabled_at_boot().value());
}

TEST_F(FirewallObserverTest, SeesRunningFirewalldWithItsRules) {
  // There was no reload since both were changed.
  RunFirewalld(
      "public (active)\n  target: default\n  interfaces: eth0\n"
      "  services: ssh\n  ports: 60000-60031/tcp\n",
      "public\n  target: default\n  interfaces: \n"
      "  services: ssh\n  ports: \n");
  runner_.Answers("firewall-cmd --info-service=ssh", "ssh\n  ports: 22/tcp\n");
  runner_.Answers("firewall-cmd --permanent --info-service=ssh",
                  "ssh\n  ports: 2222/tcp\n");
  const FirewallFacts facts = Firewalld();
  ASSERT_THAT(facts, HasFields(R"(
      active { value: true } enabled_at_boot { value: false } allowed {
      value { ports {} ports { first_port: 22 } } } allowed_permanently {
      value { ports { first_port: 2222 } } })"));
}

TEST_F(FirewallObserverTest, TellsOfZonesThatHaveInterfacesOfTheirOwn) {
  RunFirewalld(
      "docker (active)\n  target: ACCEPT\n  interfaces: docker0\n"
      "public (active)\n  target: default\n  interfaces: eth0\n"
      "  ports: 60000-60031/tcp\n"
      "work\n  target: default\n  interfaces: \n",
      "public\n  target: default\n  ports: 60000-60031/tcp\n");
  const FirewallFacts facts = Firewalld();
  EXPECT_EQ(facts.allowed().value().ports_size(), 1);
  EXPECT_EQ(facts.allowed_permanently().value().ports_size(), 1);
  ASSERT_EQ(facts.other_zones().value().zones_size(), 1);
  const FirewallZone& docker = facts.other_zones().value().zones(0);
  EXPECT_EQ(docker.name(), "docker");
  EXPECT_EQ(docker.interfaces(0), "docker0");
  EXPECT_EQ(docker.allowed().value().ports(0).last_port(), 65535u);
  EXPECT_EQ(docker.allowed_permanently().missing().reason(),
            Missing::UNREADABLE);
}

TEST_F(FirewallObserverTest, KeepsWhatRunsApartFromRulesItCannotRead) {
  RunFirewalld("public\n  target: default\n  ports: 60000/tcp\n",
               "public\n  target: default\n  forward-ports: \n"
               "\tport=1:proto=tcp:toport=2:toaddr=\n");
  FirewallFacts facts = Firewalld();
  EXPECT_EQ(facts.allowed().value().ports_size(), 1);
  const Missing stored = facts.allowed_permanently().missing();
  EXPECT_EQ(stored.reason(), Missing::UNREADABLE);
  EXPECT_THAT(stored.detail(), HasSubstr("toport=2"));
  runner_.NowHangs(kStoredZones);
  facts = Firewalld();
  EXPECT_EQ(facts.allowed().value().ports_size(), 1);
  EXPECT_EQ(facts.allowed_permanently().missing().reason(), Missing::TIMED_OUT);
  runner_.NowFails(kZones, 253,
                   "Authorization failed.\nError: AUTHORIZATION_FAILED\n");
  runner_.NowAnswers(kStoredZones, "public\n  target: default\n");
  facts = Firewalld();
  EXPECT_TRUE(facts.active().value());
  EXPECT_EQ(facts.allowed().missing().reason(), Missing::NOT_PERMITTED);
  EXPECT_TRUE(facts.allowed_permanently().has_value());
  // Without the default zone neither is known.
  runner_.NowHangs(kDefaultZone);
  facts = Firewalld();
  EXPECT_TRUE(facts.active().value());
  for (const Missing& missing :
       {facts.allowed().missing(), facts.allowed_permanently().missing(),
        facts.other_zones().missing()}) {
    EXPECT_EQ(missing.reason(), Missing::TIMED_OUT);
  }
}

constexpr char kListRules[] = "nft -n list ruleset";

TEST_F(FirewallObserverTest, FindsRulesOfNeitherFirewallOnce) {
  EXPECT_TRUE(DropRules().has_value());  // No program can make rules.
  EXPECT_THAT(runner_.commands(), IsEmpty());
  constexpr char kRules[] =
      "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -p tcp --dport 60000:60031 -j "
      "DROP\nCOMMIT\n";
  Install({"iptables-save", "iptables-nft-save", "nft"});
  runner_.Answers("iptables-save", kRules);
  runner_.Answers("iptables-nft-save", kRules);
  runner_.Answers(kListRules, "");
  const DropRulesFact fact = DropRules();
  ASSERT_EQ(fact.value().rules_size(), 1) << fact.DebugString();
  EXPECT_EQ(fact.value().rules(0).ports(), "60000-60031");
}

constexpr char kNftablesService[] =
    "table ip filter {\n\tchain input {\n\t\ttype filter hook input priority "
    "0; policy drop;\n\t}\n}\n";

TEST_F(FirewallObserverTest, FindsThePolicyOfNftablesBesideIptables) {
  // iptables-save listed nothing, and the policy was not read.
  Install({"iptables-save", "iptables-nft-save", "nft"});
  for (const char* save : {"iptables-save", "iptables-nft-save"}) {
    runner_.Answers(save,
                    "# Table `filter' is incompatible, use 'nft' tool.\n");
  }
  runner_.Answers(kListRules, kNftablesService);
  DropRulesFact fact = DropRules();
  ASSERT_EQ(fact.value().rules_size(), 1) << fact.DebugString();
  EXPECT_EQ(fact.value().rules(0).surely_ports(), "0-65535");
  root_.Remove("/usr/sbin/nft");
  EXPECT_THAT(DropRules().missing().detail(),
              HasSubstr("table filter takes the program nft"));
  // With the legacy iptables.
  root_.Remove("/usr/sbin/iptables-nft-save");
  Install({"iptables-legacy-save", "nft"});
  for (const char* save : {"iptables-save", "iptables-legacy-save"}) {
    runner_.NowAnswers(save,
                       "# Generated by iptables-save v1.8.9 on Mon Nov 23\n"
                       "*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n");
  }
  EXPECT_EQ(DropRules().value().rules_size(), 1);
}

// The rules of thousands of kube-proxy services were "endless output".
TEST_F(FirewallObserverTest, ReadsTheRulesOfAKubernetesHost) {
  root_.WriteProgram(
      "/usr/sbin/iptables-save",
      "#!/bin/sh\necho '*filter\n:INPUT ACCEPT [0:0]\n:KUBE - [0:0]'\n"
      "yes -- '-A KUBE -d 10.96.0.1/32 -p tcp -m comment --comment \"a long "
      "name of a service\" -m tcp --dport 443 -j KUBE' | head -n 20000\n"
      "echo COMMIT\n");
  PosixCommandRunner runner;
  const TimeBudget budget(&clock_, kPatience, kPatience);
  const DropRulesFact fact =
      ReadDropRules({root_.paths(), &runner, &budget}, {});
  EXPECT_TRUE(fact.has_value()) << fact.DebugString();
}

// It knows them by name, output or link target.
TEST_F(FirewallObserverTest, LeavesToIptablesWhatItListsWhole) {
  constexpr char kSave[] =
      "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -p tcp --dport 7 -j DROP\n"
      "COMMIT\n";
  constexpr char kSame[] =
      "table ip filter {\n\tchain INPUT {\n\t\ttype filter hook input priority "
      "0; policy accept;\n\t\ttcp dport 7 counter packets 0 bytes 0 drop\n"
      "\t}\n}\n";
  Install({"nft", "iptables-nft-save"});
  runner_.Answers(kListRules, kSame);
  runner_.Answers("iptables-nft-save", kSave);
  EXPECT_EQ(DropRules().value().rules_size(), 1);
  root_.Remove("/usr/sbin/iptables-nft-save");
  Install({"iptables-save"});
  runner_.Answers("iptables-save",
                  std::string("# Generated by iptables-save v1.8.9 (nf_tables) "
                              "on Mon Nov 23\n") +
                      kSave);
  EXPECT_EQ(DropRules().value().rules_size(), 1);
  root_.Remove("/usr/sbin/iptables-save");
  Install({"xtables-nft-multi"});
  root_.Link("/usr/sbin/iptables-save", "xtables-nft-multi");
  runner_.NowAnswers("iptables-save", kSave);
  EXPECT_EQ(DropRules().value().rules_size(), 1);
}

TEST_F(FirewallObserverTest, LeavesOutDockersRulesForItsContainers) {
  Install({"iptables-save"});
  runner_.Answers("iptables-save",
                  "*raw\n:PREROUTING ACCEPT [0:0]\n"
                  "-A PREROUTING -d 172.17.0.2/32 ! -i docker0 -j DROP\n"
                  "COMMIT\n");
  EXPECT_TRUE(DropRules().has_value());
  EXPECT_EQ(DropRules().value().rules_size(), 0);
}

// The zones home and internal have this service as firewalld ships them.
TEST_F(FirewallObserverTest, AddsTheServicesThatAServiceIncludes) {
  constexpr char kHome[] =
      "home\n  target: default\n  services: samba-client\n";
  RunFirewalld(kHome, kHome, "home");
  for (const char* stored : {"", "--permanent "}) {
    const std::string command = absl::StrCat("firewall-cmd ", stored);
    runner_.Answers(command + "--info-service=samba-client",
                    "samba-client\n  ports: 138/udp\n  includes: netbios-ns\n");
    runner_.Answers(command + "--info-service=netbios-ns",
                    "netbios-ns\n  ports: 137/udp\n  includes: \n");
  }
  const FirewallFacts facts = Firewalld();
  ASSERT_EQ(facts.allowed().value().ports_size(), 2) << facts.DebugString();
  EXPECT_EQ(facts.allowed().value().ports(1).first_port(), 137u);
  // A service that includes itself ends the search.
  runner_.NowAnswers("firewall-cmd --info-service=netbios-ns",
                     "netbios-ns\n  ports: \n  includes: netbios-ns\n");
  EXPECT_EQ(Firewalld().allowed().value().ports_size(), 1);
}

// Each address that fail2ban blocks is a rule: hundreds are normal.
TEST_F(FirewallObserverTest, AddsUpRulesBeyondThoseThatItLists) {
  Install({"iptables-save"});
  std::string rules = "*filter\n:INPUT ACCEPT [0:0]\n";
  for (int i = 0; i < 200; ++i) {
    rules +=
        absl::StrCat("-A INPUT -s 10.0.0.", i, "/32 -p tcp -m tcp --dport ",
                     22 + i % 2, " -j REJECT\n");
  }
  runner_.Answers("iptables-save", rules + "COMMIT\n");
  const DropRulesFact fact = DropRules();
  ASSERT_EQ(fact.value().rules_size(), 65);
  EXPECT_EQ(fact.value().rules(64).ports(), "22-23");
  EXPECT_THAT(fact.value().rules(64).text(), HasSubstr("136 more"));
  runner_.NowAnswers("iptables-save", rules +
                                          "-A INPUT -s 10.1.0.0/16 -j DROP\n"
                                          "COMMIT\n");
  EXPECT_EQ(DropRules().value().rules(64).ports(), "");
}

TEST_F(FirewallObserverTest, DoesNotKnowTheRulesThatItMayNotRead) {
  Install({"nft"});
  runner_.Fails(kListRules, 1,
                "netlink: Error: cache initialization failed: Operation not "
                "permitted\n");
  EXPECT_THAT(DropRules().missing().detail(), HasSubstr("not permitted"));
}

}  // namespace
}  // namespace clusterd
