#include "config/learn/import_line.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace clusterd {
namespace {

ImportLine SplitLine(absl::string_view text, int number) {
  ImportLine line;
  line.position.line = number;
  char quote = 0;
  bool inside = false;
  for (const char c : text) {
    if (!inside && (c == '#' || c == ';')) break;
    const bool begins = !inside;
    inside = quote != 0 || !absl::ascii_isspace(c);
    if (!inside) continue;
    if (begins) line.words.emplace_back();
    if (c == quote || (quote == 0 && (c == '"' || c == '\''))) {
      quote = c == quote ? 0 : c;
    } else {
      line.words.back() += c;
    }
  }
  // What the Deployer's documentation puts behind a line to explain it.
  const auto comment = absl::c_find_if(line.words, [](const auto& word) {
    return absl::StartsWith(word, "//");
  });
  line.words.erase(comment, line.words.end());
  return line;
}

}  // namespace

std::optional<std::string> ImportLine::Find(absl::string_view key) const {
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals != std::string::npos &&
        absl::EqualsIgnoreCase(word.substr(0, equals), key)) {
      return word.substr(equals + 1);
    }
  }
  return std::nullopt;
}

absl::string_view WithoutByteOrderMark(absl::string_view text) {
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");
  return text;
}

std::string Shown(const std::string& word) {
  return QuoteValue(word.substr(0, word.find('=')));
}

bool IsSection(const std::string& word) {
  return word[0] == '[' && word.back() == ']' && word.rfind('[') == 0 &&
         absl::c_any_of(word, absl::ascii_isalpha);
}

bool IsOfInventory(const ImportLine& line) {
  return IsSection(line.words[0]) ||
         absl::c_any_of(line.words, [](const std::string& word) {
           return absl::StartsWith(word, "ansible_");
         });
}

std::vector<ImportLine> SplitLines(absl::string_view text) {
  std::vector<ImportLine> lines;
  int number = 0;
  std::string joined;
  for (absl::string_view part :
       absl::StrSplit(WithoutByteOrderMark(text), '\n')) {
    ++number;
    part = absl::StripTrailingAsciiWhitespace(part);
    // slurm.conf goes on behind a backslash.
    if (absl::ConsumeSuffix(&part, "\\")) {
      absl::StrAppend(&joined, part, " ");
      continue;
    }
    ImportLine line = SplitLine(absl::StrCat(joined, part), number);
    joined.clear();
    if (!line.words.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace clusterd
