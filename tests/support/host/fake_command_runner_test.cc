#include "tests/support/host/fake_command_runner.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;

const Command& Link0() {
  static const auto& command = *new Command{
      {"/x/hccn_tool", "-i", "0", "-link", "-g"}, absl::Seconds(10)};
  return command;
}

constexpr char kLink0[] = "hccn_tool -i 0 -link -g";

TEST(FakeCommandRunnerTest, PlaysItsScriptAndRepeatsTheLast) {
  FakeClock clock;
  FakeCommandRunner runner(&clock);
  runner.Answers(kLink0, "link status: DOWN\n");
  runner.Fails(kLink0, 11, "busy\n");
  EXPECT_EQ(runner.Run(Link0())->standard_output, "link status: DOWN\n");
  EXPECT_EQ(runner.Run(Link0())->exit_status, 11);
  EXPECT_EQ(runner.Run(Link0())->exit_status, 11);
  EXPECT_EQ(runner.CountOf(kLink0), 3);
  EXPECT_THAT(runner.commands(), ElementsAre(kLink0, kLink0, kLink0));
}

TEST(FakeCommandRunnerTest, PassesTimeWhenItHangs) {
  FakeClock clock;
  FakeCommandRunner runner(&clock);
  runner.Hangs(kLink0);
  const absl::StatusOr<CommandResult> result = runner.Run(Link0());
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(clock.Monotonic(), absl::Seconds(10));
}

TEST(FakeCommandRunnerTest, HasNoProgramsOfItsOwn) {
  FakeClock clock;
  FakeCommandRunner runner(&clock);
  EXPECT_EQ(runner.Run(Link0())->exit_status, 127);
}

TEST(FakeCommandRunnerTest, RefusesToStart) {
  FakeClock clock;
  FakeCommandRunner runner(&clock);
  runner.CannotStart(kLink0, absl::NotFoundError("gone"));
  EXPECT_EQ(runner.Run(Link0()).status().code(), absl::StatusCode::kNotFound);
  runner.Forget(kLink0);
  EXPECT_EQ(runner.Run(Link0())->exit_status, 127);
}

}  // namespace
}  // namespace clusterd
