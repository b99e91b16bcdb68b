#include "config/spec/device_plan.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::Contains, ::testing::ElementsAre, ::testing::StartsWith;

// A `devices` section read for servers n0, n1, … of 10.99.0.1, 10.99.0.2, ….
struct Section {
  Section(absl::string_view product, int servers, absl::string_view text) {
    const size_t slash = product.find('/');
    const absl::string_view mode =
        slash == absl::string_view::npos ? "" : product.substr(slash + 1);
    if (!product.empty()) {
      profile = *FindProductProfile(product.substr(0, slash), mode);
    }
    for (int n = 0; n < servers; ++n) {
      PlannedServer server;
      server.host = absl::StrCat("n", n);
      server.inputs.n = server.inputs.i = n;
      server.inputs.servers = servers;
      server.address = Ipv4Address(0x0a630001 + static_cast<uint32_t>(n));
      groups.servers.push_back(server);
    }
    root = ParseYaml(text, YamlLimits(), &mistakes);
    plan = ReadDevicePlan(root.has_value() ? &*root : nullptr, profile, groups,
                          &mistakes);
  }

  absl::Status Wrong() const { return mistakes.ToStatus(); }

  const ProductProfile* profile = nullptr;
  Mistakes mistakes{"f"};
  ServerGroups groups;
  std::optional<YamlNode> root;
  DevicePlan plan;
};

// The mistakes of an A2 plan of two servers.
absl::Status A2(absl::string_view text) {
  return Section("atlas-a2", 2, text).Wrong();
}

constexpr char kRail[] =
    "rails: [{device: 0-7, subnet: 10.20.0.0/24, host: 1 + 8*n + d}]\n";

// Expects a good plan: "ids 1,4 of 4 devices", and devices "n0:4 10.20.0.2/24
// via 10.20.0.254 detect none (leaf-0)". Lines may be shorter.
void ExpectGood(absl::string_view product, int servers, absl::string_view text,
                const std::vector<const char*>& lines) {
  const Section section(product, servers, text);
  ASSERT_EQ(section.Wrong(), absl::OkStatus());
  std::vector<std::string> all = {
      absl::StrCat("ids ", absl::StrJoin(section.plan.ids, ","), " of ",
                   section.plan.devices.size(), " devices")};
  const auto address = [](const std::optional<Ipv4Address>& of) {
    return of.has_value() ? of->ToString() : "none";
  };
  for (const PlannedDevice& device : section.plan.devices) {
    all.push_back(absl::StrCat(
        device.server->host, ":", device.id, " ", device.address->ToString(),
        " via ", address(device.gateway), " detect ",
        address(device.detect_address), " (", device.switch_name, ")"));
  }
  for (const char* line : lines) EXPECT_THAT(all, Contains(StartsWith(line)));
}

TEST(ReadDevicePlanTest, ReadsListsInTheOrderOfDeviceIds) {
  ExpectGood("atlas-300t", 2,
             "ids: 1,4\nnetmask: 255.255.255.0\n"
             "addresses: {n0: [10.20.0.1, 10.20.0.2], n1: \"10.20.0.[3-4]\"}\n",
             {"ids 1,4 of ", "n0:4 10.20.0.2/24 ", "n1:1 10.20.0.3/24 "});
}

TEST(ReadDevicePlanTest, ReadsFormulasPerHost) {
  ExpectGood("atlas-a2", 2,
             "netmask: 255.255.255.0\n"
             "addresses: {n0: 10.20.0.1 + d, n1: 10.20.0.101 + d}\n",
             {"n0:7 10.20.0.8/24 ", "n1:7 10.20.0.108/24 "});
}

TEST(ReadDevicePlanTest, RailsGenerateAddresses) {
  ExpectGood("atlas-training", 2, R"(rails:
  - {device: 0-3, subnet: "192.168.[100-103].0/24", host: 101+10*n}
  - {device: 4-7, subnet: "192.168.[100-103].0/24", host: 100+10*n})",
             {"n0:0 192.168.100.101/24 ", "n0:7 192.168.103.100/24 ",
              "n1:2 192.168.102.111/24 "});
}

