#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/print/history_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ReportDiff::Change& Add(ReportDiff* diff, const std::string& rule, State before,
                        State after, const std::string& host) {
  ReportDiff::Change& change = *diff->add_changes();
  change.set_rule(rule);
  change.set_before(before);
  change.set_after(after);
  change.set_observed(absl::StrCat(rule, " is wrong"));
  Subject& subject = *change.add_subjects();
  subject.set_host(host);
  subject.add_devices(3);
  return change;
}

ReportDiff Sample() {
  ReportDiff diff;
  diff.set_before_run_id("aaaa");
  diff.set_after_run_id("bbbb");
  diff.set_before_at_ms(1735689600000);
  diff.set_after_at_ms(1735689900000);
  diff.set_before_verdict(WARN);
  diff.set_after_verdict(FAIL);
  Add(&diff, "link", PASS, FAIL, "node07").set_fix("look at the cable\nor not");
  Add(&diff, "mtu", WARN, PASS, "node08");
  Add(&diff, "gateway", FAIL, FAIL, "node09").set_fix("set it");
  Add(&diff, "speed", FAIL, STATE_UNSPECIFIED, "node10");
  return diff;
}

std::string Printed(const ReportDiff& diff, const Style& style,
                    bool verbose = false) {
  std::ostringstream out;
  PrintDiffTable(diff, style, verbose, absl::FixedTimeZone(3600), out);
  return out.str();
}

Style Utf8() {
  Style style;
  style.utf8 = true;
  return style;
}

TEST(PrintDiffTableTest, TellsWhatIsWorseFirstAndSumsUpAtTheEnd) {
  ReportDiff diff = Sample();
  diff.add_hosts_added("node11");
  diff.add_notes("only the older one judged speed");
  EXPECT_EQ(Printed(diff, Utf8()),
            "before  aaaa  2025-01-01 01:00:00 +01:00  warn\n"
            "after   bbbb  2025-01-01 01:05:00 +01:00  fail\n"
            "\n1 worse\n"
            "  × link node07 device 3: pass -> fail: link is wrong\n"
            "    fix: look at the cable\n"
            "         or not\n"
            "\n1 wrong with another value\n"
            "  × gateway node09 device 3: still fail, now: gateway is wrong\n"
            "    fix: set it\n"
            "\n1 resolved\n"
            "  √ mtu node08 device 3: warn -> pass, was: mtu is wrong\n"
            "\n1 not judged any more\n"
            "  - speed node10 device 3: fail -> not judged, was: speed is "
            "wrong\n"
            "\n"
            "hosts added: node11\n"
            "note: only the older one judged speed\n"
            "1 worse, 1 wrong with another value, 1 resolved, 1 not judged any "
            "more, 1 host added\n");
}

TEST(PrintDiffTableTest, SpeaksChinese) {
  const InLanguage chinese(Language::kChinese);
  EXPECT_THAT(
      Printed(Sample(), Utf8()),
      testing::AllOf(
          HasSubstr("\n1 项变差\n"
                    "  × link node07 设备 3：通过 -> 不通过：link is wrong\n"
                    "    修复：look at the cable\n"
                    "          or not\n"),
          HasSubstr("  × gateway node09 设备 3：仍为不通过，现为：gateway is "
                    "wrong\n")));
  EXPECT_EQ(DiffShort(Sample()),
            "aaaa 到 bbbb：1 项变差，1 项仍有问题且值有变化，1 项已解决，1 "
            "项不再检查");
}

TEST(PrintDiffTableTest, SaysThatNothingHasChanged) {
  EXPECT_THAT(Printed(ReportDiff(), Style()),
              testing::EndsWith("\nnothing has changed\n"));
}

TEST(PrintDiffTableTest, LeavesOutChangesUnlessVerbose) {
  ReportDiff diff;
  for (int i = 0; i < 25; ++i) {
    Add(&diff, absl::StrCat("rule", i), PASS, FAIL, "node07");
  }
  EXPECT_THAT(
      Printed(diff, Utf8()),
      testing::AllOf(HasSubstr("\n25 worse\n"), HasSubstr("\n  and 5 more\n"),
                     Not(HasSubstr("rule20 "))));
  EXPECT_THAT(Printed(diff, Utf8(), /*verbose=*/true), HasSubstr("rule24 "));
}

TEST(PrintDiffTableTest, PrintsNothingThatATerminalObeys) {
  ReportDiff diff = Sample();
  diff.set_before_run_id("\x1b[2J");
  diff.add_hosts_removed("\x1b[2J");
  diff.add_notes("\x1b[2J");
  for (ReportDiff::Change& change : *diff.mutable_changes()) {
    change.set_rule("\x1b[2J");
    change.set_observed("a\n\x1b[2J");
    change.set_fix("a\n\x1b[2J");
    change.mutable_subjects(0)->set_host("\x1b[2J");
  }
  EXPECT_EQ(Printed(diff, Utf8()).find('\x1b'), std::string::npos);
  EXPECT_EQ(DiffShort(diff).find('\x1b'), std::string::npos);
}

TEST(DiffShortTest, IsOneLine) {
  EXPECT_EQ(DiffShort(Sample()),
            "aaaa to bbbb: 1 worse, 1 wrong with another value, 1 resolved, 1 "
            "not judged any more");
}

}  // namespace
}  // namespace clusterd
