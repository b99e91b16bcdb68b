#include "config/plan/named_facts.h"

#include <gtest/gtest.h>

#include "config/plan/kernel_parameters.h"
#include "config/words/words.h"
#include "tests/support/config/good_cluster.h"
#include "tests/support/config/plan_steps.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

HostPlan PlanOn(const FactKey& key, const SettingValue& value) {
  HostPlan plan;
  *plan.add_facts()->mutable_key() = key;
  *plan.mutable_facts(0)->mutable_value() = value;
  return plan;
}

TEST(NameFactsTest, SaysWhatAPersonWouldCompare) {
  const auto named = FactTexts(GoodFacts("node-01"));
  EXPECT_EQ(named.at("device 0: address"), "10.0.0.1/24");
  EXPECT_EQ(named.at("device 1: tls"), "off");
  EXPECT_EQ(named.at("hccn.conf: gateway_1"), "10.0.0.254");
  EXPECT_EQ(named.at("hccn.conf: routes_1"), "none");
  EXPECT_EQ(named.at("hccn.conf: form"), "good");
  EXPECT_EQ(named.at(kSomaxconnKey), "65535");
  EXPECT_EQ(named.at("ufw: installed"), "no");
  EXPECT_EQ(named.at("ufw: active"), "unknown");
}

TEST(NameFactsTest, MissingFactsAreUnknownAndNeverEmpty) {
  HostFacts facts;
  facts.add_devices()->set_id(3);
  for (const auto& [key, value] : NameFacts(facts)) {
    EXPECT_TRUE(IsUnknown(value)) << FactKeyText(key);
  }
}

TEST(NameFactsTest, ReservedPortsAreASet) {
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_kernel()->mutable_reserved_ports()->set_value(
      "60008-60015,60000-60007\n");
  EXPECT_EQ(FactTexts(facts).at(kReservedPortsKey), "60000-60015");
}

TEST(NameFactsTest, DoesNotTellWhereTheToolsOwnWritesMovedALine) {
  HostFacts facts = GoodFacts("node-01");
  HccnConf* conf = facts.mutable_hccn_conf()->mutable_value();
  MergeText("problems {kind: DUPLICATE_KEY line: 12}", conf);
  const NamedFacts planned = NameFacts(facts);
  EXPECT_EQ(planned.at(FormFact()), TextsValue({"1 duplicate key"}));
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
  EXPECT_EQ(named.at(ConfLineFact(0, "address")), TextsValue({"10.0.0.1"}));
  EXPECT_EQ(named.at(RoutesFact(0)),
            TextsValue({"ip_route=add a", "ip_route=add b"}));
}

TEST(NameFactsTest, TellsANetworkNamespaceByAllThatIsKnown) {
  HostFacts facts;
  KernelFacts* const kernel = facts.mutable_kernel();
  kernel->mutable_network_namespace_cookie()->set_value(4097);
  EXPECT_EQ(FactTexts(facts)["network namespace"], "unknown");
  kernel->mutable_network_namespace()->set_value(4026532000);
  EXPECT_EQ(FactTexts(facts)["network namespace"], "4026532000, cookie 4097");
  facts.mutable_identity()->mutable_boot_id()->set_value("0a1b-2c");
  EXPECT_EQ(FactTexts(facts)["network namespace"],
            "4026532000, cookie 4097, boot 0a1b-2c");
  MakeMissing(kernel->mutable_network_namespace_cookie(),
              Missing::NOT_SUPPORTED, "");
  EXPECT_EQ(FactTexts(facts)["network namespace"], "4026532000, boot 0a1b-2c");
}

SettingValue Namespace(uint64_t inode, std::optional<uint64_t> cookie,
                       const std::string& boot) {
  SettingValue value;
  NetworkNamespaceIdentity* const identity = value.mutable_network_namespace();
  identity->set_inode(inode);
  if (cookie) identity->set_cookie(*cookie);
  identity->set_boot_id(boot);
  return value;
}

TEST(IsSameFactTest, ComparesWhatBothKnowOfANetworkNamespace) {
  const auto same = [](const SettingValue& a) {
    const SettingValue b = Namespace(7, 1, "x");
    EXPECT_EQ(IsSameFact(a, b), IsSameFact(b, a)) << SettingText(a);
    return IsSameFact(a, b);
  };
  EXPECT_TRUE(same(Namespace(7, 1, "x")));
  EXPECT_TRUE(same(Namespace(7, std::nullopt, "")));
  EXPECT_TRUE(same(Namespace(7, std::nullopt, "x")));
  EXPECT_FALSE(same(Namespace(8, std::nullopt, "")));
  EXPECT_FALSE(same(Namespace(7, 2, "x")));
  EXPECT_FALSE(same(Namespace(7, 1, "y")));
  EXPECT_FALSE(same(Namespace(7, std::nullopt, "y")));
  EXPECT_FALSE(same(SettingValue()));
  EXPECT_FALSE(same(TextsValue({"7, cookie 1, boot x"})));
  EXPECT_FALSE(IsSameFact(NumberValue(7), NumberValue(8)));
}

TEST(FindMovedFactsTest, NamesTheFactWithBothValues) {
  const auto moved =
      FindMovedFacts(PlanOn(DeviceFact(0, SETTING_ADDRESS),
                            ValueOf(SETTING_ADDRESS, "10.9.9.9/255.0.0.0")),
                     GoodFacts("node-01"));
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(ValueText(MovedFactsWords(moved)),
            Say("plan-say-was-now", "device 0: address", "10.9.9.9/8",
                "10.0.0.1/24"));
}

TEST(FindMovedFactsTest, AFactThatIsUnknownNowHasMovedEvenIfItWasBefore) {
  HostFacts facts =
      GoodFacts("node-01", "kernel {somaxconn {missing {reason: TIMED_OUT}}}");
  const FactKey somaxconn = KernelFact(kSomaxconnKey, SETTING_RUNNING);
  EXPECT_EQ(FindMovedFacts(PlanOn(somaxconn, NumberValue(65535)), facts).size(),
            1u);
  EXPECT_TRUE(FindMovedFacts(PlanOn(DeviceFact(1, SETTING_GATEWAY),
                                    ValueOf(SETTING_GATEWAY, "10.0.0.254")),
                             facts)
                  .empty());
  EXPECT_EQ(FindMovedFacts(PlanOn(somaxconn, SettingValue()), facts).size(),
            1u);
}

TEST(MovedFactsWordsTest, CutsALongListAndControlCharacters) {
  const std::vector<MovedFact> moved(
      11, {FactKey(), TextsValue({"a"}), TextsValue({"b\x1b[31m"})});
  const std::string text = ValueText(MovedFactsWords(moved));
  EXPECT_NE(text.find("and 3 more"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace clusterd
