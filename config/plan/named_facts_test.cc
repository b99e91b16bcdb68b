#include "config/plan/named_facts.h"

#include <gtest/gtest.h>

#include "config/plan/setting_rows.h"
#include "config/words/words.h"
#include "tests/support/config/good_cluster.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

HostPlan PlanOn(const std::string& name, const std::string& value) {
  HostPlan plan;
  plan.add_facts()->set_name(name);
  plan.mutable_facts(0)->set_value(value);
  return plan;
}

TEST(NameFactsTest, SaysWhatAPersonWouldCompare) {
  const NamedFacts named = NameFacts(GoodFacts("node-01"));
  EXPECT_EQ(named.at("device 0: address"), "10.0.0.1/255.255.255.0");
  EXPECT_EQ(named.at("device 1: tls"), "off");
  EXPECT_EQ(named.at("hccn.conf: gateway_1"), "10.0.0.254");
  EXPECT_EQ(named.at("hccn.conf: routes_1"), "none");
  EXPECT_EQ(named.at("hccn.conf: form"), "good");
  EXPECT_EQ(named.at(kSomaxconnKey), "65535");
  EXPECT_EQ(named.at("ufw: installed"), "no");
  EXPECT_EQ(named.at("ufw: active"), kUnknownFact);
}

TEST(NameFactsTest, MissingFactsAreUnknownAndNeverEmpty) {
  HostFacts facts;
  facts.add_devices()->set_id(3);
  for (const auto& [name, value] : NameFacts(facts)) {
    EXPECT_EQ(value, kUnknownFact) << name;
  }
}

TEST(NameFactsTest, ReservedPortsAreASet) {
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_kernel()->mutable_reserved_ports()->set_value(
      "60008-60015,60000-60007\n");
  EXPECT_EQ(NameFacts(facts).at(kReservedPortsKey), "60000-60015");
}

TEST(NameFactsTest, DoesNotTellWhereTheToolsOwnWritesMovedALine) {
  HostFacts facts = GoodFacts("node-01");
  HccnConf* conf = facts.mutable_hccn_conf()->mutable_value();
  MergeText("problems {kind: DUPLICATE_KEY line: 12}", conf);
  const NamedFacts planned = NameFacts(facts);
  EXPECT_EQ(planned.at("hccn.conf: form"), "1 duplicate key");
  // A recovery at boot: its lines went to the end.
  conf->mutable_problems(0)->set_line(10);
  MergeText("entries {key: 'xsfp_reset_wait_times' device: 0 value: '7'}",
            conf);
  EXPECT_EQ(NameFacts(facts), planned);
}

TEST(NameFactsTest, TakesTheFirstOfARepeatedKeyAndAllRoutes) {
  HostFacts facts = GoodFacts("node-01");
  MergeText(R"(entries {key: 'ip_route' device: 0 value: 'add a'}
               entries {key: 'ip_route' device: 0 value: 'add b'}
               entries {key: 'address' device: 0 value: '9.9.9.9'})",
            facts.mutable_hccn_conf()->mutable_value());
  const NamedFacts named = NameFacts(facts);
  EXPECT_EQ(named.at("hccn.conf: address_0"), "10.0.0.1");
  EXPECT_EQ(named.at("hccn.conf: routes_0"), "ip_route=add a, ip_route=add b");
}

TEST(NameFactsTest, TellsANetworkNamespaceByAllThatIsKnown) {
  HostFacts facts;
  KernelFacts* const kernel = facts.mutable_kernel();
  kernel->mutable_network_namespace_cookie()->set_value(4097);
  EXPECT_EQ(NameFacts(facts)[kNetworkNamespaceFact], kUnknownFact);
  kernel->mutable_network_namespace()->set_value(4026532000);
  EXPECT_EQ(NameFacts(facts)[kNetworkNamespaceFact], "4026532000, cookie 4097");
  facts.mutable_identity()->mutable_boot_id()->set_value("0a1b-2c");
  EXPECT_EQ(NameFacts(facts)[kNetworkNamespaceFact],
            "4026532000, cookie 4097, boot 0a1b-2c");
  MakeMissing(kernel->mutable_network_namespace_cookie(),
              Missing::NOT_SUPPORTED, "");
  EXPECT_EQ(NameFacts(facts)[kNetworkNamespaceFact],
            "4026532000, boot 0a1b-2c");
}

