#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/rules/catalogue.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr;

// Root causes and their consequences: "link", "net-health [link]".
std::vector<std::string> Troubles(const Report& report) {
  std::vector<std::string> troubles;
  for (const RuleResult& result : report.rules()) {
    for (const Finding& finding : result.findings()) {
      if (finding.state() < WARN) continue;
      const std::string& cause = finding.caused_by();
      troubles.push_back(absl::StrCat(
          result.rule(), cause.empty() ? "" : absl::StrCat(" [", cause, "]"),
          " ", Who(finding)));
    }
  }
  return troubles;
}

TEST(OneCauseOneHeadlineTest, LinkCarriesTheHealthOfItsOwnDeviceAlone) {
  TestCluster cluster;
  cluster.Set(0, 3, "link {value: DOWN} lldp {value {heard: false}}");
  for (const int index : {3, 5}) {
    cluster.Set(0, index, "net_health {value: NET_HEALTH_RECEIVE_TIMEOUT}");
  }
  const Report report = cluster.MakeReport();
  EXPECT_THAT(Troubles(report),
              ElementsAre("link server0:3", "net-health [link] server0:3",
                          "net-health server0:5"));
  // The skipped one refers to it, too.
  EXPECT_EQ(ResultOf(report, "lldp").findings(0).caused_by(), "link");
  EXPECT_EQ(ResultOf(report, "net-health").state(), FAIL);
  EXPECT_EQ(report.verdict(), FAIL);
}

TEST(OneCauseOneHeadlineTest, LinkExplainsNoDetectionThatDoesNotRun) {
  TestCluster cluster;
  cluster.Set(0, 3, "link {value: DOWN}");
  cluster.Set(0, 3, "net_health {value: NET_HEALTH_THREAD_ERROR}");
  EXPECT_THAT(Troubles(cluster.MakeReport()),
              ElementsAre("link server0:3", "net-health server0:3"));
  // Nor does a rule that did not run explain anything.
  cluster.Set(0, 3, "net_health {value: NET_HEALTH_UNREACHABLE}");
  JudgeOptions options;
  options.selection.add_skip("link");
  EXPECT_THAT(Troubles(cluster.MakeReport(options)),
              ElementsAre("net-health server0:3"));
}

TEST(OneCauseOneHeadlineTest, ARuleWithoutAFindingThereIsNoCause) {
  TestCluster cluster;
  cluster.Mute(0, 3, Missing::TIMED_OUT, "no answer in 10s");
  EXPECT_EQ(Lines(ResultOf(cluster.MakeReport(), "link")),
            "UNKNOWN server0:3 [hccn-tool] tool-silent what=link\n");
  JudgeOptions options;
  options.selection.add_only("link");
  EXPECT_EQ(Lines(ResultOf(cluster.MakeReport(options), "link")),
            "UNKNOWN server0:3 tool-silent what=link\n");
}

TEST(OneCauseOneHeadlineTest, AWrongNetmaskCarriesItsSubnetFindings) {
  TestCluster cluster("atlas-training", "", 4);
  const std::string address = cluster.spec.servers(0).devices(0).address();
  cluster.SetAddress(0, 0, address, "255.255.0.0");
  const std::vector<std::string> troubles = Troubles(cluster.MakeReport());
  ASSERT_GE(troubles.size(), 5u) << testing::PrintToString(troubles);
  EXPECT_EQ(troubles[0], "device-ip-planned server0:0");
  for (size_t i = 1; i < troubles.size(); ++i) {
    EXPECT_THAT(troubles[i], HasSubstr(" [device-ip-planned] "));
  }
}

TEST(OneCauseOneHeadlineTest, APlanThatIsWrongItselfIsACauseOfItsOwn) {
  TestCluster cluster("atlas-training", "", 2);
  // Devices 1 and 2 are planned, and set, in one subnet; the netmask of device
  // 0 is not the cause.
  for (const auto& [id, address] :
       {std::pair(2, "192.168.101.77"), std::pair(1, "192.168.101.78")}) {
    cluster.PlanAddress(0, id, address, "255.255.255.0");
    cluster.SetAddress(0, id, address, "255.255.255.0");
  }
  const std::string address = cluster.spec.servers(0).devices(0).address();
  cluster.SetAddress(0, 0, address, "255.255.0.0");
  const RuleResult result = cluster.Check("subnet-distinct");
  ASSERT_EQ(result.findings_size(), 1) << Lines(result);
  EXPECT_EQ(result.findings(0).caused_by(), "") << Lines(result);
}

TEST(OneCauseOneHeadlineTest, SaysWhatAPlanFixes) {
  TestCluster cluster("atlas-training", "", 3);
  cluster.SetAddress(0, 0, "192.168.100.250", "255.255.255.0");
  cluster.device(1, 3).mutable_link()->set_value(LinkFact::DOWN);
  const Report report = cluster.MakeReport();
  const Finding& address = ResultOf(report, "device-ip-planned").findings(0);
  EXPECT_TRUE(address.fixed_by_plan());
  EXPECT_EQ(address.command(), address.fix());
  const Finding& link = ResultOf(report, "link").findings(0);
  EXPECT_FALSE(link.fixed_by_plan());
  EXPECT_EQ(link.command(), "hccn_tool -i 3 -link_stat -g");
}

}  // namespace
}  // namespace clusterd
