#include "tests/support/apply/apply_scenarios.h"

#include <gtest/gtest.h>

namespace clusterd {
namespace {

// The query for the plan writes only to a copy.
TEST(NoTlsKeyScenarioTest, FirstPlanIsAppliedAndRolledBack) {
  auto scenario = NoTlsKeyScenario();
  const auto before = scenario->State();
  const HostPlan plan = scenario->Plan();
  ASSERT_TRUE(plan.blocked().empty()) << plan.ShortDebugString();
  EXPECT_EQ(scenario->State(), before);

  const auto applied =
      scenario->MakeApplier()->Apply(RequestFor(plan, "a1")).value();
  EXPECT_EQ(applied.outcome(), ApplyResult::APPLIED) << applied.error();
  EXPECT_FALSE(scenario->machine.device(0).tls);
  EXPECT_TRUE(scenario->Plan().steps().empty());

  RollbackRequest request;
  request.apply_id = "a1";
  const auto back = scenario->MakeApplier()->Rollback(request).value();
  EXPECT_EQ(back.outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_EQ(scenario->State(), before);
}

// Queries on a copy may write to the file.
TEST(NoTlsKeyScenarioTest, AsksADeviceWhileTheFileIsOutOfOrder) {
  auto scenario = NoTlsKeyScenario();
  scenario->machine.files().Put("/etc/hccn.conf", "address_0=10.0.0.1");
  const HostPlan plan = scenario->Plan();
  EXPECT_EQ(scenario->machine.files().Content("/etc/hccn.conf"),
            "address_0=10.0.0.1");
  ASSERT_TRUE(plan.blocked().empty()) << plan.ShortDebugString();
  ASSERT_EQ(scenario->MakeApplier()->Apply(RequestFor(plan, "a1"))->outcome(),
            ApplyResult::APPLIED);
  EXPECT_FALSE(scenario->machine.device(0).tls);
}

}  // namespace
}  // namespace clusterd
