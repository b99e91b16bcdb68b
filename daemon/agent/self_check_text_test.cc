#include "daemon/agent/self_check_text.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FactLinesTest, PrintsValuesAndReasonsUnderTheirPath) {
  HostFacts facts;
  facts.mutable_identity()->mutable_hostname()->set_value("server0");
  facts.mutable_kernel()->mutable_somaxconn()->set_value(4096);
  DeviceFacts* device = facts.add_devices();
  device->set_id(5);
  device->mutable_gateway()->mutable_missing()->set_reason(Missing::TIMED_OUT);
  device->mutable_gateway()->mutable_missing()->set_detail("no answer in 10s");
  Ipv4Setting* setting =
      device->mutable_address()->mutable_value()->add_settings();
  setting->set_address("10.0.0.5");

  const std::string lines = FactLines(facts);

  EXPECT_THAT(lines, ContainsRegex("identity.hostname +server0\n"));
  EXPECT_THAT(lines, ContainsRegex("kernel.somaxconn +4096\n"));
  EXPECT_THAT(lines,
              ContainsRegex("devices\\[5\\].gateway +not known: TIMED_OUT, no "
                            "answer in 10s\n"));
  EXPECT_THAT(
      lines,
      ContainsRegex("devices\\[5\\].address.settings\\[0\\].address +10.0"));
}

TEST(FactLinesTest, PrintsEmptyValueAsNone) {
  HostFacts facts;
  facts.mutable_sockets()->mutable_value();
  EXPECT_THAT(FactLines(facts), ContainsRegex("sockets +none\n"));
}

TEST(FactLinesTest, EscapesControlBytes) {
  HostFacts facts;
  facts.mutable_versions()->mutable_driver()->set_value("1\x1b[2J");
  EXPECT_THAT(FactLines(facts), HasSubstr("1\\x1b[2J"));
  EXPECT_THAT(FactLines(facts), Not(HasSubstr("\x1b")));
}

TEST(SelfCheckTextTest, ShowsFindingWithExpectationAndFix) {
  CheckSelfResponse response;
  RuleResult* rule = response.mutable_report()->add_rules();
  rule->set_rule("listen-backlog");
  rule->set_state(FAIL);
  Finding* finding = rule->add_findings();
  finding->add_subjects()->set_host("server0");
  finding->set_observed("128");
  finding->set_expected("at least 65535");
  finding->set_fix("sysctl -w net.core.somaxconn=65535");
  response.mutable_report()->set_verdict(FAIL);

  const std::string text = SelfCheckText(response);

  EXPECT_THAT(text, ContainsRegex("fail +listen-backlog"));
  EXPECT_THAT(text, HasSubstr("server0: 128\n"));
  EXPECT_THAT(text, HasSubstr("expected: at least 65535\n"));
  EXPECT_THAT(text, HasSubstr("fix: sysctl -w"));
  EXPECT_THAT(text, HasSubstr("verdict: fail\n"));
}

TEST(SelfCheckExitStatusTest, FollowsVerdict) {
  Report report;
  EXPECT_EQ(SelfCheckExitStatus(report), 2);
  report.set_verdict(PASS);
  EXPECT_EQ(SelfCheckExitStatus(report), 0);
  report.set_verdict(WARN);
  EXPECT_EQ(SelfCheckExitStatus(report), 0);
  report.set_verdict(FAIL);
  EXPECT_EQ(SelfCheckExitStatus(report), 1);
  report.set_verdict(UNKNOWN);
  EXPECT_EQ(SelfCheckExitStatus(report), 2);
}

}  // namespace
}  // namespace clusterd
