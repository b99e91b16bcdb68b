#include "config/report/report_table.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/report/message_json.h"
#include "config/values/version.h"
#include "config/words/terminal.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/client/golden.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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

class ReportGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(ReportGoldenTest, PrintsAsInTheFiles) {
  const std::string name = absl::StrCat("reports/", GetParam());
  const Report report = GoldenMessage<Report>(name);
  ExpectGolden(absl::StrCat(name, ".table"), Table(report, Window()));
  ExpectGolden(absl::StrCat(name, ".ascii"), Table(report, Style()));
  ExpectGolden(absl::StrCat(name, ".short"), ReportShort(report, true) + "\n");
  ExpectGolden(absl::StrCat(name, ".json"), MessageJson(report));
}

INSTANTIATE_TEST_SUITE_P(Reports, ReportGoldenTest,
                         testing::Values("pass", "fail", "hostile", "job",
                                         "no_verdict"),
                         [](const auto& info) {
                           return std::string(info.param);
                         });

TEST(ReportTableTest, LetsNoHostWriteToTheTerminalWhatItLikes) {
  const Report report = GoldenMessage<Report>("reports/hostile");
  for (const Style& style : {Window(), Style()}) {
    for (const char* text : {"\x1b", "\r", "\nPASS"}) {
      EXPECT_THAT(Table(report, style), Not(HasSubstr(text)));
    }
  }
}

