#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>

#include "client/recording/recording.h"

namespace clusterd {
namespace {

const auto& kMap = *new AddressMap("k");

std::string Replaced(const std::string& address, const AddressMap& map = kMap) {
  return map.Replace(Ipv4Address::Parse(address).value()).ToString();
}

int SharedBits(uint32_t a, uint32_t b) {
  int bits = 0;
  while (bits < 32 && ((a ^ b) >> (31 - bits) & 1) == 0) ++bits;
  return bits;
}

TEST(AddressMapTest, ReplacesTheSameAddressTheSameWay) {
  EXPECT_EQ(Replaced("29.1.137.205"), Replaced("29.1.137.205"));
  EXPECT_NE(Replaced("29.1.137.205"), Replaced("29.1.138.205"));
}

TEST(AddressMapTest, DependsOnTheKey) {
  // 16 free bits: keys would agree on all of these once in a trillion.
  std::string one;
  std::string other;
  for (const char* address : {"10.1.2.3", "10.77.5.3", "29.200.17.3"}) {
    one += Replaced(address, AddressMap("one"));
    other += Replaced(address, AddressMap("other"));
  }
  EXPECT_NE(one, other);
}

TEST(AddressMapTest, KeepsHowManyLeadingBitsTwoAddressesShare) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    // Outside the special ranges, at all distances.
    const uint32_t a = 0x0a000000 | (random() & 0xffffff);
    const uint32_t b = a ^ (random() & (0xffffffu >> random() % 24));
    const uint32_t mapped_a = kMap.Replace(Ipv4Address(a)).bits();
    const uint32_t mapped_b = kMap.Replace(Ipv4Address(b)).bits();
    ASSERT_EQ(SharedBits(a, b), SharedBits(mapped_a, mapped_b))
        << Ipv4Address(a).ToString() << " " << Ipv4Address(b).ToString();
  }
}

TEST(AddressMapTest, ChangesEveryAddressThatIsNotSpecial) {
  for (const char* address :
       {"10.0.0.1", "10.20.0.17", "29.1.112.213", "192.168.100.101",
        "192.168.8.1", "192.168.255.3", "192.1.0.5", "172.16.0.1", "172.31.9.9",
        "169.254.1.1", "1.0.0.1", "126.255.255.254", "128.0.0.5", "193.0.0.5",
        "224.0.0.251", "239.255.255.250", "240.0.0.1", "254.1.2.3"}) {
    EXPECT_NE(Replaced(address), address);
  }
}

TEST(AddressMapTest, KeepsWhatTheToolTreatsSpecially) {
  for (const char* address :
       {"0.0.0.0", "127.0.0.1", "255.255.255.255", "255.255.255.0",
        "255.255.240.0", "254.0.0.0", "128.0.0.0", "255.0.255.0",
        "192.168.1.199", "192.168.2.5", "192.168.5.5", "192.168.7.254",
        "192.0.2.199"}) {
    EXPECT_EQ(Replaced(address), address);
  }
}

TEST(AddressMapTest, KeepsTheKindOfAnAddress) {
  std::mt19937 random(11);
  for (int i = 0; i < 500; ++i) {
    const uint32_t low = random();
    EXPECT_EQ(
        kMap.Replace(Ipv4Address(0x0a000000 | (low & 0xffffff))).bits() >> 24,
        10u);
    EXPECT_TRUE(kMap.Replace(Ipv4Address(0xe0000000 | (low & 0xfffffff)))
                    .IsMulticast());
    const uint32_t in_192_168 = 0xc0a80000 | (low & 0xffff);
    EXPECT_EQ(kMap.Replace(Ipv4Address(in_192_168)).bits() >> 16, 0xc0a8u);
  }
}

TEST(AddressMapTest, MovesNothingIntoARangeThatTheToolRefuses) {
  std::mt19937 random(13);
  for (int i = 0; i < 5000; ++i) {
    const uint32_t outside = 0xc0a80800 + random() % (0xf800 - 1);
    ASSERT_NE(kMap.Replace(Ipv4Address(outside)).bits() >> 11,
              0xc0a80000 >> 11);
  }
}

TEST(AddressMapTest, KeepsHostNumbersAndWholeNetworks) {
  EXPECT_EQ(kMap.Replace(Ipv4Address(0x1d018964)).bits() & 0xff, 0x64u);
  EXPECT_EQ(kMap.Replace(Ipv4Address(0x1d010000)).bits() & 0xffff, 0u);
  EXPECT_EQ(kMap.Replace(Ipv4Address(0x1d0189ff)).bits() & 0xff, 0xffu);
}

TEST(AddressMapTest, HidesTheLowHalfOfAMacAndKeepsItsMaker) {
  const MacBytes mac = {0x6c, 0xb1, 0x58, 0x00, 0x00, 0x01};
  const MacBytes replaced = kMap.Replace(mac);
  EXPECT_NE(replaced, mac);
  EXPECT_TRUE(std::equal(mac.begin(), mac.begin() + 3, replaced.begin()));
  const MacBytes broadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  EXPECT_EQ(kMap.Replace(broadcast), broadcast);
}

TEST(AddressMapTest, KeepsZeroGroupsAndTheFirstGroupOfIpv6) {
  Ipv6Bytes address = {};
  address[0] = 0xfd;
  address[15] = 1;
  const Ipv6Bytes replaced = kMap.Replace(address);
  EXPECT_EQ(replaced[0], 0xfd);
  EXPECT_NE(replaced, address);
  for (int i = 2; i < 14; ++i) EXPECT_EQ(replaced[i], 0) << i;
  Ipv6Bytes loopback = {};
  loopback[15] = 1;
  EXPECT_EQ(kMap.Replace(loopback), loopback);
}

TEST(AddressMapTest, FollowsIpv4InsideIpv6) {
  Ipv6Bytes mapped = {};
  const uint8_t end[] = {0xff, 0xff, 10, 20, 0, 17};
  std::copy(std::begin(end), std::end(end), mapped.begin() + 10);
  const uint32_t ipv4 = kMap.Replace(Ipv4Address(0x0a140011)).bits();
  const Ipv6Bytes replaced = kMap.Replace(mapped);
  EXPECT_EQ(replaced[13], ipv4 >> 16 & 0xff);
  EXPECT_EQ(replaced[15], 17);
}

TEST(RandomAddressKeyTest, DiffersEachTime) {
  EXPECT_NE(RandomAddressKey().value(), RandomAddressKey().value());
}

}  // namespace
}  // namespace clusterd
