#include "config/learn/import_lines.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/hccn_conf_line.h"

namespace clusterd {
namespace {

// Turns "key = value" into "key=value".
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

std::vector<std::string> Words(absl::string_view line) {
  std::vector<std::string> words;
  char quote = 0;
  bool inside = false;
  for (const char c : line) {
    if (!inside && (c == '#' || c == ';')) break;
    const bool begins = !inside;
    inside = quote != 0 || !absl::ascii_isspace(c);
    if (!inside) continue;
    if (begins) words.emplace_back();
    if (c == quote || (quote == 0 && (c == '"' || c == '\''))) {
      quote = c == quote ? 0 : c;
    } else {
      words.back() += c;
    }
  }
  // The Deployer's documentation explains a line after such a mark.
  words.erase(absl::c_find_if(words,
                              [](const std::string& word) {
                                return absl::StartsWith(word, "//");
                              }),
              words.end());
  return words;
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
  absl::ConsumePrefix(&text, "\xEF\xBB\xBF");  // Some editors add it.
  int number = 0;
  for (const absl::string_view part : absl::StrSplit(text, '\n')) {
    ImportLine line;
    line.position.line = ++number;
    line.words = Words(part);
    JoinSettings(&line.words);
    if (!line.words.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

bool IsOfSlurm(const ImportLine& line) {
  return absl::StartsWithIgnoreCase(line.words[0], "NodeName=");
}

bool IsOfHccnConf(const ImportLine& line) {
  const std::string& word = line.words[0];
  return IsRecoveredLine(
      absl::StrCat(word.substr(0, word.find_first_of("=:")), "=0"));
}

bool NamesTheMachineItself(const ImportLine& line) {
  constexpr const char* kOwnNames[] = {"localhost", "ip6-", "broadcasthost"};
  return line.words.size() > 1 &&
         absl::c_any_of(kOwnNames, [&line](absl::string_view own) {
           return absl::StartsWith(line.words[1], own);
         });
}

}  // namespace clusterd
