#include "config/rules/host_rules.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(HcclPortsTest, CountsFromTheBasePort) {
  ClusterSpec spec;
  spec.mutable_hccl()->set_base_port(50000);
  spec.mutable_hccl()->set_port_count(16);
  EXPECT_EQ(HcclPorts(spec).ToString(), "50000-50015");
}

TEST(HcclPortsTest, TakesHcclsDefaultsWithoutASpec) {
  EXPECT_EQ(HcclPorts(ClusterSpec()).ToString(), "60000-60031");
}

TEST(HcclPortsTest, EndsAtTheLastPort) {
  ClusterSpec spec;
  spec.mutable_hccl()->set_base_port(65520);
  spec.mutable_hccl()->set_port_count(32);
  EXPECT_EQ(HcclPorts(spec).ToString(), "65520-65535");
  spec.mutable_hccl()->set_base_port(UINT32_MAX);
  EXPECT_EQ(HcclPorts(spec).ToString(), "65535");
}

TEST(JobPortsTest, AddsRendezvousAndSshWhereTheyAreSet) {
  ClusterSpec spec;
  spec.set_rendezvous_port(29500);
  EXPECT_EQ(JobPorts(spec).ToString(), "29500,60000-60031");
  spec.set_ssh_port(2222);
  EXPECT_EQ(JobPorts(spec).ToString(), "2222,29500,60000-60031");
}

TEST(CheckPortsReservedTest, PassesWithOtherReservationsAndSpellings) {
  TestCluster cluster;
  cluster.facts[0].mutable_kernel()->mutable_reserved_ports()->set_value(
      "8080,60000-60007,60008-60040\n");
  const RuleResult result = cluster.Check("ports-reserved");
  EXPECT_EQ(result.state(), PASS);
  EXPECT_EQ(result.summary(), "2 hosts");
}

TEST(CheckPortsReservedTest, FailsWithTheListThatKeepsOtherReservations) {
  TestCluster cluster;
  cluster.facts[1].mutable_kernel()->mutable_reserved_ports()->set_value(
      "8080,60000-60015");
  EXPECT_EQ(Lines(cluster.Check("ports-reserved")),
            "FAIL server1 8080,60000-60015 reserved, lacks 60016-60031 | "
            "60000-60031 reserved | sysctl -w "
            "net.ipv4.ip_local_reserved_ports=8080,60000-60031\n");
}

TEST(CheckPortsReservedTest, FoldsHostsThatLackTheSame) {
  TestCluster cluster;
  for (HostFacts& host : cluster.facts) {
    host.mutable_kernel()->mutable_reserved_ports()->set_value("\n");
  }
  const RuleResult result = cluster.Check("ports-reserved");
  ASSERT_EQ(result.findings_size(), 1);
  EXPECT_EQ(Who(result.findings(0)), "server0 server1");
  EXPECT_THAT(result.findings(0).observed(), HasSubstr("nothing reserved"));
}

TEST(CheckPortsReservedTest, NamesANetworkNamespaceOfItsOwn) {
  TestCluster cluster;
  KernelFacts* kernel = cluster.facts[0].mutable_kernel();
  kernel->mutable_reserved_ports()->set_value("");
  kernel->mutable_initial_namespace()->set_value(false);
  kernel->mutable_network_namespace()->set_value(4026532000);
  EXPECT_THAT(Lines(cluster.Check("ports-reserved")),
              HasSubstr("(in network namespace 4026532000, not that of "
                        "process 1)"));
}

TEST(CheckPortsReservedTest, DoesNotUnderstandAMalformedList) {
  TestCluster cluster;
  cluster.facts[0].mutable_kernel()->mutable_reserved_ports()->set_value("all");
  const RuleResult result = cluster.Check("ports-reserved");
  EXPECT_EQ(result.state(), UNKNOWN);
  EXPECT_THAT(Lines(result), HasSubstr("\"all\""));
  EXPECT_EQ(result.summary(), "1 of 2 hosts");
}

TEST(CheckPortsReservedTest, TellsAMissingKeyFromAMissingAnswer) {
  TestCluster cluster;
  SetMissing(Missing::ABSENT, "no such file",
             cluster.facts[0].mutable_kernel()->mutable_reserved_ports());
  SetMissing(Missing::NOT_PERMITTED, "open: permission denied",
             cluster.facts[1].mutable_kernel()->mutable_reserved_ports());
  const std::string lines = Lines(cluster.Check("ports-reserved"));
  EXPECT_THAT(lines, HasSubstr("UNKNOWN server0 "
                               "net.ipv4.ip_local_reserved_ports does not "
                               "exist"));
  EXPECT_THAT(lines, HasSubstr("--network=host"));
  EXPECT_THAT(lines, HasSubstr("not permitted: open: permission denied"));
}

