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
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  finding.set_fix("see to it");
  finding.add_subjects()->set_host(host);
  if (device >= 0) finding.mutable_subjects(0)->add_devices(device);
  return finding;
}

void SetCommand(const std::string& command, Finding& finding) {
  finding.set_fix(command);
  finding.set_command(command);
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
  Finding& link = Add(report, "link", FAIL, "node1", 3);
  link.set_fix_words("check the cable");
  link.set_command("hccn_tool -i 3 -link_stat -g");
  ASSERT_EQ(ListRepairs(report).size(), 1u);
  EXPECT_EQ(ListRepairs(report)[0].how, "check the cable");
  EXPECT_EQ(ListRepairs(report)[0].command, "hccn_tool -i 3 -link_stat -g");
  Finding& other = Add(report, "link", FAIL, "node2", 4);
  other.set_fix_words("check the cable");
  other.set_command("hccn_tool -i 4 -link_stat -g");
  ASSERT_EQ(ListRepairs(report).size(), 1u);
  EXPECT_EQ(ListRepairs(report)[0].command, "");
}

TEST(RepairListTest, NamesTheOneCommandAndAllThatItPutsInOrder) {
  Report report;
  Finding& address = Add(report, "device-ip-planned", FAIL, "node24", 2);
  address.set_fixed_by_plan(true);
  SetCommand("hccn_tool -i 2 -ip -s address 10.0.0.1 netmask 255.0.0.0",
             address);
  for (const char* rule : {"subnet-pairs", "subnet-distinct", "ip-unique"}) {
    Add(report, rule, FAIL, "node24", 2).set_caused_by("device-ip-planned");
  }
  EXPECT_THAT(
      Lines(report),
      ElementsAre("node24 device 2: `hccn_tool -i 2 -ip -s address 10.0.0.1 "
                  "netmask 255.0.0.0` (4 rules: device-ip-planned, "
                  "subnet-pairs and 2 more)"));
}

TEST(RepairListTest, PutsWhatAPlanMendsOnOneLine) {
  Report report;
  for (int i = 1; i <= 10; ++i) {
    const std::string host = absl::StrCat("node", i);
    Add(report, "ports-reserved", FAIL, host).set_fixed_by_plan(true);
    Add(report, "listen-backlog", WARN, host).set_fixed_by_plan(true);
  }
  Add(report, "link", FAIL, "node3", 1).set_fix("check the cable");
  EXPECT_THAT(Lines(report),
              ElementsAre("node[1-10]: `clusterctl plan` has the changes "
                          "(ports-reserved, listen-backlog)",
                          "node3 device 1: check the cable (link)"));
}

TEST(RepairListTest, KeepsApartWhatHasAnotherCause) {
  Report report;
  Add(report, "link", FAIL, "node1", 1);
  Finding& own = Add(report, "net-health", FAIL, "node1", 2);
  own.set_fix("look at the device");
  own.set_caused_by("link");  // Not of this device.
  EXPECT_THAT(Lines(report), ElementsAre("node1 device 1: see to it (link)",
                                         "node1 device 2: look at the device "
                                         "(net-health)"));
}

TEST(RepairListTest, FollowsWhatTwoHostsHaveTogetherToTheOneWithTheCause) {
  Report report;
  Finding& address = Add(report, "device-ip-planned", FAIL, "node1", 3);
  SetCommand("hccn_tool -i 3 -ip -s", address);
  Finding& twice = Add(report, "ip-unique", FAIL, "node1", 3);
  twice.set_caused_by("device-ip-planned");
  twice.add_subjects()->set_host("node2");
  twice.mutable_subjects(1)->add_devices(5);
  EXPECT_THAT(Lines(report),
              ElementsAre("node1 device 3: `hccn_tool -i 3 -ip -s` "
                          "(device-ip-planned, ip-unique)"));
}

