// An apply and its rollback from a client's request to its report, and a plan
// that is refused. daemon/controller/change has hosts that fail, refuse or die.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "config/identity/grpc_status.h"
#include "config/plan/make_plan.h"
#include "config/words/message.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/scripted_host.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A client's view of one call.
struct Seen {
  absl::Status status;
  ApplyReport report;
  std::vector<ApplyProgress> progress;
  std::vector<HostStep> steps;
  std::vector<ApplyResult> hosts;
};

Seen ReadAll(grpc::ClientReader<ApplyEvent>* stream) {
  Seen seen;
  ApplyEvent event;
  int reports = 0;
  while (stream->Read(&event)) {
    EXPECT_EQ(reports, 0) << "something after the report";
    if (event.has_progress()) seen.progress.push_back(event.progress());
    if (event.has_step()) seen.steps.push_back(event.step());
    if (event.has_host()) seen.hosts.push_back(event.host());
    if (event.has_report()) {
      ++reports;
      seen.report = Rendered(event.report());
    }
  }
  seen.status = ToAbslStatus(stream->Finish());
  EXPECT_EQ(reports, seen.status.ok() ? 1 : 0);
  return seen;
}

std::vector<ApplyResult::Outcome> Outcomes(const ApplyReport& report) {
  std::vector<ApplyResult::Outcome> outcomes;
  for (const ApplyResult& host : report.hosts()) {
    outcomes.push_back(host.outcome());
  }
  return outcomes;
}

// A cluster of hosts whose somaxconn is wrong, and users of every role.
class ApplyRunTest : public testing::Test {
 protected:
  static constexpr int kServers = 3;

  ApplyRunTest() : controller_(&certificates_, kServers, &scheduler_) {
    controller_.Start();
  }

  // Attaches the servers, of which the first may be silent.
  void Attach(bool first_is_silent = false) {
    for (int server = 0; server < kServers; ++server) {
      ScriptedHost::Options options =
          LowSomaxconnHost(controller_, certificates_, server);
      options.is_silent = first_is_silent && server == 0;
      hosts_.push_back(std::make_unique<ScriptedHost>(options));
    }
  }

  ClusterPlan MakePlan() {
    return PlanOver(*controller_.As("operator")).value();
  }

  Seen Apply(const ClusterPlan& plan, uint32_t wave_size = 0,
             const std::string& role = "operator", bool force = false) {
    ApplyPlanRequest request = ApplyOf(plan);
    request.set_wave_size(wave_size);
    request.set_force(force);
    const auto client = controller_.As(role);
    const auto context = NewContext();
    return ReadAll(client->ApplyPlan(context.get(), request).get());
  }

  Seen RollBack(const std::string& id) {
    RollBackRequest request;
    request.set_apply_id(id);
    const auto client = controller_.As("operator");
    const auto context = NewContext();
    return ReadAll(client->RollBack(context.get(), request).get());
  }

  ApplyReport Kept(const std::string& id) {
    const auto record = controller_.history().Get(id);
    EXPECT_TRUE(record.ok()) << record.status();
    return record.ok() ? record->apply() : ApplyReport();
  }

  TestCertificates certificates_;
  ThreadScheduler scheduler_;
  TestController controller_;
  std::vector<std::unique_ptr<ScriptedHost>> hosts_;
};

constexpr char kOperator[] = "spiffe://test/user/operator/role/operator";

