// Applies that roll back automatically unless they are confirmed.
#include <memory>

#include "absl/strings/str_cat.h"
#include "config/plan/make_plan.h"
#include "config/words/words.h"
#include "daemon/controller/change/cluster_changes.h"
#include "daemon/controller/history/history_entry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/plan_steps.h"
#include "tests/support/controller/cluster_confirm_fixture.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(ClusterConfirmTest, ConfirmsByItselfOnceItsHostsAreBackAndPass) {
  ApplyOn(2, /*automatic=*/true);
  EXPECT_EQ(Kept(id_).outcome(), ApplyReport::SUCCEEDED);
  EXPECT_EQ(Shown().state(), Confirmation::PENDING);
  EXPECT_EQ(Shown().deadline_ms(),
            absl::ToUnixMillis(scheduler_.Now()) + kWithinMs);
  AnswerFacts(0);
  EXPECT_FALSE(IsAskedToKeep(0));
  AnswerFacts(1);
  ASSERT_TRUE(IsAskedToKeep(0));
  ASSERT_TRUE(IsAskedToKeep(1));
  EXPECT_EQ(NewestTask(0).confirm().actor(), "spiffe://test/controller");
  AnswerApplied(0, 0);
  AnswerApplied(1, 0);
  const Confirmation kept = Kept(id_).confirmation();
  EXPECT_EQ(kept.state(), Confirmation::CONFIRMED);
  EXPECT_TRUE(kept.check_passed());
  EXPECT_THAT(kept.pending(), IsEmpty());
  const auto check = history_->Get(kept.check_run_id()).value();
  EXPECT_EQ(check.entry().kind(), HISTORY_CHECK);
  EXPECT_THAT(changes_->Pending(), IsEmpty());
  EXPECT_EQ(scheduler_.pending(), 0);
  // Another run may begin.
  EXPECT_TRUE(Apply(MakePlan(2)).ok());
}

// Otherwise it would bring the drift back, and block all others meanwhile.
TEST_F(ClusterConfirmTest, HasNoNetForWhatTheControllerPutsBack) {
  Attach("server0");
  ClusterPlan plan = MakePlan(1);
  // A kind of step that has to be confirmed by default.
  *plan.mutable_hosts(0)->mutable_steps(0) = StopStep(UFW);
  plan.mutable_hosts(0)->mutable_steps(0)->set_id(1);
  plan.clear_plan_id();
  plan.set_digest(PlanDigest(plan));
  const auto run =
      Apply(plan, EnforcedChange(std::make_shared<const ClusterPlan>(plan)))
          .value();
  id_ = run->run_id();
  ASSERT_TRUE(NewestTask(0).has_apply());
  EXPECT_EQ(NewestTask(0).apply().confirm_within_ms(), 0u);
  AnswerApplied(0, 0);
  const ApplyReport kept = Kept(id_);
  EXPECT_TRUE(kept.enforced());
  EXPECT_EQ(kept.actor(), "spiffe://test/controller");
  EXPECT_FALSE(kept.has_confirmation());
  EXPECT_THAT(changes_->Pending(), IsEmpty());
  EXPECT_TRUE(Apply(MakePlan(1)).ok());
}

TEST_F(ClusterConfirmTest, WaitsForAPersonWhereNobodySaidOtherwise) {
  ApplyOn(1);
  AnswerFacts(0);
  Pass(absl::Minutes(1));
  EXPECT_FALSE(IsAskedToKeep(0));
  EXPECT_EQ(Shown().waits_for(), "a person") << "clusterctl adds the command";
  Confirm();
  ASSERT_TRUE(IsAskedToKeep(0));
  EXPECT_EQ(NewestTask(0).confirm().actor(), "bob");
  EXPECT_FALSE(answer_.has_value());
  AnswerApplied(0, 0);
  ASSERT_TRUE(answer_.has_value() && answer_->ok());
  EXPECT_EQ((*answer_)->run_id(), id_);
  EXPECT_EQ((*answer_)->schema_version(), 1u);
  EXPECT_EQ((*answer_)->confirmation().state(), Confirmation::CONFIRMED);
  EXPECT_EQ(Kept(id_).confirmation().confirmed_by(), "bob");
  Confirm();
  EXPECT_THAT(answer_->status().message(),
              Tells("msg-change-does-not-wait", kAny,
                    Worded("apply-confirmed", "bob")));
}

