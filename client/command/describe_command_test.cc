#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::EndsWith, ::testing::HasSubstr, ::testing::StartsWith;

ProgramWorld WorldOfOneHost() {
  ProgramWorld world;
  MergeText(R"(
      entry {host: "server0" attached: true in_spec: true
             attached_since_ms: 1735689300000}
      facts {kernel {somaxconn {value: 4096}}})",
            &world.script.description);
  return world;
}

TEST(DescribeCommandTest, PrintsTheFactsOfTheHostAskedFor) {
  ProgramWorld world = WorldOfOneHost();
  WatchedController controller(world);
  EXPECT_THAT(RunProgram({"describe", "server0"}, world),
              Ends(0, Out(StartsWith("server0: attached for 5 min\n")),
                   Out(HasSubstr("4096"))));
  EXPECT_EQ(controller.described_host(), "server0");
}

TEST(DescribeCommandTest, PrintsJsonOnRequestAndRefusesShort) {
  EXPECT_THAT(
      RunProgram({"describe", "server0", "-o", "json"}, WorldOfOneHost()).out,
      HasSubstr("\"somaxconn\""));
  EXPECT_EQ(RunProgram({"describe", "server0", "-o", "short"}, WorldOfOneHost())
                .status,
            3);
}

TEST(DescribeCommandTest, ExitsWithTwoWhenTheHostDidNotAnswer) {
  ProgramWorld world = WorldOfOneHost();
  world.script.description.mutable_facts()->mutable_missing()->set_reason(
      Missing::NO_ANSWER);
  EXPECT_THAT(RunProgram({"describe", "server0"}, world),
              Ends(2, Out(HasSubstr("no facts: no answer"))));
}

TEST(DescribeCommandTest, NamesTheNearestHostForOneThatNobodyKnows) {
  ProgramWorld world = WorldOfOneHost();
  world.script.describe_status = {grpc::StatusCode::NOT_FOUND,
                                  "host \"sever0\" is not known"};
  world.script.hosts.add_hosts()->set_host("server0");
  EXPECT_THAT(RunProgram({"describe", "sever0"}, world),
              Ends(3, Err(StartsWith("clusterctl describe: controller head")),
                   Err(EndsWith(absl::StrCat(
                       ": ", world.script.describe_status.error_message(),
                       Say("did-you-mean", "server0"), "\n")))));
}

TEST(DescribeCommandTest, TakesOneHostOnly) {
  for (const char* host : {"server[0-1]", "a,b", "@gpu", ""}) {
    EXPECT_THAT(RunProgram({"describe", host}, WorldOfOneHost()),
                Ends(3, Err(Tells("msg-host-not-one-name", "HOST", host))));
  }
}

}  // namespace
}  // namespace clusterd
