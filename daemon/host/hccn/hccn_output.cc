#include "daemon/host/hccn/hccn_output.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/words/quoted_text.h"

namespace clusterd {

absl::Status UnexpectedHccnText(absl::string_view text,
                                absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("unexpected ", QuotedText(text), ", expected ", expected));
}

std::vector<absl::string_view> HccnDataLines(absl::string_view output) {
  std::vector<absl::string_view> lines;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    line = absl::StripTrailingAsciiWhitespace(line);
    if (line.empty() || absl::StartsWith(line, "[WARNING] ") ||
        absl::StartsWith(line, "[Warning] ") ||
        line == "Cmd executed successfully!") {
      continue;
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace clusterd
