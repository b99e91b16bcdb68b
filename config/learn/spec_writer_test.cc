#include "config/learn/spec_writer.h"

#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/rules/judge.h"
#include "config/spec/spec_loader.h"
#include "config/words/subject_text.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/config/judge_testing.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A healthy cluster, and the result of learning from its facts.
struct Learned : TestCluster {
  explicit Learned(const std::string& product, const std::string& mode = "",
                   int servers = 5)
      : TestCluster(product, mode, servers) {
    spec.clear_one_job();
  }

  void Rename(int server, const std::string& name) {
    spec.mutable_servers(server)->set_host(name);
    facts[server].set_host(name);
  }
  Ipv4Setting& Setting(int server, int index) {
    auto* const address = device(server, index).mutable_address();
    return *address->mutable_value()->mutable_settings(0);
  }
  // Devices first to last have none.
  void ClearAddresses(int server, int first, int last) {
    for (int d = first; d <= last; ++d) {
      device(server, d).mutable_address()->mutable_value()->Clear();
    }
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

  WrittenSpec Written(const std::string& product = "") {
    return Write(product).value();
  }
};

// Loads the written file; the test fails if a rule refuses it.
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

// A check's findings on hosts and devices, each as "server2 device 3" with its
// subjects; without those that another finding explains.
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
      const WrittenSpec written =
          learned.Written(profile.name + " " + profile.mode);
      const ClusterSpec spec = Load(written);
      EXPECT_THAT(Exceptions(written), IsEmpty()) << written.yaml;
      EXPECT_EQ(Found(spec, learned.facts), Found(learned.spec, learned.facts))
          << written.yaml;
      ASSERT_EQ(spec.servers_size(), servers);
      for (int s = 0; s < servers; ++s) {
        EXPECT_EQ(spec.servers(s).DebugString(),
                  learned.spec.servers(s).DebugString())
            << written.yaml;
      }
      if (servers > 1) {
        EXPECT_THAT(written.pattern, HasSubstr("host part"));
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
    learned.Setting(2, 1).set_address(wrong);
    learned.Set(4, 0, "mtu {value: 4200}");
    learned.Set(5, 1, "detect_address {value: '0.0.0.0'}");
    learned.Set(0, "kernel {somaxconn {value: 128}}");
    learned.Set(1, "kernel {tcp_max_syn_backlog {value: 1024}}");
    learned.Set(3, "ufw {active {value: true}}");
    learned.facts[6]
        .mutable_kernel()
        ->mutable_somaxconn_at_boot()
        ->mutable_value()
        ->clear_assignments();
    const WrittenSpec written =
        learned.Written(profile.name + " " + profile.mode);
    const ClusterSpec spec = Load(written);
    // Each finding is about an exception, each exception is found.
    const std::set<std::string> excepted = Excepted(written);
    std::set<std::string> found;
    for (const std::set<std::string>& subjects : Found(spec, learned.facts)) {
      const auto known = absl::c_find_if(
          subjects, [&](const auto& each) { return excepted.count(each) > 0; });
      ASSERT_NE(known, subjects.end()) << *subjects.begin() << "\n"
                                       << written.yaml;
      found.insert(subjects.begin(), subjects.end());
    }
    EXPECT_TRUE(absl::c_includes(found, excepted)) << written.yaml;
    EXPECT_EQ(written.exceptions.size(), 7) << written.yaml;
    const std::vector<std::string> texts = Exceptions(written);
    for (const char* text :
         {"server0: net.core.somaxconn", "server1: net.ipv4.tcp_max_syn_back",
          "server3: ufw is active",
          "server6: no file sets net.core.somaxconn"}) {
      EXPECT_THAT(texts, Contains(HasSubstr(text)));
    }
    EXPECT_EQ(spec.servers(2).devices(1).address(),
              learned.spec.servers(2).devices(1).address());
    EXPECT_THAT(written.yaml, HasSubstr(absl::StrCat("#   server2 device ",
                                                     learned.device(2, 1).id(),
                                                     ": address ", wrong)));
  }
}

