#include "config/values/port_set.h"

#include <algorithm>
#include <bitset>
#include <random>

#include "gmock/gmock.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

PortSet Ports(absl::string_view text) {
  absl::StatusOr<PortSet> parsed = PortSet::Parse(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() ? *parsed : PortSet();
}

// Left: written to a 6.18 kernel; right: read back from it.
TEST(PortSetTest, SpellsSetsAsTheKernelDoesAndReadsTheKernelsEmptyListAsEmpty) {
  EXPECT_EQ(Ports("60000-60007,60008-60015").ToString(), "60000-60015");
  EXPECT_EQ(Ports("60000-60010,60005-60015").ToString(), "60000-60015");
  EXPECT_EQ(Ports("60008-60015,60000-60007").ToString(), "60000-60015");
  EXPECT_EQ(Ports("60000,60001,60002").ToString(), "60000-60002");
  EXPECT_EQ(Ports("60000-60015,8080").ToString(), "8080,60000-60015");
  EXPECT_EQ(Ports("60000-60015,60016-60031,8080,1-1,8081").ToString(),
            "1,8080-8081,60000-60031");
  EXPECT_TRUE(Ports("\n").empty());
  EXPECT_TRUE(Ports("").empty());
  EXPECT_EQ(Ports("").ToString(), "");
  // Refuses what the kernel refuses or misreads.
  for (const char* text :
       {"65536", "-5", "abc", "60000-", ",60000", "60000-60015, 8080",
        "60000 - 60015", "060000", "0xEA60", "60000-60015;", "99999999999",
        "1-2-3", "60000-60015,"}) {
    EXPECT_FALSE(PortSet::Parse(text).ok()) << text;
  }
  const auto reversed = PortSet::Parse("60015-60000");
  ASSERT_FALSE(reversed.ok());
  EXPECT_THAT(std::string(reversed.status().message()),
              HasSubstr("expected 60000-60015"));
  // Compares as sets and adds without losing other reservations.
  const PortSet have = Ports("8080,60000-60007,60010-60015");
  const PortSet want = Ports("60000-60015");
  EXPECT_FALSE(have.Contains(want));
  EXPECT_EQ(want.Minus(have).ToString(), "60008-60009");
  EXPECT_EQ(have.Minus(want).ToString(), "8080");
  EXPECT_TRUE(Ports("1-65535").Contains(have));
  EXPECT_TRUE(have.Contains(60010u));
  EXPECT_FALSE(have.Contains(60009u));
  PortSet set = Ports("8080,60005");
  set.Add(Ports("60000-60015"));
  EXPECT_EQ(set, Ports("8080,60000-60015"));
}

TEST(PortSetTest, HasWhatWasAddedInAnyOrder) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    PortSet set;
    std::bitset<65536> ports;
    for (int i = 0; i < 40; ++i) {
      // Close together, and at both ends.
      const uint32_t first =
          static_cast<uint32_t>(random() % 200) + (round % 2 == 0 ? 0 : 65330);
      const uint32_t last =
          std::min(65535u, first + static_cast<uint32_t>(random() % 6));
      set.Add(first, last);
      for (uint32_t port = first; port <= last; ++port) ports.set(port);
    }
    uint32_t behind = 0;
    for (const auto& [first, last] : set.ranges()) {
      EXPECT_TRUE(first == 0 || !ports[first - 1]) << set.ToString();
      EXPECT_TRUE(first >= behind) << set.ToString();
      behind = last + 1;
      for (uint32_t port = first; port <= last; ++port) {
        EXPECT_TRUE(ports[port]) << port;
        ports.reset(port);
      }
    }
    EXPECT_TRUE(ports.none()) << set.ToString();
  }
}

}  // namespace
}  // namespace clusterd
