#include "config/launch/strict_json.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace clusterd {
namespace {

constexpr int kMaxDepth = 64;
constexpr size_t kMaxQuoted = 20;

class Scanner {
 public:
  explicit Scanner(absl::string_view text) : all_(text), rest_(text) {}

  absl::Status Scan() {
    Skip();
    if (rest_.empty()) {
      Wrong("the text is empty, expected a JSON object");
    } else if (Value(0)) {
      Skip();
      if (!rest_.empty()) Unexpected("nothing after the JSON text");
    }
    if (mistake_.empty()) return absl::OkStatus();
    const auto line =
        1 + std::count(all_.begin(), all_.end() - rest_.size(), '\n');
    return absl::InvalidArgumentError(
        absl::StrCat("line ", line, ": ", mistake_));
  }

 private:
  bool Wrong(std::string mistake) {
    if (mistake_.empty()) mistake_ = std::move(mistake);
    return false;
  }

  // Names what people write that only lenient parsers take.
  bool Unexpected(absl::string_view expected) {
    if (rest_.empty()) {
      return Wrong(absl::StrCat("the text ends, expected ", expected));
    }
    if (rest_[0] == '#' || absl::StartsWith(rest_, "//") ||
        absl::StartsWith(rest_, "/*")) {
      return Wrong("JSON has no comments, expected none");
    }
    if (rest_[0] == '\'') {
      return Wrong("a single quote, expected a double quote around a string");
    }
    const absl::string_view shown =
        rest_.substr(0, std::min(rest_.find_first_of("\r\n"), kMaxQuoted));
    return Wrong(
        absl::StrCat("\"", absl::CHexEscape(shown), "\", expected ", expected));
  }

  void Skip() {
    rest_.remove_prefix(
        std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }

  bool Take(absl::string_view word) {
    Skip();
    return absl::ConsumePrefix(&rest_, word);
  }

  bool Value(int depth) {
    if (depth > kMaxDepth) return Wrong("lists and objects are too deep");
    Skip();
    if (Take("{")) return Members(depth, '}');
    if (Take("[")) return Members(depth, ']');
    if (absl::StartsWith(rest_, "\"")) return Text();
    for (const absl::string_view word : {"true", "false", "null"}) {
      if (Take(word)) return true;
    }
    return Number();
  }

  // Of an object or a list, behind its bracket.
  bool Members(int depth, char end) {
    const absl::string_view bracket = end == '}' ? "}" : "]";
    if (Take(bracket)) return true;
    while (Member(depth, end == '}')) {
      if (Take(bracket)) return true;
      if (!Take(",")) {
        return Unexpected(absl::StrCat("a comma or ", bracket));
      }
      Skip();
      if (absl::StartsWith(rest_, bracket)) {
        return Wrong(absl::StrCat("a comma before ", bracket,
                                  ", expected none behind the last entry"));
      }
    }
    return false;
  }

  bool Member(int depth, bool has_key) {
    Skip();
    if (has_key) {
      if (!absl::StartsWith(rest_, "\"")) {
        return Unexpected("a key in double quotes");
      }
      if (!Text()) return false;
      if (!Take(":")) return Unexpected("a colon behind the key");
    }
    return Value(depth + 1);
  }

  // REQUIRES: a double quote comes next.
  bool Text() {
    rest_.remove_prefix(1);
    while (!rest_.empty()) {
      const char next = rest_[0];
      if (absl::ascii_iscntrl(next) && next != '\x7f') {
        return Wrong(
            "a line break or control character inside a string, "
            "expected a closing quote before it");
      }
      rest_.remove_prefix(1);
      if (next == '"') return true;
      if (next == '\\' && !Escape()) return false;
    }
    return Unexpected("a double quote");
  }

  bool Escape() {
    if (absl::ConsumePrefix(&rest_, "u")) {
      for (int i = 0; i < 4; ++i) {
        if (rest_.empty() || !absl::ascii_isxdigit(rest_[0])) {
          return Unexpected("four hexadecimal digits behind \\u");
        }
        rest_.remove_prefix(1);
      }
      return true;
    }
    if (rest_.empty() || !absl::StrContains("\"\\/bfnrt", rest_[0])) {
      return Unexpected("a character that JSON escapes");
    }
    rest_.remove_prefix(1);
    return true;
  }

  bool Digits() {
    const size_t count =
        std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    rest_.remove_prefix(count);
    return count > 0;
  }

  bool Number() {
    const absl::string_view begin = rest_;
    absl::ConsumePrefix(&rest_, "-");
    bool is_number = absl::ConsumePrefix(&rest_, "0") || Digits();
    if (is_number && absl::ConsumePrefix(&rest_, ".")) is_number = Digits();
    if (is_number && !rest_.empty() && absl::ascii_tolower(rest_[0]) == 'e') {
      rest_.remove_prefix(1);
      if (!absl::ConsumePrefix(&rest_, "+")) absl::ConsumePrefix(&rest_, "-");
      is_number = Digits();
    }
    if (is_number) return true;
    rest_ = begin;
    return Unexpected("a string in double quotes, or another JSON value");
  }

  const absl::string_view all_;
  absl::string_view rest_;
  std::string mistake_;
};

}  // namespace

absl::Status CheckStrictJson(absl::string_view text) {
  return Scanner(text).Scan();
}

}  // namespace clusterd
