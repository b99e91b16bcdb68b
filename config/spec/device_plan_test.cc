#include "config/spec/device_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

  std::string Wrong() const {
    return std::string(mistakes.ToStatus().message());
  }
  const PlannedDevice& Device(size_t server, size_t index) const {
    return plan.devices[server * plan.ids.size() + index];
  }
  std::string Address(size_t server, size_t index) const {
    return Device(server, index).address->ToString();
  }
  std::string Detect(size_t server, size_t index) const {
    const PlannedDevice& device = Device(server, index);
    return device.detect_address.has_value() ? device.detect_address->ToString()
                                             : "none";
  }
  std::string Gateway(size_t server, size_t index) const {
    const PlannedDevice& device = Device(server, index);
    return device.gateway.has_value() ? device.gateway->ToString() : "none";
  }

  const ProductProfile* profile = nullptr;
  Mistakes mistakes{"f"};
  ServerGroups groups;
  std::optional<YamlNode> root;
  DevicePlan plan;
};

// The mistakes of an A2 plan of two servers.
std::string A2(absl::string_view text) {
  return Section("atlas-a2", 2, text).Wrong();
}

constexpr char kRail[] =
    "rails: [{device: 0-7, subnet: 10.20.0.0/24, host: 1 + 8*n + d}]\n";

TEST(ReadDevicePlanTest, ReadsListsInTheOrderOfDeviceIds) {
  const Section section("atlas-300t", 2,
                        "ids: 1,4\nnetmask: 255.255.255.0\n"
                        "addresses:\n"
                        "  n0: [10.20.0.1, 10.20.0.2]\n"
                        "  n1: 10.20.0.[3-4]\n");
  EXPECT_EQ(section.Wrong(), "");
  EXPECT_THAT(section.plan.ids, ElementsAre(1, 4));
  EXPECT_EQ(section.Address(0, 1), "10.20.0.2/24");
  EXPECT_EQ(section.Address(1, 0), "10.20.0.3/24");
}

TEST(ReadDevicePlanTest, ReadsFormulasPerHost) {
  const Section section("atlas-a2", 2,
                        "netmask: 255.255.255.0\n"
                        "addresses:\n  n0: 10.20.0.1 + d\n"
                        "  n1: 10.20.0.101 + d\n");
  EXPECT_EQ(section.Wrong(), "");
  EXPECT_EQ(section.Address(0, 7), "10.20.0.8/24");
  EXPECT_EQ(section.Address(1, 7), "10.20.0.108/24");
}

TEST(ReadDevicePlanTest, RailsGenerateAddresses) {
  const Section section(
      "atlas-training", 2,
      "rails:\n"
      "  - {device: 0-3, subnet: \"192.168.[100-103].0/24\", host: 101+10*n}\n"
      "  - {device: 4-7, subnet: \"192.168.[100-103].0/24\", host: "
      "100+10*n}\n");
  EXPECT_EQ(section.Wrong(), "");
  EXPECT_EQ(section.Address(0, 0), "192.168.100.101/24");
  EXPECT_EQ(section.Address(0, 7), "192.168.103.100/24");
  EXPECT_EQ(section.Address(1, 2), "192.168.102.111/24");
}

TEST(ReadDevicePlanTest, RailsGiveEveryServerItsSubnet) {
  const Section section("atlas-training/amp", 3,
                        "rails: [{device: 0-7, subnet: 10.20.0.0/28 + n, "
                        "host: 1 + d}]\ngateway: 14\n");
  EXPECT_EQ(section.Wrong(), "");
  EXPECT_EQ(section.Address(2, 7), "10.20.0.40/28");
  EXPECT_EQ(section.Gateway(2, 7), "10.20.0.46");
}

TEST(ReadDevicePlanTest, RailsOfAProductWithoutFixedIdsNameThem) {
  const Section section("atlas-300t", 1,
                        "rails: [{device: \"1,4\", subnet: 10.0.0.0/24, "
                        "host: 10 + d}]\n");
  EXPECT_EQ(section.Wrong(), "");
  EXPECT_THAT(section.plan.ids, ElementsAre(1, 4));
  EXPECT_EQ(section.Address(0, 1), "10.0.0.14/24");
}