TEST(ReportTableTest, StaysInsideTheWindowAndColoursStates) {
  Report report = GoldenMessage<Report>("reports/fail");
  Style style = Window();
  style.color = true;
  const std::string table = Table(report, style);
  EXPECT_THAT(table, HasSubstr("\x1b[31m× fail   \x1b[0m"));
  EXPECT_THAT(table, HasSubstr("\x1b[33m‼ warn   \x1b[0m"));
  // But for commands.
  for (RuleResult& rule : *report.mutable_rules()) {
    for (Finding& finding : *rule.mutable_findings()) finding.clear_fix();
  }
  style = Window();
  style.width = 60;
  for (const absl::string_view line :
       absl::StrSplit(Table(report, style), '\n')) {
    EXPECT_LE(TextColumns(line), 60) << line;
  }
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

HostStatus& AddHost(Report& report, State state, const std::string& host) {
  HostStatus& status = *report.add_hosts();
  status.set_host(host);
  status.set_state(state);
  return status;
}

// 1,152 servers whose every device is down, each finding on its own.
Report ManyFindings() {
  Report report;
  report.set_schema_version(kReportSchemaVersion);
  report.set_verdict(FAIL);
  for (int host = 0; host < 1152; ++host) {
    const std::string name = absl::StrCat("odd", host * 7, "-", host % 5);
    AddHost(report, STATE_UNSPECIFIED, name)
        .set_no_facts_reason(absl::StrCat("reason ", host));
    for (int number = 0; number < 30; ++number) {
      if (host == 0) AddRule(report, absl::StrCat("rule-", number));
      RuleResult& rule = *report.mutable_rules(number);
      rule.set_state(FAIL);
      Finding& finding = AddFinding(rule, FAIL, name);
      finding.set_observed(absl::StrCat("value ", host));
      finding.mutable_subjects(0)->add_devices(host % 8);
    }
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
  const std::string more =
      Say("report-more-findings", Counted(1151, "more finding"), "");
  // The names are on the next lines.
  EXPECT_THAT(table, HasSubstr(Say("report-and") +
                               more.substr(0, more.find_last_not_of(' ') + 1)));
  EXPECT_THAT(table, HasSubstr(Say("report-hidden-hosts", "more hosts")));
  EXPECT_THAT(table, HasSubstr("rule-29"));
}

TEST(ReportTableTest, PrintsAnEmptyReportAsOneWithoutVerdict) {
  EXPECT_EQ(Table(Report(), Style()),
            "\nUNKNOWN: " +
                Say("report-summary", Say("counts-none"), Counted(0, "rule"),
                    Counted(0, "host"), "0 s") +
                "\n");
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

TEST(FindingsTest, PutsTheWorstFirstAndSplitsARuleByState) {
  Report report;
  RuleResult& a = AddRule(report, "a");
  AddFinding(a, FAIL, "s0");
  AddFinding(AddRule(report, "b"), WARN, "s0");
  AddFinding(AddRule(report, "c"), UNKNOWN, "s0");
  EXPECT_THAT(Heads(report),
              ElementsAre("x fail     a", "? unknown  c", "! warn     b"));
  AddFinding(*report.mutable_rules(0), UNKNOWN, "s1");
  EXPECT_THAT(Heads(report),
              testing::IsSupersetOf({"x fail     a", "? unknown  a"}));
}

TEST(RulesTest, FoldByCategoryAndHaveALineEachWhenVerbose) {
  Report report;
  for (const State state : {PASS, FAIL, SKIPPED, PASS}) {
    RuleResult& rule = AddRule(report, absl::StrCat("rule-", state));
    rule.set_category("device");
    rule.set_state(state);
    rule.set_summary("8 devices");
  }
  *report.mutable_rules(1)->add_notes() = Worded("roce-unused");
  AddRule(report, "skew").set_category("cluster");
  report.mutable_rules(4)->set_state(PASS);
  EXPECT_THAT(Table(report, Style()),
              HasSubstr("\nRules; --verbose has each\n"
                        "  device   1 failed, 2 passed, 1 skipped\n"
                        "  cluster  1 passed\n"));
  const std::string all = Table(report, Style(), /*verbose=*/true);
  EXPECT_THAT(all, HasSubstr("\nRules\n"
                             "  x fail     rule-5  0 findings; " +
                             Say("roce-unused") + "\n  - skipped  rule-2"));
  EXPECT_THAT(all, HasSubstr("  + pass     rule-1  8 devices\n"
                             "  + pass     skew"));
  const InLanguage chinese(Language::kChinese);
  Style style;
  style.utf8 = true;
  EXPECT_THAT(Table(report, style, /*verbose=*/true),
              HasSubstr(Say("roce-unused")));
}

TEST(ReportTableTest, VerboseShowsWholeSummaries) {
  Report report;
  RuleResult& rule = AddRule(report, "job-script");
  rule.set_state(PASS);
  const std::string last = "what the last word says";
  rule.set_summary(
      absl::StrCat("read train.py; ", std::string(150, 'x'), " ", last));
  // A pass that left something out has its summary, too.
  AddFinding(rule, SKIPPED, "server0").set_caused_by("link");
  const std::string table = Table(report, Style(), /*verbose=*/true);
  EXPECT_THAT(table, HasSubstr("job-script  read train.py; "));
  EXPECT_THAT(table, HasSubstr(last));
}

TEST(OneCauseOneHeadlineTest, WhatFollowsHasNoBlockOfItsOwn) {
  Report report;
  Finding& link = AddFinding(AddRule(report, "link"), FAIL, "s0");
  Finding& health = AddFinding(AddRule(report, "net-health"), FAIL, "s0");
  health.set_caused_by("link");
  EXPECT_THAT(
      Heads(report),
      ElementsAre("x fail     link",
                  "x fail     " +
                      Say("report-because", Counted(1, "rule"), "link", "s0") +
                      ": net-health"));
  EXPECT_THAT(Table(report, Style(), /*verbose=*/true),
              HasSubstr("x fail     net-health\n"));
  // A failure of another device keeps its block.
  link.mutable_subjects(0)->add_devices(1);
  health.mutable_subjects(0)->add_devices(2);
  EXPECT_THAT(Heads(report),
              ElementsAre("x fail     link", "x fail     net-health"));
}

TEST(FindingsTest, GathersUnknownFindingsUnderTheirCause) {
  Report report;
  AddFinding(AddRule(report, "link"), UNKNOWN, "s0").set_caused_by("hccn-tool");
  RuleResult& lldp = AddRule(report, "lldp");
  AddFinding(lldp, UNKNOWN, "s0").set_caused_by("hccn-tool");
  AddFinding(lldp, UNKNOWN, "s1").set_caused_by("hccn-tool");
  EXPECT_THAT(Heads(report),
              ElementsAre("? unknown  " +
                          Say("report-because", Counted(2, "rule"), "hccn-tool",
                              "s[0-1]") +
                          ": link, lldp"));
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
      "  and " +
      Say("report-more-findings", Counted(96, "more finding"), "s[4-99]");
  EXPECT_EQ(heads[1], four) << heads[0];
  EXPECT_EQ(heads[11], four) << heads[10];
  const std::string one =
      "  and " +
      Say("report-more-findings", Counted(99, "more finding"), "s[1-99]");
  EXPECT_EQ(heads[13], one) << heads[12];
  EXPECT_EQ(heads[18], "! warn     rule-0");
  EXPECT_EQ(heads[19], one);
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
  EXPECT_THAT(table, HasSubstr("value 3"));
  EXPECT_THAT(
      table, Not(HasSubstr(Say("report-more-findings", "more finding", "s9"))));
}

TEST(CheckReportTest, NeverLeavesOutAFailingHost) {
  const std::string few = Table(UnknownsAndFailures(6), Style());
  EXPECT_THAT(few,
              HasSubstr("and " + Say("report-more-findings",
                                     Counted(2, "more finding"), "s[16,25]")));
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
    EXPECT_THAT(fails, HasSubstr(absl::StrCat(",", i * i, ",")));
  }
}

TEST(CheckReportTest, NamesAFailingHostThatHasNoFacts) {
  Report report;
  AddFinding(AddRule(report, "ip-unique"), FAIL, "s1");
  AddHost(report, UNKNOWN, "s1").set_no_facts_reason("no answer");
  const std::string table = Table(report, Style());
  EXPECT_THAT(table, HasSubstr("? unknown  s1: no answer"));
  EXPECT_THAT(table, HasSubstr("x fail     s1\n"));
}

TEST(CheckReportTest, ShowsAllWhenVerbose) {
  const std::string table =
      Table(UnknownsAndFailures(300), Style(), /*verbose=*/true);
  for (int i = 0; i < 300; ++i) {
    EXPECT_THAT(table, HasSubstr(absl::StrCat("value ", i, "\n")));
  }
  EXPECT_THAT(table, Not(HasSubstr("--verbose")));
}

TEST(FindingsTest, CallsABlockDowngradedOnlyIfAllOfItIs) {
  Report report;
  RuleResult& rule = AddRule(report, "a");
  AddFinding(rule, WARN, "s0").set_downgraded(true);
  EXPECT_THAT(Heads(report),
              ElementsAre("! warn     a " + Say("report-downgraded")));
  AddFinding(rule, WARN, "s1");
  EXPECT_THAT(Heads(report), ElementsAre("! warn     a"));
}

}  // namespace
}  // namespace clusterd
