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

// Ends with one newline. Parses back to an equal message. Characters that a
// terminal would obey are \u escapes. `without`: leaves out those fields of the
// message, but not those of messages in it.
std::string MessageJson(const google::protobuf::Message& message,
                        bool with_defaults = true,
                        absl::Span<const absl::string_view> without = {});

// The same without fields that have their default, for messages of many
// megabytes: a fifth of the time, and no tree of the whole in memory.
inline std::string SparseJson(const google::protobuf::Message& message) {
  return MessageJson(message, /*with_defaults=*/false);
}

// The JSON of one message on one line, with its line end.
std::string OnOneLine(const std::string& json);

}  // namespace clusterd

#endif  // CONFIG_REPORT_MESSAGE_JSON_H_
