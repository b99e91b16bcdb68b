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

struct EndCase {
  ApplyResult::Outcome outcome;
  State apply;
  State rollback;
};

class HostEndTest : public testing::TestWithParam<EndCase> {};

TEST_P(HostEndTest, IsAsTheTableSays) {
  EXPECT_EQ(HostEnd(GetParam().outcome, false), GetParam().apply);
  EXPECT_EQ(HostEnd(GetParam().outcome, true), GetParam().rollback);
}

INSTANTIATE_TEST_SUITE_P(
    Outcomes, HostEndTest,
    testing::Values(EndCase{ApplyResult::OUTCOME_UNSPECIFIED, UNKNOWN, UNKNOWN},
                    EndCase{ApplyResult::APPLIED, PASS, FAIL},
                    EndCase{ApplyResult::NOTHING_TO_DO, PASS, PASS},
                    EndCase{ApplyResult::UNDONE, FAIL, FAIL},
                    EndCase{ApplyResult::ROLLED_BACK, SKIPPED, PASS},
                    EndCase{ApplyResult::UNDONE_WITH_RESIDUES, FAIL, FAIL},
                    EndCase{ApplyResult::ROLLED_BACK_WITH_RESIDUES, FAIL, FAIL},
                    EndCase{ApplyResult::REFUSED, FAIL, FAIL},
                    EndCase{ApplyResult::NOT_STARTED, SKIPPED, SKIPPED},
                    EndCase{ApplyResult::LOST, UNKNOWN, UNKNOWN},
                    EndCase{ApplyResult::RUNNING, UNKNOWN, UNKNOWN},
                    EndCase{static_cast<ApplyResult::Outcome>(17), UNKNOWN,
                            UNKNOWN}));

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

struct RunCase {
  ApplyReport::Outcome outcome;
  std::vector<ApplyResult::Outcome> hosts;
  State verdict;
  const char* word;
};

class RunVerdictTest : public testing::TestWithParam<RunCase> {};

TEST_P(RunVerdictTest, IsNeverBetterThanTheHosts) {
  std::vector<ApplyResult> hosts;
  for (const ApplyResult::Outcome outcome : GetParam().hosts) {
    hosts.push_back(ResultOf("server0", outcome));
  }
  const ApplyReport report = ReportOf(GetParam().outcome, hosts);
  EXPECT_EQ(SupportedVerdict(report), GetParam().verdict);
  EXPECT_EQ(RunWord(report), GetParam().word);
}

INSTANTIATE_TEST_SUITE_P(
    Runs, RunVerdictTest,
    testing::Values(
        RunCase{ApplyReport::SUCCEEDED,
                {ApplyResult::APPLIED, ApplyResult::NOTHING_TO_DO},
                PASS,
                "SUCCEEDED"},
        RunCase{ApplyReport::SUCCEEDED,
                {ApplyResult::APPLIED, ApplyResult::UNDONE},
                FAIL,
                "STOPPED"},
        RunCase{ApplyReport::SUCCEEDED,
                {ApplyResult::APPLIED, ApplyResult::LOST},
                UNKNOWN,
                "NO COMPLETE ANSWER"},
        RunCase{ApplyReport::SUCCEEDED,
                {ApplyResult::APPLIED, ApplyResult::NOT_STARTED},
                FAIL,
                "STOPPED"},
        RunCase{ApplyReport::SUCCEEDED,
                {ApplyResult::APPLIED, ApplyResult::ROLLED_BACK},
                PASS,
                "PARTLY ROLLED BACK"},
        RunCase{ApplyReport::SUCCEEDED,
                {ApplyResult::ROLLED_BACK, ApplyResult::NOTHING_TO_DO},
                PASS,
                "ROLLED BACK"},
        RunCase{ApplyReport::STOPPED,
                {ApplyResult::ROLLED_BACK, ApplyResult::UNDONE},
                FAIL,
                "ROLLED BACK"},
        RunCase{ApplyReport::SUCCEEDED, {}, UNKNOWN, "NO COMPLETE ANSWER"},
        RunCase{ApplyReport::STOPPED,
                {ApplyResult::APPLIED, ApplyResult::REFUSED, ApplyResult::LOST},
                FAIL,
                "STOPPED"},
        RunCase{ApplyReport::STOPPED,
                {ApplyResult::LOST, ApplyResult::NOT_STARTED},
                UNKNOWN,
                "STOPPED"},
        RunCase{ApplyReport::STOPPED, {ApplyResult::APPLIED}, FAIL, "STOPPED"},
        RunCase{ApplyReport::INTERRUPTED,
                {ApplyResult::APPLIED},
                UNKNOWN,
                "INTERRUPTED"},
        RunCase{
            ApplyReport::RUNNING, {ApplyResult::APPLIED}, UNKNOWN, "RUNNING"},
        RunCase{ApplyReport::OUTCOME_UNSPECIFIED,
                {ApplyResult::APPLIED},
                UNKNOWN,
                "NO COMPLETE ANSWER"}));

