// A super pod with the real programs: the rank table uses the places that the
// chips report, and a check finds a wrong place.
#include <string>
#include <vector>

#include "config/launch/rank_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/demo_cluster.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// Only HCCS: devices have no address.
constexpr char kSpec[] = R"(version: 1
name: demo
product: atlas-a3-superpod
roce: unused
servers:
  - hosts: server[0-1]
    address: 192.168.7.[22-23]
kernel: {somaxconn: 65535, tcp_max_syn_backlog: 65535, persistent: true}
firewall: disabled
deadlines: {command: 1m, host: 10m, run: 20m}
)";

TEST(SuperPodTest, HasARankTableOfItsOwnNumbersAndChecksThem) {
  DemoCluster cluster(kSpec, {"server0", "server1"});
  cluster.StartAll();
  const std::string path = cluster.folder() + "/table.json";
  const std::vector<std::string> job = {"--nodes", "server[0-1]", "--devices",
                                        "16"};
  std::vector<std::string> generate = {"generate", "ranktable", "-o", path};
  generate.insert(generate.end(), job.begin(), job.end());
  const ProcessResult written = cluster.RunClusterctl(generate);
  ASSERT_EQ(written.exit_status, 0)
      << written.standard_output << written.standard_error;
  const auto table = ParseRankTable(TextOfFile(path));
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->version, "1.2");
  ASSERT_EQ(table->super_pods.size(), 1u);
  EXPECT_EQ(table->super_pods[0].super_pod_id, "0");
  // Server 1, chip 1, die 1.
  EXPECT_EQ(table->servers[1].devices[3].super_device_id,
            (1u << 22) + (1u << 18) + (1u << 16) + 3);

  std::vector<std::string> check = {"--rank-table", path};
  check.insert(check.end(), job.begin(), job.end());
  const CheckOutcome good = cluster.Check(check);
  EXPECT_EQ(StateOf(good.report, "rank-table"), PASS)
      << good.process.standard_output << good.process.standard_error;
  cluster.SetFault("server1", "3:sdid=0");
  cluster.SetFault("server0", "5:server_index=9");
  const CheckOutcome bad = cluster.Check(check);
  EXPECT_EQ(bad.process.exit_status, 1) << bad.process.standard_output;
  const std::string places = Shown(bad.report, "subnet-superpod");
  EXPECT_THAT(places, HasSubstr("have SDID 0"));
  EXPECT_THAT(places, HasSubstr("Server Index 9"));
  EXPECT_THAT(Shown(bad.report, "rank-table"), HasSubstr("has SDID 0"));
}

}  // namespace
}  // namespace clusterd
