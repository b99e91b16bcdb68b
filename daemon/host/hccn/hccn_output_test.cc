#include <string>

#include "daemon/host/hccn/hccn_tool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(HccnDataLinesTest, DropsEmptyLinesAndBlanksAtTheEnd) {
  EXPECT_THAT(HccnDataLines("mtu:1500 \n\n\t\nnext\r\n"),
              ElementsAre("mtu:1500", "next"));
}

TEST(HccnDataLinesTest, DropsWhatTheToolSaysAboutItself) {
  EXPECT_THAT(
      HccnDataLines("[WARNING] \"/var/log/hccn_tool\" is not a directory, "
                    "hccn_tool logs may be lost.\n"
                    "mtu:1500\n"
                    "Cmd executed successfully!\n"),
      ElementsAre("mtu:1500"));
}

TEST(HccnDataLinesTest, HasNoLinesForNoOutput) {
  EXPECT_THAT(HccnDataLines(""), IsEmpty());
  EXPECT_THAT(HccnDataLines("\n"), IsEmpty());
}

CommandResult RunResult(int status, const std::string& standard_output,
                        const std::string& standard_error) {
  CommandResult result;
  result.exit_status = status;
  result.standard_output = standard_output;
  result.standard_error = standard_error;
  return result;
}

HccnVerdict Classify(int exit_status, const std::string& standard_error,
                     const std::string& standard_output = "") {
  return ClassifyHccnRun(
      RunResult(exit_status, standard_output, standard_error));
}

HccnVerdict ClassifyAscend950(int status, const std::string& standard_output,
                              const std::string& standard_error) {
  return ClassifyHccnRun(RunResult(status, standard_output, standard_error),
                         NpuToolFacts::ASCEND_950);
}

TEST(ClassifyHccnRunTest, KnowsTheTextsOnStandardError) {
  struct Case {
    const char* text;
    int exit_status;
    HccnFailure failure;
  };
  const Case cases[] = {
      {"Get ipconf failed, because no ip was preset there!", 13,
       HccnFailure::kNoAddress},
      {"Get ip failed, because no ip was preset there!", 6,
       HccnFailure::kNoAddress},
      {"Get gateway failed, because no gateway was preset there!", 2,
       HccnFailure::kNoGateway},
      {"permission denied: pls check this cmd run permission.", 12,
       HccnFailure::kNotPermitted},
      {"Get invalid device id.", 4, HccnFailure::kNoDevice},
      {"The device is not exist!", 4, HccnFailure::kNoDevice},
      {"Get lock failed. Please try again.", 25, HccnFailure::kBusy},
      {"The device is occupied. Please try again later.", 31,
       HccnFailure::kBusy},
      {"Get invalid major cmd type. The valid major cmd type should be \"-a\" "
       "or \"-i\".\nEnter [ hccn_tool -h ] for more details.",
       1, HccnFailure::kWrongCommandLine},
      {"Get invalid major cmd number. Please check your input.\nEnter [ "
       "hccn_tool -h ] for more details.",
       2, HccnFailure::kWrongCommandLine},
      {"Get invalid major cmd.\nEnter [ hccn_tool -h ] for more details.", 3,
       HccnFailure::kWrongCommandLine},
      {"The total count of input parameters is wrong!", 4,
       HccnFailure::kWrongCommandLine},
      {"Command execute failed!", 1, HccnFailure::kOther},
      {"Cmd execute failed!", 244, HccnFailure::kOther},
      {"The cmd line execute timeout!", 1, HccnFailure::kOther},
      {"Get device health status failed!", 3, HccnFailure::kOther},
      {"Execute failed: Link status is down.", 22, HccnFailure::kOther},
      {"Read file failed, cmd execute failed! pls check cmd run permission.", 5,
       HccnFailure::kOther},
      {"The hccn.conf can't access, cmd execute failed! pls check the conf "
       "file or cmd run permission.",
       29, HccnFailure::kOther},
      {"No certificate found, please set certs firstly!", 14,
       HccnFailure::kNoCertificate},
  };
  for (const Case& known : cases) {
    const HccnVerdict verdict =
        Classify(known.exit_status, std::string(known.text) + "\n");
    EXPECT_EQ(verdict.failure, known.failure) << known.text;
    EXPECT_THAT(std::string(known.text), HasSubstr(verdict.text.substr(0, 60)));
  }
}

