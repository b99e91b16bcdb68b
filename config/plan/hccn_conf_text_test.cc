#include "config/plan/hccn_conf_text.h"

#include <gtest/gtest.h>

namespace clusterd {
namespace {

HccnConfRepairChange Repair(const std::vector<HccnConf::Problem::Kind>& kinds) {
  HccnConfRepairChange change;
  for (const auto kind : kinds) change.add_problems()->set_kind(kind);
  return change;
}

TEST(HccnConfValueTest, TakesTheFirstLineOfTheKeyLikeTheTool) {
  EXPECT_EQ(HccnConfValue("# address_0=9.9.9.9\naddress_0=10.0.0.1\n"
                          "address_0=10.0.0.2\n",
                          "address_0"),
            "10.0.0.1");
}

TEST(HccnConfValueTest, DoesNotFindAKeyWithBlanksOrALongerName) {
  EXPECT_FALSE(HccnConfValue("address_0 = 10.0.0.1\n", "address_0"));
  EXPECT_FALSE(HccnConfValue("address_01=10.0.0.1\n", "address_0"));
  EXPECT_FALSE(HccnConfValue("IPv6address_0=fd00::1\n", "address_0"));
}

TEST(HccnConfValueTest, LeavesOffACarriageReturn) {
  EXPECT_EQ(HccnConfValue("address_0=10.0.0.1\r\n", "address_0"), "10.0.0.1");
}

TEST(RepairedRouteLineTest, AddsWhatTheToolWants) {
  EXPECT_EQ(RepairedRouteLine(
                "route_address_172.16.0.0_netmask_255.255.0.0_0=10.0.0.253"),
            "route_address_172.16.0.0_netmask_255.255.0.0_0=gateway_10.0.0."
            "253");
}

TEST(RepairedEntryTest, IsWhatTheFileSaysAfterTheRepair) {
  const auto value = [](const char* key, const char* value) {
    HccnConf::Entry entry;
    entry.set_key(key);
    entry.set_value(value);
    return RepairedEntry(entry).value();
  };
  const char* const route = "route_address_172.16.0.0_netmask_255.255.0.0";
  // As the reader of the file spells a carriage return.
  EXPECT_EQ(value("address", "10.0.0.1\\r"), "10.0.0.1");
  EXPECT_EQ(value(route, "10.0.0.253\\r"), "gateway_10.0.0.253");
  EXPECT_EQ(value(route, "gateway_10.0.0.253"), "gateway_10.0.0.253");
  EXPECT_EQ(value(route, "router"), "router");
  EXPECT_EQ(value("gateway", "10.0.0.254"), "10.0.0.254");
}

TEST(RepairedRouteLineTest, DoesNotGuess) {
  EXPECT_FALSE(RepairedRouteLine("route_address_172.16.0.0_0=router"));
  EXPECT_FALSE(RepairedRouteLine("gateway_0=10.0.0.253"));
  EXPECT_FALSE(RepairedRouteLine("route_address_172.16.0.0_netmask"));
}

TEST(RepairHccnConfTest, AddsTheFinalNewlineAndNothingElse) {
  EXPECT_EQ(RepairHccnConf("# note\nx=1",
                           Repair({HccnConf::Problem::NO_FINAL_NEWLINE})),
            "# note\nx=1\n");
}

TEST(RepairHccnConfTest, RemovesCarriageReturnsAtLineEndsOnly) {
  EXPECT_EQ(RepairHccnConf("a_0=1\r\r\nb_0=x\ry\n",
                           Repair({HccnConf::Problem::CARRIAGE_RETURN})),
            "a_0=1\nb_0=x\ry\n");
}

TEST(RepairHccnConfTest, KeepsTheFirstOfARepeatedKeyAndEveryRule) {
  EXPECT_EQ(RepairHccnConf("mtu_0=1500\nip_route_0=add a\nip_route_0=add b\n"
                           "# mtu_0=1\n# mtu_0=1\nmtu_0=9000\n",
                           Repair({HccnConf::Problem::DUPLICATE_KEY})),
            "mtu_0=1500\nip_route_0=add a\nip_route_0=add b\n# mtu_0=1\n"
            "# mtu_0=1\n");
}

TEST(RepairHccnConfTest, LeavesProblemsThatTheChangeDoesNotName) {
  const std::string text = "mtu_0=1500\r\nmtu_0=9000";
  EXPECT_EQ(RepairHccnConf(text, HccnConfRepairChange()), text);
}

TEST(IsRepairableTest, RefusesWhatWouldHaveToBeGuessed) {
  HccnConf::Problem problem;
  problem.set_kind(HccnConf::Problem::MALFORMED_LINE);
  EXPECT_FALSE(IsRepairable(problem));
  problem.set_kind(HccnConf::Problem::LINE_TOO_LONG);
  EXPECT_FALSE(IsRepairable(problem));
  problem.set_kind(HccnConf::Problem::MALFORMED_ROUTE);
  problem.set_text("route_address_1.0.0.0_netmask_255.0.0.0_0=nowhere");
  EXPECT_FALSE(IsRepairable(problem));
}

TEST(WithLostLinesTest, KeepsWhatTheToolWroteWhenNothingIsLost) {
  EXPECT_EQ(WithLostLines("address_0=1\nmtu_0=1500\n",
                          "mtu_0=1500\naddress_0=2\n", {"address_0"}),
            "mtu_0=1500\naddress_0=2\n");
}

TEST(WithLostLinesTest, PutsBackWhatASubstringDeleteTook) {
  EXPECT_EQ(WithLostLines("gateway_0=10.0.0.254\nIPv6gateway_0=fd00::1\n"
                          "# old: gateway_0=10.0.0.250\nmtu_0=1500\n",
                          "mtu_0=1500\ngateway_0=10.0.0.253\n", {"gateway_0"}),
            "IPv6gateway_0=fd00::1\n# old: gateway_0=10.0.0.250\nmtu_0=1500\n"
            "gateway_0=10.0.0.253\n");
}

TEST(WithLostLinesTest, LetsOnlyTheNamedLineOfARepeatedKeyGo) {
  EXPECT_EQ(WithLostLines("ip_route_0=add a\nip_route_0=add b\n", "",
                          {"ip_route_0=add a"}),
            "ip_route_0=add b\n");
}

TEST(WithLostLinesTest, DoesNotTakeAKeyThatSomebodyElseSetForLost) {
  EXPECT_EQ(WithLostLines("mtu_0=1500\nx_0=1\ngateway_0=1\n",
                          "x_0=1\nmtu_0=9000\ngateway_0=2\n", {"gateway_0"}),
            "x_0=1\nmtu_0=9000\ngateway_0=2\n");
  // Beside a line that is lost.
  EXPECT_EQ(WithLostLines("mtu_0=1500\nIPv6gateway_0=fd00::1\ngateway_0=1\n",
                          "mtu_0=9000\ngateway_0=2\n", {"gateway_0"}),
            "IPv6gateway_0=fd00::1\nmtu_0=9000\ngateway_0=2\n");
}

TEST(WithLostLinesTest, PutsBackRulesAndCommentsBesideOthersOfTheirKey) {
  EXPECT_EQ(WithLostLines("ip_route_0=add a\nip_rule_0=add b\n#note=1\n",
                          "ip_route_0=add c\nip_rule_0=add d\n#note=2\n", {}),
            "ip_route_0=add a\nip_rule_0=add b\n#note=1\n"
            "ip_route_0=add c\nip_rule_0=add d\n#note=2\n");
}

TEST(WithLostLinesTest, CountsEqualLines) {
  EXPECT_EQ(WithLostLines("# x\n# x\n", "# x\n", {}), "# x\n# x\n");
}

}  // namespace
}  // namespace clusterd
