#include "config/report/report_table.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/words/terminal.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/client/golden.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;

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

RuleResult& AddRule(Report& report, const std::string& name) {
  RuleResult& rule = *report.add_rules();
  rule.set_rule(name);
  return rule;
}

Finding& AddFinding(RuleResult& rule, State state, const std::string& host) {
  Finding& finding = *rule.add_findings();
  finding.set_state(state);
  finding.add_subjects()->set_host(host);
  return finding;
}

// The heads of the blocks of findings, and what stands for those left out.
std::vector<std::string> Heads(const Report& report) {
  std::vector<std::string> heads;
  const std::string table = Table(report, Style());
  for (const absl::string_view line : absl::StrSplit(table, '\n')) {
    const bool is_head =
        !line.empty() && (line[0] != ' ' || line.substr(0, 6) == "  and ");
    if (is_head) heads.emplace_back(line);
  }
  // The title of the rules stands first, the verdict last.
  return {heads.begin() + 1, heads.end() - 1};
}

TEST(FindingsTest, PutsTheWorstLast) {
  Report report;
  AddFinding(AddRule(report, "a"), FAIL, "s0");
  AddFinding(AddRule(report, "b"), WARN, "s0");
  AddFinding(AddRule(report, "c"), UNKNOWN, "s0");
  EXPECT_THAT(Heads(report),
              ElementsAre("! warn     b", "? unknown  c", "x fail     a"));
}

TEST(FindingsTest, PutsARootBehindWhatFollowsFromIt) {
  Report report;
  AddFinding(AddRule(report, "link"), FAIL, "s0");
  AddFinding(AddRule(report, "net-health"), FAIL, "s0").set_caused_by("link");
  EXPECT_THAT(Heads(report),
              ElementsAre("x fail     net-health", "x fail     link"));
}

TEST(FindingsTest, SplitsARuleByState) {
  Report report;
  RuleResult& rule = AddRule(report, "link");
  AddFinding(rule, FAIL, "s0");
  AddFinding(rule, UNKNOWN, "s1");
  EXPECT_THAT(Heads(report), ElementsAre("? unknown  link", "x fail     link"));
}

TEST(FindingsTest, GathersUnknownFindingsUnderTheirCause) {
  Report report;
  AddFinding(AddRule(report, "link"), UNKNOWN, "s0").set_caused_by("hccn-tool");
  RuleResult& lldp = AddRule(report, "lldp");
  AddFinding(lldp, UNKNOWN, "s0").set_caused_by("hccn-tool");
  AddFinding(lldp, UNKNOWN, "s1").set_caused_by("hccn-tool");
  EXPECT_THAT(Heads(report),
              ElementsAre("? unknown  2 rules because of hccn-tool on s[0-1]: "
                          "link, lldp"));
}

TEST(FindingsTest, ShowsOneOfEachRuleAndTheWorstRulesMore) {
  Report report;
  for (int i = 0; i < 100; ++i) {
    const std::string host = absl::StrCat("s", i);
    for (const int rule : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
      if (i == 0) AddRule(report, absl::StrCat("rule-", rule));
      AddFinding(*report.mutable_rules(rule), rule == 0 ? WARN : FAIL, host);
    }
  }
  const std::vector<std::string> heads = Heads(report);
  ASSERT_EQ(heads.size(), 20u);
  EXPECT_EQ(heads[0], "! warn     rule-0");
  const std::string one = "  and 99 more findings; -o json has all";
  EXPECT_EQ(heads[1], one);
  EXPECT_EQ(heads[9], one) << heads[8];
  EXPECT_EQ(heads[11], "  and 97 more findings; -o json has all") << heads[10];
  EXPECT_EQ(heads[19], "  and 96 more findings; -o json has all") << heads[18];
}

TEST(FindingsTest, CallsABlockDowngradedOnlyIfAllOfItIs) {
  Report report;
  RuleResult& rule = AddRule(report, "a");
  AddFinding(rule, WARN, "s0").set_downgraded(true);
  EXPECT_THAT(Heads(report),
              ElementsAre("! warn     a (downgraded from fail)"));
  AddFinding(rule, WARN, "s1");
  EXPECT_THAT(Heads(report), ElementsAre("! warn     a"));
}

}  // namespace
}  // namespace clusterd
