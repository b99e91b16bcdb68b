#include "client/print/history_table.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "config/words/number_text.h"
#include "config/words/words.h"
#include "gtest/gtest.h"
#include "tests/support/client/golden.h"

namespace clusterd {
namespace {

constexpr int64_t kNewYear2025Ms = 1735689600000;

HistoryEntry Entry(HistoryKind kind, const std::string& outcome) {
  HistoryEntry entry;
  entry.set_id("3fa2c4d5e6f70812");
  entry.set_kind(kind);
  entry.set_actor("ann");
  entry.set_started_at_ms(kNewYear2025Ms);
  entry.set_outcome(outcome);
  entry.set_summary(Count(12, "host"));
  return entry;
}

std::string Printed(const ListHistoryResponse& history, const Style& style) {
  std::ostringstream out;
  PrintHistoryTable(history, style, absl::FixedTimeZone(2 * 3600 + 30 * 60),
                    out);
  return out.str();
}

// An apply, a check in a container, and two of a schedule, of which one found
// changes.
ListHistoryResponse Sample() {
  ListHistoryResponse history;
  HistoryEntry& apply = *history.add_entries();
  apply = Entry(HISTORY_APPLY, "succeeded");
  apply.set_parent_id("9c41d2e3f4051627");
  apply.set_force(true);
  HistoryEntry check = Entry(HISTORY_CHECK, "fail");
  *history.add_entries() = check;
  history.mutable_entries(1)->set_network_namespace("container:train-1");
  check.set_schedule("links");
  check.set_previous_id("9c41d2e3f4051627");
  *history.add_entries() = check;
  history.mutable_entries(2)->set_changes(Say("history-turn-worse", 2));
  *history.add_entries() = check;
  return history;
}

TEST(HistoryTableTest, SaysWhoDidWhatWhenWithTheOffset) {
  ExpectGoldenInBoth("tables/history", [] {
    return absl::StrCat(Printed(Sample(), Utf8()),
                        HistoryEntryLine(Entry(HISTORY_ROLLBACK, "stopped"),
                                         absl::UTCTimeZone()),
                        "\n");
  });
}

TEST(HistoryTableTest, PrintsAnOutcomeThatItDoesNotKnow) {
  const InLanguage chinese(Language::kChinese);
  EXPECT_EQ(OutcomeText("postponed"), "postponed");
}

TEST(HistoryTableTest, CutsTheSummaryAtTheWindow) {
  ListHistoryResponse history;
  *history.add_entries() = Entry(HISTORY_PLAN, "changes");
  history.mutable_entries(0)->set_summary(std::string(500, 'x'));
  Style style = Utf8();
  style.width = 100;
  std::istringstream lines(Printed(history, style));
  std::string line;
  while (std::getline(lines, line)) EXPECT_LE(line.size(), 102u) << line;
}

TEST(HistoryTableTest, FitsEightyColumnsWithEveryWord) {
  ListHistoryResponse history;
  HistoryEntry& entry = *history.add_entries();
  entry = Entry(HISTORY_ROLLBACK, "interrupted");
  entry.set_actor("operator-of-the-night-shift@example");
  entry.set_summary("12 hosts rolled back, 3 of them with something left over");
  entry.set_parent_id("9c41d2e3f4051627");
  Style style = Utf8();
  style.width = 80;
  const std::string printed = Printed(history, style);
  std::istringstream lines(printed);
  std::string line;
  while (std::getline(lines, line)) EXPECT_LE(TextColumns(line), 80) << line;
  EXPECT_NE(printed.find("left over; of"), std::string::npos) << printed;
  EXPECT_NE(printed.find("9c41d2e3f4051627"), std::string::npos);
  EXPECT_EQ(printed.find("SUMMARY"), std::string::npos);
}

TEST(HistoryTableTest, IsSafeForATerminal) {
  ListHistoryResponse history;
  HistoryEntry& entry = *history.add_entries();
  entry = Entry(static_cast<HistoryKind>(17), "\x1b[2J");
  entry.set_id("\x1b]0;x");
  entry.set_actor("a\nb");
  const std::string printed = Printed(history, Utf8());
  EXPECT_EQ(printed.find('\x1b'), std::string::npos) << printed;
  EXPECT_NE(printed.find("a\\nb  kind 17"), std::string::npos) << printed;
  EXPECT_EQ(HistoryEntryLine(entry, absl::UTCTimeZone()).find('\x1b'),
            std::string::npos);
}

TEST(HistoryTableTest, SaysThatThereIsNothing) {
  EXPECT_EQ(Printed({}, Utf8()),
            "ID  WHEN  WHO  KIND  OUTCOME  SUMMARY\n\nno entries\n");
}

}  // namespace
}  // namespace clusterd