TEST(ReadDevicePlanTest, RailsGiveEveryServerItsSubnet) {
  ExpectGood("atlas-training/amp", 3,
             "rails: [{device: 0-7, subnet: 10.20.0.0/28 + n, host: 1 + d}]\n"
             "gateway: 14\n",
             {"n2:7 10.20.0.40/28 via 10.20.0.46 "});
}

TEST(ReadDevicePlanTest, RailsOfAProductWithoutFixedIdsNameThem) {
  ExpectGood("atlas-300t", 1,
             "rails: [{device: \"1,4\", subnet: 10.0.0.0/24, host: 10 + d}]\n",
             {"ids 1,4 of ", "n0:4 10.0.0.14/24 "});
}

TEST(ReadDevicePlanTest, IdsMayBeFewerThanTheProducts) {
  ExpectGood("atlas-a2", 1, R"(ids: 0-3
rails: [{device: 0-3, subnet: 10.0.0.0/24, host: 1 + d}])",
             {"ids 0,1,2,3 of "});
}

TEST(ReadDevicePlanTest, GatewayAndDetectAddressInEverySpelling) {
  ExpectGood("atlas-300t", 2, R"y(ids: 0-1
netmask: 255.255.255.0
addresses: {n0: [10.0.0.1, 10.0.1.1], n1: [10.0.0.2, 10.0.1.2]}
gateway: {n0: [254, none], n1: "10.0.[0-1].253"}
detect_address: {n0: [gateway, 10.0.1.9], n1: "peer(n-1, 1-d)"})y",
             {"n0:0 10.0.0.1/24 via 10.0.0.254 detect 10.0.0.254 ",
              "n0:1 10.0.1.1/24 via none detect 10.0.1.9 ",
              "n1:0 10.0.0.2/24 via 10.0.0.253 detect 10.0.1.1 ",
              "n1:1 10.0.1.2/24 via 10.0.1.253 "});
}

TEST(ReadDevicePlanTest, NothingIsDetectedWhereNothingIsSaid) {
  ExpectGood("atlas-a2", 1, absl::StrCat(kRail, "gateway: none\n"),
             {"n0:0 10.20.0.1/24 via none detect none "});
}

TEST(ReadDevicePlanTest, LetsHostsHaveIdsOfTheirOwn) {
  ExpectGood("atlas-a2", 3, R"y(ids: {"n[1-2]": "2,5"}
netmask: 255.255.255.0
addresses:
  n0: 10.20.0.[1-8]
  n1: [10.20.0.11, 10.20.0.12]
  n2: 10.20.0.20 + d
gateway: {n0: 254, n1: [253, none], n2: 254}
detect_address: [none, none, "peer((n+1) % servers, d)", none, none, none, none,
                 10.20.0.254]
switch: {n0: leaf-0, n1: [leaf-1, none], n2: none})y",
             {"ids 0,1,2,3,4,5,6,7 of 12 devices",
              "n0:7 10.20.0.8/24 via 10.20.0.254 detect 10.20.0.254 (leaf-0)",
              "n1:2 10.20.0.11/24 via 10.20.0.253 detect 10.20.0.22 (leaf-1)",
              "n1:5 10.20.0.12/24 via none detect none ()",
              "n2:2 10.20.0.22/24 via 10.20.0.254 detect 10.20.0.3 ",
              "n2:5 10.20.0.25/24 "});
}

TEST(ReadDevicePlanTest, PutsHostsWithIdsOfTheirOwnOnTheirRails) {
  ExpectGood(
      "atlas-300t", 2, R"(ids: {n0: "1,4", n1: 0-1}
rails: [{device: "0,1,4", subnet: 10.20.0.0/24, host: 1 + 8*n + d}])",
      {"ids 0,1,4 of 4 devices", "n0:4 10.20.0.5/24 ", "n1:0 10.20.0.9/24 "});
  // An absent section is for the caller.
  Mistakes mistakes("f");
  ReadDevicePlan(nullptr, nullptr, {}, &mistakes);
  EXPECT_TRUE(mistakes.empty());
}

