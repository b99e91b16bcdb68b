#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not, ::testing::StartsWith;

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

ProgramOutput Validate(const std::string& text, Arguments more = {}) {
  return RunProgram(
      With({"config", "validate", TestFile("c.yaml", text)}, more));
}

TEST(ConfigValidateTest, SummarisesAFileThatIsRight) {
  const std::string path = TestFile("cluster.yaml", kGoodSpec);
  EXPECT_THAT(RunProgram({"config", "validate", path}),
              Ends(0, Err(""),
                   Out(StartsWith(Say("ctl-spec-summary", path, "demo",
                                      Counted(2, "server"),
                                      Counted(16, "device"), "")))));
}

TEST(ConfigValidateTest, NamesEveryMistakeWithItsPlace) {
  EXPECT_THAT(Validate(absl::StrCat(kGoodSpec, "nmae: x\nfirewall: of\n")),
              Ends(3, Err(HasSubstr("c.yaml:14:1: ")),
                   Err(HasSubstr("c.yaml:15:")), Out("")));
}

TEST(ConfigValidateTest, KnowsTheRulesOfASchedule) {
  const std::string path = TestFile("c.yaml", "");
  EXPECT_THAT(
      Validate(absl::StrCat(
          kGoodSpec, "schedule:\n  - {name: a, every: 5m, only: [lnk]}\n")),
      Ends(3, Err(absl::StrCat(path, ":15:33: schedule[0].only: ",
                               Say("msg-rule-not-known", "lnk",
                                   DidYouMeanWords("lnk", {"link"})),
                               "\n"))));
}

// The tests' clock is at 2025-01-01 00:00 UTC.
TEST(ConfigValidateTest, NotesWaiversThatAreNotHeeded) {
  const std::string path = TestFile("c.yaml", "");
  const auto not_heeded = [&path](const char* what) {
    return Err(
        Tells("note", Worded("ctl-waiver-not-in-force", path, what, "")));
  };
  EXPECT_THAT(
      Validate(absl::StrCat(
          kGoodSpec,
          "waivers:\n"
          "  - {rule: link, hosts: server1, devices: 3, reason: cable,\n"
          "     owner: ann, until: 2025-01-01}\n"
          "  - {rule: optics, reason: dust, owner: ann, until: 2025-04-02}\n"
          "  - {rule: lldp, reason: old, owner: ann, until: 2025-02-01}\n")),
      Ends(0, Err(Not(HasSubstr("lldp"))),
           not_heeded("link on server1 device 3"),
           not_heeded("optics on every host")));
}

TEST(ConfigValidateTest, SaysThatThereIsNoFile) {
  EXPECT_THAT(RunProgram({"config", "validate", "/nonexistent/c.yaml"}),
              Ends(3, Err(NoSuchFile("/nonexistent/c.yaml") + "\n")));
}

TEST(ConfigShowTest, WritesEveryHostOut) {
  const std::string path = TestFile("cluster.yaml", kGoodSpec);
  const ProgramOutput output = RunProgram({"config", "show", path});
  EXPECT_EQ(output.status, 0) << output.err;
  for (const char* text :
       {"server0", "server1", "192.168.7.23", "192.168.103.110"}) {
    EXPECT_THAT(output.out, HasSubstr(text));
  }
  EXPECT_THAT(RunProgram({"config", "show", path, "-o", "json"}).out,
              HasSubstr("\"host\": \"server1\""));
  EXPECT_EQ(RunProgram({"config", "show", path, "-o", "table"}).status, 3);
}

