#include "config/report/job_verdict.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/report/verdict.h"
#include "config/values/version.h"
#include "config/words/state_word.h"
#include "config/words/waiver_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/client/golden.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr, ::testing::Not,
    ::testing::SizeIs;

std::vector<std::string> Rules(const std::vector<JobReason>& reasons) {
  std::vector<std::string> rules;
  for (const JobReason& reason : reasons) rules.push_back(reason.rule());
  return rules;
}

Finding& AddFinding(const std::string& rule, State state,
                    const std::string& host, Report* report) {
  RuleResult* const result = report->add_rules();
  result->set_rule(rule);
  result->set_state(state);
  Finding* const finding = result->add_findings();
  finding->set_rule(rule);
  finding->set_state(state);
  finding->set_observed(absl::StrCat(rule, " is wrong"));
  finding->add_subjects()->set_host(host);
  return *finding;
}

class JobVerdictGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(JobVerdictGoldenTest, ReadsAsInTheFile) {
  const std::string name = absl::StrCat("reports/", GetParam());
  JobSpec job;
  job.set_id("slurm:1234.0");
  for (const char* host : {"server0", "server1", "server2"}) {
    job.add_servers()->set_host(host);
  }
  const auto report = GoldenMessage<Report>(name);
  const JobVerdict verdict = MakeJobVerdict(report, job);
  std::string lines;
  for (const auto& host : verdict.hosts()) {
    absl::StrAppend(&lines, host.host(), " ", State_Name(host.state()), "\n");
    for (const JobReason& reason : host.reasons()) {
      absl::StrAppend(&lines, "  ", ReasonLine(reason), "\n    ", reason.fix(),
                      "\n");
    }
  }
  for (const JobReason& reason : verdict.reasons()) {
    absl::StrAppend(&lines, ReasonLine(reason), "\n    ", reason.fix(), "\n");
  }
  ExpectGolden(absl::StrCat(name, ".job"),
               absl::StrCat(State_Name(verdict.verdict()), "\n", lines));
}

INSTANTIATE_TEST_SUITE_P(Reports, JobVerdictGoldenTest,
                         testing::Values("pass", "fail", "hostile"),
                         [](const auto& info) {
                           return std::string(info.param);
                         });

TEST(ReasonsAboutTest, PutsTheWorstFirstAndACauseBeforeWhatItExplains) {
  Report report;
  AddFinding("warned", WARN, "a", &report);
  AddFinding("follows", FAIL, "a", &report).set_caused_by("cause");
  AddFinding("unknown", UNKNOWN, "a", &report);
  AddFinding("cause", FAIL, "a", &report);
  AddFinding("elsewhere", FAIL, "b", &report);
  AddFinding("skipped", SKIPPED, "a", &report);
  EXPECT_THAT(Rules(ReasonsAbout(report, "a")),
              ElementsAre("cause", "follows", "unknown", "warned"));
  EXPECT_THAT(Rules(ReasonsAbout(report, "b")), ElementsAre("elsewhere"));
  EXPECT_THAT(ReasonsAbout(report, "c"), SizeIs(0));
  EXPECT_THAT(ReasonsAbout(report, ""), SizeIs(0));
}

TEST(ReasonsAboutTest, JoinsTheDevicesOfOneFinding) {
  Report report;
  Finding& finding = AddFinding("link", FAIL, "a", &report);
  finding.set_observed("DOWN");
  finding.set_fix(std::string(300, 'x'));
  finding.mutable_subjects(0)->add_devices(3);
  MergeText("subjects {host: 'a' devices: 1}", &finding);
  const std::vector<JobReason> reasons = ReasonsAbout(report, "a");
  ASSERT_THAT(reasons, SizeIs(1));
  EXPECT_THAT(reasons[0].devices(), ElementsAre(1, 3));
  EXPECT_EQ(ReasonLine(reasons[0]), "clusterd: link: devices 1,3: DOWN");
  // No repair is cut.
  EXPECT_EQ(reasons[0].fix(), "clusterctl explain link");
}

