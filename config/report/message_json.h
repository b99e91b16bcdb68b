// Any message as JSON: the protobuf JSON mapping with the names of the .proto
// files, every field written, also zeros. 64-bit numbers are strings there. Map
// keys are in order: equal messages are equal bytes.
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

// The same without the fields that hold their default, for messages of many
// megabytes: a fifth of the time, and no tree of the whole in memory.
inline std::string SparseJson(const google::protobuf::Message& message) {
  return MessageJson(message, /*with_defaults=*/false);
}

// The JSON of one message on one line, with its end.
std::string OnOneLine(const std::string& json);

}  // namespace clusterd

#endif  // CONFIG_REPORT_MESSAGE_JSON_H_
