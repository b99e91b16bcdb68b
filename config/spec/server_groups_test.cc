#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "config/spec/device_plan.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::IsEmpty;

// A section read, with its mistakes.
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
  absl::Status Wrong() const { return mistakes.ToStatus(); }

  Mistakes mistakes{"f"};
  std::optional<YamlNode> root;
  ServerGroups groups;
};

TEST(ReadServerGroupsTest, PairsHostsWithAddressesInOrder) {
  const Section section(
      "- hosts: server[0-1]\n  address: 192.168.7.[22-23]\n"
      "- hosts: [login, n1]\n  address: [10.0.0.1, 10.0.0.9]\n");
  EXPECT_EQ(section.Wrong(), absl::OkStatus());
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
  EXPECT_EQ(section.Wrong(), absl::OkStatus());
  EXPECT_THAT(section.Servers(),
              ElementsAre("a0=10.0.0.1 0/0/0", "a1=10.0.0.2 1/1/0",
                          "b0=10.1.0.105 2/0/1", "b1=10.1.0.106 3/1/1"));
}

absl::Status WrongIn(absl::string_view text) { return Section(text).Wrong(); }

TEST(ReadServerGroupsTest, NamesWhatIsWrong) {
  const std::vector<Refused> kRefused = {
      {"hosts: a\n",
       Tells("f:1:1: ", "servers", "spec-a-mapping", "spec-groups")},
      {"[]", Tells("servers", "spec-empty")},
      {"~", Tells("servers", "spec-nothing")},
      {"[a]", Tells("servers[0]", "\"a\"", "spec-mapping-with")},
      {"- hosts: n[1-3]\n  address: 10.0.0.1\n",
       Tells("msg-spec-address-count", "servers[0].address", 1, 3)},
      {"- hosts: n1\n  address: [10.0.0.1, 10.0.0.2]\n",
       Tells("msg-spec-address-count", "servers[0].address", 2, 1)},
      {"- hosts: n[0-131072]\n  address: 10.0.0.1 + n\n",
       Tells("value-hosts-too-many", "n[0-131072]", 131072)},
      {"- hosts: a\n  address: 127.0.0.1\n", Tells("value-loopback")},
      {"- hosts: a\n  address: 255.255.255.255\n", Tells("value-class-e")},
  };
  ExpectEach(WrongIn, kRefused);
}

TEST(ReadServerGroupsTest, SaysNothingElse) {
  const std::vector<Refused> kRefused = {
      {"- hosts: n[1-3]\n  address: 10.0.0.[1-3]\n"
       "- hosts: n[3-4]\n  address: 10.0.1.[1-2]\n",
       Tells("f:3:10: ", "msg-spec-host-twice", "\"n3\"", "1:10")},
      {"- hosts: n[1-3]\n  address: 10.0.0.[1-2]\n",
       Tells("f:2:12: ", "msg-spec-address-count", "servers[0].address", 2, 3,
             "spec-one-per-host")},
      {"- hosts: n[0-9]\n  address: 223.255.255.250 + 2147483648*n\n",
       Tells("f:2:12: ", "n1", "value-address-outside",
             "223.255.255.250 + 2147483648*n")},
  };
  ExpectEachAlone(WrongIn, kRefused);
  // An absent section is for the caller.
  Mistakes mistakes("f");
  const ServerGroups groups = ReadServerGroups(nullptr, &mistakes);
  EXPECT_THAT(groups.servers, IsEmpty());
  EXPECT_FALSE(groups.complete);
  EXPECT_TRUE(mistakes.empty());
  // Names missing and unknown keys.
  EXPECT_THAT(
      MessageLines(Section("- host: a\n").Wrong()),
      ElementsAre(
          Tells("f:1:3: ", "msg-spec-unknown-key", "\"host\"", "servers[0]",
                "hosts, address, rack", "did-you-mean", "hosts"),
          Tells("f:1:3: ", "msg-spec-missing", "servers[0].hosts"),
          Tells("f:1:3: ", "msg-spec-missing", "servers[0].address")));
}

