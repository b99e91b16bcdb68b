#include "config/report/report_diff.h"

#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/values/version.h"
#include "config/words/message.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "config/words/words.h"
#include "gmock/gmock.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr, ::testing::IsEmpty,
    ::testing::SizeIs;

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
  finding.set_fix("mend");
  Subject& subject = *finding.add_subjects();
  subject.set_host(host);
  for (const uint32_t device : devices) subject.add_devices(device);
  return finding;
}

// A healthy one but for that.
Report With(const std::string& rule, State state, const std::string& observed,
            const std::string& host, const std::vector<uint32_t>& devices) {
  Report report = Healthy();
  Find(rule, state, observed, host, devices, &report);
  return report;
}

// Its link is down.
Report Down(const std::string& host, const std::vector<uint32_t>& devices) {
  return With("link", FAIL, "DOWN", host, devices);
}

void Silence(int host, Report* report) {
  report->mutable_hosts(host)->set_no_facts_reason("never attached");
}

// "link node0 device 3: PASS->FAIL: DOWN (mend)".
std::vector<std::string> Lines(const ReportDiff& diff) {
  const auto word = [](State state) {
    return state == STATE_UNSPECIFIED ? "NONE" : State_Name(state);
  };
  std::vector<std::string> lines;
  for (const ReportDiff::Change& change : diff.changes()) {
    lines.push_back(absl::StrCat(
        change.rule(), " ", SubjectsText(change.subjects(), 5, 80), ": ",
        word(change.before()), "->", word(change.after()), ": ",
        change.observed(),
        change.fix().empty() ? "" : absl::StrCat(" (", change.fix(), ")")));
  }
  return lines;
}

std::vector<std::string> Changes(const Report& before, const Report& after) {
  return Lines(DiffReports(before, after));
}

std::string Notes(const Report& before, const Report& after) {
  return absl::StrJoin(DiffReports(before, after).notes(), "\n");
}

TEST(DiffReportsTest, FindsNothingBetweenAReportAndItself) {
  Report report = Down("node0", {3});
  Find("mtu", WARN, "MTU is 1500", "node1", {}, &report);
  EXPECT_THAT(Changes(report, report), IsEmpty());
  EXPECT_THAT(Notes(report, report), IsEmpty());
  EXPECT_EQ(DiffSummary(DiffReports(report, report)), "");
}

TEST(DiffReportsTest, NamesBothReportsWithTimeAndVerdict) {
  Report before = Healthy();
  before.set_run_id("aa");
  before.set_started_at_ms(1000);
  Report after = Down("node0", {3});
  after.set_run_id("bb");
  after.set_started_at_ms(2000);
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_EQ(diff.schema_version(), 1u);
  EXPECT_EQ(diff.before_run_id(), "aa");
  EXPECT_EQ(diff.after_run_id(), "bb");
  EXPECT_EQ(diff.before_at_ms(), 1000);
  EXPECT_EQ(diff.after_at_ms(), 2000);
  EXPECT_EQ(diff.before_verdict(), PASS);
  EXPECT_EQ(diff.after_verdict(), FAIL);
  EXPECT_THAT(diff.notes(), IsEmpty());
  EXPECT_THAT(Notes(after, before), HasSubstr(Say("diff-backwards")));
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
  // Findings of an older controller have only texts.
  found.clear_finding();
  EXPECT_FALSE(DiffReports(Healthy(), after).changes(0).has_finding());
}

TEST(DiffReportsTest, FoldsHostsAndDevicesOfOneChangeAndTellsWhatIsWorseFirst) {
  const Report before = With("mtu", WARN, "MTU is 1500", "node1", {});
  Report after = Down("node0", {3, 4});
  Find("link", FAIL, "DOWN", "node1", {3, 4}, &after);
  Find("ip-unique", UNKNOWN, "not known", "node0", {}, &after);
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_THAT(Lines(diff),
              ElementsAre("link node[0-1] devices 3-4: PASS->FAIL: DOWN (mend)",
                          "ip-unique node0: PASS->UNKNOWN: not known (mend)",
                          "mtu node1: WARN->PASS: MTU is 1500"));
  EXPECT_EQ(DiffSummary(diff), "2 worse, 1 resolved");
}

TEST(DiffReportsTest, TellsOnlyOfTheDeviceThatChanged) {
  EXPECT_THAT(Changes(Healthy(), Down("node0", {3})),
              ElementsAre("link node0 device 3: PASS->FAIL: DOWN (mend)"));
  EXPECT_THAT(Changes(Down("node0", {1, 2, 3}), Down("node0", {2, 3})),
              ElementsAre("link node0 device 1: FAIL->PASS: DOWN"));
}

