#include "config/rules/view/cluster_view.h"

#include "config/rules/view/ballot.h"
#include "gmock/gmock.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

class ClusterViewTest : public testing::Test {
 protected:
  ClusterViewTest()
      : spec_(MakeSpec("atlas-training", "", 3)),
        facts_(MakeHealthyFacts(spec_)) {}

  ClusterView View() { return ClusterView(spec_, Pointers(facts_)); }

  ClusterSpec spec_;
  std::vector<HostFacts> facts_;
};

TEST_F(ClusterViewTest, PutsHostsInSpecOrderAndOthersLast) {
  std::swap(facts_[0], facts_[2]);
  const ClusterView view = View();
  ASSERT_EQ(view.hosts().size(), 3u);
  EXPECT_EQ(view.hosts()[0].name, "server0");
  EXPECT_EQ(view.hosts()[2].name, "server2");
  EXPECT_EQ(view.hosts()[2].spec, &spec_.servers(2));
  facts_[2].set_host("stranger");
  const ClusterView other = View();
  EXPECT_EQ(other.hosts()[2].name, "stranger");
  EXPECT_EQ(other.hosts()[2].spec, nullptr);
}

TEST_F(ClusterViewTest, KeepsSilentHostsApart) {
  facts_[1] = MakeSilentHost("server1", Missing::NO_ANSWER, "");
  const ClusterView view = View();
  EXPECT_EQ(view.hosts().size(), 2u);
  ASSERT_EQ(view.silent().size(), 1u);
  EXPECT_EQ(view.silent()[0].order, 1u);
  EXPECT_EQ(view.host_count(), 3u);
  EXPECT_EQ(view.expected_devices(), 24u);
}

TEST_F(ClusterViewTest, ReadsADevicesAddresses) {
  const ClusterView view = View();
  const DeviceView* device = view.hosts()[0].Find(3);
  ASSERT_NE(device, nullptr);
  EXPECT_TRUE(device->HasAddress());
  EXPECT_EQ(device->Address().ToString(), "192.168.103.1/24");
  EXPECT_EQ(device->gateway->ToString(), "192.168.103.254");
  EXPECT_EQ(device->detect_address->ToString(), "192.168.103.254");
  ASSERT_NE(device->conf_address, nullptr);
  EXPECT_EQ(device->conf_address->value(), "192.168.103.1");
  ASSERT_NE(device->conf_netmask, nullptr);
  EXPECT_EQ(device->conf_netmask->value(), "255.255.255.0");
  EXPECT_TRUE(device->HasPlannedAddress());
}

TEST_F(ClusterViewTest, ReadsThePlanWhetherTheDeviceHasItOrNot) {
  DeviceFacts* device = facts_[0].mutable_devices(3);
  device->mutable_gateway()->set_value("10.9.9.9");
  device->mutable_address()->mutable_value()->mutable_settings(0)->set_netmask(
      "255.255.0.0");
  const ClusterView view = View();
  const DeviceView& other = *view.hosts()[0].Find(3);
  EXPECT_EQ(other.Address().ToString(), "192.168.103.1/16");
  EXPECT_EQ(other.planned->ToString(), "192.168.103.1/24");
  EXPECT_EQ(other.gateway->ToString(), "10.9.9.9");
  EXPECT_EQ(other.planned_gateway->ToString(), "192.168.103.254");
  EXPECT_EQ(other.planned_detect->ToString(), "192.168.103.254");
  const DeviceView& same = *view.hosts()[0].Find(2);
  EXPECT_EQ(same.planned->ToString(), "192.168.102.1/24");
  EXPECT_EQ(same.planned_gateway->ToString(), "192.168.102.254");
}

TEST_F(ClusterViewTest, FindsIdsWithGaps) {
  spec_.mutable_servers(0)->clear_devices();
  DeviceIdsFact::Ids* ids = facts_[0].mutable_device_ids()->mutable_value();
  ids->clear_ids();
  ids->add_ids(9);
  ids->add_ids(4);
  facts_[0].clear_devices();
  const ClusterView view = View();
  ASSERT_EQ(view.hosts()[0].devices.size(), 2u);
  EXPECT_NE(view.hosts()[0].Find(4), nullptr);
  EXPECT_NE(view.hosts()[0].Find(9), nullptr);
  EXPECT_EQ(view.hosts()[0].Find(0), nullptr);
  EXPECT_EQ(view.hosts()[0].Find(5), nullptr);
}

