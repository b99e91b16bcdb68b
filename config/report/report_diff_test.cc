#include "config/report/report_diff.h"

#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/values/version.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

RuleResult& RuleOf(const std::string& name, Report* report) {
  for (RuleResult& rule : *report->mutable_rules()) {
    if (rule.rule() == name) return rule;
  }
  RuleResult& rule = *report->add_rules();
  rule.set_rule(name);
  rule.set_category(name == "ip-unique" ? "address" : "device");
  rule.set_state(PASS);
  return rule;
}

// Two hosts that pass rules link, mtu and ip-unique.
Report Healthy() {
  Report report;
  report.set_schema_version(kReportSchemaVersion);
  report.set_cluster("demo");
  report.set_spec_digest("sha256:1");
  report.set_verdict(PASS);
  for (const char* host : {"node0", "node1"}) {
    HostStatus& status = *report.add_hosts();
    status.set_host(host);
    status.set_state(PASS);
  }
  for (const char* rule : {"link", "mtu", "ip-unique"}) RuleOf(rule, &report);
  return report;
}

// About the devices of the host; none: the host as a whole.
Finding& Find(const std::string& rule_name, State state,
              const std::string& observed, const std::string& host,
              const std::vector<uint32_t>& devices, Report* report) {
  RuleResult& rule = RuleOf(rule_name, report);
  rule.set_state(WorseState(rule.state(), state));
  report->set_verdict(WorseState(report->verdict(), state));
  Finding& finding = *rule.add_findings();
  finding.set_rule(rule_name);
  finding.set_state(state);
  finding.set_observed(observed);
  finding.set_fix("mend it");
  Subject& subject = *finding.add_subjects();
  subject.set_host(host);
  for (const uint32_t device : devices) subject.add_devices(device);
  return finding;
}

void Silence(int host, Report* report) {
  report->mutable_hosts(host)->set_no_facts_reason("never attached");
}

// "link node0 device 3: pass to fail: DOWN (mend it)".
std::vector<std::string> Lines(const ReportDiff& diff) {
  const auto word = [](State state) {
    return state == STATE_UNSPECIFIED ? "none" : StateWord(state);
  };
  std::vector<std::string> lines;
  for (const ReportDiff::Change& change : diff.changes()) {
    lines.push_back(absl::StrCat(
        change.rule(), " ", SubjectsText(change.subjects(), 5, 80), ": ",
        word(change.before()), " to ", word(change.after()), ": ",
        change.observed(),
        change.fix().empty() ? "" : absl::StrCat(" (", change.fix(), ")")));
  }
  return lines;
}

std::string Notes(const ReportDiff& diff) {
  return absl::StrJoin(diff.notes(), "\n");
}

TEST(DiffReportsTest, FindsNothingBetweenAReportAndItself) {
  Report report = Healthy();
  Find("link", FAIL, "DOWN", "node0", {3}, &report);
  Find("mtu", WARN, "MTU is 1500", "node1", {}, &report);
  const ReportDiff diff = DiffReports(report, report);
  EXPECT_THAT(Lines(diff), IsEmpty());
  EXPECT_THAT(Notes(diff), IsEmpty());
  EXPECT_EQ(DiffSummary(diff), "");
}

TEST(DiffReportsTest, NamesBothReportsWithTimeAndVerdict) {
  Report before = Healthy();
  before.set_run_id("aa");
  before.set_started_at_ms(1000);
  Report after = Healthy();
  after.set_run_id("bb");
  after.set_started_at_ms(2000);
  Find("link", FAIL, "DOWN", "node0", {3}, &after);
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_EQ(diff.schema_version(), 1u);
  EXPECT_EQ(diff.before_run_id(), "aa");
  EXPECT_EQ(diff.after_run_id(), "bb");
  EXPECT_EQ(diff.before_at_ms(), 1000);
  EXPECT_EQ(diff.after_at_ms(), 2000);
  EXPECT_EQ(diff.before_verdict(), PASS);
  EXPECT_EQ(diff.after_verdict(), FAIL);
}

