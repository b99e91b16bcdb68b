#include "config/learn/import_lines.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/hccn_conf_line.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// "key = value" as "key=value": Slurm takes blanks there.
void JoinSettings(std::vector<std::string>* words) {
  std::vector<std::string> joined;
  for (std::string& word : *words) {
    if (!joined.empty() &&
        (absl::StartsWith(word, "=") || absl::EndsWith(joined.back(), "="))) {
      joined.back() += word;
    } else {
      joined.push_back(std::move(word));
    }
  }
  *words = std::move(joined);
}

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
  JoinSettings(&line.words);
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
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");  // An editor may put it there.
  const auto parts = absl::c_count(text, '\n') + 1;
  int number = 0;
  std::string joined;
  for (absl::string_view part : absl::StrSplit(text, '\n')) {
    ++number;
    part = absl::StripTrailingAsciiWhitespace(part);
    // slurm.conf goes on behind a backslash, unless the file ends there.
    const bool goes_on = absl::ConsumeSuffix(&part, "\\");
    absl::StrAppend(&joined, part, goes_on ? " " : "");
    if (goes_on && number < parts) continue;
    ImportLine line = SplitLine(joined, number);
    joined.clear();
    if (!line.words.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

bool IsInclude(const ImportLine& line) {
  return absl::EqualsIgnoreCase(line.words[0], "Include");
}

bool IsOfSlurm(const ImportLine& line) {
  return absl::StartsWithIgnoreCase(line.words[0], "NodeName=") ||
         (IsInclude(line) && line.words.size() == 2);
}

bool IsOfHccnConf(const ImportLine& line) {
  const std::string& word = line.words[0];
  return IsRecoveredLine(
      absl::StrCat(word.substr(0, word.find_first_of("=:")), "=0"));
}

}  // namespace clusterd
