#include <gtest/gtest.h>

#include "client/recording/recording.h"

namespace clusterd {
namespace {

TEST(NameMapTest, CountsNamesWithinTheirKind) {
  NameMap names;
  EXPECT_EQ(names.Alias("switch", "leaf-01"), "switch-1");
  EXPECT_EQ(names.Alias("switch", "leaf-02"), "switch-2");
  EXPECT_EQ(names.Alias("host", "node-07"), "host-1");
  EXPECT_EQ(names.Alias("switch", "LEAF-01"), "switch-1");
}

TEST(NameMapTest, ReplacesANameWhateverItsCase) {
  NameMap names;
  names.Add("host", "node-07");
  EXPECT_EQ(names.Replace("Node-07: up, node-07-bmc, _node-07_\n"),
            "host-1: up, host-1-bmc, _host-1_\n");
}

TEST(NameMapTest, LeavesLongerWordsAlone) {
  NameMap names;
  names.Add("host", "node-07");
  EXPECT_EQ(names.Replace("node-071 xnode-07"), "node-071 xnode-07");
}

TEST(NameMapTest, HidesTheDomainToo) {
  NameMap names;
  names.Add("host", "node-07.lab.example");
  EXPECT_EQ(names.Replace("node-07.lab.example"), "host-1");
  EXPECT_EQ(names.Replace("node-07"), "host-1");
  EXPECT_EQ(names.Replace("ntp.lab.example"), "ntp.domain-1");
}

TEST(NameMapTest, PrefersTheLongestName) {
  NameMap names;
  names.Add("host", "node");
  names.Add("switch", "node-07");
  EXPECT_EQ(names.Replace("node-07 node-08"), "switch-1 host-1-08");
}

TEST(NameMapTest, DoesNotLookForNamesThatHitEverything) {
  NameMap names;
  names.Add("host", "7");
  names.Add("host", "2026");
  names.Add("host", "  ");
  EXPECT_EQ(names.Replace("device 7, 2026"), "device 7, 2026");
}

TEST(NameMapTest, IsNotConfusedByANameOfDots) {
  NameMap names;
  names.Add("host", "..");
  names.Add("host", ".x");
  EXPECT_EQ(names.Replace("plain text"), "plain text");
}

}  // namespace
}  // namespace clusterd
