#include "tests/support/apply/apply_scenarios.h"

#include <gtest/gtest.h>

namespace clusterd {
namespace {

TEST(NoTlsKeyScenarioTest, BlocksASwitchThatNobodyMayAskFor) {
  auto scenario = NoTlsKeyScenario();
  const HostPlan plan = scenario->Plan();
  ASSERT_EQ(plan.blocked_size(), 1) << plan.ShortDebugString();
  EXPECT_EQ(plan.blocked(0).kind(), CHANGE_TLS);
}

// The question for the plan writes the key; the plan rests on the file with it.
TEST(NoTlsKeyScenarioTest, FirstPlanWithAllowedQueryIsAppliedAndRolledBack) {
  auto scenario = NoTlsKeyScenario();
  scenario->spec.set_allow_tls_query(true);
  const HostPlan plan = scenario->Plan();
  ASSERT_TRUE(plan.blocked().empty()) << plan.ShortDebugString();
  EXPECT_EQ(scenario->machine.files().Content("/etc/hccn.conf"),
            "address_0=10.0.0.1\nnetmask_0=255.255.255.0\n"
            "gateway_0=10.0.0.254\ntls_enable_0=1\n");
  const auto before = scenario->State();

  const auto applied = scenario->MakeApplier()->Apply(RequestFor(plan, "a1"));
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->outcome(), ApplyResult::APPLIED) << applied->error();
  EXPECT_FALSE(scenario->machine.device(0).tls);
  EXPECT_TRUE(scenario->Plan().steps().empty());

  RollbackRequest request;
  request.apply_id = "a1";
  const auto back = scenario->MakeApplier()->Rollback(request);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_EQ(scenario->State(), before);
}

TEST(NoTlsKeyScenarioTest, AsksNoDeviceWhileTheFileIsOutOfOrder) {
  auto scenario = NoTlsKeyScenario();
  scenario->spec.set_allow_tls_query(true);
  scenario->machine.files().Put("/etc/hccn.conf", "address_0=10.0.0.1");
  const HostPlan plan = scenario->Plan();
  EXPECT_EQ(scenario->machine.files().Content("/etc/hccn.conf"),
            "address_0=10.0.0.1");
  ASSERT_EQ(plan.blocked_size(), 1) << plan.ShortDebugString();
  EXPECT_EQ(plan.blocked(0).kind(), CHANGE_TLS);
  // The repair comes first, and the switch with the next plan.
  ASSERT_EQ(scenario->MakeApplier()->Apply(RequestFor(plan, "a1"))->outcome(),
            ApplyResult::APPLIED);
  const HostPlan second = scenario->Plan();
  EXPECT_TRUE(second.blocked().empty()) << second.ShortDebugString();
  ASSERT_EQ(scenario->MakeApplier()->Apply(RequestFor(second, "a2"))->outcome(),
            ApplyResult::APPLIED);
  EXPECT_FALSE(scenario->machine.device(0).tls);
}

}  // namespace
}  // namespace clusterd
