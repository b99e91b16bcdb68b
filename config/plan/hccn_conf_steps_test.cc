#include "config/plan/hccn_conf_steps.h"

#include <gtest/gtest.h>

#include "config/plan/good_cluster.h"
#include "config/plan/plan_text.h"

namespace clusterd {
namespace {

HostPlan Plan(const HostFacts& facts) {
  HostPlanBuilder builder(facts);
  PlanHccnConfSteps(&builder);
  return builder.Finish();
}

void AddProblem(HostFacts* facts, HccnConf::Problem::Kind kind, uint32_t line,
                const std::string& text) {
  HccnConf::Problem* problem =
      facts->mutable_hccn_conf()->mutable_value()->add_problems();
  problem->set_kind(kind);
  problem->set_line(line);
  problem->set_text(text);
}

TEST(PlanHccnConfStepsTest, PlansNothingForAGoodOrUnreadableFile) {
  EXPECT_TRUE(Plan(GoodFacts("node-01")).steps().empty());
  HostFacts unreadable = GoodFacts("node-01");
  MakeMissing(unreadable.mutable_hccn_conf(), Missing::NOT_PERMITTED, "");
  EXPECT_TRUE(Plan(unreadable).steps().empty());
}

TEST(PlanHccnConfStepsTest, RepairsEverythingInOneStep) {
  HostFacts facts = GoodFacts("node-01");
  AddProblem(&facts, HccnConf::Problem::CARRIAGE_RETURN, 2, "netmask_0=x");
  AddProblem(&facts, HccnConf::Problem::MALFORMED_ROUTE, 7,
             "route_address_172.16.0.0_netmask_255.255.0.0_0=10.0.0.253");
  AddProblem(&facts, HccnConf::Problem::NO_FINAL_NEWLINE, 9, "x");
  const HostPlan plan = Plan(facts);
  ASSERT_EQ(plan.steps_size(), 1);
  EXPECT_EQ(
      StepText(plan.steps(0)),
      "/etc/hccn.conf: line 2: remove carriage returns, line 7: write the "
      "route as gateway_ADDRESS, line 9: add the final newline");
  EXPECT_EQ(plan.facts(0).name(), "hccn.conf: form");
  EXPECT_EQ(plan.steps(0).hccn_conf_repair().from_sha256().size(), 64u);
}

TEST(PlanHccnConfStepsTest, BlocksWhatWouldHaveToBeGuessed) {
  HostFacts facts = GoodFacts("node-01");
  AddProblem(&facts, HccnConf::Problem::MALFORMED_LINE, 4, "hello");
  const HostPlan plan = Plan(facts);
  EXPECT_TRUE(plan.steps().empty());
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_EQ(plan.blocked(0).what(), "/etc/hccn.conf line 4");
}

}  // namespace
}  // namespace clusterd