TEST(WriteSpecTest, AClusterThatNobodySetUpIsExceptedAsAWhole) {
  Learned learned("atlas-a2");
  learned.SetHosts(
      "kernel {somaxconn {value: 16}} firewalld {active {value: true}}");
  const WrittenSpec written = learned.Written();
  EXPECT_EQ(Load(written).firewall(), FIREWALL_OPEN_PORTS);
  EXPECT_THAT(Exceptions(written),
              Contains(HasSubstr("server[0-4]: net.core.somaxconn")));
  EXPECT_THAT(Exceptions(written),
              Contains(HasSubstr("server[1-4]: firewalld is active")));
}

TEST(WriteSpecTest, DevicesThatNobodyPlansHaveNoVote) {
  Learned learned("atlas-a2", "", 3);
  learned.SetDevices("mtu {value: 1500} tls {value {enabled: false}}");
  for (int s = 0; s < 3; ++s) {
    for (const int d : {0, 1}) {
      learned.Set(s, d, "mtu {value: 4200} tls {value {enabled: true}}");
    }
    learned.ClearAddresses(s, 2, 7);
  }
  const WrittenSpec written = learned.Written("atlas-a2");
  const ClusterSpec spec = Load(written);
  EXPECT_EQ(spec.servers(0).devices_size(), 2);
  EXPECT_EQ(spec.mtu(), 4200);
  EXPECT_TRUE(spec.tls());
  EXPECT_THAT(Exceptions(written), IsEmpty());
}

TEST(WriteSpecTest, OtherProductsAndUnreadFactsAreExceptions) {
  Learned learned("atlas-a2", "", 6);
  learned.Set(1, "identity {npu_series {value: 'A3 x 8'}}");
  learned.Set(2, "hccn_tool {generation: ASCEND_950}");
  learned.Set(3, "device_ids {missing {reason: UNREADABLE}}");
  learned.facts[3].clear_devices();
  learned.Set(4, 5, "address {missing {reason: BUSY}}");
  const WrittenSpec written = learned.Written();
  const std::vector<std::string> texts = Exceptions(written);
  EXPECT_THAT(texts, Contains(HasSubstr("server1: NPU series \"A3 x 8\"")));
  EXPECT_THAT(texts, Contains("server2: " + Say("spec-has-other-tool")));
  EXPECT_THAT(texts, Contains("server3: " + Say("spec-ids-not-known")));
  EXPECT_THAT(texts,
              Contains("server4 device 5: " + Say("spec-address-not-known")));
  // The series also as the one of the fewest hosts.
  EXPECT_EQ(texts.size(), 5) << written.yaml;
  EXPECT_EQ(Load(written).servers(4).devices(5).address(),
            learned.spec.servers(4).devices(5).address());
}

TEST(WriteSpecTest, OneOfTwoServersThatIsNotSetUpHidesNoDevice) {
  Learned learned("atlas-a2", "", 2);
  learned.ClearAddresses(1, 0, 7);
  const WrittenSpec one = learned.Written();
  EXPECT_EQ(Load(one).servers(0).devices_size(), 8) << one.yaml;
  EXPECT_EQ(Load(one).servers(0).DebugString(),
            learned.spec.servers(0).DebugString());
  EXPECT_THAT(one.yaml, HasSubstr("what most have, or one of as many,"));
  Learned halves("atlas-a2", "", 2);
  halves.ClearAddresses(0, 4, 7);
  halves.ClearAddresses(1, 0, 3);
  EXPECT_THAT(
      halves.Write().status(),
      Tells("msg-learn-no-pattern", "spec-note-not-listed", "server[0-1]"));
}

