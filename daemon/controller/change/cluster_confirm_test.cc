// Applies that go back by themselves unless they are confirmed.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/controller/change/cluster_changes.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/history/history_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/controller/cluster_changes_fixture.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint32_t kWithinMs = 300000;

class ClusterConfirmTest : public ClusterChangesTest {
 protected:
  // Hosts 0 to `hosts` are applied and wait, five minutes from now.
  void ApplyOn(int hosts, bool automatic = false) {
    for (int i = 0; i < hosts; ++i) Attach(absl::StrCat("server", i));
    // As the controller that made it: the next one finds it there.
    ASSERT_TRUE(history_->Add(RecordOfPlan(MakePlan(hosts), 0)).ok());
    ChangeRequest request = By("alice");
    request.confirm_within = absl::Milliseconds(kWithinMs);
    request.auto_confirm = automatic;
    const auto run = Apply(MakePlan(hosts), request);
    ASSERT_TRUE(run.ok()) << run.status();
    id_ = (*run)->run_id();
    for (int i = 0; i < hosts; ++i) {
      EXPECT_EQ(NewestTask(i).apply().confirm_within_ms(), kWithinMs);
      AnswerApplied(i, kWithinMs);
    }
  }

  Task NewestTask(int host) {
    return links_[absl::StrCat("server", host)]->tasks().back();
  }
  void AnswerApplied(int host, uint32_t goes_back_in_ms) {
    TaskResult result;
    result.mutable_apply()->set_apply_id(
        id_.empty() ? NewestTask(host).apply().apply_id() : id_);
    result.mutable_apply()->set_outcome(ApplyResult::APPLIED);
    result.mutable_apply()->set_goes_back_in_ms(goes_back_in_ms);
    AnswerWith(absl::StrCat("server", host), std::move(result));
  }
  void AnswerRefused(int host, const std::string& why) {
    TaskResult result;
    result.mutable_apply()->set_apply_id(id_);
    result.mutable_apply()->set_outcome(ApplyResult::REFUSED);
    result.mutable_apply()->set_error(why);
    AnswerWith(absl::StrCat("server", host), std::move(result));
  }
  // The facts that the check asks for.
  void AnswerFacts(int host, uint32_t somaxconn = 65535) {
    ASSERT_TRUE(NewestTask(host).has_observe());
    TaskResult result;
    const auto spec = spec_->spec();
    *result.mutable_facts() = MakeHealthyHost(*spec, spec->servers(host));
    result.mutable_facts()->mutable_kernel()->mutable_somaxconn()->set_value(
        somaxconn);
    AnswerWith(absl::StrCat("server", host), std::move(result));
  }
  bool IsToldToKeep(int host) {
    const Task task = NewestTask(host);
    return task.has_confirm() && task.confirm().apply_id() == id_ &&
           task.confirm().extend_by_ms() == 0;
  }
  void Pass(absl::Duration time) {
    scheduler_.Advance(time);
    pool_.Drain();
  }
  void Lose(int host) {
    hosts_.Detach(sessions_[absl::StrCat("server", host)], "it was cut off");
    pool_.Drain();
  }
  static AuditEntry Caller(const std::string& who) {
    AuditEntry caller;
    caller.set_who(who);
    return caller;
  }
  void Confirm() {
    changes_->Confirm(id_, Caller("bob"), Answered());
    pool_.Drain();
  }
  void Extend(absl::Duration by) {
    changes_->Extend(id_, Caller("bob"), by, Answered());
    pool_.Drain();
  }
  ClusterChanges::Confirmed Answered() {
    answer_.reset();
    return [this](absl::StatusOr<ConfirmResponse> answer) {
      answer_ = std::move(answer);
    };
  }
  void TellWentBack(int host) {
    PastApplies past;
    ApplyResult* const result = past.add_results();
    result->set_apply_id(id_);
    result->set_host(absl::StrCat("server", host));
    result->set_outcome(ApplyResult::ROLLED_BACK);
    result->set_not_confirmed(true);
    result->set_error("nobody confirmed it in time");
    changes_->OnPastApplies(absl::StrCat("server", host), past);
    pool_.Drain();
  }
  // A host that attached again; its journal does not say how long.
  void TellWaits(int host, uint32_t goes_back_in_ms) {
    PastApplies past;
    past.add_results()->set_apply_id(id_);
    past.mutable_results(0)->set_outcome(ApplyResult::APPLIED);
    past.mutable_results(0)->set_host(absl::StrCat("server", host));
    past.set_waits_for_confirmation(id_);
    past.set_goes_back_in_ms(goes_back_in_ms);
    changes_->OnPastApplies(absl::StrCat("server", host), past);
    pool_.Drain();
  }
  // Two hosts at work; the stream of the second ends.
  void ApplyAndLoseOne() {
    Attach("server0");
    Attach("server1");
    ASSERT_TRUE(history_->Add(RecordOfPlan(MakePlan(2), 0)).ok());
    ChangeRequest request = By("alice");
    request.confirm_within = absl::Milliseconds(kWithinMs);
    const auto run = Apply(MakePlan(2), request);
    ASSERT_TRUE(run.ok()) << run.status();
    id_ = (*run)->run_id();
    AnswerApplied(0, kWithinMs);
    Lose(1);
  }
  Confirmation Shown() {
    const auto record = changes_->Show(id_);
    EXPECT_TRUE(record.ok()) << record.status();
    return record->apply().confirmation();
  }

