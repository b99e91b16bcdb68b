// Messages in text format, for tests that set many fields.
#ifndef TESTS_SUPPORT_WAIT_FROM_TEXT_H_
#define TESTS_SUPPORT_WAIT_FROM_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace clusterd {

// Sets what the text names and appends its repeated fields; fails the test if
// the text is malformed.
template <typename Message>
void MergeText(absl::string_view text, Message* message) {
  EXPECT_TRUE(
      google::protobuf::TextFormat::MergeFromString(std::string(text), message))
      << text;
}

template <typename Message>
Message FromText(absl::string_view text) {
  Message message;
  MergeText(text, &message);
  return message;
}

}  // namespace clusterd

#endif  // TESTS_SUPPORT_WAIT_FROM_TEXT_H_
