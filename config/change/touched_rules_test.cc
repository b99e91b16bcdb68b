#include "config/change/touched_rules.h"

#include <set>
#include <string>

#include "config/plan/kernel_parameters.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/plan_steps.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

ClusterPlan PlanWith(const PlanStep& step) {
  ClusterPlan plan;
  plan.add_hosts()->set_host("a");
  *plan.mutable_hosts(0)->add_steps() = step;
  return plan;
}

std::string WrongText(const ClusterPlan& plan,
                      const std::set<std::string>& hosts, const Report& check) {
  return ValueText(WhatIsWrong(plan, hosts, check));
}

TEST(TouchedRulesTest, AreThoseThatASettingOfThePlanFixes) {
  EXPECT_THAT(
      TouchedRules(PlanWith(RunningStep(kSomaxconnKey, "128", "65535"))).only(),
      AllOf(Contains("listen-backlog"), Not(Contains("firewall")),
            Not(Contains("gateway"))));
  EXPECT_THAT(TouchedRules(PlanWith(StopStep(UFW))).only(),
              AllOf(Contains("firewall"), Not(Contains("listen-backlog"))));
  // All rules.
  EXPECT_THAT(TouchedRules(ClusterPlan()).only(), IsEmpty());
}

// A report of hosts a, b and c, which have answered.
Report GoodReport() {
  Report report;
  for (const char* host : {"a", "b", "c"}) report.add_hosts()->set_host(host);
  return report;
}

Report ReportWith(const std::string& rule, State state,
                  const std::string& caused_by = "") {
  Report report = GoodReport();
  RuleResult* const result = report.add_rules();
  result->set_rule(rule);
  Finding* const finding = result->add_findings();
  finding->set_rule(rule);
  finding->set_state(state);
  finding->set_caused_by(caused_by);
  for (const char* host : {"a", "b"}) finding->add_subjects()->set_host(host);
  return report;
}

TEST(WhatIsWrongTest, IsWhateverIsFoundOnItsHosts) {
  EXPECT_EQ(WrongText({}, {"a", "b"}, GoodReport()), "");
  EXPECT_EQ(WrongText({}, {"c"}, ReportWith("firewall", FAIL)), "");
  EXPECT_EQ(WrongText({}, {"a"}, ReportWith("firewall", FAIL)),
            "firewall on a (fail)");
  EXPECT_EQ(
      WrongText({}, {"a", "b"}, ReportWith("firewall", FAIL)),
      Say("hub-and-more", Worded("hub-rule-on", "firewall", "a", "fail"), 1));
}

TEST(WhatIsWrongTest, CountsNoUnknownAsFine) {
  EXPECT_EQ(WrongText({}, {"a"}, ReportWith("firewall", UNKNOWN)),
            "firewall on a (unknown)");
  EXPECT_EQ(WrongText({}, {"a"}, ReportWith("firewall", SKIPPED)), "");
}

TEST(WhatIsWrongTest, TakesNoHostForFineThatDoesNotAnswer) {
  Report report = GoodReport();
  *report.mutable_hosts(1)->mutable_no_facts() = ToFindingValue("detached");
  EXPECT_EQ(WrongText({}, {"a", "c"}, report), "");
  EXPECT_EQ(WrongText({}, {"a", "b"}, report), "no facts of b");
  EXPECT_EQ(WrongText({}, {"b", "d"}, report),
            Say("hub-and-more", Worded("hub-no-facts-of", "b"), 1));
}

ClusterPlan PlanThatLeaves(const std::string& rule, State state) {
  ClusterPlan plan = PlanWith(StopStep(UFW));
  UnfixedRule* const left = plan.mutable_hosts(0)->add_unfixed();
  left->set_rule(rule);
  left->set_state(state);
  return plan;
}

TEST(WhatIsWrongTest, MindsNothingThatThePlanLeftByIntent) {
  const ClusterPlan plan = PlanThatLeaves("driver", FAIL);
  EXPECT_EQ(WrongText(plan, {"a"}, ReportWith("driver", FAIL)), "");
  EXPECT_EQ(WrongText(plan, {"a"}, ReportWith("firewall", FAIL, "driver")), "");
  EXPECT_EQ(WrongText(plan, {"b"}, ReportWith("driver", FAIL)),
            "driver on b (fail)");
}

TEST(WhatIsWrongTest, MindsWhatIsWorseThanThePlanLeftIt) {
  const ClusterPlan plan = PlanThatLeaves("firewall", WARN);
  EXPECT_EQ(WrongText(plan, {"a"}, ReportWith("firewall", WARN)), "");
  EXPECT_EQ(WrongText(plan, {"a"}, ReportWith("firewall", FAIL)),
            "firewall on a (fail)");
  EXPECT_EQ(WrongText(plan, {"a"}, ReportWith("ports", FAIL, "firewall")),
            "ports on a (fail)");
}

TEST(WhatIsWrongTest, IgnoresFailuresThatThePlanMightHaveFixed) {
  EXPECT_EQ(WrongText(PlanThatLeaves("subnet-pairs", UNKNOWN), {"a"},
                      ReportWith("subnet-pairs", FAIL)),
            "");
  EXPECT_EQ(WrongText(PlanThatLeaves("firewall", UNKNOWN), {"a"},
                      ReportWith("firewall", FAIL)),
            "firewall on a (fail)");
}

}  // namespace
}  // namespace clusterd