TEST(ReadServerGroupsTest, EveryHostOfAGroupStandsInItsRack) {
  const Section section(
      "- hosts: a[0-1]\n  address: 10.0.0.1 + n\n  rack: hall-2/r01\n"
      "- hosts: b\n  address: 10.0.0.9\n");
  EXPECT_EQ(section.Wrong(), absl::OkStatus());
  EXPECT_EQ(section.groups.servers[0].rack, "hall-2/r01");
  EXPECT_EQ(section.groups.servers[1].rack, "hall-2/r01");
  EXPECT_EQ(section.groups.servers[2].rack, "");
  for (const std::string& rack :
       {std::string("r 1"), std::string("\"\""), std::string("-r1"),
        std::string("[r1]"), std::string("\"<b>\""), std::string(65, 'r')}) {
    EXPECT_THAT(Section(absl::StrCat("- hosts: a\n  address: 10.0.0.1\n",
                                     "  rack: ", rack, "\n"))
                    .Wrong(),
                Tells("servers[0].rack"))
        << rack;
  }
}

TEST(ReadServerGroupsTest, QuotesMalformedHostsAndAddresses) {
  const Section section(
      "- hosts: n[1-\n  address: 10.0.0.1\n"
      "- hosts: m1\n  address: 10.0.0.300\n"
      "- hosts: [m2, {a: b}]\n  address: 10.0.0.4\n"
      "- hosts: m3\n  address: [x]\n"
      "- hosts: []\n  address: 10.0.0.4\n");
  EXPECT_THAT(
      MessageLines(section.Wrong()),
      ElementsAre(
          Tells("f:1:10: ", "servers[0].hosts", "value-hosts-open", "n[1-"),
          Tells("f:4:12: ", "servers[1].address", "value-ipv4", "10.0.0.300"),
          Tells("f:5:15: ", "servers[2].hosts", "spec-a-mapping", "spec-text"),
          Tells("f:8:13: ", "servers[3].address", "value-ipv4", "x"),
          Tells("f:9:10: ", "servers[4].hosts", "spec-empty")));
  EXPECT_FALSE(section.groups.complete);
}

// The mistakes of ValuesByServer about a mapping with servers n0, n1, n2.
std::vector<FindingValue> MappingMistakes(absl::string_view text,
                                          bool complete = true) {
  Section section("- hosts: n[0-2]\n  address: 10.0.0.1 + n\n");
  section.groups.complete = complete;
  const std::optional<YamlNode> root =
      ParseYaml(text, YamlLimits(), &section.mistakes);
  const std::vector<const YamlNode*> values = ValuesByServer(
      YamlValue(&*root, "addresses", &section.mistakes), section.groups);
  EXPECT_EQ(values.size(), 3u);
  return MessageLines(section.Wrong());
}

TEST(ValuesByServerTest, WantsExactlyTheServersAndOneSlipIsOneMistake) {
  EXPECT_THAT(MappingMistakes("{n0: a, n2: b, n1: c}"), IsEmpty());
  EXPECT_THAT(MappingMistakes("{n0: a}"),
              ElementsAre(Tells("f:1:1: ", "msg-spec-nothing-for", "addresses",
                                "n[1-2]")));
  EXPECT_THAT(
      MappingMistakes("{n0: a, n1: b, colour: c}"),
      ElementsAre(Tells("f:1:1: ", "msg-spec-nothing-for", "addresses", "n2"),
                  Tells("f:1:16: ", "msg-spec-unknown-host", "addresses",
                        "\"colour\"")));
  EXPECT_THAT(MappingMistakes("n0: a\nn1: b\nn22: c\n"),
              ElementsAre(Tells("f:3:1: ", "msg-spec-unknown-host", "addresses",
                                "\"n22\"", "did-you-mean", "n2")));
  // Says nothing when a group could not be read.
  EXPECT_THAT(MappingMistakes("{n0: a, x9: b}", false), IsEmpty());
}

}  // namespace
}  // namespace clusterd
