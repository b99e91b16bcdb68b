#include "config/rules/judge.h"

#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/rules/catalogue.h"
#include "config/values/version.h"
#include "config/words/message.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "tests/support/config/judge_testing.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr, ::testing::IsEmpty,
    ::testing::Not;

const JudgeOptions kOneHost = {{}, /*one_host=*/true};

TEST(JudgeTest, AnswersForEveryRuleInCatalogueOrder) {
  const Report report = TestCluster().MakeReport();
  ASSERT_EQ(report.rules_size(), static_cast<int>(RuleCatalogue().size()));
  for (int i = 0; i < report.rules_size(); ++i) {
    EXPECT_EQ(report.rules(i).rule(), RuleCatalogue()[i].name);
    EXPECT_EQ(report.rules(i).category(), RuleCatalogue()[i].category);
    EXPECT_NE(report.rules(i).state(), STATE_UNSPECIFIED);
  }
}

TEST(JudgeTest, TellsTheSameWhateverOrderHostsComeIn) {
  TestCluster cluster("atlas-training", "", 4);
  cluster.Set(3, 2, "link {value: DOWN}").Set(1, 2, "link {value: DOWN}");
  cluster.SetAddress(2, 2, "192.168.99.1", "255.255.255.0");
  const Report in_order = cluster.MakeReport();
  std::swap(cluster.facts[0], cluster.facts[3]);
  std::swap(cluster.facts[1], cluster.facts[2]);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(
      in_order, cluster.MakeReport()));
}

TEST(JudgeTest, LetsASilentHostCostOneUnknown) {
  TestCluster cluster("atlas-training", "", 3);
  cluster.Silence(1);
  const Report report = cluster.MakeReport();
  for (const RuleResult& result : report.rules()) {
    if (result.rule() == "host-identity") {
      EXPECT_EQ(result.state(), UNKNOWN);
    } else {
      EXPECT_THAT(result.state(), testing::AnyOf(PASS, SKIPPED, WARN))
          << result.rule();
      EXPECT_THAT(Lines(result), Not(HasSubstr("server1"))) << result.rule();
    }
  }
  EXPECT_EQ(JudgedCount(ResultOf(report, "link")), 16);
}

TEST(JudgeTest, IsUnknownWhereAFactOfOneDeviceIsMissing) {
  TestCluster cluster;
  cluster.device(0, 3).clear_address();
  cluster.device(0, 3).clear_mtu();
  cluster.device(0, 3).clear_net_health();
  for (const char* rule : {"netmask-uniform", "mtu-uniform", "net-health"}) {
    EXPECT_EQ(cluster.StateOf(rule), UNKNOWN) << rule;
  }
}

TEST(JudgeTest, PassesNothingAboutHostsThatAreAllSilent) {
  TestCluster cluster;
  cluster.Silence(0);
  cluster.Silence(1);
  const Report report = cluster.MakeReport();
  for (const RuleResult& result : report.rules()) {
    if (absl::string_view(result.rule()).substr(0, 12) == "cluster-size") {
      continue;
    }
    EXPECT_NE(result.state(), PASS) << result.rule();
    if (result.state() != SKIPPED) continue;
    EXPECT_FALSE(result.skip_reason().empty()) << result.rule();
  }
  EXPECT_EQ(ResultOf(report, "link").skip_words().words(), "no-host-answered");
  EXPECT_EQ(report.verdict(), UNKNOWN);
}

TEST(JudgeTest, SkipsWhatOneHostCannotTell) {
  TestCluster cluster("atlas-training", "", 1);
  const Report report = cluster.MakeReport(kOneHost);
  for (const RuleResult& result : report.rules()) {
    // It is for another product.
    if (result.rule() == "subnet-superpod") continue;
    const Rule& rule = *FindRule(result.rule());
    EXPECT_EQ(result.state() == SKIPPED,
              rule.needs_job || !rule.JudgesOneHost())
        << result.rule();
  }
  EXPECT_EQ(ResultOf(report, "ip-unique").skip_words().words(),
            "rule-needs-all-hosts");
  EXPECT_EQ(report.verdict(), PASS);
}

