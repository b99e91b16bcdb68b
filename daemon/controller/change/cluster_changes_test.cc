#include "daemon/controller/change/cluster_changes.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "config/plan/make_plan.h"
#include "config/words/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/controller/cluster_changes_fixture.h"
#include "tests/support/wait/from_text.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(ClusterChangesTest, AppliesOnHostsWithStepsAndKeepsWhoDidWhat) {
  Attach("server0");
  Attach("server1");
  const std::string id = Begin(MakePlan(2), "force: true");
  EXPECT_TRUE(links_["server0"]->tasks()[0].apply().force());
  Answer("server0", ApplyResult::APPLIED);
  Answer("server1", ApplyResult::APPLIED);
  const auto record = history_->Get(id).value();
  EXPECT_THAT(record.entry(), HasFields(R"(
      kind: HISTORY_APPLY actor: "alice" outcome: "succeeded"
      parent_id: "aaaabbbbccccdddd" force: true)"));
  const ApplyReport report = Rendered(record.apply());
  EXPECT_EQ(report.apply_id(), report.run_id());
  EXPECT_EQ(report.wave_size(), kDefaultWaveSize);
  EXPECT_EQ(report.hosts_size(), 2);
  EXPECT_THAT(report.notes(), ElementsAre(Say("hub-idle-hosts", 1, 3)));
  EXPECT_THAT(log_.Lines(),
              HasSubstr(absl::StrCat(
                  "apply ", report.run_id(),
                  " of alice (operator, ipv4:10.0.0.9:5123): applies plan "
                  "aaaabbbbccccdddd on 2 hosts, 32 at once, forced")));
}

TEST_F(ClusterChangesTest, ShowsAHostThatHasNotAnsweredAsRunningAndNotLost) {
  Attach("server0");
  Attach("server1");
  const std::string id = Begin(MakePlan(2));
  ListHistoryRequest all;
  EXPECT_EQ(ValueText(history_->List(all)->entries(0).summary_words()),
            "2 hosts; 2 running");
  Answer("server0", ApplyResult::APPLIED);
  auto shown = changes_->Show(id.substr(0, 8));
  ASSERT_TRUE(shown.ok()) << shown.status();
  EXPECT_EQ(shown->apply().outcome(), ApplyReport::RUNNING);
  EXPECT_EQ(shown->apply().hosts(0).outcome(), ApplyResult::APPLIED);
  EXPECT_EQ(shown->apply().hosts(1).outcome(), ApplyResult::RUNNING);
  EXPECT_EQ(ErrorText(shown->apply().hosts(1)), Say("hub-no-answer-yet"));
  EXPECT_EQ(ValueText(shown->entry().summary_words()),
            "2 hosts; 1 applied, 1 running");
  EXPECT_EQ(shown->entry().parent_id(), "aaaabbbbccccdddd");
  // It is kept as it is, and LOST if the controller dies now.
  EXPECT_EQ(KeptOutcome(id, 1), ApplyResult::RUNNING);
  Answer("server1", ApplyResult::APPLIED);
  shown = changes_->Show(id);
  EXPECT_EQ(shown->apply().outcome(), ApplyReport::SUCCEEDED);
  EXPECT_EQ(ValueText(shown->entry().summary_words()), "2 hosts; 2 applied");
}

