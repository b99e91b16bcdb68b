// Golden files of the printers: messages in text format and their printed form,
// in tests/testdata/client.
#ifndef TESTS_SUPPORT_CLIENT_GOLDEN_H_
#define TESTS_SUPPORT_CLIENT_GOLDEN_H_

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "config/words/terminal.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace clusterd {

inline std::string GoldenPath(const std::string& name) {
  return absl::StrCat("tests/testdata/client/", name);
}

inline std::string ReadGolden(const std::string& name) {
  std::ifstream file(GoldenPath(name), std::ios::binary);
  EXPECT_TRUE(file.is_open()) << GoldenPath(name);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

// The message in NAME.textproto.
template <typename Message>
Message GoldenMessage(const std::string& name) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      ReadGolden(absl::StrCat(name, ".textproto")), &message));
  return message;
}

// Compares with the file. Run from the top of the tree with
// CLUSTERD_UPDATE_GOLDEN=1, the test writes the file instead, and fails.
inline void ExpectGolden(const std::string& name, const std::string& actual) {
  if (std::getenv("CLUSTERD_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(GoldenPath(name), std::ios::binary) << actual;
    ADD_FAILURE() << "wrote " << GoldenPath(name) << "; look at the difference";
    return;
  }
  EXPECT_EQ(actual, ReadGolden(name)) << name;
}

// Compares what is printed in English with NAME.txt, in Chinese with
// NAME-zh.txt.
inline void ExpectGoldenInBoth(const std::string& name,
                               const std::function<std::string()>& print) {
  ExpectGolden(absl::StrCat(name, ".txt"), print());
  const InLanguage chinese(Language::kChinese);
  ExpectGolden(absl::StrCat(name, "-zh.txt"), print());
}

// A terminal without colours, as wide as any line.
inline Style Utf8() {
  Style style;
  style.utf8 = true;
  return style;
}

}  // namespace clusterd

#endif  // TESTS_SUPPORT_CLIENT_GOLDEN_H_
