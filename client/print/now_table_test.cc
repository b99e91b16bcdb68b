#include "client/print/now_table.h"

#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/client/golden.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not;

constexpr int64_t kNow = 1735689900000;  // 2025-01-01 00:05 UTC

// A minute before the next check; the last one was four minutes ago.
ClusterNow Sample() {
  auto now = FromText<ClusterNow>(R"(
      cluster: "demo" hosts_expected: 12 hosts_attached: 10 hosts_drifted: 1
      hosts_in_maintenance: 2 hosts_unexpected: 3 away: "node07" away: "node08"
      running: "apply 0123456789abcdef of ann"
      pending {run_id: "0123456789abcdef"
               confirmation {state: PENDING deadline_ms: 1735690200000}}
      schedules {
        name: "nightly" next_at_ms: 1735689960000 more_wrong: 2
        newest {run_id: "bbbb" started_at_ms: 1735689660000 verdict: FAIL
                rule_counts {fail: 1 pass: 24}
                notes: "hosts: 1 failed, 11 passed"}
        wrong {rule: "link" state: FAIL summary: "node07 device 3"
               findings {observed: "link is DOWN" fix: "look at the cable"}}
        changes {before_at_ms: 1735603500000
                 changes {rule: "link" before: PASS after: FAIL
                          observed: "link is DOWN"
                          subjects {host: "node07"}}}})");
  // clusterctl puts these words into its language.
  now.mutable_pending(0)->mutable_confirmation()->set_waits_for(
      Say("hub-waits-person"));
  now.set_at_ms(kNow);
  return now;
}

std::string Printed(const ClusterNow& now, const Style& style = Utf8()) {
  std::ostringstream out;
  PrintClusterNow(now, style, absl::UTCTimeZone(), out);
  return out.str();
}

TEST(PrintClusterNowTest, ShowsHostsThenWhatRunsThenChecksWithWhatIsWrong) {
  ExpectGoldenInBoth("tables/now", [] { return Printed(Sample()); });
}

TEST(PrintClusterNowTest, PutsFindingsAndChangesIntoChinese) {
  ClusterNow now = Sample();
  ClusterNow::ScheduleNow& nightly = *now.mutable_schedules(0);
  RuleResult& wrong = *nightly.mutable_wrong(0);
  Finding& finding = *wrong.mutable_findings(0);
  MergeText("rule: 'link' finding: 'down' subjects {host: 'node07' devices: 3}",
            &finding);
  *wrong.mutable_seen() = SubjectsValue(finding.subjects(), 2, 60);
  ReportDiff::Change& change = *nightly.mutable_changes()->mutable_changes(0);
  change.set_fix("look at the cable");
  *change.mutable_finding() = finding;
  FindingValue& all = *finding.add_values();
  all.set_name(kAllSubjects);
  all.set_number(300);
  EXPECT_THAT(Printed(now),
              HasSubstr("× link node07 device 3: " +
                        Say("now-in-all", "link is DOWN", 300) + "\n"));
  const InLanguage chinese(Language::kChinese);
  const std::string text = Printed(now);
  for (const char* part :
       {"× link node07 设备 3：链路为 DOWN（共 300 处）\n",
        "修复：检查线缆、光模块和交换机端口", "hccn_tool -i 3 -link_stat -g\n",
        "× link node07：通过 -> 不通过：链路为 DOWN\n"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("link is DOWN")));
  EXPECT_THAT(text, Not(HasSubstr("look at the cable")));
}

TEST(PrintClusterNowTest, GivesEachFindingOfARuleItsOwnHostAndText) {
  ClusterNow now = Sample();
  RuleResult& wrong = *now.mutable_schedules(0)->mutable_wrong(0);
  MergeText(
      "observed: 'waived by ann' fix: 'look at it' subjects {host: 'node07'}",
      wrong.mutable_findings(0));
  MergeText(R"(summary: 'node[07-08] device 3' findings {
               observed: 'waived by bob' fix: 'ask bob'
               subjects {host: 'node08' devices: 3}})",
            &wrong);
  EXPECT_THAT(Printed(now), HasSubstr("  × link node[07-08] device 3\n"
                                      "    node07: waived by ann\n"
                                      "    fix: look at it\n"
                                      "    node08 device 3: waived by bob\n"
                                      "    fix: ask bob\n"));
}

