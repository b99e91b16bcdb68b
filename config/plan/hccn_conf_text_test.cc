#include "config/plan/hccn_conf_text.h"

#include <gtest/gtest.h>

#include "config/plan/settings.h"
#include "config/plan/step_planners.h"
#include "tests/support/config/good_cluster.h"

namespace clusterd {
namespace {

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
  // The reader of the file spells a carriage return like this.
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
  EXPECT_EQ(RepairHccnConf("# note\nx=1"), "# note\nx=1\n");
}

TEST(RepairHccnConfTest, RemovesCarriageReturnsAtLineEndsOnly) {
  EXPECT_EQ(RepairHccnConf("a_0=1\r\r\nb_0=x\ry\n"), "a_0=1\nb_0=x\ry\n");
}

TEST(RepairHccnConfTest, KeepsTheFirstOfARepeatedKeyAndEveryRule) {
  EXPECT_EQ(RepairHccnConf("mtu_0=1500\nip_route_0=add a\nip_route_0=add b\n"
                           "mtu_0=9000\n"),
            "mtu_0=1500\nip_route_0=add a\nip_route_0=add b\n");
}

TEST(RepairHccnConfTest, RepairsARouteThatNeedsNoGuess) {
  EXPECT_EQ(RepairHccnConf(
                "route_address_172.16.0.0_netmask_255.255.0.0_0=10.0.0.253\r\n"
                "route_address_172.17.0.0_0=router\n"),
            "route_address_172.16.0.0_netmask_255.255.0.0_0=gateway_10.0.0.253"
            "\nroute_address_172.17.0.0_0=router\n");
}

TEST(RepairHccnConfTest, RemovesBlanksThatARecoveryTakesForTheValue) {
  EXPECT_EQ(RepairHccnConf("gateway_1=10.0.0.254\t\nnetdetect_5=10.0.0.254 \n"
                           "tls_enable_3=0 \r\n"),
            "gateway_1=10.0.0.254\nnetdetect_5=10.0.0.254\ntls_enable_3=0\n");
}

TEST(RepairHccnConfTest, WritesNoRouteThatWouldStillStopTheTool) {
  const std::string text = "route_address_172.16.0.0_5=10.0.0.253\n";
  EXPECT_EQ(RepairHccnConf(text), text);
  HccnConf::Problem problem;
  problem.set_kind(HccnConf::Problem::MALFORMED_ROUTE);
  problem.set_text("route_address_172.16.0.0_5=10.0.0.253");
  EXPECT_FALSE(IsRepairable(problem));
}

TEST(RepairHccnConfTest, LeavesEverythingElseByteForByte) {
  const std::string good = "# a\n\nx\naddress_0=10.0.0.1\nfuture_0=1\t \n";
  EXPECT_EQ(RepairHccnConf(good), good);
  EXPECT_EQ(RepairHccnConf(""), "");
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

TEST(WithToolsOwnLinesTest, KeepsWhatTheRecoveryNoted) {
  EXPECT_EQ(WithToolsOwnLines("mtu_0=1500\nxsfp_reset_wait_times_0=3\n",
                              "xsfp_reset_wait_times_0=7\nmtu_0=9000\n"
                              "tls_ca_recovered_0=1\n"),
            "mtu_0=1500\ntls_ca_recovered_0=1\nxsfp_reset_wait_times_0=7\n");
}

TEST(WithToolsOwnLinesTest, LeavesTheTextByteForByteWhereNothingIsNew) {
  const std::string text = "xsfp_reset_wait_times_0=7\nmtu_0=1500";
  EXPECT_EQ(WithToolsOwnLines(text, "xsfp_reset_wait_times_0=7\n"), text);
  EXPECT_EQ(WithToolsOwnLines(text, ""), text);
  // The form of the file was repaired meanwhile.
  const std::string by_an_editor = "tls_ca_recovered_0=1\r\nmtu_0=1500\r\n";
  EXPECT_EQ(WithToolsOwnLines(by_an_editor, "tls_ca_recovered_0=1\n"),
            by_an_editor);
}

HostPlan Plan(const HostFacts& facts) {
  HostPlanBuilder builder(facts);
  PlanFormStep(&builder);
  return builder.Finish();
}

void AddProblem(HostFacts* facts, HccnConf::Problem::Kind kind, uint32_t line,
                const std::string& text) {
  HccnConf::Problem* problem =
      facts->mutable_hccn_conf()->mutable_value()->add_problems();
  problem->set_kind(kind);
  problem->set_line(line);
  problem->set_text(text);
}

TEST(PlanFormStepTest, PlansNothingForAGoodOrUnreadableFile) {
  EXPECT_TRUE(Plan(GoodFacts("node-01")).steps().empty());
  HostFacts unreadable = GoodFacts("node-01");
  MakeMissing(unreadable.mutable_hccn_conf(), Missing::NOT_PERMITTED, "");
  EXPECT_TRUE(Plan(unreadable).steps().empty());
}

TEST(PlanFormStepTest, RepairsEverythingInOneStep) {
  HostFacts facts = GoodFacts("node-01");
  AddProblem(&facts, HccnConf::Problem::CARRIAGE_RETURN, 2, "netmask_0=x");
  AddProblem(&facts, HccnConf::Problem::MALFORMED_ROUTE, 7,
             "route_address_172.16.0.0_netmask_255.255.0.0_0=10.0.0.253");
  AddProblem(&facts, HccnConf::Problem::NO_FINAL_NEWLINE, 9, "x");
  const HostPlan plan = Plan(facts);
  ASSERT_EQ(plan.steps_size(), 1);
  EXPECT_EQ(
      StepText(plan.steps(0)),
      "/etc/hccn.conf: line 2: remove carriage returns, line 7: write the "
      "route as gateway_ADDRESS, line 9: add the final newline");
  EXPECT_EQ(plan.facts(0).name(), "hccn.conf: form");
  EXPECT_EQ(plan.steps(0).from_sha256().size(), 64u);
}

std::string RepairText(const HostFacts& facts) {
  return StepText(Plan(facts).steps(0));
}

TEST(PlanFormStepTest, FoldsTheLinesOfARepairIntoRuns) {
  HostFacts facts = GoodFacts("node-01");
  for (const uint32_t line : {1, 2, 3}) {
    AddProblem(&facts, HccnConf::Problem::CARRIAGE_RETURN, line, "");
  }
  AddProblem(&facts, HccnConf::Problem::DUPLICATE_KEY, 3, "");
  AddProblem(&facts, HccnConf::Problem::CARRIAGE_RETURN, 4, "");
  AddProblem(&facts, HccnConf::Problem::CARRIAGE_RETURN, 7, "");
  AddProblem(&facts, HccnConf::Problem::NO_FINAL_NEWLINE, 0, "");
  EXPECT_EQ(RepairText(facts),
            "/etc/hccn.conf: lines 1-4,7: remove carriage returns, line 3: "
            "remove the repeated key, add the final newline");
  // Another repair has another text, so hosts are not folded together.
  HostFacts other = facts;
  other.mutable_hccn_conf()->mutable_value()->mutable_problems(1)->set_line(5);
  EXPECT_NE(RepairText(other), RepairText(facts));
}

TEST(PlanFormStepTest, SaysThatTheWholeFileIsRepairedWhereTheListMayBeCut) {
  HostFacts facts = GoodFacts("node-01");
  for (uint32_t line = 1; line <= 63; ++line) {
    AddProblem(&facts, HccnConf::Problem::CARRIAGE_RETURN, line, "");
  }
  EXPECT_EQ(RepairText(facts),
            "/etc/hccn.conf: lines 1-63: remove carriage returns");
  for (uint32_t line = 64; line <= 100; ++line) {
    AddProblem(&facts, HccnConf::Problem::CARRIAGE_RETURN, line, "");
  }
  EXPECT_EQ(RepairText(facts),
            "/etc/hccn.conf: lines 1-100: remove carriage returns; the whole "
            "file is repaired so, also after line 100");
}

TEST(PlanFormStepTest, RepairsBlanksAfterValues) {
  HostFacts facts = GoodFacts("node-01");
  AddProblem(&facts, HccnConf::Problem::TRAILING_BLANK, 4,
             "gateway_1=10.0.0.1 ");
  EXPECT_EQ(RepairText(facts),
            "/etc/hccn.conf: line 4: remove the blanks at the end");
}

TEST(PlanFormStepTest, BlocksABadValueThatNoSettingWritesAnew) {
  HostFacts facts = GoodFacts("node-01");
  AddProblem(&facts, HccnConf::Problem::BAD_VALUE, 4, "mtu_0=x");
  EXPECT_TRUE(Plan(facts).blocked().empty());
  AddProblem(&facts, HccnConf::Problem::BAD_VALUE, 5, "ip_route_0=x");
  ASSERT_EQ(Plan(facts).blocked_size(), 1);
  EXPECT_EQ(Plan(facts).blocked(0).what(), "/etc/hccn.conf line 5");
}

TEST(PlanFormStepTest, BlocksWhatWouldHaveToBeGuessed) {
  HostFacts facts = GoodFacts("node-01");
  AddProblem(&facts, HccnConf::Problem::MALFORMED_LINE, 4, "hello");
  const HostPlan plan = Plan(facts);
  EXPECT_TRUE(plan.steps().empty());
  ASSERT_EQ(plan.blocked_size(), 1);
  EXPECT_EQ(plan.blocked(0).what(), "/etc/hccn.conf line 4");
}

}  // namespace
}  // namespace clusterd
