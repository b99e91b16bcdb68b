#include <gtest/gtest.h>

#include "client/recording/recording.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

DeviceFacts HealthyDevice() {
  return FromText<DeviceFacts>(R"(
      id: 3 address {value {settings {address: "10.0.0.4"
      netmask: "255.255.255.0"}}} gateway {value: "10.0.0.254"}
      detect_address {value: "10.0.0.1"} net_health {value: NET_HEALTH_INIT}
      link {value: UP} mtu {value: 1500} speed_mbps {value: 100000}
      tls {value {enabled: false}} pfc {value: "0,0,0,0,1,0,0,0"}
      dscp_to_tc {value: "33:1"} roce_port {value: "4791"})");
}

std::string StateText(const DeviceFacts& device,
                      absl::string_view lldp_output) {
  return DeviceStateText(device, lldp_output, [](absl::string_view address) {
    return std::string(address);
  });
}

TEST(DeviceStateTextTest, WritesEveryKnownFact) {
  EXPECT_EQ(StateText(HealthyDevice(), ""),
            "ip.3=10.0.0.4; mask.3=255.255.255.0; gateway.3=10.0.0.254; "
            "netdetect.3=10.0.0.1; net_health.3=6; link.3=1; mtu.3=1500; "
            "speed.3=100000; "
            "tls.3=0; bitmap.3=0,0,0,0,1,0,0,0; dscp_tc.3=33:1; "
            "roce_port.3=4791");
}

TEST(DeviceStateTextTest, WritesNothingForWhatIsMissingOrUnset) {
  const auto device = FromText<DeviceFacts>(R"(
      id: 0 address {missing {reason: BUSY}} gateway {value: ''}
      detect_address {value: '0.0.0.0'} mtu {missing {}}
      roce_port {value: 'auto'})");
  EXPECT_EQ(StateText(device, ""), "");
}

TEST(DeviceStateTextTest, EscapesWhatTheStateLanguageUses) {
  DeviceFacts device;
  EXPECT_EQ(StateText(device, "Port ID TLV\n\ta;b\\c\n"),
            "lldp.0=Port ID TLV\\n\\ta\\;b\\\\c");
  EXPECT_EQ(StateText(device, "\n"), "") << "no neighbour";
}

TEST(NearestProductTest, FollowsSeriesAndDeviceIds) {
  HostFacts facts;
  EXPECT_EQ(NearestProduct(facts), "A2");
  facts.mutable_identity()->mutable_npu_series()->set_value("A1 x 8");
  EXPECT_EQ(NearestProduct(facts), "A1-SMP");
  facts.mutable_identity()->mutable_npu_series()->set_value("A2 x 16");
  for (int id = 0; id < 16; ++id) {
    facts.mutable_device_ids()->mutable_value()->add_ids(id);
  }
  EXPECT_EQ(NearestProduct(facts), "A2-Box16");
  facts.mutable_identity()->mutable_npu_series()->set_value("A3 x 16");
  EXPECT_EQ(NearestProduct(facts), "A3-no-pod");
  facts.mutable_hccn_tool()->set_generation(NpuToolFacts::ASCEND_950);
  EXPECT_EQ(NearestProduct(facts), "Ascend-950");
}

}  // namespace
}  // namespace clusterd
