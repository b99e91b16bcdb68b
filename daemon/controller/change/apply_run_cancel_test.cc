#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/controller/apply_run_fixture.h"
#include "tests/support/wait/has_fields.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ApplyRunCancelTest : public ApplyRunTest {
 protected:
  // "1 of 3 begins: a b", "1 of 3: 2 applied"; "bob in 1 of 3".
  std::vector<std::string> Story() {
    std::vector<std::string> story;
    absl::MutexLock lock(&mutex_);
    for (const ApplyEvent& event : events_) {
      const ApplyWave& wave = event.wave();
      const std::string where = absl::StrCat(wave.wave(), " of ", wave.waves());
      if (event.has_wave() && wave.result().empty()) {
        story.push_back(
            absl::StrCat(where, " begins: ", absl::StrJoin(wave.hosts(), " ")));
      } else if (event.has_wave()) {
        story.push_back(absl::StrCat(where, ": ", wave.result()));
      } else if (event.has_cancelled()) {
        const CancelResponse& cancelled = event.cancelled();
        story.push_back(absl::StrCat(cancelled.cancelled().actor(), " in ",
                                     cancelled.cancelled().wave(), " of ",
                                     cancelled.waves()));
      }
    }
    return story;
  }
};

TEST_F(ApplyRunCancelTest, FinishesWhatIsUnderWayAndBeginsNoFurtherWave) {
  ASSERT_TRUE(Start(Order(5, 2)).ok());
  Answer("a", ApplyResult::APPLIED);
  const absl::StatusOr<CancelResponse> cancelled = run_->Cancel("bob");
  ASSERT_TRUE(cancelled.ok()) << cancelled.status();
  EXPECT_EQ(cancelled->run_id(), kRun);
  EXPECT_THAT(*cancelled,
              HasFields("actor: 'alice' cancelled { actor: 'bob' wave: 1 } "
                        "waves: 3 at_work: 1 not_started: 3"));
  EXPECT_FALSE(ended());
  Answer("b", ApplyResult::APPLIED);
  EXPECT_EQ(TasksOf("c"), 0u);
  const ApplyReport report = Report();
  EXPECT_EQ(report.outcome(), ApplyReport::CANCELLED);
  EXPECT_EQ(report.cancelled().actor(), "bob");
  EXPECT_EQ(Outcomes(report),
            "APPLIED APPLIED NOT_STARTED NOT_STARTED NOT_STARTED");
  EXPECT_EQ(report.hosts(2).error(), Say("hub-cancelled-after-wave", "bob", 1));
  EXPECT_THAT(report.notes(),
              ElementsAre(Say("hub-cancelled-in-wave", "bob", 1, 3),
                          Say("hub-ended-in-wave", 3, 1, 3),
                          Say("hub-cancelled-kept-it", kRun)));
  EXPECT_EQ(saved().back().outcome(), ApplyReport::CANCELLED);
  EXPECT_THAT(Story(), ElementsAre("1 of 3 begins: a b", "bob in 1 of 3",
                                   "1 of 3: 2 applied"));
}

