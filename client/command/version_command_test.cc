#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

using ::testing::EndsWith, ::testing::HasSubstr, ::testing::StartsWith;

constexpr char kOwn[] = "clusterctl 0.1.0 (protocol 3, report schema 2)\n";

TEST(VersionCommandTest, PrintsOurOwnWithoutAnyController) {
  ProgramWorld world;
  world.environment.clear();
  EXPECT_THAT(RunProgram({"version"}, world), Ends(0, Out(kOwn)));
  EXPECT_EQ(RunProgram({"--version"}, world).out, kOwn);
}

TEST(VersionCommandTest, PrintsTheControllersWhenOneIsNamed) {
  ProgramWorld world;
  world.script.spec.set_controller_version("0.2.0");
  world.script.spec.mutable_spec()->set_name("demo");
  EXPECT_THAT(RunProgram({"version", "--controller", "head:7443"}, world),
              Ends(0, Out(EndsWith("\ncontroller 0.2.0, cluster demo\n"))));
}

TEST(VersionCommandTest, AsksTheControllerThatClientYamlNames) {
  ProgramWorld world;
  world.script.spec.set_controller_version("0.2.0");
  world.root = testing::TempDir() + "/named";
  std::filesystem::create_directories(world.root + "/etc/clusterd");
  std::ofstream(world.root + "/etc/clusterd/client.yaml")
      << "controller: head:7443\ncluster: demo\nca: a\ncert: b\nkey: c\n";
  world.environment.clear();
  EXPECT_THAT(RunProgram({"version"}, world).out,
              HasSubstr("\ncontroller 0.2.0"));
  // Scripts use --version, so it never waits.
  EXPECT_EQ(RunProgram({"--version"}, world).out, kOwn);
  std::ofstream(world.root + "/etc/clusterd/client.yaml")
      << "controller: head:7443\n";
  EXPECT_THAT(RunProgram({"version"}, world),
              Ends(3, Err(HasSubstr("no setting \"cert\""))));
}

TEST(VersionCommandTest, ExitsWithTwoWhenTheControllerIsAway) {
  ProgramWorld world;
  world.script.spec_status = Away();
  EXPECT_THAT(
      RunProgram({"version", "--controller", "head:7443"}, world),
      Ends(2, Err(HasSubstr("away")), Out(StartsWith("clusterctl 0.1.0"))));
}

}  // namespace
}  // namespace clusterd
