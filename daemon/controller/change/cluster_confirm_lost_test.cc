// Applies that wait to be confirmed while hosts or the controller come and go.
#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/controller/history/history_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/controller/cluster_confirm_fixture.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(ClusterConfirmTest, CanStillBeConfirmedIfItsRollbackCouldNotBegin) {
  const std::string folder = NewStateFolder();
  changes_.reset();
  history_ = OpenStore(folder);
  history_.reset();
  {
    const auto file =
        SqliteDatabase::Open(absl::StrCat(folder, "/", kHistoryFile));
    ASSERT_TRUE(file.ok()) << file.status();
    const std::string no_room = absl::StrCat(
        "CREATE TRIGGER no_room BEFORE INSERT ON entry WHEN NEW.kind = ",
        HISTORY_ROLLBACK, " BEGIN SELECT RAISE(ABORT, 'no room'); END");
    ASSERT_TRUE((*file)->Execute(no_room.c_str()).ok());
  }
  history_ = OpenStore(folder);
  StartController();
  ApplyOn(1);
  AnswerFacts(0);
  const auto rollback = RollBack(id_);
  ASSERT_THAT(std::string(rollback.status().message()), HasSubstr("no room"));
  EXPECT_THAT(changes_->Pending(), SizeIs(1));
  Confirm();
  EXPECT_TRUE(IsToldToKeep(0));
  changes_.reset();
}

TEST_F(ClusterConfirmTest, KeepsNowhereInTheNextControllerWhatIsRolledBack) {
  ApplyOn(2);
  AnswerFacts(0);
  AnswerFacts(1);
  Lose(1);
  Confirm();
  AnswerApplied(0, 0);
  ASSERT_TRUE(RollBack(id_).ok());
  const auto killed = std::move(changes_);
  StartController();
  EXPECT_THAT(changes_->Pending(), IsEmpty());
  Attach("server1");
  TellWaits(1, 200000);
  Pass(kPendingLook);
  EXPECT_TRUE(links_["server1"]->tasks().empty());
}

TEST_F(ClusterConfirmTest, SaysWhichHostWasNotToldInTime) {
  ApplyOn(2);
  AnswerFacts(0);
  AnswerFacts(1);
  Lose(1);
  Confirm();
  AnswerApplied(0, 0);
  Pass(absl::Milliseconds(kWithinMs));
  Attach("server1");
  TellWentBack(1);
  EXPECT_THAT(changes_->Pending(), IsEmpty());
  const ApplyReport kept = Kept(id_);
  EXPECT_EQ(kept.confirmation().state(), Confirmation::CONFIRMED);
  EXPECT_THAT(kept.confirmation().untold(), ElementsAre("server1"));
  EXPECT_EQ(kept.hosts(0).outcome(), ApplyResult::APPLIED);
  EXPECT_EQ(kept.hosts(1).outcome(), ApplyResult::ROLLED_BACK);
  changes_->Stop();
  StartController();
  pool_.Drain();
  EXPECT_THAT(changes_->Pending(), IsEmpty());
  EXPECT_THAT(Kept(id_).confirmation().untold(), ElementsAre("server1"));
}

TEST_F(ClusterConfirmTest, TellsAHostThatWasLostInTheRunOnceItSaysItHasIt) {
  ApplyAndLoseOne();
  Pass(absl::Seconds(30));
  ASSERT_EQ(KeptOutcome(id_, 1), ApplyResult::LOST);
  AnswerFacts(0);
  Confirm();
  AnswerApplied(0, 0);
  ASSERT_TRUE(answer_.has_value() && answer_->ok());
  EXPECT_THAT((*answer_)->confirmation().untold(), ElementsAre("server1"));
  changes_->Stop();
  StartController();
  EXPECT_THAT(changes_->Pending(), SizeIs(1));
  Attach("server1");
  TellWaits(1, 200000);
  ASSERT_TRUE(IsToldToKeep(1));
  AnswerApplied(1, 0);
  EXPECT_THAT(Kept(id_).confirmation().untold(), IsEmpty());
  EXPECT_THAT(changes_->Pending(), IsEmpty());
}

TEST_F(ClusterConfirmTest, WaitsForNoLostHostThatSaysItHasNothing) {
  ApplyAndLoseOne();
  Pass(absl::Seconds(30));
  AnswerFacts(0);
  Confirm();
  AnswerApplied(0, 0);
  EXPECT_THAT(changes_->Pending(), SizeIs(1));
  Attach("server1");
  PastApplies nothing;
  nothing.set_knows_all(true);
  changes_->OnPastApplies("server1", nothing);
  pool_.Drain();
  EXPECT_THAT(changes_->Pending(), IsEmpty());
  EXPECT_THAT(Kept(id_).confirmation().untold(), IsEmpty());
}

TEST_F(ClusterConfirmTest, ChecksAlsoAHostThatComesAfterTheCheckHasPassed) {
  ApplyAndLoseOne();
  Pass(absl::Seconds(30));
  AnswerFacts(0);
  ASSERT_TRUE(Shown().check_passed());
  Attach("server1");
  TellWaits(1, 200000);
  EXPECT_FALSE(Shown().check_passed());
  Confirm();
  EXPECT_FALSE(IsToldToKeep(0));
  AnswerFacts(0);
  AnswerFacts(1, /*somaxconn=*/1);
  EXPECT_FALSE(IsToldToKeep(0));
  EXPECT_THAT(Shown().waits_for(), HasSubstr(" on server1 ("));
}

