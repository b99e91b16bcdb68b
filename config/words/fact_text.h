// Words for facts: why one is missing, and what to do about it.
#ifndef CONFIG_WORDS_FACT_TEXT_H_
#define CONFIG_WORDS_FACT_TEXT_H_

#include <string>

#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
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
// Printable.
std::string WhyMissing(const Missing* missing);
inline std::string WhyMissing(const Missing& missing) {
  return WhyMissing(&missing);
}

// The same for a fact that holds no value of use: one of a newer clusterd, such
// as an enum that is not known here, is "not understood".
template <typename Fact>
std::string WhyUnknown(const Fact& fact) {
  return IsKnown(fact) ? "not understood" : WhyMissing(MissingOf(fact));
}

// What to do so that the fact is there next time.
std::string HowToLearn(const Missing* missing);

}  // namespace clusterd

#endif  // CONFIG_WORDS_FACT_TEXT_H_
