// Finds values in a text, for tests that look for values which a parser made
// up. Does not know the parsers.
#ifndef TESTS_READERS_SEEN_TEXT_H_
#define TESTS_READERS_SEEN_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace clusterd {

class SeenText {
 public:
  explicit SeenText(absl::string_view text);

  bool Has(absl::string_view words) const;
  // The same, no blanks on either side; `words` has none.
  bool HasWithoutBlanks(absl::string_view words) const;
  // The number or address is there, not as part of a longer one.
  bool HasNumber(absl::string_view number) const;
  // The number is there as 0x..., however many zeros precede its digits.
  bool HasHex(uint32_t number) const;
  // `value` as a decimal number with at most four decimals.
  bool HasDecimal(double value) const;
  // `value` has unprintable bytes escaped, and "..." where it was cut.
  bool HasPrintable(absl::string_view value) const;
  bool HasOnlyBlankLinesAndWarnings() const;

  size_t size() const { return text_.size(); }

 private:
  const std::string text_;
  const std::string escaped_;
  const std::string without_blanks_;
};

// Collects values that are not in the text.
class InventedList {
 public:
  // Remembers `value`, read in the answer of `query`, unless it is there.
  void Expect(bool is_there, absl::string_view query, absl::string_view value);
  std::vector<std::string> Take();

 private:
  std::vector<std::string> invented_;
};

}  // namespace clusterd

#endif  // TESTS_READERS_SEEN_TEXT_H_
