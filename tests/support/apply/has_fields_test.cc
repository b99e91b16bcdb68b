// Here because the room of the matcher, which every test uses, has no tests.
#include "tests/support/wait/has_fields.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/facts.pb.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::Not;

const char kReport[] = R"(
    verdict: FAIL partial: true
    hosts { host: 'a' state: PASS } hosts { host: 'b' state: FAIL })";

TEST(HasFieldsTest, ComparesWhatTheTextNamesAlone) {
  const auto report = FromText<Report>(kReport);
  for (const char* same :
       {"", "verdict: FAIL", kReport, "hosts {} hosts { state: FAIL }",
        "run_id: '' hosts {} hosts {}"}) {
    EXPECT_THAT(report, HasFields(same)) << same;
  }
}

TEST(HasFieldsTest, TellsEveryDifference) {
  const auto report = FromText<Report>(kReport);
  for (const char* other :
       {"verdict: PASS", "run_id: 'x'", "hosts {}",
        "hosts {} hosts {} hosts {}", "hosts { host: 'b' } hosts { host: 'a' }",
        // Defaults, of which a partial comparison knows nothing.
        "partial: false", "hosts { host: '' } hosts {}",
        "hosts {} hosts { host: 'b' state: STATE_UNSPECIFIED }"}) {
    EXPECT_THAT(report, Not(HasFields(other))) << other;
  }
}

TEST(IsMissingTest, ComparesReasonAndDetail) {
  const auto fact = FromText<NumberFact>(
      "missing { reason: TIMED_OUT detail: 'no answer in 10s' }");
  EXPECT_THAT(fact, IsMissing(Missing::TIMED_OUT));
  EXPECT_THAT(fact, IsMissing(Missing::TIMED_OUT, "no answer in 10s"));
  EXPECT_THAT(fact, Not(IsMissing(Missing::TIMED_OUT, "no answer")));
  EXPECT_THAT(fact, Not(IsMissing(Missing::ABSENT)));
  EXPECT_THAT(FromText<NumberFact>("value: 0"),
              Not(IsMissing(Missing::REASON_UNSPECIFIED)));
}

}  // namespace
}  // namespace clusterd
