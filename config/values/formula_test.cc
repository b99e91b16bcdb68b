#include "config/values/formula.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// The value in decimal, or the message.
std::string Value(absl::string_view text, const FormulaInputs& inputs = {}) {
  const absl::StatusOr<Formula> formula = Formula::Parse(text);
  const absl::StatusOr<int64_t> value =
      formula.ok() ? formula->Evaluate(inputs) : formula.status();
  if (value.ok()) return absl::StrCat(*value);
  EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(value.status().message());
}

TEST(FormulaTest, FollowsTheUsualPrecedence) {
  EXPECT_EQ(Value("1 + 2*3"), "7");
  EXPECT_EQ(Value("(1+2)*3"), "9");
  EXPECT_EQ(Value("10-4-3"), "3");
  EXPECT_EQ(Value("7/2"), "3");
  EXPECT_EQ(Value("7%4*2"), "6");
  EXPECT_EQ(Value("2*-3"), "-6");
  EXPECT_EQ(Value("--5"), "5");
}

TEST(FormulaTest, KnowsWhereTheDeviceStands) {
  FormulaInputs inputs;
  inputs.n = 3;
  inputs.d = 5;
  inputs.i = 1;
  inputs.g = 2;
  inputs.servers = 4;
  EXPECT_EQ(Value("101 + 10*n", inputs), "131");
  EXPECT_EQ(Value("1 + 8*n + d", inputs), "30");
  EXPECT_EQ(Value("(n+1) % servers", inputs), "0");
  EXPECT_EQ(Value("100*g + i", inputs), "201");
}

TEST(FormulaTest, EmptyFormulaObjectIsZero) {
  EXPECT_EQ(*Formula().Evaluate({}), 0);
}

TEST(FormulaTest, RefusesWhatIsNoFormula) {
  for (absl::string_view text :
       {"x", "n n", "1 2", "2^3", "nd", "n1", "1.5", "N", "server", "1 +* 2",
        ")", "(1))", "0x10", "n;d", "é"}) {
    EXPECT_THAT(Value(text), HasSubstr("expected numbers, n, d, i, g, servers"))
        << text;
  }
}

TEST(FormulaTest, RefusesWhatEndsEarly) {
  for (absl::string_view text : {"", " ", "1 +", "(", "-", "n*"}) {
    EXPECT_THAT(Value(text), HasSubstr("ends early")) << text;
  }
  EXPECT_THAT(Value("(1+2"), HasSubstr("open parenthesis"));
}

TEST(FormulaTest, RefusesDivisionByZero) {
  EXPECT_EQ(Value("1/n"), "formula \"1/n\" divides by zero");
  EXPECT_THAT(Value("1 % (n-n)"), HasSubstr("divides by zero"));
}

TEST(FormulaTest, RefusesWhatLeaves64Bits) {
  for (absl::string_view text :
       {"9223372036854775807 + 1", "-9223372036854775807 - 2",
        "9223372036854775807 * 2", "(-9223372036854775807 - 1) / -1",
        "(-9223372036854775807 - 1) % -1", "-(-9223372036854775807 - 1)"}) {
    EXPECT_THAT(Value(text), HasSubstr("leaves 64 bits")) << text;
  }
  EXPECT_THAT(Value("9223372036854775808"), HasSubstr("too large"));
}

TEST(FormulaTest, BoundsLengthAndNesting) {
  EXPECT_EQ(Value(std::string(32, '(') + "1" + std::string(32, ')')), "1");
  EXPECT_THAT(Value(std::string(33, '(') + "1" + std::string(33, ')')),
              HasSubstr("nested too deep"));
  EXPECT_THAT(Value(std::string(200, '-') + "1"), HasSubstr("too deep"));
  EXPECT_THAT(Value(std::string(257, '1')), HasSubstr("too long"));
}

}  // namespace
}  // namespace clusterd
