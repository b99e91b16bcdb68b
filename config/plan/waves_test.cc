#include "config/plan/waves.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/words/message.h"
#include "gmock/gmock.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The number of hosts of each wave.
std::vector<size_t> Sizes(const Waves& waves) {
  std::vector<size_t> sizes;
  for (size_t wave = 0; wave < waves.count(); ++wave) {
    sizes.push_back(waves.begin(wave + 1) - waves.begin(wave));
  }
  return sizes;
}

TEST(WavesTest, HoldEveryHostOnceInOrder) {
  EXPECT_THAT(Sizes(Waves(5, 0, 2)), ElementsAre(2, 2, 1));
  EXPECT_THAT(Sizes(Waves(4, 0, 2)), ElementsAre(2, 2));
  EXPECT_THAT(Sizes(Waves(1, 0, 32)), ElementsAre(1));
  EXPECT_THAT(Sizes(Waves(0, 0, 32)), IsEmpty());
}

TEST(WavesTest, GrowTwofoldBehindACanaryUpToTheirSize) {
  EXPECT_THAT(Sizes(Waves(100, 1, 32)), ElementsAre(1, 2, 4, 8, 16, 32, 32, 5));
  EXPECT_THAT(Sizes(Waves(20, 3, 10)), ElementsAre(3, 6, 10, 1));
  EXPECT_THAT(Sizes(Waves(4, 1, static_cast<size_t>(-1))),
              ElementsAre(1, 2, 1));
}

TEST(WavesTest, CanaryIsAWaveOfItsOwn) {
  EXPECT_THAT(Sizes(Waves(5, 1, 2)), ElementsAre(1, 2, 2));
  EXPECT_THAT(Sizes(Waves(5, 2, 32)), ElementsAre(2, 3));
  EXPECT_THAT(Sizes(Waves(5, 4, 1)), ElementsAre(4, 1));
}

TEST(WavesTest, CanaryOfAllHostsIsTheOnlyWave) {
  EXPECT_THAT(Sizes(Waves(2, 2, 1)), ElementsAre(2));
  EXPECT_THAT(Sizes(Waves(2, 100, 1)), ElementsAre(2));
}

TEST(WavesTest, SizeOfNothingIsOneHostAtATime) {
  EXPECT_THAT(Sizes(Waves(2, 0, 0)), ElementsAre(1, 1));
}

// Hosts h0, h1, … with a step of each of these kinds.
ClusterPlan PlanOf(const std::vector<std::vector<ChangeKind>>& hosts) {
  ClusterPlan plan;
  for (const auto& kinds : hosts) {
    HostPlan* const host = plan.add_hosts();
    host->set_host(absl::StrCat("h", plan.hosts_size() - 1));
    for (const ChangeKind kind : kinds) host->add_steps()->set_kind(kind);
  }
  return plan;
}

constexpr ChangeKind kSysctl = CHANGE_SYSCTL;
constexpr ChangeKind kTls = CHANGE_TLS;
constexpr ChangeKind kFirewall = CHANGE_FIREWALL;

TEST(ChooseCanaryTest, IsTheFirstHostWhereAllHaveTheSameKinds) {
  const Canary canary = ChooseCanary(PlanOf({{}, {kTls}, {kTls}}), 1, 32);
  EXPECT_EQ(canary.size, 1u);
  EXPECT_THAT(canary.hosts, ElementsAre("h1"));
  EXPECT_EQ(EnglishText(canary.why),
            "canary: a step of every kind in the plan is on h1 "
            "(tls)");
}

TEST(ChooseCanaryTest, PrefersOneHostWithEveryKindToTwo) {
  const Canary canary = ChooseCanary(
      PlanOf({{kSysctl}, {kTls, kFirewall}, {kSysctl, kTls, kFirewall}}), 1,
      32);
  EXPECT_EQ(canary.size, 1u);
  EXPECT_THAT(canary.hosts, ElementsAre("h2"));
}

TEST(ChooseCanaryTest, GrowsWhereNoSoFewHostsHaveEveryKind) {
  const ClusterPlan plan =
      PlanOf({{kSysctl}, {kSysctl}, {kTls}, {kSysctl, kTls}, {kFirewall}});
  const Canary canary = ChooseCanary(plan, 1, 32);
  EXPECT_EQ(canary.size, 2u);
  EXPECT_THAT(canary.hosts, ElementsAre("h3", "h4"));
  EXPECT_EQ(EnglishText(canary.why),
            "canary: a step of every kind in the plan is on h3 (sysctl, tls), "
            "h4 (firewall); so the first wave has 2 hosts, not 1");
  // Limited by the size of a wave.
  EXPECT_EQ(ChooseCanary(plan, 1, 1).size, 1u);
  EXPECT_THAT(ChooseCanary(plan, 1, 1).hosts, ElementsAre("h3", "h4"));
}

TEST(ChooseCanaryTest, WarnsOfKindsThatTheFirstWaveHasNoRoomFor) {
  const ClusterPlan plan =
      PlanOf({{kSysctl}, {kTls}, {kSysctl}, {kFirewall}, {kTls}});
  const Canary alone = ChooseCanary(plan, 1, 1);
  EXPECT_EQ(alone.size, 1u);
  EXPECT_EQ(EnglishText(alone.why),
            "warning: canary: no step of firewall, tls is on h0 (sysctl), "
            "expected one of every kind in the plan; apply with --canary 3");
  EXPECT_EQ(EnglishText(ChooseCanary(plan, 1, 2).why),
            "warning: canary: no step of firewall is on h0 (sysctl), h1 (tls), "
            "expected one of every kind in the plan; apply with --canary 3; so "
            "the first wave has 2 hosts, not 1");
  // The advised size is enough for waves of any size.
  const Canary advised = ChooseCanary(plan, 3, 1);
  EXPECT_EQ(advised.size, 3u);
  EXPECT_EQ(EnglishText(advised.why),
            "canary: a step of every kind in the plan is on h0 (sysctl), h1 "
            "(tls), h3 (firewall)");
}

TEST(ChooseCanaryTest, FillsUpFromTheBeginOfThePlan) {
  const ClusterPlan plan =
      PlanOf({{kSysctl}, {}, {kSysctl}, {kSysctl}, {kSysctl, kTls}});
  const Canary canary = ChooseCanary(plan, 3, 32);
  EXPECT_EQ(canary.size, 3u);
  EXPECT_THAT(canary.hosts, ElementsAre("h0", "h2", "h4"));
  EXPECT_EQ(ChooseCanary(plan, 9, 32).size, 9u);
}

TEST(ChooseCanaryTest, IsNoneWithoutAWishOrAStep) {
  EXPECT_EQ(ChooseCanary(PlanOf({{kTls}}), 0, 32).size, 0u);
  EXPECT_THAT(ChooseCanary(PlanOf({{kTls}}), 0, 32).hosts, IsEmpty());
  EXPECT_EQ(ChooseCanary(PlanOf({{}, {}}), 1, 32).size, 0u);
}

}  // namespace
}  // namespace clusterd
