// One run of changes on hosts a, b, c, ... that are attached without a network.
// The test answers for the hosts and moves the clock.
#ifndef TESTS_SUPPORT_CONTROLLER_APPLY_RUN_FIXTURE_H_
#define TESTS_SUPPORT_CONTROLLER_APPLY_RUN_FIXTURE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "config/values/version.h"
#include "config/words/message.h"
#include "daemon/controller/change/apply_run.h"
#include "daemon/process/worker_pool.h"
#include "gtest/gtest.h"
#include "tests/support/config/plan_steps.h"
#include "tests/support/controller/task_link.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/process/test_audit.h"

namespace clusterd {

inline constexpr char kRun[] = "0123456789abcdef";
inline constexpr char kBroke[] = "the connection broke";
inline constexpr char kFull[] = "the disk is full";
inline constexpr char kNoJournal[] = "no journal of it";

struct Host {
  std::shared_ptr<TaskLink> link;
  AttachedHosts::SessionId session = 0;
};

class ApplyRunTest : public testing::Test {
 protected:
  void Attach(const std::string& name) {
    Host& host = attached_[name];
    host.link = std::make_shared<TaskLink>();
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
    parts.audit = audit_.log();
    ApplyRun::Callbacks callbacks;
    callbacks.save = [this](const ApplyReport& report) {
      absl::MutexLock lock(&mutex_);
      if (!save_.ok()) return save_;
      saved_.push_back(Rendered(report));
      return absl::OkStatus();
    };
    callbacks.watcher.on_event = [this](ApplyEvent event) {
      absl::MutexLock lock(&mutex_);
      events_.push_back(Rendered(std::move(event)));
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

  // The history keeps nothing from now on.
  void DiskIsFull() {
    absl::MutexLock lock(&mutex_);
    save_ = absl::ResourceExhaustedError(kFull);
  }

  size_t TasksOf(const std::string& name) {
    return attached_[name].link->tasks().size();
  }

  // The host's answer to its newest task.
  void Answer(const std::string& name, ApplyResult::Outcome outcome,
              const std::string& error = "") {
    AnswerWith(name, ResultOf(outcome, error));
  }

  void AnswerWithoutJournal(
      const std::string& name,
      ApplyResult::Outcome outcome = ApplyResult::REFUSED) {
    ApplyResult result = ResultOf(outcome, kNoJournal);
    result.set_no_journal(true);
    AnswerWith(name, result);
  }

  void AnswerWith(const std::string& name, const ApplyResult& applied) {
    TaskResult result;
    *result.mutable_apply() = applied;
    AnswerTask(name, std::move(result));
  }

  void AnswerError(const std::string& name, absl::StatusCode code,
                   const std::string& message) {
    TaskResult result;
    result.mutable_error()->set_code(static_cast<int>(code));
    result.mutable_error()->set_message(message);
    AnswerTask(name, std::move(result));
  }

  void AnswerTask(const std::string& name, TaskResult result) {
    const Host& host = attached_[name];
    ASSERT_FALSE(host.link->tasks().empty()) << name << " was not asked";
    result.set_task_id(host.link->tasks().back().task_id());
    EXPECT_TRUE(hosts_.OnResult(host.session, std::move(result)).ok());
    pool_.Drain();
  }

  // The host has done this step of its newest task.
  void TellStep(const std::string& name, uint32_t step) {
    const Host& host = attached_[name];
    TaskProgress progress;
    progress.set_task_id(host.link->tasks().back().task_id());
    progress.mutable_step()->set_step(step);
    progress.mutable_step()->set_state(StepOutcome::DONE);
    ASSERT_TRUE(hosts_.OnProgress(host.session, std::move(progress)).ok());
  }

  ApplyResult ResultOf(ApplyResult::Outcome outcome,
                       const std::string& error = "") {
    ApplyResult result;
    result.set_apply_id(apply_id_);
    result.set_outcome(outcome);
    result.set_error(error);
    result.add_facts_after()->mutable_key()->set_conf_key("mtu");
    return result;
  }

  // The host reports this result of an earlier apply. True if it is news.
  bool Tell(const std::string& name, const ApplyResult& result) {
    PastApplies past;
    *past.add_results() = result;
    return run_->OnPastApplies(name, past);
  }

  void Lose(const std::string& name) {
    hosts_.Detach(attached_[name].session, ToFindingValue(kBroke));
    pool_.Drain();
  }

  // No host is attached and no run has ended, as at the beginning.
  void Restart() {
    for (const auto& [name, host] : attached_) Lose(name);
    absl::MutexLock lock(&mutex_);
    end_.reset();
  }

  void Pass(absl::Duration time) {
    scheduler_.Advance(time);
    pool_.Drain();
  }

  bool ended() {
    absl::MutexLock lock(&mutex_);
    return end_.has_value();
  }

  // REQUIRES: the run has ended with a report.
  ApplyReport Report() {
    absl::MutexLock lock(&mutex_);
    EXPECT_TRUE(end_.has_value() && end_->ok());
    return end_.has_value() && end_->ok() ? Rendered(**end_) : ApplyReport();
  }

  // "APPLIED LOST", by host.
  static std::string Outcomes(const ApplyReport& report) {
    return absl::StrJoin(
        report.hosts(), " ", [](std::string* text, const ApplyResult& host) {
          absl::StrAppend(text, ApplyResult::Outcome_Name(host.outcome()));
        });
  }

  std::vector<ApplyReport> saved() {
    absl::MutexLock lock(&mutex_);
    return saved_;
  }

  ManualScheduler scheduler_;
  CapturedLog log_;
  TestAudit audit_;
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

}  // namespace clusterd

#endif  // TESTS_SUPPORT_CONTROLLER_APPLY_RUN_FIXTURE_H_
