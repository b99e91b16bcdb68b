#include "absl/strings/str_cat.h"
#include "config/spec/spec_loader.h"
#include "gmock/gmock.h"
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
  EXPECT_THAT(
      RunProgram({"config", "learn", "-o", path}, LearningWorld(5)),
      Ends(0, Err(HasSubstr("5 servers: devices 0-7 in 10.0.0.0/24, ")),
           Err(HasSubstr("1 + 8*name + d; " + Say("ctl-exceptions", 1))),
           Err(HasSubstr("server4 device 3: address 10.0.0.200/24, ")),
           Err(HasSubstr("clusterctl config validate " + path)), Out("")));
  EXPECT_THAT(RunProgram({"config", "validate", path}),
              Ends(0, Out(HasSubstr("OK: cluster demo, 5 servers"))));
}

TEST(ConfigLearnTest, WithoutAFilePrintsItAndAsksForTheHostsThatAreNamed) {
  ProgramWorld world = LearningWorld(3);
  WatchedController controller(world);
  const ProgramOutput output =
      RunProgram({"config", "learn", "server[0-2]"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  ASSERT_TRUE(controller.learn_request().has_value());
  EXPECT_EQ(controller.learn_request()->hosts_size(), 3);
  EXPECT_TRUE(LoadSpec("out", output.out).ok()) << output.out;
}

TEST(ConfigLearnTest, ReplacesNoFile) {
  const std::string path = TestFile("there.yaml", "mine\n");
  EXPECT_THAT(RunProgram({"config", "learn", "-o", path}, LearningWorld(3)),
              Ends(3, Err(HasSubstr("already exists"))));
  EXPECT_EQ(FileContent(path), "mine\n");
}

TEST(ConfigLearnTest, HostsThatDialFromOneAddressNeedAHostsFile) {
  ProgramWorld world = LearningWorld(3);
  LearnedHosts* const learned = world.script.learn_events[1].mutable_learned();
  for (LearnedHosts::Host& host : *learned->mutable_hosts()) {
    host.set_peer("127.0.0.1:40000");
  }
  EXPECT_THAT(RunProgram({"config", "learn"}, world),
              Ends(3, Err(HasSubstr("(--hosts-file of"))));
  const std::string hosts = TestFile(
      "hosts", "10.9.0.1 server0\n10.9.0.2 server1\n10.9.0.3 server2\n");
  EXPECT_THAT(RunProgram({"config", "learn", "--hosts-file", hosts}, world),
              Ends(0, Out(HasSubstr("address: 10.9.0.1 + name"))));
}

TEST(ConfigLearnTest, WritesNothingWhereNoHostTellsADevicesAddress) {
  ProgramWorld world = LearningWorld(2);
  LearnedHosts* const learned = world.script.learn_events[1].mutable_learned();
  for (LearnedHosts::Host& host : *learned->mutable_hosts()) {
    for (DeviceFacts& device : *host.mutable_facts()->mutable_devices()) {
      device.mutable_address()->mutable_missing()->set_reason(Missing::BUSY);
    }
  }
  EXPECT_THAT(RunProgram({"config", "learn"}, world),
              Ends(3, Err(Tells("msg-no-device-address")), Out("")));
}

TEST(ConfigLearnTest, TellsWhyTheControllerRefuses) {
  ProgramWorld world;
  world.script.learn_status = {grpc::StatusCode::FAILED_PRECONDITION, "why"};
  EXPECT_THAT(RunProgram({"config", "learn"}, world),
              Ends(2, Err(HasSubstr(": why\n"))));
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
  EXPECT_THAT(
      RunProgram({"config", "import", inventory, "--cluster", "demo"}),
      Ends(3, Err(HasSubstr(inventory + ":2:1: deviceip: ")),
           Err(HasSubstr(inventory + ":3:1: has no deviceip=")), Out("")));
}

}  // namespace
}  // namespace clusterd
