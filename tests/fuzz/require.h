// What a fuzz target demands of a value; ends the process where it is not so.
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
  for (const char c : value) {
    Require(absl::ascii_isprint(static_cast<unsigned char>(c)));
  }
}

// Without the first lines of a golden input, which say where it is from.
inline std::string WithoutOrigin(std::string text) {
  while (absl::StartsWith(text, "#") && absl::StrContains(text, "\n")) {
    text.erase(0, text.find('\n') + 1);
  }
  return text;
}

}  // namespace clusterd

#endif  // TESTS_FUZZ_REQUIRE_H_
