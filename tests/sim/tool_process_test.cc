#include "tests/sim/tool_process.h"

#include <signal.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/patience.h"

namespace clusterd::sim {
namespace {

using ::testing::Optional;

class ToolProcessTest : public ::testing::Test {
 protected:
  ToolProcessTest() : root_(*PrivateRoot::Create(setup_, "")) {}

  void StartShell(const std::string& script, const std::string& input = "") {
    const absl::Status status = process_.Start(
        "/bin/sh", {"tool", "-c", script}, input, *root_, setup_);
    ASSERT_TRUE(status.ok()) << status;
  }

  RunSetup setup_;
  std::unique_ptr<PrivateRoot> root_;
  ToolProcess process_;
};

TEST_F(ToolProcessTest, CollectsStreamsAndStatus) {
  StartShell("cat; echo bad >&2; exit 7", "typed\n");
  const ToolResult result = process_.Finish(kPatience);
  EXPECT_THAT(result.exit, Optional(7));
  EXPECT_EQ(result.standard_output, "typed\n");
  EXPECT_EQ(result.standard_error, "bad\n");
}

TEST_F(ToolProcessTest, FindsItsRootInTheEnvironment) {
  StartShell("echo $HCCN_SIM_ROOT");
  EXPECT_EQ(process_.Finish(kPatience).standard_output, root_->path() + "\n");
}

TEST_F(ToolProcessTest, ReadsMoreThanAPipeHolds) {
  StartShell("head -c 300000 /dev/zero");
  EXPECT_EQ(process_.Finish(kPatience).standard_output.size(), 300000u);
}

TEST_F(ToolProcessTest, WaitsUntilTheToolSleepsAndSaysThatItHasNotEnded) {
  StartShell("echo before; exec sleep 1000");
  process_.PumpUntilAsleep(kPatience);
  EXPECT_FALSE(process_.ended());
  const ToolResult result = process_.Finish(absl::ZeroDuration());
  EXPECT_EQ(result.exit, std::nullopt);
  EXPECT_EQ(result.standard_output, "before\n");
  EXPECT_FALSE(process_.ended());
}

TEST_F(ToolProcessTest, DoesNotWaitForTheSleepOfOneThatEnds) {
  StartShell("exit 7");
  process_.PumpUntilAsleep(kPatience);
  EXPECT_TRUE(process_.ended());
}

TEST_F(ToolProcessTest, SignalIsANegativeStatus) {
  StartShell("exec sleep 1000");
  kill(process_.pid(), SIGTERM);
  EXPECT_THAT(process_.Finish(kPatience).exit, Optional(-SIGTERM));
}

TEST_F(ToolProcessTest, ToolThatIsNotThereIsAStatus) {
  EXPECT_TRUE(absl::IsNotFound(
      process_.Start("/nonexistent/tool", {"tool"}, "", *root_, setup_)));
}

}  // namespace
}  // namespace clusterd::sim