TEST_F(ApplyRunCancelTest, IsKeptAtOnceWithEveryLaterHostAsNotStarted) {
  ASSERT_TRUE(Start(Order(3, 1)).ok());
  Answer("a", ApplyResult::APPLIED);
  ASSERT_TRUE(run_->Cancel("bob").ok());
  const ApplyReport kept = saved().back();
  EXPECT_THAT(kept, HasFields(R"(
      outcome: RUNNING cancelled { actor: "bob" wave: 2 })"));
  EXPECT_EQ(Outcomes(kept), "APPLIED RUNNING NOT_STARTED");
}

TEST_F(ApplyRunCancelTest, HoldsAlsoWhenItCannotBeKept) {
  ASSERT_TRUE(Start(Order(2, 1)).ok());
  DiskIsFull();
  EXPECT_TRUE(run_->Cancel("bob").ok());
  EXPECT_THAT(log_.Lines(),
              HasSubstr(absl::StrCat("is cancelled is not kept: ", kFull)));
  Answer("a", ApplyResult::APPLIED);
  EXPECT_EQ(TasksOf("b"), 0u);
  EXPECT_EQ(Report().outcome(), ApplyReport::CANCELLED);
}

TEST_F(ApplyRunCancelTest, SecondCancelNamesTheFirst) {
  ASSERT_TRUE(Start(Order(2, 1)).ok());
  ASSERT_TRUE(run_->Cancel("bob").ok());
  const auto second = run_->Cancel("carol").value();
  EXPECT_EQ(second.cancelled().actor(), "bob");
  EXPECT_THAT(Story(), ElementsAre("1 of 2 begins: a", "bob in 1 of 2"));
}

TEST_F(ApplyRunCancelTest, InTheLastWaveLeavesNothingOut) {
  ASSERT_TRUE(Start(Order(2, 2)).ok());
  ASSERT_TRUE(run_->Cancel("bob").ok());
  Answer("a", ApplyResult::APPLIED);
  Answer("b", ApplyResult::APPLIED);
  const ApplyReport report = Report();
  EXPECT_EQ(report.outcome(), ApplyReport::SUCCEEDED);
  EXPECT_EQ(report.cancelled().actor(), "bob");
  EXPECT_THAT(report.notes(),
              ElementsAre(Say("hub-cancelled-in-last-wave", "bob", 1, 1)));
}

TEST_F(ApplyRunCancelTest, WaveThatFailsIsStillTheReason) {
  ASSERT_TRUE(Start(Order(2, 1)).ok());
  ASSERT_TRUE(run_->Cancel("bob").ok());
  Answer("a", ApplyResult::UNDONE, "step 1: no effect");
  EXPECT_EQ(Report().outcome(), ApplyReport::STOPPED);
  EXPECT_EQ(Report().hosts(1).error(), "an earlier wave failed");
}

TEST_F(ApplyRunCancelTest, EndsARollbackThatFailuresDoNotEnd) {
  ASSERT_TRUE(Start(Order(2, 1, /*rollback=*/true)).ok());
  ASSERT_TRUE(run_->Cancel("bob").ok());
  Answer("a", ApplyResult::ROLLED_BACK_WITH_RESIDUES);
  EXPECT_EQ(TasksOf("b"), 0u);
  EXPECT_EQ(Report().outcome(), ApplyReport::CANCELLED);
  EXPECT_EQ(Report().hosts(1).outcome(), ApplyResult::NOT_STARTED);
  EXPECT_EQ(Report().hosts(1).error(),
            Say("hub-cancelled-after-wave", "bob", 1));
}

TEST_F(ApplyRunCancelTest, LostHostOfTheWaveIsStillWaitedFor) {
  ASSERT_TRUE(Start(Order(2, 1)).ok());
  ASSERT_TRUE(run_->Cancel("bob").ok());
  Lose("a");
  EXPECT_FALSE(ended());
  Attach("a");
  ASSERT_TRUE(Tell("a", ResultOf(ApplyResult::APPLIED)));
  pool_.Drain();
  EXPECT_EQ(Report().outcome(), ApplyReport::CANCELLED);
  EXPECT_EQ(Outcomes(Report()), "APPLIED NOT_STARTED");
}

TEST_F(ApplyRunCancelTest, ComesTooLateForARunThatIsOver) {
  ASSERT_TRUE(Start(Order(1, 1)).ok());
  Answer("a", ApplyResult::APPLIED);
  EXPECT_TRUE(absl::IsFailedPrecondition(run_->Cancel("bob").status()));
  EXPECT_FALSE(run_->report().has_cancelled());
}

TEST_F(ApplyRunCancelTest, ControllerThatStopsKeepsWhoCancelled) {
  ASSERT_TRUE(Start(Order(2, 1)).ok());
  ASSERT_TRUE(run_->Cancel("bob").ok());
  EXPECT_TRUE(run_->Stop());
  const ApplyReport kept = saved().back();
  EXPECT_EQ(kept.outcome(), ApplyReport::INTERRUPTED);
  EXPECT_EQ(kept.cancelled().actor(), "bob");
  EXPECT_EQ(kept.hosts(1).outcome(), ApplyResult::NOT_STARTED);
  EXPECT_EQ(kept.hosts(1).error(), Say("hub-cancelled-after-wave", "bob", 1));
  EXPECT_TRUE(absl::IsUnavailable(run_->Cancel("carol").status()));
}

TEST_F(ApplyRunCancelTest, CanaryGoesFirstAndAlone) {
  ApplyOrder order = Order(4, 2);
  order.report.set_canary(1);
  ASSERT_TRUE(Start(std::move(order)).ok());
  EXPECT_EQ(TasksOf("a"), 1u);
  EXPECT_EQ(TasksOf("b"), 0u);
  Answer("a", ApplyResult::APPLIED);
  EXPECT_EQ(TasksOf("b"), 1u);
  EXPECT_EQ(TasksOf("c"), 1u);
  EXPECT_EQ(TasksOf("d"), 0u);
  Answer("b", ApplyResult::APPLIED);
  Answer("c", ApplyResult::NOTHING_TO_DO);
  Answer("d", ApplyResult::APPLIED);
  EXPECT_EQ(Report().outcome(), ApplyReport::SUCCEEDED);
  EXPECT_THAT(Story(), ElementsAre("1 of 3 begins: a", "1 of 3: 1 applied",
                                   "2 of 3 begins: b c",
                                   absl::StrCat("2 of 3: 1 applied, 1 ",
                                                Say("hub-with-nothing-to-do")),
                                   "3 of 3 begins: d", "3 of 3: 1 applied"));
}

TEST_F(ApplyRunCancelTest, CanaryThatFailsLeavesAllOthersAlone) {
  ApplyOrder order = Order(3, 2);
  order.report.set_canary(1);
  ASSERT_TRUE(Start(std::move(order)).ok());
  Answer("a", ApplyResult::UNDONE, "step 1: no effect");
  EXPECT_EQ(TasksOf("b"), 0u);
  EXPECT_EQ(Report().outcome(), ApplyReport::STOPPED);
  EXPECT_THAT(Story(), ElementsAre("1 of 2 begins: a", "1 of 2: 1 undone"));
}

}  // namespace
}  // namespace clusterd