TEST(WriteSpecTest, ServerWithOneAddressTwiceIsLeftOutForThat) {
  Learned learned("atlas-a2", "", 3);
  int scattered = 17;
  for (int s = 0; s < 3; ++s) {
    for (int d = 0; d < 8; ++d) {
      scattered = scattered * 37 % 251;
      learned.Setting(s, d).set_address(absl::StrCat("10.0.0.", scattered));
    }
  }
  learned.Setting(1, 3).set_address("10.0.0.252");
  learned.Setting(1, 5).set_address("10.0.0.252");
  const WrittenSpec written = learned.Written();
  EXPECT_THAT(written.notes,
              Contains(Tells("spec-note-one-address", "server1")));
  EXPECT_EQ(Load(written).servers_size(), 2);
  // One of two hosts is never called most.
  Learned apart("atlas-a2", "", 2);
  for (int d = 0; d < 8; ++d) apart.Set(1, d, "mtu {value: 4200}");
  const WrittenSpec tied = apart.Written();
  EXPECT_THAT(tied.notes,
              Contains(Tells("spec-note-no-majority", "mtu", 8, 16)));
  EXPECT_THAT(tied.yaml, HasSubstr("what most have, or one of as many,"));
  Learned half("atlas-a2", "", 2);
  half.Set(1, "device_ids {missing {reason: UNREADABLE}}");
  half.facts[1].clear_devices();
  EXPECT_THAT(half.Written().yaml, Not(HasSubstr("that most")));
}

TEST(WriteSpecTest, LeasesAndIpv6AddressesAreSaid) {
  Learned learned("atlas-a2", "", 3);
  learned.Set(0, R"(hccn_conf {value {
      entries {key: 'udhcpc_enable' device: 0 value: '1'}
      entries {key: 'udhcpc_enable' device: 1 value: '1'}
      entries {key: 'udhcpc_enable' device: 2 value: '0'}}})");
  learned.ClearAddresses(2, 7, 7);
  learned.Set(2, 7, "ipv6_address {value: 'fd00::17/64'}");
  const WrittenSpec written = learned.Written();
  EXPECT_THAT(written.notes,
              ElementsAre(Tells("spec-note-leases", "server0 devices 0-2"),
                          Tells("spec-note-ipv6", "server2 device 7")));
  EXPECT_THAT(written.yaml, HasSubstr("# Note: server0 devices 0-2: "));
  EXPECT_THAT(Exceptions(written), ElementsAre("server2 device 7: " +
                                               Say("spec-address-not-known")));
}

TEST(WriteSpecTest, ASuperPodWithoutAddressesDoesWithoutRoce) {
  Learned learned("atlas-a3-superpod", "", 2);
  for (int s = 0; s < 2; ++s) {
    learned.ClearAddresses(s, 0, learned.facts[s].devices_size() - 1);
  }
  const WrittenSpec written = learned.Written("atlas-a3-superpod");
  EXPECT_TRUE(Load(written).roce_unused()) << written.yaml;
  EXPECT_THAT(written.pattern, HasSubstr("roce is unused"));
  EXPECT_THAT(Exceptions(written), IsEmpty());
  // A device that did not answer may have an address.
  learned.Set(1, 3, "address {missing {reason: BUSY}}");
  EXPECT_EQ(learned.Write("atlas-a3-superpod")->pattern, "");
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
  const WrittenSpec written = learned.Written();
  EXPECT_THAT(written.yaml, HasSubstr("  - hosts: node[00-02,04-06,08-11]\n"
                                      "    address: 172.16.0.1 + name\n"));
  EXPECT_THAT(written.yaml, HasSubstr("host: 1 + 8*name + d\n"));
  EXPECT_THAT(Found(Load(written), learned.facts), IsEmpty()) << written.yaml;
}

TEST(WriteSpecTest, AddressesAreWrittenAsAddressesAndNotAsNumbers) {
  Learned learned("atlas-a2", "", 4);
  learned.SetDevices(
      "gateway {value: '10.0.255.254'} detect_address {value: '10.0.255.253'}");
  for (int s = 0; s < 4; ++s) {
    learned.Rename(s, absl::StrCat("node", 101 + s));
    for (int d = 0; d < 8; ++d) {
      learned.Setting(s, d).set_netmask("255.255.0.0");
    }
  }
  const WrittenSpec written = learned.Written();
  EXPECT_THAT(written.yaml,
              HasSubstr("    address: 172.16.0.1 + (name - 101)\n"));
  EXPECT_THAT(written.yaml, HasSubstr("  gateway: 10.0.255.254\n"
                                      "  detect_address: 10.0.255.253\n"));
  EXPECT_THAT(written.yaml,
              HasSubstr("# Devices of node101: 10.0.0.1 to 10.0.0.8\n"
                        "# Devices of node104: 10.0.0.25 to 10.0.0.32\n"));
  EXPECT_THAT(Exceptions(written), IsEmpty());
  Load(written);
}