TEST(ReasonsAboutTest, SaysWhatAWaiverCoversAndTheCause) {
  Report report;
  Finding& finding = AddFinding("net-health", WARN, "a", &report);
  MergeText(
      "finding: 'down' caused_by: 'link' "
      "waiver {rule: 'link' waived_from: FAIL}",
      &finding);
  const std::string waived = EnglishText(
      Worded("waived", StateWords(FAIL), WaiverWords(finding.waiver())));
  finding.set_observed("DOWN" + waived);
  const std::vector<JobReason> reasons = ReasonsAbout(report, "a");
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_TRUE(reasons[0].waived());
  EXPECT_EQ(reasons[0].waived_from(), FAIL);
  EXPECT_EQ(reasons[0].caused_by(), "link");
  EXPECT_EQ(reasons[0].said().words(), "net-health/down");
  ASSERT_EQ(reasons[0].said().values_size(), 1);
  EXPECT_EQ(reasons[0].said().values(0).name(), kWaivedEnd);
  EXPECT_EQ(EnglishText(reasons[0].said().values(0)), waived);
  EXPECT_EQ(ReasonLine(reasons[0]), "clusterd: net-health: DOWN" + waived);
}

TEST(ReasonsAboutTest, HasTheWordsOfATextAndCutsTheirValuesWithIt) {
  Report report;
  Finding& finding = AddFinding("link", FAIL, "a", &report);
  finding.set_finding("down");
  finding.mutable_subjects(0)->add_devices(3);
  *finding.add_values() = ToFindingValue("DOWN");
  JobReason reason = ReasonsAbout(report, "a")[0];
  EXPECT_EQ(reason.said().words(), "link/down");
  EXPECT_EQ(reason.said().values(0).text(), "DOWN");
  // After the rule, and after the device.
  const FindingValue words = ReasonWords(reason).values(1).values(1);
  EXPECT_EQ(words.words(), "link/down");
  EXPECT_EQ(words.text(), "link is wrong");
  reason.set_host("b");
  EXPECT_EQ(ReasonLine(reason),
            Say("hook-reason", "link", "b device 3: link is wrong"));
  finding.set_observed(std::string(200, 'x'));
  *finding.mutable_values(0) = ToFindingValue(std::string(200, 'y'));
  const FindingValue cut = ReasonsAbout(report, "a")[0].said();
  EXPECT_EQ(cut.words(), "link/down");
  EXPECT_LE(cut.text().size(), 120u);
  EXPECT_LE(cut.values(0).text().size(), 40u);
}

TEST(ReportForHookTest, HasTheVerdictAndWhatFailsAndNoMore) {
  Report report;
  report.set_schema_version(kReportSchemaVersion);
  report.set_verdict(FAIL);
  report.set_job_servers(2);
  for (std::string* text :
       {report.mutable_product(), report.mutable_spec_digest(),
        report.add_notes(), report.mutable_schedule(),
        report.add_value_groups()->mutable_name(),
        report.add_switches()->mutable_name()}) {
    *text = "silent";
  }
  for (const char* host : {"a", "b"}) {
    HostStatus* const status = report.add_hosts();
    status->set_host(host);
    status->set_state(*host == 'a' ? FAIL : WARN);
    for (std::string* text :
         {status->mutable_no_facts_reason(), status->mutable_simulation(),
          status->mutable_rack()}) {
      *text = "silent";
    }
  }
  Finding& failing = AddFinding("link", FAIL, "a", &report);
  failing.set_finding("down");
  *failing.add_values() = ToFindingValue("today");
  AddFinding("sysctl", WARN, "b", &report);
  AddFinding("gateway", UNKNOWN, "a", &report);
  for (RuleResult& rule : *report.mutable_rules()) {
    rule.set_category("device");
    Finding& finding = *rule.mutable_findings(0);
    for (std::string* text :
         {rule.mutable_summary(), rule.mutable_skip_reason(),
          rule.mutable_why(), rule.mutable_source(), finding.mutable_observed(),
          finding.mutable_expected(), finding.mutable_why(),
          finding.mutable_fix()}) {
      *text = "silent";
    }
  }
  failing.set_observed("DOWN\nsince today");
  const Report cut = ReportForHook(report);
  EXPECT_EQ(cut.verdict(), FAIL);
  EXPECT_EQ(cut.job_servers(), 2u);
  ASSERT_EQ(cut.hosts_size(), 2);
  EXPECT_EQ(cut.hosts(0).state(), FAIL);
  ASSERT_EQ(cut.rules_size(), 3);
  EXPECT_EQ(cut.rules(0).category(), "device");
  ASSERT_EQ(cut.rules(0).findings_size(), 1);
  const Finding& kept = cut.rules(0).findings(0);
  EXPECT_EQ(kept.observed(), "DOWN; since today");
  EXPECT_EQ(kept.finding(), "down");
  ASSERT_EQ(kept.values_size(), 1);
  EXPECT_EQ(kept.values(0).text(), "today");
  EXPECT_EQ(kept.subjects(0).host(), "a");
  EXPECT_EQ(cut.rules(1).findings_size() + cut.rules(2).findings_size(), 0);
  EXPECT_THAT(cut.DebugString(), Not(HasSubstr("silent")));
}

