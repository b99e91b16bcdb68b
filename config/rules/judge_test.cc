#include "config/rules/judge.h"

#include <map>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/hccl/job_ports.h"
#include "config/report/verdict.h"
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

const RuleResult& ResultOf(const Report& report, absl::string_view rule) {
  for (const RuleResult& result : report.rules()) {
    if (result.rule() == rule) return result;
  }
  ADD_FAILURE() << "no result of " << rule;
  return RuleResult::default_instance();
}

const JudgeOptions kOneHost = {{}, /*one_host=*/true};

RuleSelection Only(const std::vector<std::string>& rules) {
  RuleSelection selection;
  for (const std::string& rule : rules) selection.add_only(rule);
  return selection;
}

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
  cluster.device(3, 2).mutable_link()->set_value(LinkFact::DOWN);
  cluster.device(1, 2).mutable_link()->set_value(LinkFact::DOWN);
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

// The facts of one device are missing.
TEST(JudgeTest, IsUnknownWhereAFactIsMissing) {
  TestCluster cluster;
  cluster.device(0, 3).clear_address();
  cluster.device(0, 3).clear_mtu();
  cluster.device(0, 3).clear_net_health();
  for (const char* rule : {"netmask-uniform", "mtu-uniform", "net-health"}) {
    EXPECT_EQ(cluster.Check(rule).state(), UNKNOWN) << rule;
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
  cluster.device(0, 3).mutable_link()->set_value(LinkFact::DOWN);
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
  cluster.device(0, 3).mutable_link()->set_value(LinkFact::DOWN);
  JudgeOptions options;
  options.selection.add_downgrade("link");
  const Report report = cluster.MakeReport(options);
  const RuleResult& result = ResultOf(report, "link");
  EXPECT_EQ(result.state(), WARN);
  EXPECT_EQ(result.findings(0).state(), WARN);
  EXPECT_TRUE(result.findings(0).downgraded());
  EXPECT_EQ(report.verdict(), WARN);
  // A waiver covers what it is then.
  AddWaiver("link", {}, &cluster);
  const Report waived = cluster.MakeReport(options);
  const Finding& finding = ResultOf(waived, "link").findings(0);
  EXPECT_TRUE(finding.downgraded());
  EXPECT_EQ(finding.waiver().waived_from(), WARN);
  // An unknown result stays unknown.
  cluster.spec.clear_waivers();
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
  cluster.ForEachDevice([](DeviceFacts& device) {
    device.mutable_link()->set_value(LinkFact::DOWN);
    device.mutable_lldp()->mutable_value()->Clear();
  });
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
  const auto state = [&](const std::string& rule) {
    return cluster.Check(rule).state();
  };
  for (DeviceFacts& device : *cluster.facts[1].mutable_devices()) {
    device.mutable_recovery()->set_value(RecoveryFact::FAIL);
  }
  EXPECT_EQ(state("hccn-conf"), FAIL);
  cluster.spec.set_roce_unused(true);
  EXPECT_EQ(state("hccn-conf"), PASS);
  for (HostFacts& host : cluster.facts) {
    SetMissing(Missing::ABSENT, "/etc/hccn.conf", host.mutable_hccn_conf());
  }
  cluster.ForEachDevice([](DeviceFacts& device) {
    SetMissing(Missing::NOT_QUERIED, "not known", device.mutable_tls());
  });
  for (const char* rule : {"hccn-conf", "tls-uniform"}) {
    const RuleResult result = cluster.Check(rule);
    EXPECT_EQ(result.state(), SKIPPED) << rule;
    EXPECT_THAT(result.skip_reason(),
                HasSubstr("/etc/hccn.conf does not exist, and "));
  }
  // A value that the spec demands and that was not read is still unknown.
  cluster.spec.set_tls(true);
  EXPECT_EQ(state("tls-uniform"), UNKNOWN);
  cluster.spec.set_roce_unused(false);
  EXPECT_EQ(state("hccn-conf"), FAIL);
}

TEST(MakeObserveRequestTest, AsksForEveryPortOfAJob) {
  ClusterSpec spec = MakeSpec("atlas-training", "", 1);
  spec.set_rendezvous_port(29500);
  spec.set_ssh_port(2222);
  const auto ports = [&spec] {
    std::vector<std::string> ranges;
    const ObserveRequest request = MakeObserveRequest(spec);
    for (const auto& range : request.socket_ports()) {
      ranges.push_back(absl::StrCat(range.first(), "-", range.last()));
    }
    return ranges;
  };
  EXPECT_THAT(ports(), ElementsAre("2222-2222", "29500-29500", "60000-60031"));
  const ObserveRequest request = MakeObserveRequest(spec);
  EXPECT_EQ(request.command_ms(), 10000u);
  EXPECT_EQ(request.host_ms(), 30000u);
  EXPECT_TRUE(request.ask_tls());
  EXPECT_EQ(request.generation(), NpuToolFacts::CLASSIC);
  // Ray's, which cluster.yaml or the job names.
  ObserveRequest::PortRange* const ray = spec.add_ports();
  ray->set_first(6379);
  ray->set_last(6389);
  EXPECT_THAT(ports(), ElementsAre("2222-2222", "6379-6389", "29500-29500",
                                   "60000-60031"));
  // A job without a port could take any from this one on.
  const JobSpec job;
  ClusterSpec portless = MakeSpec("atlas-training", "", 1);
  const auto first = [&portless](const JobSpec* of_job) {
    return MakeObserveRequest(portless, NetworkNamespace(), of_job)
        .socket_ports(0)
        .first();
  };
  EXPECT_EQ(first(&job), kFirstMasterPort);
  EXPECT_EQ(first(nullptr), 60000u);
  portless.set_rendezvous_port(29400);
  EXPECT_EQ(first(&job), 29400u);
}

// Each peer costs every host a reverse look-up.
TEST(MakeObserveRequestTest, AsksForTheNamesOfAFewPeers) {
  const auto peers_of = [](int servers, bool with_addresses) {
    ClusterSpec spec = MakeSpec("atlas-a2", "", servers);
    for (int i = 0; i < servers; ++i) {
      spec.mutable_servers(i)->set_address(
          with_addresses ? absl::StrCat("10.0.", i / 256, ".", i % 256) : "");
    }
    const auto peers = MakeObserveRequest(spec).peers();
    return std::vector<std::string>(peers.begin(), peers.end());
  };
  EXPECT_THAT(peers_of(1, true), ElementsAre("10.0.0.0"));
  EXPECT_THAT(peers_of(2, true), ElementsAre("10.0.0.0", "10.0.0.1"));
  EXPECT_THAT(peers_of(5, true),
              ElementsAre("10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.4"));
  EXPECT_THAT(peers_of(512, true),
              ElementsAre("10.0.0.0", "10.0.0.170", "10.0.1.84", "10.0.1.255"));
  EXPECT_THAT(peers_of(5, false), IsEmpty());
}

TEST(MakeObserveRequestTest, SkipsQueriesThatNoSelectedRuleNeeds) {
  ClusterSpec spec = MakeSpec("atlas-training", "", 1);
  const auto skipped = [&spec](const RuleSelection* selection) {
    const ObserveRequest request =
        MakeObserveRequest(spec, NetworkNamespace(), nullptr, selection);
    return std::vector<std::string>(request.skip_queries().begin(),
                                    request.skip_queries().end());
  };
  RuleSelection selection;
  EXPECT_THAT(skipped(nullptr), IsEmpty());
  EXPECT_THAT(skipped(&selection), IsEmpty());
  spec.set_roce_unused(true);
  EXPECT_THAT(skipped(&selection), ElementsAre("-optical", "-link_stat",
                                               "-stat", "-prio_tc", "-speed"));
  // A plan needs every setting.
  EXPECT_THAT(skipped(nullptr), IsEmpty());
  spec.set_roce_unused(false);
  selection.add_only("optics");
  selection.add_only("tls-uniform");
  EXPECT_THAT(skipped(&selection),
              ElementsAre("-link_stat", "-stat", "-prio_tc", "-pfc", "-udp",
                          "-dscp_to_tc", "-cfg", "-speed", "-vnic"));
}

// A rule that reads an answer must name its query, or its finding would be
// unknown when it alone is selected.
TEST(MakeObserveRequestTest, AsksWhatEachRuleNeedsByItself) {
  for (const Rule& rule : RuleCatalogue()) {
    JudgeOptions options{Only({std::string(rule.name)})};
    TestCluster cluster("atlas-a2");
    const ObserveRequest request = MakeObserveRequest(
        cluster.spec, NetworkNamespace(), nullptr, &options.selection);
    std::set<std::string> skipped(request.skip_queries().begin(),
                                  request.skip_queries().end());
    const auto forget = [&skipped](const char* query, auto* fact) {
      if (skipped.count(query) == 0) return;
      SetMissing(Missing::NOT_QUERIED, "no rule needs it", fact);
    };
    cluster.ForEachDevice([&forget](DeviceFacts& device) {
      forget("-optical", device.mutable_optical());
      forget("-link_stat", device.mutable_link_history());
      forget("-stat", device.mutable_counter_rises());
      forget("-prio_tc", device.mutable_priority_to_tc());
      forget("-pfc", device.mutable_pfc());
      forget("-udp", device.mutable_roce_port());
      forget("-dscp_to_tc", device.mutable_dscp_to_tc());
      forget("-tls", device.mutable_tls());
      forget("-cfg", device.mutable_recovery());
      forget("-speed", device.mutable_speed_mbps());
      forget("-vnic", device.mutable_vnic());
    });
    const Report whole = TestCluster("atlas-a2").MakeReport(options);
    EXPECT_EQ(ResultOf(cluster.MakeReport(options), rule.name).state(),
              ResultOf(whole, rule.name).state())
        << rule.name;
  }
}

TEST(MakeObserveRequestTest, FollowsTheTargetAndTheProduct) {
  const auto request = [](const char* product) {
    return MakeObserveRequest(MakeSpec(product, "", 1));
  };
  EXPECT_TRUE(request("atlas-a3-superpod").ask_vnic());
  EXPECT_FALSE(request("atlas-a3").ask_vnic());
  EXPECT_EQ(request("ascend-950").generation(), NpuToolFacts::ASCEND_950);
  EXPECT_EQ(request("atlas-a2").generation(), NpuToolFacts::CLASSIC);
  // The request of a learning controller: the tool itself reports it.
  EXPECT_EQ(MakeObserveRequest(ClusterSpec()).generation(),
            NpuToolFacts::GENERATION_UNSPECIFIED);
  EXPECT_FALSE(request("atlas-a2").has_network_namespace());
  NetworkNamespace target;
  target.set_container("train-1");
  EXPECT_EQ(MakeObserveRequest(MakeSpec("atlas-a2", "", 1), target)
                .network_namespace()
                .container(),
            "train-1");
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
  EXPECT_EQ(ran, (std::vector<std::string>{"ports-reserved", "ports-free",
                                           "listen-backlog", "syn-backlog",
                                           "host-identity"}));
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
  cluster.Set(
      0, 3,
      R"(link {value: DOWN} net_health {value: NET_HEALTH_THREAD_ERROR})");
  EXPECT_THAT(Troubles(cluster.MakeReport()),
              ElementsAre("link server0:3", "net-health server0:3"));
  // Nor does a rule that did not run explain anything.
  cluster.device(0, 3).mutable_net_health()->set_value(NET_HEALTH_UNREACHABLE);
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
  for (int host : {0, 1}) cluster.Silence(host);
  EXPECT_EQ(cluster.MakeReport().verdict(), UNKNOWN);
  TestCluster answers("atlas-a2");
  answers.StartJob().add_dtypes("fp16");
  EXPECT_EQ(answers.MakeReport({Only({"job-dtype"})}).verdict(), UNKNOWN);
}

// A daemon does so while it has no controller.
TEST(JudgeJobTest, JudgesAHostAloneByWhatItKnows) {
  TestCluster cluster("atlas-training");
  JobSpec& job = cluster.StartJob();
  job.add_dtypes("bfp16");
  job.set_rank_table("none");
  for (JobServer& server : *job.mutable_servers()) {
    MergeText(
        R"(master_port: 29500 world_size: 16 device_count: 2 node_rank: 0)",
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
  for (const auto& [rule, state] :
       std::map<std::string, State>{{"job-device-count", PASS},
                                    {"job-size", PASS},
                                    {"job-device-group", SKIPPED},
                                    {"job-uniform", SKIPPED},
                                    {"rendezvous", SKIPPED},
                                    {"rank-table", SKIPPED},
                                    {"ranks", FAIL},
                                    {"job-dtype", FAIL},
                                    {"device-idle", PASS},
                                    {"ports-free", PASS}}) {
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
  ClusterSpec rails = MakeSpec("atlas-a2", "", 2);
  ClusterSpec apart = MakeSpec("atlas-300t", "", 2);
  for (int host = 0; host < 2; ++host) {
    for (DeviceSpec& device : *rails.mutable_servers(host)->mutable_devices()) {
      device.set_address(absl::StrCat("10.2.", device.id(), ".", host + 1));
      device.clear_gateway();
    }
    for (DeviceSpec& device : *apart.mutable_servers(host)->mutable_devices()) {
      device.set_address(absl::StrCat("10.3.", host, ".", device.id() + 1));
      device.clear_gateway();
    }
  }
  const std::vector<Finding> found = JudgePlannedAddresses(rails);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule(), "subnet-shared");
  EXPECT_EQ(found[0].state(), WARN);
  // It is not known whether the devices keep a gateway of their own.
  const std::vector<Finding> unknown = JudgePlannedAddresses(apart);
  ASSERT_FALSE(unknown.empty());
  EXPECT_EQ(unknown[0].rule(), "subnet-shared");
  EXPECT_EQ(unknown[0].state(), UNKNOWN);
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