TEST(DiffReportsTest, GivesTheFindingOfAChangeWithItsValues) {
  Report after = Healthy();
  Finding& found = Find("link", FAIL, "DOWN", "node0", {3, 4}, &after);
  found.set_finding("down");
  *found.add_values() = ToFindingValue(7);
  found.set_why("training stops");
  const ReportDiff diff = DiffReports(Healthy(), after);
  ASSERT_EQ(diff.changes_size(), 1);
  const Finding& given = diff.changes(0).finding();
  EXPECT_EQ(given.rule(), "link");
  EXPECT_EQ(given.finding(), "down");
  ASSERT_EQ(given.values_size(), 1);
  EXPECT_EQ(given.values(0).number(), 7);
  ASSERT_EQ(given.subjects_size(), 1);
  EXPECT_EQ(given.subjects(0).host(), "");
  EXPECT_THAT(given.subjects(0).devices(), ElementsAre(3, 4));
  EXPECT_EQ(given.why(), "");
  // Findings of an older controller have texts alone.
  found.clear_finding();
  EXPECT_FALSE(DiffReports(Healthy(), after).changes(0).has_finding());
}

TEST(DiffReportsTest, FoldsHostsAndDevicesOfOneChangeAndTellsWhatIsWorseFirst) {
  Report before = Healthy();
  Find("mtu", WARN, "MTU is 1500", "node1", {}, &before);
  Report after = Healthy();
  Find("link", FAIL, "DOWN", "node0", {3, 4}, &after);
  Find("link", FAIL, "DOWN", "node1", {3, 4}, &after);
  Find("ip-unique", UNKNOWN, "not known", "node0", {}, &after);
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_THAT(
      Lines(diff),
      ElementsAre("link node[0-1] devices 3-4: pass to fail: DOWN (mend it)",
                  "ip-unique node0: pass to unknown: not known (mend it)",
                  "mtu node1: warn to pass: MTU is 1500"));
  EXPECT_EQ(DiffSummary(diff), "2 worse, 1 resolved");
}

TEST(DiffReportsTest, TellsTheTwoDirectionsOfOneChange) {
  const Report healthy = Healthy();
  Report wrong = Healthy();
  Find("link", FAIL, "DOWN", "node0", {3}, &wrong);
  EXPECT_THAT(Lines(DiffReports(healthy, wrong)),
              ElementsAre("link node0 device 3: pass to fail: DOWN (mend it)"));
  EXPECT_THAT(Lines(DiffReports(wrong, healthy)),
              ElementsAre("link node0 device 3: fail to pass: DOWN"));
}

TEST(DiffReportsTest, TellsOnlyOfTheDeviceThatChanged) {
  Report before = Healthy();
  Find("link", FAIL, "DOWN", "node0", {1, 2, 3}, &before);
  Report after = Healthy();
  Find("link", FAIL, "DOWN", "node0", {2, 3}, &after);
  EXPECT_THAT(Lines(DiffReports(before, after)),
              ElementsAre("link node0 device 1: fail to pass: DOWN"));
}

TEST(DiffReportsTest, TellsOfAnotherWrongValue) {
  Report before = Healthy();
  Find("mtu", FAIL, "MTU is 1500", "node0", {3}, &before);
  Report after = Healthy();
  Find("mtu", FAIL, "MTU is 9000", "node0", {3}, &after);
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_THAT(
      Lines(diff),
      ElementsAre("mtu node0 device 3: fail to fail: MTU is 9000 (mend it)"));
  EXPECT_EQ(TurnOf(diff.changes(0)), Turn::kChanged);
  EXPECT_EQ(DiffSummary(diff), "1 wrong with another value");
}

// Counter `counter` rose by `rise`, which differs on every read.
Report WithRise(const std::string& counter, int rise) {
  Report report = Healthy();
  Finding& finding =
      Find("link", WARN, absl::StrCat(counter, " rose by ", rise), "node0", {3},
           &report);
  finding.set_finding("rose");
  FindingValue& name = *finding.add_values();
  name.set_name("counter");
  name.set_text(counter);
  FindingValue& number = *finding.add_values();
  number.set_name("rise");
  number.set_number(rise);
  number.set_moves(true);
  return report;
}