TEST_F(ClusterChangesTest, RefusesPlansThatMustNotBeApplied) {
  Attach("server0");
  const auto refused = [this](const ClusterPlan& plan) {
    const auto run = Apply(plan);
    EXPECT_FALSE(run.ok());
    return run.status();
  };
  const auto sealed = [](ClusterPlan plan) {
    plan.set_digest(PlanDigest(plan));
    return plan;
  };
  ClusterPlan edited = MakePlan(1);
  edited.mutable_hosts(0)->mutable_steps(0)->mutable_to()->set_number(1);
  EXPECT_EQ(refused(edited).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused(edited), HasText("digest"));
  ClusterPlan spoofed = MakePlan(1);
  spoofed.set_plan_id("\x1b[2J");
  EXPECT_THAT(refused(spoofed).message(),
              Tells("msg-change-plan-id", "\"\\x1b[2J\""));
  ClusterPlan nowhere = MakePlan(1);
  nowhere.mutable_hosts(0)->mutable_network_namespace()->set_container("-x");
  EXPECT_THAT(refused(sealed(nowhere)).message(),
              Tells("value-netns-container", "-x"));
  ClusterPlan foreign = MakePlan(1);
  foreign.set_cluster("other");
  EXPECT_THAT(refused(sealed(foreign)).message(),
              Tells("msg-change-plan-of-other-cluster", "other", "test"));
  ClusterPlan twice = MakePlan(1);
  *twice.add_hosts() = twice.hosts(0);
  EXPECT_THAT(refused(sealed(twice)).message(),
              Tells("msg-change-plan-host-twice", "server0"));
  ClusterPlan stranger = MakePlan(1);
  stranger.mutable_hosts(0)->set_host("stranger");
  EXPECT_THAT(refused(sealed(stranger)).message(),
              Tells("msg-change-hosts-not-in-spec", "test", "stranger"));
  EXPECT_EQ(refused(MakePlan(0)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused(MakePlan(2)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused(MakePlan(2)), HasText("not attached: server1"));
  const ClusterPlan before = MakePlan(1);
  WriteSpec("atlas-a2");
  ASSERT_TRUE(spec_->Reload().ok());
  EXPECT_EQ(refused(before).code(), absl::StatusCode::kAborted);
  EXPECT_THAT(refused(before), HasText("plan again"));
  // These refusals do not block a good one, and asked no host.
  EXPECT_TRUE(links_["server0"]->tasks().empty());
  EXPECT_TRUE(Apply(MakePlan(1)).ok());
}

TEST_F(ClusterChangesTest, OneAtATimeAndTheSecondGetsTheNameOfTheFirst) {
  Attach("server0");
  const auto first = Apply(MakePlan(1)).value();
  const auto second = Apply(MakePlan(1), By("carol"));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(second.status().message(),
              Tells("msg-change-one-at-a-time",
                    Worded("hub-apply-of", first->run_id(), "alice"),
                    "2024-01-01T00:00:00+00:00"));
  {
    const InLanguage chinese(Language::kChinese);
    EXPECT_EQ(ValueText(MessageWords(second.status())),
              absl::StrCat("执行变更 ", first->run_id(),
                           "（操作者 alice）自 2024-01-01T00:00:00+00:00 "
                           "起运行，一次只能运行一个"));
  }
  EXPECT_TRUE(absl::IsUnavailable(RollBack(first->run_id()).status()));
  Answer("server0", ApplyResult::APPLIED);
  EXPECT_TRUE(Apply(MakePlan(1), By("carol")).ok());
}

TEST_F(ClusterChangesTest, AppliesNothingWithoutHistory) {
  history_ = HistoryStore::Closed(absl::DataLossError("the file is damaged"));
  StartController();
  Attach("server0");
  EXPECT_THAT(Apply(MakePlan(1)), Fails(absl::StatusCode::kFailedPrecondition));
  EXPECT_TRUE(links_["server0"]->tasks().empty());
  // No change runs: the same refusal, not "another one runs".
  EXPECT_TRUE(absl::IsFailedPrecondition(Apply(MakePlan(1)).status()));
}

TEST_F(ClusterChangesTest, RollbackAsksHostsThatAreAppliedOrLost) {
  for (const char* host : {"server0", "server1", "server2"}) Attach(host);
  const std::string id = Begin(MakePlan(3));
  Answer("server0", ApplyResult::APPLIED);
  Answer("server1", ApplyResult::UNDONE);
  Pass(absl::Hours(1));
  ASSERT_EQ(KeptOutcome(id, 2), ApplyResult::LOST);
  EXPECT_THAT(Kept(id).notes(), Contains(Tells("hub-hosts-kept-it")));
  const auto rollback = RollBack(id);
  ASSERT_TRUE(rollback.ok()) << rollback.status();
  EXPECT_EQ(links_["server0"]->tasks().back().rollback().apply_id(), id);
  EXPECT_EQ(links_["server0"]->tasks().back().rollback().actor(), "bob");
  EXPECT_EQ(links_["server1"]->tasks().size(), 1u);
  Answer("server0", ApplyResult::ROLLED_BACK);
  Answer("server2", ApplyResult::REFUSED);
  const ApplyReport report = Kept((*rollback)->run_id());
  EXPECT_TRUE(report.rollback());
  EXPECT_EQ(report.apply_id(), id);
  EXPECT_EQ(report.outcome(), ApplyReport::STOPPED);
  // A second rollback reads the apply's record and asks only the rest.
  EXPECT_EQ(KeptOutcome(id, 0), ApplyResult::ROLLED_BACK);
  EXPECT_THAT(
      Kept(id).notes(),
      AllOf(Contains("rolled back by rollback " + (*rollback)->run_id()),
            Not(Contains(Tells("hub-hosts-kept-it")))));
  EXPECT_EQ(history_->Get(id)->entry().outcome(), "partly rolled back");
  ASSERT_TRUE(RollBack(id).ok());
  EXPECT_EQ(links_["server0"]->tasks().size(), 2u);
  Answer("server2", ApplyResult::ROLLED_BACK);
  EXPECT_EQ(history_->Get(id)->entry().outcome(), "rolled back");
  EXPECT_TRUE(absl::IsFailedPrecondition(RollBack(id).status()));
  EXPECT_TRUE(absl::IsNotFound(RollBack("0000000000000000").status()));
}

TEST_F(ClusterChangesTest, RollbackAsksHostsWithResiduesOnceMore) {
  for (const char* host : {"server0", "server1"}) Attach(host);
  const std::string id = Begin(MakePlan(2));
  Answer("server0", ApplyResult::UNDONE_WITH_RESIDUES);
  Answer("server1", ApplyResult::APPLIED);
  ASSERT_TRUE(RollBack(id).ok());
  Answer("server0", ApplyResult::ROLLED_BACK);
  Answer("server1", ApplyResult::ROLLED_BACK_WITH_RESIDUES);
  ASSERT_EQ(KeptOutcome(id, 1), ApplyResult::ROLLED_BACK_WITH_RESIDUES);
  ASSERT_TRUE(RollBack(id).ok());
  EXPECT_EQ(links_["server0"]->tasks().size(), 2u);
  EXPECT_EQ(links_["server1"]->tasks().size(), 3u);
  Answer("server1", ApplyResult::ROLLED_BACK);
  EXPECT_TRUE(absl::IsFailedPrecondition(RollBack(id).status()));
}

TEST_F(ClusterChangesTest, RollbackWithoutJournalsIsGoodOnLostHostsAlone) {
  for (const char* host : {"server0", "server1", "server2"}) Attach(host);
  const std::string id = Begin(MakePlan(3));
  Answer("server0", ApplyResult::APPLIED);
  Answer("server1", ApplyResult::UNDONE_WITH_RESIDUES);
  Pass(absl::Hours(1));
  ASSERT_EQ(KeptOutcome(id, 2), ApplyResult::LOST);
  const auto rollback = RollBack(id).value();
  for (const char* host : {"server0", "server1", "server2"}) {
    Answer(host, ApplyResult::REFUSED, /*no_journal=*/true);
  }
  const std::string run = rollback->run_id();
  EXPECT_EQ(Kept(run).outcome(), ApplyReport::STOPPED);
  EXPECT_EQ(KeptOutcome(run, 0), ApplyResult::REFUSED);
  EXPECT_EQ(KeptOutcome(run, 1), ApplyResult::REFUSED);
  EXPECT_EQ(KeptOutcome(run, 2), ApplyResult::NOTHING_TO_DO);
  // An applied host is still reported as applied.
  EXPECT_EQ(KeptOutcome(id, 0), ApplyResult::APPLIED);
}

TEST_F(ClusterChangesTest, LateNewsNeverWaitsForABusyPool) {
  Attach("server0");
  const std::string id = Begin(MakePlan(1));
  LoseForGood("server0");
  ASSERT_EQ(KeptOutcome(id, 0), ApplyResult::LOST);
  absl::Notification go_on;
  FillPool(&go_on);
  Report("server0", id, ApplyResult::APPLIED);
  EXPECT_EQ(KeptOutcome(id, 0), ApplyResult::LOST);
  go_on.Notify();
  pool_.Drain();
  Pass(absl::Seconds(1));
  EXPECT_EQ(KeptOutcome(id, 0), ApplyResult::APPLIED);
}

TEST_F(ClusterChangesTest, LateNewsThatWaitedTooLongIsDroppedWithTheObject) {
  Attach("server0");
  const std::string id = Begin(MakePlan(1));
  LoseForGood("server0");
  absl::Notification go_on;
  FillPool(&go_on);
  Report("server0", id, ApplyResult::APPLIED);
  changes_.reset();
  go_on.Notify();
  Pass(absl::Seconds(1));
  EXPECT_EQ(KeptOutcome(id, 0), ApplyResult::LOST);
}

TEST_F(ClusterChangesTest, DamagedRunDoesNotHideTheOthersAfterAKill) {
  const std::string folder = NewStateFolder();
  changes_.reset();
  history_ = OpenStore(folder);
  ASSERT_TRUE(history_->Add(TestApply(TestId(1))).ok());
  ASSERT_TRUE(history_->Add(TestApply(TestId(2))).ok());
  history_.reset();
  {
    const auto file =
        SqliteDatabase::Open(absl::StrCat(folder, "/", kHistoryFile)).value();
    ASSERT_TRUE(
        file->Execute("UPDATE detail SET record = x'00' WHERE position = "
                      "(SELECT MIN(position) FROM entry)")
            .ok());
  }
  history_ = OpenStore(folder);
  StartController();
  EXPECT_EQ(history_->Get(TestId(2))->entry().outcome(), "interrupted");
  EXPECT_THAT(log_.Lines(),
              HasSubstr(absl::StrCat("\"", TestId(1), "\" is damaged")));
  changes_.reset();
}

TEST_F(ClusterChangesTest, LostHostThatTellsLaterIsCorrectedInTheHistory) {
  Attach("server0");
  const std::string id = Begin(MakePlan(1));
  LoseForGood("server0");
  ASSERT_EQ(KeptOutcome(id, 0), ApplyResult::LOST);
  Tell("server0", "another", ApplyResult::APPLIED);
  ASSERT_EQ(KeptOutcome(id, 0), ApplyResult::LOST);
  Tell("server0", id, ApplyResult::APPLIED);
  EXPECT_EQ(KeptOutcome(id, 0), ApplyResult::APPLIED);
  EXPECT_EQ(Kept(id).outcome(), ApplyReport::SUCCEEDED);
  EXPECT_THAT(Kept(id).notes(), Contains(Say("hub-came-back", "server0")));
  // The host has reported; later reports do not belong to that run.
  Tell("server0", id, ApplyResult::ROLLED_BACK);
  EXPECT_EQ(KeptOutcome(id, 0), ApplyResult::APPLIED);
}

TEST_F(ClusterChangesTest, ControllerThatIsKilledInAWaveLearnsWhatCameOfIt) {
  for (const char* host : {"server0", "server1", "server2"}) Attach(host);
  // The store of a controller that died: a run that is still running.
  ASSERT_TRUE(history_
                  ->Add(FromText<HistoryRecord>(R"(
      entry { id: "1111222233334444" kind: HISTORY_APPLY outcome: "running" }
      apply {
        run_id: "1111222233334444" apply_id: "1111222233334444"
        outcome: RUNNING actor: "alice"
        hosts { host: "server0" outcome: RUNNING state: HOST_RUNNING }
        hosts { host: "server1" outcome: RUNNING state: HOST_RUNNING }
        hosts { host: "server2" outcome: NOT_STARTED state: HOST_WAITING }
      })"))
                  .ok());
  StartController();
  EXPECT_EQ(Kept("1111222233334444").outcome(), ApplyReport::INTERRUPTED);
  EXPECT_EQ(history_->Get("1111222233334444")->entry().outcome(),
            "interrupted");
  EXPECT_THAT(log_.Lines(),
              HasSubstr("apply 1111222233334444 of alice: interrupted"));
  Tell("server0", "1111222233334444", ApplyResult::APPLIED);
  Tell("server2", "1111222233334444", ApplyResult::APPLIED);
  EXPECT_EQ(KeptOutcome("1111222233334444", 0), ApplyResult::APPLIED);
  EXPECT_EQ(KeptOutcome("1111222233334444", 1), ApplyResult::LOST);
  EXPECT_EQ(KeptOutcome("1111222233334444", 2), ApplyResult::NOT_STARTED);
  // It also holds after another start, and a rollback works on it.
  StartController();
  Tell("server1", "1111222233334444", ApplyResult::UNDONE);
  EXPECT_EQ(KeptOutcome("1111222233334444", 1), ApplyResult::UNDONE);
  ASSERT_TRUE(RollBack("1111").ok());
  EXPECT_EQ(links_["server0"]->tasks().size(), 1u);
  EXPECT_TRUE(links_["server1"]->tasks().empty());
}

// The end of the run could not be saved, so its hosts stand as running.
TEST_F(ClusterChangesTest, RollbackCountsAHostWithoutAnEndAsLost) {
  Attach("server0");
  ASSERT_TRUE(history_
                  ->Add(FromText<HistoryRecord>(R"(
      entry { id: "1111222233334444" kind: HISTORY_APPLY outcome: "stopped" }
      apply {
        run_id: "1111222233334444" apply_id: "1111222233334444"
        outcome: STOPPED actor: "alice"
        hosts { host: "server0" outcome: RUNNING state: HOST_RUNNING }
      })"))
                  .ok());
  const auto rollback = RollBack("1111222233334444");
  ASSERT_TRUE(rollback.ok()) << rollback.status();
  EXPECT_TRUE(Kept((*rollback)->run_id()).hosts(0).was_lost());
}

TEST_F(ClusterChangesTest, CanaryHasAStepOfEveryKindAndTheNotesSayWhere) {
  for (const char* host : {"server0", "server1", "server2"}) Attach(host);
  ClusterPlan plan = MakePlan(3);
  plan.mutable_hosts(2)->mutable_steps()->Add()->set_kind(CHANGE_TLS);
  plan.set_digest(PlanDigest(plan));
  ChangeRequest request = By("alice");
  request.options.set_canary(1);
  const auto run = Apply(plan, request).value();
  EXPECT_EQ(links_["server2"]->tasks().size(), 1u);
  EXPECT_TRUE(links_["server0"]->tasks().empty());
  EXPECT_TRUE(links_["server1"]->tasks().empty());
  Answer("server2", ApplyResult::APPLIED);
  EXPECT_EQ(links_["server0"]->tasks().size(), 1u);
  EXPECT_EQ(links_["server1"]->tasks().size(), 1u);
  const ApplyReport report = Rendered(run->report());
  EXPECT_EQ(report.canary(), 1u);
  EXPECT_EQ(report.hosts(0).host(), "server2");
  EXPECT_THAT(report.notes(), Contains(Tells("hub-canary-every",
                                             absl::StrCat("server2 (", kAny))));
}

TEST_F(ClusterChangesTest, CancelEndsTheRunAfterItsWaveAndSaysWhoDidIt) {
  Attach("server0");
  Attach("server1");
  const std::string id = Begin(MakePlan(2), "canary: 1");
  // A prefix of the id works, too.
  const auto cancelled = changes_->Cancel(id.substr(0, 8), "bob", "operator");
  ASSERT_TRUE(cancelled.ok()) << cancelled.status();
  EXPECT_EQ(cancelled->run_id(), id);
  EXPECT_EQ(cancelled->not_started(), 1u);
  EXPECT_THAT(log_.Lines(),
              HasSubstr(absl::StrCat("apply ", id,
                                     " of alice: cancelled by bob (operator) "
                                     "in wave 1 of 2")));
  Answer("server0", ApplyResult::APPLIED);
  EXPECT_TRUE(links_["server1"]->tasks().empty());
  const auto record = history_->Get(id).value();
  EXPECT_EQ(record.entry().outcome(), "cancelled");
  EXPECT_THAT(ValueText(record.entry().summary_words()),
              Tells("hub-cancelled-by-in", "bob", 1, 2));
  EXPECT_EQ(KeptOutcome(id, 1), ApplyResult::NOT_STARTED);
  EXPECT_THAT(log_.Lines(),
              HasSubstr(absl::StrCat("apply ", id, " of alice: cancelled\n")));
}

TEST_F(ClusterChangesTest, CancelTellsOfARunThatIsOverOrIsNone) {
  Attach("server0");
  const std::string id = Begin(MakePlan(1));
  Answer("server0", ApplyResult::APPLIED);
  const absl::Status over = changes_->Cancel(id, "bob", "operator").status();
  EXPECT_TRUE(absl::IsInvalidArgument(over));
  EXPECT_THAT(over.message(), Tells("msg-change-already-over",
                                    Worded("hub-apply-of", id, "alice")));
  EXPECT_TRUE(absl::IsNotFound(
      changes_->Cancel("0000000000000000", "bob", "operator").status()));
  ASSERT_TRUE(
      history_
          ->Add(FromText<HistoryRecord>("entry { id: 'cccc0000cccc0000' kind: "
                                        "HISTORY_CHECK outcome: 'pass' }"))
          .ok());
  EXPECT_THAT(
      changes_->Cancel("cccc0000cccc0000", "bob", "operator"),
      Fails(absl::StatusCode::kInvalidArgument,
            Tells("msg-change-cannot-be-cancelled", kAny, "cccc0000cccc0000")));
}

TEST_F(ClusterChangesTest, ControllerKilledInACancelledRunGoesOnWithNoWave) {
  for (const char* host : {"server0", "server1", "server2"}) Attach(host);
  const std::string id = Begin(MakePlan(3), "wave_size: 1");
  ASSERT_TRUE(changes_->Cancel(id, "bob", "operator").ok());
  // The controller was killed: it has kept nothing since.
  const auto killed = std::move(changes_);
  StartController();
  Tell("server0", id, ApplyResult::APPLIED);
  for (const char* host : {"server1", "server2"}) {
    Attach(host);
    EXPECT_TRUE(links_[host]->tasks().empty()) << host;
  }
  const ApplyReport kept = Kept(id);
  EXPECT_EQ(kept.outcome(), ApplyReport::INTERRUPTED);
  EXPECT_EQ(kept.cancelled().actor(), "bob");
  EXPECT_EQ(KeptOutcome(id, 0), ApplyResult::APPLIED);
  for (const int host : {1, 2}) {
    EXPECT_EQ(KeptOutcome(id, host), ApplyResult::NOT_STARTED);
    EXPECT_EQ(kept.hosts(host).error(),
              Say("hub-cancelled-after-wave", "bob", 1));
  }
  EXPECT_TRUE(
      absl::IsInvalidArgument(changes_->Cancel(id, "bob", "x").status()));
}

TEST_F(ClusterChangesTest, StopInterruptsTheRunAndStartsNoOther) {
  Attach("server0");
  const auto run = Apply(MakePlan(1)).value();
  changes_->Stop();
  EXPECT_EQ(Kept(run->run_id()).outcome(), ApplyReport::INTERRUPTED);
  EXPECT_EQ(Apply(MakePlan(1)).status().code(), absl::StatusCode::kUnavailable);
  {
    absl::MutexLock lock(&mutex_);
    ASSERT_TRUE(end_.has_value());
    EXPECT_EQ(end_->status().code(), absl::StatusCode::kUnavailable);
  }
  changes_->Stop();
}

TEST_F(ClusterChangesTest, AbortFreesTheTurnAndWhatTheHostTellsLaterIsKept) {
  Attach("server0");
  Attach("server1");
  const std::string id = Begin(MakePlan(1));
  ASSERT_TRUE(changes_->Abort(id.substr(0, 8), "root", "admin").ok());
  pool_.Drain();
  EXPECT_EQ(KeptOutcome(id, 0), ApplyResult::LOST);
  EXPECT_THAT(log_.Lines(), HasSubstr(" of alice: aborted by root (admin), 1 "
                                      "hosts not waited for"));
  // Another run may begin, whatever the host does.
  Tell("server0", id, ApplyResult::APPLIED);
  EXPECT_EQ(KeptOutcome(id, 0), ApplyResult::APPLIED);
  const auto next = RollBack(id).value();
  EXPECT_EQ(links_["server0"]->tasks().size(), 2u);
  EXPECT_TRUE(
      absl::IsInvalidArgument(changes_->Abort(id, "root", "admin").status()));
  EXPECT_TRUE(
      absl::IsNotFound(changes_->Abort("ffff", "root", "admin").status()));
}

}  // namespace
}  // namespace clusterd
