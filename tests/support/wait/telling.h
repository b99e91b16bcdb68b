// What a message tells, whatever its text is: rows and values.
#ifndef TESTS_SUPPORT_WAIT_TELLING_H_
#define TESTS_SUPPORT_WAIT_TELLING_H_

#include <gmock/gmock.h>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/words/message.h"

namespace clusterd {

// Matches words, or a line of an error, that have all of the parts in this
// order. A part is the name of a row or the whole text of a value, however deep
// within another one; further ones may be between.
class Telling {
 public:
  using is_gtest_matcher = void;

  explicit Telling(std::vector<std::string> parts) : parts_(std::move(parts)) {}

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
    if (*found < parts_.size() && parts_[*found] == part) ++*found;
  }

  std::vector<std::string> parts_;
};

// Tells("f:3:1: ", "msg-spec-host-twice", "\"n3\"", "1:10").
template <typename... Parts>
Telling Tells(const Parts&... parts) {
  return Telling(std::vector<std::string>{absl::StrCat(parts)...});
}

// A text that is refused, and what the error tells.
struct Refused {
  std::string text;
  Telling told;
};

// `read` gives the error of a text, of which one line tells it.
template <typename Read>
void ExpectTold(const Read& read, const std::vector<Refused>& cases) {
  for (const Refused& each : cases) {
    EXPECT_THAT(read(each.text), each.told) << each.text;
  }
}

// The same, and there is no other line.
template <typename Read>
void ExpectToldAlone(const Read& read, const std::vector<Refused>& cases) {
  for (const Refused& each : cases) {
    EXPECT_THAT(MessageLines(read(each.text)), testing::ElementsAre(each.told))
        << each.text.substr(0, 300);
  }
}

}  // namespace clusterd

#endif  // TESTS_SUPPORT_WAIT_TELLING_H_