TEST(RepairListTest, WhatIsWaivedStandsApartAsAWarning) {
  for (const bool by_plan : {false, true}) {
    Report report;
    for (const char* host : {"s01", "s02"}) {
      const bool waived = host == std::string("s01");
      for (const char* rule : {"link", "net-health"}) {
        Finding& finding = Add(report, rule, waived ? WARN : FAIL, host, 3);
        if (waived) finding.mutable_waiver()->set_rule("link");
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
    std::ostringstream out;
    PrintReportTable(report, Style(), /*verbose=*/false, out);
    EXPECT_THAT(out.str(), HasSubstr("1 rule because of link on s01 device 3"));
    EXPECT_THAT(out.str(), HasSubstr("1 rule because of link on s02 device 3"));
  }
}

TEST(RepairListTest, PutsTheWorstFirst) {
  Report report;
  Add(report, "link", FAIL, "a");
  Add(report, "host-identity", UNKNOWN, "b");
  Add(report, "drift", WARN, "c");
  EXPECT_THAT(Lines(report),
              ElementsAre(HasSubstr("(link)"), HasSubstr("(host-identity)"),
                          HasSubstr("(drift)")));
}

TEST(RepairListTest, LeavesLongWordsToExplainAndCutsNoCommand) {
  Report report;
  const std::string words(101, 'x');
  Add(report, "link", FAIL, "a").set_fix(words);
  Finding& shorter = Add(report, "optics", FAIL, "a");
  shorter.set_fix(words);
  shorter.set_short_fix("check the cable");
  Finding& tls = Add(report, "tls-uniform", FAIL, "b");
  const std::string command = absl::StrCat("hccn_tool ", std::string(200, 'y'));
  SetCommand(command, tls);
  EXPECT_THAT(Lines(report),
              ElementsAre("a: `clusterctl explain link` says how (link)",
                          "a: check the cable (optics)",
                          absl::StrCat("b: `", command, "` (tls-uniform)")));
}

TEST(RepairListTest, EndsOnAChainOfCausesThatBitesItsTail) {
  Report report;
  Add(report, "a", FAIL, "n").set_caused_by("b");
  Add(report, "b", FAIL, "n").set_caused_by("a");
  EXPECT_FALSE(Lines(report).empty());
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
      std::ostringstream out;
      PrintReportTable(report, style, /*verbose=*/false, out);
      std::vector<std::string> lines = absl::StrSplit(out.str(), '\n');
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

TEST(MoreCausesTest, NamesTheCommandThatHasThem) {
  Report report;
  EXPECT_EQ(MoreCauses(report, 2), "and 2 more causes; --verbose has all");
  report.set_run_id("3fa2c4d5e6f70812");
  EXPECT_EQ(MoreCauses(report, 1),
            "and 1 more cause: clusterctl show 3fa2c4d5e6f70812 --verbose");
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

TEST(NeverConfiguredTest, IsOneSentence) {
  Report report;
  AddNew(report, "server1");
  for (const char* rule : {"link", "lldp"}) Rule(report, rule).set_state(PASS);
  Add(report, "ports-reserved", FAIL, "server1").set_fixed_by_plan(true);
  EXPECT_THAT(
      Lines(report),
      ElementsAre("server1: the device network was never configured (8 "
                  "devices, cabling is fine); `clusterctl plan` has 24 values "
                  "(device-ip-set, net-health)",
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
  EXPECT_THAT(
      Lines(report),
      testing::UnorderedElementsAre(
          HasSubstr("server[1,7]: the device network was never configured (16 "
                    "devices, cabling is fine); `clusterctl plan` has 48 "
                    "values ("),
          HasSubstr("server2: the device network was never configured (8 "
                    "devices, cabling has faults); "),
          HasSubstr("server3: the device network was never configured (8 "
                    "devices, cabling is not known); "),
          "server2 device 3: see to it (link)",
          "server3 device 3: see to it (lldp)"));
}

TEST(NeverConfiguredTest, CannotTellCablingThatWasNotChecked) {
  Report report;
  AddNew(report, "server1");
  EXPECT_THAT(Lines(report),
              ElementsAre(HasSubstr("(8 devices, cabling is not known)")));
  Rule(report, "link").set_state(PASS);
  Rule(report, "lldp").set_state(SKIPPED);
  EXPECT_THAT(Lines(report),
              ElementsAre(HasSubstr("(8 devices, cabling is not known)")));
}

TEST(NeverConfiguredTest, NamesTheFileThatAPlanNeedsFirst) {
  Report report;
  AddNew(report, "server1", "never-configured-without-file");
  Add(report, "hccn-conf", FAIL, "server1").set_caused_by("device-ip-set");
  EXPECT_THAT(Lines(report),
              ElementsAre(HasSubstr(
                  "; after `install -m 0644 /dev/null /etc/hccn.conf`, "
                  "`clusterctl plan` has 24 values (device-ip-set, net-health, "
                  "hccn-conf)")));
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
  std::ostringstream out;
  PrintReportTable(report, Style(), /*verbose=*/false, out);
  EXPECT_THAT(out.str(), HasSubstr("33 rules not run: not asked for\n"));
  EXPECT_FALSE(absl::StrContains(out.str(), "other-"));
}

}  // namespace
}  // namespace clusterd
