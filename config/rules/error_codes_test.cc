#include "config/rules/error_codes.h"

#include "absl/strings/str_split.h"
#include "config/codes/error_code.h"
#include "gmock/gmock.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

std::vector<std::string> NamesOf(absl::string_view code) {
  std::vector<std::string> names;
  const std::vector<const Rule*> rules = RulesOfErrorCode(code);
  for (const Rule* rule : rules) names.emplace_back(rule->name);
  return names;
}

TEST(ErrorCodesTest, LeadToRulesThatAreThere) {
  for (const ErrorCode& row : ErrorCodes()) {
    for (const absl::string_view rule :
         absl::StrSplit(row.rules, '/', absl::SkipEmpty())) {
      EXPECT_NE(FindRule(rule), nullptr) << row.name << ": " << rule;
    }
  }
}

TEST(ErrorCodesTest, HaveTheRulesThatNameThem) {
  for (const Rule& rule : RuleCatalogue()) {
    for (const absl::string_view code :
         absl::StrSplit(rule.codes, '/', absl::SkipEmpty())) {
      ASSERT_NE(FindErrorCode(code), nullptr) << rule.name << ": " << code;
      EXPECT_THAT(NamesOf(code), testing::Contains(rule.name)) << code;
    }
  }
}

TEST(RulesOfErrorCodeTest, TakesBothDirectionsAndTheRuleOfThatName) {
  EXPECT_THAT(NamesOf("EI0016"), testing::ElementsAre("tls-uniform"));
  EXPECT_THAT(NamesOf("80e18402"), testing::ElementsAre("device-health"));
  EXPECT_THAT(NamesOf("host-name"), testing::ElementsAre("host-name"));
  EXPECT_THAT(NamesOf("link"), testing::ElementsAre("link"));
  EXPECT_THAT(NamesOf("EI9998"), testing::IsEmpty());
}

TEST(ErrorCodeMeaningTest, SaysOfAnEntryOfTheVendorThatItIsKnownAndItsTitle) {
  const ErrorCode& row = *FindErrorCode("AISW_CANN_GE_035");
  EXPECT_THAT(ErrorCodeMeaning("AISW_CANN_GE_035"),
              Tells("code-title", row.name, row.english.meaning));
  EXPECT_EQ(ErrorCodeFix("AISW_CANN_GE_035"), "");
  EXPECT_EQ(ErrorCodeMeaning("AISW_CANN_GE_999"), "");
  EXPECT_NE(ErrorCodeFix("AISW_CANN_HCCL_001"), "");
}

}  // namespace
}  // namespace clusterd
