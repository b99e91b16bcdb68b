// Applies on a firewalld whose running and stored rules differ.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "daemon/agent/apply/applier.h"
#include "tests/support/apply/apply_scenarios.h"

namespace clusterd {
namespace {

constexpr char kHcclRule[] = "60000:60015/tcp from 192.168.7.22/31";

// Adds or removes this rule where firewalld stores it.
bool RunPermanently(Scenario* scenario, const char* verb) {
  Command command;
  command.argv = {
      "/usr/bin/firewall-cmd", "--permanent",
      absl::StrCat("--", verb,
                   "-rich-rule=rule family=\"ipv4\" source "
                   "address=\"192.168.7.22/31\" port port=\"60000-60015\" "
                   "protocol=\"tcp\" accept")};
  return scenario->machine.Run(command).ok();
}

// Only this firewall rule differs from the spec.
std::unique_ptr<Scenario> HcclOpenNowAlone() {
  auto scenario = OpenFirewalldScenario();
  EXPECT_TRUE(scenario->Apply("before").ok());
  EXPECT_TRUE(scenario->Plan().steps().empty());
  EXPECT_TRUE(RunPermanently(scenario.get(), "remove"));
  EXPECT_EQ(scenario->machine.firewall(FIREWALLD).rules.count(kHcclRule), 1u);
  return scenario;
}

TEST(FirewalldApplyTest, StoresWhatIsOpenNowAloneAndTakesThatBackAgain) {
  auto scenario = HcclOpenNowAlone();
  const auto before = scenario->State();
  const HostPlan plan = scenario->Plan();
  ASSERT_EQ(plan.steps_size(), 1) << plan.ShortDebugString();
  EXPECT_EQ(plan.steps(0).target().rule().port().first_port(), 60000u);
  EXPECT_EQ(Got(scenario->Apply()).outcome(), ApplyResult::APPLIED);
  EXPECT_TRUE(scenario->Plan().steps().empty());
  EXPECT_EQ(Got(scenario->Rollback()).outcome(), ApplyResult::ROLLED_BACK);
  EXPECT_EQ(scenario->State(), before);
}

TEST(FirewalldApplyTest, AllowsAfterARebootWhatWasOpenNowAlone) {
  auto lost = HcclOpenNowAlone();
  lost->machine.PowerCycle();
  EXPECT_EQ(lost->machine.firewall(FIREWALLD).rules.count(kHcclRule), 0u);
  auto scenario = HcclOpenNowAlone();
  ASSERT_TRUE(scenario->Apply().ok());
  scenario->machine.PowerCycle();
  EXPECT_EQ(scenario->machine.firewall(FIREWALLD).rules.count(kHcclRule), 1u);
  EXPECT_TRUE(scenario->Plan().steps().empty());
}

TEST(FirewalldApplyTest, LetsRunWhatIsStoredAlone) {
  auto scenario = HcclOpenNowAlone();
  scenario->machine.PowerCycle();
  // The ports are shut both ways now; a person stores them without a reload.
  ASSERT_TRUE(RunPermanently(scenario.get(), "add"));
  const HostPlan plan = scenario->Plan();
  ASSERT_EQ(plan.steps_size(), 1) << plan.ShortDebugString();
  EXPECT_EQ(Got(scenario->Apply()).outcome(), ApplyResult::APPLIED);
  EXPECT_EQ(scenario->machine.firewall(FIREWALLD).rules.count(kHcclRule), 1u);
}

}  // namespace
}  // namespace clusterd