TEST_F(ClusterConfirmTest, ConfirmsNothingWhoseCheckFailsWhateverAPersonSays) {
  ApplyOn(1);
  AnswerFacts(0, /*somaxconn=*/1);
  Confirm();
  EXPECT_FALSE(IsAskedToKeep(0));
  ASSERT_TRUE(answer_.has_value() && answer_->ok());
  EXPECT_EQ((*answer_)->confirmation().state(), Confirmation::PENDING);
  EXPECT_THAT(Rendered(**answer_).confirmation().waits_for(),
              Tells("hub-waits-check-failed",
                    Worded("hub-rule-on", kAny, "server0", kAny)));
  AnswerFacts(0, /*somaxconn=*/1);
  // The check runs again, and the earlier confirmation counts then.
  Pass(kFirstCheckWait + kPendingRound);
  AnswerFacts(0);
  EXPECT_TRUE(IsAskedToKeep(0));
}

TEST_F(ClusterConfirmTest, ChecksAtOnceAConfirmationAfterAFix) {
  ApplyOn(1);
  AnswerFacts(0, /*somaxconn=*/1);
  Confirm();
  AnswerFacts(0);
  EXPECT_TRUE(IsAskedToKeep(0));
}

TEST_F(ClusterConfirmTest, ChecksAtOnceWhatIsGivenMoreTime) {
  ApplyOn(1, /*automatic=*/true);
  AnswerFacts(0, /*somaxconn=*/1);
  Extend(absl::Minutes(10));
  AnswerApplied(0, 900000);
  AnswerFacts(0);
  EXPECT_TRUE(IsAskedToKeep(0));
}

TEST_F(ClusterConfirmTest, ChecksOnceMoreShortlyBeforeItsDeadline) {
  ApplyOn(1, /*automatic=*/true);
  AnswerFacts(0, /*somaxconn=*/1);
  size_t asked = links_["server0"]->tasks().size();
  const absl::Time deadline = absl::FromUnixMillis(Shown().deadline_ms());
  absl::Time last_check;
  while (scheduler_.Now() + 2 * kPendingRound < deadline) {
    Pass(kPendingRound);
    if (links_["server0"]->tasks().size() == asked) continue;
    asked = links_["server0"]->tasks().size();
    last_check = scheduler_.Now();
    AnswerFacts(0, /*somaxconn=*/1);
  }
  EXPECT_GE(last_check, deadline - kFirstCheckWait);
}

TEST_F(ClusterConfirmTest, RevertsAtItsDeadlineAndUpdatesTheHistory) {
  ApplyOn(2);
  AnswerFacts(0, /*somaxconn=*/1);
  AnswerFacts(1);
  Pass(absl::Milliseconds(kWithinMs));
  EXPECT_EQ(Shown().state(), Confirmation::REVERTING);
  Confirm();
  EXPECT_EQ(answer_->status().code(), absl::StatusCode::kFailedPrecondition);
  ReportReverted(0);
  EXPECT_THAT(changes_->Pending(), SizeIs(1));
  ReportReverted(1);
  EXPECT_THAT(changes_->Pending(), IsEmpty());
  const ApplyReport kept = Kept(id_);
  EXPECT_EQ(kept.confirmation().state(), Confirmation::REVERTING);
  for (const ApplyResult& host : kept.hosts()) {
    EXPECT_EQ(host.outcome(), ApplyResult::ROLLED_BACK);
    EXPECT_TRUE(host.not_confirmed());
  }
  EXPECT_TRUE(Apply(MakePlan(2)).ok());
}

// An isolated host cannot report that it reverted.
TEST_F(ClusterConfirmTest, DoesNotWaitForeverForAnIsolatedHost) {
  ApplyOn(1, /*automatic=*/true);
  Lose(0);
  Pass(absl::Minutes(1));
  EXPECT_EQ(Shown().waits_for(), "server0 to attach again");
  Pass(absl::Minutes(4));
  Pass(kRevertGrace);
  EXPECT_THAT(changes_->Pending(), IsEmpty());
  EXPECT_EQ(Kept(id_).confirmation().state(), Confirmation::REVERTING);
  Attach("server0");
  ReportReverted(0);
  EXPECT_EQ(KeptOutcome(id_, 0), ApplyResult::ROLLED_BACK);
}

TEST_F(ClusterConfirmTest, OneAtATimeAndTheSecondGetsTheNameOfThePendingOne) {
  ApplyOn(1);
  const absl::Status second = Apply(MakePlan(1), By("carol")).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(second.message(), Tells("msg-change-waits-for-confirmation",
                                      Worded("hub-apply-of", id_, "alice")));
}

