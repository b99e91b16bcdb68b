#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/rules/host_rules.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/sim/facts/healthy_ssh.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::HasSubstr, ::testing::Not;

// An MPI job of healthy servers, with containers that are started.
TestCluster Launched(int servers = 4, bool before = false) {
  TestCluster cluster("atlas-a2", "", servers);
  JobSsh* const ssh = cluster.StartJob().mutable_ssh();
  ssh->set_user("ann");
  ssh->set_container_port(12345);
  ssh->set_before(before);
  const SshQuestion question = MakeSshQuestion(cluster.spec, *ssh);
  for (HostFacts& host : cluster.facts) {
    *host.mutable_ssh() = MakeHealthySsh(host.host(), question);
  }
  return cluster;
}

SshFact::Ssh& SshOf(TestCluster& cluster, int host) {
  return *cluster.facts[host].mutable_ssh()->mutable_value();
}

SshServer& Container(TestCluster& cluster, int host) {
  return *SshOf(cluster, host).mutable_servers(1);
}

// Breaks logins from the host to a server, on every port.
void Break(TestCluster& cluster, int from, const std::string& to,
           const std::string& error, const std::string& stale = "") {
  for (SshLogin& login : *SshOf(cluster, from).mutable_logins()) {
    if (login.host() != to) continue;
    login.set_works(false);
    login.set_error(error);
    login.set_stale_entry(stale);
    if (absl::StartsWith(error, "no answer")) login.set_no_answer(true);
  }
}

std::string Check(const TestCluster& cluster) {
  return Lines(cluster.Check("ssh-ready"));
}

TEST(SshReadyTest, PassesWhereEveryLoginWorks) {
  for (const int servers : {1, 2, 4, 65}) {
    EXPECT_EQ(Check(Launched(servers)), "") << servers;
    EXPECT_EQ(Launched(servers).Check("ssh-ready").state(), PASS) << servers;
    EXPECT_EQ(Launched(servers, true).Check("ssh-ready").state(), PASS);
  }
  EXPECT_THAT(Launched(65).Check("ssh-ready").summary(),
              HasSubstr(Say("ssh-tried", 64, Counted(65, "server"))));
  EXPECT_THAT(Launched().Check("ssh-ready").summary(),
              HasSubstr(Say("ssh-unseen-configs", Counted(4, "host"))));
}

TEST(SshReadyTest, IsSkippedWithoutAJobThatLogsIn) {
  TestCluster cluster;
  EXPECT_EQ(cluster.Check("ssh-ready").state(), SKIPPED);
  cluster.StartJob();
  EXPECT_EQ(cluster.Check("ssh-ready").state(), SKIPPED);
}

TEST(SshReadyTest, OneServerThatLacksTheKeyIsOneFindingOfAllHosts) {
  TestCluster cluster = Launched();
  for (int i = 0; i < 4; ++i) {
    Break(cluster, i, "server2",
          "ann@172.16.0.3: Permission denied (publickey).");
  }
  const RuleResult result = cluster.Check("ssh-ready");
  EXPECT_EQ(result.findings_size(), 2);  // One a port.
  EXPECT_EQ(Who(result.findings(0)), "server0 server1 server2 server3");
  EXPECT_THAT(
      result,
      Finds("no-key user=ann, port=22, hosts=server2, tried=1 of 4 servers, "
            "commands=ssh-copy-id -i ~/.ssh/id_rsa.pub ann@172.16.0.3",
            "ssh-copy-id -i ~/.ssh/id_rsa.pub -p 12345 ann@172.16.0.3"));
}

TEST(SshReadyTest, AStaleEntryComesWithTheLineThatDropsIt) {
  TestCluster cluster = Launched();
  Break(cluster, 0, "server1", "Host key verification failed.",
        "/home/ann/.ssh/known_hosts:4");
  EXPECT_THAT(
      Check(cluster),
      AllOf(HasSubstr(
                "FAIL server0 stale-key user=ann, port=12345, hosts=server1, "
                "tried=1 of 4 servers, entries=/home/ann/.ssh/known_hosts:4, "
                "commands=ssh-keygen -f '/home/ann/.ssh/known_hosts' -R "
                "\"[172.16.0.2]:12345\""),
            HasSubstr(
                "ssh-keygen -f '/home/ann/.ssh/known_hosts' -R 172.16.0.2\n")));
  // ssh does not mind this one.
  TestCluster minor = Launched();
  SshOf(minor, 0).mutable_logins(2)->set_stale_entry("known_hosts:4");
  EXPECT_EQ(minor.Check("ssh-ready").state(), WARN);
}

