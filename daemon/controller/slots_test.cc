#include "daemon/controller/slots.h"

#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(SlotsTest, RefusesWhenAllAreTakenUntilOneIsGiven) {
  Slots slots(2);
  EXPECT_TRUE(slots.TryTake());
  EXPECT_TRUE(slots.TryTake());
  EXPECT_FALSE(slots.TryTake());
  slots.Give();
  EXPECT_TRUE(slots.TryTake());
  EXPECT_FALSE(slots.TryTake());
}

}  // namespace
}  // namespace clusterd