TEST(ReadDevicePlanTest, IdsMayBeFewerThanTheProducts) {
  const Section section("atlas-a2", 1,
                        "ids: 0-3\nrails: [{device: 0-3, subnet: 10.0.0.0/24, "
                        "host: 1 + d}]\n");
  EXPECT_EQ(section.Wrong(), "");
  EXPECT_THAT(section.plan.ids, ElementsAre(0, 1, 2, 3));
}

TEST(ReadDevicePlanTest, GatewayAndDetectAddressInEverySpelling) {
  const Section section(
      "atlas-300t", 2,
      "ids: 0-1\nnetmask: 255.255.255.0\n"
      "addresses: {n0: [10.0.0.1, 10.0.1.1], n1: [10.0.0.2, 10.0.1.2]}\n"
      "gateway: {n0: [254, none], n1: \"10.0.[0-1].253\"}\n"
      "detect_address: {n0: [gateway, 10.0.1.9], n1: \"peer(n-1, 1-d)\"}\n");
  EXPECT_EQ(section.Wrong(), "");
  EXPECT_EQ(section.Gateway(0, 0), "10.0.0.254");
  EXPECT_EQ(section.Gateway(0, 1), "none");
  EXPECT_EQ(section.Gateway(1, 1), "10.0.1.253");
  EXPECT_EQ(section.Detect(0, 0), "10.0.0.254");
  EXPECT_EQ(section.Detect(0, 1), "10.0.1.9");
  EXPECT_EQ(section.Detect(1, 0), "10.0.1.1");
}

TEST(ReadDevicePlanTest, NothingIsDetectedWhereNothingIsSaid) {
  const Section section("atlas-a2", 1, absl::StrCat(kRail, "gateway: none\n"));
  EXPECT_EQ(section.Wrong(), "");
  EXPECT_EQ(section.Gateway(0, 0), "none");
  EXPECT_EQ(section.Detect(0, 0), "none");
}

TEST(ReadDevicePlanTest, AbsentAndEmptySections) {
  Mistakes mistakes("f");
  ReadDevicePlan(nullptr, nullptr, {}, &mistakes);
  EXPECT_TRUE(mistakes.empty());
  EXPECT_EQ(A2("~"), "f:1:1: devices is empty, expected addresses or rails");
  EXPECT_THAT(A2("[a]"), HasSubstr("devices is a list, expected a mapping"));
  EXPECT_THAT(A2("netmask: 255.255.255.0\n"),
              HasSubstr("devices has no addresses, expected addresses or "
                        "rails"));
}

TEST(ReadDevicePlanTest, RefusesBothAddressesAndRails) {
  EXPECT_THAT(A2("netmask: 255.255.255.0\naddresses: {n0: []}\nrails: []\n"),
              HasSubstr("f:3:8: devices has both addresses and rails"));
}

TEST(ReadDevicePlanTest, NamesAWrongNetmaskAlsoWithoutAddresses) {
  for (const char* text :
       {"netmask: 255.0.255.0\n", "netmask: [255.0.255.0]\n",
        "netmask: 255.0.255.0\naddresses: {n0: []}\nrails: []\n"}) {
    EXPECT_THAT(A2(text), HasSubstr("\"255.0.255.0\" has a hole")) << text;
  }
}

