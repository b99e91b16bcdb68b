// One user at full load, and the effect on others: an operator's rollback
// succeeds while a viewer holds all resources that it can get.
#include <memory>
#include <string>
#include <vector>

#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/scripted_host.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/component/viewer/busy_viewer.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

class LimitsTest : public testing::Test {
 protected:
  static constexpr int kServers = 3;

  LimitsTest() : controller_(&certificates_, kServers, &scheduler_) {
    controller_.Start();
    for (int server = 0; server < kServers - 1; ++server) {
      hosts_.push_back(std::make_unique<ScriptedHost>(
          LowSomaxconnHost(controller_, certificates_, server)));
    }
    silent_ = std::make_unique<RawHost>(controller_.address(),
                                        certificates_.Host("server2"));
    EXPECT_TRUE(silent_->Attach());
  }

  template <typename Request>
  static Request Of(const std::vector<std::string>& hosts) {
    Request request;
    for (const std::string& host : hosts) request.add_hosts(host);
    return request;
  }

  // Applies on the hosts that answer; returns the id.
  std::string Applied(Controller::Stub* client) {
    const ClusterPlan plan =
        PlanOver(*client, Of<PlanRequest>({"server0", "server1"})).value();
    const ApplyReport report = ApplyOver(*client, plan).value();
    EXPECT_EQ(report.outcome(), ApplyReport::SUCCEEDED);
    return report.run_id();
  }

  static grpc::Status Read(Controller::Stub* client, const std::string& id) {
    GetHistoryRequest request;
    request.set_id(id);
    HistoryRecord record;
    return client->GetHistory(NewContext().get(), request, &record);
  }

  ApplyReport RollBack(Controller::Stub* client, const std::string& id) {
    const grpc::Status seen = Read(client, id);
    EXPECT_TRUE(seen.ok()) << seen.error_message();
    RollBackRequest request;
    request.set_apply_id(id);
    const auto context = NewContext();
    return ReportOf(*client->RollBack(context.get(), request)).value();
  }

  TestCertificates certificates_;
  ThreadScheduler scheduler_;
  TestController controller_;
  std::vector<std::unique_ptr<ScriptedHost>> hosts_;
  std::unique_ptr<RawHost> silent_;
};

TEST_F(LimitsTest, ViewerAtFullEffortHoldsUpNoRollback) {
  const auto operators = controller_.As("operator");
  const std::string quiet_id = Applied(operators.get());
  EXPECT_EQ(RollBack(operators.get(), quiet_id).outcome(),
            ApplyReport::SUCCEEDED);
  const std::string id = Applied(operators.get());
  ASSERT_TRUE(controller_.history().Add(TestCheck(TestId(1), 4 << 20)).ok());
  // Larger than any connection's window.
  ASSERT_TRUE(controller_.history().Add(TestCheck(TestId(2), 32 << 20)).ok());

  const TlsFiles viewer = controller_.FilesOf("viewer");
  BusyViewer busy({[&] { return controller_.ClientAs(viewer); }, "server2",
                   TestId(1), TestId(2)});
  ASSERT_TRUE(busy.HoldAll());
  const absl::Status full = busy.HoldAnotherCheck();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted) << full;
  EXPECT_THAT(full.message(), Tells("msg-hub-queue-full", kAny, kAny,
                                    "spiffe://test/user/viewer"));
  // Unread answers with full windows keep their places.
  EXPECT_EQ(Read(controller_.ClientAs(viewer).get(), TestId(1)).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  ASSERT_TRUE(busy.BeginCalls());

  EXPECT_EQ(RollBack(operators.get(), id).outcome(), ApplyReport::SUCCEEDED);
  // So does an operator's check, which has its own places.
  const auto context = NewContext();
  const auto check =
      operators->Check(context.get(), Of<CheckRequest>({"server0"}));
  CheckEvent event;
  bool judged = false;
  while (check->Read(&event)) judged |= event.has_report();
  EXPECT_TRUE(judged);
  EXPECT_TRUE(check->Finish().ok());
  // The viewer still holds everything: neither call waited for it.
  EXPECT_TRUE(absl::IsResourceExhausted(busy.HoldAnotherCheck()));
}

TEST_F(LimitsTest, NobodyEndsARunByAnIdThatItKnows) {
  const auto operators = controller_.As("operator");
  const std::string id = Applied(operators.get());
  AbortApplyRequest abort;
  abort.set_id(id);
  AbortApplyResponse aborted;
  for (const char* role : {"viewer", "operator"}) {
    const auto client = controller_.As(role);
    EXPECT_EQ(
        client->AbortApply(NewContext().get(), abort, &aborted).error_code(),
        grpc::StatusCode::PERMISSION_DENIED)
        << role;
  }
  // Neither does a guessed id end a run: the controller does not find it.
  const auto admins = controller_.As("admin");
  abort.set_id("0000000000000000");
  EXPECT_EQ(
      admins->AbortApply(NewContext().get(), abort, &aborted).error_code(),
      grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace clusterd