TEST_F(ClusterConfirmTest, MayBeRolledBackInstead) {
  ApplyOn(1);
  AnswerFacts(0);
  const auto rollback = RollBack(id_).value();
  EXPECT_THAT(changes_->Pending(), IsEmpty());
  Confirm();
  EXPECT_FALSE(answer_->ok());
  EXPECT_TRUE(NewestTask(0).has_rollback());
  Answer("server0", ApplyResult::ROLLED_BACK);
  EXPECT_EQ(Kept(id_).confirmation().state(), Confirmation::NOT_NEEDED);
  EXPECT_TRUE(Apply(MakePlan(1)).ok());
}

TEST_F(ClusterConfirmTest, TellsAHostThatWasAwayOnceItIsBack) {
  ApplyOn(2);
  AnswerAllFacts(2);
  Lose(1);
  Confirm();
  ASSERT_TRUE(IsAskedToKeep(0));
  AnswerApplied(0, 0);
  ASSERT_TRUE(answer_.has_value() && answer_->ok());
  EXPECT_THAT((*answer_)->confirmation().pending(), ElementsAre("server1"));
  EXPECT_THAT(Kept(id_).confirmation().pending(), ElementsAre("server1"));
  Attach("server1");
  Pass(kPendingRound);
  ASSERT_TRUE(IsAskedToKeep(1));
  AnswerApplied(1, 0);
  EXPECT_THAT(Kept(id_).confirmation().pending(), IsEmpty());
  EXPECT_THAT(changes_->Pending(), IsEmpty());
}

TEST_F(ClusterConfirmTest, AsksAHostThatCouldNotKeepItAgain) {
  ApplyOn(1, /*automatic=*/true);
  AnswerFacts(0);
  ASSERT_TRUE(IsAskedToKeep(0));
  AnswerRefused(0, "not in the journal, so it rolls back as before");
  EXPECT_THAT(log_.Lines(),
              HasSubstr("server0 was not notified that it stays: not "
                        "in the journal"));
  Pass(kPendingRound);
  ASSERT_TRUE(IsAskedToKeep(0));
  AnswerApplied(0, 0);
  EXPECT_THAT(changes_->Pending(), IsEmpty());
}

TEST_F(ClusterConfirmTest, FailedRunRevertsUnlessAPersonConfirmsIt) {
  Attach("server0");
  Attach("server1");
  id_ = Begin(MakePlan(2),
              "confirm_within_ms: 300000 auto_confirm: true canary: 1");
  AnswerApplied(0, kWithinMs);
  AnswerRefused(1, "a device is in use");
  const ApplyReport report = Kept(id_);
  EXPECT_EQ(report.outcome(), ApplyReport::STOPPED);
  EXPECT_FALSE(report.confirmation().automatic());
  AnswerFacts(0);
  EXPECT_FALSE(IsAskedToKeep(0));
  Confirm();
  EXPECT_TRUE(IsAskedToKeep(0));
}

TEST_F(ClusterConfirmTest, NeedsNoConfirmationWhereNoHostHadAnythingToDo) {
  Attach("server0");
  id_ = Begin(MakePlan(1), "confirm_within_ms: 300000");
  Answer("server0", ApplyResult::NOTHING_TO_DO);
  EXPECT_EQ(Kept(id_).confirmation().state(), Confirmation::NOT_NEEDED);
  EXPECT_THAT(changes_->Pending(), IsEmpty());
}

TEST_F(ClusterConfirmTest, GivesManyWavesMoreTimeByDefault) {
  constexpr int kHosts = 12;
  StartControllerOf(kHosts);
  ClusterPlan plan = MakePlan(0);
  plan.clear_hosts();
  for (int i = 0; i < kHosts; ++i) {
    Attach(absl::StrCat("server", i));
    HostPlan* const host = plan.add_hosts();
    host->set_host(absl::StrCat("server", i));
    *host->add_steps() = StopStep(UFW);
    host->mutable_steps(0)->set_id(1);
  }
  plan.set_digest(PlanDigest(plan));
  Begin(plan, "wave_size: 1");
  EXPECT_EQ(absl::Milliseconds(NewestTask(0).apply().confirm_within_ms()),
            kHosts * kDefaultConfirmPerWave);
}

// Waves one after the other, where the first host reverts too soon.
class SlowWavesTest : public ClusterConfirmTest {
 protected:
  SlowWavesTest() {
    for (const char* host : {"server0", "server1", "server2"}) Attach(host);
    id_ = Begin(MakePlan(3), "confirm_within_ms: 60000 wave_size: 1");
    // Its answer is late.
    Pass(absl::Seconds(59));
    AnswerApplied(0, 1000);
    Pass(absl::Seconds(1));
  }
};