TEST(IsSameFactTest, ComparesWhatBothKnowOfANetworkNamespace) {
  const auto same = [](const char* a, const char* b) {
    EXPECT_EQ(IsSameFact(kNetworkNamespaceFact, a, b),
              IsSameFact(kNetworkNamespaceFact, b, a))
        << a << " and " << b;
    return IsSameFact(kNetworkNamespaceFact, a, b);
  };
  EXPECT_TRUE(same("7, cookie 1, boot x", "7, cookie 1, boot x"));
  EXPECT_TRUE(same("7", "7, cookie 1, boot x"));
  EXPECT_TRUE(same("7, boot x", "7, cookie 1, boot x"));
  EXPECT_FALSE(same("8", "7, cookie 1, boot x"));
  EXPECT_FALSE(same("7, cookie 2, boot x", "7, cookie 1, boot x"));
  EXPECT_FALSE(same("7, cookie 1, boot y", "7, cookie 1, boot x"));
  EXPECT_FALSE(same("7, boot y", "7, cookie 1, boot x"));
  EXPECT_FALSE(same("unknown", "7, cookie 1, boot x"));
  EXPECT_FALSE(same("", "7, cookie 1, boot x"));
  EXPECT_FALSE(same("cookie 1", "7, cookie 1, boot x"));
  EXPECT_FALSE(IsSameFact(kSomaxconnKey, "7", "7, boot x"));
}

TEST(ParseNamespaceFactTest, ReadsWhatIsKnown) {
  const auto all = ParseNamespaceFact("4026532000, cookie 4097, boot 0a1b-2c");
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->inode, 4026532000u);
  EXPECT_EQ(all->cookie, 4097u);
  EXPECT_EQ(all->boot, "0a1b-2c");
  const auto inode = ParseNamespaceFact("7");
  ASSERT_TRUE(inode.has_value());
  EXPECT_EQ(inode->inode, 7u);
  EXPECT_FALSE(inode->cookie.has_value());
  EXPECT_EQ(inode->boot, "");
  for (const char* none : {"", kUnknownFact, "cookie 1", "cookie 1, boot x"}) {
    EXPECT_FALSE(ParseNamespaceFact(none).has_value()) << none;
  }
}

TEST(FindMovedFactsTest, NamesTheFactWithBothValues) {
  const auto moved = FindMovedFacts(
      PlanOn("device 0: address", "10.9.9.9/255.0.0.0"), GoodFacts("node-01"));
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(ValueText(MovedFactsWords(moved)),
            Say("plan-say-was-now", "device 0: address", "10.9.9.9/255.0.0.0",
                "10.0.0.1/255.255.255.0"));
}

TEST(FindMovedFactsTest, AFactThatIsUnknownNowHasMovedEvenIfItWasBefore) {
  HostFacts facts = GoodFacts("node-01");
  MakeMissing(facts.mutable_kernel()->mutable_somaxconn(), Missing::TIMED_OUT,
              "");
  EXPECT_EQ(FindMovedFacts(PlanOn(kSomaxconnKey, "65535"), facts).size(), 1u);
  EXPECT_TRUE(
      FindMovedFacts(PlanOn("device 1: gateway", "10.0.0.254"), facts).empty());
  EXPECT_EQ(FindMovedFacts(PlanOn(kSomaxconnKey, kUnknownFact), facts).size(),
            1u);
}

TEST(MovedFactsWordsTest, CutsALongListAndControlCharacters) {
  const std::vector<MovedFact> moved(11, {"x", "a", "b\x1b[31m"});
  const std::string text = ValueText(MovedFactsWords(moved));
  EXPECT_NE(text.find("and 3 more"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace clusterd