TEST(ReadDevicePlanTest, RefusesWhatIsNoPlan) {
  const std::string listed = "\naddresses: {n0: 10.0.0.1+d, n1: 10.0.0.11+d}\n";
  const std::vector<Refused> kRefused = {
      {"[a]", Tells("devices", "spec-a-list", "spec-mapping-with")},
      {"netmask: 255.255.255.0\n", Tells("msg-spec-no-addresses")},
      {"netmask: 255.255.255.0\naddresses: {n0: []}\nrails: []\n",
       Tells("f:3:8: ", "msg-spec-addresses-and-rails")},
      {"addresses: {n0: 10.0.0.1 + d, n1: 10.0.0.9 + d}\n",
       Tells("msg-spec-netmask-missing", "devices.netmask")},
      {"netmask: 255.255.255.0\naddresses: [10.0.0.1]\n",
       Tells("devices.addresses", "spec-a-list", "spec-mapping-of-hosts")},
      // A wrong netmask is named also without addresses.
      {"netmask: 255.0.255.0\n", Tells("value-netmask-hole", "255.0.255.0")},
      {"netmask: [255.0.255.0]\n", Tells("value-netmask-hole", "255.0.255.0")},
      {"netmask: 255.0.255.0\naddresses: {n0: []}\nrails: []\n",
       Tells("value-netmask-hole", "255.0.255.0")},
      {"netmask: 255.0.255.0" + listed, Tells("value-netmask-hole")},
      {"netmask: 24" + listed,
       Tells("f:1:10: ", "devices.netmask", "value-netmask", "24")},
      {"netmask: 0.0.0.0" + listed, Tells("msg-spec-netmask", "\"0.0.0.0\"")},
      {"netmask: 255.255.255.254" + listed,
       Tells("msg-spec-netmask", "\"255.255.255.254\"")},
      {"netmask: [255.255.255.0]" + listed,
       Tells("msg-spec-entry-count", "devices.netmask", 1, 8)},
      {"netmask: {a: b}" + listed, Tells("devices.netmask", "spec-a-mapping")},
      {"rails: []\n", Tells("devices.rails", "spec-empty", "spec-rails")},
      {"rails: {device: 0}\n",
       Tells("devices.rails", "spec-a-mapping", "spec-rails")},
      {"rails: [{device: 8, subnet: 10.0.0.0/24, host: 1}]\n",
       Tells("msg-spec-no-such-device", "devices.rails[0].device", "atlas-a2",
             8)},
      {"rails: [{device: 0-5, subnet: 10.0.0.0/24, host: 1+d}]\n",
       Tells("msg-spec-no-rail", "devices.rails", "6,7")},
      {"rails: [{device: 0-7, subnet: 10.0.0.0/24, host: 1+d},\n"
       "        {device: 7, subnet: 10.0.0.0/24, host: 99}]\n",
       Tells("msg-spec-device-in-two-rails", "devices.rails", 7)},
      {"rails: [{device: a, subnet: 10.0.0.0, host: 1+x}]\n",
       Tells("devices.rails[0].device", "value-number", "a")},
      {"rails: [{device: a, subnet: 10.0.0.0, host: 1+x}]\n",
       Tells("value-subnet-prefix", "10.0.0.0")},
      {"rails: [{device: a, subnet: 10.0.0.0, host: 1+x}]\n",
       Tells("value-formula-has", "1+x", "x")},
      {"rails: [{device: 0-7, subnet: \"10.0.[0-2].0/24\", host: 1}]\n",
       Tells("msg-spec-subnet-count", "devices.rails[0].subnet", 3, 8)},
      {"rails: [{device: 0-7, subnet: 10.0.0.0/24, host: d}]\n",
       Tells("n0 device 0", "value-host-network", 0)},
      {"rails: [{device: 0-7, subnet: 255.0.0.0/8 + n, host: 1+d}]\n",
       Tells("value-subnet-outside")},
      {"rails: [{device: 0-7, subnet: 10.0.0.0/8, host: 1/n}]\n",
       Tells("value-formula-zero", "1/n")},
  };
  ExpectEach(A2, kRefused);
}

