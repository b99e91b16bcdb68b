// A controller's changes with a history of its own. Hosts server0, server1 and
// server2 are attached without a network; the test answers for them and moves
// the clock.
#ifndef TESTS_SUPPORT_CONTROLLER_CLUSTER_CHANGES_FIXTURE_H_
#define TESTS_SUPPORT_CONTROLLER_CLUSTER_CHANGES_FIXTURE_H_

#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "config/plan/make_plan.h"
#include "config/spec/spec_loader.h"
#include "config/values/version.h"
#include "config/words/message.h"
#include "daemon/controller/change/cluster_changes.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/controller/queue/fact_queue.h"
#include "daemon/process/worker_pool.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/config/plan_steps.h"
#include "tests/support/controller/task_link.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/process/test_audit.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {

class ClusterChangesTest : public testing::Test {
 protected:
  ClusterChangesTest() {
    path_ = absl::StrCat(
        testing::TempDir(), "/",
        testing::UnitTest::GetInstance()->current_test_info()->name(), ".yaml");
    WriteSpec("atlas-training");
    spec_ = *SpecHolder::Open(path_, "test", &scheduler_);
    history_ = OpenStore(NewStateFolder());
    StartController();
  }

  void WriteSpec(const std::string& product) {
    std::ofstream(path_) << SpecToYaml(MakeSpec(product, "", 3));
  }

  // Starts a new controller; if the last one was not stopped, as if killed.
  void StartController() {
    ControllerParts parts;
    parts.hosts = &hosts_;
    parts.queue = &queue_;
    parts.spec = spec_.get();
    parts.history = history_.get();
    parts.scheduler = &scheduler_;
    parts.pool = &pool_;
    parts.log = &log_;
    parts.audit = audit_.log();
    changes_ = std::make_unique<ClusterChanges>(parts);
    changes_->Recover();
  }

  void Attach(const std::string& name) {
    auto link = std::make_shared<TaskLink>();
    Attachment attachment;
    attachment.host = name;
    attachment.hello.set_protocol_version(kProtocolVersion);
    attachment.hello.add_tasks("apply");
    attachment.hello.add_tasks("rollback");
    if (knows_confirm_) attachment.hello.add_tasks("confirm");
    attachment.link = link;
    sessions_[name] = *hosts_.Attach(std::move(attachment));
    links_[name] = link;
  }

  // One step on each of the first `hosts` servers, none on the others.
  ClusterPlan MakePlan(int hosts) {
    ClusterPlan plan;
    plan.set_schema_version(kPlanSchemaVersion);
    plan.set_cluster("test");
    plan.set_spec_sha256(SpecSha256(*spec_->spec()));
    for (int i = 0; i < 3; ++i) {
      HostPlan* const host = plan.add_hosts();
      host->set_host(absl::StrCat("server", i));
      if (i >= hosts) continue;
      PlanStep* const step = host->add_steps();
      *step = RunningStep("net.core.somaxconn", "128", "65535");
      step->set_id(1);
    }
    plan.set_plan_id("aaaabbbbccccdddd");
    plan.set_digest(PlanDigest(plan));
    return plan;
  }

  static ChangeRequest By(const std::string& actor) {
    ChangeRequest request;
    request.caller.set_who(actor);
    request.from = "operator, ipv4:10.0.0.9:5123";
    return request;
  }

  ApplyWatcher Watch() {
    ApplyWatcher watcher;
    watcher.on_end = [this](absl::StatusOr<ApplyReport> report) {
      absl::MutexLock lock(&mutex_);
      end_ = std::move(report);
    };
    return watcher;
  }

  absl::StatusOr<std::shared_ptr<ApplyRun>> Start(
      const ChangeRequest& request) {
    auto run = changes_->Start(request, Watch());
    pool_.Drain();
    return run;
  }

  absl::StatusOr<std::shared_ptr<ApplyRun>> Apply(
      const ClusterPlan& plan, ChangeRequest request = By("alice")) {
    request.plan = std::make_shared<const ClusterPlan>(plan);
    return Start(request);
  }

