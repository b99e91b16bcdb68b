// Plans from a client's request to its answer, and the kept copies.
#include <memory>
#include <string>
#include <vector>

#include "config/plan/make_plan.h"
#include "config/words/message.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/running_controller.h"
#include "tests/component/scripted_host.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<ClusterPlan> Plan(
    TestController& controller, const PlanRequest& request = {},
    std::vector<CheckProgress>* progress = nullptr) {
  return PlanOver(*controller.Client(Role::kOperator), request, progress);
}

TEST(PlanTest, StepsComeFromFactsAndHostsThatAreNotThereAreBlocked) {
  RunningController controller(3);
  ScriptedHost host0(LowSomaxconnHost(controller, controller.certificates, 0));
  ScriptedHost host1(HealthyHost(controller, controller.certificates, 1));

  std::vector<CheckProgress> progress;
  const ClusterPlan plan = Plan(controller, {}, &progress).value();

  ASSERT_EQ(plan.hosts_size(), 3) << plan.DebugString();
  ASSERT_EQ(plan.hosts(0).steps_size(), 1) << plan.hosts(0).DebugString();
  EXPECT_EQ(plan.hosts(0).steps(0).target().kernel_parameter(),
            "net.core.somaxconn");
  EXPECT_EQ(plan.hosts(0).steps(0).from().number(), 128u);
  EXPECT_EQ(plan.hosts(1).steps_size(), 0);
  ASSERT_EQ(plan.hosts(2).blocked_size(), 1);
  EXPECT_THAT(plan.hosts(2).blocked(0).reason(), HasSubstr("never attached"));
  EXPECT_TRUE(VerifyPlan(plan).ok()) << VerifyPlan(plan);
  EXPECT_EQ(plan.created_by(), "spiffe://test/user/tester/role/operator");
  EXPECT_EQ(plan.plan_id().size(), 16u);
  ASSERT_FALSE(progress.empty());
  EXPECT_EQ(progress.back().answered(), 2u);
  EXPECT_EQ(progress.back().failed(), 1u);
  EXPECT_EQ(progress.back().pending(), 0u);

  // The kept plan is the one that was sent.
  HistoryRecord record;
  GetHistoryRequest request;
  request.set_id(plan.plan_id());
  const grpc::Status read =
      controller.Client()->GetHistory(NewContext().get(), request, &record);
  ASSERT_TRUE(read.ok()) << read.error_message();
  EXPECT_EQ(record.entry().kind(), HISTORY_PLAN);
  EXPECT_EQ(record.entry().outcome(), "changes");
  EXPECT_EQ(record.plan().SerializeAsString(), plan.SerializeAsString());
}

TEST(PlanTest, PlanThatDoesNotFitSaysSoAndIsNotApplied) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  HistoryLimits limits;
  limits.max_bytes = 100;
  TestController controller(&certificates, 1, &scheduler, {}, limits);
  controller.Start();
  ScriptedHost host(LowSomaxconnHost(controller, certificates, 0));
  const ClusterPlan plan = Plan(controller).value();
  EXPECT_EQ(plan.hosts(0).steps_size(), 1) << plan.DebugString();
  EXPECT_THAT(Rendered(plan).not_kept(), HasSubstr("expected at most 100"));
  EXPECT_TRUE(VerifyPlan(plan).ok()) << VerifyPlan(plan);
  EXPECT_TRUE(controller.log().WaitFor("is not kept: "));
  EXPECT_THAT(ApplyOver(*controller.Client(Role::kOperator), plan).status(),
              Fails(absl::StatusCode::kAborted));
  EXPECT_TRUE(host.tasks().empty());
}

TEST(PlanTest, StepsThatNoPlanHasAreRefusedWithTheNearest) {
  RunningController controller(1);
  PlanRequest request;
  request.add_only("sysctl");
  request.add_only("gatewya");
  const absl::Status refused = Plan(controller, request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), Tells("did-you-mean", "gateway"));
  request.mutable_only()->RemoveLast();
  const ClusterPlan plan = Plan(controller, request).value();
  EXPECT_THAT(plan.only(), testing::ElementsAre("sysctl"));
  EXPECT_TRUE(VerifyPlan(plan).ok()) << VerifyPlan(plan);
}

TEST(PlanTest, NetworkNamespaceThatIsNoneIsRefusedBeforeAnyHostIsAsked) {
  RunningController controller(1);
  PlanRequest request;
  request.mutable_network_namespace()->set_container("--help");
  absl::Status status = Plan(controller, request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), Tells("value-netns-container", "--help"));
  CheckRequest check;
  check.mutable_network_namespace()->set_path("/proc/1/../../etc");
  Report report;
  status = controller.Check(check, &report);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  ListHistoryResponse list;
  const grpc::Status listed =
      controller.Client()->ListHistory(NewContext().get(), {}, &list);
  ASSERT_TRUE(listed.ok()) << listed.error_message();
  EXPECT_EQ(list.entries_size(), 0);
}

TEST(PlanTest, ClientsThatDoNotReadHoldOnlySoMuchOfTheHistory) {
  RunningController controller(1);
  // Larger than any connection's window.
  ASSERT_TRUE(controller.history().Add(TestCheck(TestId(1), 32 << 20)).ok());
  ASSERT_TRUE(controller.history().Add(TestCheck(TestId(2))).ok());
  GetHistoryRequest request;
  request.set_id(TestId(2));
  HistoryRecord record;
  const auto client = controller.Client();
  const auto slow = controller.Client();
  std::vector<std::unique_ptr<UnreadRecord>> readings;
  for (int i = 0; i < 4; ++i) {
    readings.push_back(std::make_unique<UnreadRecord>(slow.get(), TestId(1)));
  }
  grpc::Status status =
      client->GetHistory(NewContext().get(), request, &record);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(),
              Tells("msg-hub-too-many-calls-of-user", 4,
                    Worded("hub-calls-records"), "tester"));
  readings.clear();
  // The controller notices it a moment later.
  EXPECT_TRUE(WaitUntil([&] {
    status = client->GetHistory(NewContext().get(), request, &record);
    return status.ok();
  })) << status.error_message();
}

TEST(PlanTest, ClientsThatDoNotReadAreDisconnectedAndMakeRoom) {
  constexpr int kBytes = 32 << 20;
  ManualController controller(1);
  ASSERT_TRUE(controller.history().Add(TestCheck(TestId(1), kBytes)).ok());
  ASSERT_TRUE(controller.history().Add(TestCheck(TestId(2))).ok());
  const auto client = controller.Client();
  const auto slow = controller.Client();
  std::vector<std::unique_ptr<UnreadRecord>> readings;
  for (int i = 0; i < 4; ++i) {
    readings.push_back(std::make_unique<UnreadRecord>(slow.get(), TestId(1)));
  }
  GetHistoryRequest request;
  request.set_id(TestId(2));
  HistoryRecord record;
  grpc::Status status =
      client->GetHistory(NewContext().get(), request, &record);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  // All are still attached.
  controller.scheduler.Advance(WriteTimeFor(2 * kBytes));
  EXPECT_TRUE(WaitUntil([&] {
    status = client->GetHistory(NewContext().get(), request, &record);
    return status.ok();
  })) << status.error_message();
}

}  // namespace
}  // namespace clusterd
