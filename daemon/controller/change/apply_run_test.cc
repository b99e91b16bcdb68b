#include "daemon/controller/change/apply_run.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "config/values/version.h"
#include "daemon/process/worker_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/plan_steps.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/manual_scheduler.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kRun[] = "0123456789abcdef";

// Keeps the tasks that a host was given.
class FakeLink final : public HostLink {
 public:
  void Send(HubMessage message) override {
    absl::MutexLock lock(&mutex_);
    if (message.has_task()) tasks_.push_back(message.task());
  }
  void Close(const absl::Status&) override {}

  std::vector<Task> tasks() {
    absl::MutexLock lock(&mutex_);
    return tasks_;
  }

 private:
  absl::Mutex mutex_;
  std::vector<Task> tasks_ ABSL_GUARDED_BY(mutex_);
};

struct Host {
  std::shared_ptr<FakeLink> link;
  AttachedHosts::SessionId session = 0;
};

class ApplyRunTest : public testing::Test {
 protected:
  void Attach(const std::string& name) {
    Host& host = attached_[name];
    host.link = std::make_shared<FakeLink>();
    Attachment attachment;
    attachment.host = name;
    attachment.hello.set_protocol_version(kProtocolVersion);
    attachment.hello.add_tasks("apply");
    attachment.hello.add_tasks("rollback");
    attachment.link = host.link;
    const auto session = hosts_.Attach(std::move(attachment));
    ASSERT_TRUE(session.ok()) << session.status();
    host.session = *session;
  }

  // Hosts a, b, c, … with one step each.
  ApplyOrder Order(int count, uint32_t wave_size, bool rollback = false) {
    auto plan = std::make_shared<ClusterPlan>();
    plan->set_digest("digest");
    ApplyOrder order;
    for (int i = 0; i < count; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      Attach(name);
      HostPlan* const host = plan->add_hosts();
      host->set_host(name);
      PlanStep* const step = host->add_steps();
      *step = RunningStep("net.core.somaxconn", "128", "65535");
      step->set_id(1);
    }
    for (const HostPlan& host : plan->hosts()) {
      order.hosts.push_back({host.host(), &host, absl::Minutes(2)});
    }
    order.plan = plan;
    order.report.set_run_id(kRun);
    order.report.set_apply_id(rollback ? "feedfeedfeedfeed" : kRun);
    order.report.set_rollback(rollback);
    order.report.set_actor("alice");
    order.report.set_wave_size(wave_size);
    return order;
  }

  absl::Status Start(ApplyOrder order) {
    apply_id_ = order.report.apply_id();
    ControllerParts parts;
    parts.hosts = &hosts_;
    parts.scheduler = &scheduler_;
    parts.pool = &pool_;
    parts.log = &log_;
    ApplyRun::Callbacks callbacks;
    callbacks.save = [this](const ApplyReport& report) {
      absl::MutexLock lock(&mutex_);
      if (!save_.ok()) return save_;
      saved_.push_back(report);
      return absl::OkStatus();
    };
    callbacks.watcher.on_event = [this](ApplyEvent event) {
      absl::MutexLock lock(&mutex_);
      events_.push_back(std::move(event));
    };
    callbacks.watcher.on_end = [this](absl::StatusOr<ApplyReport> report) {
      absl::MutexLock lock(&mutex_);
      EXPECT_FALSE(end_.has_value()) << "a second end";
      end_ = std::move(report);
    };
    run_ = std::make_shared<ApplyRun>(std::move(order), parts,
                                      std::move(callbacks));
    const absl::Status started = run_->Start();
    pool_.Drain();
    return started;
  }

  size_t TasksOf(const std::string& name) {
    return attached_[name].link->tasks().size();
  }

