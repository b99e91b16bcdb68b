// Learns cluster.yaml from existing servers and checks them against it, with
// the real programs.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/demo_cluster.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kHosts = {"server0", "server1", "server2"};

// Learns from the servers of `spec`, where server2 has a smaller backlog, and
// checks them against the learned spec.
void LearnAndCheck(const std::string& spec, const std::string& tool,
                   const std::string& product) {
  DemoCluster cluster(spec, kHosts, tool);
  cluster.SetFault("server2", "host:somaxconn=128");
  const std::string path = cluster.folder() + "/cluster.yaml";
  std::filesystem::remove(path);
  cluster.StartController({"--learn"});
  for (const std::string& host : kHosts) cluster.StartHost(host);
  // All of them connect from 127.0.0.1.
  const std::string hosts = cluster.folder() + "/hosts.txt";
  std::ofstream(hosts) << "192.168.7.22 server0\n192.168.7.23 server1\n"
                          "192.168.7.24 server2\n";
  const ProcessResult learned = cluster.RunClusterctl(
      {"config", "learn", "--hosts-file", hosts, "-o", path});
  ASSERT_EQ(learned.exit_status, 0) << learned.standard_error;
  EXPECT_THAT(learned.standard_error, HasSubstr("3 servers: devices 0-"));
  EXPECT_THAT(learned.standard_error,
              HasSubstr("exception: server2: net.core.somaxconn is 128, "
                        "expected at least 65535\n"));
  EXPECT_THAT(learned.standard_error, HasSubstr("; 1 exception\n"));
  const std::string yaml = TextOfFile(path);
  EXPECT_THAT(yaml, HasSubstr("product: " + product + "\n"));
  // Deadlines for a loaded machine.
  std::ofstream(path, std::ios::app)
      << "deadlines: {command: 1m, host: 10m, run: 20m}\n";
  cluster.controller().Signal(SIGHUP);
  cluster.controller().ExpectError("read again");
  const CheckOutcome outcome = cluster.Check();
  EXPECT_EQ(outcome.report.hosts_size(), 3);
  for (const RuleResult& rule : outcome.report.rules()) {
    const bool is_exception = rule.rule() == "listen-backlog";
    EXPECT_EQ(rule.state() == FAIL || rule.state() == UNKNOWN, is_exception)
        << rule.ShortDebugString() << yaml;
  }
}

TEST(LearnClusterTest, ServersOfAClassicToolAreLearnedAndChecked) {
  LearnAndCheck(DemoSpec(3), "tests/sim/hccn_tool", "atlas-training");
}

// The spec does not name the product, which has its own command line.
TEST(LearnClusterTest, ServersOfAnAscend950AreLearnedAndChecked) {
  LearnAndCheck(R"(version: 1
name: demo
product: ascend-950
servers:
  - hosts: server[0-2]
    address: 192.168.7.[22-24]
devices:
  rails:
    - {device: 0-7, subnet: 10.51.0.0/24, host: 1 + 8*n + d}
  gateway: 254
  detect_address: gateway
kernel: {somaxconn: 65535, tcp_max_syn_backlog: 65535, persistent: true}
firewall: disabled
tls: false
mtu: 4200
)",
                "tests/sim/ascend950/hccn_tool_950", "ascend-950");
}

}  // namespace
}  // namespace clusterd