TEST(ConfigShowTest, AsksTheControllerWithoutAFile) {
  ProgramWorld world;
  *world.script.spec.mutable_spec() = SpecOfServers(2);
  world.script.spec.set_path("/etc/clusterd/cluster.yaml");
  world.script.spec.set_refused(
      "cluster.yaml:3:1: wrong\ncluster.yaml:4:1: too");
  EXPECT_THAT(RunProgram({"config", "show", "-o", "json"}, world),
              Ends(0,
                   Err(absl::StrCat(
                       Line("config show", Worded("ctl-from-controller",
                                                  world.script.spec.path())),
                       Line("config show", Worded("msg-newer-spec-refused",
                                                  "cluster.yaml:3:1: wrong")),
                       Line("config show", Worded("msg-newer-spec-refused",
                                                  "cluster.yaml:4:1: too")))),
                   Out(HasSubstr("\"host\": \"server1\""))));
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

TEST(ConfigValidateTest, JudgesPlannedAddressesByTheProductsRulesAtTheirPlace) {
  EXPECT_THAT(
      Validate(RailsSpec("node[01-04]", "10.1.0.0/24", "1 + 8*n + d")),
      Ends(3,
           Err(HasSubstr(
               "c.yaml:11:13: node01 devices 0-3: device 0 has 10.1.0.1/24, ")),
           Err(HasSubstr("(rule subnet-distinct) (and 7 more")), Out("")));
  // A single address of a list, at its own place.
  EXPECT_THAT(Validate(absl::StrReplaceAll(
                  kGoodSpec, {{"192.168.102.110", "192.168.107.110"}})),
              Ends(3, Err(HasSubstr("c.yaml:13:49: server1 device 6: ")),
                   Err(HasSubstr("(rule subnet-across-hosts)")),
                   Err(HasSubstr("(rule subnet-pairs)"))));
  EXPECT_EQ(Validate(RailsSpec("node[01-04]", kPairs, "1 + 8*n + d")).err, "");
}

TEST(ConfigValidateTest, OnlyWarnsOfWhatTheRulesWarnOfOrCannotTell) {
  EXPECT_THAT(Validate(RailsSpec("node[01-04]", "10.[1-8].0.0/24", "1 + n",
                                 "atlas-a2")),
              Ends(0, Err(HasSubstr("c.yaml:11:13: warning: ")),
                   Err(HasSubstr("(rule subnet-shared)")),
                   Out(HasSubstr("c.yaml: OK: "))));
}

TEST(ConfigValidateTest, WarnsOfGatewaysThatDevicesKeepTogether) {
  EXPECT_THAT(Validate(absl::StrReplaceAll(
                  kGoodSpec, {{"  netmask", "  gateway: 254\n  netmask"}})),
              Ends(0, Err(Tells("msg-gateway-not-shared", "server0 device 1",
                                "192.168.101.254", 0))));
}

TEST(ConfigValidateTest, SaysWhereAPatternByIndexMovesAddressesAndHowToPin) {
  EXPECT_THAT(
      Validate(RailsSpec("node[01,03-04]", kPairs, "1 + 8*n + d")),
      Ends(0,
           Err(HasSubstr(absl::StrCat("c.yaml:11:13: warning: ",
                                      Say("msg-index-has-gap", "node[01,03-04]",
                                          Worded("ctl-pin")))))));
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
  EXPECT_THAT(
      Validate(RailsSpec("node[02-04]", kPairs, "1 + 8*n + d"), against),
      Ends(0, Err(HasSubstr(
                  absl::StrCat("c.yaml:11:13: warning: ",
                               Say("msg-addresses-moved", old_path,
                                   Counted(24, "device"), "node[02-04]",
                                   Worded("ctl-moved-device", "node02 device 0",
                                          "10.1.0.9", "10.1.0.1"),
                                   "; "))))));
  EXPECT_EQ(Validate(RailsSpec("node[02-04]", kPairs, "1 + 8*(name - 1) + d"),
                     against)
                .err,
            "");
  // A different netmask is a different address.
  const ProgramOutput wider = Validate(
      RailsSpec("node[01-04]", "10.1.[0-3,0-3].0/25", "1 + 8*n + d"), against);
  EXPECT_THAT(wider.err, Tells("ctl-moved-device", "node01 device 0",
                               "255.255.255.0", "255.255.255.128"));
  EXPECT_THAT(Validate(RailsSpec("node[01-04]", kPairs, "1 + 8*n + d"),
                       {"--against", "/nonexistent/old.yaml"}),
              Ends(3, Err(NoSuchFile("/nonexistent/old.yaml") + "\n")));
}

TEST(ConfigValidateTest, NamesTheAddressesThatTheControllerHasOtherwise) {
  ProgramWorld world;
  *world.script.spec.mutable_spec() = SpecOfServers(2);
  DeviceSpec* device =
      world.script.spec.mutable_spec()->mutable_servers(1)->add_devices();
  device->set_id(3);
  device->set_address("192.168.103.77");
  const std::string path = TestFile("cluster.yaml", kGoodSpec);
  EXPECT_THAT(
      RunProgram({"config", "validate", path, "--against", "controller"},
                 world),
      Ends(0, Err(HasSubstr(absl::StrCat(
                  path, ":12:66: warning: ",
                  Say("msg-addresses-moved", "controller", Counted(1, "device"),
                      "server1",
                      Worded("ctl-moved-device", "server1 device 3",
                             "192.168.103.77", "192.168.103.111"),
                      ""),
                  "\n")))));
  world.script.spec_status = Away();
  EXPECT_EQ(
      RunProgram({"config", "validate", path, "--against", "controller"}, world)
          .status,
      2);
}

}  // namespace
}  // namespace clusterd