TEST(WriteSpecTest, RacksWithASubnetEachCountByGroup) {
  Learned learned("atlas-a3", "", 6);
  for (int s = 0; s < 6; ++s) {
    learned.Rename(s, absl::StrCat("rack", s / 3 + 1, "n0", s % 3 + 1));
    learned.spec.mutable_servers(s)->set_address(
        absl::StrCat("10.11.", s / 3 + 1, ".", s % 3 + 1));
    for (int d = 0; d < 16; ++d) {
      const std::string subnet = absl::StrCat("10.30.", s / 3);
      learned.Setting(s, d).set_address(
          absl::StrCat(subnet, ".", 1 + 16 * (s % 3) + d));
      const std::string router = "{value: '" + subnet + ".254'}";
      learned.Set(s, d, "gateway " + router + " detect_address " + router);
    }
  }
  const WrittenSpec written = learned.Written("atlas-a3");
  EXPECT_THAT(written.yaml, HasSubstr("hosts: rack1n[01-03]\n"));
  EXPECT_THAT(written.yaml, HasSubstr("subnet: 10.30.0.0/24 + g\n"
                                      "      host: 1 + 16*i + d\n"
                                      "  gateway: 254\n"
                                      "  detect_address: gateway\n"));
  EXPECT_THAT(Exceptions(written), IsEmpty());
  Load(written);
}

TEST(WriteSpecTest, SilentHostsArePlannedByThePatternAndNamed) {
  Learned learned("atlas-a2");
  learned.facts[3] =
      MakeSilentHost("server3", Missing::NO_ANSWER, "gone\nname: evil");
  const WrittenSpec written = learned.Written();
  const ClusterSpec spec = Load(written);
  EXPECT_EQ(spec.servers(3).DebugString(),
            learned.spec.servers(3).DebugString());
  EXPECT_THAT(Exceptions(written),
              ElementsAre("server3: " + Say("spec-gave-no-facts")));
  EXPECT_THAT(written.yaml, Not(HasSubstr("evil")));
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
  const WrittenSpec written = learned.Written();
  EXPECT_THAT(written.yaml, HasSubstr("  addresses:\n    server0: ["));
  EXPECT_THAT(written.pattern, HasSubstr("each is listed"));
  EXPECT_THAT(Exceptions(written), IsEmpty());
  EXPECT_THAT(Found(Load(written), learned.facts), IsEmpty());
}

TEST(WriteSpecTest, PartnersThatWatchEachOtherAreSaidToDoSo) {
  Learned learned("atlas-training", "", 2);
  learned.SetDevices("gateway {value: ''}");
  for (int s = 0; s < 2; ++s) {
    for (int d = 0; d < 8; ++d) {
      learned.device(s, d).mutable_detect_address()->set_value(
          learned.spec.servers(1 - s).devices(d).address());
    }
  }
  const WrittenSpec written = learned.Written();
  EXPECT_THAT(written.yaml, HasSubstr("detect_address: peer(1 - n, d)\n"));
  EXPECT_THAT(written.yaml, Not(HasSubstr("gateway")));
  EXPECT_THAT(Exceptions(written), IsEmpty());
  Load(written);
}

