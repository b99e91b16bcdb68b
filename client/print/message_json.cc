#include "client/print/message_json.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/print/terminal_text.h"
#include "google/protobuf/util/json_util.h"

namespace clusterd {

std::string MessageJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(message, &json, options);
  // Our messages have no Any; nothing else can fail but our own mistakes.
  if (!status.ok()) {
    return absl::StrCat("{\"error\": \"no JSON form\"}\n");
  }
  while (!json.empty() && json.back() == '\n') json.pop_back();
  return absl::StrCat(SafeJson(json), "\n");
}

}  // namespace clusterd
