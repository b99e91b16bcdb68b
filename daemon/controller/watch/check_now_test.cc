#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/values/version.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"
#include "daemon/controller/watch/cluster_watch.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/from_text.h"
#include "tests/support/wait/has_fields.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::IsEmpty;

// A report of `hosts` hosts, with `rules` rules that fail on each of them.
Report Failing(int hosts, int rules) {
  Report report;
  report.set_schema_version(kReportSchemaVersion);
  report.set_run_id("aa");
  report.set_started_at_ms(1000);
  report.set_verdict(FAIL);
  for (int i = 0; i < hosts; ++i) {
    report.add_hosts()->set_host(absl::StrCat("node", i));
  }
  for (int i = 0; i < rules; ++i) {
    RuleResult& rule = *report.add_rules();
    MergeText(
        "state: FAIL findings {state: FAIL observed: 'DOWN' fix: 'mend it'}",
        &rule);
    rule.set_rule(absl::StrCat("rule", i));
    Finding& finding = *rule.mutable_findings(0);
    finding.set_rule(rule.rule());
    for (const HostStatus& host : report.hosts()) {
      finding.add_subjects()->set_host(host.host());
    }
  }
  return report;
}

TEST(CheckNowTest, TellsWhatIsWrongWorstFirstWithWhoItIs) {
  Report report = Failing(2, 1);
  MergeText(R"(rules {rule: 'mtu' state: WARN findings {
                 state: WARN subjects {host: 'node1'}}})",
            &report);
  const ClusterNow::ScheduleNow now = CheckNow(report, nullptr);
  EXPECT_EQ(now.newest().run_id(), "aa");
  EXPECT_EQ(now.newest().verdict(), FAIL);
  EXPECT_EQ(now.newest().rules_size(), 0);
  EXPECT_EQ(now.newest().hosts_size(), 0);
  ASSERT_THAT(now, HasFields(R"(
      wrong { rule: "rule0" summary: "node[0-1]" } wrong {})"));
  EXPECT_EQ(now.wrong(0).findings(0).fix(), "mend it");
  EXPECT_EQ(now.wrong(1).rule(), "mtu");
  EXPECT_FALSE(now.has_changes());
}

TEST(CheckNowTest, CountsHostsByTheirState) {
  Report report = Failing(3, 1);
  report.clear_hosts();
  for (const State state : {FAIL, PASS, UNKNOWN, FAIL, WARN, PASS, PASS}) {
    report.add_hosts()->set_state(state);
  }
  EXPECT_THAT(Rendered(CheckNow(report, nullptr).newest()).notes(),
              ElementsAre("hosts: 2 failed, 1 unknown, 1 warned, 3 passed"));
  report.clear_hosts();
  EXPECT_THAT(CheckNow(report, nullptr).newest().said(), IsEmpty());
}

TEST(CheckNowTest, LeavesOutWhatAnotherFindingExplains) {
  Report report = Failing(1, 2);
  report.mutable_rules(1)->mutable_findings(0)->set_caused_by("rule0");
  const ClusterNow::ScheduleNow now = CheckNow(report, nullptr);
  ASSERT_EQ(now.wrong_size(), 1);
  EXPECT_EQ(now.wrong(0).rule(), "rule0");
}

TEST(CheckNowTest, SaysHowManyFindingsAndHostsItLeavesOut) {
  Report report = Failing(300, 1);
  for (int i = 1; i < 5; ++i) {
    Finding& finding = *report.mutable_rules(0)->add_findings();
    finding.set_rule("rule0");
    finding.set_state(FAIL);
    finding.add_subjects()->set_host(absl::StrCat("node", i));
  }
  const RuleResult wrong = CheckNow(report, nullptr).wrong(0);
  EXPECT_EQ(wrong.summary(), "node[0-299], 5 findings");
  EXPECT_EQ(ValueText(wrong.seen()), wrong.summary());
  ASSERT_THAT(wrong, HasFields(R"(
      findings { observed: "DOWN" values {} } findings {} findings {})"));
  EXPECT_EQ(wrong.findings(0).values(0).name(), kAllSubjects);
  EXPECT_EQ(wrong.findings(0).values(0).number(), 300);
  EXPECT_EQ(wrong.findings(1).observed(), "");
}

TEST(CheckNowTest, IsSmallHoweverLargeTheClusterIs) {
  const Report report = Failing(300, 60);
  ReportDiff diff;
  for (int i = 0; i < 2000; ++i) {
    ReportDiff::Change& change = *diff.add_changes();
    change.set_rule("link");
    *change.mutable_subjects() = report.rules(0).findings(0).subjects();
    diff.add_hosts_added(absl::StrCat("node", i));
  }
  const ClusterNow::ScheduleNow now = CheckNow(report, &diff);
  EXPECT_EQ(now.wrong_size(), kShownWrong);
  EXPECT_EQ(now.more_wrong(), 40u);
  EXPECT_EQ(now.wrong(0).summary(), "node[0-299]");
  EXPECT_THAT(now.changes().notes(),
              ElementsAre(Say("count-more-change", 1980),
                          Say("history-hosts-changed",
                              Worded("count-more-host", 1980))));
  EXPECT_EQ(now.changes().notes_words().values_size(), 2);
  EXPECT_LT(now.ByteSizeLong(), size_t{64} << 10);
}

TEST(RunningTextsTest, SaysWhoRunsWhatAndHowManyMore) {
  FactOrder order;
  order.hosts = {"node0", "node1"};
  order.run_id = "0123456789abcdef";
  order.actor = "spiffe://demo/user/ann/role/viewer";
  RunningCheck check;
  check.order = std::make_shared<const FactOrder>(order);
  const auto one = RunningWords({check});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(ValueText(one[0]),
            Say("hub-check-of", "0123456789abcdef", "ann", Counted(2, "host")));
  const auto many = RunningWords(std::vector<RunningCheck>(13, check));
  EXPECT_EQ(many.size(), 11u);
  EXPECT_EQ(ValueText(many.back()), "and 3 more checks");
}

TEST(AskedCheckTest, TellsWhatChangedSinceTheCheckBefore) {
  Report healthy = Failing(2, 1);
  healthy.mutable_rules(0)->clear_findings();
  healthy.mutable_rules(0)->set_state(PASS);
  const auto before = std::make_shared<const Report>(healthy);
  const auto newest = std::make_shared<const Report>(Failing(2, 1));
  AskedCheck asked;
  EXPECT_FALSE(asked.Of(nullptr, nullptr).has_value());
  EXPECT_FALSE(asked.Of(before, nullptr)->has_changes());
  for (int round = 0; round < 2; ++round) {
    const auto now = asked.Of(newest, before);
    ASSERT_TRUE(now.has_value());
    ASSERT_THAT(*now, HasFields(R"(
        newest { verdict: FAIL } changes { changes { after: FAIL } })"));
  }
}

TEST(AskedCheckTest, TellsNothingOfACheckOfASchedule) {
  Report report = Failing(2, 1);
  report.set_schedule("nightly");
  AskedCheck asked;
  EXPECT_FALSE(
      asked.Of(std::make_shared<const Report>(report), nullptr).has_value());
}

}  // namespace
}  // namespace clusterd
