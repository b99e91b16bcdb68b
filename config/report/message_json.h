// Any message as JSON: the protobuf JSON mapping with the names of the .proto
// files, with every field, even if zero. 64-bit numbers are strings. Map keys
// are in order, so equal messages are equal bytes.
#ifndef CONFIG_REPORT_MESSAGE_JSON_H_
#define CONFIG_REPORT_MESSAGE_JSON_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/message.h"

namespace clusterd {

// Fields of a finding that are for screens: not in JSON.
inline constexpr absl::string_view kFindingOnScreens[] = {"fix_words",
                                                          "short_fix"};

// Ends with one newline. Parses back to an equal message, but for those fields
// of findings. Characters that a terminal would obey are \u escapes. Without
// defaults it takes a fifth of the time, and no tree of the whole in memory.
// `without`: leaves out those fields of the message, but not those of messages
// in it.
std::string MessageJson(const google::protobuf::Message& message,
                        bool with_defaults = true,
                        absl::Span<const absl::string_view> without = {});

// The JSON of one message on one line, with its line end.
std::string OnOneLine(const std::string& json);

}  // namespace clusterd

#endif  // CONFIG_REPORT_MESSAGE_JSON_H_
