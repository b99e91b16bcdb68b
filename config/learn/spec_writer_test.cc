#include "config/learn/spec_writer.h"

#include <set>

#include "absl/algorithm/container.h"
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

// What a check finds on hosts and devices, each as "server2 device 3" with all
// that its finding is about; without what another finding explains.
std::vector<std::set<std::string>> Found(const ClusterSpec& spec,
                                         const std::vector<HostFacts>& facts) {
  std::vector<std::set<std::string>> found;
  const Report report = BuildReport(spec, Pointers(facts), {});
  for (const RuleResult& rule : report.rules()) {
    for (const Finding& finding : rule.findings()) {
      const bool is_cause = finding.caused_by().empty();
      if (finding.state() == SKIPPED || !is_cause) continue;
      std::set<std::string> subjects;
      for (const Subject& subject : finding.subjects()) {
        if (subject.host().empty()) continue;
        if (subject.devices().empty()) subjects.insert(subject.host() + " ");
        for (const uint32_t device : subject.devices()) {
          subjects.insert(absl::StrCat(subject.host(), " device ", device));
        }
      }
      if (!subjects.empty()) found.push_back(subjects);
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

// The devices and hosts of the exceptions, as Found names them.
std::set<std::string> Excepted(const WrittenSpec& written) {
  std::set<std::string> excepted;
  for (const SpecException& exception : written.exceptions) {
    for (const std::string& host : exception.hosts) {
      excepted.insert(absl::StrCat(host, " ", exception.devices));
    }
  }
  return excepted;
}

TEST(WriteSpecTest, ACheckAgainstItFindsExactlyTheExceptions) {
  for (const ProductProfile& profile : AllProductProfiles()) {
    SCOPED_TRACE(profile.title);
    Learned learned(profile.name, profile.mode, 7);
    const std::string wrong =
        learned.spec.servers(2).devices(1).address() == "10.0.0.200"
            ? "10.0.0.201"
            : "10.0.0.200";
    learned.SetAddress(2, 1, wrong);
    learned.Device(4, 0)->mutable_mtu()->set_value(4200);
    learned.Device(5, 1)->mutable_detect_address()->set_value("0.0.0.0");
    const auto written = learned.Write(profile.name + " " + profile.mode);
    ASSERT_TRUE(written.ok()) << written.status();
    const ClusterSpec spec = Load(*written);
    // Each finding is about an exception, each exception is found.
    const std::set<std::string> excepted = Excepted(*written);
    std::set<std::string> found;
    for (const std::set<std::string>& subjects : Found(spec, learned.facts)) {
      const auto known = absl::c_find_if(
          subjects, [&](const auto& each) { return excepted.count(each) > 0; });
      ASSERT_NE(known, subjects.end()) << *subjects.begin() << "\n"
                                       << written->yaml;
      found.insert(subjects.begin(), subjects.end());
    }
    EXPECT_TRUE(absl::c_includes(found, excepted)) << written->yaml;
    EXPECT_EQ(written->exceptions.size(), 3) << written->yaml;
    EXPECT_EQ(spec.servers(2).devices(1).address(),
              learned.spec.servers(2).devices(1).address());
    EXPECT_THAT(written->yaml,
                HasSubstr(absl::StrCat("#   server2 device ",
                                       learned.Device(2, 1)->id(), ": address ",
                                       wrong)));
  }
}

TEST(WriteSpecTest, GapsInNamesCountByNameSoThatNoAddressMoves) {
  Learned learned("atlas-a2", "", 12);
  // Every address stays; the names leave 03 and 07 out.
  ClusterSpec whole = learned.spec;
  learned.spec.clear_servers();
  std::vector<HostFacts> facts;
  for (int s = 0; s < 12; ++s) {
    if (s == 3 || s == 7) continue;
    const std::string name = absl::StrCat("node", s < 10 ? "0" : "", s);
    *learned.spec.add_servers() = whole.servers(s);
    facts.push_back(learned.facts[s]);
    learned.spec.mutable_servers()->rbegin()->set_host(name);
    facts.back().set_host(name);
  }
  learned.facts = facts;
  const auto written = learned.Write();
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_THAT(written->yaml, HasSubstr("  - hosts: node[00-02,04-06,08-11]\n"
                                       "    address: 172.16.0.1 + name\n"));
  EXPECT_THAT(written->yaml, HasSubstr("host: 1 + 8*name + d\n"));
  EXPECT_THAT(Found(Load(*written), learned.facts), IsEmpty()) << written->yaml;
}

TEST(WriteSpecTest, RacksWithASubnetEachCountByGroup) {
  Learned learned("atlas-a3", "", 6);
  for (int s = 0; s < 6; ++s) {
    learned.Rename(s, absl::StrCat("rack", s / 3 + 1, "n0", s % 3 + 1));
    learned.spec.mutable_servers(s)->set_address(
        absl::StrCat("10.11.", s / 3 + 1, ".", s % 3 + 1));
    for (int d = 0; d < 16; ++d) {
      const std::string subnet = absl::StrCat("10.30.", s / 3);
      learned.SetAddress(s, d, absl::StrCat(subnet, ".", 1 + 16 * (s % 3) + d));
      learned.Device(s, d)->mutable_gateway()->set_value(subnet + ".254");
      learned.Device(s, d)->mutable_detect_address()->set_value(subnet +
                                                                ".254");
    }
  }
  const auto written = learned.Write("atlas-a3");
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_THAT(written->yaml, HasSubstr("hosts: rack1n[01-03]\n"));
  EXPECT_THAT(written->yaml, HasSubstr("subnet: 10.30.0.0/24 + g\n"
                                       "      host: 1 + 16*i + d\n"
                                       "  gateway: 254\n"
                                       "  detect_address: gateway\n"));
  EXPECT_THAT(Exceptions(*written), IsEmpty());
  Load(*written);
}

TEST(WriteSpecTest, SilentHostsArePlannedByThePatternAndNamed) {
  Learned learned("atlas-a2");
  learned.facts[3] =
      MakeSilentHost("server3", Missing::NO_ANSWER, "gone\nname: evil");
  const auto written = learned.Write();
  ASSERT_TRUE(written.ok()) << written.status();
  const ClusterSpec spec = Load(*written);
  EXPECT_EQ(spec.servers(3).DebugString(),
            learned.spec.servers(3).DebugString());
  EXPECT_THAT(Exceptions(*written),
              ElementsAre("server3: gave no facts, planned by the pattern"));
  EXPECT_THAT(written->yaml, Not(HasSubstr("evil")));
}

TEST(WriteSpecTest, AddressesWithoutAPatternAreListed) {
  Learned learned("atlas-a2", "", 3);
  int scattered = 17;
  for (ServerSpec& server : *learned.spec.mutable_servers()) {
    for (DeviceSpec& device : *server.mutable_devices()) {
      scattered = scattered * 37 % 251;
      device.set_address(absl::StrCat("10.0.0.", scattered));
    }
  }
  learned.facts = MakeHealthyFacts(learned.spec);
  const auto written = learned.Write();
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_THAT(written->yaml, HasSubstr("  addresses:\n    server0: ["));
  EXPECT_THAT(written->pattern, HasSubstr("each is listed"));
  EXPECT_THAT(Exceptions(*written), IsEmpty());
  EXPECT_THAT(Found(Load(*written), learned.facts), IsEmpty());
}

TEST(WriteSpecTest, PartnersThatWatchEachOtherAreSaidToDoSo) {
  Learned learned("atlas-training", "", 2);
  for (int s = 0; s < 2; ++s) {
    for (int d = 0; d < 8; ++d) {
      learned.Device(s, d)->mutable_gateway()->set_value("");
      learned.Device(s, d)->mutable_detect_address()->set_value(
          learned.spec.servers(1 - s).devices(d).address());
    }
  }
  const auto written = learned.Write();
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_THAT(written->yaml, HasSubstr("detect_address: peer(1 - n, d)\n"));
  EXPECT_THAT(written->yaml, Not(HasSubstr("gateway")));
  EXPECT_THAT(Exceptions(*written), IsEmpty());
  Load(*written);
}

TEST(WriteSpecTest, KernelValuesAreThoseOfMostHostsWhereSomebodyRaisedThem) {
  Learned learned("atlas-a2");
  for (HostFacts& host : learned.facts) {
    host.mutable_kernel()->mutable_somaxconn()->set_value(4096);
    host.mutable_kernel()->mutable_tcp_max_syn_backlog()->set_value(16384);
  }
  const auto written = learned.Write();
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(Load(*written).kernel().tcp_max_syn_backlog(), 16384);
  EXPECT_THAT(written->yaml, Not(HasSubstr("  somaxconn:")));
  EXPECT_THAT(written->yaml, HasSubstr("# Note: kernel.somaxconn is left"));
}

TEST(WriteSpecTest, HostsWithoutAnAddressOfTheirOwnAreLeftOutOrRefused) {
  Learned learned("atlas-a2");
  learned.spec.mutable_servers(1)->set_address("127.0.0.1");
  const auto written = learned.Write();
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(Load(*written).servers_size(), 4);
  EXPECT_THAT(written->notes, ElementsAre(HasSubstr("server1")));
  learned.spec.mutable_servers(1)->set_address("172.16.0.1");
  EXPECT_THAT(std::string(learned.Write().status().message()),
              HasSubstr("hosts server0 and server1 have one address"));
}

TEST(ChooseProductTest, FactsSettleItOrTheMessageNamesWhatFits) {
  EXPECT_THAT(Learned("atlas-training").Write()->yaml,
              HasSubstr("product: atlas-training\nmode: smp\n"));
  EXPECT_THAT(Learned("atlas-training", "amp").Write()->yaml,
              HasSubstr("product: atlas-training\nmode: amp\n"));
  EXPECT_THAT(Learned("ascend-950").Write()->yaml,
              HasSubstr("product: ascend-950\n"));
  EXPECT_THAT(Learned("atlas-a2-box16").Write()->yaml,
              HasSubstr("product: atlas-a2-box16\n"));
  const absl::Status unsettled = Learned("atlas-a3").Write().status();
  EXPECT_EQ(unsettled.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(unsettled.message(),
            "--product: what is known (series A3, devices 0-15) does not tell "
            "the product, expected --product with one of atlas-a3, "
            "atlas-a3-superpod");
  EXPECT_THAT(
      std::string(Learned("atlas-a2").Write("atlas-b2").status().message()),
      HasSubstr("product \"atlas-b2\" is not known"));
}

}  // namespace
}  // namespace clusterd