  std::string id_;
  std::optional<absl::StatusOr<ConfirmResponse>> answer_;
};

TEST_F(ClusterConfirmTest, ConfirmsByItselfOnceItsHostsAreBackAndPass) {
  ApplyOn(2, /*automatic=*/true);
  EXPECT_EQ(Kept(id_).outcome(), ApplyReport::SUCCEEDED);
  EXPECT_EQ(Shown().state(), Confirmation::PENDING);
  EXPECT_EQ(Shown().deadline_ms(),
            absl::ToUnixMillis(scheduler_.Now()) + kWithinMs);
  AnswerFacts(0);
  EXPECT_FALSE(IsToldToKeep(0));
  AnswerFacts(1);
  ASSERT_TRUE(IsToldToKeep(0));
  ASSERT_TRUE(IsToldToKeep(1));
  EXPECT_EQ(NewestTask(0).confirm().actor(), "spiffe://test/controller");
  AnswerApplied(0, 0);
  AnswerApplied(1, 0);
  const Confirmation kept = Kept(id_).confirmation();
  EXPECT_EQ(kept.state(), Confirmation::CONFIRMED);
  EXPECT_TRUE(kept.check_passed());
  EXPECT_THAT(kept.untold(), IsEmpty());
  const auto check = history_->Get(kept.check_run_id());
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_EQ(check->entry().kind(), HISTORY_CHECK);
  EXPECT_THAT(changes_->Pending(), IsEmpty());
  EXPECT_EQ(scheduler_.pending(), 0);
  // The turn is free again.
  EXPECT_TRUE(Apply(MakePlan(2)).ok());
}

TEST_F(ClusterConfirmTest, WaitsForAPersonWhereNobodySaidOtherwise) {
  ApplyOn(1);
  AnswerFacts(0);
  Pass(absl::Minutes(1));
  EXPECT_FALSE(IsToldToKeep(0));
  EXPECT_EQ(Shown().waits_for(),
            absl::StrCat("a person: clusterctl confirm ", id_));
  Confirm();
  ASSERT_TRUE(IsToldToKeep(0));
  EXPECT_EQ(NewestTask(0).confirm().actor(), "bob");
  EXPECT_FALSE(answer_.has_value());
  AnswerApplied(0, 0);
  ASSERT_TRUE(answer_.has_value() && answer_->ok());
  EXPECT_EQ((*answer_)->run_id(), id_);
  EXPECT_EQ((*answer_)->schema_version(), 1u);
  EXPECT_EQ((*answer_)->confirmation().state(), Confirmation::CONFIRMED);
  EXPECT_EQ(Kept(id_).confirmation().confirmed_by(), "bob");
  Confirm();
  EXPECT_THAT(std::string(answer_->status().message()),
              HasSubstr("does not wait to be confirmed: confirmed by bob"));
}