TEST(ReadDevicePlanTest, LetsHostsHaveIdsOfTheirOwn) {
  Section section(
      "atlas-a2", 3,
      "ids: {\"n[1-2]\": \"2,5\"}\n"
      "netmask: 255.255.255.0\n"
      "addresses:\n"
      "  n0: 10.20.0.[1-8]\n"
      "  n1: [10.20.0.11, 10.20.0.12]\n"
      "  n2: 10.20.0.20 + d\n"
      "gateway: {n0: 254, n1: [253, none], n2: 254}\n"
      "detect_address: [none, none, \"peer((n+1) % servers, d)\", none, none, "
      "none, none, 10.20.0.254]\n"
      "switch: {n0: leaf-0, n1: [leaf-1, none], n2: none}\n");
  ASSERT_EQ(section.Wrong(), "");
  ASSERT_EQ(section.plan.OfServer(0).size(), 8u);
  const auto n1 = section.plan.OfServer(1);
  ASSERT_EQ(n1.size(), 2u);
  EXPECT_EQ(n1[1].id, 5u);
  EXPECT_EQ(n1[1].address->ToString(), "10.20.0.12/24");
  EXPECT_EQ(n1[0].gateway->ToString(), "10.20.0.253");
  EXPECT_FALSE(n1[1].gateway.has_value());
  EXPECT_EQ(n1[0].switch_name, "leaf-1");
  EXPECT_EQ(n1[1].switch_name, "");
  const auto n2 = section.plan.OfServer(2);
  EXPECT_EQ(n2[1].address->ToString(), "10.20.0.25/24");
  EXPECT_EQ(n2[0].detect_address->ToString(), "10.20.0.3");
  EXPECT_EQ(section.plan.OfServer(0)[7].detect_address->ToString(),
            "10.20.0.254");
  EXPECT_EQ(section.plan.OfServer(0)[7].switch_name, "leaf-0");
}

TEST(ReadDevicePlanTest, PutsHostsWithIdsOfTheirOwnOnTheirRails) {
  Section section("atlas-300t", 2,
                  "ids: {n0: \"1,4\", n1: 0-1}\n"
                  "rails: [{device: \"0,1,4\", subnet: 10.20.0.0/24, host: 1 "
                  "+ 8*n + d}]\n");
  ASSERT_EQ(section.Wrong(), "");
  EXPECT_THAT(section.plan.ids, ElementsAre(0, 1, 4));
  ASSERT_EQ(section.plan.devices.size(), 4u);
  EXPECT_EQ(section.plan.OfServer(0)[1].address->ToString(), "10.20.0.5/24");
  EXPECT_EQ(section.plan.OfServer(1)[0].address->ToString(), "10.20.0.9/24");
}

TEST(ReadDevicePlanTest, NamesWhatIsWrongWithIdsByHost) {
  EXPECT_THAT(A2(absl::StrCat(kRail, "ids: {n7: 0-3}\n")),
              HasSubstr("devices.ids: host \"n7\" is in no group of servers"));
  EXPECT_THAT(A2(absl::StrCat(kRail, "ids: {n0: 0-3, \"n[0-1]\": 0-3}\n")),
              HasSubstr("devices.ids: host \"n0\" stands twice"));
  EXPECT_THAT(A2(absl::StrCat(kRail, "ids: {\"n[0-\": 0-3}\n")),
              HasSubstr("f:2:7: devices.ids: "));
  EXPECT_THAT(A2(absl::StrCat(kRail, "ids: {n0: 6-9}\n")),
              HasSubstr("devices.ids: n0: atlas-a2 has no device 8"));
  EXPECT_THAT(
      Section("atlas-300t", 2, absl::StrCat("ids: {n0: 0-7}\n", kRail)).Wrong(),
      HasSubstr("devices.ids has nothing for n1, and the product has "
                "no fixed ids"));
}

TEST(ReadDevicePlanTest, RefusesASwitchThatIsNoName) {
  EXPECT_THAT(A2(absl::StrCat(kRail, "switch: \"leaf 1\"\n")),
              HasSubstr("switch \"leaf 1\" is malformed, expected its name"));
  EXPECT_THAT(A2(absl::StrCat(kRail, "switch: [leaf-1, leaf-2]\n")),
              HasSubstr("devices.switch has 2 entries, expected 8"));
}

TEST(ReadDevicePlanTest, WantsOneAddressPerDevice) {
  EXPECT_EQ(A2("netmask: 255.255.255.0\n"
               "addresses:\n  n0: [10.0.0.1, 10.0.0.2]\n"
               "  n1: 10.0.0.[3-11]\n"),
            "f:3:7: n0 has 2 addresses, expected 8, one per device "
            "0,1,2,3,4,5,6,7\n"
            "f:4:7: n1 has 9 addresses, expected 8, one per device "
            "0,1,2,3,4,5,6,7");
}

