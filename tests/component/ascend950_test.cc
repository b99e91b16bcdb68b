// The real observer, with real processes, on simulated Ascend 950 servers: the
// facts of such a host, and the reasons for missing ones.
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/host/command/posix_command_runner.h"
#include "daemon/host/machine_observer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/private_root.h"
#include "tests/sim/simulated_host.h"
#include "tests/sim/test_folder.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/impatient_runner.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

constexpr char kTool950[] = "tests/sim/ascend950/hccn_tool_950";

ClusterSpec OneServer(const std::string& product) {
  ClusterSpec spec;
  spec.set_product(product);
  spec.set_mtu(4200);
  ServerSpec* server = spec.add_servers();
  server->set_host("server0");
  for (int id = 0; id < 8; ++id) {
    DeviceSpec* device = server->add_devices();
    device->set_id(id);
    device->set_address(absl::StrCat("10.20.0.", 1 + id));
    device->set_netmask("255.255.0.0");
    device->set_gateway("10.20.0.254");
    device->set_detect_address("10.20.0.254");
  }
  return spec;
}

class Ascend950HostTest : public testing::Test {
 protected:
  void Make(const std::vector<std::string>& faults,
            const std::string& product = "ascend-950") {
    sim::SimulatedHostOptions options;
    options.root = Root();
    options.tool = std::filesystem::absolute(kTool950);
    options.host = "server0";
    options.faults = faults;
    ASSERT_EQ(sim::CreateSimulatedHost(OneServer(product), options),
              absl::OkStatus());
  }