TEST(ReadDevicePlanTest, RefusesWhatDoesNotFitItsRail) {
  const auto beside_rail = [](absl::string_view text) {
    return A2(absl::StrCat(kRail, text, "\n"));
  };
  const std::vector<Refused> kRefused = {
      {"ids: {n7: 0-3}",
       Tells("msg-spec-unknown-host", "devices.ids", "\"n7\"")},
      {"ids: {n0: 0-3, \"n[0-1]\": 0-3}",
       Tells("msg-spec-ids-twice", "devices.ids", "\"n0\"")},
      {"ids: {\"n[0-\": 0-3}",
       Tells("f:2:7: ", "devices.ids", "value-hosts-open", "n[0-")},
      {"ids: {n0: 6-9}",
       Tells("msg-spec-no-such-device", "devices.ids", "n0", "atlas-a2", 8)},
      {"ids: 0-8", Tells("f:2:6: ", "msg-spec-no-such-device", "devices.ids",
                         "atlas-a2", 8, 0, 7)},
      {"ids: 0-", Tells("devices.ids", "value-number", "0-")},
      {"ids: 0,0", Tells("devices.ids", "value-id-twice", "0,0", 0)},
      {"ids: 0-6", Tells("msg-spec-rail-without-ids", "devices.rails")},
      {"switch: \"leaf 1\"", Tells("msg-spec-switch", "\"leaf 1\"")},
      {"switch: [leaf-1, leaf-2]",
       Tells("msg-spec-entry-count", "devices.switch", 2, 8)},
      {"gateway: 10.30.0.1",
       Tells("f:2:10: ", "n0 device 0", "gateway", "msg-spec-address-outside",
             "10.30.0.1", "10.20.0.0/24", 15)},
      {"gateway: 255", Tells("value-host-broadcast", 255, "10.20.0.0/24")},
      {"gateway: 10.20.0.0", Tells("value-network-address", "10.20.0.0")},
      {"gateway: 1 + 8*n + d", Tells("msg-spec-gateway-own", "10.20.0.1")},
      {"gateway: [16, none, none, none, none, none, none, none]",
       Tells("msg-spec-address-is-gateway", "n1 device 7", "10.20.0.16",
             "n0 device 0")},
      {"gateway: 10.20.0.[1-3]",
       Tells("msg-spec-source-count", "\"10.20.0.[1-3]\"", 3, 8)},
      {"gateway: [1, 2]",
       Tells("msg-spec-entry-count", "devices.gateway", 2, 8)},
      {"gateway: {n0: 254, n9: 254}",
       Tells("msg-spec-unknown-host", "devices.gateway", "\"n9\"")},
      {"gateway: {n0: 254, n1: {a: b}}",
       Tells("devices.gateway", "n1", "spec-a-mapping", "spec-a-list")},
      {"gateway:", Tells("devices.gateway", "spec-nothing", "spec-text")},
      {"gateway: 10.20.0.300",
       Tells("devices.gateway", "value-ipv4", "10.20.0.300")},
      {"detect_address: gateway",
       Tells("f:2:17: ", "n0 device 0", "detect_address", "msg-spec-no-gateway",
             15)},
      {"detect_address: peer(n, d)", Tells("msg-spec-detect-own", "10.20.0.1")},
      {"detect_address: 10.30.0.1",
       Tells("msg-spec-detect-outside", "10.30.0.1", "10.20.0.0/24")},
      {"detect_address: 0.0.0.0", Tells("value-this-network", "0.0.0.0")},
      {"gateway: 254\ndetect_address: 192.168.1.7",
       Tells("msg-spec-address-reserved", "192.168.1.7", "192.168.1.0/24")},
      {"detect_address: peer(n+1, d)",
       Tells("n1 device 0", "detect_address", "msg-spec-no-peer-server", 2, 1)},
      {"detect_address: peer(1-n, d+1)",
       Tells("n0 device 7", "detect_address", "msg-spec-no-peer-device", 8)},
      {"detect_address: peer(n)", Tells("msg-spec-peer", "\"peer(n)\"")},
      {"detect_address: peer(x, d)", Tells("value-formula-has", "x", "x")},
  };
  ExpectEach(beside_rail, kRefused);
  EXPECT_EQ(A2(absl::StrCat(kRail, "netmask: 255.255.255.0\n")),
            absl::OkStatus());
  EXPECT_EQ(
      A2(absl::StrCat(kRail, "gateway: 254\ndetect_address: 10.30.0.1\n")),
      absl::OkStatus());
}

