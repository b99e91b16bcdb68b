#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

using Arguments = std::vector<std::string>;

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

TEST(ConfigValidateTest, KnowsTheRulesOfASchedule) {
  const std::string path = TestFile(
      "cluster.yaml",
      absl::StrCat(kGoodSpec,
                   "schedule:\n  - {name: a, every: 5m, only: [lnk]}\n"));
  const ProgramOutput output = RunProgram({"config", "validate", path});
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(output.err,
            absl::StrCat(path,
                         ":15:33: schedule[0].only: rule \"lnk\" does not "
                         "exist, did you mean \"link\"?\n"));
}

// The tests' clock is at 2025-01-01 00:00 UTC.
TEST(ConfigValidateTest, NotesWaiversThatAreNotHeeded) {
  const std::string path = TestFile(
      "cluster.yaml",
      absl::StrCat(
          kGoodSpec,
          "waivers:\n"
          "  - {rule: link, hosts: server1, devices: 3, reason: cable,\n"
          "     owner: ann, until: 2025-01-01}\n"
          "  - {rule: optics, reason: dust, owner: ann, until: 2025-04-02}\n"
          "  - {rule: lldp, reason: old, owner: ann, until: 2025-02-01}\n"));
  const ProgramOutput output = RunProgram({"config", "validate", path});
  EXPECT_EQ(output.status, 0) << output.err;
  const std::string note = absl::StrCat(
      "clusterctl config validate: note: ", path, ": the waiver of ");
  EXPECT_EQ(output.err,
            absl::StrCat(note,
                         "link on server1 device 3 has ended, or ends in "
                         "over 90 days: until 2025-01-01 "
                         "00:00 UTC by ann: cable\n",
                         note,
                         "optics on every host has ended, or ends in over "
                         "90 days: until 2025-04-02 00:00 UTC by ann: "
                         "dust\n"));
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

// A cluster of node01 to node04 or some of them, with two devices a subnet.
std::string RailsSpec(const std::string& hosts, const std::string& subnet,
                      const std::string& host_part,
                      const std::string& product = "atlas-training") {
  return absl::StrCat("version: 1\nname: demo\nproduct: ", product,
                      "\nservers:\n  - hosts: ", hosts,
                      "\n    address: 10.0.0.1 + n\ndevices:\n  rails:\n",
                      "    - device: 0-7\n      subnet: ", subnet,
                      "\n      host: ", host_part, "\n");
}
constexpr char kPairs[] = "10.1.[0-3,0-3].0/24";

ProgramOutput Validate(const std::string& text, Arguments more = {}) {
  Arguments arguments = {"config", "validate", TestFile("c.yaml", text)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunProgram(arguments);
}

TEST(ConfigValidateTest, JudgesPlannedAddressesByTheProductsRulesAtTheirPlace) {
  const ProgramOutput one_subnet =
      Validate(RailsSpec("node[01-04]", "10.1.0.0/24", "1 + 8*n + d"));
  EXPECT_EQ(one_subnet.status, 3);
  EXPECT_EQ(one_subnet.out, "");
  EXPECT_TRUE(absl::StrContains(
      one_subnet.err,
      "c.yaml:11:13: node01 devices 0-3: device 0 has 10.1.0.1/24, "))
      << one_subnet.err;
  EXPECT_TRUE(
      absl::StrContains(one_subnet.err, "(rule subnet-distinct) (and 7 more"))
      << one_subnet.err;
  // A single address of a list, at its own place.
  const ProgramOutput one_address = Validate(
      absl::StrReplaceAll(kGoodSpec, {{"192.168.102.110", "192.168.107.110"}}));
  EXPECT_EQ(one_address.status, 3);
  EXPECT_TRUE(
      absl::StrContains(one_address.err, "c.yaml:13:49: server1 device 6: "))
      << one_address.err;
  EXPECT_TRUE(absl::StrContains(one_address.err, "(rule subnet-across-hosts)"))
      << one_address.err;
  EXPECT_TRUE(absl::StrContains(one_address.err, "(rule subnet-pairs)"));
  EXPECT_EQ(Validate(RailsSpec("node[01-04]", kPairs, "1 + 8*n + d")).err, "");
}

TEST(ConfigValidateTest, OnlyWarnsOfWhatTheRulesWarnOfOrCannotTell) {
  const ProgramOutput no_gateway = Validate(
      RailsSpec("node[01-04]", "10.[1-8].0.0/24", "1 + n", "atlas-a2"));
  EXPECT_EQ(no_gateway.status, 0);
  EXPECT_TRUE(absl::StrContains(no_gateway.err, "c.yaml:11:13: warning: "));
  EXPECT_TRUE(absl::StrContains(no_gateway.err, "(rule subnet-shared)"))
      << no_gateway.err;
  EXPECT_TRUE(absl::StrContains(no_gateway.out, "c.yaml: OK: "));
}

TEST(ConfigValidateTest, WarnsOfGatewaysThatDevicesKeepTogether) {
  const std::string path =
      TestFile("cluster.yaml",
               absl::StrReplaceAll(
                   kGoodSpec, {{"  netmask", "  gateway: 254\n  netmask"}}));
  const ProgramOutput output = RunProgram({"config", "validate", path});
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_TRUE(absl::StrContains(
      absl::StrCat(output.out, output.err),
      "server0 device 1: gateway 192.168.101.254, expected that of device 0; "
      "hccn_tool keeps one gateway for devices 0-3"))
      << output.out << output.err;
}

TEST(ConfigValidateTest, SaysWhereAPatternByIndexMovesAddressesAndHowToPin) {
  const ProgramOutput output =
      Validate(RailsSpec("node[01,03-04]", kPairs, "1 + 8*n + d"));
  EXPECT_EQ(output.status, 0);
  EXPECT_TRUE(absl::StrContains(
      output.err,
      "c.yaml:11:13: warning: counts by index over node[01,03-04], whose names "
      "leave numbers out; "))
      << output.err;
  EXPECT_TRUE(absl::StrContains(output.err, "count by name")) << output.err;
  // Two kinds of hosts, each without a gap.
  EXPECT_EQ(
      Validate(RailsSpec("node[01-02],gpu[05-06]", kPairs, "1 + 8*n + d")).err,
      "");
  for (const char* host_part : {"1 + 8*name + d", "1 + 8*(name - 1) + d"}) {
    EXPECT_EQ(Validate(RailsSpec("node[01,03-04]", kPairs, host_part)).err, "");
  }
}

TEST(ConfigValidateTest, NamesTheAddressesThatMovedAgainstAnEarlierFile) {
  const std::string old_path =
      TestFile("old.yaml", RailsSpec("node[01-04]", kPairs, "1 + 8*n + d"));
  const Arguments against = {"--against", old_path};
  const ProgramOutput moved =
      Validate(RailsSpec("node[02-04]", kPairs, "1 + 8*n + d"), against);
  EXPECT_EQ(moved.status, 0);
  EXPECT_TRUE(absl::StrContains(
      moved.err,
      absl::StrCat("c.yaml:11:13: warning: other addresses than in ", old_path,
                   " on 24 devices of node[02-04], e.g. node02 device 0 was "
                   "10.1.0.9 and is 10.1.0.1; ")))
      << moved.err;
  EXPECT_EQ(Validate(RailsSpec("node[02-04]", kPairs, "1 + 8*(name - 1) + d"),
                     against)
                .err,
            "");
  // A different netmask is a different address.
  const ProgramOutput wider = Validate(
      RailsSpec("node[01-04]", "10.1.[0-3,0-3].0/25", "1 + 8*n + d"), against);
  EXPECT_TRUE(absl::StrContains(wider.err,
                                "e.g. node01 device 0 was 255.255.255.0 and is "
                                "255.255.255.128"))
      << wider.err;
  const ProgramOutput no_file =
      Validate(RailsSpec("node[01-04]", kPairs, "1 + 8*n + d"),
               {"--against", "/nonexistent/old.yaml"});
  EXPECT_EQ(no_file.status, 3);
  EXPECT_EQ(no_file.err, "/nonexistent/old.yaml: No such file or directory\n");
}

TEST(ConfigValidateTest, NamesTheAddressesThatTheControllerHasOtherwise) {
  ProgramWorld world;
  *world.script.spec.mutable_spec() = SpecOfServers(2);
  DeviceSpec* device =
      world.script.spec.mutable_spec()->mutable_servers(1)->add_devices();
  device->set_id(3);
  device->set_address("192.168.103.77");
  const std::string path = TestFile("cluster.yaml", kGoodSpec);
  const ProgramOutput output = RunProgram(
      {"config", "validate", path, "--against", "controller"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_TRUE(absl::StrContains(
      output.err,
      absl::StrCat(path,
                   ":12:66: warning: other addresses than in controller on 1 "
                   "device of server1, e.g. server1 device 3 was "
                   "192.168.103.77 and is 192.168.103.111\n")))
      << output.err;
  world.script.spec_status =
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
  EXPECT_EQ(
      RunProgram({"config", "validate", path, "--against", "controller"}, world)
          .status,
      2);
}

}  // namespace
}  // namespace clusterd
