#include "config/words/terminal_text.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

// Every byte but the continuation bytes of UTF-8.
bool BeginsCharacter(char c) {
  return (static_cast<uint8_t>(c) & 0xc0) != 0x80;
}

}  // namespace

std::string CutText(absl::string_view text, int columns, bool utf8) {
  if (TextColumns(text) <= columns) return std::string(text);
  const absl::string_view mark = utf8 ? "…" : "...";
  const int kept = columns - TextColumns(mark);
  size_t end = 0;
  for (int seen = 0; end < text.size(); ++end) {
    if (BeginsCharacter(text[end]) && seen++ == kept) break;
  }
  return absl::StrCat(text.substr(0, end), mark);
}

int TextColumns(absl::string_view text) {
  return static_cast<int>(
      std::count_if(text.begin(), text.end(), BeginsCharacter));
}

std::string Padded(absl::string_view text, int columns) {
  const int missing = columns - TextColumns(text);
  return absl::StrCat(text, std::string(std::max(missing, 0), ' '));
}

std::vector<std::string> WrapText(absl::string_view text, int columns) {
  if (columns <= 0) return {std::string(text)};
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    // A word with the spaces before it, which vanish where a line breaks.
    const size_t word = std::min(text.find_first_not_of(' '), text.size());
    const size_t end = std::min(text.find(' ', word), text.size());
    const absl::string_view piece = text.substr(0, end);
    if (!lines.back().empty() &&
        TextColumns(lines.back()) + TextColumns(piece) > columns) {
      lines.push_back(std::string(text.substr(word, end - word)));
    } else {
      absl::StrAppend(&lines.back(), piece);
    }
    text.remove_prefix(end);
  }
  return lines;
}

}  // namespace clusterd
