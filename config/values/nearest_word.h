// Finds the probable meaning of a typo: "ports-reserved" for "ports-reserve".
#ifndef CONFIG_VALUES_NEAREST_WORD_H_
#define CONFIG_VALUES_NEAREST_WORD_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace clusterd {

// The candidate with the fewest edits (insert, delete, replace, swap of two
// neighbours; letter case is free), the first one of equals. Empty if none
// is within a third of its length, or one edit for short words. Text of over
// 64 bytes is near nothing.
std::string NearestWord(absl::string_view word,
                        absl::Span<const absl::string_view> candidates);

// True if at most one edit leads from one to the other; ignores letter case.
bool IsOneEditAway(absl::string_view a, absl::string_view b);

}  // namespace clusterd

#endif  // CONFIG_VALUES_NEAREST_WORD_H_
