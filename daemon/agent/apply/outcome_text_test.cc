#include "daemon/agent/apply/outcome_text.h"

#include <gtest/gtest.h>

#include <string>

namespace clusterd {
namespace {

// "failed" in GBK, which is not UTF-8.
constexpr char kGbk[] = "hccn_tool: \xca\xa7\xb0\xdc\n";
constexpr char kGbkShown[] = "hccn_tool: \\xca\\xa7\\xb0\\xdc\\n";

TEST(OutcomeTextTest, CanBeReadBackWhateverAProgramSaid) {
  ApplyResult result;
  result.set_error(kGbk);
  result.add_residues(kGbk);
  result.add_forced(kGbk);
  result.add_steps()->set_detail(kGbk);
  CleanTexts(&result);
  ApplyResult read;
  ASSERT_TRUE(read.ParseFromString(result.SerializeAsString()));
  EXPECT_EQ(read.error(), kGbkShown);
  EXPECT_EQ(read.residues(0), kGbkShown);
  EXPECT_EQ(read.forced(0), kGbkShown);
  EXPECT_EQ(read.steps(0).detail(), kGbkShown);
}

TEST(OutcomeTextTest, BoundsTextsEvenWhenAllOfThemIsEscaped) {
  const std::string text = OutcomeText(std::string(1 << 20, '\x01'));
  EXPECT_LE(text.size(), 16384u);
  EXPECT_EQ(text.substr(text.size() - 3), "...");
}

TEST(OutcomeTextTest, LeavesWhatIsCleanAsItIs) {
  ApplyResult result;
  result.set_error("device 1: address is none, expected 10.0.0.1/24");
  result.add_steps()->set_state(StepOutcome::DONE);
  const std::string before = result.SerializeAsString();
  CleanTexts(&result);
  CleanTexts(&result);
  EXPECT_EQ(result.SerializeAsString(), before);
}

}  // namespace
}  // namespace clusterd