TEST_F(ApplyRunTest, PlanIsAppliedInWavesAndTakenBackAgain) {
  Attach();
  const ClusterPlan plan = MakePlan();
  const Seen applied = Apply(plan, 2);
  ASSERT_TRUE(applied.status.ok()) << applied.status;
  EXPECT_EQ(applied.report.outcome(), ApplyReport::SUCCEEDED);
  EXPECT_EQ(applied.report.actor(), kOperator);
  EXPECT_EQ(applied.report.plan_id(), plan.plan_id());
  EXPECT_THAT(Outcomes(applied.report),
              ElementsAre(ApplyResult::APPLIED, ApplyResult::APPLIED,
                          ApplyResult::APPLIED));
  EXPECT_EQ(applied.hosts.size(), 3u);
  ASSERT_EQ(applied.steps.size(), 3u);
  EXPECT_EQ(applied.steps[0].text(), "net.core.somaxconn: 128 -> 65535");
  EXPECT_EQ(applied.progress.back().done(), 3u);
  EXPECT_EQ(applied.progress.back().waves(), 2u);
  EXPECT_EQ(hosts_[0]->tasks()[0].apply().plan_digest(), plan.digest());
  EXPECT_EQ(hosts_[0]->tasks()[0].apply().actor(), kOperator);

  const Seen back = RollBack(applied.report.run_id());
  ASSERT_TRUE(back.status.ok()) << back.status;
  EXPECT_EQ(back.report.outcome(), ApplyReport::SUCCEEDED);
  EXPECT_TRUE(back.report.rollback());
  EXPECT_EQ(back.report.apply_id(), applied.report.run_id());
  EXPECT_NE(back.report.run_id(), applied.report.run_id());
  EXPECT_TRUE(
      absl::IsFailedPrecondition(RollBack(applied.report.run_id()).status));

  ListHistoryRequest request;
  request.add_kinds(HISTORY_APPLY);
  request.add_kinds(HISTORY_ROLLBACK);
  ListHistoryResponse list;
  ASSERT_TRUE(controller_.As("viewer")
                  ->ListHistory(NewContext().get(), request, &list)
                  .ok());
  ASSERT_EQ(list.entries_size(), 2);
  EXPECT_EQ(list.entries(0).kind(), HISTORY_ROLLBACK);
  EXPECT_EQ(list.entries(0).parent_id(), applied.report.run_id());
  EXPECT_EQ(list.entries(1).outcome(), "rolled back");
}

TEST_F(ApplyRunTest, PlanThatWasEditedUnderARightDigestIsRefused) {
  Attach();
  const ClusterPlan plan = MakePlan();
  ClusterPlan edited = plan;
  edited.mutable_hosts(0)->mutable_steps(0)->mutable_to()->set_number(1);
  edited.set_digest(PlanDigest(edited));
  ASSERT_TRUE(VerifyPlan(edited).ok());
  const Seen refused = Apply(edited, 0, "admin", /*force=*/true);
  EXPECT_EQ(refused.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status.message()),
              AllOf(HasSubstr(plan.plan_id()), HasSubstr("was edited"),
                    Not(HasSubstr(plan.digest()))));
  EXPECT_TRUE(hosts_[0]->tasks().empty());
  EXPECT_TRUE(controller_.log().WaitFor("refused ApplyPlan to admin"));
}

TEST_F(ApplyRunTest, AdminAbortsARunThatHangsAndTheTurnIsFree) {
  Attach(/*first_is_silent=*/true);
  const ClusterPlan plan = MakePlan();
  std::thread apply([&] {
    const Seen seen = Apply(plan, 1);
    EXPECT_TRUE(seen.status.ok()) << seen.status;
    EXPECT_EQ(seen.report.outcome(), ApplyReport::STOPPED);
    EXPECT_THAT(Outcomes(seen.report),
                ElementsAre(ApplyResult::LOST, ApplyResult::NOT_STARTED,
                            ApplyResult::NOT_STARTED));
  });
  EXPECT_TRUE(hosts_[0]->WaitForTasks(1));
  AbortApplyRequest request;
  request.set_id(hosts_[0]->tasks()[0].apply().apply_id());
  AbortApplyResponse response;
  const grpc::Status operators =
      controller_.As("operator")
          ->AbortApply(NewContext().get(), request, &response);
  EXPECT_EQ(operators.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  const grpc::Status admins = controller_.As("admin")->AbortApply(
      NewContext().get(), request, &response);
  EXPECT_TRUE(admins.ok()) << admins.error_message();
  EXPECT_THAT(response.given_up(), ElementsAre("server0"));
  EXPECT_EQ(response.not_started(), 2u);
  apply.join();
  // The store keeps the host's late result, while another run may begin.
  hosts_[0]->Finish(ApplyResult::APPLIED);
  EXPECT_TRUE(WaitUntil([&] {
    return Kept(request.id()).hosts(0).outcome() != ApplyResult::LOST;
  }));
  EXPECT_EQ(Kept(request.id()).hosts(0).outcome(), ApplyResult::APPLIED);
  EXPECT_TRUE(absl::IsNotFound(RollBack("ffffffffffffffff").status));
}

}  // namespace
}  // namespace clusterd