TEST(JudgeTest, JudgesAHostWithoutAnySpec) {
  TestCluster cluster("atlas-training", "", 1);
  cluster.spec = ClusterSpec();
  cluster.device(0, 3).mutable_link()->set_value(LinkFact::DOWN);
  const Report report = cluster.MakeReport(kOneHost);
  EXPECT_EQ(ResultOf(report, "link").state(), FAIL);
  EXPECT_EQ(ResultOf(report, "ports-reserved").state(), PASS);
  EXPECT_EQ(ResultOf(report, "device-ip-planned").state(), SKIPPED);
  EXPECT_EQ(ResultOf(report, "device-count").state(), SKIPPED);
}

TEST(JudgeTest, GivesEveryFindingAllThatARepairNeeds) {
  TestCluster cluster("atlas-training", "", 3);
  cluster.facts[0] = FromText<HostFacts>("host: 'server0'");
  cluster.Silence(1);
  for (int i = 0; i < 8; ++i) {
    cluster.Set(2, i, R"(link {value: DOWN} gateway {value: '1.2.3.4'}
                         detect_address {value: '0.0.0.0'})");
  }
  int findings = 0;
  const Report report = cluster.MakeReport();
  for (const RuleResult& result : report.rules()) {
    for (const Finding& finding : result.findings()) {
      ++findings;
      EXPECT_EQ(finding.rule(), result.rule());
      EXPECT_GT(finding.subjects_size(), 0) << finding.ShortDebugString();
      EXPECT_FALSE(finding.observed().empty()) << finding.rule();
      EXPECT_FALSE(finding.expected().empty()) << finding.rule();
      EXPECT_FALSE(finding.fix().empty()) << finding.rule();
    }
    if (result.findings().empty()) continue;
    EXPECT_EQ(result.why(), FindRule(result.rule())->english.why);
    EXPECT_EQ(result.source(), FindRule(result.rule())->english.source);
  }
  EXPECT_GT(findings, 30);
}

TEST(JudgeSelectionTest, SkipsWhatItIsAskedToSkip) {
  TestCluster cluster;
  cluster.Set(0, 3, "link {value: DOWN}");
  JudgeOptions options;
  options.selection.add_skip("link");
  const Report report = cluster.MakeReport(options);
  EXPECT_EQ(ResultOf(report, "link").state(), SKIPPED);
  EXPECT_EQ(ResultOf(report, "link").skip_words().words(), "rule-skipped");
  EXPECT_EQ(report.verdict(), PASS);
}

TEST(JudgeSelectionTest, RunsOnlyWhatItIsAskedFor) {
  TestCluster cluster;
  JudgeOptions options{Only({"link", "lldp"})};
  const Report report = cluster.MakeReport(options);
  EXPECT_EQ(report.rule_counts().pass(), 2u);
  EXPECT_EQ(report.rule_counts().skipped(), RuleCatalogue().size() - 2);
  for (const RuleResult& result : report.rules()) {
    EXPECT_EQ(result.not_run(), result.state() == SKIPPED) << result.rule();
    if (!result.not_run()) continue;
    EXPECT_EQ(result.skip_words().words(), "rule-not-asked");
  }
  // Skip wins over only.
  options.selection.add_skip("lldp");
  const Report skipped = cluster.MakeReport(options);
  EXPECT_EQ(ResultOf(skipped, "lldp").state(), SKIPPED);
  EXPECT_EQ(ResultOf(skipped, "link").state(), PASS);
}

TEST(JudgeSelectionTest, TurnsFailuresIntoWarningsThatSaySo) {
  TestCluster cluster;
  cluster.Set(0, 3, "link {value: DOWN}");
  JudgeOptions options;
  options.selection.add_downgrade("link");
  const Report report = cluster.MakeReport(options);
  const RuleResult& result = ResultOf(report, "link");
  EXPECT_EQ(result.state(), WARN);
  EXPECT_EQ(result.findings(0).state(), WARN);
  EXPECT_TRUE(result.findings(0).downgraded());
  EXPECT_EQ(report.verdict(), WARN);
  // An unknown result stays unknown.
  cluster.device(1, 3).clear_link();
  EXPECT_EQ(ResultOf(cluster.MakeReport(options), "link").state(), UNKNOWN);
}

