#include "config/report/repair_list.h"

#include <algorithm>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/report/report_table.h"
#include "config/words/terminal.h"
#include "config/words/words.h"
#include "gmock/gmock.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr;

RuleResult& Rule(Report& report, const std::string& name) {
  for (RuleResult& rule : *report.mutable_rules()) {
    if (rule.rule() == name) return rule;
  }
  RuleResult& rule = *report.add_rules();
  rule.set_rule(name);
  rule.set_category("device");
  return rule;
}

Finding& Add(Report& report, const std::string& rule, State state,
             const std::string& host, int device = -1) {
  RuleResult& result = Rule(report, rule);
  result.set_state(std::max(result.state(), state));
  Finding& finding = *result.add_findings();
  finding.set_rule(rule);
  finding.set_state(state);
  finding.set_fix("mend");
  finding.add_subjects()->set_host(host);
  if (device >= 0) finding.mutable_subjects(0)->add_devices(device);
  return finding;
}

void SetCommand(const std::string& command, Finding& finding) {
  finding.set_fix(command);
  finding.set_command(command);
}

std::string Table(const Report& report, const Style& style = Style()) {
  std::ostringstream out;
  PrintReportTable(report, style, /*verbose=*/false, out);
  return out.str();
}

std::vector<std::string> Lines(const Report& report) {
  std::vector<std::string> lines;
  for (const Repair& repair : ListRepairs(report)) {
    lines.push_back(RepairLine(repair));
  }
  return lines;
}

TEST(RepairListTest, HasTheCommandBesideTheWordsOfASingleCause) {
  Report report;
  for (const int i : {3, 4}) {
    Finding& link = Add(report, "link", FAIL, absl::StrCat("node", i), i);
    link.set_fix_words("check the cable");
    link.set_command(absl::StrCat("hccn_tool -i ", i, " -link_stat -g"));
    const std::vector<Repair> repairs = ListRepairs(report);
    ASSERT_EQ(repairs.size(), 1u);
    EXPECT_EQ(repairs[0].how, "check the cable");
    EXPECT_EQ(repairs[0].command, i == 3 ? link.command() : "");
  }
}

TEST(RepairListTest, NamesTheOneCommandAndAllThatItPutsInOrder) {
  Report report;
  Finding& address = Add(report, "device-ip-planned", FAIL, "node24", 2);
  address.set_fixed_by_plan(true);
  SetCommand("hccn_tool -i 2 -ip -s", address);
  for (const char* rule : {"subnet-pairs", "subnet-distinct", "ip-unique"}) {
    Add(report, rule, FAIL, "node24", 2).set_caused_by("device-ip-planned");
  }
  EXPECT_THAT(Lines(report),
              ElementsAre(Say(
                  "repair-line", "node24 device 2", "`hccn_tool -i 2 -ip -s`",
                  Say("repair-rules", Counted(4, "rule"),
                      Say("first-of", "device-ip-planned, subnet-pairs", 2)))));
}

TEST(RepairListTest, PutsWhatAPlanFixesOnOneLine) {
  Report report;
  for (int i = 1; i <= 10; ++i) {
    const std::string host = absl::StrCat("node", i);
    Add(report, "ports-reserved", FAIL, host).set_fixed_by_plan(true);
    Add(report, "listen-backlog", WARN, host).set_fixed_by_plan(true);
  }
  Add(report, "link", FAIL, "node3", 1).set_fix("check it");
  EXPECT_THAT(Lines(report), ElementsAre(Say("repair-line", "node[1-10]",
                                             Say("repair-by-plan"),
                                             "ports-reserved, listen-backlog"),
                                         "node3 device 1: check it (link)"));
}

TEST(RepairListTest, KeepsApartWhatHasAnotherCause) {
  Report report;
  Add(report, "link", FAIL, "node1", 1);
  Finding& own = Add(report, "net-health", FAIL, "node1", 2);
  own.set_fix("look at it");
  own.set_caused_by("link");  // Not of this device.
  EXPECT_THAT(Lines(report),
              ElementsAre("node1 device 1: mend (link)",
                          "node1 device 2: look at it (net-health)"));
  // It ends on a chain of causes that bites its tail.
  report.clear_rules();
  Add(report, "a", FAIL, "n").set_caused_by("b");
  Add(report, "b", FAIL, "n").set_caused_by("a");
  EXPECT_FALSE(Lines(report).empty());
}