TEST(DiffReportsTest, TellsNothingOfValuesThatMoveByThemselves) {
  const Report before = WithRise("rx_err", 12);
  EXPECT_THAT(Lines(DiffReports(before, WithRise("rx_err", 9))), IsEmpty());
  EXPECT_THAT(Lines(DiffReports(before, WithRise("tx_err", 12))),
              ElementsAre(HasSubstr("warn to warn: tx_err rose by 12")));
  Report other = WithRise("rx_err", 12);
  other.mutable_rules(0)->mutable_findings(0)->set_finding("fell");
  EXPECT_THAT(Lines(DiffReports(before, other)), SizeIs(1));
}

// Messages are in the reader's language.
TEST(DiffReportsTest, TellsNothingOfOtherWordsForTheSameValues) {
  Report after = WithRise("rx_err", 12);
  after.mutable_rules(0)->mutable_findings(0)->set_observed("rx_err 增加");
  EXPECT_THAT(Lines(DiffReports(WithRise("rx_err", 12), after)), IsEmpty());
}

TEST(DiffReportsTest, HeedsNeitherOrderNorHowFindingsAreFolded) {
  Report before = Healthy();
  Find("link", WARN, "fault 80E01801", "node0", {3}, &before);
  Find("link", WARN, "fault 80E18402", "node0", {3, 4}, &before);
  Report after = Healthy();
  Find("link", WARN, "fault 80E18402", "node0", {4}, &after);
  Find("link", WARN, "fault 80E18402", "node0", {3}, &after);
  Find("link", WARN, "fault 80E01801", "node0", {3}, &after);
  after.mutable_rules()->SwapElements(0, 2);
  after.mutable_hosts()->SwapElements(0, 1);
  EXPECT_THAT(Lines(DiffReports(before, after)), IsEmpty());
}

TEST(DiffReportsTest, NeverCallsResolvedWhatIsNotJudgedAnyMore) {
  Report before = Healthy();
  Find("link", FAIL, "DOWN", "node0", {3}, &before);
  const auto expect_not_judged = [&](const Report& after,
                                     const std::string& why) {
    const ReportDiff diff = DiffReports(before, after);
    EXPECT_THAT(Lines(diff),
                ElementsAre("link node0 device 3: fail to none: DOWN"))
        << why;
    EXPECT_THAT(Notes(diff), HasSubstr(why));
    EXPECT_EQ(DiffSummary(diff).find("resolved"), std::string::npos);
  };
  Report not_run = Healthy();
  RuleOf("link", &not_run).set_not_run(true);
  RuleOf("link", &not_run).set_state(SKIPPED);
  expect_not_judged(not_run, "only the older one judged link");
  Report skipped = Healthy();
  RuleOf("link", &skipped).set_state(SKIPPED);
  expect_not_judged(skipped, "only the older one judged link");
  Report other_rules = Healthy();
  other_rules.mutable_rules()->DeleteSubrange(0, 1);
  expect_not_judged(other_rules, "only the older one judged link");
  Report silent = Healthy();
  Silence(0, &silent);
  expect_not_judged(silent, "the newer one has no facts of node0");
  silent.set_partial(true);
  expect_not_judged(silent, "the newer one was stopped before");
  Report no_verdict = Healthy();
  no_verdict.clear_rules();
  no_verdict.set_error("cluster.yaml:3: wrong");
  expect_not_judged(no_verdict, "no verdict: cluster.yaml:3: wrong");
}

TEST(DiffReportsTest, CallsAHostOfOneReportAloneAddedOrRemoved) {
  Report before = Healthy();
  Find("link", FAIL, "DOWN", "node1", {3}, &before);
  Report after = Healthy();
  after.mutable_hosts(1)->set_host("node2");
  Find("link", FAIL, "DOWN", "node2", {3}, &after);
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_THAT(diff.hosts_added(), ElementsAre("node2"));
  EXPECT_THAT(diff.hosts_removed(), ElementsAre("node1"));
  EXPECT_THAT(Lines(diff),
              ElementsAre("link node2 device 3: none to fail: DOWN (mend it)",
                          "link node1 device 3: fail to none: DOWN"));
  EXPECT_EQ(
      DiffSummary(diff),
      "1 wrong and not judged before, 1 not judged any more, 1 host added, "
      "1 host removed");
}

