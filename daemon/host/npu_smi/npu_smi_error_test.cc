#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/host/npu_smi/chip_answers.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kWarning[] =
    "[WARNING]The driver package may not be completely installed, which may "
    "cause function abnormal. Please reinstall it.\n";

CommandResult Result(int status, const std::string& standard_output,
                     const std::string& standard_error = "") {
  CommandResult result;
  result.exit_status = status;
  result.standard_output = standard_output;
  result.standard_error = standard_error;
  return result;
}

TEST(NpuSmiFailureTest, KnowsEveryPublishedTextOnEitherStream) {
  const struct {
    const char* text;
    absl::StatusCode code;
  } kCases[] = {
      {"There is no NPU card on this server.", absl::StatusCode::kNotFound},
      {"Invalid card id.", absl::StatusCode::kNotFound},
      {"This device does not support querying hccs.",
       absl::StatusCode::kUnimplemented},
      {"Error parameter of -i", absl::StatusCode::kInvalidArgument},
      {"dcmi model initialized failed, because the device is used. ret is "
       "-8020",
       absl::StatusCode::kUnavailable},
      {"npu get board type failed. ret is -9005",
       absl::StatusCode::kUnavailable},
      {"DrvMngGetConsoleLogLevel failed. (ret=4)",
       absl::StatusCode::kUnavailable},
      {"DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)",
       absl::StatusCode::kUnavailable},
      {"Usage: npu-smi info <watch|proc|-h|-m|-l|-t type> [Options...]",
       absl::StatusCode::kInvalidArgument},
  };
  for (const auto& test_case : kCases) {
    const std::string line = std::string(test_case.text) + "\n";
    for (const CommandResult& result :
         {Result(1, line), Result(1, "", line), Result(0, line),
          Result(1, kWarning + line)}) {
      const absl::Status status = NpuSmiFailure(result);
      EXPECT_EQ(status.code(), test_case.code) << test_case.text;
      EXPECT_THAT(std::string(status.message()), HasSubstr(test_case.text));
    }
  }
}

TEST(NpuSmiFailureTest, ExplainsADeviceThatIsUsedByBothItsCauses) {
  const absl::Status status = NpuSmiFailure(
      Result(1,
             "dcmi model initialized failed, because the device is used. "
             "ret is -8020\n"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("device-namespace"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("/usr/local/dcmi"));
}

TEST(NpuSmiFailureTest, ExplainsTheCodesWhateverStandsBeforeThem) {
  for (const char* text : {"dcmi module initialize failed. ret is -8005",
                           "dcmi module initialize failed. ret is -8020.\r",
                           "dcmi model initialized failed",
                           "  npu get board type failed. ret is -9005",
                           "[ERROR] halGetDeviceInfo drvErr=87",
                           "DrvMngGetConsoleLogLevel failed. "
                           "(g_conLogLevel=3)"}) {
    for (const int status : {0, 1, 255}) {
      const absl::Status failure =
          NpuSmiFailure(Result(status, "", std::string(text) + "\n"));
      EXPECT_TRUE(absl::IsUnavailable(failure)) << text;
      EXPECT_THAT(std::string(failure.message()), HasSubstr("/usr/local/dcmi"))
          << text;
    }
  }
  // Another code has another cause.
  EXPECT_THAT(
      std::string(NpuSmiFailure(Result(1, "", "ret is -80200\nret is -8011\n"))
                      .message()),
      Not(HasSubstr("/usr/local/dcmi")));
}

TEST(NpuSmiFailureTest, QuotesAFailureItDoesNotKnow) {
  const absl::Status status = NpuSmiFailure(Result(254, "", "dcmi init\n"));
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("status 254 and \"dcmi init\\n\""));
  CommandResult killed;
  killed.signal = 11;
  EXPECT_THAT(std::string(NpuSmiFailure(killed).message()),
              HasSubstr("ended by signal 11"));
}

TEST(NpuSmiFailureTest, PassesDataWithOrWithoutTheWarning) {
  EXPECT_TRUE(NpuSmiFailure(Result(0, "\tTotal Count : 8\n")).ok());
  EXPECT_TRUE(
      NpuSmiFailure(Result(0, std::string(kWarning) + "\tTotal Count : 8\n"))
          .ok());
}

TEST(NpuSmiDataLinesTest, LeavesTheWarningAndEmptyLinesOut) {
  const std::string output = std::string(kWarning) + "\n\tA : b \r\n \nC\n";
  EXPECT_THAT(NpuSmiDataLines(output), ElementsAre("\tA : b", "C"));
}

}  // namespace
}  // namespace clusterd
