#include "client/command/exit_status.h"

#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(ExitStatusOfTest, FollowsTheTableOfVerdictAndLine) {
  struct Row {
    State verdict;
    int fail, unknown, warn;
  };
  for (const Row& row : {Row{PASS, 0, 0, 0}, Row{WARN, 0, 0, 1},
                         Row{UNKNOWN, 2, 1, 1}, Row{FAIL, 1, 1, 1}}) {
    EXPECT_EQ(ExitStatusOf(row.verdict, FailOn::kFail), row.fail)
        << row.verdict;
    EXPECT_EQ(ExitStatusOf(row.verdict, FailOn::kUnknown), row.unknown)
        << row.verdict;
    EXPECT_EQ(ExitStatusOf(row.verdict, FailOn::kWarn), row.warn)
        << row.verdict;
  }
}

TEST(ExitStatusOfTest, IsNeverZeroForAVerdictThatSaysNothing) {
  for (const State verdict : {STATE_UNSPECIFIED, static_cast<State>(77)}) {
    EXPECT_EQ(ExitStatusOf(verdict, FailOn::kFail), kExitNoVerdict);
  }
}

TEST(ExitStatusOfTest, TellsAWrongRequestFromAControllerThatIsAway) {
  EXPECT_EQ(ExitStatusOf(absl::InvalidArgumentError("")), kExitUsage);
  EXPECT_EQ(ExitStatusOf(absl::NotFoundError("")), kExitUsage);
  for (const absl::Status& status :
       {absl::UnavailableError(""), absl::DeadlineExceededError(""),
        absl::PermissionDeniedError(""), absl::CancelledError(""),
        absl::InternalError("")}) {
    EXPECT_EQ(ExitStatusOf(status), kExitNoVerdict) << status;
  }
}

}  // namespace
}  // namespace clusterd
