#include "absl/strings/str_cat.h"
#include "config/report/verdict.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::HasSubstr;

constexpr absl::Time kNow = absl::FromUnixSeconds(1'735'689'600);  // 2025.

// Adds a waiver that is in force for an hour.
Waiver& AddWaiver(const std::string& rule,
                  const std::vector<std::string>& hosts, TestCluster* cluster) {
  cluster->now = kNow;
  Waiver& waiver = *cluster->spec.add_waivers();
  waiver.set_id("3fa2c4d5");
  waiver.set_rule(rule);
  waiver.mutable_hosts()->Add(hosts.begin(), hosts.end());
  waiver.set_reason("cable ordered");
  waiver.set_owner("spiffe://test/user/ann/role/operator");
  waiver.set_until_ms(absl::ToUnixMillis(kNow + absl::Hours(1)));
  return waiver;
}

TestCluster WithLinksDown() {
  TestCluster cluster("atlas-training", "", 2);
  for (const int host : {0, 1}) {
    cluster.device(host, 3).mutable_link()->set_value(LinkFact::DOWN);
  }
  return cluster;
}

TEST(WaiverTest, MakesAWarningThatSaysSoOfTheFailuresThatItCovers) {
  TestCluster cluster = WithLinksDown();
  AddWaiver("link", {"server0"}, &cluster);
  const Report report = cluster.MakeReport();
  const RuleResult& link = ResultOf(report, "link");
  EXPECT_EQ(link.state(), FAIL) << "server1 is not waived";
  ASSERT_EQ(link.findings_size(), 2);
  const Finding& waived = link.findings(0);
  EXPECT_EQ(Who(waived), "server0:3");
  EXPECT_EQ(waived.state(), WARN);
  EXPECT_EQ(waived.waiver().waived_from(), FAIL);
  EXPECT_EQ(waived.waiver().id(), "3fa2c4d5");
  EXPECT_THAT(waived.observed(), AllOf(HasSubstr("otherwise fail"),
                                       HasSubstr("2025-01-01 01:00 UTC"),
                                       HasSubstr("ann: cable ordered")));
  EXPECT_FALSE(link.findings(1).has_waiver());
  EXPECT_EQ(Who(link.findings(1)), "server1:3");
  EXPECT_EQ(report.waived_findings(), 1u);
  EXPECT_THAT(report.notes(), testing::Contains(HasSubstr("1 finding waived")));
  EXPECT_EQ(report.hosts(0).state(), WARN);
  EXPECT_EQ(report.hosts(1).state(), FAIL);
}

TEST(WaiverTest, CoversWhatAFailureIsAfterItsDowngrade) {
  TestCluster cluster = WithLinksDown();
  AddWaiver("link", {}, &cluster);
  JudgeOptions options;
  options.selection.add_downgrade("link");
  const RuleResult link = ResultOf(cluster.MakeReport(options), "link");
  EXPECT_TRUE(link.findings(0).downgraded());
  EXPECT_EQ(link.findings(0).waiver().waived_from(), WARN);
}

TEST(WaiverTest, OfAllHostsLeavesAVerdictThatIsNoPass) {
  TestCluster cluster = WithLinksDown();
  AddWaiver("link", {}, &cluster);
  EXPECT_EQ(cluster.MakeReport().verdict(), WARN);
  // Without a clock the waiver does not apply.
  cluster.now = absl::InfiniteFuture();
  const Report report = cluster.MakeReport();
  EXPECT_EQ(ResultOf(report, "link").state(), FAIL);
  EXPECT_EQ(ResultOf(report, "maintenance").state(), SKIPPED);
}

TEST(WaiverTest, OfDevicesCoversNoOtherDeviceAndNotTheHost) {
  TestCluster cluster = WithLinksDown();
  Waiver& waiver = AddWaiver("link", {"server0", "server1"}, &cluster);
  waiver.add_devices(2);
  EXPECT_EQ(cluster.MakeReport().waived_findings(), 0u);
  waiver.add_devices(3);
  // A reason of a stranger is escaped.
  waiver.set_reason("a\x1b[31m\nb");
  const Report report = cluster.MakeReport();
  EXPECT_EQ(ResultOf(report, "link").state(), WARN);
  EXPECT_THAT(ResultOf(report, "link").findings(0).observed(),
              HasSubstr("a\\x1b[31m\\nb"));
}

TEST(WaiverTest, OfACauseCoversTheFailuresThatFollow) {
  TestCluster cluster("atlas-training", "", 1);
  cluster.Set(
      0, 3,
      R"(link {value: DOWN} net_health {value: NET_HEALTH_RECEIVE_TIMEOUT})");
  AddWaiver("link", {"server0"}, &cluster);
  const Report report = cluster.MakeReport();
  for (const RuleResult& result : report.rules()) {
    EXPECT_NE(result.state(), FAIL) << Lines(result);
  }
  // The waiver keeps the state that the job gives the finding.
  cluster.StartJob();
  const RuleResult link = cluster.Check("link");
  EXPECT_EQ(link.state(), WARN);
  EXPECT_EQ(link.findings(0).waiver().waived_from(), WARN);
  EXPECT_EQ(link.findings(0).finding(), "down");
  EXPECT_EQ(link.findings(0).weighed().words(), "roce-unused-by-job");
  EXPECT_THAT(link.findings(0).observed(), HasSubstr("waived, otherwise warn"));
}

TEST(WaiverTest, OfTheToolOrASilentHostMakesNothingElseKnown) {
  TestCluster muted;
  muted.Mute(0, 3, Missing::TIMED_OUT, "no answer");
  AddWaiver("hccn-tool", {}, &muted);
  const Report report = muted.MakeReport();
  const RuleResult& tool = ResultOf(report, "hccn-tool");
  EXPECT_EQ(tool.state(), WARN);
  EXPECT_EQ(tool.findings(0).waiver().waived_from(), UNKNOWN);
  EXPECT_EQ(ResultOf(report, "link").state(), UNKNOWN);
  EXPECT_EQ(report.verdict(), UNKNOWN);
  TestCluster cluster;
  cluster.Silence(0);
  AddWaiver("host-identity", {"server0"}, &cluster);
  const Report silent = cluster.MakeReport();
  EXPECT_EQ(ResultOf(silent, "host-identity").state(), WARN);
  EXPECT_EQ(silent.verdict(), UNKNOWN);
  EXPECT_EQ(SupportedVerdict(silent), UNKNOWN);
}

TEST(WaiverTest, ThatHasEndedOrIsTooLongCoversNothingAndWarns) {
  for (const auto& [until, name] :
       {std::make_pair(kNow, "ended"),
        std::make_pair(kNow + absl::Hours(24 * 90 + 1), "too-long")}) {
    TestCluster cluster = WithLinksDown();
    AddWaiver("link", {}, &cluster).set_until_ms(absl::ToUnixMillis(until));
    const Report report = cluster.MakeReport();
    EXPECT_EQ(ResultOf(report, "link").state(), FAIL);
    const RuleResult& own = ResultOf(report, "maintenance");
    EXPECT_EQ(own.state(), WARN);
    EXPECT_THAT(Lines(own), HasSubstr(absl::StrCat(
                                "WARN cluster ", name,
                                " what=link on every host, waiver=until ")));
    EXPECT_THAT(Lines(own), HasSubstr("clusterctl unwaive 3fa2c4d5"));
  }
}

TEST(MaintenanceTest, CoversEverythingOfItsHostsAlsoThatTheyAreAway) {
  TestCluster cluster = WithLinksDown();
  cluster.Silence(0);
  AddWaiver("maintenance", {"server0", "server1"}, &cluster);
  const Report report =
      cluster.MakeReport({Only({"link", "host-identity", "maintenance"})});
  EXPECT_EQ(report.verdict(), WARN);
  EXPECT_EQ(SupportedVerdict(report), WARN);
  EXPECT_TRUE(report.hosts(0).maintenance());
  EXPECT_EQ(report.hosts(0).state(), WARN);
  EXPECT_THAT(ResultOf(report, "host-identity").findings(0).observed(),
              HasSubstr(Say("in-maintenance", "unknown", "until")));
  EXPECT_EQ(ResultOf(report, "maintenance").findings_size(), 1);
  EXPECT_TRUE(ResultOf(report, "maintenance").findings(0).has_waiver());
}

TEST(MaintenanceTest, AloneIsAVerdictAboutTheHosts) {
  TestCluster cluster;
  Report report = cluster.MakeReport({Only({"maintenance"})});
  EXPECT_EQ(report.verdict(), PASS);
  EXPECT_EQ(report.hosts(0).state(), PASS);
  AddWaiver("maintenance", {"server0"}, &cluster);
  report = cluster.MakeReport({Only({"maintenance"})});
  EXPECT_EQ(report.verdict(), WARN);
  EXPECT_EQ(SupportedVerdict(report), WARN);
  EXPECT_EQ(report.hosts(0).state(), WARN);
}

TEST(MaintenanceTest, FailsAJobOnItsHostsAndNothingElseDoes) {
  TestCluster cluster = WithLinksDown();
  cluster.StartJob();
  AddWaiver("maintenance", {"server0", "server1"}, &cluster);
  const Report report = cluster.MakeReport();
  for (const RuleResult& result : report.rules()) {
    EXPECT_EQ(result.state() == FAIL, result.rule() == "maintenance")
        << Lines(result);
  }
}

}  // namespace
}  // namespace clusterd
