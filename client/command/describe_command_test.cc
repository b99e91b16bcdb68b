#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

ProgramWorld WorldOfOneHost() {
  ProgramWorld world;
  HostEntry& entry = *world.script.description.mutable_entry();
  entry.set_host("server0");
  entry.set_attached(true);
  entry.set_in_spec(true);
  entry.set_attached_since_ms(1735689600000 - 300'000);
  HostFacts& facts = *world.script.description.mutable_facts();
  facts.mutable_kernel()->mutable_somaxconn()->set_value(4096);
  return world;
}

TEST(DescribeCommandTest, PrintsTheFactsOfTheHostAskedFor) {
  ProgramWorld world = WorldOfOneHost();
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output = RunProgram({"describe", "server0"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(controller.described_host(), "server0");
  EXPECT_TRUE(absl::StartsWith(output.out, "server0: attached for 5 min\n"));
  EXPECT_TRUE(absl::StrContains(output.out, "4096"));
}

TEST(DescribeCommandTest, PrintsJsonOnRequestAndRefusesShort) {
  EXPECT_TRUE(absl::StrContains(
      RunProgram({"describe", "server0", "-o", "json"}, WorldOfOneHost()).out,
      "\"somaxconn\""));
  EXPECT_EQ(RunProgram({"describe", "server0", "-o", "short"}, WorldOfOneHost())
                .status,
            3);
}

TEST(DescribeCommandTest, ExitsWithTwoWhenTheHostDidNotAnswer) {
  ProgramWorld world = WorldOfOneHost();
  world.script.description.mutable_facts()->mutable_missing()->set_reason(
      Missing::NO_ANSWER);
  const ProgramOutput output = RunProgram({"describe", "server0"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_TRUE(absl::StrContains(output.out, "no facts: no answer"));
}

TEST(DescribeCommandTest, NamesTheNearestHostForOneThatNobodyKnows) {
  ProgramWorld world = WorldOfOneHost();
  world.script.describe_status =
      grpc::Status(grpc::StatusCode::NOT_FOUND, "host \"sever0\" is not known");
  world.script.hosts.add_hosts()->set_host("server0");
  const ProgramOutput output = RunProgram({"describe", "sever0"}, world);
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(output.err,
            "clusterctl describe: controller head:7443: host \"sever0\" is not "
            "known, did "
            "you mean \"server0\"?\n");
}

TEST(DescribeCommandTest, TakesOneHostOnly) {
  for (const char* host : {"server[0-1]", "a,b", "@gpu", ""}) {
    const ProgramOutput output =
        RunProgram({"describe", host}, WorldOfOneHost());
    EXPECT_EQ(output.status, 3) << host;
    EXPECT_TRUE(absl::StrContains(output.err, "expected the name of one host"))
        << host;
  }
}

}  // namespace
}  // namespace clusterd