TEST(ReadDevicePlanTest, QuotesMalformedAddresses) {
  const Section section("atlas-300t", 3,
                        "ids: 0-1\nnetmask: 255.255.255.0\naddresses:\n"
                        "  n0: [10.20.0.300, {a: b}]\n"
                        "  n1: 10.20.[0-1\n"
                        "  n2: {a: b}\n");
  EXPECT_EQ(section.Wrong(),
            "f:4:8: n0 device 0: address \"10.20.0.300\" is not IPv4, expected "
            "four numbers 0-255\n"
            "f:4:21: n0 device 1 is a mapping, expected text\n"
            "f:5:7: n1: address \"10.20.[0-1\" is malformed: octet \"[0-1\" "
            "has an open bracket, expected \"]\"\n"
            "f:6:7: n2 is a mapping, expected text");
}

TEST(ReadDevicePlanTest, WantsAddressesByHost) {
  EXPECT_THAT(A2("netmask: 255.255.255.0\naddresses: [10.0.0.1]\n"),
              HasSubstr("devices.addresses is a list, expected a mapping from "
                        "host to a list"));
}

TEST(ReadDevicePlanTest, WantsANetmaskWithAddresses) {
  EXPECT_THAT(A2("addresses: {n0: 10.0.0.1 + d, n1: 10.0.0.9 + d}\n"),
              HasSubstr("devices.netmask is missing"));
}

TEST(ReadDevicePlanTest, RefusesMalformedNetmasks) {
  const std::string rest = "\naddresses: {n0: 10.0.0.1+d, n1: 10.0.0.11+d}\n";
  EXPECT_THAT(A2("netmask: 255.0.255.0" + rest), HasSubstr("has a hole"));
  EXPECT_THAT(A2("netmask: 24" + rest),
              HasSubstr("f:1:10: devices.netmask: netmask \"24\" is not IPv4"));
  EXPECT_THAT(A2("netmask: 0.0.0.0" + rest),
              HasSubstr("leaves no subnet of hosts"));
  EXPECT_THAT(A2("netmask: 255.255.255.254" + rest),
              HasSubstr("leaves no subnet of hosts"));
  EXPECT_THAT(A2("netmask: [255.255.255.0]" + rest),
              HasSubstr("devices.netmask has 1 entries, expected 8"));
  EXPECT_THAT(A2("netmask: {a: b}" + rest),
              HasSubstr("devices.netmask is a mapping, expected text"));
}

TEST(ReadDevicePlanTest, NetmaskAndRailsMustAgree) {
  EXPECT_EQ(A2(absl::StrCat(kRail, "netmask: 255.255.0.0\n")),
            "f:2:10: devices.netmask is not that of devices.rails[0].subnet, "
            "expected 255.255.255.0 (and 7 more like it)");
  EXPECT_EQ(A2(absl::StrCat(kRail, "netmask: 255.255.255.0\n")), "");
}

TEST(ReadDevicePlanTest, RefusesIdsTheProductLacks) {
  EXPECT_THAT(A2(absl::StrCat("ids: 0-8\n", kRail)),
              HasSubstr("f:1:6: devices.ids: atlas-a2 has no device 8, "
                        "expected 0-7"));
  EXPECT_THAT(A2("rails: [{device: 8, subnet: 10.0.0.0/24, host: 1}]\n"),
              HasSubstr("devices.rails[0].device: atlas-a2 has no device 8"));
  EXPECT_THAT(A2(absl::StrCat("ids: 0-\n", kRail)),
              HasSubstr("devices.ids: \"0-\" is not a number or range"));
  EXPECT_THAT(A2(absl::StrCat("ids: 0,0\n", kRail)), HasSubstr("twice"));
}

TEST(ReadDevicePlanTest, ProductsWithoutFixedIdsMustNameThem) {
  EXPECT_THAT(Section("atlas-300t", 1,
                      "netmask: 255.255.255.0\naddresses: {n0: [10.0.0.1]}\n")
                  .Wrong(),
              HasSubstr("devices.ids is missing, atlas-300t has no fixed ids"));
  EXPECT_THAT(Section("atlas-300t", 1,
                      "rails: [{device: 0-16, subnet: 10.0.0.0/24, "
                      "host: 1+d}]\n")
                  .Wrong(),
              HasSubstr("devices.rails has 17 devices, expected at most 16"));
  EXPECT_THAT(
      Section("atlas-300t", 1,
              "ids: 0-16\nnetmask: 255.255.255.0\naddresses: {n0: []}\n")
          .Wrong(),
      HasSubstr("devices.ids has 17 devices, expected at most 16"));
}