TEST(ReportForHookTest, IsNoWorseThanTheWholeWhereAllPasses) {
  const auto report = GoldenMessage<Report>("reports/pass");
  EXPECT_EQ(SupportedVerdict(ReportForHook(report)), SupportedVerdict(report));
}

TEST(ReasonLineTest, StaysOnePrintableLineOfTwoHundredBytes) {
  JobReason reason;
  reason.set_rule("li\nnk\033[2J");
  reason.set_text(absl::StrCat("\xe2\x80\xae\r", std::string(500, 'y')));
  for (uint32_t i = 0; i < 400; i += 2) reason.add_devices(i);
  const std::string line = ReasonLine(reason);
  EXPECT_THAT(line, SizeIs(200));
  for (const char c : line) EXPECT_TRUE(c >= ' ' && c <= '~') << line;
}

TEST(MakeJobVerdictTest, HostIsNeverBetterThanItsReasons) {
  Report report;
  report.add_hosts()->set_host("a");
  report.mutable_hosts(0)->set_state(PASS);
  // The report lacks this server.
  JobSpec job;
  job.add_servers()->set_host("a");
  job.add_servers()->set_host("b");
  const JobVerdict verdict = MakeJobVerdict(report, job);
  ASSERT_EQ(verdict.hosts_size(), 2);
  EXPECT_EQ(verdict.hosts(0).state(), PASS);
  EXPECT_EQ(verdict.hosts(1).host(), "b");
  EXPECT_EQ(verdict.hosts(1).state(), UNKNOWN);
  EXPECT_EQ(verdict.verdict(), UNKNOWN);
  AddFinding("link", FAIL, "a", &report);
  EXPECT_EQ(MakeJobVerdict(report, JobSpec()).hosts(0).state(), FAIL);
  report.mutable_hosts(0)->set_no_facts_reason("no answer");
  report.clear_rules();
  EXPECT_EQ(MakeJobVerdict(report, JobSpec()).hosts(0).state(), UNKNOWN);
}

TEST(MakeJobVerdictTest, HoldsTheWorstOfEveryHostWithinItsBounds) {
  Report report;
  JobSpec job;
  for (int i = 0; i < 1152; ++i) {
    const std::string host = absl::StrCat("server", i);
    job.add_servers()->set_host(host);
    report.add_hosts()->set_host(host);
  }
  for (int rule = 0; rule < 20; ++rule) {
    Finding& finding =
        AddFinding(absl::StrCat("rule-", rule), FAIL, "", &report);
    finding.set_observed(std::string(500, 'o'));
    finding.set_fix(std::string(119, 'f'));
    for (const JobServer& server : job.servers()) {
      finding.add_subjects()->set_host(server.host());
    }
  }
  const JobVerdict verdict = MakeJobVerdict(report, job);
  EXPECT_LT(verdict.ByteSizeLong(), 450u << 10);
  for (const auto& host : verdict.hosts()) {
    ASSERT_GE(host.reasons_size(), 1);
    EXPECT_EQ(host.state(), FAIL);
  }
  EXPECT_EQ(verdict.hosts(0).reasons(0).rule(), "rule-0");
  EXPECT_EQ(verdict.reasons_size(), 16);
}

