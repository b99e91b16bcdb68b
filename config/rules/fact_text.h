// Words for facts: why one is missing, what to do about it, and how to show
// text that came from a host. Everything a host sent is data of a stranger: it
// is shown without control characters and never enters a command unquoted.
#ifndef CONFIG_RULES_FACT_TEXT_H_
#define CONFIG_RULES_FACT_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Whether a fact message (TextFact, LinkFact, …) holds a value.
template <typename Fact>
bool IsKnown(const Fact& fact) {
  return fact.state_case() == Fact::kValue;
}

// The reason why a fact has no value; nullptr: it was not asked for.
template <typename Fact>
const Missing* MissingOf(const Fact& fact) {
  return fact.state_case() == Fact::kMissing ? &fact.missing() : nullptr;
}

// "timed out: no answer in 10s (deadlines.command)"; nullptr: "not asked for".
std::string WhyMissing(const Missing* missing);

// The same for a fact that holds no value of use: one of a newer clusterd, such
// as an enum that is not known here, is "not understood".
template <typename Fact>
std::string WhyUnknown(const Fact& fact) {
  return IsKnown(fact) ? "not understood" : WhyMissing(MissingOf(fact));
}

// What to do so that the fact is there next time.
std::string HowToLearn(const Missing* missing);

// `text` without control characters, at most `max_bytes` of it, still UTF-8
// where it was. A cut is marked with "…".
std::string Printable(absl::string_view text, size_t max_bytes = 160);

// Printable text in double quotes.
std::string Quoted(absl::string_view text);

// One word for a POSIX shell. Control characters are dropped.
std::string ShellQuoted(absl::string_view text);

// "0-3,7"; "none" when empty. REQUIRES: ascending.
std::string FoldIds(absl::Span<const uint32_t> ids);

// "1 device", "16 devices".
std::string Count(size_t number, absl::string_view singular);

}  // namespace clusterd

#endif  // CONFIG_RULES_FACT_TEXT_H_
