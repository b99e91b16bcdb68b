#include "tests/sim/tool/product.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/tool/device_values.h"

namespace clusterd::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Product Of(const std::string& state) {
  return ProductOf(DeviceState::Parse(state));
}

bool Reserves(const std::string& product, const std::string& address) {
  return IsReserved(Of("product=" + product), LooseIpv4(address));
}

TEST(ProductTest, UnknownNameIsNoProduct) {
  Product product;
  EXPECT_FALSE(FindProduct("A4", &product));
  EXPECT_TRUE(FindProduct("A3-superpod", &product));
  EXPECT_EQ(product.devices.size(), 16u);
}

TEST(ProductTest, StateOverridesBoardsAndDevices) {
  const Product product =
      Of("product=A2;board_id=0x50;mainboard_id=0x1d;server_id=7;devices=1,4");
  EXPECT_EQ(product.board_id, 0x50);
  EXPECT_TRUE(Is9000(product));
  EXPECT_EQ(product.server_id, 7);
  EXPECT_THAT(product.devices, ElementsAre(1, 4));
  EXPECT_THAT(Of("devices=2-4").devices, ElementsAre(2, 3, 4));
  // Cut short rather than counted forever.
  EXPECT_EQ(Of("devices=0-999999999").devices.size(), 64u);
}

TEST(IsReservedTest, KeepsTheHostVnicRangeOnEveryProduct) {
  for (const char* product :
       {"A1-SMP", "A1-AMP", "A2", "A2-Box16", "A2-PCIe-card", "A3-no-pod",
        "A3-superpod", "A3-9000"}) {
    EXPECT_TRUE(Reserves(product, "192.168.1.199")) << product;
    EXPECT_FALSE(Reserves(product, "10.0.0.1")) << product;
    EXPECT_FALSE(Reserves(product, "193.0.0.5")) << product;
  }
}

TEST(IsReservedTest, DependsOnTheProduct) {
  EXPECT_TRUE(Reserves("A2", "192.168.2.5"));
  EXPECT_FALSE(Reserves("A2", "192.168.3.5"));
  for (const char* address : {"192.168.3.5", "192.168.4.5", "192.168.5.5"}) {
    EXPECT_TRUE(Reserves("A1-SMP", address)) << address;
    EXPECT_FALSE(Reserves("A1-AMP", address)) << address;
  }
  EXPECT_FALSE(Reserves("A1-SMP", "192.168.6.5"));
  EXPECT_TRUE(Reserves("A3-no-pod", "192.168.7.255"));
  EXPECT_FALSE(Reserves("A3-no-pod", "192.168.8.0"));
  EXPECT_TRUE(Reserves("A3-superpod", "192.255.255.255"));
  EXPECT_FALSE(Reserves("A3-superpod;server_id=48", "192.168.100.5"));
  EXPECT_TRUE(Reserves("A3-superpod;server_id=47", "192.168.100.5"));
}

TEST(DevicesComparedTest, StaysInTheGroupOfFour) {
  const Product a1 = Of("product=A1-SMP");
  EXPECT_THAT(DevicesCompared(a1, 0), ElementsAre(1, 2, 3));
  EXPECT_THAT(DevicesCompared(a1, 5), ElementsAre(4, 6, 7));
  EXPECT_THAT(VnicsCompared(a1, 5), ElementsAre(4, 5, 6, 7));
}

TEST(DevicesComparedTest, BoardsFrom0x30OnAnswerForThemselves) {
  for (const char* board : {"0x10", "0x30", "0x3f", "0x44", "0x54", "0x55"}) {
    const Product product = Of(absl::StrCat("board_id=", board));
    EXPECT_THAT(DevicesCompared(product, 1), IsEmpty()) << board;
    EXPECT_THAT(VnicsCompared(product, 1), ElementsAre(1)) << board;
  }
  for (const char* board : {"0x0", "0x20", "0x28"}) {
    EXPECT_THAT(DevicesCompared(Of(absl::StrCat("board_id=", board)), 1),
                ElementsAre(0, 2, 3))
        << board;
  }
}

TEST(DevicesComparedTest, A3ComparesTheSiblingDieAnd9000Nothing) {
  EXPECT_THAT(DevicesCompared(Of("product=A3-superpod"), 6), ElementsAre(7));
  EXPECT_THAT(VnicsCompared(Of("product=A3-superpod"), 6), IsEmpty());
  EXPECT_THAT(DevicesCompared(Of("product=A3-9000"), 6), IsEmpty());
}

TEST(GatewayGroupTest, IsTheGroupOfFourOnA1AndTheDeviceElsewhere) {
  EXPECT_THAT(GatewayGroup(Of("product=A1-SMP"), 6), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(GatewayGroup(Of("product=A1-AMP"), 3), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(GatewayGroup(Of("product=A1-SMP;board_id=0x10"), 6),
              ElementsAre(6));
  EXPECT_THAT(GatewayGroup(Of("product=A2"), 6), ElementsAre(6));
  EXPECT_THAT(GatewayGroup(Of("product=A3-no-pod"), 6), ElementsAre(6));
}

TEST(NotesModuleResetsTest, IsForAKBoards) {
  EXPECT_TRUE(NotesModuleResets(Of("product=A2")));
  EXPECT_TRUE(NotesModuleResets(Of("board_id=0x41")));
  for (const char* state :
       {"board_id=0x0", "board_id=0x50", "board_id=0x10", "mainboard_id=4",
        "product=A1-SMP", "product=A3-no-pod"}) {
    EXPECT_FALSE(NotesModuleResets(Of(state))) << state;
  }
}

TEST(DefaultVnicTest, FollowsTheProduct) {
  EXPECT_EQ(DefaultVnic(Of("product=A2"), 3).address, "192.168.2.196");
  EXPECT_EQ(DefaultVnic(Of("product=A3-superpod"), 0).address, "192.0.2.199");
  EXPECT_EQ(DefaultVnic(Of("product=A3-superpod"), 0).netmask, "255.0.0.0");
}

}  // namespace
}  // namespace clusterd::sim
