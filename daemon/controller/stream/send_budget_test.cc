#include "daemon/controller/stream/send_budget.h"

#include <string>

#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(SendBudgetTest, WhatDoesNotFitWaitsForWhatIsGivenBackInItsTurn) {
  SendBudget budget(100);
  std::string taken;
  EXPECT_TRUE(budget.Take("ann", 60, nullptr));
  EXPECT_FALSE(budget.Take("ann", 60, [&] { taken += "large "; }));
  // It would fit, but must not overtake.
  EXPECT_FALSE(budget.Take("ann", 10, [&] { taken += "small "; }));
  EXPECT_EQ(taken, "");
  budget.Give("ann", 60);
  EXPECT_EQ(taken, "large small ");
}

TEST(SendBudgetTest, OneUserTakesNothingFromAnother) {
  SendBudget budget(100);
  EXPECT_TRUE(budget.Take("ann", 100, nullptr));
  EXPECT_TRUE(budget.Take("bob", 100, nullptr));
}

TEST(SendBudgetTest, MessageLargerThanTheBudgetGoesAlone) {
  SendBudget budget(100);
  bool taken = false;
  EXPECT_TRUE(budget.Take("ann", 500, nullptr));
  EXPECT_FALSE(budget.Take("ann", 1, [&] { taken = true; }));
  budget.Give("ann", 500);
  EXPECT_TRUE(taken);
}

}  // namespace
}  // namespace clusterd
