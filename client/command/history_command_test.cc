#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not;

HistoryEntry Entry(const std::string& id, HistoryKind kind) {
  auto entry = FromText<HistoryEntry>(
      "actor: 'ann' started_at_ms: 1735689600000 outcome: 'pass' "
      "summary: '12 hosts'");
  entry.set_id(id);
  entry.set_kind(kind);
  return entry;
}

ListHistoryResponse Page(int first, int count, bool more) {
  ListHistoryResponse page;
  for (int i = first; i < first + count; ++i) {
    *page.add_entries() = Entry(absl::StrCat("id", i), HISTORY_CHECK);
  }
  page.set_more(more);
  return page;
}

TEST(HistoryCommandTest, ListsWhoDidWhatInLocalTime) {
  ProgramWorld world;
  world.zone = absl::FixedTimeZone(-5 * 3600);
  ListHistoryResponse page;
  *page.add_entries() = Entry("3fa2c4d5e6f70812", HISTORY_CHECK);
  world.script.history = {page};
  EXPECT_THAT(
      RunProgram({"history"}, world),
      Ends(0, Out(HasSubstr("\n3fa2c4d5e6f70812  2024-12-31 19:00 -05:00  ann  "
                            "check  pass     12 hosts\n"))));
}

TEST(HistoryCommandTest, HelpTellsWhatIsDroppedFirst) {
  const std::string help = RunProgram({"history", "--help"}).out;
  EXPECT_THAT(help, HasSubstr("1. scheduled checks"));
  EXPECT_THAT(help, HasSubstr("while plans hold at most a quarter"));
}

TEST(HistoryCommandTest, AsksForTheKindsAndTheNumberWanted) {
  ProgramWorld world;
  WatchedController controller(world);
  EXPECT_EQ(RunProgram({"history", "--kind", "check,apply", "--kind",
                        "rollback", "--limit", "7"},
                       world)
                .status,
            0);
  const ListHistoryRequest request = controller.history_requests().at(0);
  ASSERT_EQ(request.kinds_size(), 3);
  EXPECT_EQ(request.kinds(0), HISTORY_CHECK);
  EXPECT_EQ(request.kinds(1), HISTORY_APPLY);
  EXPECT_EQ(request.kinds(2), HISTORY_ROLLBACK);
  EXPECT_EQ(request.limit(), 7u);
}

TEST(HistoryCommandTest, AsksForChangesAlone) {
  ProgramWorld world;
  WatchedController controller(world);
  EXPECT_EQ(RunProgram({"history"}, world).status, 0);
  EXPECT_EQ(RunProgram({"history", "--changes"}, world).status, 0);
  const auto requests = controller.history_requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_FALSE(requests[0].changes_only());
  EXPECT_TRUE(requests[1].changes_only());
}

TEST(HistoryCommandTest, AsksForOneUserSinceAMoment) {
  constexpr int64_t kDayMs = 24 * 3600 * 1000;
  ProgramWorld world;
  world.zone = absl::FixedTimeZone(3600);
  WatchedController controller(world);
  for (const auto& [since, ago_ms] :
       {std::pair<const char*, int64_t>{"2h", kDayMs / 12},
        {"30d", 30 * kDayMs},
        {"2024-12-31", kDayMs + 3600000},
        {"2024-12-31 01:00", kDayMs},
        {"2024-12-31T00:00:00Z", kDayMs},
        {"2024-12-31T00:00Z", kDayMs}}) {
    EXPECT_EQ(
        RunProgram({"history", "--who", "ann", "--since", since}, world).status,
        0)
        << since;
    const ListHistoryRequest request = controller.history_requests().back();
    EXPECT_EQ(request.who(), "ann");
    EXPECT_EQ(request.since_ms(), 1735689600000 - ago_ms) << since;
  }
  for (const auto& [wrong, row] :
       {std::pair<const char*, const char*>{"yesterday", "msg-time-not-valid"},
        {"2099-01-01", "msg-time-in-future"},
        {"2024-02-30", "msg-time-not-valid"}}) {
    EXPECT_THAT(RunProgram({"history", "--since", wrong}, world),
                Ends(3, Err(Tells(row, "--since", wrong))));
  }
}

TEST(HistoryCommandTest, AsksPageAfterPageForALongHistory) {
  ProgramWorld world;
  world.script.history = {Page(0, 1000, true), Page(1000, 1000, true),
                          Page(2000, 10, false)};
  WatchedController controller(world);
  const ProgramOutput output =
      RunProgram({"history", "--limit", "2500"}, world);
  EXPECT_THAT(output.out, HasSubstr("id2009"));
  const auto requests = controller.history_requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[1].before_id(), "id999");
  EXPECT_EQ(requests[2].limit(), 500u);
}

TEST(HistoryCommandTest, SaysThatThereAreOlderOnes) {
  ProgramWorld world;
  world.script.history = {Page(0, 2, true)};
  EXPECT_THAT(RunProgram({"history", "--limit", "2"}, world).out,
              Tells("history-older"));
  EXPECT_THAT(RunProgram({"history", "--limit", "2", "-o", "json"}, world).out,
              HasSubstr("\"more\": true"));
}

TEST(HistoryCommandTest, OffersNoFormatThatItDoesNotTake) {
  for (const char* command : {"history", "describe"}) {
    const std::string help = RunProgram({command, "--help"}).out;
    EXPECT_THAT(help, HasSubstr("table (default), json"));
    EXPECT_THAT(help, Not(HasSubstr("short")));
  }
  EXPECT_THAT(RunProgram({"plan", "-o", "junit"}).err,
              Tells("msg-format-of-report", "junit", "table, short, json"));
  EXPECT_THAT(
      RunProgram({"history", "-o", "x"}).err,
      Tells("msg-choice-not-known", "--output", "x", "table, json", ""));
  ProgramWorld world;
  world.script.history = {Page(0, 1, false)};
  EXPECT_EQ(RunProgram({"history", "-o", "table"}, world).status, 0);
  EXPECT_THAT(RunProgram({"history", "-o", "json"}, world).out,
              HasSubstr("\"entries\""));
}

TEST(HistoryCommandTest, NamesEveryMistake) {
  EXPECT_THAT(RunProgram({"history", "--kind", "aply,check,x", "--limit", "0",
                          "--timeout", "y", "-o", "short"}),
              Ends(3,
                   Err(Tells("msg-choice-not-known", "--kind", "aply",
                             "check, plan, apply, rollback",
                             Worded("did-you-mean", "apply"))),
                   Err(HasSubstr("--kind: \"x\"")),
                   Err(Tells("msg-count-out-of-range", "--limit", "0")),
                   Err(HasSubstr("--timeout: \"y\"")),
                   Err(Tells("ctl-not-of-a-list"))));
}

}  // namespace
}  // namespace clusterd