TEST(ReadDevicePlanTest, WithoutAProductTheListsAreStillLookedAt) {
  EXPECT_EQ(
      Section("", 1, "netmask: 255.255.255.0\naddresses: {n0: [10.0.0.1, x]}\n")
          .Wrong(),
      "f:2:28: n0 device 1: address \"x\" is not IPv4, expected four "
      "numbers 0-255");
}

TEST(ReadDevicePlanTest, RailsMustCoverEveryDeviceOnce) {
  EXPECT_THAT(A2("rails: [{device: 0-5, subnet: 10.0.0.0/24, host: 1+d}]\n"),
              HasSubstr("devices.rails has no rail for device 6,7"));
  EXPECT_THAT(A2("rails: [{device: 0-7, subnet: 10.0.0.0/24, host: 1+d},\n"
                 "        {device: 7, subnet: 10.0.0.0/24, host: 99}]\n"),
              HasSubstr("devices.rails: device 7 is in two rails"));
  EXPECT_THAT(A2(absl::StrCat("ids: 0-6\n", kRail)),
              HasSubstr("has devices that devices.ids lacks"));
}

TEST(ReadDevicePlanTest, RailsWantTheirKeys) {
  EXPECT_EQ(A2("rails: [{device: 0-7, subnt: 10.0.0.0/24}]\n"),
            "f:1:9: devices.rails[0].subnet is missing\n"
            "f:1:9: devices.rails[0].host is missing\n"
            "f:1:23: unknown key \"subnt\" in devices.rails[0], expected "
            "device, subnet, host, did you mean \"subnet\"?");
  EXPECT_THAT(A2("rails: []\n"),
              HasSubstr("devices.rails is empty, expected a list"));
  EXPECT_THAT(A2("rails: {device: 0}\n"),
              HasSubstr("expected a list of mappings with device"));
}

TEST(ReadDevicePlanTest, RailsQuoteMalformedValues) {
  const std::string wrong =
      A2("rails: [{device: a, subnet: 10.0.0.0, host: 1+x}]\n");
  EXPECT_THAT(wrong, HasSubstr("devices.rails[0].device: \"a\" is not a"));
  EXPECT_THAT(wrong, HasSubstr("subnet \"10.0.0.0\" has no prefix length"));
  EXPECT_THAT(wrong, HasSubstr("formula \"1+x\" has \"x\""));
  EXPECT_THAT(A2("rails: [{device: 0-7, subnet: \"10.0.[0-2].0/24\", "
                 "host: 1}]\n"),
              HasSubstr("has 3 subnets, expected 1 or 8, one per device"));
}

TEST(ReadDevicePlanTest, ARailThatOverflowsIsOneMistake) {
  EXPECT_EQ(Section("atlas-a2", 1152, kRail).Wrong(),
            "f:1:51: devices.rails[0]: n31 device 6: host part 255 is the "
            "broadcast address of 10.20.0.0/24, expected 1-254 (and 8961 more "
            "like it)");
  EXPECT_THAT(A2("rails: [{device: 0-7, subnet: 10.0.0.0/24, host: d}]\n"),
              HasSubstr("n0 device 0: host part 0 is the network address"));
  EXPECT_THAT(
      A2("rails: [{device: 0-7, subnet: 255.0.0.0/8 + n, host: 1+d}]\n"),
      HasSubstr("leads out of IPv4"));
  EXPECT_THAT(A2("rails: [{device: 0-7, subnet: 10.0.0.0/8, host: 1/n}]\n"),
              HasSubstr("divides by zero"));
}

