#include "absl/strings/str_cat.h"
#include "config/report/report_table.h"
#include "config/words/terminal.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/client/golden.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not;

TEST(ReportShortTest, NamesTheRootFirstAndMarksAPartialReport) {
  Report report = GoldenMessage<Report>("reports/fail");
  const std::string line = ReportShort(report, true);
  EXPECT_LT(line.find("link: server1 device 3: DOWN"),
            line.find("net-health:"));
  report.set_partial(true);
  EXPECT_THAT(ReportShort(report, true), HasSubstr("FAIL (partial) on "));
  report.set_error("interrupted");
  EXPECT_THAT(ReportShort(report, true),
              HasSubstr("NO VERDICT (partial): interrupted"));
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

// The line of that report: "demo: <head>; 3 hosts in 30 s".
std::string Demo(const std::string& head, int hosts) {
  return Say("short-head", "demo",
             Say("short-end", head, Counted(hosts, "host"), "30 s"));
}

Finding& AddFinding(const std::string& name, State state,
                    const std::string& host, const std::string& observed,
                    Report* report) {
  RuleResult& rule = *report->add_rules();
  rule.set_rule(name);
  rule.set_state(state);
  Finding& finding = *rule.add_findings();
  finding.set_state(state);
  finding.set_observed(observed);
  if (!host.empty()) finding.add_subjects()->set_host(host);
  return finding;
}

void AddFailures(int rules, const std::string& host,
                 const std::string& observed, Report* report) {
  for (int i = 0; i < rules; ++i) {
    AddFinding(absl::StrCat("rule-", i), FAIL, host, observed, report);
  }
}

TEST(ReportShortTest, NamesAHostThatIsAbsentThoughNoRuleRan) {
  Report report = AbsentReport(UNKNOWN);
  report.add_rules()->set_state(SKIPPED);
  AddHost("server0", "never attached", &report);
  EXPECT_EQ(ReportShort(report, true),
            Demo("UNKNOWN: 1 skipped: server0: never attached", 1));
}

TEST(ReportShortTest, SaysOnceThatHostsAreAbsent) {
  Report report = AbsentReport(UNKNOWN);
  Finding& finding = AddFinding("host-identity", UNKNOWN, "server0",
                                "no facts: no answer", &report);
  AddHost("server0", "no answer", &report);
  AddHost("server1", "", &report);
  EXPECT_EQ(ReportShort(report, true),
            Demo("UNKNOWN: 1 unknown: server0: no answer", 2));
  // Unknown facts of a host that answered are printed too.
  finding.add_subjects()->set_host("server1");
  EXPECT_THAT(ReportShort(report, true), HasSubstr("host-identity: "));
}

TEST(ReportShortTest, NamesAbsentHostsAfterTheFailuresHoweverMany) {
  Report report = AbsentReport(FAIL);
  AddFailures(5, "server9", "DOWN", &report);
  AddHost("server0", "no answer", &report);
  AddHost("server1", "no answer", &report);
  AddHost("server2", "busy", &report);
  EXPECT_EQ(ReportShort(report, true),
            Demo("FAIL on server9: 5 failed: rule-0: server9: DOWN; rule-1: "
                 "server9: DOWN; server[0-1]: no answer; and 4 more",
                 3));
}

TEST(ReportShortTest, FitsAChatMessageHoweverMuchIsWrong) {
  Report report;
  report.set_cluster(std::string(5000, 'c'));
  report.set_verdict(FAIL);
  AddFailures(40, "", std::string(5000, 'x'), &report);
  const std::string line = ReportShort(report, true);
  EXPECT_LE(TextColumns(line), 450);
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  EXPECT_THAT(line, HasSubstr("and 37 more"));
}

// One rule that fails on each of these hosts, each in a finding of its own.
Report FailingReport(int hosts) {
  Report report = AbsentReport(FAIL);
  for (int i = 0; i < hosts; ++i) {
    const std::string host = absl::StrCat("s", i * i);
    AddHost(host, "", &report);
    if (i == 0) {
      AddFinding("link", FAIL, host, "DOWN", &report);
      continue;
    }
    Finding& finding = *report.mutable_rules(0)->add_findings();
    finding = report.rules(0).findings(0);
    finding.mutable_subjects(0)->set_host(host);
  }
  return report;
}

TEST(CheckReportTest, NamesEveryFailingHostInTheOneLine) {
  EXPECT_EQ(ReportShort(FailingReport(3), true),
            Demo("FAIL on s[0-1,4]: 1 failed: link: s0: DOWN", 3));
}

TEST(CheckReportTest, CountsFailingHostsThatTheOneLineCannotName) {
  const std::string line = ReportShort(FailingReport(1152), true);
  EXPECT_THAT(line, HasSubstr("FAIL on s[0-1,4,9,16,"));
  EXPECT_THAT(line, HasSubstr("] and " + Say("count-more-failing-host", 1116) +
                              ": 1 failed: "));
  EXPECT_LE(TextColumns(line), 500);
}

TEST(CheckReportTest, CallsAHostWithoutAClusterByItsName) {
  Report report;
  report.set_verdict(UNKNOWN);
  AddHost("server7", "", &report);
  EXPECT_THAT(ReportShort(report, true),
              testing::StartsWith("server7: UNKNOWN: " + Say("counts-none")));
  report.clear_hosts();
  report.set_error("no setting");
  EXPECT_EQ(ReportShort(report, true), "NO VERDICT: no setting");
  report.set_cluster("demo");
  report.set_error("host \"a\" is not\nhost \"b\" is not");
  EXPECT_EQ(ReportShort(report, true),
            "demo: NO VERDICT: host \"a\" is not; host \"b\" is not");
}

}  // namespace
}  // namespace clusterd