TEST(DiffReportsTest, TellsOfAnotherWrongValueAndOfABetterState) {
  const ReportDiff diff =
      DiffReports(With("mtu", FAIL, "MTU is 1500", "node0", {3}),
                  With("mtu", FAIL, "MTU is 9000", "node0", {3}));
  EXPECT_THAT(
      Lines(diff),
      ElementsAre("mtu node0 device 3: FAIL->FAIL: MTU is 9000 (mend)"));
  EXPECT_EQ(TurnOf(diff.changes(0)), Turn::kChanged);
  EXPECT_EQ(DiffSummary(diff), Say("history-turn-changed", 1));
  const ReportDiff better = DiffReports(
      Down("node0", {3}), With("link", WARN, "UP at half", "node0", {3}));
  EXPECT_THAT(
      Lines(better),
      ElementsAre("link node0 device 3: FAIL->WARN: UP at half (mend)"));
  EXPECT_EQ(DiffSummary(better), Say("history-turn-better", 1));
}

// Counter `counter` rose by `rise`, which differs on every read.
Report WithRise(const std::string& counter, int rise) {
  Report report = With("link", WARN, absl::StrCat(counter, " rose by ", rise),
                       "node0", {3});
  Finding& finding = *report.mutable_rules(0)->mutable_findings(0);
  finding.set_finding("rose");
  *finding.add_values() = ToFindingValue(counter);
  finding.mutable_values(0)->set_name("counter");
  FindingValue& number = *finding.add_values();
  number.set_name("rise");
  number.set_number(rise);
  number.set_moves(true);
  return report;
}

TEST(DiffReportsTest, TellsNothingOfValuesThatMoveByThemselves) {
  const Report before = WithRise("rx_err", 12);
  EXPECT_THAT(Changes(before, WithRise("rx_err", 9)), IsEmpty());
  EXPECT_THAT(Changes(before, WithRise("tx_err", 12)),
              ElementsAre(HasSubstr("WARN->WARN: tx_err rose by 12")));
  Report other = WithRise("rx_err", 12);
  Finding& finding = *other.mutable_rules(0)->mutable_findings(0);
  // Messages are in the reader's language.
  finding.set_observed("rx_err 增加");
  EXPECT_THAT(Changes(before, other), IsEmpty());
  finding.set_finding("fell");
  EXPECT_THAT(Changes(before, other), SizeIs(1));
}

TEST(DiffReportsTest, HeedsNeitherOrderNorHowFindingsAreFolded) {
  Report before = With("link", WARN, "fault 80E01801", "node0", {3});
  Find("link", WARN, "fault 80E18402", "node0", {3, 4}, &before);
  Report after = With("link", WARN, "fault 80E18402", "node0", {4});
  Find("link", WARN, "fault 80E18402", "node0", {3}, &after);
  Find("link", WARN, "fault 80E01801", "node0", {3}, &after);
  after.mutable_rules()->SwapElements(0, 2);
  after.mutable_hosts()->SwapElements(0, 1);
  EXPECT_THAT(Changes(before, after), IsEmpty());
}

TEST(DiffReportsTest, NeverCallsResolvedWhatIsNotJudgedAnyMore) {
  const Report before = Down("node0", {3});
  const auto expect_not_judged = [&](const Report& after,
                                     const std::string& why) {
    const ReportDiff diff = DiffReports(before, after);
    EXPECT_THAT(Lines(diff),
                ElementsAre("link node0 device 3: FAIL->NONE: DOWN"))
        << why;
    EXPECT_THAT(Notes(before, after), HasSubstr(why));
    EXPECT_THAT(DiffSummary(diff), testing::Not(HasSubstr("resolved")));
  };
  const std::string newer = Say("diff-newer");
  const std::string not_judged =
      Say("diff-only-judged", Say("diff-older"), "link");
  Report after = Healthy();
  RuleOf("link", &after).set_state(SKIPPED);
  expect_not_judged(after, not_judged);
  RuleOf("link", &after).set_not_run(true);
  expect_not_judged(after, not_judged);
  after.mutable_rules()->DeleteSubrange(0, 1);
  expect_not_judged(after, not_judged);
  Report silent = Healthy();
  Silence(0, &silent);
  expect_not_judged(silent, Say("diff-no-facts", newer, "node0"));
  silent.set_partial(true);
  expect_not_judged(silent, Say("diff-stopped", newer));
  Report no_verdict = Healthy();
  no_verdict.clear_rules();
  no_verdict.set_error("cluster.yaml:3: wrong");
  expect_not_judged(no_verdict,
                    Say("diff-no-verdict", newer, "cluster.yaml:3: wrong"));
}

TEST(DiffReportsTest, CallsAHostOfOneReportAloneAddedOrRemoved) {
  Report after = Down("node2", {3});
  after.mutable_hosts(1)->set_host("node2");
  const ReportDiff diff = DiffReports(Down("node1", {3}), after);
  EXPECT_THAT(diff.hosts_added(), ElementsAre("node2"));
  EXPECT_THAT(diff.hosts_removed(), ElementsAre("node1"));
  EXPECT_THAT(Lines(diff),
              ElementsAre("link node2 device 3: NONE->FAIL: DOWN (mend)",
                          "link node1 device 3: FAIL->NONE: DOWN"));
  EXPECT_EQ(DiffSummary(diff), absl::StrCat(Say("history-turn-new", 1), ", ",
                                            Say("history-turn-not-judged", 1),
                                            ", 1 host added, 1 host removed"));
}