TEST(WriteSpecTest, AGatewayOfOneDeviceAloneIsMentioned) {
  for (const int servers : {1, 4}) {
    Learned learned("atlas-a2", "", servers);
    learned.SetDevices("gateway {value: ''}");
    const std::string router =
        Learned("atlas-a2", "", servers).device(0, 3).gateway().value();
    learned.device(0, 3).mutable_gateway()->set_value(router);
    const WrittenSpec written = learned.Written();
    if (servers == 1) {
      EXPECT_THAT(written.notes, Contains(Tells("spec-note-some-gateways")));
    } else {
      EXPECT_THAT(written.yaml, Not(HasSubstr("gateway:")));
      EXPECT_THAT(Exceptions(written),
                  ElementsAre("server0 device 3: gateway " + router +
                              ", planned none"));
    }
  }
  // Raised kernel values are learned from most of the hosts.
  Learned learned("atlas-a2");
  learned.SetHosts(
      "kernel {somaxconn {value: 4096} tcp_max_syn_backlog {value: 16384}}");
  const WrittenSpec written = learned.Written();
  EXPECT_EQ(Load(written).kernel().tcp_max_syn_backlog(), 16384);
  EXPECT_THAT(written.yaml, Not(HasSubstr("  somaxconn:")));
  EXPECT_THAT(written.notes,
              Contains(Tells("spec-note-kernel", "somaxconn", 4096)));
}

TEST(WriteSpecTest, HostsWithoutAnAddressOfTheirOwnAreLeftOutOrRefused) {
  Learned learned("atlas-a2");
  learned.spec.mutable_servers(1)->set_address("127.0.0.1");
  const WrittenSpec written = learned.Written();
  EXPECT_EQ(Load(written).servers_size(), 4);
  EXPECT_THAT(written.notes, ElementsAre(Tells("server1")));
  learned.spec.mutable_servers(1)->set_address("172.16.0.1");
  EXPECT_THAT(
      learned.Write().status(),
      Tells("msg-learn-one-address", "server0", "server1", "172.16.0.1"));
}

TEST(ChooseProductTest, FactsSettleItOrTheMessageNamesWhatFits) {
  const struct {
    const char* product;
    const char* mode;
    const char* written;
  } kSettled[] = {
      {"atlas-training", "", "product: atlas-training\nmode: smp\n"},
      {"atlas-training", "amp", "product: atlas-training\nmode: amp\n"},
      {"ascend-950", "", "product: ascend-950\n"},
      {"atlas-a2-box16", "", "product: atlas-a2-box16\n"},
  };
  for (const auto& settled : kSettled) {
    EXPECT_THAT(Learned(settled.product, settled.mode).Write()->yaml,
                HasSubstr(settled.written));
  }
  EXPECT_THAT(MessageLines(Learned("atlas-a3").Write().status()),
              ElementsAre(Tells("msg-learn-product", "A3", "devices 0-15",
                                "spec-one-of", "atlas-a3, atlas-a3-superpod")));
  EXPECT_THAT(Learned("atlas-a2").Write("atlas-b2").status(),
              Tells("msg-spec-product", "atlas-b2"));
}

// The comment that is to be filled in loads, for every product and size.
TEST(WriteSpecTest, TheExampleOfDevicesValidates) {
  for (const ProductProfile& profile : AllProductProfiles()) {
    for (const int servers : {1, 2, 40, 300}) {
      SeenCluster seen;
      seen.name = "demo";
      seen.profiles = {&profile};
      for (int i = 0; i < servers; ++i) {
        SeenHost& host = seen.hosts.emplace_back();
        host.name = absl::StrCat("node", 1000 + i);
        // The first network of the example.
        host.address = Ipv4Address(0x0a140001 + i);
      }
      const auto written = WriteSpec(seen).value();
      std::string yaml = written.yaml;
      const size_t at = yaml.find("  # Fill in, for example:\n");
      ASSERT_NE(at, std::string::npos) << yaml;
      yaml = yaml.substr(0, at) +
             absl::StrReplaceAll(
                 yaml.substr(at),
                 {{"  # Fill in, for example:\n", ""}, {"\n  # ", "\n  "}});
      yaml = absl::StrReplaceAll(yaml, {{"devices:\n  # ", "devices:\n  "}});
      const auto spec = LoadSpec("cluster.yaml", yaml);
      ASSERT_TRUE(spec.ok()) << spec.status() << yaml;
      for (const Finding& finding : JudgePlannedAddresses(*spec)) {
        EXPECT_NE(finding.state(), FAIL) << finding.observed() << yaml;
      }
    }
  }
}

}  // namespace
}  // namespace clusterd
