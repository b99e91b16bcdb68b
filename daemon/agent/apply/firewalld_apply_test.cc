// Applies on a firewalld whose running and stored rules differ.
#include <gtest/gtest.h>

#include "daemon/agent/apply/applier.h"
#include "tests/support/apply/apply_scenarios.h"

namespace clusterd {
namespace {

constexpr char kHcclRule[] = "60000:60015/tcp from 192.168.7.22/31";

// Only this firewall rule differs from the spec.
std::unique_ptr<Scenario> HcclOpenNowAlone() {
  auto scenario = OpenFirewalldScenario();
  EXPECT_TRUE(scenario->MakeApplier()
                  ->Apply(RequestFor(scenario->Plan(), "before"))
                  .ok());
  EXPECT_TRUE(scenario->Plan().steps().empty());
  Command remove;
  remove.argv = {"/usr/bin/firewall-cmd", "--permanent",
                 "--remove-rich-rule=rule family=\"ipv4\" source "
                 "address=\"192.168.7.22/31\" port port=\"60000-60015\" "
                 "protocol=\"tcp\" accept"};
  EXPECT_TRUE(scenario->machine.Run(remove).ok());
  EXPECT_EQ(scenario->machine.firewall(FIREWALLD).rules.count(kHcclRule), 1u);
  return scenario;
}

TEST(FirewalldApplyTest, StoresWhatIsOpenNowAloneAndTakesThatBackAgain) {
  auto scenario = HcclOpenNowAlone();
  const auto before = scenario->State();
  const HostPlan plan = scenario->Plan();
  ASSERT_EQ(plan.steps_size(), 1) << plan.ShortDebugString();
  EXPECT_EQ(plan.steps(0).target().rule().port().first_port(), 60000u);
  const auto applied = scenario->MakeApplier()->Apply(RequestFor(plan, "a1"));
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->outcome(), ApplyResult::APPLIED) << applied->error();
  EXPECT_TRUE(scenario->Plan().steps().empty());

  RollbackRequest rollback;
  rollback.apply_id = "a1";
  const auto back = scenario->MakeApplier()->Rollback(rollback);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_EQ(scenario->State(), before);
}

TEST(FirewalldApplyTest, LetsInAfterARebootWhatWasOpenNowAlone) {
  auto lost = HcclOpenNowAlone();
  lost->machine.PowerCycle();
  EXPECT_EQ(lost->machine.firewall(FIREWALLD).rules.count(kHcclRule), 0u);

  auto scenario = HcclOpenNowAlone();
  ASSERT_TRUE(
      scenario->MakeApplier()->Apply(RequestFor(scenario->Plan(), "a1")).ok());
  scenario->machine.PowerCycle();
  EXPECT_EQ(scenario->machine.firewall(FIREWALLD).rules.count(kHcclRule), 1u);
  EXPECT_TRUE(scenario->Plan().steps().empty());
}

TEST(FirewalldApplyTest, LetsRunWhatIsStoredAlone) {
  auto scenario = HcclOpenNowAlone();
  scenario->machine.PowerCycle();
  // The ports are shut both ways now; a person stores them without a reload.
  Command add;
  add.argv = {"/usr/bin/firewall-cmd", "--permanent",
              "--add-rich-rule=rule family=\"ipv4\" source "
              "address=\"192.168.7.22/31\" port port=\"60000-60015\" "
              "protocol=\"tcp\" accept"};
  ASSERT_TRUE(scenario->machine.Run(add).ok());
  const HostPlan plan = scenario->Plan();
  ASSERT_EQ(plan.steps_size(), 1) << plan.ShortDebugString();
  const auto applied = scenario->MakeApplier()->Apply(RequestFor(plan, "a1"));
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->outcome(), ApplyResult::APPLIED) << applied->error();
  EXPECT_EQ(scenario->machine.firewall(FIREWALLD).rules.count(kHcclRule), 1u);
}

}  // namespace
}  // namespace clusterd
