// Applies that wait to be confirmed while hosts or the controller come and go.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/controller/history/history_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/controller/cluster_confirm_fixture.h"
#include "tests/support/wait/telling.h"

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
        SqliteDatabase::Open(absl::StrCat(folder, "/", kHistoryFile)).value();
    const std::string disk_full = absl::StrCat(
        "CREATE TRIGGER disk_full BEFORE INSERT ON entry WHEN NEW.kind = ",
        HISTORY_ROLLBACK, " BEGIN SELECT RAISE(ABORT, 'no room'); END");
    ASSERT_TRUE(file->Execute(disk_full.c_str()).ok());
  }
  history_ = OpenStore(folder);
  StartController();
  ApplyOn(1);
  AnswerFacts(0);
  const auto rollback = RollBack(id_);
  ASSERT_THAT(std::string(rollback.status().message()), HasSubstr("no room"));
  EXPECT_THAT(changes_->Pending(), SizeIs(1));
  Confirm();
  EXPECT_TRUE(IsAskedToKeep(0));
  changes_.reset();
}

// A confirmed apply that one of its two hosts does not know.
class PendingHostsTest : public ClusterConfirmTest {
 protected:
  PendingHostsTest() {
    ApplyOn(2);
    AnswerFacts(0);
    AnswerFacts(1);
    Lose(1);
    Confirm();
    AnswerApplied(0, 0);
  }
};

TEST_F(PendingHostsTest, KeepsNowhereInTheNextControllerWhatIsRolledBack) {
  ASSERT_TRUE(RollBack(id_).ok());
  const auto killed = std::move(changes_);
  StartController();
  EXPECT_THAT(changes_->Pending(), IsEmpty());
  Attach("server1");
  TellWaits(1, 200000);
  Pass(kPendingRound);
  EXPECT_TRUE(links_["server1"]->tasks().empty());
}

TEST_F(PendingHostsTest, NamesTheHostThatWasNotNotifiedInTime) {
  EXPECT_FALSE(Kept(id_).confirmation().deadlines_passed());
  Pass(absl::Milliseconds(kWithinMs));
  EXPECT_TRUE(Kept(id_).confirmation().deadlines_passed());
  EXPECT_THAT(Kept(id_).confirmation().pending(), ElementsAre("server1"));
  Attach("server1");
  ReportReverted(1);
  EXPECT_THAT(changes_->Pending(), IsEmpty());
  const ApplyReport kept = Kept(id_);
  EXPECT_EQ(kept.confirmation().state(), Confirmation::CONFIRMED);
  EXPECT_THAT(kept.confirmation().pending(), IsEmpty());
  EXPECT_EQ(kept.hosts(0).outcome(), ApplyResult::APPLIED);
  EXPECT_EQ(kept.hosts(1).outcome(), ApplyResult::ROLLED_BACK);
  changes_->Stop();
  StartController();
  pool_.Drain();
  EXPECT_THAT(changes_->Pending(), IsEmpty());
  EXPECT_THAT(Kept(id_).confirmation().pending(), IsEmpty());
}

TEST_F(PendingHostsTest, ForgetsTheHostThatRevertsAfterTheEnd) {
  Pass(absl::Milliseconds(kWithinMs) + kRevertGrace + kPendingRound);
  ASSERT_THAT(changes_->Pending(), IsEmpty());
  EXPECT_TRUE(Kept(id_).confirmation().deadlines_passed());
  Attach("server1");
  ReportReverted(1);
  EXPECT_EQ(KeptOutcome(id_, 1), ApplyResult::ROLLED_BACK);
  EXPECT_THAT(Kept(id_).confirmation().pending(), IsEmpty());
}

TEST_F(ClusterConfirmTest, TellsAHostThatWasLostInTheRunOnceItSaysItHasIt) {
  ApplyAndLoseOne();
  Pass(absl::Seconds(30));
  ASSERT_EQ(KeptOutcome(id_, 1), ApplyResult::LOST);
  AnswerFacts(0);
  Confirm();
  AnswerApplied(0, 0);
  ASSERT_TRUE(answer_.has_value() && answer_->ok());
  EXPECT_THAT((*answer_)->confirmation().pending(), ElementsAre("server1"));
  changes_->Stop();
  StartController();
  EXPECT_THAT(changes_->Pending(), SizeIs(1));
  Attach("server1");
  TellWaits(1, 200000);
  ASSERT_TRUE(IsAskedToKeep(1));
  AnswerApplied(1, 0);
  EXPECT_THAT(Kept(id_).confirmation().pending(), IsEmpty());
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
  EXPECT_THAT(Kept(id_).confirmation().pending(), IsEmpty());
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
  EXPECT_FALSE(IsAskedToKeep(0));
  AnswerFacts(0);
  AnswerFacts(1, /*somaxconn=*/1);
  EXPECT_FALSE(IsAskedToKeep(0));
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
  EXPECT_FALSE(IsAskedToKeep(0));
  AnswerAllFacts(2);
  EXPECT_TRUE(IsAskedToKeep(0));
  EXPECT_TRUE(IsAskedToKeep(1));
}

