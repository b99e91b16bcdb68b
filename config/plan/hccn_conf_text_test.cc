#include "config/plan/hccn_conf_text.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "config/plan/settings.h"
#include "config/plan/step_planners.h"
#include "config/words/words.h"
#include "tests/support/config/good_cluster.h"

namespace clusterd {
namespace {

TEST(HccnConfValueTest, IsTheFirstLineOfThatVeryKeyLikeInTheTool) {
  const auto value = [](const char* text) {
    return HccnConfValue(text, "address_0").value_or("none");
  };
  EXPECT_EQ(value("# address_0=9.9.9.9\naddress_0=10.0.0.1\n"
                  "address_0=10.0.0.2\n"),
            "10.0.0.1");
  EXPECT_EQ(value("address_0=10.0.0.1\r\n"), "10.0.0.1");
  EXPECT_EQ(value("address_0 = 10.0.0.1\n"), "none");
  EXPECT_EQ(value("address_01=10.0.0.1\n"), "none");
  EXPECT_EQ(value("IPv6address_0=fd00::1\n"), "none");
}

TEST(RepairedRouteLineTest, AddsWhatTheToolWantsAndDoesNotGuess) {
  EXPECT_FALSE(RepairedRouteLine("route_address_172.16.0.0_0=router"));
  EXPECT_FALSE(RepairedRouteLine("gateway_0=10.0.0.253"));
  EXPECT_FALSE(RepairedRouteLine("route_address_172.16.0.0_netmask"));
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

TEST(RepairHccnConfTest, RepairsWhatNeedsNoGuessAndNothingElse) {
  const std::pair<const char*, const char*> kCases[] = {
      {"# note\nx=1", "# note\nx=1\n"},
      // Carriage returns at line ends only.
      {"a_0=1\r\r\nb_0=x\ry\n", "a_0=1\nb_0=x\ry\n"},
      // The first of a repeated key stays, and every rule.
      {"mtu_0=1500\nip_route_0=add a\nip_route_0=add b\nmtu_0=9000\n",
       "mtu_0=1500\nip_route_0=add a\nip_route_0=add b\n"},
      {"route_address_172.16.0.0_netmask_255.255.0.0_0=10.0.0.253\r\n"
       "route_address_172.17.0.0_0=router\n",
       "route_address_172.16.0.0_netmask_255.255.0.0_0=gateway_10.0.0.253\n"
       "route_address_172.17.0.0_0=router\n"},
      // Blanks that a recovery takes for the value.
      {"gateway_1=10.0.0.254\t\nnetdetect_5=10.0.0.254 \n"
       "tls_enable_3=0 \r\n",
       "gateway_1=10.0.0.254\nnetdetect_5=10.0.0.254\ntls_enable_3=0\n"},
      {"", ""}};
  for (const auto& [text, repaired] : kCases) {
    EXPECT_EQ(RepairHccnConf(text), repaired);
  }
  const std::string good = "# a\n\nx\naddress_0=10.0.0.1\nfuture_0=1\t \n";
  EXPECT_EQ(RepairHccnConf(good), good);
}

TEST(IsRepairableTest, RefusesWhatWouldHaveToBeGuessed) {
  // With such a route the tool would still stop.
  const std::string route = "route_address_172.16.0.0_5=10.0.0.253";
  EXPECT_EQ(RepairHccnConf(route + "\n"), route + "\n");
  HccnConf::Problem problem;
  for (const auto& [kind, text] :
       {std::pair(HccnConf::Problem::MALFORMED_ROUTE, route.c_str()),
        std::pair(HccnConf::Problem::MALFORMED_ROUTE,
                  "route_address_1.0.0.0_netmask_255.0.0.0_0=nowhere"),
        std::pair(HccnConf::Problem::MALFORMED_LINE, ""),
        std::pair(HccnConf::Problem::LINE_TOO_LONG, "")}) {
    problem.set_kind(kind);
    problem.set_text(text);
    EXPECT_FALSE(IsRepairable(problem)) << kind << text;
  }
}

TEST(WithLostLinesTest, PutsBackWhatTheToolLostAndNothingElse) {
  const struct {
    const char* before;
    const char* after;
    std::set<std::string> may_vanish;
    const char* kept;
  } kCases[] = {
      {"address_0=1\nmtu_0=1500\n",
       "mtu_0=1500\naddress_0=2\n",
       {"address_0"},
       "mtu_0=1500\naddress_0=2\n"},
      // Deleting a key, the tool deletes lines that contain it.
      {"gateway_0=10.0.0.254\nIPv6gateway_0=fd00::1\n"
       "# old: gateway_0=10.0.0.250\nmtu_0=1500\n",
       "mtu_0=1500\ngateway_0=10.0.0.253\n",
       {"gateway_0"},
       "IPv6gateway_0=fd00::1\n# old: gateway_0=10.0.0.250\nmtu_0=1500\n"
       "gateway_0=10.0.0.253\n"},
      // Only the named line of a repeated key goes.
      {"ip_route_0=add a\nip_route_0=add b\n",
       "",
       {"ip_route_0=add a"},
       "ip_route_0=add b\n"},
      // A key of another program is not lost, even beside one that is.
      {"mtu_0=1500\nx_0=1\ngateway_0=1\n",
       "x_0=1\nmtu_0=9000\ngateway_0=2\n",
       {"gateway_0"},
       "x_0=1\nmtu_0=9000\ngateway_0=2\n"},
      {"mtu_0=1500\nIPv6gateway_0=fd00::1\ngateway_0=1\n",
       "mtu_0=9000\ngateway_0=2\n",
       {"gateway_0"},
       "IPv6gateway_0=fd00::1\nmtu_0=9000\ngateway_0=2\n"},
      // Rules and comments beside others of their key.
      {"ip_route_0=add a\nip_rule_0=add b\n#note=1\n",
       "ip_route_0=add c\nip_rule_0=add d\n#note=2\n",
       {},
       "ip_route_0=add a\nip_rule_0=add b\n#note=1\n"
       "ip_route_0=add c\nip_rule_0=add d\n#note=2\n"},
      // Equal lines count.
      {"# x\n# x\n", "# x\n", {}, "# x\n# x\n"}};
  for (const auto& each : kCases) {
    EXPECT_EQ(WithLostLines(each.before, each.after, each.may_vanish),
              each.kept);
  }
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

FindingValue Returns() { return Worded("plan-say-remove-returns"); }

// The text of a step with these repairs.
std::string Repairs(const std::vector<FindingValue>& repairs) {
  return Say("about", "/etc/hccn.conf", Listed(repairs, repairs.size()));
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
      Repairs({Worded("plan-say-in-line", 2, Returns()),
               Worded("plan-say-in-line", 7, Worded("plan-say-write-route")),
               Worded("plan-say-in-line", 9, Worded("plan-say-add-newline"))}));
  EXPECT_EQ(plan.facts(0).key(), FormFact());
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
            Repairs({Worded("plan-say-in-lines", "1-4,7", Returns()),
                     Worded("plan-say-in-line", 3,
                            Worded("plan-say-remove-repeated")),
                     Worded("plan-say-add-newline")}));
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
            Repairs({Worded("plan-say-in-lines", "1-63", Returns())}));
  for (uint32_t line = 64; line <= 100; ++line) {
    AddProblem(&facts, HccnConf::Problem::CARRIAGE_RETURN, line, "");
  }
  EXPECT_EQ(
      RepairText(facts),
      Repairs({Worded("plan-say-also-after",
                      Worded("plan-say-in-lines", "1-100", Returns()), 100)}));
}

TEST(PlanFormStepTest, RepairsBlanksAfterValues) {
  HostFacts facts = GoodFacts("node-01");
  AddProblem(&facts, HccnConf::Problem::TRAILING_BLANK, 4,
             "gateway_1=10.0.0.1 ");
  EXPECT_EQ(RepairText(facts),
            Repairs({Worded("plan-say-in-line", 4,
                            Worded("plan-say-remove-blanks"))}));
}

TEST(PlanFormStepTest, BlocksWhatWouldHaveToBeGuessedAndNoSettingWritesAnew) {
  HostFacts facts = GoodFacts("node-01");
  AddProblem(&facts, HccnConf::Problem::BAD_VALUE, 4, "mtu_0=x");
  EXPECT_TRUE(Plan(facts).blocked().empty());
  AddProblem(&facts, HccnConf::Problem::BAD_VALUE, 5, "ip_route_0=x");
  ASSERT_EQ(Plan(facts).blocked_size(), 1);
  EXPECT_EQ(Plan(facts).blocked(0).what(), "/etc/hccn.conf line 5");
  facts = GoodFacts("node-01");
  AddProblem(&facts, HccnConf::Problem::MALFORMED_LINE, 4, "hello");
  EXPECT_TRUE(Plan(facts).steps().empty());
  ASSERT_EQ(Plan(facts).blocked_size(), 1);
  EXPECT_EQ(Plan(facts).blocked(0).what(), "/etc/hccn.conf line 4");
}

}  // namespace
}  // namespace clusterd