TEST_F(ClusterConfirmTest, ChecksAlsoAHostThatComesWhileItIsChecked) {
  ApplyAndLoseOne();
  Pass(absl::Seconds(30));
  ASSERT_TRUE(NewestTask(0).has_observe());
  Attach("server1");
  TellWaits(1, 200000);
  Confirm();
  AnswerFacts(0);
  EXPECT_FALSE(IsToldToKeep(0));
  AnswerFacts(0);
  AnswerFacts(1);
  EXPECT_TRUE(IsToldToKeep(0));
  EXPECT_TRUE(IsToldToKeep(1));
}

TEST_F(ClusterConfirmTest, GoesOnInTheNextControllerWhatTheLastHadConfirmed) {
  ApplyOn(2);
  AnswerFacts(0);
  AnswerFacts(1);
  Lose(1);
  Confirm();
  AnswerApplied(0, 0);
  changes_->Stop();
  StartController();
  EXPECT_THAT(changes_->Pending(), SizeIs(1));
  Attach("server1");
  Pass(kPendingLook);
  ASSERT_TRUE(IsToldToKeep(1));
  EXPECT_EQ(NewestTask(1).confirm().actor(), "bob");
  EXPECT_FALSE(NewestTask(0).has_apply());
  AnswerApplied(1, 0);
  EXPECT_EQ(Kept(id_).confirmation().state(), Confirmation::CONFIRMED);
  EXPECT_THAT(changes_->Pending(), IsEmpty());
}

TEST_F(ClusterConfirmTest, GoesOnInTheNextControllerBeforeItsCheck) {
  ApplyOn(1, /*automatic=*/true);
  const auto killed = std::move(changes_);
  StartController();
  pool_.Drain();
  EXPECT_EQ(Apply(MakePlan(1)).status().code(), absl::StatusCode::kUnavailable);
  Pass(kPendingLook);
  AnswerFacts(0);
  ASSERT_TRUE(IsToldToKeep(0));
  AnswerApplied(0, 0);
  EXPECT_EQ(Kept(id_).confirmation().state(), Confirmation::CONFIRMED);
}

TEST_F(ClusterConfirmTest, KilledInTheRunItWaitsForAPersonWithWhoeverHasIt) {
  Attach("server0");
  ASSERT_TRUE(history_->Add(RecordOfPlan(MakePlan(1), 0)).ok());
  ChangeRequest request = By("alice");
  request.confirm_within = absl::Milliseconds(kWithinMs);
  request.auto_confirm = true;
  const auto run = Apply(MakePlan(1), request);
  ASSERT_TRUE(run.ok()) << run.status();
  id_ = (*run)->run_id();
  const auto killed = std::move(changes_);
  StartController();
  TellWaits(0, 200000);
  EXPECT_EQ(Kept(id_).hosts(0).goes_back_in_ms(), 200000u);
  AnswerFacts(0);
  EXPECT_FALSE(IsToldToKeep(0));
  EXPECT_FALSE(Shown().automatic());
  Confirm();
  EXPECT_TRUE(IsToldToKeep(0));
}

TEST_F(ClusterConfirmTest, KnowsTheDeadlineOfAHostThatCameBackDuringTheRun) {
  ApplyAndLoseOne();
  Attach("server1");
  TellWaits(1, 200000);
  const ApplyReport report = Kept(id_);
  EXPECT_EQ(report.outcome(), ApplyReport::SUCCEEDED);
  EXPECT_EQ(report.hosts(1).goes_back_in_ms(), 200000u);
  EXPECT_EQ(report.confirmation().state(), Confirmation::PENDING);
  EXPECT_EQ(report.confirmation().deadline_ms(),
            absl::ToUnixMillis(scheduler_.Now()) + 200000);
  AnswerFacts(0);
  AnswerFacts(1);
  Confirm();
  EXPECT_TRUE(IsToldToKeep(0));
  EXPECT_TRUE(IsToldToKeep(1));
}

TEST_F(ClusterConfirmTest, AsksNoHostThatIsBackWithAnOlderClusterdByItsWave) {
  Attach("server0");
  Attach("server1");
  ChangeRequest request = By("alice");
  request.confirm_within = absl::Milliseconds(kWithinMs);
  request.wave_size = 1;
  const auto run = Apply(MakePlan(2), request);
  ASSERT_TRUE(run.ok()) << run.status();
  id_ = (*run)->run_id();
  Lose(1);
  knows_confirm_ = false;
  Attach("server1");
  AnswerApplied(0, kWithinMs);
  EXPECT_TRUE(links_["server1"]->tasks().empty());
  EXPECT_EQ(KeptOutcome(id_, 1), ApplyResult::REFUSED);
  EXPECT_THAT(Kept(id_).hosts(1).error(),
              HasSubstr("does not know the task confirm"));
}

}  // namespace
}  // namespace clusterd
