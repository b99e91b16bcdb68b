#include "daemon/controller/check_run.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "config/version/version.h"
#include "daemon/log/recording_log.h"
#include "daemon/process/manual_scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A host that is asked and answers when the test says so.
class FakeLink final : public HostLink {
 public:
  void Send(HubMessage message) override {
    absl::MutexLock lock(&mutex_);
    if (message.has_task()) task_ = message.task().task_id();
    if (message.has_cancel()) cancelled_ = true;
  }
  void Close(const absl::Status&) override {}

  uint64_t WaitForTask() {
    absl::MutexLock lock(&mutex_);
    const auto asked = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return task_ != 0;
    };
    EXPECT_TRUE(
        mutex_.AwaitWithTimeout(absl::Condition(&asked), absl::Seconds(30)));
    return task_;
  }
  // A run that is cancelled while it still asks cancels its task a moment
  // later.
  bool WaitForCancel() {
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&cancelled_),
                                   absl::Seconds(30));
  }

 private:
  absl::Mutex mutex_;
  uint64_t task_ ABSL_GUARDED_BY(mutex_) = 0;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

class CheckRunTest : public testing::Test {
 protected:
  struct Host {
    std::shared_ptr<FakeLink> link;
    uint64_t session;
  };

  Host Attach(const std::string& name) {
    auto link = std::make_shared<FakeLink>();
    Attachment attachment;
    attachment.host = name;
    attachment.hello.set_protocol_version(kProtocolVersion);
    attachment.link = link;
    const auto session = hosts_.Attach(std::move(attachment));
    EXPECT_TRUE(session.ok()) << session.status();
    return {link, *session};
  }

  void Answer(const Host& host, int server) {
    TaskResult result;
    result.set_task_id(host.link->WaitForTask());
    *result.mutable_facts() = MakeHealthyHost(*spec_, spec_->servers(server));
    EXPECT_TRUE(hosts_.OnResult(host.session, std::move(result)).ok());
  }

  std::shared_ptr<FactRun> Start() { return Start(spec_); }

  std::shared_ptr<FactRun> Start(std::shared_ptr<const ClusterSpec> spec) {
    CheckOrder order;
    order.run_id = "run";
    order.spec = spec;
    order.hosts = *SelectHosts(*spec, CheckRequest().hosts());
    CheckCallbacks callbacks;
    callbacks.on_report = [this](Report report) {
      report_ = std::move(report);
      reported_.Notify();
    };
    auto run = MakeCheckRun(std::move(order),
                            FactRun::Parts{&hosts_, &scheduler_, &pool_},
                            std::move(callbacks));
    EXPECT_TRUE(run->Start().ok());
    return run;
  }

  const Report& WaitForReport() {
    EXPECT_TRUE(reported_.WaitForNotificationWithTimeout(absl::Seconds(30)));
    return report_;
  }

  const std::shared_ptr<const ClusterSpec> spec_ =
      std::make_shared<const ClusterSpec>(MakeSpec("atlas-training", "", 2));
  ManualScheduler scheduler_;
  RecordingLog log_;
  AttachedHosts hosts_{&scheduler_, &log_};
  Report report_;
  absl::Notification reported_;
  WorkerPool pool_{1, 8};
};

TEST_F(CheckRunTest, ReportsWhenTheLastHostHasAnswered) {
  const Host host0 = Attach("server0");
  const Host host1 = Attach("server1");
  const auto run = Start();
  Answer(host0, 0);
  host1.link->WaitForTask();
  EXPECT_EQ(run->progress().answered(), 1u);
  EXPECT_EQ(run->progress().pending(), 1u);
  EXPECT_THAT(run->progress().awaited(), ElementsAre("server1"));
  EXPECT_FALSE(reported_.HasBeenNotified());
  scheduler_.Advance(absl::Seconds(3));
  Answer(host1, 1);
  const Report& report = WaitForReport();
  EXPECT_EQ(report.verdict(), PASS) << report.DebugString();
  EXPECT_EQ(report.run_id(), "run");
  EXPECT_EQ(report.elapsed_ms(), 3000u);
  EXPECT_EQ(report.clusterd_version(), kClusterdVersion);
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(CheckRunTest, NeverKeepsTheAnsweringThreadWhileThePoolIsFull) {
  const Host host0 = Attach("server0");
  const Host host1 = Attach("server1");
  const auto run = Start();
  host1.link->WaitForTask();
  pool_.Drain();
  absl::Notification go_on;
  absl::Notification begun;
  ASSERT_TRUE(pool_.TryRun([&begun, &go_on] {
    begun.Notify();
    go_on.WaitForNotification();
  }));
  begun.WaitForNotification();
  while (pool_.TryRun([] {})) continue;
  Answer(host0, 0);
  Answer(host1, 1);
  EXPECT_FALSE(reported_.HasBeenNotified());
  go_on.Notify();
  pool_.Drain();
  scheduler_.Advance(absl::Seconds(1));
  EXPECT_EQ(WaitForReport().verdict(), PASS);
}

TEST_F(CheckRunTest, KeepsWhatIsThereAtTheRunsDeadline) {
  ClusterSpec patient = *spec_;
  patient.mutable_deadlines()->set_host_ms(600000);
  patient.mutable_deadlines()->set_run_ms(60000);
  const auto spec = std::make_shared<const ClusterSpec>(patient);
  const Host host0 = Attach("server0");
  const Host host1 = Attach("server1");
  const auto run = Start(spec);
  Answer(host0, 0);
  host1.link->WaitForTask();
  // The run's own timer and that of the one task.
  ASSERT_TRUE(scheduler_.WaitForPending(2));
  scheduler_.Advance(absl::Minutes(1));
  const Report& report = WaitForReport();
  EXPECT_EQ(report.verdict(), UNKNOWN);
  ASSERT_EQ(report.hosts_size(), 2);
  EXPECT_EQ(report.hosts(0).state(), PASS);
  EXPECT_EQ(report.hosts(1).no_facts_reason(),
            "timed out: no answer in 1m (deadlines.run)");
  EXPECT_TRUE(host1.link->WaitForCancel());
}

TEST_F(CheckRunTest, NeverReportsAfterCancel) {
  const Host host0 = Attach("server0");
  const auto run = Start();
  host0.link->WaitForTask();
  run->Cancel();
  run->Cancel();
  EXPECT_TRUE(host0.link->WaitForCancel());
  scheduler_.Advance(absl::Hours(1));
  absl::Notification drained;
  ASSERT_TRUE(pool_.TryRun([&drained] { drained.Notify(); }));
  drained.WaitForNotification();
  EXPECT_FALSE(reported_.HasBeenNotified());
}

TEST_F(CheckRunTest, ReportsAtOnceWhenNobodyIsAttached) {
  const auto run = Start();
  const Report& report = WaitForReport();
  EXPECT_EQ(report.verdict(), UNKNOWN);
  EXPECT_EQ(run->progress().failed(), 2u);
}

}  // namespace
}  // namespace clusterd