TEST_F(PendingHostsTest, GoesOnInTheNextControllerWhatTheLastHadConfirmed) {
  changes_->Stop();
  StartController();
  EXPECT_THAT(changes_->Pending(), SizeIs(1));
  Attach("server1");
  Pass(kPendingRound);
  ASSERT_TRUE(IsAskedToKeep(1));
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
  Pass(kPendingRound);
  AnswerFacts(0);
  ASSERT_TRUE(IsAskedToKeep(0));
  AnswerApplied(0, 0);
  EXPECT_EQ(Kept(id_).confirmation().state(), Confirmation::CONFIRMED);
}

TEST_F(ClusterConfirmTest, KilledInTheRunItWaitsForAPersonWithWhoeverHasIt) {
  Attach("server0");
  ASSERT_TRUE(history_->Add(RecordOfPlan(MakePlan(1), 0)).ok());
  id_ = Begin(MakePlan(1), "confirm_within_ms: 300000 auto_confirm: true");
  const auto killed = std::move(changes_);
  StartController();
  TellWaits(0, 200000);
  EXPECT_EQ(Kept(id_).hosts(0).reverts_in_ms(), 200000u);
  AnswerFacts(0);
  EXPECT_FALSE(IsAskedToKeep(0));
  EXPECT_FALSE(Shown().automatic());
  Confirm();
  EXPECT_TRUE(IsAskedToKeep(0));
}

TEST_F(ClusterConfirmTest, KnowsTheDeadlineOfAHostThatCameBackDuringTheRun) {
  ApplyAndLoseOne();
  Attach("server1");
  TellWaits(1, 290000);
  const ApplyReport report = Kept(id_);
  EXPECT_EQ(report.outcome(), ApplyReport::SUCCEEDED);
  EXPECT_EQ(report.hosts(1).reverts_in_ms(), 290000u);
  EXPECT_EQ(report.confirmation().state(), Confirmation::PENDING);
  EXPECT_EQ(report.confirmation().deadline_ms(),
            absl::ToUnixMillis(scheduler_.Now()) + 290000);
  AnswerAllFacts(2);
  Confirm();
  EXPECT_TRUE(IsAskedToKeep(0));
  EXPECT_TRUE(IsAskedToKeep(1));
}

TEST_F(PendingHostsTest, HoldsUpNoApplyOfOtherHosts) {
  Pass(absl::Seconds(1));
  Attach("server1");
  const absl::Status refused = Apply(MakePlan(2), By("carol")).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(),
              Tells("msg-change-not-notified", kAny, "server1"));
  ChangeRequest request = By("carol");
  request.options.set_confirm_within_ms(600000);
  const auto run = Apply(MakePlan(1), request).value();
  const std::string first = std::exchange(id_, run->run_id());
  AnswerApplied(0, 600000);
  EXPECT_THAT(changes_->Pending(), SizeIs(2));
  // The apply that waits for a person blocks all others.
  EXPECT_EQ(Apply(MakePlan(1)).status().code(), absl::StatusCode::kUnavailable);
  id_ = first;
  Pass(kPendingRound);
  ASSERT_TRUE(IsAskedToKeep(1));
  AnswerApplied(1, 0);
  EXPECT_THAT(Kept(first).confirmation().pending(), IsEmpty());
  id_ = run->run_id();
  EXPECT_THAT(changes_->Pending(), SizeIs(1));
  EXPECT_EQ(changes_->Pending()[0].run_id(), id_);
  AnswerFacts(0);
  Confirm();
  EXPECT_TRUE(IsAskedToKeep(0));
}

TEST_F(PendingHostsTest, HostIsNotifiedByTheNextControllerBehindNewerApplies) {
  Pass(absl::Seconds(1));
  ASSERT_TRUE(Apply(MakePlan(1)).ok());
  Answer("server0", ApplyResult::APPLIED);
  changes_->Stop();
  StartController();
  pool_.Drain();
  EXPECT_THAT(changes_->Pending(), SizeIs(1));
  Attach("server1");
  Pass(kPendingRound);
  ASSERT_TRUE(IsAskedToKeep(1));
  AnswerApplied(1, 0);
  EXPECT_THAT(changes_->Pending(), IsEmpty());
  EXPECT_THAT(Kept(id_).confirmation().pending(), IsEmpty());
}

