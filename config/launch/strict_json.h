// Whether a text is JSON as RFC 8259 has it, which is all that HCCL's parser
// (nlohmann/json) takes. Protobuf's own parser also takes single quotes, bare
// keys and trailing commas. Says only that; makes no value.
#ifndef CONFIG_LAUNCH_STRICT_JSON_H_
#define CONFIG_LAUNCH_STRICT_JSON_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// InvalidArgument for the first mistake: "line 4: JSON has no comments". A text
// deeper than 64 lists and objects is a mistake. A byte order mark must be
// gone.
absl::Status CheckStrictJson(absl::string_view text);

}  // namespace clusterd

#endif  // CONFIG_LAUNCH_STRICT_JSON_H_
