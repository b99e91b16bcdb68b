// Matches what a message says, not its text: a row of config/words and its
// values, in an error, in words, or in a plain text (a log, a fact).
#ifndef TESTS_SUPPORT_WAIT_TELLING_H_
#define TESTS_SUPPORT_WAIT_TELLING_H_

#include <gmock/gmock.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "config/words/message.h"
#include "gtest/gtest.h"

namespace clusterd {

// Stands for any value in a text, within its line.
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

// Matches words, or a line of an error, that have all parts in this order. A
// part is the name of a row or the whole text of a value, at any depth; other
// parts may be between. Matches a plain text that holds the row of the first
// part with the others as its values.
class Telling {
 public:
  using is_gtest_matcher = void;

  Telling(std::vector<std::string> parts, std::string pattern)
      : parts_(std::move(parts)), pattern_(std::move(pattern)) {
    parts_.erase(std::remove(parts_.begin(), parts_.end(), kAny), parts_.end());
  }

  bool MatchAndExplain(absl::string_view text, std::ostream*) const {
    return HoldsText(text, pattern_);
  }
  bool MatchAndExplain(const FindingValue& words, std::ostream*) const {
    size_t found = 0;
    Find(words, &found);
    return found == parts_.size();
  }
  bool MatchAndExplain(const absl::Status& error, std::ostream* out) const {
    for (const FindingValue& line : MessageLines(error)) {
      if (MatchAndExplain(line, out)) return true;
    }
    return false;
  }
  void DescribeTo(std::ostream* out) const {
    *out << "tells " << absl::StrJoin(parts_, " | ");
  }
  void DescribeNegationTo(std::ostream* out) const {
    *out << "does not tell " << absl::StrJoin(parts_, " | ");
  }

 private:
  void Find(const FindingValue& words, size_t* found) const {
    if (!words.words().empty()) Compare(words.words(), found);
    Compare(ValueText(words), found);
    for (const FindingValue& value : words.values()) Find(value, found);
  }
  void Compare(const std::string& part, size_t* found) const {
    if (*found == parts_.size()) return;
    const std::string& wanted = parts_[*found];
    const bool holds = absl::StrContains(wanted, kAny) ? HoldsText(part, wanted)
                                                       : part == wanted;
    if (holds) ++*found;
  }

  std::vector<std::string> parts_;
  std::string pattern_;
};

// Tells("f:3:1: ", "msg-spec-host-twice", "\"n3\"", "1:10").
template <typename... Values>
Telling Tells(absl::string_view first, const Values&... values) {
  return Telling({std::string(first), ValueText(ToFindingValue(values))...},
                 RowPattern(first, values...));
}

inline std::string TextIn(absl::string_view text) { return std::string(text); }
inline std::string TextIn(const absl::Status& status) {
  return std::string(status.message());
}
inline std::string TextIn(const FindingValue& words) {
  return ValueText(words);
}

// Matches a text, status or value that holds `text`, which is not of a row.
MATCHER_P(HasText, text, "holds \"" + std::string(text) + "\"") {
  return HoldsText(TextIn(arg), text);
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

// The same if `text` also matches.
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

// A text that is refused, and the parts of the error.
struct Refused {
  std::string text;
  Telling error;
};

// `read` returns the error of a text; one line must match.
template <typename Read>
void ExpectEach(const Read& read, const std::vector<Refused>& cases) {
  for (const Refused& each : cases) {
    EXPECT_THAT(read(each.text), each.error) << each.text;
  }
}

// The same, and no other line may follow.
template <typename Read>
void ExpectEachAlone(const Read& read, const std::vector<Refused>& cases) {
  for (const Refused& each : cases) {
    EXPECT_THAT(MessageLines(read(each.text)), testing::ElementsAre(each.error))
        << each.text.substr(0, 300);
  }
}

}  // namespace clusterd

#endif  // TESTS_SUPPORT_WAIT_TELLING_H_
