#include "config/plan/waves.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "config/words/message.h"
#include "gmock/gmock.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(WavesTest, HoldEveryHostOnceAndGrowTwofoldBehindACanary) {
  const struct {
    size_t hosts;
    size_t canary;
    size_t size;
    std::vector<size_t> waves;
  } kCases[] = {{5, 0, 2, {2, 2, 1}},
                {4, 0, 2, {2, 2}},
                {1, 0, 32, {1}},
                {0, 0, 32, {}},
                {100, 1, 32, {1, 2, 4, 8, 16, 32, 32, 5}},
                {20, 3, 10, {3, 6, 10, 1}},
                {4, 1, static_cast<size_t>(-1), {1, 2, 1}},
                // The canary is a wave of its own, and of all hosts the only.
                {5, 1, 2, {1, 2, 2}},
                {5, 2, 32, {2, 3}},
                {5, 4, 1, {4, 1}},
                {2, 2, 1, {2}},
                {2, 100, 1, {2}},
                // A size of nothing is one host at a time.
                {2, 0, 0, {1, 1}}};
  for (const auto& each : kCases) {
    const Waves waves(each.hosts, each.canary, each.size);
    std::vector<size_t> sizes;
    for (size_t wave = 0; wave < waves.count(); ++wave) {
      sizes.push_back(waves.begin(wave + 1) - waves.begin(wave));
    }
    EXPECT_EQ(sizes, each.waves)
        << each.hosts << " " << each.canary << " " << each.size;
  }
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
  EXPECT_EQ(EnglishText(canary.why), Say("hub-canary-every", "h1 (tls)"));
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
            Say("hub-canary-wider",
                Worded("hub-canary-every", "h3 (sysctl, tls), h4 (firewall)"),
                "2 hosts", 1));
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
            Say("hub-canary-lacks", "firewall, tls", "h0 (sysctl)", 3));
  EXPECT_EQ(
      EnglishText(ChooseCanary(plan, 1, 2).why),
      Say("hub-canary-wider",
          Worded("hub-canary-lacks", "firewall", "h0 (sysctl), h1 (tls)", 3),
          "2 hosts", 1));
  // The advised size is enough for waves of any size.
  const Canary advised = ChooseCanary(plan, 3, 1);
  EXPECT_EQ(advised.size, 3u);
  EXPECT_EQ(EnglishText(advised.why),
            Say("hub-canary-every", "h0 (sysctl), h1 (tls), h3 (firewall)"));
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
