// How the values of options are read. They stay text while the command line is
// parsed, so that a command can name every wrong one in one run: each function
// adds a mistake that names the option, the value and what was expected.
#ifndef CLIENT_COMMAND_OPTIONS_H_
#define CLIENT_COMMAND_OPTIONS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace clusterd {

using MistakeList = std::vector<std::string>;

// The position of `value` among `words`; 0 and a mistake if it is none.
size_t ReadChoice(absl::string_view option, absl::string_view value,
                  const std::vector<absl::string_view>& words,
                  MistakeList& mistakes);

// A whole number of `smallest` to `largest`; `absent` if `text` is empty.
uint32_t ReadNumber(absl::string_view option, absl::string_view text,
                    std::pair<uint32_t, uint32_t> smallest_largest,
                    uint32_t absent, MistakeList& mistakes);

// The duration of --timeout; `absent` if `text` is empty.
absl::Duration ReadTimeout(absl::string_view text, absl::Duration absent,
                           MistakeList& mistakes);

// Whether `id` is an id of the history or the start of one.
void CheckRunId(absl::string_view argument, absl::string_view id,
                MistakeList& mistakes);

}  // namespace clusterd

#endif  // CLIENT_COMMAND_OPTIONS_H_