TEST_F(ClusterConfirmTest, ConfirmsNothingWhoseCheckFailsWhateverAPersonSays) {
  ApplyOn(1);
  AnswerFacts(0, /*somaxconn=*/1);
  Confirm();
  EXPECT_FALSE(IsToldToKeep(0));
  ASSERT_TRUE(answer_.has_value() && answer_->ok());
  EXPECT_EQ((*answer_)->confirmation().state(), Confirmation::PENDING);
  EXPECT_THAT((*answer_)->confirmation().waits_for(),
              AllOf(HasSubstr("the check of what it touched to pass: "),
                    HasSubstr(" on server0 (")));
  // It is made again, and what the person has said counts then.
  Pass(kFirstCheckWait + kPendingLook);
  AnswerFacts(0);
  EXPECT_TRUE(IsToldToKeep(0));
}

TEST_F(ClusterConfirmTest, GoesBackAtItsDeadlineAndTheHistoryLearnsIt) {
  ApplyOn(2);
  AnswerFacts(0, /*somaxconn=*/1);
  AnswerFacts(1);
  Pass(absl::Milliseconds(kWithinMs));
  EXPECT_EQ(Shown().state(), Confirmation::GOES_BACK);
  Confirm();
  EXPECT_EQ(answer_->status().code(), absl::StatusCode::kFailedPrecondition);
  TellWentBack(0);
  EXPECT_THAT(changes_->Pending(), SizeIs(1));
  TellWentBack(1);
  EXPECT_THAT(changes_->Pending(), IsEmpty());
  const ApplyReport kept = Kept(id_);
  EXPECT_EQ(kept.confirmation().state(), Confirmation::GOES_BACK);
  for (const ApplyResult& host : kept.hosts()) {
    EXPECT_EQ(host.outcome(), ApplyResult::ROLLED_BACK);
    EXPECT_TRUE(host.not_confirmed());
  }
  EXPECT_TRUE(Apply(MakePlan(2)).ok());
}

// What is cut off cannot say that it went back.
TEST_F(ClusterConfirmTest, WaitsNotForEverForAHostThatIsCutOff) {
  ApplyOn(1, /*automatic=*/true);
  Lose(0);
  Pass(absl::Minutes(1));
  EXPECT_EQ(Shown().waits_for(), "server0 to attach again");
  Pass(absl::Minutes(4));
  Pass(kGoesBackGrace);
  EXPECT_THAT(changes_->Pending(), IsEmpty());
  EXPECT_EQ(Kept(id_).confirmation().state(), Confirmation::GOES_BACK);
  Attach("server0");
  TellWentBack(0);
  EXPECT_EQ(KeptOutcome(id_, 0), ApplyResult::ROLLED_BACK);
}

TEST_F(ClusterConfirmTest, OneAtATimeAndTheSecondIsToldWhoseWaits) {
  ApplyOn(1);
  const absl::Status second = Apply(MakePlan(1), By("carol")).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.message()),
              AllOf(HasSubstr(absl::StrCat("apply ", id_,
                                           " of alice waits to "
                                           "be confirmed")),
                    HasSubstr("only one may wait at a time")));
}

