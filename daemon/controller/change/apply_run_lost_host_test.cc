#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/controller/apply_run_fixture.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

TEST_F(ApplyRunTest, HostThatIsSilentUntilItsDeadlineIsLost) {
  ASSERT_TRUE(Start(Order(2, 1)).ok());
  Pass(absl::Minutes(2) - absl::Seconds(1));
  EXPECT_FALSE(ended());
  Pass(absl::Seconds(1));
  const ApplyReport report = Report();
  EXPECT_EQ(Outcomes(report), "LOST NOT_STARTED");
  EXPECT_EQ(report.hosts(0).error(), "no answer in 2m");
}

TEST_F(ApplyRunTest, HostWhoseStreamEndedIsRunningForAsLongAsItIsWaitedFor) {
  ASSERT_TRUE(Start(Order(2, 1)).ok());
  EXPECT_EQ(Outcomes(run_->report()), "RUNNING NOT_STARTED");
  Lose("a");
  EXPECT_EQ(Outcomes(run_->report()), "RUNNING NOT_STARTED");
  Pass(absl::Seconds(30));
  EXPECT_EQ(Outcomes(run_->report()), "LOST NOT_STARTED");
}

TEST_F(ApplyRunTest, HostThatComesBackTellsHowItsApplyEnded) {
  ASSERT_TRUE(Start(Order(2, 1)).ok());
  Lose("a");
  Pass(absl::Seconds(20));
  EXPECT_FALSE(ended());
  Attach("a");
  EXPECT_TRUE(Tell("a", ResultOf(ApplyResult::APPLIED)));
  pool_.Drain();
  EXPECT_EQ(TasksOf("b"), 1u);
  // Reported twice, as after each attaching.
  EXPECT_FALSE(Tell("a", ResultOf(ApplyResult::UNDONE)));
  Answer("b", ApplyResult::APPLIED);
  EXPECT_EQ(Report().outcome(), ApplyReport::SUCCEEDED);
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(ApplyRunTest, HostThatStaysAwayIsLostAndFailsItsWave) {
  ASSERT_TRUE(Start(Order(2, 1)).ok());
  Lose("a");
  Pass(absl::Seconds(30));
  const ApplyReport report = Report();
  EXPECT_EQ(report.outcome(), ApplyReport::STOPPED);
  EXPECT_EQ(Outcomes(report), "LOST NOT_STARTED");
  EXPECT_EQ(report.hosts(0).error(),
            Say("hub-not-attached-since",
                Worded("msg-hub-connection-ended", kBroke)));
}

TEST_F(ApplyRunTest, HostThatIsBackAndStillAtItHasUntilItsDeadline) {
  ASSERT_TRUE(Start(Order(1, 1)).ok());
  Pass(absl::Seconds(10));
  Lose("a");
  Attach("a");
  Pass(absl::Seconds(30));
  EXPECT_FALSE(ended());
  Pass(absl::Seconds(79));
  EXPECT_FALSE(ended());
  Pass(absl::Seconds(1));
  EXPECT_EQ(Report().hosts(0).outcome(), ApplyResult::LOST);
  EXPECT_THAT(Report().hosts(0).error(), Tells("hub-attached-silent"));
}

// It died after it was asked and before its journal began.
TEST_F(ApplyRunTest, HostThatIsBackAndKnowsNothingOfItIsNotWaitedFor) {
  ASSERT_TRUE(Start(Order(2, 1)).ok());
  Lose("a");
  Attach("a");
  PastApplies reported;
  run_->OnPastApplies("a", reported);
  EXPECT_FALSE(ended()) << "it has not said that this is all";
  reported.set_knows_all(true);
  reported.set_at_work(kRun);
  run_->OnPastApplies("a", reported);
  EXPECT_FALSE(ended()) << "it is at it";
  reported.set_at_work("another");
  reported.add_journals("feedfeedfeedfeed");
  run_->OnPastApplies("z", reported);
  run_->OnPastApplies("b", reported);
  EXPECT_FALSE(ended()) << "another host says nothing of it";
  run_->OnPastApplies("a", reported);
  pool_.Drain();
  EXPECT_EQ(Report().outcome(), ApplyReport::STOPPED);
  EXPECT_EQ(Outcomes(Report()), "LOST NOT_STARTED");
  EXPECT_EQ(Report().hosts(0).error(),
            Say("hub-no-journal", Worded("msg-hub-connection-ended", kBroke)));
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(ApplyRunTest, HostThatKnowsNothingYetItsAnswerIsStillToCome) {
  ASSERT_TRUE(Start(Order(1, 1)).ok());
  PastApplies reported;
  reported.set_knows_all(true);
  run_->OnPastApplies("a", reported);
  EXPECT_FALSE(ended());
  Answer("a", ApplyResult::APPLIED);
  EXPECT_EQ(Report().outcome(), ApplyReport::SUCCEEDED);
}

TEST_F(ApplyRunTest, HostWithAJournalOfItHasUntilItsDeadline) {
  ASSERT_TRUE(Start(Order(1, 1)).ok());
  Lose("a");
  Attach("a");
  PastApplies reported;
  reported.set_knows_all(true);
  reported.add_journals(kRun);
  run_->OnPastApplies("a", reported);
  EXPECT_FALSE(ended());
  *reported.add_results() = ResultOf(ApplyResult::UNDONE);
  run_->OnPastApplies("a", reported);
  pool_.Drain();
  EXPECT_EQ(Outcomes(Report()), "UNDONE");
}

TEST_F(ApplyRunTest, RollbackThatAHostDidNotBeginIsNotWaitedFor) {
  ASSERT_TRUE(Start(Order(3, 3, /*rollback=*/true)).ok());
  for (const char* host : {"a", "b", "c"}) {
    Lose(host);
    Attach(host);
  }
  PastApplies reported;
  reported.set_knows_all(true);
  run_->OnPastApplies("a", reported);
  reported.add_journals("feedfeedfeedfeed");
  run_->OnPastApplies("c", reported);
  *reported.add_results() = ResultOf(ApplyResult::APPLIED);
  run_->OnPastApplies("b", reported);
  pool_.Drain();
  EXPECT_FALSE(ended()) << "c may have reported it, were it among the newest";
  EXPECT_TRUE(Tell("c", ResultOf(ApplyResult::ROLLED_BACK)));
  pool_.Drain();
  EXPECT_EQ(Outcomes(Report()), "REFUSED LOST ROLLED_BACK");
  EXPECT_THAT(Report().hosts(0).error(), HasSubstr("in effect on this host"));
  EXPECT_THAT(Report().hosts(1).error(), Tells("hub-not-rolled-back"));
}

TEST_F(ApplyRunTest, LateNewsOfLostHostStandsInTheReportAndDoesNotHealTheWave) {
  ASSERT_TRUE(Start(Order(3, 2)).ok());
  Lose("a");
  Pass(absl::Seconds(30));
  EXPECT_FALSE(ended());
  Attach("a");
  EXPECT_TRUE(Tell("a", ResultOf(ApplyResult::UNDONE)));
  Answer("b", ApplyResult::APPLIED);
  EXPECT_EQ(Report().outcome(), ApplyReport::STOPPED);
  EXPECT_EQ(Outcomes(Report()), "UNDONE APPLIED NOT_STARTED");
}

TEST_F(ApplyRunTest, RollbackWhoseLostHostTellsInTimeHasSucceeded) {
  ASSERT_TRUE(Start(Order(2, 1, /*rollback=*/true)).ok());
  Lose("a");
  Pass(absl::Seconds(30));
  ASSERT_EQ(TasksOf("b"), 1u);
  EXPECT_EQ(run_->progress().failed(), 1u);
  EXPECT_TRUE(Tell("a", ResultOf(ApplyResult::ROLLED_BACK)));
  EXPECT_EQ(run_->progress().failed(), 0u);
  EXPECT_EQ(run_->progress().done(), 1u);
  Answer("b", ApplyResult::ROLLED_BACK);
  EXPECT_EQ(Report().outcome(), ApplyReport::SUCCEEDED);
}

TEST_F(ApplyRunTest, NewsFromBeforeIsNoAnswerToTheTaskUnderWay) {
  ASSERT_TRUE(Start(Order(1, 1)).ok());
  EXPECT_FALSE(Tell("a", ResultOf(ApplyResult::APPLIED)));
  EXPECT_FALSE(ended());
  EXPECT_FALSE(Tell("z", ResultOf(ApplyResult::APPLIED)));
}

TEST_F(ApplyRunTest, RollbackIsNotSettledByAnApplyThatStillStands) {
  ASSERT_TRUE(Start(Order(1, 1, /*rollback=*/true)).ok());
  Lose("a");
  Attach("a");
  EXPECT_FALSE(Tell("a", ResultOf(ApplyResult::APPLIED)));
  EXPECT_FALSE(ended());
  EXPECT_TRUE(Tell("a", ResultOf(ApplyResult::ROLLED_BACK)));
  pool_.Drain();
  EXPECT_EQ(Report().outcome(), ApplyReport::SUCCEEDED);
}

TEST_F(ApplyRunTest, RepeatedReportOfAMissingJournalEndsTheWait) {
  ASSERT_TRUE(Start(Order(1, 1, /*rollback=*/true)).ok());
  Lose("a");
  ApplyResult reported = ResultOf(ApplyResult::REFUSED, "no journal of it");
  reported.set_no_journal(true);
  reported.set_of_rollback(true);
  EXPECT_TRUE(Tell("a", reported));
  pool_.Drain();
  EXPECT_THAT(Report().hosts(0).error(), HasSubstr("in effect on this host"));
  EXPECT_FALSE(Report().hosts(0).of_rollback());
}

}  // namespace
}  // namespace clusterd