TEST(RepairListTest, FollowsWhatTwoHostsHaveTogetherToTheOneWithTheCause) {
  Report report;
  Finding& address = Add(report, "device-ip-planned", FAIL, "node1", 3);
  SetCommand("hccn_tool -i 3 -ip -s", address);
  Finding& twice = Add(report, "ip-unique", FAIL, "node1", 3);
  twice.set_caused_by("device-ip-planned");
  twice.add_subjects()->set_host("node2");
  twice.mutable_subjects(1)->add_devices(5);
  // The worst is first.
  Add(report, "drift", WARN, "c");
  Add(report, "host-identity", UNKNOWN, "b");
  EXPECT_THAT(Lines(report),
              ElementsAre("node1 device 3: `hccn_tool -i 3 -ip -s` "
                          "(device-ip-planned, ip-unique)",
                          HasSubstr("(host-identity)"), HasSubstr("(drift)")));
}

TEST(RepairListTest, WhatIsWaivedStandsApartAsAWarning) {
  for (const bool by_plan : {false, true}) {
    Report report;
    for (const State state : {WARN, FAIL}) {
      for (const char* rule : {"link", "net-health"}) {
        Finding& finding =
            Add(report, rule, state, state == WARN ? "s01" : "s02", 3);
        if (state == WARN) finding.mutable_waiver()->set_rule("link");
        if (rule == std::string("net-health")) finding.set_caused_by("link");
        finding.set_fixed_by_plan(by_plan);
        if (by_plan) finding.clear_fix();
      }
    }
    const std::vector<Repair> repairs = ListRepairs(report);
    ASSERT_EQ(repairs.size(), 2u);
    EXPECT_EQ(repairs[0].state, FAIL);
    EXPECT_THAT(RepairLine(repairs[0]), testing::StartsWith("s02"));
    EXPECT_EQ(repairs[1].state, WARN);
    EXPECT_THAT(RepairLine(repairs[1]), testing::StartsWith("s01"));
    for (const char* host : {"s01", "s02"}) {
      EXPECT_THAT(Table(report),
                  HasSubstr(Say("report-because", Counted(1, "rule"), "link",
                                absl::StrCat(host, " device 3"))));
    }
  }
}

TEST(RepairListTest, LeavesLongWordsToExplainAndCutsNoCommand) {
  Report report;
  const std::string words(101, 'x');
  Add(report, "link", FAIL, "a").set_fix(words);
  Finding& shorter = Add(report, "optics", FAIL, "a");
  shorter.set_fix(words);
  shorter.set_short_fix("check it");
  Finding& tls = Add(report, "tls-uniform", FAIL, "b");
  const std::string command = absl::StrCat("hccn_tool ", std::string(200, 'y'));
  SetCommand(command, tls);
  EXPECT_THAT(Lines(report),
              ElementsAre(Say("repair-line", "a", Say("repair-explain", "link"),
                              "link"),
                          "a: check it (optics)",
                          absl::StrCat("b: `", command, "` (tls-uniform)")));
}

// 64 servers, each rule failing somewhere, each finding with a text of its own.
Report MixedFaults(int rules) {
  Report report;
  report.set_verdict(FAIL);
  for (int host = 0; host < 64; ++host) {
    const std::string name = absl::StrCat("node", host);
    report.add_hosts()->set_host(name);
    const std::string rule = absl::StrCat("rule-", host % rules);
    const State state = host % 3 == 0 ? FAIL : host % 3 == 1 ? UNKNOWN : WARN;
    Finding& finding = Add(report, rule, state, name, host % 8);
    finding.set_fix(absl::StrCat("look at cable ", host, ", then at the rest"));
    finding.set_why(std::string(300, 'w'));
    Add(report, "net-health", state, name, host % 8).set_caused_by(rule);
  }
  return report;
}

size_t CausesOf(const std::vector<Repair>& repairs) {
  size_t causes = 0;
  for (const Repair& repair : repairs) causes += repair.causes;
  return causes;
}

TEST(RepairListTest, TheLastScreenCountsEveryCauseOfSixtyFourServers) {
  for (const int width : {0, 80}) {
    for (const int rules : {3, 9, 36}) {
      Report report = MixedFaults(rules);
      report.set_run_id("3fa2");
      Style style;
      style.width = width;
      std::vector<std::string> lines =
          absl::StrSplit(Table(report, style), '\n');
      if (lines.size() > 24) lines.erase(lines.begin(), lines.end() - 24);
      const std::string screen = absl::StrJoin(lines, "\n");
      EXPECT_THAT(screen, HasSubstr("Repairs, worst first\n")) << rules;
      EXPECT_THAT(screen, HasSubstr("\n  x fail "));
      const std::vector<Repair> all = ListRepairs(report);
      EXPECT_GE(CausesOf(all), static_cast<size_t>(rules));
      // Those with a line, and those that are counted.
      size_t shown = 0;
      while (
          shown < all.size() &&
          absl::StrContains(absl::StrReplaceAll(screen, {{"\n    ", " "}}),
                            absl::StrCat("  ", RepairLine(all[shown]), "\n"))) {
        ++shown;
      }
      const size_t left =
          CausesOf({all.begin() + static_cast<int>(shown), all.end()});
      EXPECT_GE(shown, 1u);
      EXPECT_EQ(absl::StrContains(
                    screen, absl::StrCat("  ", MoreCauses(report, left), "\n")),
                left > 0)
          << screen;
    }
  }
}

