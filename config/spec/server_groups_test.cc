#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "config/spec/device_plan.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A section read, with its mistakes as text.
struct Section {
  explicit Section(absl::string_view text) {
    root = ParseYaml(text, YamlLimits(), &mistakes);
    groups = ReadServerGroups(root.has_value() ? &*root : nullptr, &mistakes);
  }

  // "host=address n/i/g".
  std::vector<std::string> Servers() const {
    std::vector<std::string> servers;
    for (const PlannedServer& server : groups.servers) {
      servers.push_back(absl::StrCat(
          server.host, "=", server.address.ToString(), " ", server.inputs.n,
          "/", server.inputs.i, "/", server.inputs.g));
    }
    return servers;
  }
  std::string Wrong() const {
    return std::string(mistakes.ToStatus().message());
  }

  Mistakes mistakes{"f"};
  std::optional<YamlNode> root;
  ServerGroups groups;
};

TEST(ReadServerGroupsTest, PairsHostsWithAddressesInOrder) {
  const Section section(
      "- hosts: server[0-1]\n  address: 192.168.7.[22-23]\n"
      "- hosts: [login, n1]\n  address: [10.0.0.1, 10.0.0.9]\n");
  EXPECT_EQ(section.Wrong(), "");
  EXPECT_THAT(
      section.Servers(),
      ElementsAre("server0=192.168.7.22 0/0/0", "server1=192.168.7.23 1/1/0",
                  "login=10.0.0.1 2/0/1", "n1=10.0.0.9 3/1/1"));
  EXPECT_TRUE(section.groups.complete);
  EXPECT_EQ(section.groups.servers[3].inputs.servers, 4);
}

TEST(ReadServerGroupsTest, FormulasKnowServerGroupAndTheirNumber) {
  const Section section(
      "- hosts: a[0-1]\n  address: 10.0.0.1 + n\n"
      "- hosts: b[0-1]\n  address: 10.1.0.1 + i + 100*g + servers\n");
  EXPECT_EQ(section.Wrong(), "");
  EXPECT_THAT(section.Servers(),
              ElementsAre("a0=10.0.0.1 0/0/0", "a1=10.0.0.2 1/1/0",
                          "b0=10.1.0.105 2/0/1", "b1=10.1.0.106 3/1/1"));
}

TEST(ReadServerGroupsTest, WantsAListOfGroups) {
  EXPECT_EQ(Section("hosts: a\n").Wrong(),
            "f:1:1: servers is a mapping, expected a list of groups with hosts "
            "and address");
  EXPECT_THAT(Section("[]").Wrong(), HasSubstr("servers is empty"));
  EXPECT_THAT(Section("~").Wrong(), HasSubstr("servers is nothing"));
  EXPECT_THAT(Section("[a]").Wrong(),
              HasSubstr("servers[0] is \"a\", expected a mapping with hosts"));
}

TEST(ReadServerGroupsTest, AnAbsentSectionIsForTheCaller) {
  Mistakes mistakes("f");
  const ServerGroups groups = ReadServerGroups(nullptr, &mistakes);
  EXPECT_THAT(groups.servers, IsEmpty());
  EXPECT_FALSE(groups.complete);
  EXPECT_TRUE(mistakes.empty());
}

TEST(ReadServerGroupsTest, NamesMissingAndUnknownKeys) {
  EXPECT_EQ(Section("- host: a\n").Wrong(),
            "f:1:3: unknown key \"host\" in servers[0], expected hosts, "
            "address, rack, did you mean \"hosts\"?\n"
            "f:1:3: servers[0].hosts is missing\n"
            "f:1:3: servers[0].address is missing");
}

TEST(ReadServerGroupsTest, EveryHostOfAGroupStandsInItsRack) {
  const Section section(
      "- hosts: a[0-1]\n  address: 10.0.0.1 + n\n  rack: hall-2/r01\n"
      "- hosts: b\n  address: 10.0.0.9\n");
  EXPECT_EQ(section.Wrong(), "");
  EXPECT_EQ(section.groups.servers[0].rack, "hall-2/r01");
  EXPECT_EQ(section.groups.servers[1].rack, "hall-2/r01");
  EXPECT_EQ(section.groups.servers[2].rack, "");
  for (const std::string& rack :
       {std::string("r 1"), std::string("\"\""), std::string("-r1"),
        std::string("[r1]"), std::string("\"<b>\""), std::string(65, 'r')}) {
    EXPECT_THAT(Section(absl::StrCat("- hosts: a\n  address: 10.0.0.1\n",
                                     "  rack: ", rack, "\n"))
                    .Wrong(),
                HasSubstr("servers[0].rack"))
        << rack;
  }
}