TEST(ClassifyHccnRunTest, TellsByTextThenByStatus) {
  struct Case {
    int exit_status;
    const char* error;
    const char* output;
    HccnFailure failure;
  };
  const Case cases[] = {
      // Texts on standard output.
      {11, "", "hccn_tool is busy, please try again.\n", HccnFailure::kBusy},
      {23, "", "This device does not support IPV6!\n",
       HccnFailure::kNotSupported},
      {0, "", "This device does not support switching fec mode.\n",
       HccnFailure::kNotSupported},
      // One status for several failures.
      {13, "Get ipconf failed, because no ip was preset there!\n", "",
       HccnFailure::kNoAddress},
      {13, "", "The command is not supported on this product.\n",
       HccnFailure::kNotSupported},
      {13, "The value of mtu you input is out of the valid range!\n", "",
       HccnFailure::kOther},
      // A text counts more than status 0, and the one that says more.
      {0, "Command execute failed!\n", "", HccnFailure::kOther},
      {29, "Cmd execute failed!\nThe device is not exist!\n",
       "Recovery failed. Check '/var/log/hccn_tool/hccn_config.log' for "
       "details.\n",
       HccnFailure::kNoDevice},
      // Behind the warning about its log folder.
      {11, "",
       "[WARNING] \"/var/log/hccn_tool\" is not a directory, hccn_tool logs "
       "may be lost.\nhccn_tool is busy, please try again.\n",
       HccnFailure::kBusy},
      // Data, also where an LLDP neighbour forges texts.
      {0, "", "link status: UP\n", HccnFailure::kNone},
      {0, "", "\n", HccnFailure::kNone},
      {0, "",
       "Chassis ID TLV\n\tMAC: a\nSystem Description TLV\n\tx\nhccn_tool is "
       "busy, please try again.\nCommand execute failed!\n",
       HccnFailure::kNone},
      {1, "", "link status: UP\n", HccnFailure::kOther},
      // Silent status 234 is a missing permission.
      {234, "", "", HccnFailure::kNotPermitted},
      {234, "something\n", "", HccnFailure::kOther},
  };
  for (const Case& known : cases) {
    EXPECT_EQ(Classify(known.exit_status, known.error, known.output).failure,
              known.failure)
        << known.error << known.output;
  }
}

TEST(ClassifyHccnRunTest, QuotesWhatItDoesNotKnowAndNamesASignal) {
  const HccnVerdict verdict =
      Classify(127,
               "hccn_tool: error while loading shared libraries: "
               "libdrvdsmi_host.so\n");
  EXPECT_EQ(verdict.failure, HccnFailure::kOther);
  EXPECT_THAT(verdict.text, HasSubstr("status 127"));
  EXPECT_THAT(verdict.text, HasSubstr("error while loading shared libraries"));
  CommandResult killed;
  killed.signal = 11;
  EXPECT_EQ(ClassifyHccnRun(killed).failure, HccnFailure::kOther);
  EXPECT_EQ(ClassifyHccnRun(killed).text, "ended by signal 11 without a word");
}

TEST(ClassifyAscend950RunTest, KnowsEveryStatedTextOnItsStream) {
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
      // Status 4 is a conflict in one tool and several other failures in the
      // other; status 6 by itself has no known cause.
      {4, "", "Get invalid device id.\n", HccnFailure::kNoDevice},
      {6, "", "", HccnFailure::kOther}};
  for (const auto& [status, out, err, failure] : kCases) {
    const HccnVerdict verdict = ClassifyAscend950(status, out, err);
    EXPECT_EQ(verdict.failure, failure) << err;
    EXPECT_FALSE(verdict.text.empty());
  }
  const HccnVerdict refusal = ClassifyAscend950(
      1, "",
      "Get invalid major cmd type. The valid major cmd type should be "
      "\"-a\" or \"-i\".\n"
      "Enter [ hccn_tool -h ] for more details.\n");
  EXPECT_EQ(refusal.failure, HccnFailure::kWrongCommandLine);
  EXPECT_THAT(refusal.text, HasSubstr("Get invalid major cmd type."));
  EXPECT_EQ(ClassifyAscend950(0, "link status: UP\n", "").failure,
            HccnFailure::kNone);
}

}  // namespace
}  // namespace clusterd