TEST_F(ClusterConfirmTest, MayBeRolledBackInstead) {
  ApplyOn(1);
  AnswerFacts(0);
  const auto rollback = RollBack(id_);
  ASSERT_TRUE(rollback.ok()) << rollback.status();
  EXPECT_THAT(changes_->Pending(), IsEmpty());
  Confirm();
  EXPECT_FALSE(answer_->ok());
  EXPECT_TRUE(NewestTask(0).has_rollback());
  Answer("server0", ApplyResult::ROLLED_BACK);
  EXPECT_EQ(Kept(id_).confirmation().state(), Confirmation::NOT_NEEDED);
  EXPECT_TRUE(Apply(MakePlan(1)).ok());
}

TEST_F(ClusterConfirmTest, CanStillBeConfirmedIfItsRollbackCouldNotBegin) {
  const std::string folder = NewStateFolder();
  changes_.reset();
  history_ = OpenStore(folder);
  StartController();
  ApplyOn(1);
  AnswerFacts(0);
  const auto file =
      SqliteDatabase::Open(absl::StrCat(folder, "/", kHistoryFile));
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)
                  ->Execute("CREATE TRIGGER full BEFORE INSERT ON entry BEGIN "
                            "SELECT RAISE(ABORT, 'no room'); END")
                  .ok());
  EXPECT_FALSE(RollBack(id_).ok());
  ASSERT_TRUE((*file)->Execute("DROP TRIGGER full").ok());
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

