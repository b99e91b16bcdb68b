#include "config/launch/strict_json.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

// Behind the string that begins at `at`; npos: it has no end, or a line break
// or control character before it.
size_t EndOfText(absl::string_view text, size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '"') return at + 1;
    if (static_cast<unsigned char>(text[at]) < ' ') break;
    if (text[at] == '\\') ++at;
  }
  return absl::string_view::npos;
}

size_t EndOfWord(absl::string_view text, size_t at) {
  while (at < text.size() && (absl::ascii_isalnum(text[at]) ||
                              text[at] == '_' || text[at] == '$')) {
    ++at;
  }
  return at;
}

// What is wrong with the token at `at`; moves behind it.
std::string TakeToken(absl::string_view text, size_t* at) {
  const char next = text[*at];
  if (next == '"') {
    *at = EndOfText(text, *at);
    return *at == text.npos ? "a string without its closing double quote" : "";
  }
  if (next == '#' || next == '/') return "JSON has no comments";
  if (next == '\'') return "a single quote, expected double quotes";
  if (absl::ascii_isalpha(next) || next == '_' || next == '$') {
    const size_t begin = *at;
    *at = EndOfWord(text, begin);
    const absl::string_view word = text.substr(begin, *at - begin);
    if (word == "true" || word == "false" || word == "null") return "";
    return absl::StrCat(word.substr(0, 40), ", expected it in double quotes");
  }
  if (next == ',') {
    const size_t behind = text.find_first_not_of(" \t\r\n", *at + 1);
    if (behind != text.npos && (text[behind] == '}' || text[behind] == ']')) {
      return "a comma behind the last entry, expected none";
    }
  }
  // The exponent of a number is no word.
  *at = absl::ascii_isdigit(next) ? EndOfWord(text, *at) : *at + 1;
  return "";
}

}  // namespace

std::string LenientJsonMistake(absl::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const std::string mistake = TakeToken(text, &at);
    if (mistake.empty()) continue;
    return absl::StrCat(
        "line ", 1 + std::count(text.begin(), text.begin() + begin, '\n'), ": ",
        mistake);
  }
  return "";
}

}  // namespace clusterd