TEST(ValidateSelectionTest, AcceptsRulesOfTheCatalogue) {
  EXPECT_TRUE(ValidateSelection(RuleSelection()).ok());
  RuleSelection selection = Only({"link"});
  EXPECT_TRUE(ValidateSelection(selection).ok());
  // Nothing would be checked.
  selection.add_skip("link");
  EXPECT_EQ(ValidateSelection(selection).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ValidateSelectionTest, NamesEveryMistakeWithTheNearestRule) {
  RuleSelection selection = Only({"port-reserved"});
  selection.add_skip("weather");
  selection.add_downgrade("lnk");
  const auto unknown = [](const char* rule, const FindingValue& next) {
    return Worded("msg-rule-not-known", rule, next);
  };
  EXPECT_EQ(ValidateSelection(selection),
            WithWords(absl::NotFoundError(""),
                      Lines({unknown("port-reserved",
                                     Worded("did-you-mean", "ports-reserved")),
                             unknown("weather", Worded("spec-see-explain")),
                             unknown("lnk", Worded("did-you-mean", "link"))})));
}

TEST(BuildReportTest, TellsWhatItIsAbout) {
  TestCluster cluster;
  cluster.spec.set_digest("abc");
  const Report report = cluster.MakeReport();
  EXPECT_EQ(report.schema_version(), kReportSchemaVersion);
  EXPECT_EQ(report.cluster(), "test");
  EXPECT_EQ(report.product(), "atlas-training");
  EXPECT_EQ(report.spec_digest(), "abc");
  EXPECT_EQ(report.verdict(), PASS);
  EXPECT_THAT(report.notes(),
              ElementsAre(Say("hosts-simulated", Counted(2, "host"),
                              Term("in memory"))));
}

TEST(BuildReportTest, GivesEveryHostItsWorstState) {
  TestCluster cluster("atlas-training", "", 4);
  cluster.device(1, 3).mutable_link()->set_value(LinkFact::DOWN);
  cluster.device(1, 3).clear_lldp();
  cluster.Silence(2);
  cluster.device(3, 3).mutable_mtu()->set_value(9000);
  const Report report = cluster.MakeReport();
  ASSERT_EQ(report.hosts_size(), 4);
  EXPECT_EQ(report.hosts(0).state(), PASS);
  EXPECT_EQ(report.hosts(1).state(), FAIL);
  EXPECT_EQ(report.hosts(2).host(), "server2");
  EXPECT_EQ(report.hosts(2).state(), UNKNOWN);
  EXPECT_EQ(report.hosts(2).no_facts().values(0).words(), "why-no-answer");
  EXPECT_EQ(report.hosts(3).state(), WARN);
  EXPECT_EQ(report.hosts(0).elapsed_ms(), 1u);
}

TEST(BuildReportTest, CountsRulesByState) {
  TestCluster cluster;
  cluster.device(0, 3).mutable_link()->set_value(LinkFact::DOWN);
  cluster.device(0, 4).clear_mtu();
  const Counts counts = cluster.MakeReport().rule_counts();
  EXPECT_EQ(counts.fail(), 1u);
  EXPECT_EQ(counts.unknown(), 1u);
  // For another product: subnet-shared and subnet-superpod. In the spec:
  // backlog-uniform, ports-uniform. For a job: those, with job-super-pod.
  const auto of_jobs = static_cast<size_t>(absl::c_count_if(
      RuleCatalogue(), [](const Rule& rule) { return rule.needs_job; }));
  EXPECT_EQ(counts.skipped(), 5 + of_jobs);
  EXPECT_EQ(counts.pass() + 7 + of_jobs, RuleCatalogue().size());
}

TEST(BuildReportTest, HasNoCompleteVerdictWithoutAHostWhateverRulesRun) {
  TestCluster cluster;
  cluster.Silence(1);
  JudgeOptions options;
  options.selection.add_skip("host-identity");
  const Report report = cluster.MakeReport(options);
  EXPECT_EQ(report.verdict(), UNKNOWN);
  EXPECT_THAT(report.notes(),
              testing::Contains(Say("no-facts-from", 1, Counted(2, "host"))));
  EXPECT_EQ(cluster.MakeReport().verdict(), UNKNOWN);
  // A failure goes before an unknown.
  cluster.device(0, 3).mutable_link()->set_value(LinkFact::DOWN);
  EXPECT_EQ(cluster.MakeReport().verdict(), FAIL);
}

TEST(BuildReportTest, DoesNotPassWhenNoHostWasJudged) {
  TestCluster cluster;
  EXPECT_EQ(cluster.MakeReport({Only({"cluster-size"})}).verdict(), UNKNOWN);
  EXPECT_EQ(cluster.MakeReport({Only({"subnet-shared"})}).verdict(), UNKNOWN);
  cluster.facts.clear();
  cluster.spec.set_product("atlas-9999");
  const Report report = cluster.MakeReport();
  EXPECT_EQ(report.verdict(), UNKNOWN);
  EXPECT_EQ(report.hosts_size(), 0);
  EXPECT_THAT(report.notes(),
              testing::Contains(Say("product-not-known", "\"atlas-9999\"")));
}

// A super pod that uses only HCCS: its RoCE ports have no address, no link and
// no neighbour.
TEST(BuildReportTest, SkipsRulesAboutRocePortsThatTheSpecSaysAreUnused) {
  TestCluster cluster("atlas-a3-superpod");
  for (const int host : {0, 1}) {
    cluster.MakeNew(host);
    cluster.facts[host].mutable_hccn_conf()->mutable_value()->clear_entries();
  }
  cluster.ForEachDevice(
      [](DeviceFacts& device) { device.mutable_lldp()->clear_value(); });
  cluster.SetDevices("link {value: DOWN} lldp {value {}}");
  EXPECT_EQ(cluster.MakeReport().verdict(), FAIL);
  cluster.spec.set_roce_unused(true);
  for (ServerSpec& server : *cluster.spec.mutable_servers()) {
    for (DeviceSpec& device : *server.mutable_devices()) {
      const uint32_t id = device.id();
      device.Clear();
      device.set_id(id);
    }
  }
  const Report report = cluster.MakeReport();
  std::set<std::string> skipped;
  for (const RuleResult& result : report.rules()) {
    EXPECT_NE(result.state(), FAIL) << result.rule();
    EXPECT_NE(result.state(), UNKNOWN) << result.rule();
    if (result.skip_words().words() != "roce-unused") continue;
    EXPECT_EQ(result.state(), SKIPPED);
    EXPECT_FALSE(result.not_run());
    skipped.insert(result.rule());
  }
  for (const char* rule :
       {"device-ip-set", "device-ip-planned", "device-ip-persistent", "gateway",
        "detect-address", "link", "net-health", "lldp", "mtu-uniform",
        "subnet-shared", "netmask-uniform"}) {
    EXPECT_EQ(skipped.count(rule), 1u) << rule;
  }
  EXPECT_EQ(skipped.count("tls-uniform"), 0u);
  EXPECT_TRUE(JudgePlannedAddresses(cluster.spec).empty());
}

// These hosts' devices were never set, and recovery finds nothing to set.
TEST(BuildReportTest, HostsWithoutHccnConfPassWhereRoceIsUnused) {
  TestCluster cluster("atlas-a3-superpod");
  for (int i = 0; i < cluster.facts[1].devices_size(); ++i) {
    cluster.Set(1, i, "recovery {value: FAIL}");
  }
  EXPECT_EQ(cluster.StateOf("hccn-conf"), FAIL);
  EXPECT_EQ(cluster.SetSpec("roce_unused: true").StateOf("hccn-conf"), PASS);
  cluster.SetHosts(
      "hccn_conf {missing {reason: ABSENT detail: '/etc/hccn.conf'}}");
  cluster.SetDevices("tls {missing {reason: NOT_QUERIED detail: 'not known'}}");
  for (const char* rule : {"hccn-conf", "tls-uniform"}) {
    const RuleResult result = cluster.Check(rule);
    EXPECT_EQ(result.state(), SKIPPED) << rule;
    EXPECT_THAT(result.skip_reason(),
                HasSubstr("/etc/hccn.conf does not exist, and "));
  }
  // A value that the spec demands and that was not read is still unknown.
  EXPECT_EQ(cluster.SetSpec("tls: true").StateOf("tls-uniform"), UNKNOWN);
  EXPECT_EQ(cluster.SetSpec("roce_unused: false").StateOf("hccn-conf"), FAIL);
}

Report NamespaceReport(const TestCluster& cluster) {
  JudgeOptions options;
  options.network_namespace = "container:train-1";
  return cluster.MakeReport(options);
}

// The facts of a healthy container on each host.
TestCluster ContainerCluster() {
  TestCluster cluster;
  for (HostFacts& host : cluster.facts) {
    HostFacts inside;
    inside.set_host(host.host());
    inside.set_network_namespace("container:train-1");
    *inside.mutable_kernel() = host.kernel();
    inside.mutable_kernel()->mutable_initial_namespace()->set_value(false);
    *inside.mutable_sockets() = host.sockets();
    host = inside;
  }
  return cluster;
}

TEST(JudgeInNamespaceTest, RunsOnlyWhatANamespaceCanBeJudgedBy) {
  const Report report = NamespaceReport(ContainerCluster());
  EXPECT_EQ(report.verdict(), PASS);
  EXPECT_EQ(report.network_namespace(), "container:train-1");
  EXPECT_TRUE(report.notes().empty()) << report.notes(0);
  std::vector<std::string> ran;
  for (const RuleResult& result : report.rules()) {
    if (result.state() != SKIPPED) {
      ran.push_back(result.rule());
    } else if (!FindRule(result.rule())->needs_job) {
      EXPECT_EQ(result.skip_reason(), Say("rule-not-of-namespace"));
    }
  }
  EXPECT_THAT(ran, ElementsAre("ports-reserved", "ports-free", "listen-backlog",
                               "syn-backlog", "host-identity"));
}

TEST(JudgeInNamespaceTest, NeverPassesAHostByItsOwnFacts) {
  TestCluster cluster = ContainerCluster();
  cluster.Set(1, "kernel {initial_namespace {value: true}}");
  // The container shares the host's network.
  EXPECT_THAT(NamespaceReport(cluster).notes(),
              ElementsAre(Say("shared-container", "train-1", "server1")));
  cluster.facts[1].clear_network_namespace();
  const Report report = NamespaceReport(cluster);
  EXPECT_EQ(report.verdict(), UNKNOWN);
  EXPECT_EQ(report.hosts(1).state(), UNKNOWN);
  EXPECT_THAT(report.hosts(1).no_facts_reason(),
              HasSubstr("the host's own facts"));
  EXPECT_EQ(TestCluster().MakeReport({}).network_namespace(), "");
}

TEST(JudgeInNamespaceTest, IsUnknownWhereTheContainerIsNot) {
  TestCluster cluster = ContainerCluster();
  HostFacts& gone = cluster.facts[1];
  gone.clear_kernel();
  gone.clear_sockets();
  SetMissing(Missing::ABSENT, "no such container, says docker", &gone);
  const Report report = NamespaceReport(cluster);
  EXPECT_EQ(report.verdict(), UNKNOWN);
  EXPECT_EQ(Lines(ResultOf(report, "host-identity")),
            "UNKNOWN server1 no-namespace namespace=container:train-1, "
            "why=does not exist: no such container, says docker, "
            "how-to-learn=" +
                Say("learn-absent") + "\n");
}

TEST(JudgeJobTest, SaysWhichJobIsJudgedAndHowLargeItIs) {
  TestCluster cluster("atlas-a2", "", 4);
  EXPECT_EQ(cluster.MakeReport().job_servers(), 0);
  cluster.StartJob().set_id("slurm:7.0\n");
  const Report report = cluster.MakeReport();
  EXPECT_EQ(report.job_id(), "slurm:7.0\\n");
  EXPECT_EQ(report.job_servers(), 4);
  EXPECT_EQ(report.job_devices(), 32);
  EXPECT_EQ(report.verdict(), PASS);
}

// A rule about only the job judges no host.
TEST(JudgeJobTest, IsNotKnownWithoutTheHosts) {
  TestCluster cluster("atlas-a2");
  cluster.StartJob().add_dtypes("fp16");
  EXPECT_EQ(cluster.MakeReport({Only({"job-dtype"})}).verdict(), UNKNOWN);
  for (int host : {0, 1}) cluster.Silence(host);
  EXPECT_EQ(cluster.MakeReport().verdict(), UNKNOWN);
}

// A daemon does so while it has no controller.
TEST(JudgeJobTest, JudgesAHostAloneByWhatItKnows) {
  TestCluster cluster("atlas-training");
  JobSpec& job = cluster.StartJob();
  job.add_dtypes("bfp16");
  job.set_rank_table("none");
  for (JobServer& server : *job.mutable_servers()) {
    MergeText("master_port: 29500 world_size: 16 device_count: 2 node_rank: 0",
              &server);
  }
  // The second server has devices of both groups, which two servers may have.
  cluster.spec.mutable_servers()->DeleteSubrange(0, 1);
  cluster.facts.erase(cluster.facts.begin());
  ServerSpec* own = cluster.spec.mutable_servers(0);
  own->mutable_devices()->DeleteSubrange(5, 3);
  own->mutable_devices()->DeleteSubrange(0, 3);
  const Report report = cluster.MakeReport(kOneHost);
  EXPECT_EQ(report.job_servers(), 2);
  EXPECT_EQ(report.job_devices(), 4);
  const std::pair<const char*, State> kStates[] = {
      {"job-device-count", PASS},
      {"job-size", PASS},
      {"job-device-group", SKIPPED},
      {"job-uniform", SKIPPED},
      {"rendezvous", SKIPPED},
      {"rank-table", SKIPPED},
      {"ranks", FAIL},
      {"job-dtype", FAIL},
      {"device-idle", PASS},
      {"ports-free", PASS}};
  for (const auto& [rule, state] : kStates) {
    EXPECT_EQ(ResultOf(report, rule).state(), state) << rule;
  }
  EXPECT_EQ(ResultOf(report, "ranks").findings_size(), 1);
}

TEST(JudgePlannedAddressesTest, FindsWhatACheckOfSuchHostsWouldFind) {
  for (const char* product :
       {"atlas-training", "atlas-a2", "atlas-a3", "ascend-950"}) {
    TestCluster good(product);
    EXPECT_TRUE(JudgePlannedAddresses(good.spec).empty()) << product;
  }
  TestCluster cluster("atlas-training", "", 3);
  cluster.PlanAddress(1, 3, "10.9.9.9", "255.255.255.0");
  cluster.SetAddress(1, 3, "10.9.9.9", "255.255.255.0");
  const std::vector<Finding> planned = JudgePlannedAddresses(cluster.spec);
  ASSERT_EQ(planned.size(), 2u);
  for (const Finding& finding : planned) {
    const RuleResult live = cluster.Check(finding.rule());
    ASSERT_EQ(live.findings_size(), 1) << finding.rule();
    EXPECT_EQ(finding.state(), FAIL);
    EXPECT_EQ(Who(finding), Who(live.findings(0)));
    EXPECT_EQ(finding.observed(), live.findings(0).observed());
  }
}

TEST(JudgePlannedAddressesTest, WarnsOfPlannedRailsAndOfServersApart) {
  // A subnet for each device, or for each server, and no gateway.
  const auto judge = [](const char* product, bool is_rails) {
    ClusterSpec spec = MakeSpec(product, "", 2);
    for (int host = 0; host < 2; ++host) {
      for (DeviceSpec& device :
           *spec.mutable_servers(host)->mutable_devices()) {
        const int id = device.id();
        device.set_address(is_rails ? absl::StrCat("10.2.", id, ".", host + 1)
                                    : absl::StrCat("10.3.", host, ".", id + 1));
        device.clear_gateway();
      }
    }
    return JudgePlannedAddresses(spec);
  };
  const std::vector<Finding> found = judge("atlas-a2", true);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule(), "subnet-shared");
  EXPECT_EQ(found[0].state(), WARN);
  // It is not known whether the devices keep a gateway of their own.
  const std::vector<Finding> unknown = judge("atlas-300t", false);
  ASSERT_FALSE(unknown.empty());
  EXPECT_EQ(unknown[0].rule(), "subnet-shared");
  EXPECT_EQ(unknown[0].state(), UNKNOWN);
}

}  // namespace
}  // namespace clusterd
