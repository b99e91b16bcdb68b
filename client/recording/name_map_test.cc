#include <gtest/gtest.h>

#include "client/recording/recording.h"

namespace clusterd {
namespace {

// The text without these hosts.
std::string Replaced(const std::vector<const char*>& hosts, const char* text) {
  NameMap names;
  for (const char* host : hosts) names.Add("host", host);
  return names.Replace(text);
}

TEST(NameMapTest, CountsNamesWithinTheirKind) {
  NameMap names;
  EXPECT_EQ(names.Alias("switch", "leaf-01"), "switch-1");
  EXPECT_EQ(names.Alias("switch", "leaf-02"), "switch-2");
  EXPECT_EQ(names.Alias("host", "node-07"), "host-1");
  EXPECT_EQ(names.Alias("switch", "LEAF-01"), "switch-1");
}

TEST(NameMapTest, ReplacesANameWhateverItsCaseAndLeavesLongerWordsAlone) {
  EXPECT_EQ(Replaced({"node-07"}, "Node-07: node-07-bmc, _node-07_\n"),
            "host-1: host-1-bmc, _host-1_\n");
  EXPECT_EQ(Replaced({"node-07"}, "node-071 xnode-07"), "node-071 xnode-07");
}

TEST(NameMapTest, HidesTheDomainToo) {
  const std::vector<const char*> host = {"node-07.lab.example"};
  EXPECT_EQ(Replaced(host, "node-07.lab.example"), "host-1");
  EXPECT_EQ(Replaced(host, "node-07"), "host-1");
  EXPECT_EQ(Replaced(host, "ntp.lab.example"), "ntp.domain-1");
}

TEST(NameMapTest, PrefersTheLongestName) {
  NameMap names;
  names.Add("host", "node");
  names.Add("switch", "node-07");
  EXPECT_EQ(names.Replace("node-07 node-08"), "switch-1 host-1-08");
}

TEST(NameMapTest, DoesNotLookForNamesThatHitEverything) {
  EXPECT_EQ(Replaced({"7", "2026", "  "}, "device 7, 2026"), "device 7, 2026");
  EXPECT_EQ(Replaced({"..", ".x"}, "plain text"), "plain text");
}

}  // namespace
}  // namespace clusterd
