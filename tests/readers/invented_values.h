// Finds values of the daemon's parsers that are not in their text.
#ifndef TESTS_READERS_INVENTED_VALUES_H_
#define TESTS_READERS_INVENTED_VALUES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace clusterd {

// Gives `output` to the parser of every query, for device 0. Returns one text
// for each value that is not in `output`. A number or address must be there
// whole, not as part of a longer one. Empty: every parser refused, or repeated
// its input.
std::vector<std::string> InventedValues(absl::string_view output);

}  // namespace clusterd

#endif  // TESTS_READERS_INVENTED_VALUES_H_
