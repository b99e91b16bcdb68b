#include "tests/sim/tool/device_values.h"

#include "gtest/gtest.h"

namespace clusterd {
namespace sim {
namespace {

TEST(IsMtuTest, HasBothEnds) {
  EXPECT_TRUE(IsMtu("68"));
  EXPECT_TRUE(IsMtu("9702"));
  EXPECT_FALSE(IsMtu("67"));
  EXPECT_FALSE(IsMtu("9703"));
  EXPECT_FALSE(IsMtu(""));
  EXPECT_FALSE(IsMtu("1500x"));
  EXPECT_FALSE(IsMtu("00000000001500"));
}

TEST(IsMacAddressTest, TakesSixPairsOfOneStation) {
  EXPECT_TRUE(IsMacAddress("6c:b1:58:00:00:aa"));
  EXPECT_FALSE(IsMacAddress("6c:b1:58:00:00"));
  EXPECT_FALSE(IsMacAddress("6c:b1:58:00:00:aa:bb"));
  EXPECT_FALSE(IsMacAddress("6c-b1-58-00-00-aa"));
  EXPECT_FALSE(IsMacAddress("6c:b1:58:00:00:zz"));
  EXPECT_FALSE(IsMacAddress("ff:ff:ff:ff:ff:ff"));
  EXPECT_FALSE(IsMacAddress("00:00:00:00:00:00"));
}

TEST(IsPfcBitmapTest, TakesEightBits) {
  EXPECT_TRUE(IsPfcBitmap("0,0,0,0,1,0,0,0"));
  EXPECT_FALSE(IsPfcBitmap("0,0,0,0,1,0,0"));
  EXPECT_FALSE(IsPfcBitmap("0,0,0,0,2,0,0,0"));
  EXPECT_FALSE(IsPfcBitmap("0 0 0 0 1 0 0 0"));
}

}  // namespace
}  // namespace sim
}  // namespace clusterd
