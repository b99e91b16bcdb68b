#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

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
    EXPECT_TRUE(absl::StrContains(output.out, key)) << key << "\n"
                                                    << output.out;
  }
}

TEST(ExplainCommandTest, ListsAllRulesByCategory) {
  const ProgramOutput output = RunProgram({"explain"}, EmptyWorld());
  EXPECT_EQ(output.status, 0);
  for (const char* text :
       {"Host\n", "Device\n", "Address\n", "Cluster\n", "  ports-reserved ",
        "  link ", "  host-identity "}) {
    EXPECT_TRUE(absl::StrContains(output.out, text)) << text << "\n"
                                                     << output.out;
  }
}

TEST(ExplainCommandTest, NamesTheNearestRule) {
  const ProgramOutput output =
      RunProgram({"explain", "net-helth"}, EmptyWorld());
  EXPECT_EQ(output.status, 3);
  EXPECT_EQ(output.out, "");
  EXPECT_TRUE(
      absl::StrContains(output.err,
                        "rule \"net-helth\" does not exist, did you mean "
                        "\"net-health\"?"))
      << output.err;
}

TEST(ExplainCommandTest, PointsToTheListWhenNothingIsNear) {
  EXPECT_TRUE(
      absl::StrContains(RunProgram({"explain", "zzzzzzzz"}, EmptyWorld()).err,
                        "clusterctl explain lists all rules"));
}

// Findings print EI0009, so people look it up.
TEST(ExplainCommandTest, FindsTheRulesThatNameAnErrorCode) {
  for (const char* code : {"EI0009", "ei0009"}) {
    const ProgramOutput output = RunProgram({"explain", code}, EmptyWorld());
    EXPECT_EQ(output.status, 0) << output.err;
    EXPECT_TRUE(absl::StartsWith(output.out, "EI0009\n")) << output.out;
    EXPECT_TRUE(absl::StrContains(output.out, "\n            link "))
        << output.out;
    // Only one of its findings names it.
    EXPECT_TRUE(absl::StrContains(output.out, "\n            net-health "))
        << output.out;
    EXPECT_FALSE(absl::StrContains(output.out, "ports-reserved"));
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
    const ProgramOutput output =
        RunProgram({"explain", "--", code}, EmptyWorld());
    EXPECT_EQ(output.status, 0) << output.err;
    EXPECT_TRUE(absl::StrContains(output.out,
                                  absl::StrCat("\n            ", rule, " ")))
        << output.out;
  }
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
    const ProgramOutput output =
        RunProgram({"explain", "--", code}, EmptyWorld());
    EXPECT_EQ(output.status, 0) << output.err;
    EXPECT_TRUE(absl::StrContains(
        absl::StrReplaceAll(output.out, {{"\n            ", " "}}), meaning))
        << output.out;
  }
  // A code that the vendor does not explain stays unknown.
  for (const char* code : {"507999", "-8999", "103900"}) {
    const ProgramOutput output =
        RunProgram({"explain", "--", code}, EmptyWorld());
    EXPECT_EQ(output.status, 3);
    EXPECT_TRUE(absl::StrContains(output.err, code)) << output.err;
  }
}

TEST(ExplainCommandTest, SaysOfACodeThatNoRuleNamesIt) {
  const ProgramOutput output = RunProgram({"explain", "EI9999"}, EmptyWorld());
  EXPECT_EQ(output.status, 3);
  EXPECT_TRUE(
      absl::StrContains(output.err, "no rule names the error code EI9999"))
      << output.err;
}

TEST(ExplainCommandTest, PrintsAsciiWhereTheLocaleIsNotUtf8) {
  for (const char c : RunProgram({"explain", "net-health"}, EmptyWorld()).out) {
    EXPECT_GT(static_cast<signed char>(c), 0);
  }
}

TEST(ExplainCommandTest, SaysWhatAHookDoesWithAndWithoutTheController) {
  const auto words = [](const char* rule) {
    return absl::StrReplaceAll(RunProgram({"explain", rule}, EmptyWorld()).out,
                               {{"\n            ", " "}});
  };
  EXPECT_TRUE(absl::StrContains(
      words("link"),
      "\nhook        controller there: refuse and drain; controller away: "
      "refuse and drain. No packet passes a port that is down."))
      << words("link");
  EXPECT_TRUE(absl::StrContains(words("firewall"), "controller away: allow. "))
      << words("firewall");
}

}  // namespace
}  // namespace clusterd
