#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/print/apply_table.h"
#include "gtest/gtest.h"
#include "tests/support/client/golden.h"
#include "tests/support/client/sample_plan.h"

namespace clusterd {
namespace {

constexpr char kIncomplete[] = "NO COMPLETE ANSWER";
constexpr char kPartly[] = "PARTLY ROLLED BACK";
constexpr char kBack[] = "ROLLED BACK";

using Host = ApplyResult;
using Run = ApplyReport;

TEST(HostEndTest, IsAsTheTableSays) {
  const struct {
    Host::Outcome outcome;
    State apply;
    State rollback;
    // Whether the host is not known to be as before.
    bool may_hold;
  } kCases[] = {{Host::OUTCOME_UNSPECIFIED, UNKNOWN, UNKNOWN, true},
                {Host::APPLIED, PASS, FAIL, true},
                {Host::NOTHING_TO_DO, PASS, PASS, false},
                {Host::UNDONE, FAIL, FAIL, false},
                {Host::ROLLED_BACK, SKIPPED, PASS, false},
                {Host::UNDONE_WITH_RESIDUES, FAIL, FAIL, true},
                {Host::ROLLED_BACK_WITH_RESIDUES, FAIL, FAIL, true},
                {Host::REFUSED, FAIL, FAIL, false},
                {Host::NOT_STARTED, SKIPPED, SKIPPED, false},
                {Host::LOST, UNKNOWN, UNKNOWN, true},
                {Host::RUNNING, UNKNOWN, UNKNOWN, true},
                {static_cast<Host::Outcome>(17), UNKNOWN, UNKNOWN, false}};
  for (const auto& [outcome, apply, rollback, may_hold] : kCases) {
    SCOPED_TRACE(OutcomeWord(outcome));
    EXPECT_EQ(HostEnd(outcome, false), apply);
    EXPECT_EQ(HostEnd(outcome, true), rollback);
    EXPECT_EQ(MayHold(outcome), may_hold);
    // Only changes that a rollback could undo are left.
    EXPECT_EQ(LeftChanges(ReportOf(Run::STOPPED, {ResultOf("a", outcome)})),
              may_hold && outcome != Host::OUTCOME_UNSPECIFIED);
  }
}

TEST(OutcomeWordTest, HasAWordOfItsOwnForEachOutcome) {
  std::set<std::string> words;
  const auto* type = ApplyResult::Outcome_descriptor();
  for (int i = 0; i < type->value_count(); ++i) {
    words.insert(OutcomeWord(
        static_cast<ApplyResult::Outcome>(type->value(i)->number())));
  }
  EXPECT_EQ(static_cast<int>(words.size()), type->value_count());
  EXPECT_EQ(OutcomeWord(static_cast<ApplyResult::Outcome>(17)), "outcome 17");
}

TEST(RunVerdictTest, IsNeverBetterThanTheHosts) {
  const struct {
    Run::Outcome outcome;
    std::vector<Host::Outcome> hosts;
    State verdict;
    const char* word;
  } kCases[] = {
      {Run::SUCCEEDED, {Host::APPLIED, Host::NOTHING_TO_DO}, PASS, "SUCCEEDED"},
      {Run::SUCCEEDED, {Host::APPLIED, Host::UNDONE}, FAIL, "STOPPED"},
      {Run::SUCCEEDED, {Host::APPLIED, Host::LOST}, UNKNOWN, kIncomplete},
      {Run::SUCCEEDED, {Host::APPLIED, Host::NOT_STARTED}, FAIL, "STOPPED"},
      {Run::SUCCEEDED, {Host::APPLIED, Host::ROLLED_BACK}, PASS, kPartly},
      {Run::SUCCEEDED, {Host::ROLLED_BACK, Host::NOTHING_TO_DO}, PASS, kBack},
      {Run::STOPPED, {Host::ROLLED_BACK, Host::UNDONE}, FAIL, kBack},
      {Run::SUCCEEDED, {}, UNKNOWN, kIncomplete},
      {Run::STOPPED,
       {Host::APPLIED, Host::REFUSED, Host::LOST},
       FAIL,
       "STOPPED"},
      {Run::STOPPED, {Host::LOST, Host::NOT_STARTED}, UNKNOWN, "STOPPED"},
      {Run::STOPPED, {Host::APPLIED}, FAIL, "STOPPED"},
      {Run::INTERRUPTED, {Host::APPLIED}, UNKNOWN, "INTERRUPTED"},
      {Run::RUNNING, {Host::APPLIED}, UNKNOWN, "RUNNING"},
      {Run::OUTCOME_UNSPECIFIED, {Host::APPLIED}, UNKNOWN, kIncomplete}};
  for (const auto& each : kCases) {
    std::vector<ApplyResult> hosts;
    for (const Host::Outcome outcome : each.hosts) {
      hosts.push_back(ResultOf("server0", outcome));
    }
    const ApplyReport report = ReportOf(each.outcome, hosts);
    SCOPED_TRACE(report.ShortDebugString());
    EXPECT_EQ(SupportedVerdict(report), each.verdict);
    EXPECT_EQ(RunWord(report), each.word);
  }
}

TEST(RunVerdictTest, SaysThatAnApplyWasConfirmed) {
  ApplyReport report =
      ReportOf(ApplyReport::SUCCEEDED, {ResultOf("a", ApplyResult::APPLIED)});
  report.mutable_confirmation()->set_state(Confirmation::PENDING);
  EXPECT_EQ(RunWord(report), "SUCCEEDED");
  report.mutable_confirmation()->set_state(Confirmation::CONFIRMED);
  EXPECT_EQ(RunWord(report), "CONFIRMED");
  // A host that was not notified reverts it.
  report.mutable_confirmation()->add_pending("a");
  EXPECT_EQ(RunWord(report), "NOT CONFIRMED EVERYWHERE");
  report.mutable_hosts(0)->set_outcome(ApplyResult::ROLLED_BACK);
  EXPECT_EQ(RunWord(report), "ROLLED BACK");
  report.set_rollback(true);
  EXPECT_EQ(RunWord(report), "SUCCEEDED");
  // A newer schema is not trusted.
  report.set_schema_version(2);
  EXPECT_EQ(SupportedVerdict(report), UNKNOWN);
}

TEST(LeftChangesTest, AreNoneOfARunningApplyAndOfARollback) {
  EXPECT_FALSE(
      LeftChanges(ReportOf(Run::RUNNING, {ResultOf("a", Host::APPLIED)})));
  ApplyReport rollback = ReportOf(Run::STOPPED, {ResultOf("a", Host::LOST)});
  rollback.set_rollback(true);
  EXPECT_FALSE(LeftChanges(rollback));
}

TEST(ConfirmationTextTest, SaysHowItStands) {
  ExpectGoldenInBoth("tables/confirmation", [] {
    std::string text;
    Confirmation confirmation;
    const auto add = [&](bool is_back = false) {
      absl::StrAppend(&text, ConfirmationText(confirmation, "3fa2", is_back),
                      "\n");
    };
    confirmation.set_deadline_ms(1700000000000);
    confirmation.set_confirmed_by("bob");
    confirmation.set_state(Confirmation::PENDING);
    add();
    confirmation.set_waits_for("a person");
    add();
    confirmation.clear_waits_for();
    confirmation.set_automatic(true);
    add();
    confirmation.set_state(Confirmation::CONFIRMED);
    add();
    confirmation.add_pending("node07");
    add();
    confirmation.set_deadlines_passed(true);
    add();
    confirmation.set_state(Confirmation::REVERTING);
    add();
    add(/*is_back=*/true);
    return text;
  });
}

TEST(ConfirmationTextTest, IsEmptyWhereNoneIsNeeded) {
  Confirmation confirmation;
  EXPECT_EQ(ConfirmationText(confirmation, "3fa2"), "");
  confirmation.set_state(Confirmation::NOT_NEEDED);
  EXPECT_EQ(ConfirmationText(confirmation, "3fa2"), "");
}

}  // namespace
}  // namespace clusterd
