// What the judge's rules need to be asked of hosts: MakeObserveRequest.
#include <set>

#include "absl/strings/str_cat.h"
#include "config/hccl/job_ports.h"
#include "config/rules/catalogue.h"
#include "config/rules/judge.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::IsEmpty;

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

}  // namespace
}  // namespace clusterd
