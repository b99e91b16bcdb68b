#include "daemon/controller/history/history_entry.h"

#include "config/plan/make_plan.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/from_text.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::EndsWith, ::testing::StartsWith;

Report MakeReport(State verdict) {
  auto report = FromText<Report>(R"(
      run_id: '0123456789abcdef' started_at_ms: 1000 elapsed_ms: 250
      hosts {host: 'node01'} hosts {host: 'node02'}
      rule_counts {pass: 28 fail: 2 skipped: 1})");
  report.set_verdict(verdict);
  for (int i = 0; i < 31; ++i) report.add_rules();
  return report;
}

TEST(RecordOfCheckTest, TellsWhoWhenAndWhat) {
  Report report = MakeReport(FAIL);
  report.set_network_namespace("container:train-1");
  const HistoryRecord record = RecordOfCheck(report, "alice");
  EXPECT_THAT(record.entry(), HasFields(R"(
      id: "0123456789abcdef" kind: HISTORY_CHECK actor: "alice"
      started_at_ms: 1000 elapsed_ms: 250 outcome: "fail")"));
  EXPECT_EQ(ValueText(record.entry().summary_words()),
            "2 hosts; 2 failed, 28 passed, 1 skipped of 31 rules");
  EXPECT_EQ(record.entry().hosts(), 2u);
  EXPECT_EQ(record.entry().network_namespace(), "container:train-1");
  EXPECT_EQ(record.report().rules_size(), 31);
}

TEST(RecordOfCheckTest, NoVerdictIsUnknownAndNeverPass) {
  const auto outcome = [](State verdict) {
    return RecordOfCheck(MakeReport(verdict), "alice").entry().outcome();
  };
  EXPECT_EQ(outcome(PASS), "pass");
  EXPECT_EQ(outcome(WARN), "warn");
  EXPECT_EQ(outcome(UNKNOWN), "unknown");
  EXPECT_EQ(outcome(SKIPPED), "unknown");
  EXPECT_EQ(outcome(STATE_UNSPECIFIED), "unknown");
}

TEST(RecordOfCheckTest, SaysInOneShortLineWhyThereIsNoVerdict) {
  const auto summary = [](const std::string& error) {
    Report report;
    report.set_verdict(UNKNOWN);
    report.set_error(error);
    return ValueText(RecordOfCheck(report, "alice").entry().summary_words());
  };
  EXPECT_EQ(summary("no host is attached\nsecond line"), "no host is attached");
  std::string error = "x";
  for (int i = 0; i < 200; ++i) error += "é";
  EXPECT_LE(summary(error).size(), 204u);
  EXPECT_THAT(summary(error), AllOf(StartsWith("xéé"), EndsWith("é…")));
}

ClusterPlan MakePlan(int hosts, int with_steps, int blocked) {
  ClusterPlan plan;
  plan.set_plan_id("00000000000000aa");
  plan.set_created_by("bob");
  plan.set_created_at_ms(5000);
  for (int i = 0; i < hosts; ++i) {
    HostPlan* const host = plan.add_hosts();
    if (i < with_steps) {
      host->add_steps();
      host->add_steps();
    }
    if (i < blocked) host->add_blocked();
  }
  return plan;
}

TEST(RecordOfPlanTest, CountsHostsAndSteps) {
  const HistoryRecord record = RecordOfPlan(MakePlan(40, 12, 1), 300);
  EXPECT_THAT(record.entry(), HasFields(R"(
      id: "00000000000000aa" kind: HISTORY_PLAN actor: "bob"
      started_at_ms: 4700 elapsed_ms: 300 outcome: "changes")"));
  EXPECT_EQ(ValueText(record.entry().summary_words()),
            PlanCountsText(CountPlan(record.plan())));
  EXPECT_EQ(record.plan().hosts_size(), 40);
}

TEST(RecordOfPlanTest, IsBlockedOrEmptyWhenNothingElseIsLeft) {
  const HistoryEntry blocked = RecordOfPlan(MakePlan(3, 0, 2), 0).entry();
  EXPECT_EQ(blocked.outcome(), "blocked");
  EXPECT_THAT(
      blocked.summary_words(),
      Tells("plan-blocked-on", Worded("count-change", 2), Counted(2, "host")));
  const HistoryEntry empty = RecordOfPlan(MakePlan(1, 0, 0), 0).entry();
  EXPECT_EQ(empty.outcome(), "empty");
  EXPECT_EQ(ValueText(empty.summary_words()), "nothing to do on 1 host");
}

TEST(RecordOfPlanTest, NamesTheNamespace) {
  ClusterPlan plan = MakePlan(1, 1, 0);
  plan.mutable_hosts(0)->mutable_network_namespace()->set_container("train-1");
  EXPECT_EQ(RecordOfPlan(plan, 0).entry().network_namespace(),
            "container:train-1");
}

ApplyReport MakeApply(ApplyReport::Outcome outcome) {
  auto report = FromText<ApplyReport>(R"(
      run_id: '00000000000000bb' apply_id: '00000000000000bb'
      plan_id: '00000000000000aa' actor: 'carol' force: true
      started_at_ms: 7000 elapsed_ms: 90)");
  report.set_outcome(outcome);
  for (const auto host : {ApplyResult::APPLIED, ApplyResult::NOT_STARTED,
                          ApplyResult::UNDONE, ApplyResult::APPLIED}) {
    report.add_hosts()->set_outcome(host);
  }
  return report;
}

FindingValue HostsOf(int count, const char* outcome) {
  return Worded("hub-host-count", count, Worded(outcome));
}

TEST(RecordOfApplyTest, CountsHostsByOutcome) {
  ApplyReport report = MakeApply(ApplyReport::STOPPED);
  report.set_network_namespace("pid:7");
  const HistoryRecord record = RecordOfApply(report);
  EXPECT_THAT(record.entry(), HasFields(R"(
      id: "00000000000000bb" kind: HISTORY_APPLY actor: "carol"
      started_at_ms: 7000 elapsed_ms: 90 outcome: "stopped")"));
  EXPECT_EQ(ValueText(record.entry().summary_words()),
            Say("hub-and", Counted(4, "host"),
                Listed({HostsOf(2, "apply-applied"), HostsOf(1, "apply-undone"),
                        HostsOf(1, "apply-not-started")},
                       3)));
  EXPECT_EQ(record.entry().parent_id(), "00000000000000aa");
  EXPECT_TRUE(record.entry().force());
  EXPECT_EQ(record.entry().network_namespace(), "pid:7");
  EXPECT_EQ(record.apply().hosts_size(), 4);
}

TEST(RecordOfApplyTest, NoOutcomeCountsAsInterrupted) {
  const auto outcome = [](ApplyReport::Outcome outcome) {
    return RecordOfApply(MakeApply(outcome)).entry().outcome();
  };
  EXPECT_EQ(outcome(ApplyReport::RUNNING), "running");
  EXPECT_EQ(outcome(ApplyReport::SUCCEEDED), "succeeded");
  EXPECT_EQ(outcome(ApplyReport::INTERRUPTED), "interrupted");
  EXPECT_EQ(outcome(ApplyReport::OUTCOME_UNSPECIFIED), "interrupted");
}

TEST(RecordOfApplyTest, RollbackBelongsToItsApply) {
  ApplyReport report = MakeApply(ApplyReport::SUCCEEDED);
  report.set_rollback(true);
  report.set_run_id("00000000000000cc");
  report.set_enforced(true);
  const HistoryEntry entry = RecordOfApply(report).entry();
  EXPECT_EQ(entry.kind(), HISTORY_ROLLBACK);
  EXPECT_EQ(entry.id(), "00000000000000cc");
  EXPECT_EQ(entry.parent_id(), "00000000000000bb");
  EXPECT_THAT(ValueText(entry.summary_words()),
              EndsWith("; enforced by the spec"));
}

TEST(HistoryKindNameTest, NamesEveryKind) {
  EXPECT_EQ(ValueText(HistoryKindName(HISTORY_CHECK)), "check");
  EXPECT_EQ(ValueText(HistoryKindName(HISTORY_PLAN)), "plan");
  EXPECT_EQ(ValueText(HistoryKindName(HISTORY_APPLY)), "apply");
  EXPECT_EQ(ValueText(HistoryKindName(HISTORY_ROLLBACK)), "rollback");
  EXPECT_EQ(ValueText(HistoryKindName(static_cast<HistoryKind>(17))),
            "kind 17");
}

TEST(RecordOfApplyTest, SaysHowItIsConfirmed) {
  ApplyReport report;
  report.set_run_id("0123456789abcdef");
  report.set_outcome(ApplyReport::SUCCEEDED);
  report.add_hosts()->set_outcome(ApplyResult::APPLIED);
  const auto summary = [&report](Confirmation::State state) {
    report.mutable_confirmation()->set_state(state);
    return ValueText(RecordOfApply(report).entry().summary_words());
  };
  report.mutable_confirmation()->set_confirmed_by("bob");
  const FindingValue applied =
      Worded("hub-and", Counted(1, "host"), HostsOf(1, "apply-applied"));
  EXPECT_EQ(summary(Confirmation::PENDING),
            Say("hub-and", applied, Worded("hub-to-be-confirmed")));
  EXPECT_EQ(summary(Confirmation::CONFIRMED),
            Say("hub-and", applied, Worded("apply-confirmed", "bob")));
  report.mutable_confirmation()->add_pending("node07");
  EXPECT_EQ(summary(Confirmation::CONFIRMED),
            Say("hub-and", applied,
                Worded("apply-confirmed-partly", "bob", "node07")));
  EXPECT_EQ(summary(Confirmation::REVERTING),
            Say("hub-and", applied, Worded("hub-not-confirmed-reverts")));
  EXPECT_EQ(summary(Confirmation::NOT_NEEDED), ValueText(applied));
  report.mutable_hosts(0)->set_outcome(ApplyResult::ROLLED_BACK);
  EXPECT_THAT(summary(Confirmation::REVERTING),
              EndsWith(Say("hub-and", "", Worded("hub-not-confirmed"))));
}

TEST(RecordOfApplyTest, SaysWhatHasBecomeOfItSince) {
  auto report = FromText<ApplyReport>(
      "run_id: '0123456789abcdef' outcome: SUCCEEDED "
      "hosts {outcome: APPLIED} hosts {outcome: NOTHING_TO_DO}");
  const auto outcome = [&report] {
    return RecordOfApply(report).entry().outcome();
  };
  EXPECT_EQ(outcome(), "succeeded");
  report.mutable_confirmation()->set_state(Confirmation::CONFIRMED);
  EXPECT_EQ(outcome(), "confirmed");
  report.mutable_confirmation()->add_pending("server1");
  EXPECT_EQ(outcome(), "not confirmed everywhere");
  report.mutable_hosts(1)->set_outcome(ApplyResult::ROLLED_BACK);
  EXPECT_EQ(outcome(), "partly rolled back");
  report.mutable_hosts(0)->set_outcome(ApplyResult::UNDONE);
  EXPECT_EQ(outcome(), "rolled back");
  report.mutable_hosts(0)->set_outcome(ApplyResult::LOST);
  EXPECT_EQ(outcome(), "partly rolled back");
  report.mutable_hosts(1)->set_outcome(ApplyResult::APPLIED);
  report.set_outcome(ApplyReport::STOPPED);
  EXPECT_EQ(outcome(), "stopped");
  report.set_rollback(true);
  report.mutable_hosts(1)->set_outcome(ApplyResult::ROLLED_BACK);
  EXPECT_EQ(outcome(), "stopped");
}

}  // namespace
}  // namespace clusterd
