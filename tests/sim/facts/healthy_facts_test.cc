#include "tests/sim/facts/healthy_facts.h"

#include "absl/container/flat_hash_set.h"
#include "config/rules/judge.h"
#include "config/spec/product_profile.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

// Rules that are neither PASS nor SKIPPED, with their findings.
std::string Complaints(const ClusterSpec& spec) {
  const std::vector<HostFacts> facts = MakeHealthyFacts(spec);
  std::string complaints;
  const Report report = BuildReport(spec, Pointers(facts), {});
  for (const RuleResult& result : report.rules()) {
    if (result.state() == PASS) continue;
    if (result.state() == SKIPPED && !result.skip_reason().empty()) continue;
    complaints += result.ShortDebugString() + "\n";
  }
  return complaints;
}

TEST(HealthyFactsTest, SatisfyEveryRuleOnEveryProduct) {
  for (const ProductProfile& profile : AllProductProfiles()) {
    for (const int servers : {1, 2, 8, 64}) {
      EXPECT_EQ(Complaints(MakeSpec(profile.name, profile.mode, servers)), "")
          << profile.name << " " << profile.mode << ", " << servers;
    }
  }
}

TEST(HealthyFactsTest, StayInOrderAtTheSizesOfTheRoutedProducts) {
  EXPECT_EQ(Complaints(MakeSpec("atlas-training", "amp", 512)), "");
  EXPECT_EQ(Complaints(MakeSpec("atlas-a2", "", 1024)), "");
  EXPECT_EQ(Complaints(MakeSpec("atlas-a3", "", 1024)), "");
}

TEST(MakeSpecTest, SpreadsTwoTrainingServersAsTheVendorsExample) {
  const ClusterSpec spec = MakeSpec("atlas-training", "smp", 2);
  EXPECT_EQ(spec.servers(0).devices(3).address(), "192.168.103.1");
  EXPECT_EQ(spec.servers(0).devices(7).address(), "192.168.103.2");
  EXPECT_EQ(spec.servers(1).devices(3).address(), "192.168.103.3");
  EXPECT_EQ(spec.servers(1).devices(3).netmask(), "255.255.255.0");
  EXPECT_EQ(spec.servers(1).devices(3).gateway(), "192.168.103.254");
}

TEST(MakeSpecTest, KeepsAddressesApartInTheLargestCluster) {
  for (const char* mode : {"smp", "amp"}) {
    const ClusterSpec spec = MakeSpec("atlas-training", mode, kMaxSpecServers);
    absl::flat_hash_set<std::string> addresses;
    for (const ServerSpec& server : spec.servers()) {
      EXPECT_TRUE(addresses.insert(server.address()).second);
      for (const DeviceSpec& device : server.devices()) {
        EXPECT_TRUE(addresses.insert(device.address()).second)
            << device.address();
      }
    }
    EXPECT_EQ(addresses.size(), 9u * kMaxSpecServers);
  }
}

}  // namespace
}  // namespace clusterd