  HostFacts Observe(
      NpuToolFacts::Generation generation = NpuToolFacts::ASCEND_950) {
    ObserveRequest request;
    request.set_generation(generation);
    // Even on a slow machine only commands that hang are late.
    request.set_command_ms(300'000);
    request.set_host_ms(1'800'000);
    MachineObserver observer(HostPaths{Root()}, &runner_, &clock_);
    return observer.Observe("server0", request);
  }

  std::string Root() const { return folder_.path() + "/server0"; }

  const sim::TestFolder folder_;
  PosixCommandRunner programs_;
  ImpatientRunner runner_{&programs_};
  // The test does not wait between tries of a busy device.
  FakeClock clock_;
};

TEST_F(Ascend950HostTest, TellsWhatIsPublishedOfEveryDevice) {
  Make({});
  const HostFacts facts = Observe();
  EXPECT_EQ(facts.hccn_tool().generation(), NpuToolFacts::ASCEND_950);
  EXPECT_EQ(facts.hccn_tool().path().value(),
            Root() + "/usr/local/Ascend/driver/tools/hccn_tool");
  ASSERT_EQ(facts.devices_size(), 8);
  for (const DeviceFacts& device : facts.devices()) {
    ASSERT_EQ(device.address().value().settings_size(), 1)
        << device.ShortDebugString();
    const Ipv4Setting& setting = device.address().value().settings(0);
    EXPECT_EQ(setting.address(), absl::StrCat("10.20.0.", 1 + device.id()));
    EXPECT_EQ(setting.netmask(), "255.255.0.0");
    EXPECT_EQ(device.gateway().value(), "10.20.0.254");
    EXPECT_EQ(device.detect_address().value(), "10.20.0.254");
    EXPECT_EQ(device.net_health().value(), NET_HEALTH_SUCCESS);
    EXPECT_EQ(device.link().value(), LinkFact::UP);
    EXPECT_EQ(device.lldp().value().system_name(),
              absl::StrCat("leaf-0", device.id()));
    EXPECT_EQ(device.mtu().value(), 4200u);
    EXPECT_EQ(device.tls().value().source(), "/etc/hccn.conf");
  }
}

// Like config learn: no cluster.yaml names the product.
TEST_F(Ascend950HostTest, IsReadInItsOwnCommandLineWhereNobodyNamesTheProduct) {
  Make({});
  const HostFacts facts = Observe(NpuToolFacts::GENERATION_UNSPECIFIED);
  EXPECT_EQ(facts.hccn_tool().generation(), NpuToolFacts::ASCEND_950);
  ASSERT_EQ(facts.devices_size(), 8);
  for (const DeviceFacts& device : facts.devices()) {
    ASSERT_EQ(device.address().value().settings_size(), 1)
        << device.ShortDebugString();
    EXPECT_EQ(device.mtu().value(), 4200u);
  }
}

TEST_F(Ascend950HostTest, ShowsEachFaultOnItsDeviceAlone) {
  Make({"0:address=none", "1:link=DOWN", "2:net_health=ReceiveTimeout",
        "3:lldp=none", "4:mtu=1500", "5:live_gateway=none"});
  const HostFacts facts = Observe();
  ASSERT_EQ(facts.devices_size(), 8);
  EXPECT_TRUE(facts.devices(0).address().has_value());
  EXPECT_EQ(facts.devices(0).address().value().settings_size(), 0);
  EXPECT_EQ(facts.devices(1).link().value(), LinkFact::DOWN);
  EXPECT_EQ(facts.devices(2).net_health().value(), NET_HEALTH_RECEIVE_TIMEOUT);
  ASSERT_TRUE(facts.devices(3).lldp().has_value());
  EXPECT_FALSE(facts.devices(3).lldp().value().heard());
  EXPECT_EQ(facts.devices(4).mtu().value(), 1500u);
  EXPECT_TRUE(facts.devices(5).gateway().has_value());
  EXPECT_EQ(facts.devices(5).gateway().value(), "");
  EXPECT_EQ(facts.devices(6).link().value(), LinkFact::UP);
  EXPECT_EQ(facts.devices(6).mtu().value(), 4200u);
}

TEST_F(Ascend950HostTest, GivesAReasonForWhatIsNotPublished) {
  Make({"0:gone=1", "1:answer=0xdeadbeef", "2:busy=always",
        "3:state=ports=0/4/UB/UP", "4:tls=absent"});
  const HostFacts facts = Observe();
  ASSERT_EQ(facts.devices_size(), 8);
  EXPECT_EQ(facts.devices(0).link().missing().reason(), Missing::TOOL_FAILED);
  const Missing rubbish = facts.devices(1).net_health().missing();
  EXPECT_EQ(rubbish.reason(), Missing::UNREADABLE);
  EXPECT_THAT(rubbish.detail(), HasSubstr("0xdeadbeef"));
  EXPECT_THAT(rubbish.detail(), HasSubstr("not known for the Ascend 950 tool"));
  EXPECT_EQ(facts.devices(2).address().missing().reason(), Missing::BUSY);
  EXPECT_EQ(facts.devices(3).link().missing().reason(), Missing::NOT_SUPPORTED);
  // Queried on a copy of the file, if a copy is possible.
  const TlsFact& tls = facts.devices(4).tls();
  EXPECT_TRUE(tls.has_value() ||
              tls.missing().reason() == Missing::NOT_QUERIED);
  EXPECT_EQ(tls.has_value(), sim::MayEnterPrivately());
  EXPECT_EQ(facts.devices(5).link().value(), LinkFact::UP);
}

// hccn.conf then has the lines of slots, which look like another device's.
TEST_F(Ascend950HostTest, ComparesNoAddressWhereTheSlotIsAnother) {
  Make({"0:state=bond=4", "4:tls=1"});
  const DeviceFacts device = Observe().devices(0);
  EXPECT_EQ(device.address().missing().reason(), Missing::NOT_SUPPORTED);
  EXPECT_THAT(device.address().missing().detail(),
              HasSubstr("device 0 has bond4"));
  EXPECT_EQ(device.gateway().value(), "10.20.0.254");
  EXPECT_TRUE(device.tls().value().enabled());
}

TEST_F(Ascend950HostTest, AsksASilentDeviceNothingMore) {
  Make({"6:hang=1"});
  runner_.EndSoon("-i 6");
  const HostFacts facts = Observe();
  ASSERT_EQ(facts.devices_size(), 8);
  EXPECT_EQ(facts.devices(6).address().missing().reason(), Missing::TIMED_OUT);
  EXPECT_EQ(facts.devices(6).net_health().missing().reason(),
            Missing::TIMED_OUT);
  EXPECT_EQ(facts.devices(6).tls().value().source(), "/etc/hccn.conf");
}

}  // namespace
}  // namespace clusterd
