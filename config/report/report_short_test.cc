#include "absl/strings/str_cat.h"
#include "config/report/report_table.h"
#include "config/words/terminal.h"
#include "gtest/gtest.h"
#include "tests/support/client/golden.h"

namespace clusterd {
namespace {

class ReportShortGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(ReportShortGoldenTest, PrintsAsInTheFile) {
  const std::string name = absl::StrCat("reports/", GetParam());
  const Report report = GoldenMessage<Report>(name);
  ExpectGolden(absl::StrCat(name, ".short"),
               absl::StrCat(ReportShort(report, true), "\n"));
}

INSTANTIATE_TEST_SUITE_P(Reports, ReportShortGoldenTest,
                         testing::Values("pass", "fail", "hostile", "job",
                                         "no_verdict"),
                         [](const auto& info) {
                           return std::string(info.param);
                         });

TEST(ReportShortTest, NamesTheRootAndNotWhatFollowsFromIt) {
  const std::string line =
      ReportShort(GoldenMessage<Report>("reports/fail"), true);
  EXPECT_LT(line.find("link: server1 device 3: DOWN"),
            line.find("net-health:"));
}

TEST(ReportShortTest, MarksAPartialReport) {
  Report report = GoldenMessage<Report>("reports/fail");
  report.set_partial(true);
  EXPECT_NE(ReportShort(report, true).find("FAIL (partial) on "),
            std::string::npos);
  report.set_error("interrupted");
  EXPECT_NE(ReportShort(report, true).find("NO VERDICT (partial): interrupted"),
            std::string::npos);
}

void AddHost(const std::string& host, const std::string& why, Report* report) {
  HostStatus* status = report->add_hosts();
  status->set_host(host);
  status->set_no_facts_reason(why);
}

Report AbsentReport(State verdict) {
  Report report;
  report.set_cluster("demo");
  report.set_verdict(verdict);
  report.set_elapsed_ms(30000);
  return report;
}

TEST(ReportShortTest, NamesAHostThatIsAbsentThoughNoRuleRan) {
  Report report = AbsentReport(UNKNOWN);
  report.add_rules()->set_state(SKIPPED);
  AddHost("server0", "no answer: never attached", &report);
  EXPECT_EQ(ReportShort(report, true),
            "demo: UNKNOWN: 1 skipped: server0: no answer: never attached; "
            "1 host in 30 s");
}

TEST(ReportShortTest, SaysOnceThatHostsAreAbsent) {
  Report report = AbsentReport(UNKNOWN);
  RuleResult& rule = *report.add_rules();
  rule.set_rule("host-identity");
  rule.set_state(UNKNOWN);
  Finding& finding = *rule.add_findings();
  finding.set_state(UNKNOWN);
  finding.add_subjects()->set_host("server0");
  finding.set_observed("no facts: no answer");
  AddHost("server0", "no answer", &report);
  AddHost("server1", "", &report);
  EXPECT_EQ(ReportShort(report, true),
            "demo: UNKNOWN: 1 unknown: server0: no answer; 2 hosts in 30 s");
  // Unknown facts of a host that answered are printed too.
  finding.add_subjects()->set_host("server1");
  EXPECT_NE(ReportShort(report, true).find("host-identity: "),
            std::string::npos);
}

TEST(ReportShortTest, NamesAbsentHostsAfterTheFailuresHoweverMany) {
  Report report = AbsentReport(FAIL);
  for (int i = 0; i < 5; ++i) {
    RuleResult& rule = *report.add_rules();
    rule.set_rule(absl::StrCat("rule-", i));
    rule.set_state(FAIL);
    Finding& finding = *rule.add_findings();
    finding.set_state(FAIL);
    finding.add_subjects()->set_host("server9");
    finding.set_observed("DOWN");
  }
  AddHost("server0", "no answer", &report);
  AddHost("server1", "no answer", &report);
  AddHost("server2", "busy", &report);
  EXPECT_EQ(
      ReportShort(report, true),
      "demo: FAIL on server9: 5 failed: rule-0: server9: DOWN; rule-1: "
      "server9: DOWN; server[0-1]: no answer; and 4 more; 3 hosts in 30 s");
}

TEST(ReportShortTest, FitsAChatMessageHoweverMuchIsWrong) {
  Report report;
  report.set_cluster(std::string(5000, 'c'));
  report.set_verdict(FAIL);
  for (int i = 0; i < 40; ++i) {
    RuleResult& rule = *report.add_rules();
    rule.set_rule(absl::StrCat("rule-", i));
    rule.set_state(FAIL);
    Finding& finding = *rule.add_findings();
    finding.set_state(FAIL);
    finding.set_observed(std::string(5000, 'x'));
  }
  const std::string line = ReportShort(report, true);
  EXPECT_LE(TextColumns(line), 450);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_NE(line.find("and 37 more"), std::string::npos);
}

// One rule that fails on each of these hosts, each in a finding of its own.
Report FailingReport(int hosts) {
  Report report = AbsentReport(FAIL);
  RuleResult& rule = *report.add_rules();
  rule.set_rule("link");
  rule.set_state(FAIL);
  for (int i = 0; i < hosts; ++i) {
    Finding& finding = *rule.add_findings();
    finding.set_state(FAIL);
    finding.set_observed("DOWN");
    finding.add_subjects()->set_host(absl::StrCat("s", i * i));
    AddHost(finding.subjects(0).host(), "", &report);
  }
  return report;
}

TEST(CheckReportTest, NamesEveryFailingHostInTheOneLine) {
  EXPECT_EQ(ReportShort(FailingReport(3), true),
            "demo: FAIL on s[0-1,4]: 1 failed: link: s0: DOWN; 3 hosts in "
            "30 s");
}

TEST(CheckReportTest, CountsFailingHostsThatTheOneLineCannotName) {
  const std::string line = ReportShort(FailingReport(1152), true);
  EXPECT_NE(line.find("FAIL on s[0-1,4,9,16,"), std::string::npos) << line;
  EXPECT_NE(line.find("] and 1116 more failing hosts: 1 failed: link: "),
            std::string::npos)
      << line;
  EXPECT_LE(TextColumns(line), 500);
}

TEST(CheckReportTest, CallsAHostWithoutAClusterByItsName) {
  Report report;
  report.set_verdict(UNKNOWN);
  AddHost("server7", "", &report);
  EXPECT_EQ(ReportShort(report, true),
            "server7: UNKNOWN: no rule was judged; 1 host in 0 s");
  report.clear_hosts();
  report.set_error("no setting");
  EXPECT_EQ(ReportShort(report, true), "NO VERDICT: no setting");
}

TEST(ReportShortTest, PutsSeveralMistakesIntoOneLine) {
  Report report;
  report.set_cluster("demo");
  report.set_error("host \"a\" is not in the spec\nhost \"b\" is not either");
  EXPECT_EQ(ReportShort(report, true),
            "demo: NO VERDICT: host \"a\" is not in the spec; host \"b\" is "
            "not either");
}

}  // namespace
}  // namespace clusterd
