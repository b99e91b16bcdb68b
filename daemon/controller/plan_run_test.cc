#include "daemon/controller/plan_run.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "config/plan/plan_digest.h"
#include "config/version/version.h"
#include "daemon/log/recording_log.h"
#include "daemon/process/manual_scheduler.h"
#include "daemon/process/worker_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// A host that says what it is asked.
class FakeLink final : public HostLink {
 public:
  void Send(HubMessage message) override {
    absl::MutexLock lock(&mutex_);
    if (message.has_task()) task_ = message.task();
  }
  void Close(const absl::Status&) override {}

  Task WaitForTask() {
    absl::MutexLock lock(&mutex_);
    const auto asked = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return task_.task_id() != 0;
    };
    EXPECT_TRUE(
        mutex_.AwaitWithTimeout(absl::Condition(&asked), absl::Seconds(30)));
    return task_;
  }

 private:
  absl::Mutex mutex_;
  Task task_ ABSL_GUARDED_BY(mutex_);
};

TEST(PlanRunTest, PlansForHostsThatAnswerAndBlocksTheOthers) {
  const auto spec =
      std::make_shared<const ClusterSpec>(MakeSpec("atlas-training", "", 2));
  ManualScheduler scheduler;
  RecordingLog log;
  AttachedHosts hosts(&scheduler, &log);
  WorkerPool pool(1, 8);
  const auto link = std::make_shared<FakeLink>();
  Attachment attachment;
  attachment.host = "server0";
  attachment.hello.set_protocol_version(kProtocolVersion);
  attachment.link = link;
  const auto session = hosts.Attach(std::move(attachment));
  ASSERT_TRUE(session.ok());

  PlanOrder order;
  order.plan_id = "0123456789abcdef";
  order.actor = "alice";
  order.spec = spec;
  order.hosts = *SelectHosts(*spec, {});
  order.network_namespace.set_container("train");
  ClusterPlan plan;
  absl::Notification planned;
  PlanCallbacks callbacks;
  callbacks.on_plan = [&](ClusterPlan made) {
    plan = std::move(made);
    planned.Notify();
  };
  const auto run =
      MakePlanRun(std::move(order), FactRun::Parts{&hosts, &scheduler, &pool},
                  std::move(callbacks));
  ASSERT_TRUE(run->Start().ok());
  const Task task = link->WaitForTask();
  EXPECT_EQ(task.observe().network_namespace().container(), "train");
  TaskResult result;
  result.set_task_id(task.task_id());
  *result.mutable_facts() = MakeHealthyHost(*spec, spec->servers(0));
  ASSERT_TRUE(hosts.OnResult(*session, std::move(result)).ok());

  ASSERT_TRUE(planned.WaitForNotificationWithTimeout(absl::Seconds(30)));
  pool.Drain();
  EXPECT_EQ(plan.plan_id(), "0123456789abcdef");
  EXPECT_EQ(plan.created_by(), "alice");
  EXPECT_EQ(plan.created_at_ms(), absl::ToUnixMillis(scheduler.Now()));
  EXPECT_TRUE(VerifyPlan(plan).ok()) << VerifyPlan(plan);
  ASSERT_EQ(plan.hosts_size(), 2);
  EXPECT_EQ(plan.hosts(0).host(), "server0");
  ASSERT_EQ(plan.hosts(1).blocked_size(), 1);
  EXPECT_THAT(plan.hosts(1).blocked(0).reason(), HasSubstr("never attached"));
  EXPECT_EQ(run->progress().answered(), 1u);
  EXPECT_EQ(run->progress().failed(), 1u);
}

}  // namespace
}  // namespace clusterd
