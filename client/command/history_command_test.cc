#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

HistoryEntry Entry(const std::string& id, HistoryKind kind) {
  HistoryEntry entry;
  entry.set_id(id);
  entry.set_kind(kind);
  entry.set_actor("ann");
  entry.set_started_at_ms(1735689600000);
  entry.set_outcome("pass");
  entry.set_summary("12 hosts");
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
  const ProgramOutput output = RunProgram({"history"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(output.out,
            "ID                WHEN                     WHO  KIND   OUTCOME "
            " SUMMARY\n"
            "3fa2c4d5e6f70812  2024-12-31 19:00 -05:00  ann  check  pass   "
            "  12 hosts\n");
}

TEST(HistoryCommandTest, HelpTellsWhatIsDroppedFirst) {
  const std::string help = RunProgram({"history", "--help"}).out;
  EXPECT_TRUE(absl::StrContains(help, "1. scheduled checks")) << help;
  EXPECT_TRUE(absl::StrContains(help, "while plans hold at most a quarter"))
      << help;
}

TEST(HistoryCommandTest, AsksForTheKindsAndTheNumberWanted) {
  ProgramWorld world;
  FakeController controller(world.script);
  world.controller = &controller;
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
  FakeController controller(world.script);
  world.controller = &controller;
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
  FakeController controller(world.script);
  world.controller = &controller;
  for (const auto& [since, ago_ms] :
       {std::pair<const char*, int64_t>{"2h", kDayMs / 12},
        {"30d", 30 * kDayMs},
        {"2024-12-31", kDayMs + 3600000},
        {"2024-12-31 01:00", kDayMs},
        {"2024-12-31T00:00:00Z", kDayMs},
        {"2024-12-31T00:00Z", kDayMs}}) {
    const ProgramOutput output =
        RunProgram({"history", "--who", "ann", "--since", since}, world);
    EXPECT_EQ(output.status, 0) << since << output.err;
    const ListHistoryRequest request = controller.history_requests().back();
    EXPECT_EQ(request.who(), "ann");
    EXPECT_EQ(request.since_ms(), 1735689600000 - ago_ms) << since;
  }
  for (const auto& [wrong, why] :
       {std::pair<const char*, const char*>{"yesterday", ""},
        {"2099-01-01", " is in the future"},
        {"2024-02-30", ""}}) {
    const ProgramOutput output =
        RunProgram({"history", "--since", wrong}, world);
    EXPECT_EQ(output.status, 3) << wrong;
    EXPECT_TRUE(absl::StrContains(
        output.err, absl::StrCat("--since: \"", wrong, "\"", why,
                                 ", expected a time ago as 2h or 30d")))
        << output.err;
  }
}

TEST(HistoryCommandTest, AsksPageAfterPageForALongHistory) {
  ProgramWorld world;
  world.script.history = {Page(0, 1000, true), Page(1000, 1000, true),
                          Page(2000, 10, false)};
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output =
      RunProgram({"history", "--limit", "2500"}, world);
  EXPECT_TRUE(absl::StrContains(output.out, "id2009"));
  const auto requests = controller.history_requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[1].before_id(), "id999");
  EXPECT_EQ(requests[2].limit(), 500u);
}

TEST(HistoryCommandTest, SaysThatThereAreOlderOnes) {
  ProgramWorld world;
  world.script.history = {Page(0, 2, true)};
  EXPECT_TRUE(absl::EndsWith(RunProgram({"history", "--limit", "2"}, world).out,
                             "\nolder ones: --limit N\n"));
  EXPECT_TRUE(absl::StrContains(
      RunProgram({"history", "--limit", "2", "-o", "json"}, world).out,
      "\"more\": true"));
}

TEST(HistoryCommandTest, ExitsWithTwoWhenTheControllerIsAway) {
  ProgramWorld world;
  world.script.history_status =
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
  const ProgramOutput output = RunProgram({"history"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_EQ(output.err, "clusterctl history: controller head:7443: away\n");
}

TEST(HistoryCommandTest, OffersNoFormatThatItDoesNotTake) {
  for (const char* command : {"history", "describe"}) {
    const std::string help = RunProgram({command, "--help"}).out;
    EXPECT_TRUE(absl::StrContains(help, "table (default), json")) << help;
    EXPECT_FALSE(absl::StrContains(help, "short")) << help;
  }
  EXPECT_TRUE(absl::StrContains(
      RunProgram({"plan", "-o", "junit"}).err,
      "--output: junit is for the report of a check, expected table, short, "
      "json\n"));
  EXPECT_TRUE(absl::StrContains(RunProgram({"history", "-o", "x"}).err,
                                "\"x\" is not known, expected table, json\n"));
  ProgramWorld world;
  world.script.history = {Page(0, 1, false)};
  EXPECT_EQ(RunProgram({"history", "-o", "table"}, world).status, 0);
  EXPECT_TRUE(absl::StrContains(
      RunProgram({"history", "-o", "json"}, world).out, "\"entries\""));
}

TEST(HistoryCommandTest, NamesEveryMistake) {
  const ProgramOutput output =
      RunProgram({"history", "--kind", "aply,check,x", "--limit", "0",
                  "--timeout", "y", "-o", "short"});
  EXPECT_EQ(output.status, 3);
  for (const char* text :
       {"--kind: \"aply\" is not known, expected check, plan, apply, rollback, "
        "did you mean \"apply\"?",
        "--kind: \"x\"", "--limit: \"0\", expected 1 to 100000",
        "--timeout: \"y\"", "--output: short says nothing of many runs"}) {
    EXPECT_TRUE(absl::StrContains(output.err, text)) << text << "\n"
                                                     << output.err;
  }
}

}  // namespace
}  // namespace clusterd
