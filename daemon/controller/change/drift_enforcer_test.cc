#include "daemon/controller/change/drift_enforcer.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/plan/kernel_parameters.h"
#include "config/plan/make_plan.h"
#include "config/plan/settings.h"
#include "config/words/subject_text.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/fact_limits.h"
#include "daemon/process/worker_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/good_cluster.h"
#include "tests/support/controller/task_link.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/manual_scheduler.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

constexpr char kHost[] = "node-01";

DriftFact SomaxconnDrift() {
  DriftFact fact;
  AppliedDrift* drift = fact.mutable_value()->add_drifts();
  drift->set_apply_id("aa");
  drift->set_kind("sysctl");
  *drift->mutable_target() = KernelFact(kSomaxconnKey, SETTING_RUNNING);
  drift->mutable_to()->set_number(65535);
  return fact;
}

DriftReport Report(const DriftFact& drift) {
  DriftReport report;
  *report.mutable_drift() = drift;
  return report;
}

DriftReport Clean() {
  DriftFact fact;
  fact.mutable_value();
  return Report(fact);
}

// Two hosts whose somaxconn is 128, a spec that enforces sysctl, and a record
// of applies by the enforcer_.
struct Cluster {
  Cluster() {
    spec.add_enforce("sysctl");
    spec.mutable_deadlines()->set_host_ms(10'000);
    spec.mutable_deadlines()->set_run_ms(60'000);
    facts.mutable_kernel()->mutable_somaxconn()->set_value(128);
    *facts.mutable_drift() = SomaxconnDrift();
    for (const char* host : {kHost, "node-02"}) {
      Attachment attachment;
      attachment.host = host;
      attachment.hello.set_machine_id(host);
      attachment.link = links[host] = std::make_shared<TaskLink>();
      sessions[host] = *hosts.Attach(attachment);
    }
  }
  ~Cluster() { queue.Stop(); }

  DriftEnforcer::Parts Parts() {
    DriftEnforcer::Parts parts;
    parts.spec = [this] { return std::make_shared<const ClusterSpec>(spec); };
    parts.apply = [this](std::shared_ptr<const ClusterPlan> plan,
                         const DriftEnforcer::OnApplied& done) {
      plans.push_back(*plan);
      if (!refusal.ok()) return refusal;
      ApplyReport report;
      report.set_run_id("bb");
      report.set_outcome(outcome);
      report.add_hosts()->set_error(error);
      done(report);
      return absl::OkStatus();
    };
    parts.queue = &queue;
    parts.scheduler = &scheduler;
    parts.log = &log;
    return parts;
  }

  // The hosts that are asked now answer, and the try that is under way ends.
  void WaitForTry() {
    pool.Drain();
    for (const auto& [host, link] : links) {
      for (const Task& task : link->Take()) {
        observed.push_back(host);
        TaskResult result;
        result.set_task_id(task.task_id());
        if (no_facts.ok()) {
          *result.mutable_facts() = facts;
        } else {
          *result.mutable_error() = ToTaskError(no_facts);
        }
        EXPECT_TRUE(hosts.OnResult(sessions[host], result).ok());
      }
    }
    pool.Drain();
  }
  std::string Logged() { return log.Lines(); }

  ClusterSpec spec = GoodSpec();
  HostFacts facts = GoodFacts(kHost);
  absl::Status refusal;
  ApplyReport::Outcome outcome = ApplyReport::SUCCEEDED;
  std::string error;
  std::vector<std::string> observed;
  std::vector<ClusterPlan> plans;
  absl::Status no_facts;  // Instead of the facts, if it is an error.
  std::map<std::string, std::shared_ptr<TaskLink>> links;
  std::map<std::string, AttachedHosts::SessionId> sessions;
  ManualScheduler scheduler;
  CapturedLog log;
  AttachedHosts hosts{&scheduler, &log};
  FactQueue queue{
      ControllerParts{nullptr, nullptr, &scheduler, &pool, &log, &hosts}};
  WorkerPool pool{1, 4};
};

class DriftEnforcerTest : public testing::Test {
 protected:
  void OnDrift(const std::string& host = kHost) {
    enforcer_.OnDrift(host, Report(SomaxconnDrift()));
  }
  // Reports drift, and waits for the end of the try.
  void Try() {
    OnDrift();
    cluster_.WaitForTry();
  }

  Cluster cluster_;
  DriftEnforcer enforcer_{cluster_.Parts()};
};

TEST_F(DriftEnforcerTest, AppliesWhatDriftedAndNothingElse) {
  cluster_.facts.mutable_kernel()->mutable_tcp_max_syn_backlog()->set_value(1);
  Try();
  ASSERT_EQ(cluster_.plans.size(), 1u);
  const ClusterPlan& plan = cluster_.plans[0];
  ASSERT_EQ(plan.hosts_size(), 1);
  EXPECT_EQ(plan.hosts(0).host(), kHost);
  ASSERT_EQ(plan.hosts(0).steps_size(), 1);
  EXPECT_EQ(StepText(plan.hosts(0).steps(0)),
            "net.core.somaxconn: 128 -> 65535");
  EXPECT_EQ(plan.created_by(), ControllerActor(plan.cluster()));
  EXPECT_TRUE(VerifyPlan(plan).ok()) << VerifyPlan(plan);
  EXPECT_THAT(cluster_.Logged(), HasSubstr("apply bb: put back"));
}

TEST_F(DriftEnforcerTest, DoesNothingUnlessTheSpecSaysSo) {
  cluster_.spec.clear_enforce();
  OnDrift();
  cluster_.spec.add_enforce("firewall");
  OnDrift();
  EXPECT_TRUE(cluster_.observed.empty());
  EXPECT_EQ(cluster_.scheduler.pending(), 0);
}

TEST_F(DriftEnforcerTest, LeavesHostsAloneThatTheSpecDoesNotName) {
  OnDrift("node-99");
  EXPECT_TRUE(cluster_.observed.empty());
}

TEST_F(DriftEnforcerTest, WaitsTwiceAsLongWithEachTryThatDoesNotLast) {
  Try();
  absl::Duration wait = kFirstEnforceWait;
  for (size_t tries = 1; tries < 10; ++tries) {
    ASSERT_EQ(cluster_.plans.size(), tries)
        << cluster_.observed.size() << " asked\n"
        << cluster_.Logged();
    // It drifts back at once, and reports that repeatedly.
    for (int i = 0; i < 3; ++i) {
      OnDrift();
    }
    EXPECT_EQ(cluster_.scheduler.pending(), 1);
    EXPECT_EQ(cluster_.scheduler.UntilNext(), wait);
    cluster_.scheduler.Advance(wait - absl::Seconds(1));
    EXPECT_EQ(cluster_.plans.size(), tries);
    cluster_.scheduler.Advance(absl::Seconds(1));
    cluster_.WaitForTry();
    wait = std::min(2 * wait, kLongestEnforceWait);
  }
  EXPECT_EQ(wait, kLongestEnforceWait);
  EXPECT_THAT(cluster_.Logged(),
              HasSubstr("it has drifted again; the next try"));
}

TEST_F(DriftEnforcerTest, StartsAnewWhenTheValueHasHeld) {
  for (int round = 0; round < 3; ++round) {
    Try();
    ASSERT_EQ(cluster_.plans.size(), static_cast<size_t>(round) + 1);
    cluster_.scheduler.Advance(kFirstEnforceWait);
    enforcer_.OnDrift(kHost, Clean());
  }
}

TEST_F(DriftEnforcerTest, DoesNotCountARunThatWasInTheWay) {
  cluster_.refusal = absl::UnavailableError("apply cc of alice runs");
  for (int round = 0; round < 3; ++round) {
    Try();
    EXPECT_EQ(cluster_.plans.size(), static_cast<size_t>(round) + 1);
    cluster_.scheduler.Advance(kFirstEnforceWait);
  }
  EXPECT_THAT(cluster_.Logged(),
              HasSubstr("not begun: apply cc of alice runs"));
}

TEST_F(DriftEnforcerTest, SaysWhyItFailed) {
  cluster_.outcome = ApplyReport::STOPPED;
  cluster_.error = "this host does not allow sysctl";
  Try();
  EXPECT_THAT(cluster_.Logged(),
              HasSubstr("apply bb failed: this host does not allow sysctl"));
}

TEST_F(DriftEnforcerTest, LeavesToAPersonWhatTheSpecWantsOtherwiseNow) {
  cluster_.spec.mutable_kernel()->set_somaxconn(32768);
  Try();
  EXPECT_TRUE(cluster_.plans.empty());
  EXPECT_THAT(cluster_.Logged(),
              HasSubstr("left alone: net.core.somaxconn: the spec asks for "
                        "32768 now"));
}

TEST_F(DriftEnforcerTest, BelievesTheFactsOfNowNotTheReport) {
  cluster_.facts.mutable_drift()->mutable_value()->clear_drifts();
  Try();
  EXPECT_EQ(cluster_.observed.size(), 1u);
  EXPECT_TRUE(cluster_.plans.empty());
}

TEST_F(DriftEnforcerTest, TriesAgainWhenAHostGaveNoFacts) {
  cluster_.no_facts = absl::UnavailableError("no answer in 30s");
  Try();
  EXPECT_TRUE(cluster_.plans.empty());
  EXPECT_THAT(cluster_.Logged(), HasSubstr("no answer in 30s"));
  cluster_.no_facts = absl::OkStatus();
  cluster_.scheduler.Advance(kFirstEnforceWait);
  Try();
  EXPECT_EQ(cluster_.plans.size(), 1u);
}

TEST_F(DriftEnforcerTest, TakesOneHostAfterTheOther) {
  OnDrift("node-02");
  OnDrift("node-01");
  cluster_.WaitForTry();
  EXPECT_EQ(cluster_.observed, std::vector<std::string>{"node-02"});
  cluster_.WaitForTry();
  EXPECT_EQ(cluster_.observed,
            (std::vector<std::string>{"node-02", "node-01"}));
}

TEST_F(DriftEnforcerTest, BeginsNothingAfterStop) {
  Try();
  OnDrift();
  enforcer_.Stop();
  EXPECT_EQ(cluster_.scheduler.pending(), 0);
  OnDrift();
  cluster_.scheduler.Advance(absl::Hours(1));
  EXPECT_EQ(cluster_.plans.size(), 1u);
}

}  // namespace
}  // namespace clusterd