// One mistake does not breed others, and one line is one mistake.
TEST(ReadDevicePlanTest, SaysNothingElse) {
  const std::vector<Refused> kRefused = {
      {"~",
       Tells("f:1:1: ", "devices", "spec-empty", "spec-addresses-or-rails")},
      {absl::StrCat(kRail, "netmask: 255.255.0.0\n"),
       Tells("f:2:10: ", "msg-spec-rail-netmask", "devices.rails[0]",
             "255.255.255.0", 7)},
      {"rails: [{device: 0-7, subnet: 10.20.0.0/24, host: 1 + d}]\n",
       Tells("f:1:51: ", "msg-spec-address-twice", "n1 device 0", "10.20.0.1",
             "n0 device 0", "1:51", 7)},
      {absl::StrCat(kRail, "gateway: gateway\n"),
       Tells("f:2:10: ", "devices.gateway", "msg-spec-source", "\"gateway\"")},
      // An unreadable gateway is not reported as missing as well.
      {absl::StrCat(kRail, "gateway: x\ndetect_address: gateway\n"),
       Tells("f:2:10: ", "devices.gateway", "msg-spec-source", "\"x\"")},
      // Without a mask subnets are unknown.
      {"netmask: 255.0.255.0\n"
       "addresses: {n0: 10.0.0.1 + d, n1: 10.0.0.11 + d}\n"
       "gateway: 254\ndetect_address: gateway\n",
       Tells("f:1:10: ", "devices.netmask", "value-netmask-hole",
             "255.0.255.0")},
      // The same without addresses.
      {"rails: [{device: 0-7, subnet: x, host: 1+d}]\n"
       "gateway: 254\ndetect_address: gateway\n",
       Tells("f:1:31: ", "devices.rails[0].subnet", "value-subnet-prefix", "x",
             "1-30")},
  };
  ExpectEachAlone(A2, kRefused);
}

TEST(ReadDevicePlanTest, WantsOneAddressPerDevice) {
  EXPECT_THAT(
      MessageLines(A2("netmask: 255.255.255.0\n"
                      "addresses:\n  n0: [10.0.0.1, 10.0.0.2]\n"
                      "  n1: 10.0.0.[3-11]\n")),
      ElementsAre(
          Tells("f:3:7: ", "msg-spec-address-count", "n0", "spec-addresses", 2,
                8, "spec-one-per-device", "0,1,2,3,4,5,6,7"),
          Tells("f:4:7: ", "msg-spec-address-count", "n1", "spec-addresses", 9,
                8, "spec-one-per-device", "0,1,2,3,4,5,6,7")));
  // Quotes malformed addresses.
  const Section section("atlas-300t", 3,
                        "ids: 0-1\nnetmask: 255.255.255.0\naddresses:\n"
                        "  n0: [10.20.0.300, {a: b}]\n"
                        "  n1: 10.20.[0-1\n"
                        "  n2: {a: b}\n");
  EXPECT_THAT(
      MessageLines(section.Wrong()),
      ElementsAre(
          Tells("f:4:8: ", "n0 device 0", "value-ipv4", "10.20.0.300"),
          Tells("f:4:21: ", "n0 device 1", "spec-a-mapping", "spec-text"),
          Tells("f:5:7: ", "n1", "value-address-malformed", "10.20.[0-1",
                "value-octet-open", "[0-1"),
          Tells("f:6:7: ", "n2", "spec-a-mapping", "spec-text")));
}

TEST(ReadDevicePlanTest, ProductsWithoutFixedIdsMustNameThem) {
  const auto of_card = [](absl::string_view text) {
    return Section("atlas-300t", 2, text).Wrong();
  };
  const std::vector<Refused> kRefused = {
      {"netmask: 255.255.255.0\naddresses: {n0: [10.0.0.1]}\n",
       Tells("msg-spec-ids-missing", "devices.ids", "atlas-300t")},
      {"rails: [{device: 0-16, subnet: 10.0.0.0/24, host: 1+d}]\n",
       Tells("msg-spec-too-many-devices", "devices.rails", 17, 16)},
      {"ids: 0-16\nnetmask: 255.255.255.0\naddresses: {n0: []}\n",
       Tells("msg-spec-too-many-devices", "devices.ids", 17, 16)},
      {absl::StrCat("ids: {n0: 0-7}\n", kRail),
       Tells("msg-spec-no-ids-for", "devices.ids", "n1")},
  };
  ExpectEach(of_card, kRefused);
  // Without a product the lists are still looked at.
  EXPECT_THAT(
      MessageLines(
          Section("", 1,
                  "netmask: 255.255.255.0\naddresses: {n0: [10.0.0.1, x]}\n")
              .Wrong()),
      ElementsAre(Tells("f:2:28: ", "n0 device 1", "value-ipv4", "x")));
}

