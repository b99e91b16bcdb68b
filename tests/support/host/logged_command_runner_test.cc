#include "tests/support/host/logged_command_runner.h"

#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"

namespace clusterd {
namespace {

TEST(LoggedCommandRunnerTest, RemembersCommandsWithTheirResults) {
  FakeClock clock;
  FakeCommandRunner inner(&clock);
  inner.Answers("ufw status", "Status: inactive\n");
  inner.CannotStart("ufw enable", absl::UnavailableError("no process"));
  LoggedCommandRunner runner(&inner);

  EXPECT_TRUE(runner.Run({{"/usr/sbin/ufw", "status"}, absl::Seconds(1)}).ok());
  EXPECT_FALSE(
      runner.Run({{"/usr/sbin/ufw", "enable"}, absl::Seconds(2)}).ok());

  const std::vector<LoggedCommand> commands = runner.commands();
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_EQ(commands[0].command.argv[1], "status");
  EXPECT_EQ(commands[0].result->standard_output, "Status: inactive\n");
  EXPECT_EQ(commands[1].command.deadline, absl::Seconds(2));
  EXPECT_EQ(commands[1].result.status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace clusterd
