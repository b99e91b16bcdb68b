// One fact in words: its value, or why there is none. A fact is a message with
// a oneof `state` of `value` and `missing`; see facts.proto.
#ifndef CONFIG_WORDS_FACT_VALUE_H_
#define CONFIG_WORDS_FACT_VALUE_H_

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

// The value, "missing: timed out: no answer in 10s", or "not asked for". An
// empty value is told as such ("none set", "none"). REQUIRES: `fact` is of a
// type that IsFact accepts.
FactText DescribeFact(const google::protobuf::Message& fact);

// "NET_HEALTH_SOCKET_FAIL" as "socket fail".
std::string EnumWords(const google::protobuf::EnumValueDescriptor& value);

// "net.core.somaxconn is 128, applied was 65535 (apply 3fa2c4d5e6f70812 by
// ann)". Not safe for a terminal.
std::string DriftText(const AppliedDrift& drift);

}  // namespace clusterd

#endif  // CONFIG_WORDS_FACT_VALUE_H_
