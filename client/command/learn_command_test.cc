#include "absl/strings/str_cat.h"
#include "config/spec/spec_loader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// A controller of healthy hosts; the last has another address at device 3.
ProgramWorld LearningWorld(int servers) {
  const ClusterSpec spec = MakeSpec("atlas-a2", "", servers);
  LearnEvent event;
  event.mutable_learned()->set_cluster("demo");
  for (const ServerSpec& server : spec.servers()) {
    LearnedHosts::Host* const host = event.mutable_learned()->add_hosts();
    *host->mutable_facts() = MakeHealthyHost(spec, server);
    host->set_peer(absl::StrCat("ipv4:", server.address(), ":40000"));
  }
  event.mutable_learned()
      ->mutable_hosts(servers - 1)
      ->mutable_facts()
      ->mutable_devices(3)
      ->mutable_address()
      ->mutable_value()
      ->mutable_settings(0)
      ->set_address("10.0.0.200");
  ProgramWorld world;
  LearnEvent progress;
  progress.mutable_progress()->set_pending(servers);
  world.script.learn_events = {progress, event};
  return world;
}

std::string NewPath(const std::string& name) {
  const std::string path = TestFile(name, "");
  std::remove(path.c_str());
  return path;
}

TEST(ConfigLearnTest, WritesAFileThatValidatesAndTellsWhatIsInIt) {
  const std::string path = NewPath("learned.yaml");
  const ProgramOutput output =
      RunProgram({"config", "learn", "-o", path}, LearningWorld(5));
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(output.out, "");
  EXPECT_THAT(
      output.err,
      HasSubstr("clusterctl config learn: 5 servers: devices 0-7 in "
                "10.0.0.0/24, host part 1 + 8*name + d; 1 exception\n"));
  EXPECT_THAT(output.err,
              HasSubstr("exception: server4 device 3: address 10.0.0.200/24, "
                        "planned 10.0.0.36/24\n"));
  EXPECT_THAT(output.err, HasSubstr("clusterctl config validate " + path));
  const ProgramOutput validated = RunProgram({"config", "validate", path});
  EXPECT_EQ(validated.status, 0) << validated.err;
  EXPECT_THAT(validated.out, HasSubstr("OK: cluster demo, 5 servers"));
}

TEST(ConfigLearnTest, WithoutAFilePrintsItAndAsksForTheHostsThatAreNamed) {
  ProgramWorld world = LearningWorld(3);
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output =
      RunProgram({"config", "learn", "server[0-2]"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  ASSERT_TRUE(controller.learn_request().has_value());
  EXPECT_EQ(controller.learn_request()->hosts_size(), 3);
  EXPECT_TRUE(LoadSpec("out", output.out).ok()) << output.out;
}

TEST(ConfigLearnTest, ReplacesNoFile) {
  const std::string path = TestFile("there.yaml", "mine\n");
  const ProgramOutput output =
      RunProgram({"config", "learn", "-o", path}, LearningWorld(3));
  EXPECT_EQ(output.status, 3);
  EXPECT_THAT(output.err, HasSubstr("already exists"));
  EXPECT_EQ(FileContent(path), "mine\n");
}

TEST(ConfigLearnTest, HostsThatDialFromOneAddressNeedAHostsFile) {
  ProgramWorld world = LearningWorld(3);
  LearnedHosts* const learned = world.script.learn_events[1].mutable_learned();
  for (LearnedHosts::Host& host : *learned->mutable_hosts()) {
    host.set_peer("127.0.0.1:40000");
  }
  const ProgramOutput output = RunProgram({"config", "learn"}, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_THAT(
      output.err,
      HasSubstr("a hosts file gives them (--hosts-file of config learn"));
  const std::string hosts = TestFile(
      "hosts", "10.9.0.1 server0\n10.9.0.2 server1\n10.9.0.3 server2\n");
  const ProgramOutput named =
      RunProgram({"config", "learn", "--hosts-file", hosts}, world);
  EXPECT_EQ(named.status, 0) << named.err;
  EXPECT_THAT(named.out, HasSubstr("address: 10.9.0.1 + name"));
}

TEST(ConfigLearnTest, WritesNothingWhereNoHostTellsADevicesAddress) {
  ProgramWorld world = LearningWorld(2);
  LearnedHosts* const learned = world.script.learn_events[1].mutable_learned();
  for (LearnedHosts::Host& host : *learned->mutable_hosts()) {
    for (DeviceFacts& device : *host.mutable_facts()->mutable_devices()) {
      device.mutable_address()->mutable_missing()->set_reason(Missing::BUSY);
    }
  }
  const ProgramOutput output = RunProgram({"config", "learn"}, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(output.out, "");
  EXPECT_THAT(output.err,
              HasSubstr("no host reports the IPv4 address of a device"));
}

TEST(ConfigLearnTest, TellsWhyTheControllerRefuses) {
  ProgramWorld world;
  world.script.learn_status = grpc::Status(
      grpc::StatusCode::FAILED_PRECONDITION, "no host is attached: start them");
  const ProgramOutput output = RunProgram({"config", "learn"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_THAT(output.err, HasSubstr("no host is attached"));
}

TEST(ConfigImportTest, WritesWhatFilesSayWithoutAController) {
  const std::string inventory =
      TestFile("inventory_file",
               "[hccn]\n10.9.0.1 deviceip=10.20.0.1,10.20.0.2\n"
               "10.9.0.2 deviceip=10.20.0.3,10.20.0.4\n"
               "[hccn:vars]\nnetmask=\"255.255.255.0\"\n"
               "gateways=\"10.20.0.254\"\n");
  const std::string hosts =
      TestFile("hosts", "10.9.0.1 node01\n10.9.0.2 node02\n");
  const ProgramOutput output =
      RunProgram({"config", "import", inventory, hosts, "--cluster", "demo",
                  "--product", "atlas-a2"});
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("  - hosts: node[01-02]\n"));
  EXPECT_THAT(output.out, HasSubstr("host: 1 + 2*(name - 1) + d\n"));
  EXPECT_TRUE(LoadSpec("out", output.out).ok()) << output.out;
}

TEST(ConfigImportTest, TellsEveryMistakeWithItsLine) {
  const std::string inventory = TestFile(
      "inventory_file", "[hccn]\nnode01 deviceip=x\nnode02 user=root\n");
  const ProgramOutput output =
      RunProgram({"config", "import", inventory, "--cluster", "demo"});
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(output.out, "");
  EXPECT_THAT(output.err, HasSubstr(inventory + ":2:1: deviceip: "));
  EXPECT_THAT(output.err, HasSubstr(inventory + ":3:1: has no deviceip="));
}

}  // namespace
}  // namespace clusterd