  // The host's answer to its newest task.
  void Answer(const std::string& name, ApplyResult::Outcome outcome,
              const std::string& error = "") {
    const Host& host = attached_[name];
    ASSERT_FALSE(host.link->tasks().empty()) << name << " was not asked";
    TaskResult result;
    result.set_task_id(host.link->tasks().back().task_id());
    *result.mutable_apply() = ResultOf(outcome, error);
    EXPECT_TRUE(hosts_.OnResult(host.session, std::move(result)).ok());
    pool_.Drain();
  }

  void AnswerWithoutJournal(
      const std::string& name,
      ApplyResult::Outcome outcome = ApplyResult::REFUSED) {
    TaskResult result;
    result.set_task_id(attached_[name].link->tasks().back().task_id());
    *result.mutable_apply() = ResultOf(outcome, "no journal of it");
    result.mutable_apply()->set_no_journal(true);
    EXPECT_TRUE(
        hosts_.OnResult(attached_[name].session, std::move(result)).ok());
    pool_.Drain();
  }

  ApplyResult ResultOf(ApplyResult::Outcome outcome,
                       const std::string& error = "") {
    ApplyResult result;
    result.set_apply_id(apply_id_);
    result.set_outcome(outcome);
    result.set_error(error);
    result.add_facts_after()->set_name("a fact");
    return result;
  }

  void Lose(const std::string& name) {
    hosts_.Detach(attached_[name].session, "the connection broke");
    pool_.Drain();
  }

  void Pass(absl::Duration time) {
    scheduler_.Advance(time);
    pool_.Drain();
  }

  bool ended() {
    absl::MutexLock lock(&mutex_);
    return end_.has_value();
  }

  // REQUIRES: the run has ended with one.
  ApplyReport Report() {
    absl::MutexLock lock(&mutex_);
    EXPECT_TRUE(end_.has_value() && end_->ok());
    return end_.has_value() && end_->ok() ? **end_ : ApplyReport();
  }

  std::vector<ApplyResult::Outcome> Outcomes(const ApplyReport& report) {
    std::vector<ApplyResult::Outcome> outcomes;
    for (const ApplyResult& host : report.hosts()) {
      outcomes.push_back(host.outcome());
    }
    return outcomes;
  }

  std::vector<ApplyReport> saved() {
    absl::MutexLock lock(&mutex_);
    return saved_;
  }

  ManualScheduler scheduler_;
  CapturedLog log_;
  AttachedHosts hosts_{&scheduler_, &log_};
  std::map<std::string, Host> attached_;
  std::string apply_id_;
  absl::Mutex mutex_;
  absl::Status save_ ABSL_GUARDED_BY(mutex_);
  std::vector<ApplyReport> saved_ ABSL_GUARDED_BY(mutex_);
  std::vector<ApplyEvent> events_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::StatusOr<ApplyReport>> end_ ABSL_GUARDED_BY(mutex_);
  WorkerPool pool_{1, 8};
  std::shared_ptr<ApplyRun> run_;
};

