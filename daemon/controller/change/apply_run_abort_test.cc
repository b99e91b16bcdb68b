#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/controller/apply_run_fixture.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ApplyRunAbortTest : public ApplyRunTest {
 protected:
  // One host with many steps, of which a command takes ten seconds at most.
  ApplyOrder LongOrder(int steps) {
    ApplyOrder order = Order(1, 1);
    auto plan = std::make_shared<ClusterPlan>(*order.plan);
    HostPlan* const host = plan->mutable_hosts(0);
    host->set_command_ms(10'000);
    while (host->steps_size() < steps) *host->add_steps() = host->steps(0);
    order.hosts[0].plan = host;
    order.hosts[0].deadline = HostChangeDeadline(steps, 10'000);
    order.plan = plan;
    return order;
  }
};

TEST_F(ApplyRunAbortTest, EndsTheRunAtOnceWithWhoeverWasAtWorkAsLost) {
  ASSERT_TRUE(Start(Order(5, 2)).ok());
  Answer("a", ApplyResult::APPLIED);
  const absl::StatusOr<AbortApplyResponse> aborted = run_->Abort("bob");
  pool_.Drain();
  ASSERT_TRUE(aborted.ok()) << aborted.status();
  EXPECT_EQ(aborted->run_id(), kRun);
  EXPECT_EQ(aborted->actor(), "alice");
  EXPECT_EQ(aborted->aborted_by(), "bob");
  EXPECT_THAT(aborted->given_up(), ElementsAre("b"));
  EXPECT_EQ(aborted->not_started(), 3u);
  ASSERT_TRUE(ended());
  const ApplyReport report = Report();
  EXPECT_EQ(report.outcome(), ApplyReport::STOPPED);
  EXPECT_EQ(report.cancelled().actor(), "bob");
  EXPECT_EQ(Outcomes(report),
            "APPLIED LOST NOT_STARTED NOT_STARTED NOT_STARTED");
  EXPECT_THAT(report.hosts(1).error(), HasSubstr("given up by bob"));
  EXPECT_THAT(report.DebugString(),
              Tells("hub-aborted-given-up",
                    Worded("hub-aborted-in-wave", "bob", 1, 3), "b"));
  EXPECT_TRUE(absl::IsFailedPrecondition(run_->Abort("eve").status()));
}

TEST_F(ApplyRunAbortTest, EndsARollbackBeforeItsNextWave) {
  ASSERT_TRUE(Start(Order(3, 1, /*rollback=*/true)).ok());
  ASSERT_TRUE(run_->Abort("bob").ok());
  pool_.Drain();
  EXPECT_EQ(TasksOf("b"), 0u);
  EXPECT_EQ(Report().outcome(), ApplyReport::CANCELLED);
  EXPECT_EQ(Report().hosts(0).outcome(), ApplyResult::LOST);
}

TEST_F(ApplyRunAbortTest, AlsoWaitsNoLongerForAHostThatMayComeBack) {
  ASSERT_TRUE(Start(Order(1, 1)).ok());
  Lose("a");
  ASSERT_FALSE(ended());
  ASSERT_TRUE(run_->Abort("bob").ok());
  pool_.Drain();
  EXPECT_EQ(Report().hosts(0).outcome(), ApplyResult::LOST);
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(ApplyRunAbortTest, HostThatTellsNoStepForAStepsTimeIsLost) {
  ASSERT_TRUE(Start(LongOrder(100)).ok());
  // Two minutes, and one step.
  Pass(absl::Seconds(159));
  ASSERT_FALSE(ended());
  Pass(absl::Seconds(1));
  EXPECT_EQ(Report().hosts(0).outcome(), ApplyResult::LOST);
}

TEST_F(ApplyRunAbortTest, HostThatTellsStepsIsWaitedFor) {
  ASSERT_TRUE(Start(LongOrder(100)).ok());
  for (uint32_t step = 1; step <= 20; ++step) {
    Pass(absl::Seconds(150));
    ASSERT_FALSE(ended()) << "step " << step;
    TellStep("a", step);
  }
  // The host may be undoing all of them, and reports it at the end.
  Pass(HostChangeDeadline(21, 10'000) - absl::Seconds(1));
  ASSERT_FALSE(ended());
  Pass(absl::Seconds(1));
  EXPECT_EQ(Report().hosts(0).outcome(), ApplyResult::LOST);
  EXPECT_THAT(Report().hosts(0).error(), HasSubstr("no further step"));
}

TEST_F(ApplyRunAbortTest, NoHostIsWaitedForLongerThanForAllOfItsSteps) {
  ASSERT_TRUE(Start(LongOrder(3)).ok());
  const absl::Duration all = HostChangeDeadline(3, 10'000);
  // Reporting the same step repeatedly is not progress.
  for (absl::Duration passed; passed < all - absl::Seconds(20);
       passed += absl::Seconds(20)) {
    Pass(absl::Seconds(20));
    ASSERT_FALSE(ended());
    TellStep("a", 1);
  }
  Pass(absl::Seconds(20));
  EXPECT_EQ(Report().hosts(0).outcome(), ApplyResult::LOST);
}

}  // namespace
}  // namespace clusterd
