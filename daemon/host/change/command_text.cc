#include "daemon/host/change/command_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "config/words/message.h"

namespace clusterd {
namespace {

constexpr size_t kShownBytes = 200;

std::string OneLine(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  std::string line = absl::StrReplaceAll(text.substr(0, kShownBytes),
                                         {{"\n", " "}, {"\t", " "}});
  line.erase(std::remove_if(line.begin(), line.end(), absl::ascii_iscntrl),
             line.end());
  return text.size() > kShownBytes ? line + "..." : line;
}

}  // namespace

FindingValue CommandWords(const Command& command,
                          const absl::StatusOr<CommandResult>& result) {
  std::vector<std::string> words = command.argv;
  if (!words.empty()) words[0] = words[0].substr(words[0].rfind('/') + 1);
  const std::string line =
      absl::StrCat("`", OneLine(absl::StrJoin(words, " ")), "`");
  if (!result.ok()) {
    return Worded("about", line, MessageWords(result.status()));
  }
  if (result->timed_out) {
    return Worded(
        result->left_running ? "plan-say-no-answer-left" : "plan-say-no-answer",
        line, absl::FormatDuration(command.deadline), result->pid);
  }
  const FindingValue how = Worded(
      "about", line,
      result->signal != 0 ? Worded("plan-say-signal", result->signal)
                          : Worded("plan-say-status", result->exit_status));
  std::string said = OneLine(result->standard_error);
  if (said.empty()) said = OneLine(result->standard_output);
  return said.empty() ? how : Worded("about", how, said);
}

}  // namespace clusterd
