// Applies and rollbacks of gateways that hccn_tool keeps once for four devices,
// and of a device with DHCP.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/plan/settings.h"
#include "config/values/change_kind.h"
#include "config/words/words.h"
#include "daemon/agent/apply/applier.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/wait/has_fields.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kConf[] = "/etc/hccn.conf";
constexpr char kMask[] = "255.255.255.0";

// Devices 0, 1 and 4 of an A1 server, with addresses as planned. Only device 0
// has a gateway, which its spec does not name.
std::unique_ptr<Scenario> SharedGateway() {
  auto scenario = std::make_unique<Scenario>();
  ClusterSpec& spec = scenario->spec;
  spec.set_name("demo");
  spec.set_product("atlas-training");
  spec.set_mode("smp");
  spec.add_servers()->set_host(kScenarioHost);
  scenario->machine.SetProduct("A1-SMP");
  scenario->machine.files().Put(
      kConf, "# gateway_0= is a note\nIPv6gateway_0=fd00::1\n");
  for (const uint32_t id : {0, 1, 4}) {
    FakeMachine::Device device;
    device.address = absl::StrCat("10.", id, ".0.1");
    device.netmask = kMask;
    if (id == 0) device.gateway = "10.0.0.254";
    scenario->machine.AddDevice(id, device);
    DeviceSpec* planned = spec.mutable_servers(0)->add_devices();
    planned->set_id(id);
    planned->set_address(device.address);
    planned->set_netmask(kMask);
    if (id != 0) planned->set_gateway(absl::StrCat("10.", id, ".0.254"));
  }
  return scenario;
}

TEST(SharedGatewayTest, WhatIsAppliedStandsAndARollbackGivesAllBack) {
  auto scenario = SharedGateway();
  FakeMachine& machine = scenario->machine;
  const auto before = machine.files().Content(kConf);
  EXPECT_THAT(scenario->Plan().blocked(), IsEmpty());
  EXPECT_EQ(Got(scenario->Apply()).outcome(), ApplyResult::APPLIED);
  EXPECT_EQ(machine.device(0).gateway, "");
  EXPECT_EQ(machine.device(1).gateway, "10.1.0.254");
  EXPECT_EQ(machine.device(4).gateway, "10.4.0.254");
  const std::string conf = machine.files().Content(kConf).value_or("");
  EXPECT_THAT(conf, Not(HasSubstr("\ngateway_0=")));
  // Other lines that the tool deletes are put back.
  EXPECT_THAT(conf, HasSubstr("# gateway_0= is a note\nIPv6gateway_0=fd00::1"));
  EXPECT_THAT(scenario->Plan().steps(), IsEmpty());
  EXPECT_THAT(scenario->Plan().blocked(), IsEmpty());
  const auto back = scenario->Rollback().value();
  EXPECT_EQ(machine.device(0).gateway, "10.0.0.254");
  EXPECT_EQ(machine.files().Content(kConf), before);
  // As planned: no command deletes a gateway if there was none.
  EXPECT_THAT(back.residues(),
              ElementsAre(HasSubstr(Say("plan-say-is-was-none",
                                        "device 4: gateway", "10.4.0.254")),
                          HasSubstr(Say("plan-say-is-was-none",
                                        "device 1: gateway", "10.1.0.254"))));
}

TEST(SharedGatewayTest, ADeviceWhoseGatewayGoesMustBeIdleToo) {
  auto scenario = SharedGateway();
  Applier applier(
      ScenarioOptions(), scenario->Access(),
      [] {
        return AllowsOnly({CHANGE_DEVICE_ADDRESS, CHANGE_HCCN_CONF});
      },
      [] {
        return std::vector<DeviceUser>{{0, 4711, "python3"}};
      });
  const auto refused = applier.Apply(RequestFor(scenario->Plan(), "a1"));
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr(Say("plan-say-in-use", 0, 4711, "python3")));
  EXPECT_EQ(scenario->machine.device(0).gateway, "10.0.0.254");
}

TEST(DhcpGatewayTest, APlanOfTheRestIsAppliedAndStands) {
  auto scenario = SharedGateway();
  FakeFileSystem& files = scenario->machine.files();
  files.Put(kConf, absl::StrCat(files.Content(kConf).value_or(""),
                                "udhcpc_enable_1=1\n"));
  const HostPlan plan = scenario->Plan();
  ASSERT_THAT(plan, HasFields("steps { target { device: 4 } } blocked {}"));
  EXPECT_THAT(plan.blocked(0).reason(), HasSubstr("udhcpc_enable_1"));
  EXPECT_EQ(Got(scenario->Apply()).outcome(), ApplyResult::APPLIED);
}

// The tool's output for the address does not explain the gateway.
TEST(ResidueTest, QuotesNoOtherCommandAsItsCause) {
  auto scenario = SharedGateway();
  FakeMachine& machine = scenario->machine;
  machine.device(4).gateway = "";
  scenario->spec.mutable_servers(0)->mutable_devices(2)->set_address(
      "10.4.0.9");
  ASSERT_EQ(Got(scenario->Apply()).outcome(), ApplyResult::APPLIED);
  const auto back = scenario->Rollback().value();
  EXPECT_EQ(machine.device(4).address, "10.4.0.1");
  ASSERT_EQ(back.residues_size(), 2) << back.ShortDebugString();
  EXPECT_THAT(back.residues(0),
              HasSubstr(Say("plan-say-is-was-none", "gateway", "10.4.0.254")));
  EXPECT_THAT(back.residues(0), Not(HasSubstr("-ip -s")));
  EXPECT_THAT(back.residues(0), Not(HasSubstr("successfully")));
}

}  // namespace
}  // namespace clusterd