TEST(RunVerdictTest, SaysThatAnApplyWasConfirmed) {
  ApplyReport report =
      ReportOf(ApplyReport::SUCCEEDED, {ResultOf("a", ApplyResult::APPLIED)});
  report.mutable_confirmation()->set_state(Confirmation::PENDING);
  EXPECT_EQ(RunWord(report), "SUCCEEDED");
  report.mutable_confirmation()->set_state(Confirmation::CONFIRMED);
  EXPECT_EQ(RunWord(report), "CONFIRMED");
  // A host that was not notified reverts it.
  report.mutable_confirmation()->add_untold("a");
  EXPECT_EQ(RunWord(report), "NOT CONFIRMED EVERYWHERE");
  report.mutable_hosts(0)->set_outcome(ApplyResult::ROLLED_BACK);
  EXPECT_EQ(RunWord(report), "ROLLED BACK");
  report.set_rollback(true);
  EXPECT_EQ(RunWord(report), "SUCCEEDED");
}

TEST(RunVerdictTest, DoesNotTrustANewerSchema) {
  ApplyReport report =
      ReportOf(ApplyReport::SUCCEEDED, {ResultOf("a", ApplyResult::APPLIED)});
  report.set_schema_version(2);
  EXPECT_EQ(SupportedVerdict(report), UNKNOWN);
}

TEST(MayHoldTest, IsForEveryHostThatIsNotKnownToBeAsBefore) {
  EXPECT_TRUE(MayHold(ApplyResult::APPLIED));
  EXPECT_TRUE(MayHold(ApplyResult::LOST));
  EXPECT_TRUE(MayHold(ApplyResult::OUTCOME_UNSPECIFIED));
  EXPECT_TRUE(MayHold(ApplyResult::UNDONE_WITH_RESIDUES));
  EXPECT_TRUE(MayHold(ApplyResult::ROLLED_BACK_WITH_RESIDUES));
  for (const ApplyResult::Outcome outcome :
       {ApplyResult::NOT_STARTED, ApplyResult::REFUSED, ApplyResult::UNDONE,
        ApplyResult::NOTHING_TO_DO}) {
    EXPECT_FALSE(MayHold(outcome)) << OutcomeWord(outcome);
  }
}

TEST(LeftChangesTest, IsWhatARollbackCouldTakeBack) {
  const auto left = [](ApplyResult::Outcome outcome) {
    return LeftChanges(
        ReportOf(ApplyReport::STOPPED, {ResultOf("server0", outcome)}));
  };
  EXPECT_TRUE(left(ApplyResult::APPLIED));
  EXPECT_TRUE(left(ApplyResult::LOST));
  EXPECT_TRUE(left(ApplyResult::UNDONE_WITH_RESIDUES));
  EXPECT_FALSE(left(ApplyResult::OUTCOME_UNSPECIFIED));
  EXPECT_FALSE(left(ApplyResult::UNDONE));
  EXPECT_FALSE(left(ApplyResult::REFUSED));
  EXPECT_FALSE(left(ApplyResult::NOT_STARTED));
  EXPECT_FALSE(LeftChanges(ReportOf(
      ApplyReport::RUNNING, {ResultOf("server0", ApplyResult::APPLIED)})));
  ApplyReport rollback =
      ReportOf(ApplyReport::STOPPED, {ResultOf("server0", ApplyResult::LOST)});
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
    confirmation.add_untold("node07");
    add();
    confirmation.set_deadlines_passed(true);
    add();
    confirmation.set_state(Confirmation::GOES_BACK);
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
