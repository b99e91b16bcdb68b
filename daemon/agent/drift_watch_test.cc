#include "daemon/agent/drift_watch.h"

#include <functional>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "config/values/change_kind.h"
#include "daemon/agent/apply/veto.h"
#include "gtest/gtest.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/process/test_audit.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

// Journals of a host with one apply in effect.
std::vector<JournalState> OneApply() {
  std::vector<JournalState> journals(1);
  journals[0].phase = HOST_APPLIED;
  return journals;
}

// A host whose checks and reports are recorded.
class Watched {
 public:
  Watched() { record.EndChange(OneApply()); }

  DriftWatch::Parts Parts() {
    DriftWatch::Parts parts;
    parts.observe = [this] {
      if (during_round) during_round();
      HostFacts facts;
      absl::MutexLock lock(&mutex_);
      facts.set_observed_at_ms(++rounds_);
      return facts;
    };
    parts.record = &record;
    parts.send = [this](DriftReport report) {
      absl::MutexLock lock(&mutex_);
      sent_.push_back(std::move(report));
    };
    parts.random = [this] { return random; };
    parts.scheduler = &scheduler;
    parts.pool = &pool;
    return parts;
  }

  bool WaitForSent(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto there = [this, count]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return sent_.size() >= count;
    };
    return mutex_.AwaitWithTimeout(absl::Condition(&there), kPatience);
  }
  size_t sent() {
    absl::MutexLock lock(&mutex_);
    return sent_.size();
  }
  DriftReport last() {
    absl::MutexLock lock(&mutex_);
    return sent_.back();
  }
  int rounds() {
    absl::MutexLock lock(&mutex_);
    return rounds_;
  }

  AppliesRecord record;
  std::function<void()> during_round;
  double random = 0.5;
  ManualScheduler scheduler;

 private:
  absl::Mutex mutex_;
  int rounds_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<DriftReport> sent_ ABSL_GUARDED_BY(mutex_);

 public:
  WorkerPool pool{2, 4};  // Last: uses everything above.
};

TEST(DriftWatchTest, TellsOnAttachAndOnTheInterval) {
  Watched host;
  DriftWatch watch(absl::Minutes(10), host.Parts());
  EXPECT_EQ(host.scheduler.pending(), 0);
  watch.OnAttached(true);
  ASSERT_TRUE(host.scheduler.WaitForPending(1));
  ASSERT_EQ(host.sent(), 1u);
  EXPECT_TRUE(host.last().drift().has_value());
  EXPECT_EQ(host.last().observed_at_ms(), 1);
  EXPECT_EQ(host.scheduler.UntilNext(), absl::Minutes(10));
  host.scheduler.Advance(absl::Minutes(10));
  ASSERT_TRUE(host.WaitForSent(2));
  watch.Stop();
}

TEST(DriftWatchTest, LeavesAMachineAloneThatNothingIsAppliedTo) {
  Watched host;
  host.record.EndChange(std::vector<JournalState>());
  DriftWatch watch(absl::Minutes(10), host.Parts());
  watch.OnAttached(true);
  ASSERT_TRUE(host.WaitForSent(1));
  EXPECT_EQ(host.rounds(), 0);
  EXPECT_TRUE(host.last().drift().has_value());
  EXPECT_EQ(host.last().drift().value().drifts_size(), 0);
  EXPECT_EQ(host.last().observed_at_ms(),
            absl::ToUnixMillis(host.scheduler.Now()));
  // The first apply changes that.
  host.record.EndChange(OneApply());
  watch.OnChanged();
  ASSERT_TRUE(host.WaitForSent(2));
  EXPECT_EQ(host.rounds(), 1);
  watch.Stop();
}

TEST(DriftWatchTest, DoesNotReadInStepWithOthers) {
  for (const double random : {0.0, 0.999999}) {
    Watched host;
    host.random = random;
    DriftWatch watch(absl::Minutes(10), host.Parts());
    watch.OnAttached(true);
    ASSERT_TRUE(host.scheduler.WaitForPending(1));
    const double minutes = absl::ToDoubleMinutes(host.scheduler.UntilNext());
    EXPECT_NEAR(minutes, random < 0.5 ? 9 : 11, 0.01);
  }
}

TEST(DriftWatchTest, IsQuietWhileNobodyListens) {
  Watched host;
  DriftWatch watch(absl::Minutes(10), host.Parts());
  watch.OnChanged();
  watch.OnAttached(true);
  ASSERT_TRUE(host.scheduler.WaitForPending(1));
  watch.OnAttached(false);
  EXPECT_EQ(host.scheduler.pending(), 0);
  watch.OnChanged();
  watch.Stop();
  EXPECT_EQ(host.rounds(), 1);
}

