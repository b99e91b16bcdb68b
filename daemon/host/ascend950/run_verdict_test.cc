#include "daemon/host/ascend950/run_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clusterd {
namespace ascend950 {
namespace {

using ::testing::HasSubstr;

CommandResult Result(int status, const std::string& standard_output,
                     const std::string& standard_error) {
  CommandResult result;
  result.exit_status = status;
  result.standard_output = standard_output;
  result.standard_error = standard_error;
  return result;
}

TEST(ClassifyRunTest, KnowsEveryStatedTextOnItsStream) {
  const struct {
    int status;
    const char* standard_output;
    const char* standard_error;
    HccnFailure failure;
  } kCases[] = {
      {1, "hccn_tool is busy, please try again.\n", "", HccnFailure::kBusy},
      {2, "", "permission denied: pls check this cmd run permission.\n",
       HccnFailure::kNotPermitted},
      {3, "", "permission denied: pls check this cmd run environment.\n",
       HccnFailure::kNotPermitted},
      {4, "", "The ip address configured is conflicted!\n",
       HccnFailure::kOther},
      {5, "", "Get gateway failed, because no gateway was preset there!\n",
       HccnFailure::kNoGateway},
      {6, "", "Get ip failed, because no ip was preset there!\n",
       HccnFailure::kNoAddress},
      {7, "",
       "The segment of configured gateway doesn't match that of the configured "
       "ip address!\n",
       HccnFailure::kOther},
      {15, "", "Get device info failed.\n", HccnFailure::kOther},
      {2, "",
       "Please specify a valid mode.\n"
       "Enter [ hccn_tool -h ] for more details.\n",
       HccnFailure::kWrongCommandLine},
  };
  for (const auto& test_case : kCases) {
    const HccnVerdict verdict = ClassifyRun(Result(
        test_case.status, test_case.standard_output, test_case.standard_error));
    EXPECT_EQ(verdict.failure, test_case.failure) << test_case.standard_error;
    EXPECT_FALSE(verdict.text.empty());
  }
}

TEST(ClassifyRunTest, TellsStatusesOfTheClassicToolApartByText) {
  // 4 is a conflict here and several other things there.
  EXPECT_EQ(ClassifyRun(Result(4, "", "Get invalid device id.\n")).failure,
            HccnFailure::kNoDevice);
  // 6 alone says nothing.
  EXPECT_EQ(ClassifyRun(Result(6, "", "")).failure, HccnFailure::kOther);
}

TEST(ClassifyRunTest, RecognisesTheClassicToolsRefusal) {
  const HccnVerdict verdict = ClassifyRun(
      Result(1, "",
             "Get invalid major cmd type. The valid major cmd type should be "
             "\"-a\" or \"-i\".\n"
             "Enter [ hccn_tool -h ] for more details.\n"));
  EXPECT_EQ(verdict.failure, HccnFailure::kWrongCommandLine);
  EXPECT_THAT(verdict.text, HasSubstr("Get invalid major cmd type."));
}

TEST(ClassifyRunTest, PassesDataAsSuccess) {
  EXPECT_EQ(ClassifyRun(Result(0, "link status: UP\n", "")).failure,
            HccnFailure::kNone);
}

}  // namespace
}  // namespace ascend950
}  // namespace clusterd