TEST_F(ClusterViewTest, KeepsUnplannedDevicesApart) {
  spec_.mutable_servers(0)->mutable_devices()->DeleteSubrange(2, 4);
  const ClusterView view = View();
  const HostView& host = view.hosts()[0];
  ASSERT_EQ(host.devices.size(), 4u);
  EXPECT_EQ(host.devices[2].id, 6u);
  EXPECT_EQ(host.Find(6), &host.devices[2]);
  EXPECT_EQ(host.Find(3), nullptr);
  ASSERT_EQ(host.unplanned.size(), 4u);
  EXPECT_EQ(host.unplanned[1].id, 3u);
  EXPECT_EQ(host.unplanned[1].host, &host);
  EXPECT_TRUE(host.unplanned[1].HasAddress());
  EXPECT_NE(host.unplanned[1].conf_address, nullptr);
  EXPECT_EQ(view.hosts()[1].devices[0].host, &view.hosts()[1]);
  EXPECT_EQ(view.devices().size(), 20u);
  EXPECT_EQ(view.expected_devices(), 20u);
}

TEST_F(ClusterViewTest, BelievesNoHostWithAMillionDevices) {
  spec_.mutable_servers(0)->clear_devices();
  DeviceIdsFact::Ids* ids = facts_[0].mutable_device_ids()->mutable_value();
  for (int i = 0; i < 1000000; ++i) ids->add_ids(2 * i);
  auto* settings =
      facts_[0].mutable_devices(0)->mutable_address()->mutable_value();
  for (int i = 0; i < 1000; ++i) {
    *settings->add_settings() = settings->settings(0);
  }
  const ClusterView view = View();
  EXPECT_EQ(view.hosts()[0].devices.size(), kMaxDevicesOfHost);
  EXPECT_EQ(view.hosts()[0].devices[0].interfaces().size(),
            kMaxAddressesOfDevice);
  EXPECT_EQ(view.hosts()[1].devices.size(), 8u);
}

TEST_F(ClusterViewTest, TellsUnsetFromNotKnown) {
  DeviceFacts* device = facts_[0].mutable_devices(0);
  device->mutable_address()->mutable_value()->clear_settings();
  device->mutable_gateway()->set_value("");
  device->mutable_detect_address()->set_value("0.0.0.0");
  facts_[0].mutable_devices(1)->mutable_gateway()->set_value("router");
  facts_[0].mutable_devices(1)->clear_detect_address();
  const ClusterView view = View();
  const DeviceView& unset = view.hosts()[0].devices[0];
  EXPECT_TRUE(unset.addresses.has_value() && !unset.HasAddress());
  EXPECT_TRUE(unset.gateway.IsUnset() && !unset.gateway.IsSet());
  EXPECT_TRUE(unset.detect_address.IsUnset() && !unset.detect_address.IsSet());
  const DeviceView& unknown = view.hosts()[0].devices[1];
  EXPECT_FALSE(unknown.gateway.has_value());
  EXPECT_FALSE(unknown.gateway.IsUnset() || unknown.gateway.IsSet());
  EXPECT_EQ(ValueText(unknown.gateway.Why()), "not understood: \"router\"");
  EXPECT_FALSE(unknown.detect_address.has_value());
  EXPECT_EQ(ValueText(unknown.detect_address.Why()), "not asked for");
}

TEST_F(ClusterViewTest, DoesNotGuessFromAMalformedAddressOrANewerEnumValue) {
  DeviceFacts* device = facts_[0].mutable_devices(0);
  device->mutable_address()->mutable_value()->mutable_settings(0)->set_netmask(
      "255.0.255.0");
  device->mutable_link()->set_value(
      static_cast<LinkFact::Link>(256 + LinkFact::UP));
  const ClusterView view = View();
  const DeviceView& seen = view.hosts()[0].devices[0];
  EXPECT_FALSE(seen.addresses.has_value());
  EXPECT_THAT(ValueText(seen.addresses.Why()), HasSubstr("255.0.255.0"));
  EXPECT_FALSE(seen.link.has_value());
}

