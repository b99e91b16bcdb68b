#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/controller/apply_run_fixture.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(ApplyRunTest, GoesThroughItsWavesInTheOrderOfThePlan) {
  ASSERT_TRUE(Start(Order(3, 2)).ok());
  EXPECT_EQ(TasksOf("a"), 1u);
  EXPECT_EQ(TasksOf("b"), 1u);
  EXPECT_EQ(TasksOf("c"), 0u);
  const ApplyTask task = attached_["a"].link->tasks()[0].apply();
  EXPECT_EQ(task.apply_id(), kRun);
  EXPECT_THAT(task, HasFields(R"(
      actor: "alice" plan_digest: "digest" plan { host: "a" } force: false)"));
  Answer("b", ApplyResult::APPLIED);
  EXPECT_THAT(run_->progress(),
              HasFields("wave: 1 waves: 2 done: 1 pending: 2"));
  EXPECT_THAT(run_->progress().at_work(), ElementsAre("a"));
  EXPECT_EQ(TasksOf("c"), 0u);
  Answer("a", ApplyResult::NOTHING_TO_DO);
  EXPECT_EQ(TasksOf("c"), 1u);
  scheduler_.Advance(absl::Seconds(7));
  Answer("c", ApplyResult::APPLIED);
  const ApplyReport report = Report();
  EXPECT_EQ(report.outcome(), ApplyReport::SUCCEEDED);
  EXPECT_EQ(report.elapsed_ms(), 7000u);
  EXPECT_EQ(Outcomes(report), "NOTHING_TO_DO APPLIED APPLIED");
  EXPECT_THAT(report.hosts(1).facts_after(), IsEmpty());
  EXPECT_THAT(report.notes(), IsEmpty());
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(ApplyRunTest, KeepsWhatIsTrueIfTheControllerDiesNow) {
  ASSERT_TRUE(Start(Order(2, 1)).ok());
  // Kept before the first host was asked.
  ASSERT_EQ(saved().size(), 1u);
  EXPECT_EQ(saved()[0].outcome(), ApplyReport::RUNNING);
  EXPECT_EQ(Outcomes(saved()[0]), "RUNNING NOT_STARTED");
  Answer("a", ApplyResult::APPLIED);
  ASSERT_EQ(saved().size(), 2u);
  EXPECT_EQ(Outcomes(saved()[1]), "APPLIED RUNNING");
  Answer("b", ApplyResult::APPLIED);
  ASSERT_EQ(saved().size(), 3u);
  EXPECT_EQ(saved()[2].outcome(), ApplyReport::SUCCEEDED);
}

TEST_F(ApplyRunTest, AsksNobodyWhenItCannotBeKept) {
  DiskIsFull();
  EXPECT_EQ(Start(Order(1, 1)).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(TasksOf("a"), 0u);
  EXPECT_FALSE(ended());
}

TEST_F(ApplyRunTest, StopsBeforeTheWaveThatCannotBeKept) {
  ASSERT_TRUE(Start(Order(2, 1)).ok());
  DiskIsFull();
  Answer("a", ApplyResult::APPLIED);
  EXPECT_EQ(TasksOf("b"), 0u);
  const ApplyReport report = Report();
  EXPECT_EQ(report.outcome(), ApplyReport::STOPPED);
  EXPECT_EQ(Outcomes(report), "APPLIED NOT_STARTED");
  EXPECT_THAT(report.notes(0), Tells("hub-wave-not-kept", 2, kFull));
}

TEST_F(ApplyRunTest, FailedWaveStopsTheRestAndLetsItsOwnHostsFinish) {
  ASSERT_TRUE(Start(Order(4, 2)).ok());
  Answer("a", ApplyResult::UNDONE, "step 1: no effect");
  EXPECT_FALSE(ended());
  Answer("b", ApplyResult::APPLIED);
  EXPECT_EQ(TasksOf("c"), 0u);
  const ApplyReport report = Report();
  EXPECT_EQ(report.outcome(), ApplyReport::STOPPED);
  EXPECT_EQ(Outcomes(report), "UNDONE APPLIED NOT_STARTED NOT_STARTED");
  EXPECT_EQ(report.hosts(2).error(), "an earlier wave failed");
  EXPECT_THAT(report.notes(), ElementsAre(Say("hub-ended-in-wave", 2, 1, 2),
                                          Say("hub-hosts-kept-it", kRun)));
  EXPECT_THAT(log_.Lines(), HasSubstr("host a: undone: step 1: no effect"));
}

TEST_F(ApplyRunTest, EveryOutcomeThatIsNotAsWishedFailsTheWave) {
  for (const ApplyResult::Outcome outcome :
       {ApplyResult::UNDONE_WITH_RESIDUES, ApplyResult::ROLLED_BACK,
        ApplyResult::REFUSED, ApplyResult::OUTCOME_UNSPECIFIED,
        ApplyResult::NOT_STARTED}) {
    ASSERT_TRUE(Start(Order(2, 1)).ok());
    Answer("a", outcome);
    EXPECT_EQ(Report().outcome(), ApplyReport::STOPPED) << outcome;
    EXPECT_EQ(TasksOf("b"), 0u) << outcome;
    Restart();
  }
}

TEST_F(ApplyRunTest, HostThatIsGoneOrDoesNotKnowTheTaskWasNotChanged) {
  ApplyOrder order = Order(2, 2);
  Lose("a");
  Lose("b");
  Attachment old;
  old.host = "b";
  old.hello.set_clusterd_version("0.1");
  old.link = attached_["b"].link;
  ASSERT_TRUE(hosts_.Attach(std::move(old)).ok());
  ASSERT_TRUE(Start(std::move(order)).ok());
  const ApplyReport report = Report();
  EXPECT_EQ(Outcomes(report), "NOT_STARTED REFUSED");
  EXPECT_THAT(report.hosts(0).error(), HasSubstr("the connection broke"));
  EXPECT_THAT(report.hosts(1).error(),
              Tells("msg-hub-clusterd-too-old", "0.1"));
}

TEST_F(ApplyRunTest, ErrorOfTheHostIsRefusal) {
  // An error is no proof that a rollback left nothing.
  ASSERT_TRUE(Start(Order(1, 1, /*rollback=*/true)).ok());
  AnswerError("a", absl::StatusCode::kNotFound, "");
  EXPECT_EQ(Report().hosts(0).outcome(), ApplyResult::REFUSED);
  Restart();
  ASSERT_TRUE(Start(Order(1, 1)).ok());
  AnswerError("a", absl::StatusCode::kResourceExhausted,
              "16 tasks run already");
  EXPECT_EQ(Report().hosts(0).outcome(), ApplyResult::REFUSED);
  EXPECT_EQ(Report().hosts(0).error(), "16 tasks run already");
}

TEST_F(ApplyRunTest, LogsWhatForceOverrodeAndWhoForcedIt) {
  ASSERT_TRUE(Start(Order(1, 1)).ok());
  ApplyResult result = ResultOf(ApplyResult::APPLIED);
  result.add_forced("device 3 is in use");
  AnswerWith("a", result);
  EXPECT_THAT(log_.Lines(),
              HasSubstr("host a: forced by alice: device 3 is in use"));
}

TEST_F(ApplyRunTest, AnswerAboutAnotherApplyIsNoAnswer) {
  ASSERT_TRUE(Start(Order(1, 1)).ok());
  apply_id_ = "another";
  Answer("a", ApplyResult::APPLIED);
  EXPECT_EQ(Report().hosts(0).outcome(), ApplyResult::LOST);
  EXPECT_THAT(Report().hosts(0).error(), HasSubstr("\"another\""));
}

TEST_F(ApplyRunTest, TellsStepsInWordsAndIgnoresAFloodOfThem) {
  ASSERT_TRUE(Start(Order(1, 1)).ok());
  for (int i = 0; i < 1000; ++i) TellStep("a", 1);
  absl::MutexLock lock(&mutex_);
  ASSERT_EQ(events_.size(), 3u);  // Its wave; done once, undone at most once.
  EXPECT_EQ(events_[1].step().host(), "a");
  EXPECT_EQ(events_[1].step().text(), "net.core.somaxconn: 128 -> 65535");
  EXPECT_EQ(events_[1].step().outcome().state(), StepOutcome::DONE);
}

TEST_F(ApplyRunTest, RollbackGoesOnPastHostsThatCannotBeRolledBack) {
  ASSERT_TRUE(Start(Order(3, 1, /*rollback=*/true)).ok());
  const Task task = attached_["a"].link->tasks()[0];
  EXPECT_EQ(task.rollback().apply_id(), "feedfeedfeedfeed");
  Answer("a", ApplyResult::REFUSED, "a device is in use");
  Answer("b", ApplyResult::ROLLED_BACK);
  Answer("c", ApplyResult::NOTHING_TO_DO, "it was rolled back before");
  const ApplyReport report = Report();
  EXPECT_EQ(report.outcome(), ApplyReport::STOPPED);
  EXPECT_EQ(Outcomes(report), "REFUSED ROLLED_BACK NOTHING_TO_DO");
  EXPECT_THAT(report.notes(), IsEmpty());
}

TEST_F(ApplyRunTest, HostWithoutTheJournalIsRefusedUnlessItWasLost) {
  ApplyOrder order = Order(3, 3, /*rollback=*/true);
  order.hosts[1].was_lost = true;
  order.report.set_plan_id("aaaabbbbccccdddd");
  ASSERT_TRUE(Start(std::move(order)).ok());
  AnswerWithoutJournal("a");
  AnswerWithoutJournal("b");
  Answer("c", ApplyResult::ROLLED_BACK);
  const ApplyReport report = Report();
  EXPECT_EQ(report.outcome(), ApplyReport::STOPPED);
  EXPECT_EQ(Outcomes(report), "REFUSED NOTHING_TO_DO ROLLED_BACK");
  EXPECT_EQ(report.hosts(0).error(),
            Say("hub-settings-stay", kNoJournal,
                Worded("hub-old-values-in", "aaaabbbbccccdddd")));
  EXPECT_EQ(report.hosts(1).error(), kNoJournal);
  EXPECT_THAT(log_.Lines(),
              HasSubstr(absl::StrCat("host a: refused: ", kNoJournal)));
}

TEST_F(ApplyRunTest, HostWithoutTheJournalIsNeverGoodWhateverItCallsIt) {
  ApplyOrder order = Order(1, 1, /*rollback=*/true);
  order.plan = nullptr;
  ASSERT_TRUE(Start(std::move(order)).ok());
  AnswerWithoutJournal("a", ApplyResult::NOTHING_TO_DO);
  EXPECT_EQ(Report().outcome(), ApplyReport::STOPPED);
  EXPECT_EQ(Report().hosts(0).outcome(), ApplyResult::REFUSED);
  EXPECT_THAT(Report().hosts(0).error(), Tells("hub-old-values-gone"));
}

TEST_F(ApplyRunTest, StopInterruptsAndKeepsWhatIsKnown) {
  ASSERT_TRUE(Start(Order(3, 2)).ok());
  Answer("a", ApplyResult::APPLIED);
  EXPECT_TRUE(run_->Stop());
  EXPECT_EQ(saved().back().outcome(), ApplyReport::INTERRUPTED);
  EXPECT_EQ(Outcomes(saved().back()), "APPLIED LOST NOT_STARTED");
  {
    absl::MutexLock lock(&mutex_);
    ASSERT_TRUE(end_.has_value());
    EXPECT_EQ(end_->status().code(), absl::StatusCode::kUnavailable);
  }
  // Later answers start nothing.
  Answer("b", ApplyResult::APPLIED);
  EXPECT_EQ(TasksOf("c"), 0u);
  EXPECT_FALSE(run_->Stop());
}

}  // namespace
}  // namespace clusterd