void AddSocket(uint32_t port, uint32_t pid, const std::string& command,
               const std::string& state, HostFacts* host) {
  BoundSocket* socket = host->mutable_sockets()->mutable_value()->add_sockets();
  socket->set_port(port);
  socket->set_protocol("tcp");
  socket->set_address("0.0.0.0");
  socket->set_state(state);
  socket->set_pid(pid);
  socket->set_command(command);
}

TEST(CheckPortsFreeTest, NamesPortProcessAndCommand) {
  TestCluster cluster;
  AddSocket(60003, 4711, "python3", "LISTEN", &cluster.facts[1]);
  AddSocket(60004, 4711, "python3", "LISTEN", &cluster.facts[1]);
  EXPECT_EQ(Lines(cluster.Check("ports-free")),
            "FAIL server1 tcp 0.0.0.0 port 60003 LISTEN, tcp 0.0.0.0 port "
            "60004 LISTEN, held by pid 4711 (python3) | nothing bound in "
            "60000-60031 | if the process may end: kill 4711; else choose "
            "other ports in cluster.yaml\n");
}

TEST(CheckPortsFreeTest, CoversRendezvousAndSshPort) {
  TestCluster cluster;
  cluster.spec.set_rendezvous_port(29500);
  cluster.spec.set_ssh_port(2222);
  AddSocket(29500, 1, "torchrun", "LISTEN", &cluster.facts[0]);
  AddSocket(2222, 2, "sshd", "LISTEN", &cluster.facts[1]);
  const std::string lines = Lines(cluster.Check("ports-free"));
  EXPECT_THAT(lines, HasSubstr("FAIL server0 tcp 0.0.0.0 port 29500"));
  EXPECT_THAT(lines, HasSubstr("FAIL server1 tcp 0.0.0.0 port 2222"));
}

TEST(CheckPortsFreeTest, IgnoresPortsThatNoJobNeeds) {
  TestCluster cluster;
  AddSocket(22, 1, "sshd", "LISTEN", &cluster.facts[0]);
  AddSocket(59999, 1, "other", "LISTEN", &cluster.facts[0]);
  EXPECT_EQ(cluster.Check("ports-free").state(), PASS);
}

TEST(CheckPortsFreeTest, OnlyWarnsOfAConnectionThatClosesByItself) {
  TestCluster cluster;
  AddSocket(60003, 0, "", "TIME_WAIT", &cluster.facts[0]);
  const RuleResult result = cluster.Check("ports-free");
  EXPECT_EQ(result.state(), WARN);
  EXPECT_THAT(Lines(result), HasSubstr("wait a minute"));
}

TEST(CheckPortsFreeTest, SaysHowToFindAnOwnerThatIsNotVisible) {
  TestCluster cluster;
  AddSocket(60003, 0, "", "LISTEN", &cluster.facts[0]);
  EXPECT_THAT(Lines(cluster.Check("ports-free")),
              HasSubstr("ss -tulnap 'sport = :60003'"));
}

TEST(CheckPortsFreeTest, ShowsAHostileCommandWithoutItsControlCharacters) {
  TestCluster cluster;
  AddSocket(60003, 7, "x\x1b]0;owned\x07", "LISTEN", &cluster.facts[0]);
  EXPECT_THAT(Lines(cluster.Check("ports-free")), Not(HasSubstr("\x1b")));
}

TEST(CheckPortsFreeTest, CutsALongListOfSockets) {
  TestCluster cluster;
  for (int i = 0; i < 32; ++i) {
    AddSocket(60000 + i, 7, "python3", "LISTEN", &cluster.facts[0]);
  }
  EXPECT_THAT(Lines(cluster.Check("ports-free")), HasSubstr("and 24 more"));
}

TEST(CheckPortsFreeTest, CutsALongListOfOwners) {
  TestCluster cluster;
  for (int i = 1; i <= 1000; ++i) {
    AddSocket(60000, i, "python3", "LISTEN", &cluster.facts[0]);
  }
  const RuleResult result = cluster.Check("ports-free");
  ASSERT_EQ(result.findings_size(), 17);
  EXPECT_THAT(result.findings(16).observed(), HasSubstr("984 more owners"));
}

TEST(CheckPortsFreeTest, IsUnknownWithoutTheSockets) {
  TestCluster cluster;
  SetMissing(Missing::UNREADABLE, "/proc/net/tcp: line 3",
             cluster.facts[0].mutable_sockets());
  const RuleResult result = cluster.Check("ports-free");
  EXPECT_EQ(result.state(), UNKNOWN);
  EXPECT_THAT(Lines(result), HasSubstr("/proc/net/tcp: line 3"));
}

}  // namespace
}  // namespace clusterd
