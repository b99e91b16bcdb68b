// Checks a fuzz target's demand on a value; ends the process if it fails.
#ifndef TESTS_FUZZ_REQUIRE_H_
#define TESTS_FUZZ_REQUIRE_H_

#include <cstddef>
#include <cstdlib>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace clusterd {

inline void Require(bool condition) {
  if (!condition) std::abort();
}

// `piece` stands in `text`.
inline void RequireIn(absl::string_view text, absl::string_view piece) {
  Require(absl::StrContains(text, piece));
}

// PrintableText(…, max_bytes), whose escapes are four bytes, and "...".
inline void RequirePrintable(absl::string_view value, size_t max_bytes) {
  Require(value.size() <= 4 * max_bytes + 3);
  // Letters of UTF-8 may stay; C1 controls, "\xC2\x80" to "\xC2\x9F", may not.
  for (size_t i = 0; i < value.size(); ++i) {
    const auto byte = static_cast<unsigned char>(value[i]);
    Require(byte >= 0x80 || absl::ascii_isprint(byte));
    Require(byte != 0xC2 || i + 1 == value.size() ||
            static_cast<unsigned char>(value[i + 1]) >= 0xA0);
  }
}

// Removes the first lines of a golden input, which give its origin.
inline std::string WithoutOrigin(std::string text) {
  while (absl::StartsWith(text, "#") && absl::StrContains(text, "\n")) {
    text.erase(0, text.find('\n') + 1);
  }
  return text;
}

}  // namespace clusterd

#endif  // TESTS_FUZZ_REQUIRE_H_
