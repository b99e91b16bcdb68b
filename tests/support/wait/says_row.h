// Finds rows of config/words in texts, by name and values, for tests that have
// no more than the text: of a log, of a status, of a fact.
#ifndef TESTS_SUPPORT_WAIT_SAYS_ROW_H_
#define TESTS_SUPPORT_WAIT_SAYS_ROW_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {

// Stands for any value, in any line but not across lines.
inline constexpr char kAny[] = "\x01";

// The text of that row with these values, in the current language; values that
// are left out are kAny.
template <typename... Values>
std::string RowPattern(absl::string_view row, const Values&... values) {
  constexpr int kMostValues = 10;
  FindingValue words = Worded(row, values...);
  while (words.values_size() < kMostValues) words.add_values()->set_text(kAny);
  return ValueText(words);
}

// True if `text` holds `wanted`, in which kAny stands for anything.
inline bool HoldsText(absl::string_view text, absl::string_view wanted) {
  const std::vector<std::string> pieces = absl::StrSplit(wanted, kAny);
  if (pieces.size() == 1) return text.find(wanted) != text.npos;
  const bool has_lines = wanted.find('\n') != wanted.npos;
  const std::vector<absl::string_view> places =
      has_lines ? std::vector<absl::string_view>{text}
                : std::vector<absl::string_view>(absl::StrSplit(text, '\n'));
  for (absl::string_view place : places) {
    bool holds = true;
    for (const std::string& piece : pieces) {
      const size_t at = place.find(piece);
      holds = at != place.npos;
      if (!holds) break;
      place.remove_prefix(at + piece.size());
    }
    if (holds) return true;
  }
  return false;
}

inline std::string TextIn(absl::string_view text) { return std::string(text); }
inline std::string TextIn(const absl::Status& status) {
  return std::string(status.message());
}
inline std::string TextIn(const FindingValue& words) {
  return ValueText(words);
}

MATCHER_P(HoldsRow, wanted, "holds \"" + std::string(wanted) + "\"") {
  return HoldsText(TextIn(arg), wanted);
}

// Matches a text, status or value that holds `text`, which has no row.
inline auto HasText(absl::string_view text) {
  return HoldsRow(std::string(text));
}

// Matches a text, status or value that holds the row with these values.
template <typename... Values>
auto SaysRow(absl::string_view row, const Values&... values) {
  return HoldsRow(RowPattern(row, values...));
}

inline const absl::Status& StatusIn(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& StatusIn(const absl::StatusOr<T>& result) {
  return result.status();
}

// Matches a status, or a result without a value, with this code.
MATCHER_P(Fails, code, "fails with " + absl::StatusCodeToString(code)) {
  *result_listener << StatusIn(arg);
  return StatusIn(arg).code() == code;
}

// The same where `text` matches it too.
MATCHER_P2(Fails, code, text, "fails with " + absl::StatusCodeToString(code)) {
  *result_listener << StatusIn(arg);
  return StatusIn(arg).code() == code &&
         testing::ExplainMatchResult(text, StatusIn(arg), result_listener);
}

// Expects that a reader refused its input with an error that holds `text`.
template <typename T>
void ExpectRejected(const absl::StatusOr<T>& read, absl::string_view text) {
  EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << read.status();
  EXPECT_THAT(read.status(), HasText(text));
}

}  // namespace clusterd

#endif  // TESTS_SUPPORT_WAIT_SAYS_ROW_H_