TEST(DiffReportsTest, SaysNothingOfWhatPassedAndIsNotJudgedNow) {
  Report after = Healthy();
  Silence(0, &after);
  Find("reachable", UNKNOWN, "no facts: never attached", "node0", {}, &after);
  Report before = Healthy();
  RuleOf("reachable", &before);
  EXPECT_THAT(Lines(DiffReports(before, after)),
              ElementsAre("reachable node0: pass to unknown: no facts: never "
                          "attached (mend it)"));
  EXPECT_THAT(Lines(DiffReports(after, before)),
              ElementsAre("reachable node0: unknown to pass: no facts: never "
                          "attached"));
}

TEST(DiffReportsTest, TakesADeviceAsItsHostWhereThatCouldNotBeAsked) {
  Report before = Healthy();
  Find("link", FAIL, "DOWN", "node0", {3}, &before);
  Report after = Healthy();
  Find("link", UNKNOWN, "no device could be asked", "node0", {}, &after);
  EXPECT_THAT(
      Lines(DiffReports(before, after)),
      ElementsAre(
          "link node0: pass to unknown: no device could be asked (mend it)",
          "link node0 device 3: fail to unknown: no device could be asked "
          "(mend it)"));
}

TEST(DiffReportsTest, TakesWhatAnotherRuleTellsAsNotJudged) {
  Report before = Healthy();
  Find("mtu", FAIL, "MTU is 1500", "node0", {3}, &before);
  Report after = Healthy();
  Find("mtu", SKIPPED, "told by another rule", "node0", {3}, &after);
  RuleOf("mtu", &after).set_state(PASS);
  EXPECT_THAT(Lines(DiffReports(before, after)),
              ElementsAre("mtu node0 device 3: fail to none: MTU is 1500"));
}

TEST(DiffReportsTest, DoesNotSeeAPairResolvedOfWhichOneHostIsSilent) {
  Report before = Healthy();
  Finding& twice =
      Find("ip-unique", FAIL, "10.0.0.1 twice", "node0", {3}, &before);
  twice.add_subjects()->set_host("node1");
  Finding& down = Find("link", FAIL, "DOWN", "node0", {3}, &before);
  down.add_subjects()->set_host("node1");
  Report after = Healthy();
  Silence(1, &after);
  EXPECT_THAT(
      Lines(DiffReports(before, after)),
      ElementsAre("link node0 device 3: fail to pass: DOWN",
                  "link node1: fail to none: DOWN",
                  "ip-unique node0 device 3; node1: fail to none: 10.0.0.1 "
                  "twice"));
}

TEST(DiffReportsTest, ComparesADowngradedFailureAsTheFailureThatItIs) {
  Report before = Healthy();
  Find("link", FAIL, "DOWN", "node0", {3}, &before);
  Report after = Healthy();
  Find("link", WARN, "DOWN", "node0", {3}, &after).set_downgraded(true);
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_THAT(Lines(diff), IsEmpty());
  EXPECT_THAT(Notes(diff), HasSubstr("the newer one has failures as warnings, "
                                     "compared as failures, of link"));
  EXPECT_THAT(Notes(DiffReports(after, after)), IsEmpty());
}

TEST(DiffReportsTest, ComparesRulesOfJobsOfOneJobOnly) {
  Report before = Healthy();
  before.set_job_id("slurm:1");
  Find("job-shape", FAIL, "3 devices", "node0", {}, &before);
  RuleOf("job-shape", &before).set_category("job");
  Report after = Healthy();
  after.set_job_id("slurm:1");
  RuleOf("job-shape", &after).set_category("job");
  EXPECT_THAT(Lines(DiffReports(before, after)),
              ElementsAre("job-shape node0: fail to pass: 3 devices"));
  after.set_job_id("slurm:2");
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_THAT(Lines(diff),
              ElementsAre("job-shape node0: fail to none: 3 devices"));
  EXPECT_THAT(Notes(diff), HasSubstr("about job slurm:1 and job slurm:2"));
}

TEST(DiffReportsTest, SaysItsNotesInTheReadersLanguage) {
  Report after = Healthy();
  after.set_job_servers(1);
  const InLanguage chinese(Language::kChinese);
  const ReportDiff diff = DiffReports(Healthy(), after);
  EXPECT_THAT(Notes(diff), HasSubstr("the reports are about no job and "));
  EXPECT_THAT(DiffNotes(diff),
              ElementsAre(HasSubstr("两份报告分别针对无作业和")));
}

