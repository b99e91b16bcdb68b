// One fact in words: its value, or why there is none. A fact is a message with
// a oneof `state` of `value` and `missing`; see facts.proto.
#ifndef CLIENT_PRINT_FACT_VALUE_H_
#define CLIENT_PRINT_FACT_VALUE_H_

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "proto/facts.pb.h"

namespace clusterd {

struct FactText {
  bool known = false;              // There is a value.
  std::vector<std::string> lines;  // At least one. Not safe for a terminal.
};

// Whether the field holds facts.
bool IsFact(const google::protobuf::FieldDescriptor& field);

// The value, "missing: reason: detail", or "not asked". An empty value is told
// as such ("none set", "none"). REQUIRES: `fact` is of a type that IsFact
// accepts.
FactText DescribeFact(const google::protobuf::Message& fact);

// "NET_HEALTH_SOCKET_FAIL" as "socket fail".
std::string EnumWords(const google::protobuf::EnumValueDescriptor& value);

// "not permitted: detail".
std::string MissingWords(const Missing& missing);

}  // namespace clusterd

#endif  // CLIENT_PRINT_FACT_VALUE_H_
