#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/print/history_table.h"
#include "gmock/gmock.h"
#include "tests/support/client/golden.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not;

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
  auto diff = FromText<ReportDiff>(R"(
      before_run_id: "aaaa" after_run_id: "bbbb" before_at_ms: 1735689600000
      after_at_ms: 1735689900000 before_verdict: WARN after_verdict: FAIL)");
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

TEST(PrintDiffTableTest, TellsWhatIsWorseFirstAndSumsUpAtTheEnd) {
  ExpectGoldenInBoth("tables/diff", [] {
    ReportDiff diff = Sample();
    diff.add_hosts_added("node11");
    diff.add_notes("only the older one judged speed");
    return absl::StrCat(Printed(diff, Utf8()), DiffShort(diff), "\n");
  });
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

}  // namespace
}  // namespace clusterd