TEST(DiffReportsTest, NotesOtherClustersAndNamespaces) {
  Report after = Healthy();
  after.set_cluster("other");
  after.set_network_namespace("container:train");
  EXPECT_THAT(
      DiffReports(Healthy(), after).notes(),
      ElementsAre("the reports are of two clusters, demo and other",
                  "the reports are of two network namespaces, the hosts' own "
                  "and container:train"));
}

// Quadratic time in hosts or findings would exceed the test's limit.
TEST(DiffReportsTest, NeedsTimeInProportionToFindingsAndSubjects) {
  constexpr int kFindings = 200;
  Report before, after;
  for (int host = 0; host < 1152; ++host) {
    const std::string name = absl::StrCat("node", host);
    before.add_hosts()->set_host(name);
    after.add_hosts()->set_host(name);
  }
  for (int i = 0; i < kFindings; ++i) {
    const std::string rule = absl::StrCat("rule", i % 20);
    for (Report* report : {&before, &after}) {
      RuleOf(rule, report);
      if (report == &after && i < kFindings / 10) continue;
      Finding& finding =
          Find(rule, FAIL, absl::StrCat("wrong ", i), "", {}, report);
      finding.clear_subjects();
      for (const HostStatus& host : report->hosts()) {
        Subject& subject = *finding.add_subjects();
        subject.set_host(host.host());
        subject.add_devices(static_cast<uint32_t>(i / 20));
      }
    }
  }
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_EQ(DiffSummary(diff), "20 resolved");
  EXPECT_EQ(diff.changes(0).subjects_size(), 1152);
}

// Each pair of states in words that agree with the way it went.
TEST(TurnOfTest, FollowsTheWayThatAStateWent) {
  const std::tuple<State, State, Turn> turns[] = {
      {PASS, WARN, Turn::kWorse},
      {WARN, UNKNOWN, Turn::kWorse},
      {UNKNOWN, FAIL, Turn::kWorse},
      {STATE_UNSPECIFIED, FAIL, Turn::kNew},
      {FAIL, FAIL, Turn::kChanged},
      {FAIL, WARN, Turn::kBetter},
      {UNKNOWN, WARN, Turn::kBetter},
      {FAIL, PASS, Turn::kResolved},
      {UNKNOWN, PASS, Turn::kResolved},
      {FAIL, UNKNOWN, Turn::kNotJudged},
      {FAIL, STATE_UNSPECIFIED, Turn::kNotJudged},
  };
  for (const auto& [before, after, turn] : turns) {
    ReportDiff::Change change;
    change.set_before(before);
    change.set_after(after);
    EXPECT_EQ(TurnOf(change), turn)
        << State_Name(before) << " to " << State_Name(after);
  }
}

TEST(DiffReportsTest, SaysOfABetterStateWhatIsFoundNow) {
  Report before = Healthy();
  Find("link", FAIL, "DOWN", "node0", {3}, &before);
  Report after = Healthy();
  Find("link", WARN, "UP at half speed", "node0", {3}, &after);
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_THAT(Lines(diff), ElementsAre("link node0 device 3: fail to warn: UP "
                                       "at half speed (mend it)"));
  EXPECT_EQ(DiffSummary(diff), "1 better but not resolved");
}

TEST(DiffReportsTest, NotesThatTheFirstReportIsTheNewerOne) {
  Report newer = Healthy();
  newer.set_started_at_ms(2000);
  Report older = Healthy();
  older.set_started_at_ms(1000);
  EXPECT_THAT(Notes(DiffReports(older, newer)), IsEmpty());
  EXPECT_THAT(Notes(DiffReports(newer, older)),
              HasSubstr("the first report is the newer one"));
}

TEST(DiffSummaryTest, SaysMoreThanOneChange) {
  ReportDiff diff;
  diff.set_before_verdict(PASS);
  diff.set_after_verdict(UNKNOWN);
  EXPECT_EQ(DiffSummary(diff), "verdict unknown, was pass");
  diff.set_spec_changed(true);
  diff.add_hosts_removed("node0");
  diff.add_hosts_removed("node1");
  EXPECT_EQ(DiffSummary(diff), "2 hosts removed, cluster.yaml changed");
}

}  // namespace
}  // namespace clusterd
