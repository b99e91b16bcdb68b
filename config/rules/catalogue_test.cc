#include "config/rules/catalogue.h"

#include <set>

#include "absl/strings/ascii.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(RuleCatalogueTest, TellsEverythingAboutEveryRule) {
  for (const RuleInfo& rule : RuleCatalogue()) {
    EXPECT_FALSE(rule.title.empty()) << rule.name;
    EXPECT_FALSE(rule.fails_when.empty()) << rule.name;
    EXPECT_FALSE(rule.why.empty()) << rule.name;
    EXPECT_FALSE(rule.fix.empty()) << rule.name;
    EXPECT_FALSE(rule.level.empty()) << rule.name;
    EXPECT_FALSE(rule.source.empty()) << rule.name;
    // One line under a heading.
    EXPECT_LE(rule.title.size(), 72u) << rule.name;
  }
}

TEST(RuleCatalogueTest, NamesRulesInLowerCaseWordsOnce) {
  std::set<std::string> names;
  for (const RuleInfo& rule : RuleCatalogue()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    for (const char c : rule.name) {
      EXPECT_TRUE(absl::ascii_islower(c) || c == '-') << rule.name;
    }
  }
}

TEST(RuleCatalogueTest, KeepsTheNamesThatUsersType) {
  const std::set<std::string> promised = {
      "ports-reserved",      "ports-free",
      "listen-backlog",      "syn-backlog",
      "sysctl-persistent",   "firewall",
      "hccn-tool",           "device-count",
      "hccn-conf",           "device-ip-set",
      "device-ip-planned",   "device-ip-persistent",
      "device-ip-allowed",   "gateway",
      "detect-address",      "link",
      "net-health",          "lldp",
      "subnet-pairs",        "subnet-distinct",
      "subnet-across-hosts", "subnet-shared",
      "ip-unique",           "ip-host-part",
      "netmask-uniform",     "tls-uniform",
      "mtu-uniform",         "version-uniform",
      "cluster-size",        "cluster-size-power",
      "host-identity",       "drift",
      "gateway-persistent",  "detect-address-persistent"};
  for (const std::string& name : promised) {
    EXPECT_NE(FindRule(name), nullptr) << name;
  }
  EXPECT_GE(RuleCatalogue().size(), promised.size());
}

TEST(RuleCatalogueTest, KeepsTheRulesOfACategoryTogether) {
  std::vector<std::string> categories;
  for (const RuleInfo& rule : RuleCatalogue()) {
    if (categories.empty() || categories.back() != rule.category) {
      categories.push_back(rule.category);
    }
  }
  EXPECT_THAT(categories,
              testing::ElementsAre("host", "device", "address", "cluster"));
}

TEST(FindRuleTest, FindsByWholeNameOnly) {
  ASSERT_NE(FindRule("link"), nullptr);
  EXPECT_EQ(FindRule("link")->name, "link");
  EXPECT_EQ(FindRule("lin"), nullptr);
  EXPECT_EQ(FindRule(""), nullptr);
}

TEST(NearestRuleTest, FindsWhatWasMeant) {
  EXPECT_EQ(NearestRule("ports-reserve"), "ports-reserved");
  EXPECT_EQ(NearestRule("net-helth"), "net-health");
  EXPECT_EQ(NearestRule("weather"), "");
  EXPECT_EQ(NearestRule(std::string(100000, 'x')), "");
}

}  // namespace
}  // namespace clusterd
