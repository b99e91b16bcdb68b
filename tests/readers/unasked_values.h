// The part of InventedValues about the queries that no observation asks.
#ifndef TESTS_READERS_UNASKED_VALUES_H_
#define TESTS_READERS_UNASKED_VALUES_H_

#include "absl/strings/string_view.h"
#include "tests/readers/seen_text.h"

namespace clusterd {

// Gives `output` to every parser of daemon/host/hccn_query, for device 0. Adds
// each value that is not in `text` to `invented`.
// REQUIRES: `text` is the same text.
void CheckUnaskedValues(absl::string_view output, const SeenText& text,
                        InventedList* invented);

}  // namespace clusterd

#endif  // TESTS_READERS_UNASKED_VALUES_H_
