#include "client/print/verdict.h"

#include "gtest/gtest.h"

namespace clusterd {
namespace {

Report ReportOf(State verdict, State rule) {
  Report report;
  report.set_schema_version(1);
  report.set_verdict(verdict);
  report.add_rules()->set_state(rule);
  report.add_hosts()->set_host("server0");
  return report;
}

TEST(SupportedVerdictTest, TakesTheVerdictThatTheRulesSupport) {
  EXPECT_EQ(SupportedVerdict(ReportOf(PASS, PASS)), PASS);
  EXPECT_EQ(SupportedVerdict(ReportOf(WARN, WARN)), WARN);
  EXPECT_EQ(SupportedVerdict(ReportOf(FAIL, FAIL)), FAIL);
}

TEST(SupportedVerdictTest, NeverReadsAVerdictAsBetterThanARule) {
  EXPECT_EQ(SupportedVerdict(ReportOf(PASS, FAIL)), FAIL);
  EXPECT_EQ(SupportedVerdict(ReportOf(PASS, UNKNOWN)), UNKNOWN);
  EXPECT_EQ(SupportedVerdict(ReportOf(FAIL, PASS)), FAIL);
}

TEST(SupportedVerdictTest, IsUnknownWhenNothingWasChecked) {
  EXPECT_EQ(SupportedVerdict(Report()), UNKNOWN);
  EXPECT_EQ(SupportedVerdict(ReportOf(PASS, SKIPPED)), UNKNOWN);
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

TEST(SupportedVerdictTest, DoesNotTrustAnErrorAnotherSchemaOrAFutureState) {
  Report report = ReportOf(PASS, PASS);
  report.set_error("deadline");
  EXPECT_EQ(SupportedVerdict(report), UNKNOWN);
  report = ReportOf(PASS, PASS);
  report.set_schema_version(2);
  EXPECT_EQ(SupportedVerdict(report), UNKNOWN);
  EXPECT_EQ(SupportedVerdict(ReportOf(static_cast<State>(9), PASS)), UNKNOWN);
  EXPECT_EQ(SupportedVerdict(ReportOf(STATE_UNSPECIFIED, PASS)), UNKNOWN);
}

TEST(CountsTextTest, LeavesOutZeros) {
  Counts counts;
  EXPECT_EQ(CountsText(counts), "no rule was judged");
  counts.set_fail(2);
  counts.set_pass(24);
  EXPECT_EQ(CountsText(counts), "2 failed, 24 passed");
}

}  // namespace
}  // namespace clusterd
