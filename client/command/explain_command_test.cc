#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/codes/error_code.h"
#include "config/rules/catalogue.h"
#include "gmock/gmock.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not, ::testing::StartsWith;

// `explain` does not need a controller or a setting.
ProgramWorld EmptyWorld() {
  ProgramWorld world;
  world.environment.clear();
  return world;
}

TEST(ExplainCommandTest, SaysWhatWhyAndHowToFix) {
  const ProgramOutput output =
      RunProgram({"explain", "net-health"}, EmptyWorld());
  EXPECT_EQ(output.status, 0) << output.err;
  for (const char* key : {"net-health\n", "\nwhat ", "\nfails when", "\nwhy ",
                          "\nfix ", "\nlevel ", "\nsource "}) {
    EXPECT_THAT(output.out, HasSubstr(key));
  }
}

TEST(ExplainCommandTest, ListsAllRulesByCategory) {
  const ProgramOutput output = RunProgram({"explain"}, EmptyWorld());
  EXPECT_EQ(output.status, 0);
  for (const char* text :
       {"Host\n", "Device\n", "Address\n", "Cluster\n", "  ports-reserved ",
        "  link ", "  host-identity "}) {
    EXPECT_THAT(output.out, HasSubstr(text));
  }
}

TEST(ExplainCommandTest, NamesTheNearestRule) {
  EXPECT_THAT(RunProgram({"explain", "net-helth"}, EmptyWorld()),
              Ends(3, Out(""),
                   Err(Tells("msg-rule-not-known", "net-helth",
                             Worded("did-you-mean", "net-health")))));
}

TEST(ExplainCommandTest, PointsToTheListWhenNothingIsNear) {
  EXPECT_THAT(RunProgram({"explain", "zzzzzzzz"}, EmptyWorld()).err,
              Tells("ctl-explain-lists"));
}

// Findings print EI0009, so people look it up.
TEST(ExplainCommandTest, FindsTheRulesThatNameAnErrorCode) {
  for (const char* code : {"EI0009", "ei0009"}) {
    const ProgramOutput output = RunProgram({"explain", code}, EmptyWorld());
    EXPECT_EQ(output.status, 0) << output.err;
    EXPECT_THAT(output.out, StartsWith("EI0009\n"));
    EXPECT_THAT(output.out, HasSubstr("\n            link "));
    // Only one of its findings names it.
    EXPECT_THAT(output.out, HasSubstr("\n            net-health "));
    EXPECT_THAT(output.out, Not(HasSubstr("ports-reserved")));
  }
}

TEST(ExplainCommandTest, FindsTheRulesOfCodesOfTheDriverAndOfLeftovers) {
  for (const auto& [code, rule] :
       {std::pair("-8020", "device-namespace"),
        std::pair("-8005", "device-namespace"),
        std::pair("-9005", "device-namespace"),
        std::pair("-8020", "container-mounts"),
        std::pair("-8005", "container-mounts"),
        std::pair("-9005", "container-mounts"),
        std::pair("507899", "device-namespace"),
        std::pair("EI0020", "device-idle"), std::pair("EJ0001", "device-idle"),
        std::pair("EJ0004", "rank-table")}) {
    EXPECT_THAT(
        RunProgram({"explain", "--", code}, EmptyWorld()),
        Ends(0, Out(HasSubstr(absl::StrCat("\n            ", rule, " ")))));
  }
}

// Returns the output of such a command without its line breaks.
std::string Unwrapped(const std::vector<std::string>& command) {
  const ProgramOutput output = RunProgram(command, EmptyWorld());
  EXPECT_EQ(output.status, 0) << output.err;
  return absl::StrReplaceAll(output.out, {{"\n            ", " "}});
}

TEST(ExplainCommandTest, SaysWhatCodesOfTheDriverMean) {
  const std::pair<const char*, const char*> kCases[] = {
      {"507899", "the driver met an internal error"},
      {"507056", "the link between two devices is broken"},
      {"507033", "the device could not be started"},
      {"507054", "ECC error"},
      {"207001", "memory could not be had"},
      {"-8005", "DCMI, on which npu-smi builds"},
      {"-8005", "a mount of the driver be missing"},
      {"-8020", "or a mount of the driver is missing"},
      {"-9005", "or a mount of the driver is missing"}};
  for (const auto& [code, meaning] : kCases) {
    EXPECT_THAT(Unwrapped({"explain", "--", code}), HasSubstr(meaning));
  }
  // A code that the vendor does not explain stays unknown.
  for (const char* code : {"507999", "-8999", "103900"}) {
    EXPECT_THAT(RunProgram({"explain", "--", code}, EmptyWorld()),
                Ends(3, Err(HasSubstr(code))));
  }
}

TEST(ExplainCommandTest, ShowsTheRowOfACode) {
  for (const char* code : {"EI0015", "0x80E18402", "80e18402",
                           "AISW_CANN_HCCL_001", "E19999", "ERR02200"}) {
    const ErrorCode& row = *FindErrorCode(code);
    const std::string out = Unwrapped({"explain", code});
    EXPECT_THAT(out, StartsWith(absl::StrCat(row.name, "\n"))) << code;
    EXPECT_THAT(out, HasSubstr(std::string(row.english.meaning))) << code;
    EXPECT_THAT(out, HasSubstr(std::string(row.english.fix))) << code;
    EXPECT_THAT(out, HasSubstr(std::string(row.source))) << code;
  }
  // An entry of the vendor's catalogue leads to the code of the same error.
  EXPECT_THAT(Unwrapped({"explain", "AISW_CANN_HCCL_004"}),
              StartsWith("EI0015\n"));
}

TEST(ExplainCommandTest, SaysOfOtherCodesWhatTheVendorCallsThem) {
  const ErrorCode& row = *FindErrorCode("AISW_CANN_GE_035");
  EXPECT_THAT(Unwrapped({"explain", "AISW_CANN_GE_035"}),
              Tells("code-title", row.name, row.english.meaning));
}

TEST(ExplainCommandTest, SaysOfACodeThatNoRuleNamesIt) {
  EXPECT_THAT(RunProgram({"explain", "EI9999"}, EmptyWorld()),
              Ends(3, Err(Tells("msg-error-code-not-known", "EI9999"))));
}

TEST(ExplainCommandTest, PrintsAsciiWhereTheLocaleIsNotUtf8) {
  for (const char c : RunProgram({"explain", "net-health"}, EmptyWorld()).out) {
    EXPECT_GT(static_cast<signed char>(c), 0);
  }
}

TEST(ExplainCommandTest, SaysWhatAHookDoesWithAndWithoutTheController) {
  EXPECT_THAT(Unwrapped({"explain", "link"}),
              Tells("explain-hook-text", "refuse and drain", "refuse and drain",
                    FindRule("link")->text().alone_why));
  EXPECT_THAT(Unwrapped({"explain", "firewall"}),
              HasSubstr("controller away: allow. "));
}

}  // namespace
}  // namespace clusterd
