#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::EndsWith, ::testing::HasSubstr,
    ::testing::Not, ::testing::StartsWith;

ClusterNow With(uint32_t attached) {
  auto now = FromText<ClusterNow>(
      R"(schema_version: 1 cluster: "demo" at_ms: 1735689900000 hosts_expected: 12)");
  now.set_hosts_attached(attached);
  return now;
}

// Ctrl-C comes after this number of flushes.
ProgramWorld WorldOf(const std::vector<std::vector<ClusterNow>>& watches,
                     int flushes) {
  ProgramWorld world;
  world.script.watches = watches;
  world.script.watch_status = {grpc::StatusCode::UNAVAILABLE, "stopping"};
  world.interrupt_at_flush = flushes;
  return world;
}

void OnTerminal(int height, ProgramWorld* world) {
  world->terminal.out_is_terminal = true;
  world->terminal.width = 80;
  world->terminal.height = height;
  world->environment["TERM"] = "xterm";
}

TEST(WatchCommandTest, PrintsABlockPerChangeWhereItCannotRedraw) {
  ProgramWorld world = WorldOf({{With(11), With(12)}}, 2);
  const ProgramOutput piped = RunProgram({"watch"}, world);
  EXPECT_EQ(piped.status, 0) << piped.err;
  EXPECT_EQ(piped.err, "");
  EXPECT_THAT(piped.out,
              AllOf(HasSubstr("11 of 12 attached, 1 away\n"),
                    HasSubstr("\n\ndemo  2025-01-01"),
                    HasSubstr("12 of 12 attached\n"), Not(HasSubstr("\x1b"))));
  OnTerminal(24, &world);
  world.environment["TERM"] = "dumb";
  EXPECT_EQ(RunProgram({"watch"}, world).out, piped.out);
}

TEST(WatchCommandTest, RedrawsInPlaceAndBringsTheTerminalBackAfterCtrlC) {
  ProgramWorld world = WorldOf({{With(11), With(12)}}, 2);
  OnTerminal(24, &world);
  EXPECT_THAT(RunProgram({"watch", "--color=never"}, world),
              Ends(0, Out(StartsWith("\x1b[?1049h\x1b[?7l\x1b[?25l\x1b[Hdemo")),
                   Out(HasSubstr("\x1b[J\x1b[Hdemo")),
                   Out(EndsWith("\x1b[J\x1b[?25h\x1b[?7h\x1b[?1049l"))));
}

TEST(WatchCommandTest, FitsTheWindow) {
  ClusterNow now = With(11);
  for (int i = 0; i < 30; ++i) now.add_running(absl::StrCat("check ", i));
  ProgramWorld world = WorldOf({{now}}, 1);
  OnTerminal(10, &world);
  const ProgramOutput output = RunProgram({"watch"}, world);
  EXPECT_EQ(std::count(output.out.begin(), output.out.end(), '\n'), 9);
  EXPECT_THAT(output.out, HasSubstr("more lines\x1b[K\x1b[J"));
}

TEST(WatchCommandTest, PrintsALineOfJsonPerChange) {
  const ProgramOutput output =
      RunProgram({"watch", "-o", "jsonl"}, WorldOf({{With(11), With(12)}}, 2));
  EXPECT_EQ(output.status, 0);
  const std::vector<std::string> lines = absl::StrSplit(output.out, '\n');
  ASSERT_EQ(lines.size(), 3u) << output.out;
  EXPECT_THAT(lines[0], AllOf(StartsWith("{"), EndsWith("}"),
                              HasSubstr("\"hosts_attached\": 11")));
  EXPECT_THAT(lines[1], HasSubstr("\"hosts_attached\": 12"));
}

TEST(WatchCommandTest, GoesOnWhenTheControllerIsBackAndSaysThatItWasAway) {
  ProgramWorld world = WorldOf({{With(11)}, {}, {With(12)}}, 2);
  WatchedController controller(world);
  EXPECT_THAT(
      RunProgram({"watch"}, world),
      Ends(0,
           Err(Line("watch", Worded("now-retries", FromController("stopping"),
                                    "00:00:00"))),
           Out(HasSubstr("12 of 12 attached"))));
  EXPECT_EQ(controller.watches(), 3);
}

TEST(WatchCommandTest, SaysOnItsScreenThatTheControllerIsAway) {
  // The old state, the loss of the controller, and the new state.
  ProgramWorld world = WorldOf({{With(11)}, {With(12)}}, 3);
  OnTerminal(24, &world);
  const ProgramOutput output = RunProgram({"watch", "--color=never"}, world);
  EXPECT_EQ(output.status, 0);
  EXPECT_EQ(output.err, "");
  const std::vector<std::string> shown = absl::StrSplit(output.out, "\x1b[H");
  ASSERT_EQ(shown.size(), 4u);
  EXPECT_THAT(shown[2], StartsWith("away: controller head:7443: "));
  EXPECT_THAT(shown[2], HasSubstr("11 of 12 attached"));
  EXPECT_THAT(shown[3], Not(HasSubstr("away: ")));
}

TEST(WatchCommandTest, GivesUpAControllerThatWasNeverThereOrStaysAway) {
  ProgramWorld world = WorldOf({}, 0);
  const std::string stopping = Line("watch", FromController("stopping"));
  EXPECT_THAT(RunProgram({"watch"}, world), Ends(2, Err(stopping)));
  world = WorldOf({{With(11)}, {}, {}, {}}, 0);
  world.clock_step = absl::Minutes(45);
  EXPECT_THAT(RunProgram({"watch"}, world), Ends(2, Err(EndsWith(stopping))));
}

TEST(WatchCommandTest, EndsWithWhatDoesNotPass) {
  ProgramWorld world = WorldOf({{With(11)}, {}}, 0);
  world.script.watch_status = {grpc::StatusCode::PERMISSION_DENIED, "locked"};
  OnTerminal(24, &world);
  EXPECT_THAT(RunProgram({"watch"}, world),
              Ends(2, Err(HasSubstr("locked")), Out(EndsWith("\x1b[?1049l"))));
  EXPECT_THAT(RunProgram({"watch", "-o", "jsonl"}, world).out,
              HasSubstr(absl::StrCat(
                  "\"error\": \"", ValueText(FromController("locked")), "\"")));
}

TEST(WatchCommandTest, NamesEveryMistake) {
  EXPECT_THAT(RunProgram({"watch", "-o", "json", "--color", "red"}),
              Ends(3,
                   Err(Tells("msg-choice-not-known", "--output", "json",
                             "table, jsonl", "")),
                   Err(HasSubstr("--color: \"red\""))));
}

}  // namespace
}  // namespace clusterd