TEST_F(ClusterConfirmTest, KeepsOnlySoManyWithPendingHosts) {
  constexpr int kMost = static_cast<int>(kMaxPendingChanges);
  StartControllerOf(kMost + 1);
  const auto apply_on = [this](int host, uint32_t within_ms) {
    ClusterPlan plan = MakePlan(1);
    plan.mutable_hosts()->DeleteSubrange(1, 2);
    plan.mutable_hosts(0)->set_host(absl::StrCat("server", host));
    plan.set_digest(PlanDigest(plan));
    ChangeRequest request = By("alice");
    request.options.set_confirm_within_ms(within_ms);
    return Apply(plan, request);
  };
  for (int host = 0; host < kMost; ++host) {
    Attach(absl::StrCat("server", host));
    const auto run = apply_on(host, kWithinMs).value();
    id_ = run->run_id();
    AnswerApplied(host, kWithinMs);
    AnswerFacts(host);
    Lose(host);
    Confirm();
  }
  EXPECT_THAT(changes_->Pending(), SizeIs(kMaxPendingChanges));
  Attach(absl::StrCat("server", kMost));
  const absl::Status refused = apply_on(kMost, kWithinMs).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr(absl::StrCat("at most ", kMost, " applies may be so")));
  EXPECT_TRUE(apply_on(kMost, 0).ok());
}

TEST_F(ClusterConfirmTest, AsksNoHostThatIsBackWithAnOlderClusterdByItsWave) {
  Attach("server0");
  Attach("server1");
  id_ = Begin(MakePlan(2), "confirm_within_ms: 300000 wave_size: 1");
  Lose(1);
  knows_confirm_ = false;
  Attach("server1");
  AnswerApplied(0, kWithinMs);
  EXPECT_TRUE(links_["server1"]->tasks().empty());
  EXPECT_EQ(KeptOutcome(id_, 1), ApplyResult::REFUSED);
  EXPECT_THAT(Kept(id_).hosts(1).error(), Tells("msg-hub-clusterd-too-old"));
}

// Hosts that lie about when they revert, or whether they have.
TEST_F(ClusterConfirmTest, WordOfOneHostPutsOffNoDeadlineOfOthers) {
  ApplyAndLoseOne();
  Pass(absl::Seconds(30));
  Attach("server1");
  TellWaits(1, 0xffffffff);
  TellWaits(1, 0xffffffff);
  EXPECT_THAT(log_.Lines(), HasSubstr("host server1 says that it rolls back"));
  Pass(absl::Milliseconds(kWithinMs));
  Pass(kRevertGrace);
  EXPECT_THAT(changes_->Pending(), IsEmpty());
  EXPECT_TRUE(Apply(MakePlan(1)).ok());
}

TEST_F(ClusterConfirmTest, WordOfOneHostBringsNoDeadlineOfOthersForward) {
  ApplyAndLoseOne();
  Pass(absl::Seconds(30));
  const int64_t before = Shown().deadline_ms();
  Attach("server1");
  TellWaits(1, 1);
  EXPECT_EQ(Shown().deadline_ms(), before);
  Pass(absl::Seconds(5));
  EXPECT_EQ(Shown().state(), Confirmation::PENDING);
  // An answer during the run does not count either.
  const auto rollback = RollBack(id_).value();
  Answer("server0", ApplyResult::ROLLED_BACK);
  Answer("server1", ApplyResult::ROLLED_BACK);
  id_.clear();
  id_ = Begin(MakePlan(2), "confirm_within_ms: 300000");
  AnswerApplied(0, 1);
  AnswerApplied(1, 0xffffffff);
  const ApplyReport kept = Kept(id_);
  EXPECT_EQ(kept.outcome(), ApplyReport::SUCCEEDED);
  EXPECT_EQ(kept.confirmation().deadline_ms(),
            absl::ToUnixMillis(scheduler_.Now() - kRevertGrace) + kWithinMs);
  EXPECT_EQ(kept.hosts(1).reverts_in_ms(), kWithinMs);
}

TEST_F(ClusterConfirmTest, HostThatReportsARevertIsLeftOutAlone) {
  ApplyOn(3);
  ReportReverted(2);
  EXPECT_EQ(Shown().state(), Confirmation::PENDING);
  // The others are checked without it, though it owes an answer.
  AnswerAllFacts(2);
  EXPECT_TRUE(Shown().check_passed());
  Confirm();
  EXPECT_TRUE(IsAskedToKeep(0));
  EXPECT_TRUE(IsAskedToKeep(1));
  EXPECT_FALSE(IsAskedToKeep(2));
  AnswerApplied(0, 0);
  AnswerApplied(1, 0);
  const ApplyReport kept = Kept(id_);
  EXPECT_EQ(kept.confirmation().state(), Confirmation::CONFIRMED);
  EXPECT_THAT(kept.confirmation().pending(), IsEmpty());
  EXPECT_EQ(kept.hosts(0).outcome(), ApplyResult::APPLIED);
  EXPECT_EQ(kept.hosts(2).outcome(), ApplyResult::ROLLED_BACK);
}

TEST_F(ClusterConfirmTest, RevertingApplyBlocksOnlyHostsThatMayRevert) {
  ApplyOn(2);
  Pass(absl::Milliseconds(kWithinMs));
  ASSERT_EQ(Shown().state(), Confirmation::REVERTING);
  ReportReverted(0);
  const absl::Status refused = Apply(MakePlan(2), By("carol")).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(),
              Tells("msg-change-rolls-back", kAny, "server1"));
  EXPECT_TRUE(Apply(MakePlan(1), By("carol")).ok());
}

}  // namespace
}  // namespace clusterd
