#include "config/report/verdict.h"

#include "config/values/version.h"
#include "gmock/gmock.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

Report ReportOf(State verdict, State rule) {
  Report report;
  report.set_schema_version(kReportSchemaVersion);
  report.set_verdict(verdict);
  report.add_rules()->set_state(rule);
  report.add_hosts()->set_host("server0");
  return report;
}

TEST(SupportedVerdictTest, NeverReadsAVerdictAsBetterThanARule) {
  const struct {
    State verdict, rule, supported;
  } kCases[] = {{PASS, PASS, PASS},
                {WARN, WARN, WARN},
                {FAIL, FAIL, FAIL},
                {PASS, FAIL, FAIL},
                {PASS, UNKNOWN, UNKNOWN},
                {FAIL, PASS, FAIL},
                {PASS, SKIPPED, UNKNOWN},
                {static_cast<State>(9), PASS, UNKNOWN},
                {STATE_UNSPECIFIED, PASS, UNKNOWN}};
  for (const auto& c : kCases) {
    EXPECT_EQ(SupportedVerdict(ReportOf(c.verdict, c.rule)), c.supported)
        << c.verdict << " " << c.rule;
  }
}

TEST(SupportedVerdictTest, IsUnknownWhenNothingWasChecked) {
  EXPECT_EQ(SupportedVerdict(Report()), UNKNOWN);
  Report no_host = ReportOf(PASS, PASS);
  no_host.clear_hosts();
  EXPECT_EQ(SupportedVerdict(no_host), UNKNOWN);
}

TEST(SupportedVerdictTest, IsUnknownWhenAHostDidNotAnswer) {
  Report report = ReportOf(PASS, PASS);
  report.add_hosts()->set_no_facts_reason("never attached");
  EXPECT_EQ(SupportedVerdict(report), UNKNOWN);
  report.set_verdict(FAIL);
  EXPECT_EQ(SupportedVerdict(report), FAIL);
}

TEST(SupportedVerdictTest, DoesNotTrustAnErrorOrAnotherSchema) {
  Report report = ReportOf(PASS, PASS);
  report.set_error("deadline");
  EXPECT_EQ(SupportedVerdict(report), UNKNOWN);
  report = ReportOf(PASS, PASS);
  report.set_schema_version(kReportSchemaVersion + 1);
  EXPECT_EQ(SupportedVerdict(report), UNKNOWN);
}

TEST(FailingHostsTest, TakesFindingsThenHostsEachOnce) {
  Report report = ReportOf(FAIL, FAIL);
  MergeText("hosts {host: 'server1' state: FAIL}", &report);
  // The first subject is the cluster.
  MergeText(R"(findings {state: FAIL subjects {}
                         subjects {host: 'server0'} subjects {host: 'server9'}}
               findings {state: WARN subjects {host: 'server8'}})",
            report.mutable_rules(0));
  EXPECT_THAT(FailingHosts(report),
              testing::ElementsAre("server0", "server1", "server9"));
}

TEST(CountsTextTest, LeavesOutZeros) {
  Counts counts;
  EXPECT_EQ(CountsText(counts), "no rule was judged");
  counts.set_fail(2);
  counts.set_pass(24);
  EXPECT_EQ(CountsText(counts), "2 failed, 24 passed");
}

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
  // These say nothing.
  for (const State verdict : {STATE_UNSPECIFIED, static_cast<State>(77)}) {
    EXPECT_EQ(ExitStatusOf(verdict, FailOn::kFail), kExitNoVerdict);
  }
}

TEST(ExitStatusOfTest, TellsAWrongRequestFromAControllerThatIsAway) {
  using Code = absl::StatusCode;
  for (const Code code : {Code::kInvalidArgument, Code::kNotFound}) {
    EXPECT_EQ(ExitStatusOf(absl::Status(code, "")), kExitUsage);
  }
  for (const Code code :
       {Code::kUnavailable, Code::kDeadlineExceeded, Code::kPermissionDenied,
        Code::kCancelled, Code::kInternal}) {
    EXPECT_EQ(ExitStatusOf(absl::Status(code, "")), kExitNoVerdict) << code;
  }
}

}  // namespace
}  // namespace clusterd
