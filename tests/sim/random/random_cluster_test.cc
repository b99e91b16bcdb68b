#include "tests/sim/random/random_cluster.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/rules/catalogue.h"
#include "config/rules/judge.h"
#include "config/spec/schedule_spec.h"
#include "config/spec/spec_loader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/sim/fault.h"

namespace clusterd {
namespace {

// Values of faults of a simulated server that no kind of fault stands for.
const std::map<std::string, std::string>& NoFaultOfFacts() {
  static const auto* const values = new std::map<std::string, std::string>{
      {"lies=0", "in order"},
      {"lies=1", "only a change finds out"},
      {"delay=MS", "a slow answer is an answer"},
      {"conf_empty=MS", "a moment during a write of the file"},
      {"busy=N", "asked again until it answers"},
      {"net_health=0-9", "the numbers of the words"},
      {"net_health=Success", "in order"},
      {"link=UP", "in order"},
      {"hang=0", "in order"},
      {"ufw=inactive", "in order"},
      {"health=OK", "in order"},
      {"compatibility=OK", "in order"},
      {"hccs=OK", "in order"},
      {"tls=absent", "the variation tls-absent"},
      {"lldp=/PORT", "at that port of the switch"},
      {"lldp=long", "the variation neighbours-cut"},
      {"compatibility=UNKNOWN", "the variation compatibility-unknown"},
      {"compatibility=NOT SUPPORT", "the variation compatibility-unknown"},
      {"npu_smi=absent", "the variation npu-smi-absent"},
      {"chip=absent", "the kind no-chip-health"},
      {"chip_answer=TEXT", "the kind no-chip-health"},
      {"npu_smi=garbled", "the kind no-chip-health, of every chip"},
      {"npu_smi=refused", "the kind no-chip-health, of every chip"},
      {"driver=absent", "the kind no-driver-version, for another reason"},
      {"firmware=absent", "the kind no-firmware-version, for another reason"},
      {"cann=absent", "the variation cann-in-containers"}};
  return *values;
}

// "none|SWITCH[/PORT]" of the key lldp as "lldp=none", "lldp=SWITCH",
// "lldp=/PORT".
std::vector<std::string> ValuesOf(const sim::FaultKey& key) {
  std::vector<std::string> values;
  for (const absl::string_view value : absl::StrSplit(key.values, '|')) {
    const std::vector<absl::string_view> parts =
        absl::StrSplit(value, absl::ByAnyChar("[]"), absl::SkipEmpty());
    for (const absl::string_view part : parts) {
      values.push_back(absl::StrCat(key.key, "=", part));
    }
  }
  return values;
}

std::string WrongAbout(const RandomCluster& cluster,
                       const RandomOptions& options) {
  const std::vector<std::string> lines = Misjudged(cluster, options);
  if (lines.empty()) return "";
  return Describe(cluster) + "\n  " + absl::StrJoin(lines, "\n  ") +
         "\nagain: judge_random --count 1 --verbose --max-servers " +
         std::to_string(options.max_servers) + " --seed " +
         std::to_string(cluster.seed) + "\n";
}

// Fifty clusters each, so that shards can share them.
class RandomClusterTest : public ::testing::TestWithParam<int> {};

TEST_P(RandomClusterTest, IsJudgedAsItIs) {
  RandomOptions options;
  options.max_servers = 24;
  std::string wrong;
  for (int i = 0; i < 50 && wrong.size() < 4000; ++i) {
    wrong +=
        WrongAbout(MakeRandomCluster(50 * GetParam() + i, options), options);
  }
  EXPECT_EQ(wrong, "");
}

INSTANTIATE_TEST_SUITE_P(Fifties, RandomClusterTest, ::testing::Range(0, 12));

// A waiver of devices covers findings that name devices.
TEST(RandomClusterTest, OnlyRulesThatWaiversOfDevicesTakeNameDevices) {
  const RandomOptions options = {8, 6, {}, {}};
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const RandomCluster cluster = MakeRandomCluster(seed, options);
    JudgeOptions judge;
    if (cluster.job.has_value()) judge.job = &*cluster.job;
    const Report report =
        BuildReport(cluster.spec, Pointers(cluster.facts), judge);
    for (const RuleResult& result : report.rules()) {
      if (ParseWaivedDevices("3", result.rule(), {}).ok()) continue;
      for (const Finding& finding : result.findings()) {
        for (const Subject& subject : finding.subjects()) {
          EXPECT_TRUE(subject.devices().empty()) << finding.ShortDebugString();
        }
      }
    }
  }
}

TEST(RandomClusterTest, IsJudgedAsItIsWhenLarge) {
  RandomOptions options;
  std::string wrong;
  int large = 0;
  for (uint64_t seed = 0; large < 2; ++seed) {
    const RandomCluster cluster = MakeRandomCluster(seed, options);
    if (cluster.facts.size() < 500) continue;
    ++large;
    wrong += WrongAbout(cluster, options);
  }
  EXPECT_EQ(wrong, "");
}

TEST(RandomClusterTest, IsTheSameForTheSameSeed) {
  const RandomOptions options = {8, 6, {}, {}};
  const RandomCluster cluster = MakeRandomCluster(3, options);
  const RandomCluster again = MakeRandomCluster(3, options);
  EXPECT_EQ(Describe(cluster), Describe(again));
  ASSERT_EQ(cluster.facts.size(), again.facts.size());
  for (size_t i = 0; i < cluster.facts.size(); ++i) {
    EXPECT_EQ(cluster.facts[i].SerializeAsString(),
              again.facts[i].SerializeAsString());
  }
}

// A cluster that no file can describe is not valid.
TEST(RandomClusterTest, HasASpecThatAFileCanSay) {
  const RandomOptions options = {24, 6, {}, {}};
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const RandomCluster cluster = MakeRandomCluster(seed, options);
    const std::string yaml = SpecToYaml(cluster.spec);
    const absl::StatusOr<ClusterSpec> loaded = LoadSpec("cluster.yaml", yaml);
    ASSERT_TRUE(loaded.ok()) << Describe(cluster) << "\n" << loaded.status();
    EXPECT_EQ(SpecToYaml(*loaded), yaml) << Describe(cluster);
  }
}

