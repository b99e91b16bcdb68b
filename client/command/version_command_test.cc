#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

TEST(VersionCommandTest, PrintsOurOwnWithoutAnyController) {
  ProgramWorld world;
  world.environment.clear();
  const ProgramOutput output = RunProgram({"version"}, world);
  EXPECT_EQ(output.status, 0);
  EXPECT_EQ(output.out, "clusterctl 0.1.0 (protocol 2, report schema 2)\n");
  EXPECT_EQ(RunProgram({"--version"}, world).out, output.out);
}

TEST(VersionCommandTest, PrintsTheControllersWhenOneIsNamed) {
  ProgramWorld world;
  world.script.spec.set_controller_version("0.2.0");
  world.script.spec.mutable_spec()->set_name("demo");
  const ProgramOutput output =
      RunProgram({"version", "--controller", "head:7443"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_TRUE(absl::EndsWith(output.out, "\ncontroller 0.2.0, cluster demo\n"));
}

TEST(VersionCommandTest, AsksTheControllerThatClientYamlNames) {
  ProgramWorld world;
  world.script.spec.set_controller_version("0.2.0");
  world.root = testing::TempDir() + "/named";
  std::filesystem::create_directories(world.root + "/etc/clusterd");
  std::ofstream(world.root + "/etc/clusterd/client.yaml")
      << "controller: head:7443\ncluster: demo\nca: a\ncert: b\nkey: c\n";
  world.environment.clear();
  EXPECT_TRUE(absl::StrContains(RunProgram({"version"}, world).out,
                                "\ncontroller 0.2.0"));
  // Scripts use --version, so it never waits.
  EXPECT_EQ(RunProgram({"--version"}, world).out,
            "clusterctl 0.1.0 (protocol 2, report schema 2)\n");
  std::ofstream(world.root + "/etc/clusterd/client.yaml")
      << "controller: head:7443\n";
  const ProgramOutput half = RunProgram({"version"}, world);
  EXPECT_EQ(half.status, 3);
  EXPECT_TRUE(absl::StrContains(half.err, "no setting \"cert\"")) << half.err;
}

TEST(VersionCommandTest, ExitsWithTwoWhenTheControllerIsAway) {
  ProgramWorld world;
  world.script.spec_status =
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
  const ProgramOutput output =
      RunProgram({"version", "--controller", "head:7443"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::StartsWith(output.out, "clusterctl 0.1.0"));
  EXPECT_TRUE(absl::StrContains(output.err, "away"));
}

}  // namespace
}  // namespace clusterd
