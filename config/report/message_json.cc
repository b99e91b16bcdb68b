#include "config/report/message_json.h"

#include "config/words/quoted_text.h"
#include "google/protobuf/util/json_util.h"

namespace clusterd {

std::string MessageJson(const google::protobuf::Message& message,
                        bool with_defaults) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = with_defaults;
  std::string json;
  const auto status =
      google::protobuf::util::MessageToJsonString(message, &json, options);
  // Our messages have no Any; nothing else can fail but our own mistakes.
  if (!status.ok()) return "{\"error\": \"no JSON form\"}\n";
  while (!json.empty() && json.back() == '\n') json.pop_back();
  std::string safe = SafeJson(json);
  safe += '\n';
  return safe;
}

}  // namespace clusterd