// A host in its initial state, with eight devices, and 24 values in its plan.
void AddNew(Report& report, const std::string& host,
            const std::string& name = "never-configured") {
  Finding& finding = Add(report, "device-ip-set", FAIL, host);
  finding.set_finding(name);
  finding.set_fixed_by_plan(name == "never-configured");
  for (int i = 0; i < 8; ++i) finding.mutable_subjects(0)->add_devices(i);
  finding.add_values()->set_name("values");
  finding.mutable_values(0)->set_number(24);
  Add(report, "net-health", FAIL, host, 3).set_caused_by("device-ip-set");
}

// The line of that many of them.
std::string NewHosts(const char* who, int hosts, const char* cabling,
                     const char* name = "never-configured",
                     const char* rules = "device-ip-set, net-health") {
  return Say("repair-line", who,
             Say(absl::StrCat("repair-", name), Counted(8 * hosts, "device"),
                 Say(absl::StrCat("cabling-", cabling)), 24 * hosts),
             rules);
}

TEST(NeverConfiguredTest, IsOneSentence) {
  Report report;
  AddNew(report, "server1");
  EXPECT_THAT(Lines(report), ElementsAre(NewHosts("server1", 1, "unknown")));
  Rule(report, "link").set_state(PASS);
  Rule(report, "lldp").set_state(SKIPPED);
  EXPECT_THAT(Lines(report), ElementsAre(NewHosts("server1", 1, "unknown")));
  Rule(report, "lldp").set_state(PASS);
  Add(report, "ports-reserved", FAIL, "server1").set_fixed_by_plan(true);
  EXPECT_THAT(Lines(report), ElementsAre(NewHosts("server1", 1, "fine"),
                                         HasSubstr("(ports-reserved)")));
}

TEST(NeverConfiguredTest, FoldsHostsOfTheSameCabling) {
  Report report;
  for (const int host : {1, 2, 3, 7}) {
    AddNew(report, absl::StrCat("server", host));
  }
  for (const char* rule : {"link", "lldp"}) Rule(report, rule).set_state(PASS);
  Add(report, "link", FAIL, "server2", 3);
  Add(report, "lldp", UNKNOWN, "server3", 3);
  EXPECT_THAT(Lines(report),
              testing::UnorderedElementsAre(NewHosts("server[1,7]", 2, "fine"),
                                            NewHosts("server2", 1, "faulty"),
                                            NewHosts("server3", 1, "unknown"),
                                            "server2 device 3: mend (link)",
                                            "server3 device 3: mend (lldp)"));
}

TEST(NeverConfiguredTest, NamesTheFileThatAPlanNeedsFirst) {
  Report report;
  AddNew(report, "server1", "never-configured-without-file");
  Add(report, "hccn-conf", FAIL, "server1").set_caused_by("device-ip-set");
  EXPECT_THAT(Lines(report),
              ElementsAre(NewHosts("server1", 1, "unknown",
                                   "never-configured-without-file",
                                   "device-ip-set, net-health, hccn-conf")));
}

TEST(MoreCausesTest, NamesTheCommandThatHasThem) {
  Report report;
  EXPECT_EQ(MoreCauses(report, 2),
            Say("repair-more-here", Counted(2, "more cause")));
  report.set_run_id("3fa2");
  EXPECT_EQ(MoreCauses(report, 1),
            Say("repair-more", Counted(1, "more cause"), "3fa2"));
}

TEST(CheckOnlyTest, CountsTheRulesThatDidNotRun) {
  Report report;
  report.set_verdict(PASS);
  Rule(report, "link").set_state(PASS);
  Rule(report, "link").set_summary("8 devices on 1 host");
  for (int i = 0; i < 33; ++i) {
    RuleResult& rule = Rule(report, absl::StrCat("other-", i));
    rule.set_state(SKIPPED);
    rule.set_not_run(true);
    rule.set_skip_reason("not asked for");
  }
  EXPECT_THAT(
      Table(report),
      HasSubstr(Say("report-not-run", Counted(33, "rule"), "not asked for") +
                "\n"));
  EXPECT_FALSE(absl::StrContains(Table(report), "other-"));
}

}  // namespace
}  // namespace clusterd