  absl::StatusOr<std::shared_ptr<ApplyRun>> RollBack(
      const std::string& apply_id) {
    ChangeRequest request = By("bob");
    request.rollback_of = apply_id;
    return Start(request);
  }

  // The id of the run, which must begin. `options`: as text.
  std::string Begin(const ClusterPlan& plan, const char* options = "") {
    ChangeRequest request = By("alice");
    MergeText(options, &request.options);
    const auto run = Apply(plan, request);
    EXPECT_TRUE(run.ok()) << run.status();
    return run.ok() ? (*run)->run_id() : "";
  }

  void Pass(absl::Duration time) {
    scheduler_.Advance(time);
    pool_.Drain();
  }

  // The host's stream has ended for so long that it is lost.
  void LoseForGood(const std::string& name) {
    hosts_.Detach(sessions_[name], ToFindingValue("the connection broke"));
    Pass(absl::Seconds(30));
  }

  void Answer(const std::string& name, ApplyResult::Outcome outcome,
              bool no_journal = false) {
    ASSERT_FALSE(links_[name]->tasks().empty()) << name << " was not asked";
    const Task task = links_[name]->tasks().back();
    TaskResult result;
    result.mutable_apply()->set_apply_id(task.has_apply()
                                             ? task.apply().apply_id()
                                             : task.rollback().apply_id());
    result.mutable_apply()->set_outcome(outcome);
    result.mutable_apply()->set_no_journal(no_journal);
    AnswerWith(name, std::move(result));
  }

  void Report(const std::string& name, const std::string& apply_id,
              ApplyResult::Outcome outcome) {
    PastApplies past;
    past.add_results()->set_apply_id(apply_id);
    past.mutable_results(0)->set_host(name);
    past.mutable_results(0)->set_outcome(outcome);
    changes_->OnPastApplies(name, past);
  }
  void Tell(const std::string& name, const std::string& apply_id,
            ApplyResult::Outcome outcome) {
    Report(name, apply_id, outcome);
    pool_.Drain();
  }

  // Blocks and fills the pool until `go_on`.
  void FillPool(absl::Notification* go_on) {
    absl::Notification begun;
    ASSERT_TRUE(pool_.TryRun([&begun, go_on] {
      begun.Notify();
      go_on->WaitForNotification();
    }));
    begun.WaitForNotification();
    while (pool_.TryRun([] {})) continue;
  }

  // Sends the host's answer to its newest task.
  void AnswerWith(const std::string& name, TaskResult result) {
    ASSERT_FALSE(links_[name]->tasks().empty()) << name << " was not asked";
    result.set_task_id(links_[name]->tasks().back().task_id());
    ASSERT_TRUE(hosts_.OnResult(sessions_[name], std::move(result)).ok());
    pool_.Drain();
  }

  ApplyReport Kept(const std::string& run_id) {
    const auto record = history_->Get(run_id);
    EXPECT_TRUE(record.ok()) << record.status();
    return record.ok() ? Rendered(record->apply()) : ApplyReport();
  }

  ApplyResult::Outcome KeptOutcome(const std::string& run_id, int host) {
    const ApplyReport report = Kept(run_id);
    return host < report.hosts_size() ? report.hosts(host).outcome()
                                      : ApplyResult::OUTCOME_UNSPECIFIED;
  }

  bool knows_confirm_ = true;  // For hosts that attach from now on.
  ManualScheduler scheduler_;
  CapturedLog log_;
  TestAudit audit_;
  std::string path_;
  std::unique_ptr<SpecHolder> spec_;
  std::unique_ptr<HistoryStore> history_;
  AttachedHosts hosts_{&scheduler_, &log_};
  FactQueue queue_{
      ControllerParts{nullptr, nullptr, &scheduler_, &pool_, &log_, &hosts_}};
  std::map<std::string, std::shared_ptr<TaskLink>> links_;
  std::map<std::string, AttachedHosts::SessionId> sessions_;
  absl::Mutex mutex_;
  std::optional<absl::StatusOr<ApplyReport>> end_ ABSL_GUARDED_BY(mutex_);
  WorkerPool pool_{1, 8};
  std::unique_ptr<ClusterChanges> changes_;
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_CONTROLLER_CLUSTER_CHANGES_FIXTURE_H_
