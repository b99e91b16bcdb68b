// Applies and rollbacks from a client's request to its report, with hosts that
// obey, fail, refuse or die, and a controller that stops.
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/identity/grpc_status.h"
#include "config/plan/make_plan.h"
#include "config/spec/spec_loader.h"
#include "config/words/message.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/scripted_host.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Way = ScriptedHost::Way;

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
  explicit ApplyRunTest(int servers = 3)
      : controller_(&certificates_, servers, &scheduler_) {
    controller_.Start();
  }

  // Attaches server0, server1, … which react in these ways.
  void Attach(const std::vector<Way>& ways) {
    for (const Way way : ways) {
      AttachOne(static_cast<int>(hosts_.size()), way);
    }
  }
  void AttachOne(int server, Way way, std::vector<ApplyResult> past = {},
                 bool knows_all = false) {
    ScriptedHost::Options options =
        LowSomaxconnHost(controller_, certificates_, server);
    options.way = way;
    options.past = std::move(past);
    options.knows_all = knows_all;
    hosts_.push_back(std::make_unique<ScriptedHost>(options));
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

  Seen RollBack(const std::string& id, const std::string& role = "operator",
                bool force = false) {
    RollBackRequest request;
    request.set_apply_id(id);
    request.set_force(force);
    const auto client = controller_.As(role);
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
  Attach({Way::kSucceeds, Way::kSucceeds, Way::kSucceeds});
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

TEST_F(ApplyRunTest, HostThatLostItsJournalIsNotRolledBackWithSuccess) {
  Attach({Way::kSucceeds, Way::kSucceeds, Way::kSucceeds});
  const ClusterPlan plan = MakePlan();
  const std::string id = Apply(plan).report.run_id();
  hosts_[1].reset();
  ASSERT_TRUE(controller_.log().WaitFor("host server1: detached"));
  AttachOne(1, Way::kNotFound);
  const Seen back = RollBack(id);
  ASSERT_TRUE(back.status.ok()) << back.status;
  EXPECT_EQ(back.report.outcome(), ApplyReport::STOPPED);
  EXPECT_THAT(Outcomes(back.report),
              ElementsAre(ApplyResult::ROLLED_BACK, ApplyResult::REFUSED,
                          ApplyResult::ROLLED_BACK));
  EXPECT_THAT(back.report.hosts(1).error(),
              Tells("hub-old-values-in", plan.plan_id()));
  EXPECT_EQ(Kept(id).hosts(1).outcome(), ApplyResult::APPLIED);
}

TEST_F(ApplyRunTest, RolesDecideWhoMayChangeHosts) {
  Attach({Way::kSucceeds, Way::kSucceeds, Way::kSucceeds});
  const ClusterPlan plan = MakePlan();
  const Seen viewer = Apply(plan, 0, "viewer");
  EXPECT_EQ(viewer.status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(viewer.status.message(),
              Tells("msg-trust-role", kAny, kAny, "viewer", "operator"));
  EXPECT_TRUE(
      absl::IsPermissionDenied(RollBack("0123456789abcdef", "viewer").status));
  const Seen forced = Apply(plan, 0, "operator", /*force=*/true);
  EXPECT_EQ(forced.status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(forced.status.message(),
              Tells("msg-trust-role", kAny, kAny, "operator", "admin"));
  EXPECT_TRUE(hosts_[0]->tasks().empty());
  EXPECT_TRUE(controller_.log().WaitFor(": ApplyPlan with force: spiffe://"));

  const Seen admin = Apply(plan, 0, "admin", /*force=*/true);
  ASSERT_TRUE(admin.status.ok()) << admin.status;
  EXPECT_TRUE(admin.report.force());
  EXPECT_TRUE(hosts_[0]->tasks()[0].apply().force());
  EXPECT_TRUE(controller_.log().WaitFor("on 3 hosts, 32 at once, forced"));
}

TEST_F(ApplyRunTest, PlanThatWasEditedUnderARightDigestIsRefused) {
  Attach({Way::kSucceeds, Way::kSucceeds, Way::kSucceeds});
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

TEST_F(ApplyRunTest, PlanThatThisControllerHasNotMadeIsRefused) {
  Attach({Way::kSucceeds, Way::kSucceeds, Way::kSucceeds});
  ClusterPlan foreign = MakePlan();
  foreign.set_plan_id("0123456789abcdef");
  ASSERT_TRUE(VerifyPlan(foreign).ok());
  const Seen refused = Apply(foreign);
  EXPECT_EQ(refused.status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(refused.status.message(),
              Tells("msg-change-plan-not-kept", "\"0123456789abcdef\""));
  EXPECT_TRUE(hosts_[0]->tasks().empty());
}

TEST_F(ApplyRunTest, PlanOfAnOlderSpecIsRefused) {
  Attach({Way::kSucceeds, Way::kSucceeds, Way::kSucceeds});
  const ClusterPlan plan = MakePlan();
  std::ofstream(controller_.spec_path())
      << SpecToYaml(MakeSpec("atlas-training", "", 4));
  ASSERT_TRUE(controller_.spec().Reload().ok());
  const Seen moved = Apply(plan);
  EXPECT_EQ(moved.status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(moved.status, HasText("plan again"));
  EXPECT_TRUE(hosts_[0]->tasks().empty());
}

TEST_F(ApplyRunTest, SecondApplyGetsTheNameOfTheFirst) {
  Attach({Way::kIsSilent});
  const ClusterPlan plan = MakePlan();
  std::thread first([&] {
    const Seen seen = Apply(plan);
    EXPECT_TRUE(seen.status.ok()) << seen.status;
    EXPECT_EQ(seen.report.outcome(), ApplyReport::SUCCEEDED);
  });
  EXPECT_TRUE(hosts_[0]->WaitForTasks(1));
  const Seen second = Apply(plan, 0, "admin");
  EXPECT_EQ(second.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(second.status, HasText(" of operator runs since "));
  hosts_[0]->Finish(ApplyResult::APPLIED);
  first.join();
}

TEST_F(ApplyRunTest, RunGoesOnWhenItsClientLeaves) {
  Attach({Way::kIsSilent, Way::kSucceeds});
  ApplyPlanRequest request = ApplyOf(MakePlan());
  request.set_wave_size(1);
  {
    const auto client = controller_.As("operator");
    const auto context = NewContext();
    const auto stream = client->ApplyPlan(context.get(), request);
    ASSERT_TRUE(hosts_[0]->WaitForTasks(1));
    context->TryCancel();
    EXPECT_FALSE(stream->Finish().ok());
  }
  const std::string id = hosts_[0]->tasks()[0].apply().apply_id();
  hosts_[0]->Finish(ApplyResult::APPLIED);
  ASSERT_TRUE(controller_.log().WaitFor(
      absl::StrCat("apply ", id, " of operator: succeeded")));
  EXPECT_THAT(Outcomes(Kept(id)),
              ElementsAre(ApplyResult::APPLIED, ApplyResult::APPLIED));
}

TEST_F(ApplyRunTest, HostThatDiesAndComesBackTellsHowItEnded) {
  Attach({Way::kDies, Way::kSucceeds, Way::kSucceeds});
  const ClusterPlan plan = MakePlan();
  std::thread apply([&] {
    const Seen seen = Apply(plan, 1);
    EXPECT_TRUE(seen.status.ok()) << seen.status;
    EXPECT_EQ(seen.report.outcome(), ApplyReport::SUCCEEDED)
        << seen.report.DebugString();
  });
  EXPECT_TRUE(hosts_[0]->WaitForTasks(1));
  ApplyResult result;
  result.set_apply_id(hosts_[0]->tasks()[0].apply().apply_id());
  result.set_outcome(ApplyResult::APPLIED);
  // Before that, the reported result would look like the host's own answer.
  EXPECT_TRUE(controller_.log().WaitFor("host server0: detached"));
  AttachOne(0, Way::kSucceeds, {result});
  apply.join();
}

TEST_F(ApplyRunTest, HostsReportAnInterruptedWaveLater) {
  Attach({Way::kIsSilent, Way::kSucceeds, Way::kSucceeds});
  const ClusterPlan plan = MakePlan();
  std::thread apply([&] {
    const Seen seen = Apply(plan, 2);
    EXPECT_EQ(seen.status.code(), absl::StatusCode::kUnavailable)
        << seen.status;
  });
  EXPECT_TRUE(hosts_[0]->WaitForTasks(1));
  EXPECT_TRUE(hosts_[1]->WaitForTasks(1));
  const std::string id = hosts_[0]->tasks()[0].apply().apply_id();
  controller_.Stop();
  apply.join();
  hosts_.clear();
  ApplyReport kept = Kept(id);
  EXPECT_EQ(kept.outcome(), ApplyReport::INTERRUPTED);
  EXPECT_EQ(kept.hosts(0).outcome(), ApplyResult::LOST);
  EXPECT_EQ(kept.hosts(2).outcome(), ApplyResult::NOT_STARTED);

  controller_.Start();
  ApplyResult result;
  result.set_apply_id(id);
  result.set_outcome(ApplyResult::APPLIED);
  AttachOne(0, Way::kSucceeds, {result});
  AttachOne(1, Way::kSucceeds, {result});
  const Seen back = RollBack(id);
  ASSERT_TRUE(back.status.ok()) << back.status;
  EXPECT_THAT(Outcomes(back.report),
              ElementsAre(ApplyResult::ROLLED_BACK, ApplyResult::ROLLED_BACK));
}

TEST_F(ApplyRunTest, AdminAbortsARunThatHangsAndTheTurnIsFree) {
  Attach({Way::kIsSilent, Way::kSucceeds});
  const ClusterPlan plan = MakePlan();
  std::thread apply([&] {
    const Seen seen = Apply(plan, 1);
    EXPECT_TRUE(seen.status.ok()) << seen.status;
    EXPECT_EQ(seen.report.outcome(), ApplyReport::STOPPED);
    EXPECT_THAT(Outcomes(seen.report),
                ElementsAre(ApplyResult::LOST, ApplyResult::NOT_STARTED));
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
  EXPECT_EQ(response.not_started(), 1u);
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
