#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

constexpr char kGoodSpec[] = R"(version: 1
name: demo
product: atlas-training
servers:
  - hosts: server[0-1]
    address: 192.168.7.[22-23]
devices:
  netmask: 255.255.255.0
  addresses:
    server0: [192.168.100.101, 192.168.101.101, 192.168.102.101, 192.168.103.101,
              192.168.100.100, 192.168.101.100, 192.168.102.100, 192.168.103.100]
    server1: [192.168.100.111, 192.168.101.111, 192.168.102.111, 192.168.103.111,
              192.168.100.110, 192.168.101.110, 192.168.102.110, 192.168.103.110]
)";

TEST(ConfigValidateTest, SummarisesAFileThatIsRight) {
  const std::string path = TestFile("cluster.yaml", kGoodSpec);
  const ProgramOutput output = RunProgram({"config", "validate", path});
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_TRUE(absl::StartsWith(
      output.out,
      absl::StrCat(path, ": OK: cluster demo, 2 servers, 16 devices, ")))
      << output.out;
  EXPECT_EQ(output.err, "");
}

TEST(ConfigValidateTest, NamesEveryMistakeWithItsPlace) {
  const std::string path = TestFile(
      "cluster.yaml", absl::StrCat(kGoodSpec, "nmae: x\nfirewall: of\n"));
  const ProgramOutput output = RunProgram({"config", "validate", path});
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(output.out, "");
  EXPECT_TRUE(absl::StrContains(output.err, absl::StrCat(path, ":14:1: ")))
      << output.err;
  EXPECT_TRUE(absl::StrContains(output.err, absl::StrCat(path, ":15:")))
      << output.err;
}

TEST(ConfigValidateTest, SaysThatThereIsNoFile) {
  const ProgramOutput output =
      RunProgram({"config", "validate", "/nonexistent/c.yaml"});
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(output.err, "/nonexistent/c.yaml: No such file or directory\n");
}

TEST(ConfigShowTest, WritesEveryHostOut) {
  const std::string path = TestFile("cluster.yaml", kGoodSpec);
  const ProgramOutput output = RunProgram({"config", "show", path});
  EXPECT_EQ(output.status, 0) << output.err;
  for (const char* text :
       {"server0", "server1", "192.168.7.23", "192.168.103.110"}) {
    EXPECT_TRUE(absl::StrContains(output.out, text)) << text << "\n"
                                                     << output.out;
  }
  EXPECT_TRUE(
      absl::StrContains(RunProgram({"config", "show", path, "-o", "json"}).out,
                        "\"host\": \"server1\""));
  EXPECT_EQ(RunProgram({"config", "show", path, "-o", "table"}).status, 3);
}

TEST(ConfigShowTest, AsksTheControllerWithoutAFile) {
  ProgramWorld world;
  *world.script.spec.mutable_spec() = SpecOfServers(2);
  world.script.spec.set_path("/etc/clusterd/cluster.yaml");
  world.script.spec.set_refused(
      "cluster.yaml:3:1: wrong\ncluster.yaml:4:1: too");
  const ProgramOutput output =
      RunProgram({"config", "show", "-o", "json"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_TRUE(absl::StrContains(output.out, "\"host\": \"server1\""));
  EXPECT_EQ(output.err,
            "clusterctl config show: from the controller's "
            "/etc/clusterd/cluster.yaml\n"
            "clusterctl config show: the controller refused a newer "
            "cluster.yaml: cluster.yaml:3:1: wrong\n"
            "clusterctl config show: the controller refused a newer "
            "cluster.yaml: cluster.yaml:4:1: too\n");
}

TEST(ConfigShowTest, ExitsWithTwoWhenTheControllerIsAway) {
  ProgramWorld world;
  world.script.spec_status =
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
  EXPECT_EQ(RunProgram({"config", "show"}, world).status, 2);
}

}  // namespace
}  // namespace clusterd
