#include "config/codes/error_code.h"

#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "re2/re2.h"

namespace clusterd {
namespace {

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file),
                     std::istreambuf_iterator<char>());
}

TEST(ErrorCodesTest, HaveBothLanguagesAndASource) {
  size_t explained = 0;
  for (const ErrorCode& row : ErrorCodes()) {
    EXPECT_FALSE(row.english.meaning.empty()) << row.name;
    EXPECT_FALSE(row.chinese.meaning.empty()) << row.name;
    EXPECT_NE(row.is_title, !row.source.empty()) << row.name;
    EXPECT_EQ(row.is_title, row.english.fix.empty()) << row.name;
    EXPECT_EQ(row.is_title, row.chinese.fix.empty()) << row.name;
    explained += row.is_title ? 0 : 1;
  }
  EXPECT_GE(explained, 200u);
  EXPECT_GE(ErrorCodes().size(), 1000u);
}

TEST(ErrorCodesTest, NameEachErrorOnce) {
  std::set<std::string> names;
  for (const ErrorCode& row : ErrorCodes()) {
    EXPECT_TRUE(names.insert(std::string(row.name)).second) << row.name;
    for (const absl::string_view also :
         absl::StrSplit(row.also, '/', absl::SkipEmpty())) {
      EXPECT_TRUE(names.insert(std::string(also)).second) << also;
    }
  }
}

// A text without a bound makes a log of one line take hours.
TEST(ErrorCodesTest, HaveTextsThatAreBoundedAndNotEmpty) {
  static const LazyRE2 kUnbounded = {R"((?:\.|\[\^[^\]]*\])[*+])"};
  for (const ErrorCode& row : ErrorCodes()) {
    if (row.form.empty()) continue;
    const RE2 form(re2::StringPiece(row.form.data(), row.form.size()));
    ASSERT_TRUE(form.ok()) << row.name << ": " << form.error();
    EXPECT_FALSE(RE2::FullMatch("", form)) << row.name;
    EXPECT_EQ(form.NumberOfCapturingGroups(), 0) << row.name;
    EXPECT_FALSE(RE2::PartialMatch(form.pattern(), *kUnbounded)) << row.name;
  }
}

TEST(FindErrorCodeTest, TakesCaseAndPrefixAndTheVendorsNames) {
  ASSERT_NE(FindErrorCode("EI0006"), nullptr);
  EXPECT_EQ(FindErrorCode("ei0006"), FindErrorCode("EI0006"));
  EXPECT_EQ(FindErrorCode("80e18402"), FindErrorCode("0x80E18402"));
  EXPECT_EQ(FindErrorCode("AISW_CANN_HCCL_004"), FindErrorCode("EI0015"));
  EXPECT_FALSE(FindErrorCode("0x80E18402")->is_title);
  EXPECT_TRUE(FindErrorCode("0x8C2FA009")->is_title);
  for (const char* unknown : {"", "EI", "EI0", "0x", "507999", "-8999"}) {
    EXPECT_EQ(FindErrorCode(unknown), nullptr) << unknown;
  }
}

TEST(ErrorCodesTest, AreThePageForPeople) {
  const std::string made = TextOf("config/rules/texts/codes.md");
  ASSERT_FALSE(made.empty());
  EXPECT_TRUE(made == TextOf("config/codes/README.md"))
      << "bazel build //config/rules/texts:codes && cp "
         "bazel-bin/config/rules/texts/codes.md config/codes/README.md";
}

}  // namespace
}  // namespace clusterd
