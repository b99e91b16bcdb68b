#include "config/report/finding_blocks.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

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

TEST(ArrangeFindingsTest, PutsTheWorstLast) {
  Report report;
  AddFinding(AddRule(report, "a"), FAIL, "s0");
  AddFinding(AddRule(report, "b"), WARN, "s0");
  AddFinding(AddRule(report, "c"), UNKNOWN, "s0");
  const FindingOverview overview = ArrangeFindings(report, 10, 10);
  ASSERT_EQ(overview.blocks.size(), 3u);
  EXPECT_EQ(overview.blocks[0].rule, "b");
  EXPECT_EQ(overview.blocks[1].rule, "c");
  EXPECT_EQ(overview.blocks[2].rule, "a");
}

TEST(ArrangeFindingsTest, PutsARootBehindWhatFollowsFromIt) {
  Report report;
  AddFinding(AddRule(report, "link"), FAIL, "s0");
  AddFinding(AddRule(report, "net-health"), FAIL, "s0").set_caused_by("link");
  const FindingOverview overview = ArrangeFindings(report, 10, 10);
  ASSERT_EQ(overview.blocks.size(), 2u);
  EXPECT_EQ(overview.blocks[1].rule, "link");
}

TEST(ArrangeFindingsTest, SplitsARuleByState) {
  Report report;
  RuleResult& rule = AddRule(report, "link");
  AddFinding(rule, FAIL, "s0");
  AddFinding(rule, UNKNOWN, "s1");
  const FindingOverview overview = ArrangeFindings(report, 10, 10);
  ASSERT_EQ(overview.blocks.size(), 2u);
  EXPECT_EQ(overview.blocks[0].state, UNKNOWN);
  EXPECT_EQ(overview.blocks[1].state, FAIL);
}

TEST(ArrangeFindingsTest, GathersUnknownFindingsUnderTheirCause) {
  Report report;
  AddFinding(AddRule(report, "link"), UNKNOWN, "s0").set_caused_by("hccn-tool");
  RuleResult& lldp = AddRule(report, "lldp");
  AddFinding(lldp, UNKNOWN, "s0").set_caused_by("hccn-tool");
  AddFinding(lldp, UNKNOWN, "s1").set_caused_by("hccn-tool");
  const FindingOverview overview = ArrangeFindings(report, 10, 10);
  EXPECT_TRUE(overview.blocks.empty());
  ASSERT_EQ(overview.causes.size(), 1u);
  EXPECT_EQ(overview.causes[0].cause, "hccn-tool");
  EXPECT_EQ(overview.causes[0].rules,
            (std::vector<std::string>{"link", "lldp"}));
  EXPECT_EQ(overview.causes[0].subjects.size(), 3);
}

TEST(ArrangeFindingsTest, KeepsAFailureWithACauseAsAFinding) {
  Report report;
  AddFinding(AddRule(report, "net-health"), FAIL, "s0").set_caused_by("link");
  const FindingOverview overview = ArrangeFindings(report, 10, 10);
  EXPECT_EQ(overview.blocks.size(), 1u);
  EXPECT_TRUE(overview.causes.empty());
}

TEST(ArrangeFindingsTest, ShowsOneOfEachRuleAndTheWorstRulesMore) {
  Report report;
  RuleResult& warned = AddRule(report, "warned");
  RuleResult& failed = AddRule(report, "failed");
  for (int i = 0; i < 100; ++i) {
    AddFinding(warned, WARN, absl::StrCat("s", i));
    AddFinding(failed, FAIL, absl::StrCat("s", i));
  }
  const FindingOverview overview = ArrangeFindings(report, 5, 4);
  ASSERT_EQ(overview.blocks.size(), 2u);
  EXPECT_EQ(overview.blocks[0].shown, 1u);
  EXPECT_EQ(overview.blocks[1].shown, 4u);
  EXPECT_EQ(ArrangeFindings(report, 0, 0).blocks[1].shown, 1u);
}

TEST(ArrangeFindingsTest, CallsABlockDowngradedOnlyIfAllOfItIs) {
  Report report;
  RuleResult& rule = AddRule(report, "a");
  AddFinding(rule, WARN, "s0").set_downgraded(true);
  EXPECT_TRUE(ArrangeFindings(report, 9, 9).blocks[0].downgraded);
  AddFinding(rule, WARN, "s1");
  EXPECT_FALSE(ArrangeFindings(report, 9, 9).blocks[0].downgraded);
}

}  // namespace
}  // namespace clusterd