TEST_F(ClusterViewTest, PrefersThePlannedAddressAndTheFirstOfRepeatedKeys) {
  auto* settings =
      facts_[0].mutable_devices(0)->mutable_address()->mutable_value();
  *settings->add_settings() = settings->settings(0);
  settings->mutable_settings(0)->set_address("192.168.100.77");
  // The tool obeys the first one.
  MergeText(
      R"(hccn_conf {value {entries {key: "address" device: 0 value: "10.9.9.9"}}})",
      &facts_[0]);
  const ClusterView view = View();
  const DeviceView& device = view.hosts()[0].devices[0];
  EXPECT_EQ(device.interfaces().size(), 2u);
  EXPECT_EQ(device.Address().ToString(), "192.168.100.1/24");
  EXPECT_EQ(device.conf_address->value(), "192.168.100.1");
}

TEST_F(ClusterViewTest, CallsAToolOfAnotherGenerationNotUsable) {
  facts_[0].mutable_hccn_tool()->set_generation(NpuToolFacts::ASCEND_950);
  facts_[1].mutable_hccn_tool()->clear_path();
  const ClusterView view = View();
  EXPECT_FALSE(view.hosts()[0].tool_usable);
  EXPECT_FALSE(view.hosts()[1].tool_usable);
  EXPECT_TRUE(view.hosts()[2].tool_usable);
}

TEST_F(ClusterViewTest, AsPlannedHasTheSameDevicesWithPlannedAddresses) {
  spec_.mutable_servers(1)->mutable_devices()->RemoveLast();
  DeviceFacts* device = facts_[2].mutable_devices(1);
  device->mutable_address()->mutable_value()->mutable_settings(0)->set_address(
      "10.9.9.9");
  const ClusterView live = View();
  const ClusterView planned(live, ClusterView::Addresses::kPlanned);
  const DeviceView& moved = planned.hosts()[2].devices[1];
  EXPECT_EQ(live.hosts()[2].devices[1].Address().address().ToString(),
            "10.9.9.9");
  EXPECT_TRUE(moved.HasPlannedAddress());
  for (size_t i = 0; i < live.hosts().size(); ++i) {
    const HostView& host = planned.hosts()[i];
    ASSERT_EQ(host.devices.size(), live.hosts()[i].devices.size());
    ASSERT_EQ(host.unplanned.size(), i == 1 ? 1u : 0u);
    for (const auto& devices : {host.devices, host.unplanned}) {
      for (const DeviceView& of_host : devices) {
        EXPECT_EQ(of_host.host, &host);
        EXPECT_EQ(of_host.facts->id(), of_host.id);
      }
    }
  }
}

TEST_F(ClusterViewTest, DemandsNothingOfAProductThatIsNotKnown) {
  spec_.clear_product();
  const ClusterView view = View();
  EXPECT_FALSE(view.product_known());
  EXPECT_EQ(view.profile().subnet_plan, SubnetPlan::kFree);
  EXPECT_TRUE(view.hosts()[0].tool_usable);
}

TEST(MajorityTest, IsMoreThanAnyOtherOrMorePlannedAndNeverATie) {
  EXPECT_EQ(Majority(Ballot<int>()), std::nullopt);
  EXPECT_EQ(Majority(Ballot<int>{{7, {1, 0}}}), 7);
  EXPECT_EQ(Majority(Ballot<int>{{7, {1, 0}}, {8, {1, 0}}}), std::nullopt);
  EXPECT_EQ(Majority(Ballot<int>{{7, {1, 0}}, {8, {2, 0}}}), 8);
  EXPECT_EQ(Majority(Ballot<int>{{7, {2, 0}}, {8, {2, 0}}, {9, {1, 9}}}),
            std::nullopt);
  EXPECT_EQ(Majority(Ballot<int>{{7, {2, 1}}, {8, {2, 0}}}), 7);
  EXPECT_EQ(Majority(Ballot<int>{{7, {2, 1}}, {8, {2, 1}}}), std::nullopt);
}

}  // namespace
}  // namespace clusterd