TEST(ReadServerGroupsTest, NamesHostsThatStandTwiceWithBothPlaces) {
  const Section section(
      "- hosts: n[1-3]\n  address: 10.0.0.[1-3]\n"
      "- hosts: n[3-4]\n  address: 10.0.1.[1-2]\n");
  EXPECT_EQ(section.Wrong(), "f:3:10: host \"n3\" stands twice, first at 1:10");
}

TEST(ReadServerGroupsTest, WantsOneAddressPerHost) {
  EXPECT_EQ(Section("- hosts: n[1-3]\n  address: 10.0.0.[1-2]\n").Wrong(),
            "f:2:12: servers[0].address has 2 addresses, expected 3, one per "
            "host");
  EXPECT_THAT(Section("- hosts: n[1-3]\n  address: 10.0.0.1\n").Wrong(),
              HasSubstr("has 1 address, expected 3"));
  EXPECT_THAT(Section("- hosts: n1\n  address: [10.0.0.1, 10.0.0.2]\n").Wrong(),
              HasSubstr("has 2 addresses, expected 1"));
}

TEST(ReadServerGroupsTest, QuotesMalformedHostsAndAddresses) {
  const Section section(
      "- hosts: n[1-\n  address: 10.0.0.1\n"
      "- hosts: m1\n  address: 10.0.0.300\n"
      "- hosts: [m2, {a: b}]\n  address: 10.0.0.4\n"
      "- hosts: m3\n  address: [x]\n"
      "- hosts: []\n  address: 10.0.0.4\n");
  EXPECT_THAT(section.Wrong(), HasSubstr("f:1:10: servers[0].hosts: hostlist: "
                                         "\"n[1-\" has an open bracket"));
  EXPECT_THAT(section.Wrong(), HasSubstr("f:4:12: servers[1].address: address "
                                         "\"10.0.0.300\" is not IPv4"));
  EXPECT_THAT(section.Wrong(), HasSubstr("f:5:15: servers[2].hosts is a "
                                         "mapping, expected text"));
  EXPECT_THAT(section.Wrong(), HasSubstr("f:8:13: servers[3].address: address "
                                         "\"x\" is not IPv4"));
  EXPECT_THAT(section.Wrong(), HasSubstr("f:9:10: servers[4].hosts is empty"));
  EXPECT_FALSE(section.groups.complete);
}

TEST(ReadServerGroupsTest, RefusesAddressesNoServerCanHave) {
  for (absl::string_view address :
       {"0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255"}) {
    EXPECT_THAT(
        Section(absl::StrCat("- hosts: a\n  address: ", address, "\n")).Wrong(),
        HasSubstr("expected a host's address"))
        << address;
  }
}

TEST(ReadServerGroupsTest, RefusesFormulasThatLeaveIpv4) {
  EXPECT_EQ(
      Section("- hosts: n[0-9]\n  address: 223.255.255.250 + 2147483648*n\n")
          .Wrong(),
      "f:2:12: n1: address \"223.255.255.250 + 2147483648*n\" leads out of "
      "IPv4");
}

TEST(ReadServerGroupsTest, BoundsTheNumberOfServers) {
  EXPECT_THAT(
      Section("- hosts: n[0-131072]\n  address: 10.0.0.1 + n\n").Wrong(),
      HasSubstr("is too long, expected at most 131072 names"));
}

// The mistakes of ValuesByServer about a mapping with servers n0, n1, n2.
std::string MappingMistakes(absl::string_view text, bool complete = true) {
  Section section("- hosts: n[0-2]\n  address: 10.0.0.1 + n\n");
  section.groups.complete = complete;
  const std::optional<YamlNode> root =
      ParseYaml(text, YamlLimits(), &section.mistakes);
  const std::vector<const YamlNode*> values = ValuesByServer(
      YamlValue(&*root, "addresses", &section.mistakes), section.groups);
  EXPECT_EQ(values.size(), 3u);
  return section.Wrong();
}

TEST(ValuesByServerTest, WantsExactlyTheServers) {
  EXPECT_EQ(MappingMistakes("{n0: a, n2: b, n1: c}"), "");
  EXPECT_EQ(MappingMistakes("{n0: a}"),
            "f:1:1: addresses has nothing for n[1-2]");
  EXPECT_EQ(MappingMistakes("{n0: a, n1: b, colour: c}"),
            "f:1:1: addresses has nothing for n2\n"
            "f:1:16: addresses: host \"colour\" is in no group of servers");
}

TEST(ValuesByServerTest, OneSlipIsOneMistake) {
  EXPECT_EQ(MappingMistakes("n0: a\nn1: b\nn22: c\n"),
            "f:3:1: addresses: host \"n22\" is in no group of servers, did you "
            "mean \"n2\"?");
}

TEST(ValuesByServerTest, SaysNothingWhenAGroupCouldNotBeRead) {
  EXPECT_EQ(MappingMistakes("{n0: a, x9: b}", false), "");
}

}  // namespace
}  // namespace clusterd