TEST(RandomClusterTest, MeetsEveryVariationAndFaultAndFindsEach) {
  std::set<std::string> missed;
  for (const Variation& each : Variations()) missed.insert(each.name);
  for (const FaultKind& kind : FaultKinds()) missed.insert(kind.name);
  const RandomOptions options = {8, 6, {}, {}};
  std::string wrong;
  // One in some ten thousand has the rarest of them; the loop ends with it.
  for (uint64_t seed = 0; seed < 200000 && !missed.empty(); ++seed) {
    const RandomCluster cluster = MakeRandomCluster(seed, options);
    const size_t before = missed.size();
    for (const std::string& name : cluster.variations) missed.erase(name);
    for (const PlacedFault& fault : cluster.faults) {
      missed.erase(fault.kind->name);
    }
    if (missed.size() < before) wrong += WrongAbout(cluster, options);
  }
  EXPECT_THAT(missed, testing::IsEmpty());
  EXPECT_EQ(wrong, "");
}

TEST(FaultKindsTest, StandForEveryValueOfAFaultThatASimulatedServerKnows) {
  std::set<std::string> stood_for;
  for (const FaultKind& kind : FaultKinds()) {
    const std::vector<std::string> values =
        absl::StrSplit(kind.simulated, ' ', absl::SkipEmpty());
    stood_for.insert(values.begin(), values.end());
  }
  std::set<std::string> known;
  for (const sim::FaultKey& key : sim::FaultKeys()) {
    for (const std::string& value : ValuesOf(key)) {
      known.insert(value);
      EXPECT_NE(stood_for.count(value), NoFaultOfFacts().count(value))
          << value << " is in one of the two lists";
    }
  }
  for (const std::string& value : stood_for) {
    EXPECT_EQ(known.count(value), 1) << value << " is a value of no fault";
  }
  for (const auto& [value, why] : NoFaultOfFacts()) {
    EXPECT_EQ(known.count(value), 1) << value << " is a value of no fault";
  }
}

TEST(FaultKindsTest, HaveEveryRuleOfTheCatalogueToFindOne) {
  // A warning does not need a fault: a variation causes it.
  const std::set<std::string> by_variation = {"maintenance", "netns"};
  std::set<std::string> finders;
  for (const FaultKind& kind : FaultKinds()) {
    finders.insert(kind.rule);
    const State worst = kind.fails != nullptr ? FAIL : kind.state;
    EXPECT_TRUE(worst == UNKNOWN || worst <= FindRule(kind.rule)->level)
        << kind.name << " is worse than " << kind.rule << " ever says";
  }
  for (const Rule& rule : RuleCatalogue()) {
    const std::string name(rule.name);
    EXPECT_NE(finders.count(name), by_variation.count(name)) << name;
  }
}