TEST(DriftWatchTest, NeverReadsTwiceAtOnceAndOnceMoreAfterwards) {
  Watched host;
  absl::Notification first_round;
  absl::Notification go_on;
  host.during_round = [&] {
    if (!first_round.HasBeenNotified()) first_round.Notify();
    go_on.WaitForNotification();
  };
  // Without an interval it has rounds only on attach and on changes.
  DriftWatch watch(absl::ZeroDuration(), host.Parts());
  watch.OnAttached(true);
  first_round.WaitForNotification();
  for (int i = 0; i < 5; ++i) watch.OnChanged();
  EXPECT_EQ(host.rounds(), 0);
  go_on.Notify();
  ASSERT_TRUE(host.WaitForSent(2));
  watch.Stop();
  EXPECT_EQ(host.rounds(), 2);
  EXPECT_EQ(host.scheduler.pending(), 0);
}

TEST(DriftWatchTest, WaitsForTheEndOfAnApply) {
  Watched host;
  DriftWatch watch(absl::ZeroDuration(), host.Parts());
  host.record.BeginChange();
  watch.OnAttached(true);
  EXPECT_EQ(host.rounds(), 0);
  host.record.EndChange(OneApply());
  watch.OnChanged();
  ASSERT_TRUE(host.WaitForSent(1));
  EXPECT_TRUE(host.last().drift().has_value());
}

TEST(DriftWatchTest, DoesNotTellWhatItSawDuringAnApply) {
  Watched host;
  bool first = true;
  DriftWatch* notified = nullptr;
  host.during_round = [&] {
    if (!std::exchange(first, false)) return;
    host.record.BeginChange();
    host.record.EndChange(OneApply());
    notified->OnChanged();
  };
  DriftWatch watch(absl::ZeroDuration(), host.Parts());
  notified = &watch;
  watch.OnAttached(true);
  ASSERT_TRUE(host.WaitForSent(1));
  watch.Stop();
  EXPECT_EQ(host.rounds(), 2);
  EXPECT_EQ(host.sent(), 1u);
  EXPECT_EQ(host.last().observed_at_ms(), 2);
}

// Observes whether it was asked to log in.
class LoginObserver final : public HostObserver {
 public:
  HostFacts ObserveFor(const std::string&, const ObserveRequest& request,
                       const Asker&) override {
    asked_ = request.has_ssh();
    HostFacts facts;
    if (asked_) facts.mutable_ssh()->mutable_value()->add_logins();
    return facts;
  }
  bool asked() const { return asked_; }

 private:
  bool asked_ = false;
};

HostFacts ObserveLogins(const HostAllows& allows, AuditLog* audit,
                        LoginObserver* observer) {
  AppliesRecord record;
  AgentObserver agent(
      observer, &record, [&] { return allows; }, audit);
  ObserveRequest request;
  request.mutable_ssh()->set_user("ann");
  request.mutable_ssh()->set_actor("ada");
  request.mutable_ssh()->add_peers();
  return agent.Observe("node07", request);
}

TEST(AgentObserverAuditTest, HasALineBeforeAndAfterLoggingInToOthers) {
  TestAudit audit;
  LoginObserver observer;
  ObserveLogins(AllowsOnly({CHANGE_SSH_LOGIN}), audit.log(), &observer);
  EXPECT_TRUE(observer.asked());
  ObserveLogins(AllowsOnly({CHANGE_OBSERVE}), audit.log(), &observer);
  EXPECT_FALSE(observer.asked());
  const std::string login =
      "ada ssh-login as user \"ann\" to servers of a job of 1: ";
  EXPECT_EQ(audit.Lines(),
            (std::vector<std::string>{
                login + "begins", login + "ended: 1 logins tried",
                login + "refused: PERMISSION_DENIED: ssh-login"}));
}

TEST(AgentObserverAuditTest, LogsInNowhereWhileThereIsNoFile) {
  TestAudit audit(/*writable=*/false);
  LoginObserver observer;
  const HostFacts facts =
      ObserveLogins(AllowsOnly({CHANGE_SSH_LOGIN}), audit.log(), &observer);
  EXPECT_FALSE(observer.asked());
  EXPECT_EQ(facts.ssh().missing().reason(), Missing::NOT_QUERIED);
}

}  // namespace
}  // namespace clusterd