TEST(ReadDevicePlanTest, RailsWantTheirKeysAndARailThatOverflowsIsOneMistake) {
  EXPECT_THAT(
      MessageLines(A2("rails: [{device: 0-7, subnt: 10.0.0.0/24}]\n")),
      ElementsAre(
          Tells("f:1:9: ", "msg-spec-missing", "devices.rails[0].subnet"),
          Tells("f:1:9: ", "msg-spec-missing", "devices.rails[0].host"),
          Tells("f:1:23: ", "msg-spec-unknown-key", "\"subnt\"",
                "devices.rails[0]", "device, subnet, host", "did-you-mean",
                "subnet")));
  EXPECT_THAT(MessageLines(Section("atlas-a2", 1152, kRail).Wrong()),
              ElementsAre(Tells("f:1:51: ", "devices.rails[0]", "n31 device 6",
                                "value-host-broadcast", 255, "10.20.0.0/24",
                                254, 8961)));
  // Refuses addresses no device can have.
  const absl::Status wrong =
      Section("atlas-300t", 1,
              "ids: 0-3\nnetmask: 255.255.255.0\n"
              "addresses: {n0: [127.0.0.1, 224.0.0.1, 10.0.0.0, "
              "10.0.0.255]}\n")
          .Wrong();
  EXPECT_THAT(wrong, Tells("n0 device 0", "value-loopback", "127.0.0.1"));
  EXPECT_THAT(wrong, Tells("value-multicast", "224.0.0.1"));
  EXPECT_THAT(wrong, Tells("value-network-address", "10.0.0.0"));
  EXPECT_THAT(wrong, Tells("value-broadcast-address", "10.0.0.255"));
}

TEST(ReadDevicePlanTest, RefusesWhatTheProductsToolRefuses) {
  const std::string rail =
      "rails: [{device: 0-7, subnet: 192.168.3.0/24, host: 1+8*n+d}]\n";
  EXPECT_THAT(
      MessageLines(Section("atlas-training", 1, rail).Wrong()),
      ElementsAre(Tells("f:1:53: ", "n0 device 0", "msg-spec-address-reserved",
                        "192.168.3.1", "192.168.3.0/24", "atlas-training",
                        " smp", 7)));
  EXPECT_EQ(Section("atlas-training/amp", 1, rail).Wrong(), absl::OkStatus());
  // Names both owners of an address.
  const Section section(
      "atlas-300t", 2,
      "ids: 0-1\nnetmask: 255.255.0.0\naddresses:\n"
      "  n0: [10.99.0.7, 10.99.0.8]\n  n1: [10.99.0.8, 10.99.0.1]\n");
  EXPECT_THAT(
      MessageLines(section.Wrong()),
      ElementsAre(Tells("f:5:8: ", "msg-spec-address-twice", "n1 device 0",
                        "10.99.0.8", "n0 device 1", "4:19"),
                  Tells("f:5:19: ", "msg-spec-address-twice", "n1 device 1",
                        "10.99.0.1", "server n0", "1:1")));
}

TEST(ReadDevicePlanTest, ServersMustDifferToo) {
  Section section("atlas-a2", 0, kRail);
  for (int i = 0; i < 2; ++i) {
    PlannedServer server;
    server.host = absl::StrCat("n", i);
    server.inputs.n = i;
    server.address = Ipv4Address(0x0a000001);
    server.position = {i + 1, 5};
    section.groups.servers.push_back(server);
  }
  ReadDevicePlan(&*section.root, section.profile, section.groups,
                 &section.mistakes);
  EXPECT_THAT(MessageLines(section.Wrong()),
              ElementsAre(Tells("f:2:5: ", "msg-spec-address-twice",
                                "server n1", "10.0.0.1", "server n0", "1:5")));
}

}  // namespace
}  // namespace clusterd