TEST(DiffReportsTest, SaysNothingOfWhatPassedAndIsNotJudgedNow) {
  Report after = With("reachable", UNKNOWN, "no facts", "node0", {});
  Silence(0, &after);
  Report before = Healthy();
  RuleOf("reachable", &before);
  EXPECT_THAT(Changes(before, after),
              ElementsAre("reachable node0: PASS->UNKNOWN: no facts (mend)"));
  EXPECT_THAT(Changes(after, before),
              ElementsAre("reachable node0: UNKNOWN->PASS: no facts"));
}

TEST(DiffReportsTest, TakesADeviceAsItsHostWhereThatCouldNotBeAsked) {
  EXPECT_THAT(
      Changes(Down("node0", {3}), With("link", UNKNOWN, "-", "node0", {})),
      ElementsAre("link node0: PASS->UNKNOWN: - (mend)",
                  "link node0 device 3: FAIL->UNKNOWN: - (mend)"));
  // A finding that another rule reports is not judged.
  Report reported = With("link", SKIPPED, "of another one", "node0", {3});
  RuleOf("link", &reported).set_state(PASS);
  EXPECT_THAT(Changes(Down("node0", {3}), reported),
              ElementsAre("link node0 device 3: FAIL->NONE: DOWN"));
}

TEST(DiffReportsTest, DoesNotSeeAPairResolvedOfWhichOneHostIsSilent) {
  Report before = Down("node0", {3});
  Find("ip-unique", FAIL, "twice", "node0", {3}, &before);
  for (const char* rule : {"link", "ip-unique"}) {
    RuleOf(rule, &before)
        .mutable_findings(0)
        ->add_subjects()
        ->set_host("node1");
  }
  Report after = Healthy();
  Silence(1, &after);
  EXPECT_THAT(Changes(before, after),
              ElementsAre("link node0 device 3: FAIL->PASS: DOWN",
                          "link node1: FAIL->NONE: DOWN",
                          "ip-unique node0 device 3; node1: FAIL->NONE: "
                          "twice"));
}

TEST(DiffReportsTest, ComparesADowngradedFailureAsTheFailureThatItIs) {
  Report after = With("link", WARN, "DOWN", "node0", {3});
  RuleOf("link", &after).mutable_findings(0)->set_downgraded(true);
  const Report before = Down("node0", {3});
  EXPECT_THAT(Changes(before, after), IsEmpty());
  EXPECT_THAT(Notes(before, after),
              HasSubstr(Say("diff-downgraded", Say("diff-newer"), "link")));
  EXPECT_THAT(Notes(after, after), IsEmpty());
}

TEST(DiffReportsTest, ComparesRulesOfJobsOfOneJobOnly) {
  Report before = With("job-shape", FAIL, "3 devices", "node0", {});
  Report after = Healthy();
  for (Report* report : {&before, &after}) {
    report->set_job_id("slurm:1");
    RuleOf("job-shape", report).set_category("job");
  }
  EXPECT_THAT(Changes(before, after),
              ElementsAre("job-shape node0: FAIL->PASS: 3 devices"));
  after.set_job_id("slurm:2");
  EXPECT_THAT(Changes(before, after),
              ElementsAre("job-shape node0: FAIL->NONE: 3 devices"));
  EXPECT_THAT(Notes(before, after),
              HasSubstr(Say("diff-two-jobs", Say("job", "slurm:1"),
                            Say("job", "slurm:2"))));
}

TEST(DiffReportsTest, SaysItsNotesInTheReadersLanguage) {
  Report after = Healthy();
  after.set_cluster("other");
  after.set_network_namespace("container:train");
  EXPECT_THAT(DiffReports(Healthy(), after).notes(),
              ElementsAre(Say("diff-two-clusters", "demo", "other"),
                          Say("diff-two-namespaces", Say("ctl-own"),
                              "container:train")));
  Report job = Healthy();
  job.set_job_servers(1);
  const InLanguage chinese(Language::kChinese);
  const ReportDiff diff = DiffReports(Healthy(), job);
  ASSERT_EQ(diff.notes_size(), 1);
  EXPECT_EQ(diff.notes(0), EnglishText(diff.notes_words().values(0)));
  EXPECT_THAT(DiffNotes(diff),
              ElementsAre(HasSubstr("两份报告分别针对无作业和")));
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

TEST(DiffSummaryTest, SaysMoreThanOneChange) {
  ReportDiff diff;
  diff.set_before_verdict(PASS);
  diff.set_after_verdict(UNKNOWN);
  EXPECT_EQ(DiffSummary(diff), Say("history-verdict", "unknown", "pass"));
  diff.set_spec_changed(true);
  diff.add_hosts_removed("node0");
  diff.add_hosts_removed("node1");
  EXPECT_EQ(DiffSummary(diff),
            "2 hosts removed, " + Say("history-spec-changed"));
}

}  // namespace
}  // namespace clusterd
