#include "config/learn/spec_writer.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/rules/judge.h"
#include "config/spec/spec_loader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A healthy cluster, and what is learned from its facts.
struct Learned {
  explicit Learned(const std::string& product, const std::string& mode = "",
                   int servers = 5)
      : spec(MakeSpec(product, mode, servers)) {
    facts = MakeHealthyFacts(spec);
  }

  void Rename(int server, const std::string& name) {
    spec.mutable_servers(server)->set_host(name);
    facts[server].set_host(name);
  }
  DeviceFacts* Device(int server, int index) {
    return facts[server].mutable_devices(index);
  }
  void SetAddress(int server, int index, const std::string& address) {
    Device(server, index)
        ->mutable_address()
        ->mutable_value()
        ->mutable_settings(0)
        ->set_address(address);
  }

  absl::StatusOr<WrittenSpec> Write(const std::string& product = "") {
    std::map<std::string, Ipv4Address> addresses;
    for (const ServerSpec& server : spec.servers()) {
      addresses[server.host()] = *Ipv4Address::Parse(server.address());
    }
    const auto seen = LearnCluster("test", product, facts, addresses);
    if (!seen.ok()) return seen.status();
    return WriteSpec(*seen);
  }

  ClusterSpec spec;
  std::vector<HostFacts> facts;
};

// What the written file says; fails the test unless it loads and no rule
// refuses it.
ClusterSpec Load(const WrittenSpec& written) {
  const auto spec = LoadSpec("cluster.yaml", written.yaml);
  EXPECT_TRUE(spec.ok()) << spec.status() << "\n" << written.yaml;
  if (!spec.ok()) return {};
  for (const Finding& finding : JudgePlannedAddresses(*spec)) {
    EXPECT_NE(finding.state(), FAIL)
        << finding.ShortDebugString() << written.yaml;
  }
  return *spec;
}

// "server2 device 3" of every subject with a failure or a warning.
std::set<std::string> Found(const ClusterSpec& spec,
                            const std::vector<HostFacts>& facts) {
  std::set<std::string> found;
  const Report report = BuildReport(spec, Pointers(facts), {});
  for (const RuleResult& rule : report.rules()) {
    for (const Finding& finding : rule.findings()) {
      if (finding.state() == SKIPPED) continue;
      for (const Subject& subject : finding.subjects()) {
        if (subject.devices().empty()) {
          found.insert(absl::StrCat(subject.host(), " ", rule.rule()));
        }
        for (const uint32_t device : subject.devices()) {
          found.insert(absl::StrCat(subject.host(), " device ", device));
        }
      }
    }
  }
  return found;
}

std::vector<std::string> Exceptions(const WrittenSpec& written) {
  std::vector<std::string> texts;
  for (const SpecException& exception : written.exceptions) {
    texts.push_back(ExceptionText(exception));
  }
  return texts;
}

TEST(WriteSpecTest, HealthyClustersOfEveryProductComeOutAsTheyWerePlanned) {
  for (const ProductProfile& profile : AllProductProfiles()) {
    for (const int servers : {1, 2, 3, 40}) {
      SCOPED_TRACE(absl::StrCat(profile.title, " ", servers));
      Learned learned(profile.name, profile.mode, servers);
      const auto written = learned.Write(profile.name + " " + profile.mode);
      ASSERT_TRUE(written.ok()) << written.status();
      const ClusterSpec spec = Load(*written);
      EXPECT_THAT(Exceptions(*written), IsEmpty()) << written->yaml;
      EXPECT_EQ(Found(spec, learned.facts), Found(learned.spec, learned.facts))
          << written->yaml;
      ASSERT_EQ(spec.servers_size(), servers);
      for (int s = 0; s < servers; ++s) {
        EXPECT_EQ(spec.servers(s).DebugString(),
                  learned.spec.servers(s).DebugString())
            << written->yaml;
      }
      if (servers > 1) {
        EXPECT_THAT(written->pattern, HasSubstr("host part"));
      }
    }
  }
}

}  // namespace
}  // namespace clusterd
