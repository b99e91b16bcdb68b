#include "client/print/report_short.h"

#include "absl/strings/str_cat.h"
#include "client/print/golden.h"
#include "client/print/terminal_text.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

class ReportShortGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(ReportShortGoldenTest, PrintsAsInTheFile) {
  const std::string name = absl::StrCat("reports/", GetParam());
  const Report report = GoldenMessage<Report>(name);
  ExpectGolden(absl::StrCat(name, ".short"),
               absl::StrCat(ReportShort(report, true), "\n"));
}

INSTANTIATE_TEST_SUITE_P(Reports, ReportShortGoldenTest,
                         testing::Values("pass", "fail", "hostile",
                                         "no_verdict"),
                         [](const auto& info) {
                           return std::string(info.param);
                         });

TEST(ReportShortTest, NamesTheRootAndNotWhatFollowsFromIt) {
  const std::string line =
      ReportShort(GoldenMessage<Report>("reports/fail"), true);
  EXPECT_LT(line.find("link: server1 device 3: DOWN"),
            line.find("net-health:"));
}

TEST(ReportShortTest, FitsAChatMessageHoweverMuchIsWrong) {
  Report report;
  report.set_cluster(std::string(5000, 'c'));
  report.set_verdict(FAIL);
  for (int i = 0; i < 40; ++i) {
    RuleResult& rule = *report.add_rules();
    rule.set_rule(absl::StrCat("rule-", i));
    rule.set_state(FAIL);
    Finding& finding = *rule.add_findings();
    finding.set_state(FAIL);
    finding.set_observed(std::string(5000, 'x'));
  }
  const std::string line = ReportShort(report, true);
  EXPECT_LE(TextColumns(line), 450);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_NE(line.find("and 37 more"), std::string::npos);
}

}  // namespace
}  // namespace clusterd