TEST(SshReadyTest, EveryWordOfSshHasItsFinding) {
  const struct {
    const char* error;
    State state;
    const char* words;
  } cases[] = {
      {"Host key verification failed.", FAIL,
       "unknown-key user=ann, port=12345, hosts=server1, tried=1 of 4 servers, "
       "commands=ssh-keyscan -p 12345"},
      {"ssh: connect to host 172.16.0.2 port 22: Connection refused", FAIL,
       "refused user=ann, port=12345, hosts=server1, tried=1 of 4 servers"},
      {"ssh: connect to host 172.16.0.2 port 22: No route to host", FAIL,
       "FAIL server0 unreachable user=ann, port=22, hosts=server1, tried=1 of "
       "4 servers\n"},
      {"Connection timed out during banner exchange", FAIL,
       "FAIL server0 unreachable user=ann, "},
      {"no answer in 10s (deadlines.command)", UNKNOWN,
       "UNKNOWN server0 no-answer user=ann, port=22, hosts=server1, tried=1 of "
       "4 servers, error=no answer in 10s (deadlines.command), "},
      {"kex_exchange_identification: Connection closed by remote host", UNKNOWN,
       "UNKNOWN server0 no-answer user=ann, "},
      {"This account is currently not available.", FAIL,
       "login-fails user=ann, port=22, hosts=server1, tried=1 of 4 servers, "
       "error=This account is currently not available., commands=ssh -o "
       "BatchMode=yes ann@172.16.0.2 true"},
      {"", FAIL, "FAIL server0 login-fails user=ann, "}};
  for (const auto& each : cases) {
    TestCluster cluster = Launched();
    Break(cluster, 0, "server1", each.error);
    EXPECT_EQ(cluster.Check("ssh-ready").state(), each.state) << each.error;
    EXPECT_THAT(Check(cluster), HasSubstr(each.words)) << each.error;
  }
}

TEST(SshReadyTest, WhatWasNotTriedIsUnknown) {
  TestCluster cluster = Launched();
  SshOf(cluster, 0).mutable_logins()->DeleteSubrange(4, 4);
  EXPECT_EQ(cluster.Check("ssh-ready").state(), UNKNOWN);
  EXPECT_THAT(Check(cluster),
              HasSubstr("not-tried tried=2, wanted=4, port=12345"));
  // Logins to other hosts, and repeated ones, are not counted.
  cluster = Launched();
  for (SshLogin& login : *SshOf(cluster, 0).mutable_logins()) {
    login.set_host(login.host() == "server3" ? "server2" : login.host());
  }
  EXPECT_THAT(Check(cluster),
              HasSubstr("not-tried tried=3, wanted=4, port=22"));
  SshOf(cluster, 1).mutable_logins(0)->set_host("elsewhere");
  EXPECT_EQ(cluster.Check("ssh-ready").state(), UNKNOWN);
}

TEST(SshReadyTest, BeforeTheStartThePortOfTheContainersMustBeUnused) {
  TestCluster cluster = Launched(4, true);
  Container(cluster, 1).set_command("nginx");
  Container(cluster, 1).set_pid(77);
  EXPECT_THAT(
      Check(cluster),
      HasSubstr("FAIL server1 used-before port=12345, who=nginx (pid 77)"));
}

TEST(SshReadyTest, AfterTheStartAnSshdMustAnswerThere) {
  TestCluster cluster = Launched();
  Container(cluster, 0).clear_command();
  Container(cluster, 1).set_command("nginx");
  Container(cluster, 1).set_answers(false);
  EXPECT_THAT(
      Check(cluster),
      AllOf(HasSubstr("FAIL server0 no-listener port=12345, start=" +
                      Say("ssh-start-in-container", 12345)),
            HasSubstr("FAIL server1 no-greeting port=12345, "
                      "address=172.16.0.2, who=nginx (pid 5012), start=" +
                      Say("ssh-start-in-container", 12345))));
}