TEST_F(ClusterConfirmTest, TellsAHostThatWasAwayOnceItIsBack) {
  ApplyOn(2);
  AnswerFacts(0);
  AnswerFacts(1);
  Lose(1);
  Confirm();
  ASSERT_TRUE(IsToldToKeep(0));
  AnswerApplied(0, 0);
  ASSERT_TRUE(answer_.has_value() && answer_->ok());
  EXPECT_THAT((*answer_)->confirmation().untold(), ElementsAre("server1"));
  EXPECT_THAT(Kept(id_).confirmation().untold(), ElementsAre("server1"));
  Attach("server1");
  Pass(kPendingLook);
  ASSERT_TRUE(IsToldToKeep(1));
  AnswerApplied(1, 0);
  EXPECT_THAT(Kept(id_).confirmation().untold(), IsEmpty());
  EXPECT_THAT(changes_->Pending(), IsEmpty());
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

TEST_F(ClusterConfirmTest, AsksAHostThatCouldNotKeepItAgain) {
  ApplyOn(1, /*automatic=*/true);
  AnswerFacts(0);
  ASSERT_TRUE(IsToldToKeep(0));
  AnswerRefused(0, "not in the journal, so it goes back as before");
  EXPECT_THAT(log_.Lines(), HasSubstr("server0 was not told that it stays: not "
                                      "in the journal"));
  Pass(kPendingLook);
  ASSERT_TRUE(IsToldToKeep(0));
  AnswerApplied(0, 0);
  EXPECT_THAT(changes_->Pending(), IsEmpty());
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

// It had not heard of the apply's end.
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

TEST_F(ClusterConfirmTest, AFailedRunGoesBackUnlessAPersonKeepsWhatWasApplied) {
  Attach("server0");
  Attach("server1");
  ChangeRequest request = By("alice");
  request.confirm_within = absl::Milliseconds(kWithinMs);
  request.auto_confirm = true;
  request.canary = 1;
  const auto run = Apply(MakePlan(2), request);
  ASSERT_TRUE(run.ok()) << run.status();
  id_ = (*run)->run_id();
  AnswerApplied(0, kWithinMs);
  AnswerRefused(1, "a device is in use");
  const ApplyReport report = Kept(id_);
  EXPECT_EQ(report.outcome(), ApplyReport::STOPPED);
  EXPECT_FALSE(report.confirmation().automatic());
  EXPECT_THAT(report.notes(),
              testing::Contains(
                  AllOf(HasSubstr("go back by themselves, the first at "),
                        HasSubstr(absl::StrCat("clusterctl confirm ", id_)))));
  AnswerFacts(0);
  EXPECT_FALSE(IsToldToKeep(0));
  Confirm();
  EXPECT_TRUE(IsToldToKeep(0));
}

TEST_F(ClusterConfirmTest, NeedsNoConfirmationWhereNoHostHadAnythingToDo) {
  Attach("server0");
  ChangeRequest request = By("alice");
  request.confirm_within = absl::Milliseconds(kWithinMs);
  const auto run = Apply(MakePlan(1), request);
  ASSERT_TRUE(run.ok()) << run.status();
  Answer("server0", ApplyResult::NOTHING_TO_DO);
  EXPECT_EQ(Kept((*run)->run_id()).confirmation().state(),
            Confirmation::NOT_NEEDED);
  EXPECT_THAT(changes_->Pending(), IsEmpty());
}

// Hosts one after the other, and the first goes back too soon.
class SlowWavesTest : public ClusterConfirmTest {
 protected:
  SlowWavesTest() {
    for (const char* host : {"server0", "server1", "server2"}) Attach(host);
    ChangeRequest request = By("alice");
    request.confirm_within = absl::Minutes(1);
    request.wave_size = 1;
    const auto run = Apply(MakePlan(3), request);
    EXPECT_TRUE(run.ok()) << run.status();
    id_ = (*run)->run_id();
    // Its answer took its time.
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

TEST_F(SlowWavesTest, BeginsNoWaveOnceAHostHasGoneBack) {
  TellWentBack(0);
  AnswerApplied(1, 60000);
  EXPECT_EQ(Kept(id_).outcome(), ApplyReport::STOPPED);
  EXPECT_EQ(KeptOutcome(id_, 0), ApplyResult::ROLLED_BACK);
  EXPECT_EQ(KeptOutcome(id_, 2), ApplyResult::NOT_STARTED);
}

TEST_F(ClusterConfirmTest, ExtendsOnAllHosts) {
  ApplyOn(2);
  AnswerFacts(0);
  AnswerFacts(1);
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
  EXPECT_EQ(Shown().state(), Confirmation::GOES_BACK);
}

TEST_F(ClusterConfirmTest, KeepsTheDeadlineThatOneHostKeeps) {
  ApplyOn(2);
  AnswerFacts(0);
  AnswerFacts(1);
  const int64_t before = Shown().deadline_ms();
  Extend(absl::Minutes(10));
  AnswerApplied(0, 900000);
  AnswerRefused(1, "the disk is full");
  ASSERT_TRUE(answer_.has_value());
  EXPECT_EQ(answer_->status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(answer_->status().message()),
              HasSubstr("it goes back as before: server1 (the disk is full)"));
  EXPECT_EQ(Shown().deadline_ms(), before);
  Lose(1);
  Extend(absl::Minutes(10));
  EXPECT_EQ(answer_->status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(answer_->status().message()),
              HasSubstr("not attached: server1"));
}

TEST_F(ClusterConfirmTest, AsksNoHostWhoseClusterdTakesNothingBack) {
  Attach("server0");
  knows_confirm_ = false;
  Attach("server1");
  ChangeRequest request = By("alice");
  request.confirm_within = absl::Milliseconds(kWithinMs);
  const absl::Status refused = Apply(MakePlan(2), request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("takes nothing back by itself: server1"),
                    HasSubstr("--no-confirm")));
  EXPECT_TRUE(links_["server0"]->tasks().empty());
  EXPECT_TRUE(Apply(MakePlan(2)).ok());
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

// Whoever waits for an answer is not left waiting.
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
  const auto run = Apply(MakePlan(1));
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(links_["server0"]->tasks()[0].apply().confirm_within_ms(), 0u);
  Answer("server0", ApplyResult::APPLIED);
  id_ = (*run)->run_id();
  Confirm();
  EXPECT_EQ(answer_->status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(answer_->status().message()),
              HasSubstr("it stays by itself"));
  id_ = "0000000000000000";
  Confirm();
  EXPECT_EQ(answer_->status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace clusterd