TEST(ReadDevicePlanTest, RefusesAddressesNoDeviceCanHave) {
  const Section section("atlas-300t", 1,
                        "ids: 0-3\nnetmask: 255.255.255.0\n"
                        "addresses: {n0: [127.0.0.1, 224.0.0.1, 10.0.0.0, "
                        "10.0.0.255]}\n");
  EXPECT_THAT(section.Wrong(), HasSubstr("n0 device 0: address \"127.0.0.1\" "
                                         "is loopback"));
  EXPECT_THAT(section.Wrong(), HasSubstr("is multicast"));
  EXPECT_THAT(section.Wrong(), HasSubstr("is the network address"));
  EXPECT_THAT(section.Wrong(), HasSubstr("is the broadcast address"));
}

TEST(ReadDevicePlanTest, RefusesWhatTheProductsToolRefuses) {
  const std::string rail =
      "rails: [{device: 0-7, subnet: 192.168.3.0/24, host: 1+8*n+d}]\n";
  EXPECT_EQ(Section("atlas-training", 1, rail).Wrong(),
            "f:1:53: n0 device 0: address \"192.168.3.1\" is in "
            "192.168.3.0/24, which hccn_tool refuses on atlas-training smp: "
            "device virtual NICs of this product use it (and 7 more like it)");
  EXPECT_EQ(Section("atlas-training/amp", 1, rail).Wrong(), "");
}

TEST(ReadDevicePlanTest, NamesBothOwnersOfAnAddress) {
  const Section section(
      "atlas-300t", 2,
      "ids: 0-1\nnetmask: 255.255.0.0\naddresses:\n"
      "  n0: [10.99.0.7, 10.99.0.8]\n  n1: [10.99.0.8, 10.99.0.1]\n");
  EXPECT_EQ(section.Wrong(),
            "f:5:8: n1 device 0: address \"10.99.0.8\" is also that of n0 "
            "device 1 at 4:19\n"
            "f:5:19: n1 device 1: address \"10.99.0.1\" is also that of server "
            "n0 at 1:1");
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
  EXPECT_EQ(section.Wrong(),
            "f:2:5: server n1: address \"10.0.0.1\" is also that of server n0 "
            "at 1:5");
}

TEST(ReadDevicePlanTest, ARailThatRepeatsItselfIsOneMistake) {
  EXPECT_EQ(A2("rails: [{device: 0-7, subnet: 10.20.0.0/24, host: 1 + d}]\n"),
            "f:1:51: n1 device 0: address \"10.20.0.1\" is also that of n0 "
            "device 0 at 1:51 (and 7 more like it)");
}

TEST(ReadDevicePlanTest, GatewaysLieInTheDevicesSubnet) {
  EXPECT_THAT(A2(absl::StrCat(kRail, "gateway: 10.30.0.1\n")),
              HasSubstr("f:2:10: n0 device 0: gateway: address \"10.30.0.1\" "
                        "is outside of the device's subnet 10.20.0.0/24 (and "
                        "15 more like it)"));
  EXPECT_THAT(A2(absl::StrCat(kRail, "gateway: 255\n")),
              HasSubstr("host part 255 is the broadcast address"));
  EXPECT_THAT(A2(absl::StrCat(kRail, "gateway: 10.20.0.0\n")),
              HasSubstr("is the network address"));
  EXPECT_THAT(A2(absl::StrCat(kRail, "gateway: 1 + 8*n + d\n")),
              HasSubstr("is the device's own"));
}

TEST(ReadDevicePlanTest, AGatewayIsNoDevice) {
  EXPECT_THAT(A2(absl::StrCat(kRail,
                              "gateway: [16, none, none, none, none, "
                              "none, none, none]\n")),
              HasSubstr("n1 device 7: address \"10.20.0.16\" is also the "
                        "gateway of n0 device 0"));
}

