// What protobuf's JSON parser takes and RFC 8259, and so HCCL's parser
// (nlohmann/json), does not: single quotes, bare keys, trailing commas,
// comments, line breaks in strings. Does not check the rest of the grammar.
#ifndef CONFIG_LAUNCH_STRICT_JSON_H_
#define CONFIG_LAUNCH_STRICT_JSON_H_

#include <string>

#include "absl/strings/string_view.h"

namespace clusterd {

// The first mistake: "line 4: JSON has no comments"; empty: none.
std::string LenientJsonMistake(absl::string_view text);

}  // namespace clusterd

#endif  // CONFIG_LAUNCH_STRICT_JSON_H_
