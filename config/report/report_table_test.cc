#include "config/report/report_table.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/values/version.h"
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

std::string Table(const Report& report, const Style& style,
                  bool verbose = false) {
  std::ostringstream out;
  PrintReportTable(report, style, verbose, out);
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
                         testing::Values("pass", "fail", "hostile", "job",
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
  report.set_schema_version(kReportSchemaVersion);
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
  // Below it, the names of all failing hosts are wrapped, not cut.
  const size_t hosts = table.find("\nHosts\n");
  ASSERT_NE(hosts, std::string::npos);
  const std::vector<std::string> lines =
      absl::StrSplit(table.substr(0, hosts), '\n');
  EXPECT_LT(lines.size(), 300u) << table;
  EXPECT_NE(table.find("and 1151 more findings (--verbose has all)"),
            std::string::npos);
  EXPECT_NE(table.find("more hosts; --verbose has all"), std::string::npos);
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
  const std::string table = Table(report, Window(), /*verbose=*/true);
  EXPECT_NE(table.find("lldp  7 devices on 1 host"), std::string::npos)
      << table;
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
  finding.set_rule(rule.rule());
  finding.set_state(state);
  finding.add_subjects()->set_host(host);
  return finding;
}

// The heads of the blocks of findings, and the lines for omitted ones.
std::vector<std::string> Heads(const Report& report) {
  std::vector<std::string> heads;
  const std::string table = Table(report, Style());
  const size_t end = table.find("\nRules; ");
  for (const absl::string_view line :
       absl::StrSplit(table.substr(0, end), '\n')) {
    const bool is_head =
        !line.empty() && (line[0] != ' ' || line.substr(0, 6) == "  and ");
    if (is_head) heads.emplace_back(line);
  }
  return heads;
}

TEST(FindingsTest, PutsTheWorstFirst) {
  Report report;
  AddFinding(AddRule(report, "a"), FAIL, "s0");
  AddFinding(AddRule(report, "b"), WARN, "s0");
  AddFinding(AddRule(report, "c"), UNKNOWN, "s0");
  EXPECT_THAT(Heads(report),
              ElementsAre("x fail     a", "? unknown  c", "! warn     b"));
}

TEST(RulesTest, FoldByCategoryAndHaveALineEachWhenVerbose) {
  Report report;
  for (const State state : {PASS, FAIL, SKIPPED, PASS}) {
    RuleResult& rule = AddRule(report, absl::StrCat("rule-", state));
    rule.set_category("device");
    rule.set_state(state);
    rule.set_summary(state == FAIL ? "8 devices; not told by 1" : "8 devices");
  }
  AddRule(report, "skew").set_category("cluster");
  report.mutable_rules(4)->set_state(PASS);
  EXPECT_NE(Table(report, Style())
                .find("\nRules; --verbose has each\n"
                      "  device   1 failed, 2 passed, 1 skipped\n"
                      "  cluster  1 passed\n"),
            std::string::npos)
      << Table(report, Style());
  const std::string all = Table(report, Style(), /*verbose=*/true);
  EXPECT_NE(all.find("\nRules\n"
                     "  x fail     rule-5  0 findings; not told by 1\n"
                     "  - skipped  rule-2"),
            std::string::npos)
      << all;
  EXPECT_NE(all.find("  + pass     rule-1  8 devices\n"
                     "  + pass     skew"),
            std::string::npos)
      << all;
}

TEST(ReportTableTest, VerboseShowsWholeSummaries) {
  Report report;
  AddRule(report, "job-script").set_state(PASS);
  const std::string last = "what the last word says";
  report.mutable_rules(0)->set_summary(
      absl::StrCat("read train.py; ", std::string(150, 'x'), " ", last));
  EXPECT_NE(Table(report, Style(), /*verbose=*/true).find(last),
            std::string::npos);
}

TEST(OneCauseOneHeadlineTest, WhatFollowsHasNoBlockOfItsOwn) {
  Report report;
  AddFinding(AddRule(report, "link"), FAIL, "s0");
  AddFinding(AddRule(report, "net-health"), FAIL, "s0").set_caused_by("link");
  EXPECT_THAT(Heads(report), ElementsAre("x fail     link",
                                         "x fail     1 rule because of "
                                         "link on s0: net-health"));
  const std::string all = Table(report, Style(), /*verbose=*/true);
  EXPECT_NE(all.find("x fail     net-health\n"), std::string::npos) << all;
}

TEST(OneCauseOneHeadlineTest, AFailureOfAnotherDeviceKeepsItsBlock) {
  Report report;
  AddFinding(AddRule(report, "link"), FAIL, "s0")
      .mutable_subjects(0)
      ->add_devices(1);
  Finding& health = AddFinding(AddRule(report, "net-health"), FAIL, "s0");
  health.set_caused_by("link");
  health.mutable_subjects(0)->add_devices(2);
  EXPECT_THAT(Heads(report),
              ElementsAre("x fail     link", "x fail     net-health"));
}

TEST(FindingsTest, SplitsARuleByState) {
  Report report;
  RuleResult& rule = AddRule(report, "link");
  AddFinding(rule, FAIL, "s0");
  AddFinding(rule, UNKNOWN, "s1");
  EXPECT_THAT(Heads(report), ElementsAre("x fail     link", "? unknown  link"));
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
  const std::string four =
      "  and 96 more findings (--verbose has all): s[4-99]";
  EXPECT_EQ(heads[1], four) << heads[0];
  EXPECT_EQ(heads[11], four) << heads[10];
  const std::string one = "  and 99 more findings (--verbose has all): s[1-99]";
  EXPECT_EQ(heads[13], one) << heads[12];
  EXPECT_EQ(heads[18], "! warn     rule-0");
  EXPECT_EQ(heads[19], one);
}

void AddHost(Report& report, State state, const std::string& host) {
  HostStatus& status = *report.add_hosts();
  status.set_host(host);
  status.set_state(state);
}

// A report in which thirty rules are unknown, and one fails on every host with
// a value of its own.
Report UnknownsAndFailures(int hosts) {
  Report report;
  report.set_verdict(FAIL);
  for (int rule = 0; rule < 30; ++rule) {
    RuleResult& unknown = AddRule(report, absl::StrCat("unknown-", rule));
    for (int i = 0; i < 4; ++i) AddFinding(unknown, UNKNOWN, "s0");
  }
  RuleResult& link = AddRule(report, "link");
  for (int i = 0; i < hosts; ++i) {
    const std::string host = absl::StrCat("s", i * i);
    AddFinding(link, FAIL, host).set_observed(absl::StrCat("value ", i));
    AddHost(report, FAIL, host);
  }
  return report;
}

TEST(CheckReportTest, ShowsFailuresBeforeUnknownsTakeTheRoom) {
  const std::string table = Table(UnknownsAndFailures(4), Style());
  EXPECT_NE(table.find("value 3"), std::string::npos) << table;
  EXPECT_EQ(table.find("more finding (--verbose has all): s9"),
            std::string::npos);
}

TEST(CheckReportTest, NeverLeavesOutAFailingHost) {
  const std::string few = Table(UnknownsAndFailures(6), Style());
  EXPECT_NE(few.find("and 2 more findings (--verbose has all): s[16,25]"),
            std::string::npos)
      << few;
  // The window is too small for all folded names.
  const std::string many = Table(UnknownsAndFailures(1152), Window());
  const size_t line = many.find("× fail     s[0-1,4,9,");
  ASSERT_NE(line, std::string::npos) << many;
  const std::string fails =
      absl::StrReplaceAll(many.substr(line, many.find("]", line) - line),
                          {{"\n", ""}, {" ", ""}}) +
      ",";
  for (const absl::string_view each : absl::StrSplit(many, '\n')) {
    EXPECT_LE(TextColumns(each), Window().width) << each;
  }
  for (int i = 3; i < 1152; ++i) {
    EXPECT_NE(fails.find(absl::StrCat(",", i * i, ",")), std::string::npos)
        << i;
  }
}

TEST(CheckReportTest, NamesAFailingHostThatHasNoFacts) {
  Report report;
  AddFinding(AddRule(report, "ip-unique"), FAIL, "s1");
  AddHost(report, UNKNOWN, "s1");
  report.mutable_hosts(0)->set_no_facts_reason("no answer");
  const std::string table = Table(report, Style());
  EXPECT_NE(table.find("? unknown  s1: no answer"), std::string::npos) << table;
  EXPECT_NE(table.find("x fail     s1\n"), std::string::npos) << table;
}

TEST(CheckReportTest, ShowsAllWhenVerbose) {
  const std::string table =
      Table(UnknownsAndFailures(300), Style(), /*verbose=*/true);
  for (int i = 0; i < 300; ++i) {
    EXPECT_NE(table.find(absl::StrCat("value ", i, "\n")), std::string::npos)
        << i;
  }
  EXPECT_EQ(table.find("--verbose"), std::string::npos);
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