TEST_F(SlowWavesTest, BeginsNoWaveOnceTheFirstHostIsDue) {
  AnswerApplied(1, 60000);
  EXPECT_EQ(Kept(id_).outcome(), ApplyReport::STOPPED);
  EXPECT_EQ(KeptOutcome(id_, 2), ApplyResult::NOT_STARTED);
  EXPECT_THAT(Kept(id_).notes(),
              testing::Contains(HasSubstr("a longer --confirm-within")));
}

TEST_F(SlowWavesTest, BeginsNoWaveOnceAHostHasReverted) {
  ReportReverted(0);
  AnswerApplied(1, 60000);
  EXPECT_EQ(Kept(id_).outcome(), ApplyReport::STOPPED);
  EXPECT_EQ(KeptOutcome(id_, 0), ApplyResult::ROLLED_BACK);
  EXPECT_EQ(KeptOutcome(id_, 2), ApplyResult::NOT_STARTED);
}

TEST_F(ClusterConfirmTest, ExtendsOnAllHosts) {
  ApplyOn(2);
  AnswerAllFacts(2);
  const int64_t before = Shown().deadline_ms();
  Extend(absl::Minutes(10));
  for (const int host : {0, 1}) {
    EXPECT_EQ(NewestTask(host).confirm().extend_by_ms(), 600000u);
    AnswerApplied(host, 900000);
  }
  ASSERT_TRUE(answer_.has_value() && answer_->ok());
  EXPECT_EQ((*answer_)->confirmation().deadline_ms(), before + 600000);
  EXPECT_EQ(Kept(id_).confirmation().deadline_ms(), before + 600000);
  Pass(absl::Minutes(14));
  EXPECT_EQ(Shown().state(), Confirmation::PENDING);
  Extend(absl::Hours(24));
  EXPECT_EQ(answer_->status().code(), absl::StatusCode::kInvalidArgument);
  Pass(absl::Minutes(1));
  EXPECT_EQ(Shown().state(), Confirmation::REVERTING);
}

TEST_F(ClusterConfirmTest, DoesNotCallExtendedWhatIsRolledBackMeanwhile) {
  ApplyOn(1);
  AnswerFacts(0);
  Extend(absl::Minutes(10));
  ASSERT_FALSE(answer_.has_value());
  ASSERT_TRUE(RollBack(id_).ok());
  ASSERT_TRUE(answer_.has_value());
  EXPECT_THAT(answer_->status().message(),
              Tells("msg-change-not-extended", kAny, kAny));
}

TEST_F(ClusterConfirmTest, KeepsTheDeadlineThatOneHostKeeps) {
  ApplyOn(2);
  AnswerAllFacts(2);
  const int64_t before = Shown().deadline_ms();
  Extend(absl::Minutes(10));
  AnswerApplied(0, 900000);
  AnswerRefused(1, "the disk is full");
  ASSERT_TRUE(answer_.has_value());
  EXPECT_EQ(answer_->status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(
      answer_->status().message(),
      Tells("msg-change-not-extended", kAny, "server1 (the disk is full)"));
  EXPECT_EQ(Shown().deadline_ms(), before);
  Lose(1);
  Extend(absl::Minutes(10));
  EXPECT_EQ(answer_->status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(answer_->status(), HasText("not attached: server1"));
}

TEST_F(ClusterConfirmTest, AsksNoHostWhoseClusterdTakesNothingBack) {
  Attach("server0");
  knows_confirm_ = false;
  Attach("server1");
  ChangeRequest request = By("alice");
  request.options.set_confirm_within_ms(kWithinMs);
  const absl::Status refused = Apply(MakePlan(2), request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), Tells("msg-change-cannot-revert", "server1"));
  EXPECT_TRUE(links_["server0"]->tasks().empty());
  EXPECT_TRUE(Apply(MakePlan(2)).ok());
}

// A pending confirmation is answered.
TEST_F(ClusterConfirmTest, AnswersWhoConfirmsWhenTheControllerStops) {
  ApplyOn(1);
  AnswerFacts(0);
  Confirm();
  ASSERT_FALSE(answer_.has_value());
  changes_->Stop();
  ASSERT_TRUE(answer_.has_value());
  EXPECT_EQ(answer_->status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ClusterConfirmTest, SaysOfAnApplyThatItStaysByItself) {
  Attach("server0");
  id_ = Begin(MakePlan(1));
  EXPECT_EQ(links_["server0"]->tasks()[0].apply().confirm_within_ms(), 0u);
  Answer("server0", ApplyResult::APPLIED);
  Confirm();
  EXPECT_EQ(answer_->status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(answer_->status(), HasText("it needs no confirmation"));
  id_ = "0000000000000000";
  Confirm();
  EXPECT_EQ(answer_->status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace clusterd