TEST(PrintClusterNowTest, AsksForNoConfirmationThatWasGiven) {
  ClusterNow now = Sample();
  Confirmation& confirmation = *now.mutable_pending(0)->mutable_confirmation();
  confirmation.set_confirmed_at_ms(kNow);
  confirmation.set_waits_for("its check");
  EXPECT_THAT(Printed(now),
              HasSubstr(Say("now-reverts", "0123456789abcdef", "00:10:00",
                            Say("apply-waits-for", "its check")) +
                        "\n"));
  confirmation.set_state(Confirmation::CONFIRMED);
  confirmation.set_confirmed_by("ann");
  confirmation.add_pending("node07");
  EXPECT_THAT(Printed(now),
              HasSubstr("waits  " +
                        Say("apply-named", "0123456789abcdef",
                            Worded("apply-confirmed-partly", "ann", "node07")) +
                        "\n"));
}

TEST(PrintClusterNowTest, SaysWhatIsNotThereYet) {
  auto now = FromText<ClusterNow>(
      "cluster: 'demo' hosts_expected: 2 hosts_attached: 2");
  now.set_at_ms(kNow);
  EXPECT_EQ(Printed(now),
            "demo  2025-01-01 00:05:00 +00:00\n"
            "hosts  2 of 2 attached\n"
            "\n" +
                Say("now-no-check-of-all") + "\n");
  now.add_schedules()->set_name("nightly");
  now.mutable_schedules(0)->set_next_at_ms(kNow + 1000);
  EXPECT_THAT(Printed(now),
              HasSubstr("\nschedule nightly\n" + Say("now-no-check") + "; " +
                        Say("now-next", "00:05:01") + "\n"));
  // More hosts are away than the list names.
  now = Sample();
  now.set_hosts_expected(1152);
  EXPECT_THAT(
      Printed(now),
      HasSubstr("\naway   " + Say("first-of", "node[07-08]", 1140) + "\n"));
}

TEST(PrintClusterNowTest, IsAsciiAndWithoutColourWhereTheTerminalIs) {
  const std::string printed = Printed(Sample(), Style());
  for (const char c : printed) EXPECT_LT(static_cast<unsigned char>(c), 128);
  EXPECT_THAT(printed, Not(HasSubstr("\x1b")));
  EXPECT_THAT(printed, HasSubstr("\nx FAIL at"));
  Style coloured = Utf8();
  coloured.color = true;
  EXPECT_THAT(Printed(Sample(), coloured), HasSubstr("\x1b[31m"));
}

TEST(PrintClusterNowTest, PrintsNothingThatATerminalObeys) {
  ClusterNow now = Sample();
  now.set_cluster("\x1b[2J");
  now.set_away(0, "\x1b[2J");
  now.set_running(0, "\x1b[2J");
  now.mutable_pending(0)->set_run_id("\x1b[2J");
  now.mutable_pending(0)->mutable_confirmation()->set_waits_for("\x1b[2J");
  ClusterNow::ScheduleNow& schedule = *now.mutable_schedules(0);
  schedule.set_name("\x1b[2J");
  schedule.mutable_newest()->set_run_id("\x1b[2J");
  schedule.mutable_newest()->set_error("\x1b[2J");
  schedule.mutable_wrong(0)->set_rule("\x1b[2J");
  schedule.mutable_wrong(0)->set_summary("\x1b[2J");
  schedule.mutable_wrong(0)->mutable_findings(0)->set_observed("\x1b[2J");
  schedule.mutable_wrong(0)->mutable_findings(0)->set_fix("\x1b[2J\n\x1b[2J");
  EXPECT_EQ(Printed(now).find('\x1b'), std::string::npos);
}

TEST(LiveScreenTest, ShowsEachTextOverTheOneBeforeAndBringsTheTerminalBack) {
  std::ostringstream out;
  {
    LiveScreen screen(out);
    EXPECT_EQ(out.str(), "\x1b[?1049h\x1b[?7l\x1b[?25l");
    out.str("");
    screen.Show("a\nb\n", 10);
    EXPECT_EQ(out.str(), "\x1b[Ha\x1b[K\nb\x1b[K\x1b[J");
    out.str("");
    screen.Show("a\nb\nc\nd\n", 4);
    EXPECT_THAT(out.str(), HasSubstr("d\x1b[K\x1b[J"));
    // It never has more lines than the window.
    out.str("");
    screen.Show("a\nb\nc\nd\ne\n", 4);
    EXPECT_EQ(out.str(), absl::StrCat("\x1b[Ha\x1b[K\nb\x1b[K\nc\x1b[K\n... ",
                                      Count(2, "more line"), "\x1b[K\x1b[J"));
    out.str("");
  }
  EXPECT_EQ(out.str(), "\x1b[?25h\x1b[?7h\x1b[?1049l");
}

}  // namespace
}  // namespace clusterd
