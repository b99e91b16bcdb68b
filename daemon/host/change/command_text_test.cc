#include <gtest/gtest.h>

#include "config/words/words.h"
#include "daemon/host/command/program_path.h"

namespace clusterd {
namespace {

Command UfwDisable() {
  Command command;
  command.argv = {"/usr/sbin/ufw", "disable"};
  command.deadline = absl::Seconds(10);
  return command;
}

TEST(CommandWordsTest, PrefersTheErrorStreamAndOneLine) {
  CommandResult result;
  result.exit_status = 1;
  result.standard_output = "usage";
  result.standard_error = "ERROR: one\nERROR: two\n";
  EXPECT_EQ(ValueText(CommandWords(UfwDisable(), result)),
            "`ufw disable`: status 1: ERROR: one ERROR: two");
}

TEST(CommandWordsTest, DropsControlCharactersAndCutsLongText) {
  CommandResult result;
  result.standard_output = "\x1b[31m" + std::string(500, 'x');
  const std::string text = ValueText(CommandWords(UfwDisable(), result));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_LT(text.size(), 260u);
  EXPECT_EQ(text.substr(text.size() - 3), "...");
}

TEST(CommandWordsTest, SaysThatAProcessWasLeftBehind) {
  CommandResult result;
  result.timed_out = true;
  result.left_running = true;
  result.pid = 77;
  EXPECT_EQ(ValueText(CommandWords(UfwDisable(), result)),
            Say("plan-say-no-answer-left", "`ufw disable`", "10s", 77));
}

TEST(CommandWordsTest, ShowsWhyAProgramCouldNotStart) {
  EXPECT_EQ(ValueText(CommandWords(UfwDisable(),
                                   absl::NotFoundError("no such program"))),
            "`ufw disable`: no such program");
}

}  // namespace
}  // namespace clusterd
