// Matchers of messages, for tests that would compare field by field.
#ifndef TESTS_SUPPORT_WAIT_HAS_FIELDS_H_
#define TESTS_SUPPORT_WAIT_HAS_FIELDS_H_

#include <string>
#include <type_traits>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace clusterd {

// False if `got` has a value where the text names a default, e.g. "works:
// false": a comparison of what is set skips fields without presence. REQUIRES:
// both have equally long lists.
inline bool HaveNamedDefaults(
    const google::protobuf::Message& wanted,
    const google::protobuf::Message& got,
    const google::protobuf::TextFormat::ParseInfoTree& named) {
  const auto& in_wanted = *wanted.GetReflection();
  const auto& in_got = *got.GetReflection();
  for (int i = 0; i < wanted.GetDescriptor()->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* const field =
        wanted.GetDescriptor()->field(i);
    const bool has_messages = field->message_type() != nullptr;
    if (!field->is_repeated()) {
      if (named.GetLocation(field, -1).line < 0) continue;
      if (!in_wanted.HasField(wanted, field) && in_got.HasField(got, field)) {
        return false;
      }
      const auto* const below = named.GetTreeForNested(field, -1);
      if (has_messages && below != nullptr &&
          !HaveNamedDefaults(in_wanted.GetMessage(wanted, field),
                             in_got.GetMessage(got, field), *below)) {
        return false;
      }
      continue;
    }
    for (int at = 0; has_messages && at < in_wanted.FieldSize(wanted, field);
         ++at) {
      const auto* const below = named.GetTreeForNested(field, at);
      if (below != nullptr &&
          !HaveNamedDefaults(in_wanted.GetRepeatedMessage(wanted, field, at),
                             in_got.GetRepeatedMessage(got, field, at),
                             *below)) {
        return false;
      }
    }
  }
  return true;
}

// Matches a message in which every field that `text` (text format) names has
// that value, and every list that it names is equally long. Others may be set.
MATCHER_P(HasFields, text, "has " + std::string(text)) {
  std::decay_t<decltype(arg)> wanted;
  google::protobuf::TextFormat::ParseInfoTree named;
  google::protobuf::TextFormat::Parser parser;
  parser.WriteLocationsTo(&named);
  if (!parser.ParseFromString(std::string(text), &wanted)) {
    ADD_FAILURE() << "malformed: " << text;
    return false;
  }
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_scope(google::protobuf::util::MessageDifferencer::PARTIAL);
  std::string differences;
  differencer.ReportDifferencesToString(&differences);
  const bool is_same = differencer.Compare(wanted, arg);
  *result_listener << differences;
  return is_same && HaveNamedDefaults(wanted, arg, named);
}

// Matches a fact that is missing for this reason, with a matching detail.
MATCHER_P(IsMissing, reason, "") {
  *result_listener << arg.ShortDebugString();
  return arg.has_missing() && arg.missing().reason() == reason;
}
MATCHER_P2(IsMissing, reason, detail, "") {
  *result_listener << arg.ShortDebugString();
  return arg.has_missing() && arg.missing().reason() == reason &&
         testing::ExplainMatchResult(detail, arg.missing().detail(),
                                     result_listener);
}

}  // namespace clusterd

#endif  // TESTS_SUPPORT_WAIT_HAS_FIELDS_H_
