#include "tests/sim/tool/device_values.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd::sim {
namespace {

using ::testing::Optional;

TEST(StrictIpv4Test, TakesFourPlainParts) {
  EXPECT_THAT(StrictIpv4("10.0.0.1"), Optional(0x0a000001u));
  EXPECT_THAT(StrictIpv4("0.0.0.0"), Optional(0u));
}

TEST(StrictIpv4Test, RefusesWhatTheToolRefuses) {
  for (const char* text :
       {"", "abc", "10.0.0", "10.0.0.1.1", "10.0.0.01", " 10.0.0.1",
        "10.0.0.1/24", "fd00::1", "255.255.255.256", "0xffffff00"}) {
    EXPECT_EQ(StrictIpv4(text), std::nullopt) << text;
  }
}

TEST(LooseIpv4Test, TakesShortForms) {
  EXPECT_EQ(LooseIpv4("192.168.261"), 0xc0a80105u);
  EXPECT_EQ(LooseIpv4("nonsense"), 0xffffffffu);
}

TEST(IsContiguousMaskTest, RefusesHoles) {
  EXPECT_TRUE(IsContiguousMask(0xffffff00));
  EXPECT_TRUE(IsContiguousMask(0));
  EXPECT_TRUE(IsContiguousMask(0xffffffff));
  EXPECT_FALSE(IsContiguousMask(0xff00ff00));
  EXPECT_FALSE(IsContiguousMask(0x000000ff));
}

TEST(IsMtuTest, HasBothEnds) {
  for (const char* good : {"68", "9702"}) EXPECT_TRUE(IsMtu(good)) << good;
  for (const char* bad : {"67", "9703", "", "1500x", "00000000001500"}) {
    EXPECT_FALSE(IsMtu(bad)) << bad;
  }
}

TEST(IsMacAddressTest, TakesSixPairsOfOneStation) {
  EXPECT_TRUE(IsMacAddress("6c:b1:58:00:00:aa"));
  for (const char* bad :
       {"6c:b1:58:00:00", "6c:b1:58:00:00:aa:bb", "6c-b1-58-00-00-aa",
        "6c:b1:58:00:00:zz", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00"}) {
    EXPECT_FALSE(IsMacAddress(bad)) << bad;
  }
}

TEST(ReadPfcBitmapTest, StopsAtTheFirstMistake) {
  EXPECT_EQ(ReadPfcBitmap("0,0,0,0,1,0,0,0", 4), PfcBitmap::kGood);
  EXPECT_EQ(ReadPfcBitmap("1,1,1,1,1,1,1,1", 8), PfcBitmap::kGood);
  EXPECT_EQ(ReadPfcBitmap("1,1,1,1,1,0,0,0", 4), PfcBitmap::kTooMany);
  EXPECT_EQ(ReadPfcBitmap("1,1,1,1,1,0,0,x", 4), PfcBitmap::kTooMany);
  EXPECT_EQ(ReadPfcBitmap("1,1,x,1,1,1,0,0", 4), PfcBitmap::kMalformed);
  EXPECT_EQ(ReadPfcBitmap("0,0,0,0,1,0,0", 4), PfcBitmap::kMalformed);
  EXPECT_EQ(ReadPfcBitmap("0,0,0,0,2,0,0,0", 4), PfcBitmap::kMalformed);
  EXPECT_EQ(ReadPfcBitmap("0 0 0 0 1 0 0 0", 4), PfcBitmap::kMalformed);
}

TEST(PortListTextTest, TakesARangeOrAListOfTheRightLength) {
  EXPECT_EQ(PortListText("5000-5003", 4), "5000,5001,5002,5003");
  EXPECT_EQ(PortListText("5000,6000", 2), "5000,6000");
  for (const char* text : {"5000-5002", "5003-5000", "5000,5000,5001,5002",
                           "4096-4099", "5000-5003x,1", "5000", ""}) {
    EXPECT_EQ(PortListText(text, 4), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace clusterd::sim
