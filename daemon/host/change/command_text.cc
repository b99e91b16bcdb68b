#include "daemon/host/change/command_text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace clusterd {
namespace {

constexpr size_t kShownBytes = 200;

std::string OneLine(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  std::string line;
  for (const char c : text.substr(0, kShownBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n' || c == '\t') {
      line += ' ';
    } else if (byte >= 0x20 && byte != 0x7f) {
      line += c;
    }
  }
  return text.size() > kShownBytes ? line + "..." : line;
}

std::string CommandLine(const Command& command) {
  std::vector<std::string> words = command.argv;
  if (!words.empty()) words[0] = words[0].substr(words[0].rfind('/') + 1);
  return absl::StrCat("`", OneLine(absl::StrJoin(words, " ")), "`");
}

}  // namespace

std::string CommandText(const Command& command,
                        const absl::StatusOr<CommandResult>& result) {
  const std::string line = CommandLine(command);
  if (!result.ok()) {
    return absl::StrCat(line, ": ", OneLine(result.status().message()));
  }
  if (result->timed_out) {
    return absl::StrCat(
        line, ": no answer in ", absl::FormatDuration(command.deadline),
        result->left_running
            ? absl::StrCat(", and process ", result->pid,
                           " could not be killed: it may still act")
            : std::string());
  }
  const std::string how = result->signal != 0
                              ? absl::StrCat("signal ", result->signal)
                              : absl::StrCat("status ", result->exit_status);
  std::string said = OneLine(result->standard_error);
  if (said.empty()) said = OneLine(result->standard_output);
  return absl::StrCat(line, ": ", how, said.empty() ? "" : ": ", said);
}

}  // namespace clusterd