TEST(MisjudgedTest, TellsAFaultThatNobodyFindsAndAFindingWithoutOne) {
  // No variation is called so.
  const RandomOptions options = {8, 0, {}, {"none"}};
  RandomCluster cluster = MakeRandomCluster(1, options);
  ASSERT_EQ(WrongAbout(cluster, options), "");
  // The host declares a fault that it does not have.
  const FaultKind& link = FaultKinds().front();
  cluster.faults.push_back({&link, 0, 0});
  EXPECT_NE(WrongAbout(cluster, options).find("not found: link at server0"),
            std::string::npos);
  // Another device is broken, and that fault is not declared.
  cluster.facts[1].mutable_devices(1)->mutable_link()->set_value(
      LinkFact::DOWN);
  EXPECT_NE(WrongAbout(cluster, options)
                .find("no reason: link is FAIL at "
                      "server1"),
            std::string::npos);
}

TEST(MisjudgedTest, TellsAFindingAboutTheClusterThatNoFaultExplains) {
  const RandomOptions options = {8, 0, {}, {"none"}};
  RandomCluster cluster = MakeRandomCluster(1, options);
  cluster.spec.set_product("atlas-a2");
  cluster.spec.set_mode("");
  cluster.spec.set_one_job(true);
  for (int s = cluster.spec.servers_size(); s < 1153; ++s) {
    cluster.spec.add_servers()->set_host("more" + std::to_string(s));
  }
  // A warning of the same rule would be allowed, and no failure is.
  cluster.warnings["cluster-size"] = {-1};
  const RandomOptions others = {8, 0, {"cluster-size-power"}, {"none"}};
  EXPECT_NE(WrongAbout(cluster, others)
                .find("no reason: cluster-size is FAIL at the cluster"),
            std::string::npos);
}

TEST(MisjudgedTest, TellsAWarningOnAHostThatNoVariationTouched) {
  const RandomOptions options = {8, 0, {}, {"none"}};
  RandomCluster cluster = MakeRandomCluster(1, options);
  for (HostFacts& host : cluster.facts) {
    host.mutable_own_name()->mutable_value()->clear_addresses();
  }
  cluster.warnings["host-name"] = {1};
  const std::string wrong = WrongAbout(cluster, options);
  EXPECT_NE(wrong.find("no reason: host-name is WARN at server0"),
            std::string::npos);
  for (size_t h = 0; h < cluster.facts.size(); ++h) {
    cluster.warnings["host-name"].insert(static_cast<int>(h));
  }
  EXPECT_EQ(WrongAbout(cluster, options), "");
}

TEST(MisjudgedTest, TellsAConsequenceWhoseCauseHasNoReason) {
  const RandomOptions options = {8, 0, {}, {"none"}};
  RandomCluster cluster = MakeRandomCluster(1, options);
  Patch("link { value: DOWN } net_health { value: NET_HEALTH_UNREACHABLE }",
        cluster.facts[0].mutable_devices(0));
  // Another part is broken there.
  for (const FaultKind& kind : FaultKinds()) {
    if (kind.name == std::string("ecc"))
      cluster.faults.push_back({&kind, 0, 0});
  }
  EXPECT_NE(WrongAbout(cluster, options)
                .find("no reason: net-health is FAIL at server0 0 (1) caused "
                      "by link"),
            std::string::npos);
}

TEST(MisjudgedTest, TellsAFaultOfAWarningThatFails) {
  const RandomOptions options = {8, 0, {}, {"none"}};
  RandomCluster cluster = MakeRandomCluster(1, options);
  FaultKind kind = FaultKinds().front();
  ASSERT_EQ(kind.rule, std::string("link"));
  kind.state = WARN;
  cluster.faults.push_back({&kind, 0, 0});
  kind.make(cluster, 0, 0);
  EXPECT_NE(WrongAbout(cluster, options).find("not found: link at server0"),
            std::string::npos);
  kind.state = FAIL;
  EXPECT_EQ(WrongAbout(cluster, options), "");
}

}  // namespace
}  // namespace clusterd