TEST(ReadDevicePlanTest, RefusesMalformedSources) {
  EXPECT_EQ(A2(absl::StrCat(kRail, "gateway: gateway\n")),
            "f:2:10: devices.gateway: \"gateway\" is not known, expected none, "
            "an address, a pattern or a host part such as 1");
  EXPECT_THAT(A2(absl::StrCat(kRail, "gateway: 10.20.0.[1-3]\n")),
              HasSubstr("has 3 addresses, expected 1 or 8, one per device"));
  EXPECT_THAT(A2(absl::StrCat(kRail, "gateway: [1, 2]\n")),
              HasSubstr("devices.gateway has 2 entries, expected 8"));
  EXPECT_THAT(A2(absl::StrCat(kRail, "gateway: {n0: 254, n9: 254}\n")),
              HasSubstr("host \"n9\" is in no group of servers"));
  EXPECT_THAT(A2(absl::StrCat(kRail, "gateway: {n0: 254, n1: {a: b}}\n")),
              HasSubstr("devices.gateway: n1 is a mapping, expected a list"));
  EXPECT_THAT(A2(absl::StrCat(kRail, "gateway:\n")),
              HasSubstr("devices.gateway is nothing, expected text"));
  EXPECT_THAT(A2(absl::StrCat(kRail, "gateway: 10.20.0.300\n")),
              HasSubstr("devices.gateway: address \"10.20.0.300\" is not"));
}

TEST(ReadDevicePlanTest, RefusesDetectAddressesThatDetectNothing) {
  EXPECT_THAT(A2(absl::StrCat(kRail, "detect_address: gateway\n")),
              HasSubstr("f:2:17: n0 device 0: detect_address: the device has "
                        "no gateway (and 15 more like it)"));
  EXPECT_THAT(A2(absl::StrCat(kRail, "detect_address: peer(n, d)\n")),
              HasSubstr("is the device's own, which detects nothing"));
  EXPECT_THAT(A2(absl::StrCat(kRail, "detect_address: 10.30.0.1\n")),
              HasSubstr("is outside of the device's subnet 10.20.0.0/24 and "
                        "the device has no gateway"));
  EXPECT_THAT(A2(absl::StrCat(kRail, "detect_address: 0.0.0.0\n")),
              HasSubstr("means \"this network\""));
  EXPECT_THAT(A2(absl::StrCat(kRail,
                              "gateway: 254\n"
                              "detect_address: 192.168.1.7\n")),
              HasSubstr("is in 192.168.1.0/24, which hccn_tool refuses"));
  EXPECT_EQ(A2(absl::StrCat(kRail,
                            "gateway: 254\n"
                            "detect_address: 10.30.0.1\n")),
            "");
}

TEST(ReadDevicePlanTest, PeersMustExist) {
  EXPECT_THAT(A2(absl::StrCat(kRail, "detect_address: peer(n+1, d)\n")),
              HasSubstr("n1 device 0: detect_address: peer server 2 does not "
                        "exist, expected 0-1"));
  EXPECT_THAT(A2(absl::StrCat(kRail, "detect_address: peer(1-n, d+1)\n")),
              HasSubstr("n0 device 7: detect_address: peer device 8 does not"));
  EXPECT_THAT(A2(absl::StrCat(kRail, "detect_address: peer(n)\n")),
              HasSubstr("\"peer(n)\" is malformed, expected peer(SERVER, "
                        "DEVICE)"));
  EXPECT_THAT(A2(absl::StrCat(kRail, "detect_address: peer(x, d)\n")),
              HasSubstr("formula \"x\""));
}

TEST(ReadDevicePlanTest, OneMistakeDoesNotBreedOthers) {
  // An unreadable gateway is not reported as missing as well.
  EXPECT_EQ(A2(absl::StrCat(kRail, "gateway: x\ndetect_address: gateway\n")),
            "f:2:10: devices.gateway: \"x\" is not known, expected none, an "
            "address, a pattern or a host part such as 1");
  // Without a mask subnets are unknown.
  EXPECT_EQ(A2("netmask: 255.0.255.0\n"
               "addresses: {n0: 10.0.0.1 + d, n1: 10.0.0.11 + d}\n"
               "gateway: 254\ndetect_address: gateway\n"),
            "f:1:10: devices.netmask: netmask \"255.0.255.0\" has a hole, "
            "expected ones and then zeros");
  // The same without addresses.
  EXPECT_EQ(A2("rails: [{device: 0-7, subnet: x, host: 1+d}]\n"
               "gateway: 254\ndetect_address: gateway\n"),
            "f:1:31: devices.rails[0].subnet: subnet \"x\" has no prefix "
            "length 1-30, expected e.g. 192.168.100.0/24");
}

}  // namespace
}  // namespace clusterd