TEST(MakeJobVerdictTest, NamesTheRuleOfATextThatHasNoWordsForWantOfBytes) {
  Report report;
  for (int i = 0; i < 1152; ++i) {
    report.add_hosts()->set_host(absl::StrCat("server", i));
  }
  Finding& finding = AddFinding("link", FAIL, "server0", &report);
  finding.set_finding("down");
  finding.set_observed(std::string(119, 'o'));
  *finding.add_values() = ToFindingValue(std::string(40, 'v'));
  for (int i = 1; i < 1152; ++i) {
    finding.add_subjects()->set_host(absl::StrCat("server", i));
  }
  const JobVerdict verdict = MakeJobVerdict(report, JobSpec());
  const JobReason& first = verdict.hosts(0).reasons(0);
  const JobReason& last = verdict.hosts(1151).reasons(0);
  EXPECT_EQ(TextWords(first).words(), "link/down");
  EXPECT_FALSE(last.has_said());
  EXPECT_EQ(TextWords(last).words(), "link/");
  EXPECT_EQ(ReasonLine(last), ReasonLine(first));
}

TEST(MakeJobVerdictTest, LeavesOutNoFailureForWhatAnotherOneExplains) {
  Report report;
  report.add_hosts()->set_host("a");
  AddFinding("hccn-conf", FAIL, "a", &report);
  for (int i = 0; i < 40; ++i) {
    AddFinding(absl::StrCat("unknown-", i), UNKNOWN, "a", &report)
        .set_caused_by("hccn-conf");
  }
  AddFinding("host-interface", FAIL, "a", &report);
  const JobVerdict verdict = MakeJobVerdict(report, JobSpec());
  ASSERT_GT(verdict.hosts(0).reasons_size(), 2);
  EXPECT_EQ(verdict.hosts(0).reasons(0).rule(), "hccn-conf");
  EXPECT_EQ(verdict.hosts(0).reasons(1).rule(), "host-interface");
}

TEST(BytesForHostsTest, TellEveryHostOfItselfTheMasterAndTrouble) {
  JobVerdict verdict;
  verdict.set_job_digest("ab");
  verdict.set_verdict(FAIL);
  for (const char* name : {"node1", "node2", "node3", "node4", "node5"}) {
    JobVerdict::Host* const host = verdict.add_hosts();
    host->set_host(name);
    host->set_state(PASS);
    host->set_address(absl::StrCat("10.0.0.", name + 4));
  }
  verdict.mutable_hosts(2)->set_state(FAIL);
  verdict.mutable_hosts(3)->add_reasons()->set_rule("link");
  verdict.add_reasons()->set_rule("address-unique");
  const VerdictBytes bytes = BytesForHosts(verdict);
  const auto hosts_of = [&](const std::string& host) {
    JobVerdict received;
    EXPECT_TRUE(received.ParseFromString(bytes.common + bytes.own.at(host)));
    EXPECT_EQ(received.job_digest(), "ab");
    EXPECT_EQ(received.verdict(), FAIL);
    EXPECT_EQ(received.reasons_size(), 1);
    std::vector<std::string> hosts;
    for (const JobVerdict::Host& each : received.hosts()) {
      EXPECT_THAT(each.address(), testing::StartsWith("10.0.0."));
      hosts.push_back(each.host());
    }
    return hosts;
  };
  EXPECT_EQ(bytes.own.size(), 5u);
  for (const char* host : {"node1", "node3", "node4"}) {
    EXPECT_THAT(hosts_of(host), ElementsAre("node1", "node3", "node4"));
  }
  EXPECT_THAT(hosts_of("node2"),
              ElementsAre("node1", "node3", "node4", "node2"));
  EXPECT_THAT(hosts_of("node5"),
              ElementsAre("node1", "node3", "node4", "node5"));
}

}  // namespace
}  // namespace clusterd
