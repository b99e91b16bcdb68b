#include "config/report/report_table.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/words/terminal.h"
#include "gtest/gtest.h"
#include "tests/support/client/golden.h"

namespace clusterd {
namespace {

Style Window() {
  Style style;
  style.utf8 = true;
  style.width = 100;
  return style;
}

std::string Table(const Report& report, const Style& style) {
  std::ostringstream out;
  PrintReportTable(report, style, out);
  return out.str();
}

class ReportTableGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(ReportTableGoldenTest, PrintsAsInTheFile) {
  const std::string name = absl::StrCat("reports/", GetParam());
  const Report report = GoldenMessage<Report>(name);
  ExpectGolden(absl::StrCat(name, ".table"), Table(report, Window()));
  ExpectGolden(absl::StrCat(name, ".ascii"), Table(report, Style()));
}

INSTANTIATE_TEST_SUITE_P(Reports, ReportTableGoldenTest,
                         testing::Values("pass", "fail", "hostile",
                                         "no_verdict"),
                         [](const auto& info) {
                           return std::string(info.param);
                         });

TEST(ReportTableTest, LetsNoHostWriteToTheTerminalWhatItLikes) {
  const Report report = GoldenMessage<Report>("reports/hostile");
  for (const Style& style : {Window(), Style()}) {
    const std::string table = Table(report, style);
    EXPECT_EQ(table.find('\x1b'), std::string::npos);
    EXPECT_EQ(table.find('\r'), std::string::npos);
    EXPECT_EQ(table.find("\nPASS"), std::string::npos);
  }
}

TEST(ReportTableTest, StaysInsideTheWindowButForCommands) {
  Report report = GoldenMessage<Report>("reports/fail");
  for (RuleResult& rule : *report.mutable_rules()) {
    for (Finding& finding : *rule.mutable_findings()) finding.clear_fix();
  }
  Style style = Window();
  style.width = 60;
  for (const absl::string_view line :
       absl::StrSplit(Table(report, style), '\n')) {
    EXPECT_LE(TextColumns(line), 60) << line;
  }
}

TEST(ReportTableTest, ColoursStatesWithoutLosingTheWord) {
  Style style = Window();
  style.color = true;
  const std::string table = Table(GoldenMessage<Report>("reports/fail"), style);
  EXPECT_NE(table.find("\x1b[31m× fail   \x1b[0m"), std::string::npos);
  EXPECT_NE(table.find("\x1b[33m‼ warn   \x1b[0m"), std::string::npos);
}

// 1,152 servers whose every device is down, each finding on its own.
Report ManyFindings() {
  Report report;
  report.set_schema_version(1);
  report.set_verdict(FAIL);
  for (int rule_number = 0; rule_number < 30; ++rule_number) {
    RuleResult& rule = *report.add_rules();
    rule.set_rule(absl::StrCat("rule-", rule_number));
    rule.set_category("device");
    rule.set_state(FAIL);
    for (int host = 0; host < 1152; ++host) {
      Finding& finding = *rule.add_findings();
      finding.set_state(FAIL);
      finding.set_observed(absl::StrCat("value ", host));
      Subject& subject = *finding.add_subjects();
      subject.set_host(absl::StrCat("odd", host * 7, "-", host % 5));
      subject.add_devices(host % 8);
    }
  }
  for (int host = 0; host < 1152; ++host) {
    HostStatus& status = *report.add_hosts();
    status.set_host(absl::StrCat("odd", host * 7, "-", host % 5));
    status.set_no_facts_reason(absl::StrCat("reason ", host));
  }
  return report;
}

TEST(ReportTableTest, StaysReadableWithThirtyThousandFindings) {
  const std::string table = Table(ManyFindings(), Window());
  const std::vector<std::string> lines = absl::StrSplit(table, '\n');
  EXPECT_LT(lines.size(), 300u);
  EXPECT_NE(table.find("and 1151 more findings; -o json has all"),
            std::string::npos);
  EXPECT_NE(table.find("more hosts; -o json has all"), std::string::npos);
  EXPECT_NE(table.find("rule-29"), std::string::npos);
}

TEST(ReportTableTest, SummarisesAPassThatLeftSomethingOut) {
  Report report;
  report.set_verdict(PASS);
  report.add_hosts()->set_host("server0");
  RuleResult* const rule = report.add_rules();
  rule->set_rule("lldp");
  rule->set_category("device");
  rule->set_state(PASS);
  rule->set_summary("7 devices on 1 host");
  Finding* const skipped = rule->add_findings();
  skipped->set_state(SKIPPED);
  skipped->set_caused_by("link");
  skipped->add_subjects()->set_host("server0");
  EXPECT_NE(Table(report, Window()).find("lldp  7 devices on 1 host"),
            std::string::npos)
      << Table(report, Window());
}

TEST(ReportTableTest, PrintsAnEmptyReportAsOneWithoutVerdict) {
  EXPECT_EQ(Table(Report(), Style()),
            "\nUNKNOWN: no rule was judged of 0 rules; 0 hosts in 0 s\n");
}

}  // namespace
}  // namespace clusterd