TEST_F(ApplyRunTest, GoesThroughItsWavesInTheOrderOfThePlan) {
  ASSERT_TRUE(Start(Order(3, 2)).ok());
  EXPECT_EQ(TasksOf("a"), 1u);
  EXPECT_EQ(TasksOf("b"), 1u);
  EXPECT_EQ(TasksOf("c"), 0u);
  const ApplyTask task = attached_["a"].link->tasks()[0].apply();
  EXPECT_EQ(task.apply_id(), kRun);
  EXPECT_EQ(task.actor(), "alice");
  EXPECT_EQ(task.plan_digest(), "digest");
  EXPECT_EQ(task.plan().host(), "a");
  EXPECT_FALSE(task.force());

  Answer("b", ApplyResult::APPLIED);
  EXPECT_EQ(run_->progress().wave(), 1u);
  EXPECT_EQ(run_->progress().waves(), 2u);
  EXPECT_EQ(run_->progress().done(), 1u);
  EXPECT_EQ(run_->progress().pending(), 2u);
  EXPECT_THAT(run_->progress().at_work(), ElementsAre("a"));
  EXPECT_EQ(TasksOf("c"), 0u);
  Answer("a", ApplyResult::NOTHING_TO_DO);
  EXPECT_EQ(TasksOf("c"), 1u);
  scheduler_.Advance(absl::Seconds(7));
  Answer("c", ApplyResult::APPLIED);

  const ApplyReport report = Report();
  EXPECT_EQ(report.outcome(), ApplyReport::SUCCEEDED);
  EXPECT_EQ(report.elapsed_ms(), 7000u);
  EXPECT_THAT(Outcomes(report),
              ElementsAre(ApplyResult::NOTHING_TO_DO, ApplyResult::APPLIED,
                          ApplyResult::APPLIED));
  EXPECT_THAT(report.hosts(1).facts_after(), IsEmpty());
  EXPECT_THAT(report.notes(), IsEmpty());
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(ApplyRunTest, KeepsWhatIsTrueIfTheControllerDiesNow) {
  ASSERT_TRUE(Start(Order(2, 1)).ok());
  // Kept before the first host was asked.
  ASSERT_EQ(saved().size(), 1u);
  EXPECT_EQ(saved()[0].outcome(), ApplyReport::RUNNING);
  EXPECT_THAT(Outcomes(saved()[0]),
              ElementsAre(ApplyResult::LOST, ApplyResult::NOT_STARTED));
  Answer("a", ApplyResult::APPLIED);
  ASSERT_EQ(saved().size(), 2u);
  EXPECT_THAT(Outcomes(saved()[1]),
              ElementsAre(ApplyResult::APPLIED, ApplyResult::LOST));
  Answer("b", ApplyResult::APPLIED);
  ASSERT_EQ(saved().size(), 3u);
  EXPECT_EQ(saved()[2].outcome(), ApplyReport::SUCCEEDED);
}

TEST_F(ApplyRunTest, AsksNobodyWhenItCannotBeKept) {
  {
    absl::MutexLock lock(&mutex_);
    save_ = absl::ResourceExhaustedError("the disk is full");
  }
  EXPECT_EQ(Start(Order(1, 1)).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(TasksOf("a"), 0u);
  EXPECT_FALSE(ended());
}

TEST_F(ApplyRunTest, StopsBeforeTheWaveThatCannotBeKept) {
  ASSERT_TRUE(Start(Order(2, 1)).ok());
  {
    absl::MutexLock lock(&mutex_);
    save_ = absl::ResourceExhaustedError("the disk is full");
  }
  Answer("a", ApplyResult::APPLIED);
  EXPECT_EQ(TasksOf("b"), 0u);
  const ApplyReport report = Report();
  EXPECT_EQ(report.outcome(), ApplyReport::STOPPED);
  EXPECT_THAT(Outcomes(report),
              ElementsAre(ApplyResult::APPLIED, ApplyResult::NOT_STARTED));
  EXPECT_THAT(report.notes(0), HasSubstr("wave 2 was not started: the disk is "
                                         "full"));
}

TEST_F(ApplyRunTest, FailedWaveStopsTheRestAndLetsItsOwnHostsFinish) {
  ASSERT_TRUE(Start(Order(4, 2)).ok());
  Answer("a", ApplyResult::UNDONE, "step 1: no effect");
  EXPECT_FALSE(ended());
  Answer("b", ApplyResult::APPLIED);
  EXPECT_EQ(TasksOf("c"), 0u);
  const ApplyReport report = Report();
  EXPECT_EQ(report.outcome(), ApplyReport::STOPPED);
  EXPECT_THAT(Outcomes(report),
              ElementsAre(ApplyResult::UNDONE, ApplyResult::APPLIED,
                          ApplyResult::NOT_STARTED, ApplyResult::NOT_STARTED));
  EXPECT_EQ(report.hosts(2).error(), "an earlier wave failed");
  EXPECT_THAT(
      report.notes(),
      ElementsAre("it ended in wave 1 of 2, so 2 hosts were not started",
                  "hosts that were applied stay so; clusterctl rollback "
                  "0123456789abcdef takes them back"));
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
    Lose("a");
    Lose("b");
    absl::MutexLock lock(&mutex_);
    end_.reset();
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
  EXPECT_THAT(Outcomes(report),
              ElementsAre(ApplyResult::NOT_STARTED, ApplyResult::REFUSED));
  EXPECT_THAT(report.hosts(0).error(), HasSubstr("the connection broke"));
  EXPECT_THAT(report.hosts(1).error(),
              HasSubstr("clusterd 0.1 does not know the task apply"));
}

TEST_F(ApplyRunTest, ErrorOfTheHostIsRefusal) {
  ASSERT_TRUE(Start(Order(1, 1)).ok());
  TaskResult result;
  result.set_task_id(attached_["a"].link->tasks()[0].task_id());
  result.mutable_error()->set_code(8);
  result.mutable_error()->set_message("16 tasks run already");
  ASSERT_TRUE(hosts_.OnResult(attached_["a"].session, result).ok());
  pool_.Drain();
  EXPECT_EQ(Report().hosts(0).outcome(), ApplyResult::REFUSED);
  EXPECT_EQ(Report().hosts(0).error(), "16 tasks run already");
}

TEST_F(ApplyRunTest, LogsWhatForceOverrodeAndWhoForcedIt) {
  ASSERT_TRUE(Start(Order(1, 1)).ok());
  TaskResult result;
  result.set_task_id(attached_["a"].link->tasks()[0].task_id());
  *result.mutable_apply() = ResultOf(ApplyResult::APPLIED);
  result.mutable_apply()->add_forced("device 3 is in use by python (pid 7)");
  ASSERT_TRUE(hosts_.OnResult(attached_["a"].session, result).ok());
  pool_.Drain();
  EXPECT_THAT(
      log_.Lines(),
      HasSubstr("0123456789abcdef: host a: forced by alice: device 3 is "
                "in use by python (pid 7)"));
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
  TaskProgress progress;
  progress.set_task_id(attached_["a"].link->tasks()[0].task_id());
  progress.mutable_step()->set_step(1);
  progress.mutable_step()->set_state(StepOutcome::DONE);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(hosts_.OnProgress(attached_["a"].session, progress).ok());
  }
  absl::MutexLock lock(&mutex_);
  ASSERT_EQ(events_.size(), 2u);  // Done once, undone at most once.
  EXPECT_EQ(events_[0].step().host(), "a");
  EXPECT_EQ(events_[0].step().text(), "net.core.somaxconn: 128 -> 65535");
  EXPECT_EQ(events_[0].step().outcome().state(), StepOutcome::DONE);
}

TEST_F(ApplyRunTest, HostThatIsSilentUntilItsDeadlineIsLost) {
  ASSERT_TRUE(Start(Order(2, 1)).ok());
  Pass(absl::Minutes(2) - absl::Seconds(1));
  EXPECT_FALSE(ended());
  Pass(absl::Seconds(1));
  const ApplyReport report = Report();
  EXPECT_THAT(Outcomes(report),
              ElementsAre(ApplyResult::LOST, ApplyResult::NOT_STARTED));
  EXPECT_EQ(report.hosts(0).error(), "no answer in 2m");
}

TEST_F(ApplyRunTest, HostThatComesBackTellsHowItsApplyEnded) {
  ASSERT_TRUE(Start(Order(2, 1)).ok());
  Lose("a");
  Pass(absl::Seconds(20));
  EXPECT_FALSE(ended());
  Attach("a");
  EXPECT_TRUE(run_->OnPastApply("a", ResultOf(ApplyResult::APPLIED)));
  pool_.Drain();
  EXPECT_EQ(TasksOf("b"), 1u);
  // Told twice, as after each attaching.
  EXPECT_FALSE(run_->OnPastApply("a", ResultOf(ApplyResult::UNDONE)));
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
  EXPECT_THAT(Outcomes(report),
              ElementsAre(ApplyResult::LOST, ApplyResult::NOT_STARTED));
  EXPECT_EQ(report.hosts(0).error(),
            "its connection ended: the connection broke; it has not attached "
            "again since");
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
  EXPECT_THAT(Report().hosts(0).error(),
              HasSubstr("it attached again and did not tell how it ended"));
}

// It died after it was asked and before its journal began.
TEST_F(ApplyRunTest, HostThatIsBackAndKnowsNothingOfItIsNotWaitedFor) {
  ASSERT_TRUE(Start(Order(2, 1)).ok());
  Lose("a");
  Attach("a");
  PastApplies told;
  run_->OnPastApplies("a", told);
  EXPECT_FALSE(ended()) << "it has not said that this is all";
  told.set_knows_all(true);
  told.set_at_work(kRun);
  run_->OnPastApplies("a", told);
  EXPECT_FALSE(ended()) << "it is at it";
  told.set_at_work("another");
  told.add_journals("feedfeedfeedfeed");
  run_->OnPastApplies("z", told);
  run_->OnPastApplies("b", told);
  EXPECT_FALSE(ended()) << "another host says nothing of it";
  run_->OnPastApplies("a", told);
  pool_.Drain();
  EXPECT_EQ(Report().outcome(), ApplyReport::STOPPED);
  EXPECT_THAT(Outcomes(Report()),
              ElementsAre(ApplyResult::LOST, ApplyResult::NOT_STARTED));
  EXPECT_EQ(Report().hosts(0).error(),
            "its connection ended: the connection broke; it attached again "
            "and has no journal of it: not begun there");
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(ApplyRunTest, HostThatKnowsNothingYetItsAnswerIsStillToCome) {
  ASSERT_TRUE(Start(Order(1, 1)).ok());
  PastApplies told;
  told.set_knows_all(true);
  run_->OnPastApplies("a", told);
  EXPECT_FALSE(ended());
  Answer("a", ApplyResult::APPLIED);
  EXPECT_EQ(Report().outcome(), ApplyReport::SUCCEEDED);
}

TEST_F(ApplyRunTest, HostWithAJournalOfItHasUntilItsDeadline) {
  ASSERT_TRUE(Start(Order(1, 1)).ok());
  Lose("a");
  Attach("a");
  PastApplies told;
  told.set_knows_all(true);
  told.add_journals(kRun);
  run_->OnPastApplies("a", told);
  EXPECT_FALSE(ended());
  *told.add_results() = ResultOf(ApplyResult::UNDONE);
  run_->OnPastApplies("a", told);
  pool_.Drain();
  EXPECT_THAT(Outcomes(Report()), ElementsAre(ApplyResult::UNDONE));
}

TEST_F(ApplyRunTest, RollbackThatAHostDidNotBeginIsNotWaitedFor) {
  ASSERT_TRUE(Start(Order(3, 3, /*rollback=*/true)).ok());
  for (const char* host : {"a", "b", "c"}) {
    Lose(host);
    Attach(host);
  }
  PastApplies told;
  told.set_knows_all(true);
  run_->OnPastApplies("a", told);
  told.add_journals("feedfeedfeedfeed");
  run_->OnPastApplies("c", told);
  *told.add_results() = ResultOf(ApplyResult::APPLIED);
  run_->OnPastApplies("b", told);
  pool_.Drain();
  EXPECT_FALSE(ended()) << "c may have told of it, were it among the newest";
  EXPECT_TRUE(run_->OnPastApply("c", ResultOf(ApplyResult::ROLLED_BACK)));
  pool_.Drain();
  EXPECT_THAT(Outcomes(Report()),
              ElementsAre(ApplyResult::REFUSED, ApplyResult::LOST,
                          ApplyResult::ROLLED_BACK));
  EXPECT_THAT(Report().hosts(0).error(), HasSubstr("in effect here"));
  EXPECT_THAT(Report().hosts(1).error(),
              HasSubstr("it attached again and did not begin to take it back"));
}

TEST_F(ApplyRunTest, LateNewsOfLostHostStandsInTheReportAndDoesNotHealTheWave) {
  ASSERT_TRUE(Start(Order(3, 2)).ok());
  Lose("a");
  Pass(absl::Seconds(30));
  EXPECT_FALSE(ended());
  Attach("a");
  EXPECT_TRUE(run_->OnPastApply("a", ResultOf(ApplyResult::UNDONE)));
  Answer("b", ApplyResult::APPLIED);
  EXPECT_EQ(Report().outcome(), ApplyReport::STOPPED);
  EXPECT_THAT(Outcomes(Report()),
              ElementsAre(ApplyResult::UNDONE, ApplyResult::APPLIED,
                          ApplyResult::NOT_STARTED));
}

TEST_F(ApplyRunTest, RollbackWhoseLostHostTellsInTimeHasSucceeded) {
  ASSERT_TRUE(Start(Order(2, 1, /*rollback=*/true)).ok());
  Lose("a");
  Pass(absl::Seconds(30));
  ASSERT_EQ(TasksOf("b"), 1u);
  EXPECT_EQ(run_->progress().failed(), 1u);
  EXPECT_TRUE(run_->OnPastApply("a", ResultOf(ApplyResult::ROLLED_BACK)));
  EXPECT_EQ(run_->progress().failed(), 0u);
  EXPECT_EQ(run_->progress().done(), 1u);
  Answer("b", ApplyResult::ROLLED_BACK);
  EXPECT_EQ(Report().outcome(), ApplyReport::SUCCEEDED);
}

TEST_F(ApplyRunTest, NewsFromBeforeIsNoAnswerToTheTaskUnderWay) {
  ASSERT_TRUE(Start(Order(1, 1)).ok());
  EXPECT_FALSE(run_->OnPastApply("a", ResultOf(ApplyResult::APPLIED)));
  EXPECT_FALSE(ended());
  EXPECT_FALSE(run_->OnPastApply("z", ResultOf(ApplyResult::APPLIED)));
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
  EXPECT_THAT(Outcomes(report),
              ElementsAre(ApplyResult::REFUSED, ApplyResult::ROLLED_BACK,
                          ApplyResult::NOTHING_TO_DO));
  EXPECT_THAT(report.notes(), IsEmpty());
}

TEST_F(ApplyRunTest, HostWithoutTheJournalIsRefusedUnlessItWasLost) {
  ApplyOrder order = Order(3, 3, /*rollback=*/true);
  order.hosts[1].was_lost = true;
  auto plan = std::make_shared<ClusterPlan>(*order.plan);
  plan->set_plan_id("aaaabbbbccccdddd");
  order.plan = plan;
  ASSERT_TRUE(Start(std::move(order)).ok());
  AnswerWithoutJournal("a");
  AnswerWithoutJournal("b");
  Answer("c", ApplyResult::ROLLED_BACK);
  const ApplyReport report = Report();
  EXPECT_EQ(report.outcome(), ApplyReport::STOPPED);
  EXPECT_THAT(Outcomes(report),
              ElementsAre(ApplyResult::REFUSED, ApplyResult::NOTHING_TO_DO,
                          ApplyResult::ROLLED_BACK));
  EXPECT_EQ(report.hosts(0).error(),
            "no journal of it; the history has it as in effect here, so its "
            "settings stay; the old values are in clusterctl show "
            "aaaabbbbccccdddd; change the spec to what is wanted and plan "
            "again, or set it by hand");
  EXPECT_EQ(report.hosts(1).error(), "no journal of it");
  EXPECT_THAT(log_.Lines(), HasSubstr("host a: refused: no journal of it"));
}

TEST_F(ApplyRunTest, HostWithoutTheJournalIsNeverGoodWhateverItCallsIt) {
  ApplyOrder order = Order(1, 1, /*rollback=*/true);
  order.plan = nullptr;
  ASSERT_TRUE(Start(std::move(order)).ok());
  AnswerWithoutJournal("a", ApplyResult::NOTHING_TO_DO);
  EXPECT_EQ(Report().outcome(), ApplyReport::STOPPED);
  EXPECT_EQ(Report().hosts(0).outcome(), ApplyResult::REFUSED);
  EXPECT_THAT(Report().hosts(0).error(),
              HasSubstr("the plan with the old values is no longer in the "
                        "history"));
}

TEST_F(ApplyRunTest, ErrorIsNoProofThatNothingWasLeft) {
  ASSERT_TRUE(Start(Order(1, 1, /*rollback=*/true)).ok());
  TaskResult unknown;
  unknown.set_task_id(attached_["a"].link->tasks()[0].task_id());
  unknown.mutable_error()->set_code(
      static_cast<int>(absl::StatusCode::kNotFound));
  ASSERT_TRUE(hosts_.OnResult(attached_["a"].session, unknown).ok());
  pool_.Drain();
  EXPECT_EQ(Report().hosts(0).outcome(), ApplyResult::REFUSED);
}

TEST_F(ApplyRunTest, RollbackIsNotSettledByAnApplyThatStillStands) {
  ASSERT_TRUE(Start(Order(1, 1, /*rollback=*/true)).ok());
  Lose("a");
  Attach("a");
  EXPECT_FALSE(run_->OnPastApply("a", ResultOf(ApplyResult::APPLIED)));
  EXPECT_FALSE(ended());
  EXPECT_TRUE(run_->OnPastApply("a", ResultOf(ApplyResult::ROLLED_BACK)));
  pool_.Drain();
  EXPECT_EQ(Report().outcome(), ApplyReport::SUCCEEDED);
}

TEST_F(ApplyRunTest, WhatWasAskedForDecidesWhatARefusalSettles) {
  for (const auto outcome :
       {ApplyResult::REFUSED, ApplyResult::NOTHING_TO_DO}) {
    ApplyResult told = ResultOf(outcome);
    EXPECT_TRUE(SettlesHost(/*rollback=*/false, told));
    told.set_of_rollback(true);
    EXPECT_FALSE(SettlesHost(/*rollback=*/false, told));
    EXPECT_TRUE(SettlesHost(/*rollback=*/true, told));
  }
}

TEST_F(ApplyRunTest, MissingJournalThatIsToldAgainEndsTheWait) {
  ASSERT_TRUE(Start(Order(1, 1, /*rollback=*/true)).ok());
  Lose("a");
  ApplyResult told = ResultOf(ApplyResult::REFUSED, "no journal of it");
  told.set_no_journal(true);
  told.set_of_rollback(true);
  EXPECT_TRUE(run_->OnPastApply("a", told));
  pool_.Drain();
  EXPECT_THAT(Report().hosts(0).error(), HasSubstr("in effect here"));
  EXPECT_FALSE(Report().hosts(0).of_rollback());
}

TEST_F(ApplyRunTest, StopInterruptsAndKeepsWhatIsKnown) {
  ASSERT_TRUE(Start(Order(3, 2)).ok());
  Answer("a", ApplyResult::APPLIED);
  EXPECT_TRUE(run_->Stop());
  EXPECT_EQ(saved().back().outcome(), ApplyReport::INTERRUPTED);
  EXPECT_THAT(Outcomes(saved().back()),
              ElementsAre(ApplyResult::APPLIED, ApplyResult::LOST,
                          ApplyResult::NOT_STARTED));
  {
    absl::MutexLock lock(&mutex_);
    ASSERT_TRUE(end_.has_value());
    EXPECT_EQ(end_->status().code(), absl::StatusCode::kUnavailable);
  }
  // Nothing that comes now starts anything.
  Answer("b", ApplyResult::APPLIED);
  EXPECT_EQ(TasksOf("c"), 0u);
  EXPECT_FALSE(run_->Stop());
}

}  // namespace
}  // namespace clusterd