TEST(SshReadyTest, ASeenConfigurationMustHaveThePort) {
  TestCluster cluster = Launched();
  Container(cluster, 0).clear_config_missing();
  Container(cluster, 0).set_host_keys(1);
  EXPECT_EQ(cluster.Check("ssh-ready").state(), WARN);
  Container(cluster, 0).set_answers(false);
  EXPECT_THAT(Check(cluster), HasSubstr("no-port port=12345, start=" +
                                        Say("ssh-start-in-container", 12345)));
  TestCluster unread = Launched();
  SshOf(unread, 0).mutable_servers(0)->mutable_config_missing()->set_reason(
      Missing::TIMED_OUT);
  EXPECT_EQ(unread.Check("ssh-ready").state(), UNKNOWN);
}

TEST(SshReadyTest, AnSshdOnEveryAddressOrAShellThatExportsLessIsAWarning) {
  TestCluster cluster = Launched();
  Container(cluster, 0).set_listen_addresses(0, "0.0.0.0:12345");
  EXPECT_EQ(Check(cluster),
            "WARN server0 every-address port=12345, listens=0.0.0.0:12345, "
            "address=172.16.0.1\n");
  cluster = Launched();
  SshOf(cluster, 0).add_not_exported("LD_LIBRARY_PATH");
  EXPECT_EQ(cluster.Check("ssh-ready").state(), WARN);
  EXPECT_THAT(
      Check(cluster),
      HasSubstr("not-exported names=LD_LIBRARY_PATH, user=ann, port=12345"));
  TestCluster unknown = Launched();
  SshOf(unknown, 0)
      .mutable_environment_missing()
      ->set_reason(Missing::TIMED_OUT);
  EXPECT_EQ(unknown.Check("ssh-ready").state(), UNKNOWN);
}

TEST(SshReadyTest, AHostThatDoesNotAllowItSaysWhatToWriteWhere) {
  TestCluster cluster = Launched();
  SetMissing(Missing::NOT_PERMITTED, "", cluster.facts[0].mutable_ssh());
  cluster.Set(0, "allows {kinds: 'observe' file: '/etc/clusterd/agent.yaml'}");
  EXPECT_THAT(Check(cluster), HasSubstr("UNKNOWN server0 not-allowed how=" +
                                        Say("plan-say-allow-put",
                                            "\"allow: [observe, ssh-login]\"",
                                            "/etc/clusterd/agent.yaml")));
}

TEST(SshReadyTest, AnAnswerToAnotherQuestionIsNone) {
  TestCluster cluster = Launched();
  SshOf(cluster, 0).set_user("bob");
  SshOf(cluster, 1).mutable_servers()->RemoveLast();
  const RuleResult result = cluster.Check("ssh-ready");
  EXPECT_EQ(result.state(), UNKNOWN);
  EXPECT_EQ(Who(result.findings(0)), "server0 server1");
}

TEST(SshReadyTest, AHostsOwnWordsAreQuotedForTheShell) {
  TestCluster cluster = Launched();
  Break(cluster, 0, "server1", "Host key verification failed.",
        "/home/ann/$(id)';reboot\x1b[2J:4");
  EXPECT_THAT(Check(cluster), Not(HasSubstr("\x1b")));
  EXPECT_THAT(Check(cluster), Not(HasSubstr("-f /home/ann/$(id)")));
}

TEST(MakeObserveRequestTest, AsksAboutSshOnlyForAJobThatLogsIn) {
  TestCluster cluster = Launched();
  EXPECT_FALSE(MakeObserveRequest(cluster.spec).has_ssh());
  const ObserveRequest request =
      MakeObserveRequest(cluster.spec, NetworkNamespace(), &*cluster.job);
  EXPECT_EQ(request.ssh().user(), "ann");
  EXPECT_EQ(request.ssh().container_port(), 12345u);
  EXPECT_EQ(request.ssh().peers_size(), 4);
  EXPECT_EQ(request.ssh().peers(3).address(), "172.16.0.4");
  EXPECT_EQ(request.ssh().needed_variables(0), "LD_LIBRARY_PATH");
}

}  // namespace
}  // namespace clusterd
