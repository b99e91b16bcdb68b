#include "config/rules/seen/seen.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/rules/judge.h"
#include "gmock/gmock.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd {
namespace {

using ::testing::Contains, ::testing::ContainsRegex, ::testing::ElementsAre,
    ::testing::HasSubstr, ::testing::IsEmpty, ::testing::Not, ::testing::SizeIs;

class SeenTest : public testing::Test {
 protected:
  explicit SeenTest(int servers = 6)
      : spec_(MakeSpec("atlas-training", "", servers)),
        facts_(MakeHealthyFacts(spec_)) {}

  Report Seen() const {
    Report report;
    const ClusterView view(spec_, Pointers(facts_));
    *report.mutable_value_groups() = SeenValues(view);
    *report.mutable_switches() = SeenSwitches(view);
    return report;
  }

  ClusterSpec spec_;
  std::vector<HostFacts> facts_;
};

// "+17" for what stands for 17.
std::string Rest(uint32_t number) {
  return number == 0 ? "" : absl::StrCat("+", number);
}

// "value: hosts, host count/device count" for each group of a fact; "?" is a
// value that is not known.
std::vector<std::string> GroupsOf(const Report& report,
                                  absl::string_view name) {
  std::vector<std::string> groups;
  for (const ValueGroups& fact : report.value_groups()) {
    if (fact.name() != name) continue;
    for (const ValueGroups::Group& group : fact.groups()) {
      groups.push_back(absl::StrCat(group.value(), group.unknown() ? "?" : "",
                                    Rest(group.other_values()), ": ",
                                    group.hosts(), ", ", group.host_count(),
                                    "/", group.device_count()));
    }
  }
  return groups;
}

// "leaf-0 0: server[0-5]" for each entry.
std::vector<std::string> PortsOf(const Report& report) {
  std::vector<std::string> lines;
  for (const SwitchPorts& leaf : report.switches()) {
    for (const SwitchPorts::Ports& ports : leaf.ports()) {
      lines.push_back(absl::StrCat(leaf.name(), Rest(leaf.more_switches()), " ",
                                   ports.device(), ": ", ports.hosts()));
    }
  }
  return lines;
}

void SetLeaf(const std::string& name, const std::string& chassis,
             DeviceFacts* device) {
  LldpNeighbour* const neighbour = device->mutable_lldp()->mutable_value();
  neighbour->Clear();
  neighbour->set_heard(true);
  neighbour->set_peer(LldpNeighbour::SWITCH);
  neighbour->set_system_name(name);
  neighbour->set_chassis_id(chassis);
}

TEST_F(SeenTest, HasTheRarestValueFirstAndOfSettingsOnlyWhatDiffers) {
  for (HostFacts& host : facts_) {
    host.mutable_versions()->mutable_driver()->set_value("25.2.0");
    host.mutable_versions()->mutable_cann()->set_value("8.2.0");
    for (DeviceFacts& device : *host.mutable_devices()) {
      device.mutable_mtu()->set_value(4096);
      device.mutable_tls()->mutable_value()->set_enabled(true);
    }
  }
  facts_[2].mutable_versions()->mutable_driver()->set_value("24.1.0");
  facts_[4].mutable_versions()->mutable_driver()->mutable_missing()->set_reason(
      Missing::TIMED_OUT);
  facts_[5].mutable_devices(3)->mutable_mtu()->set_value(1500);
  facts_[1].mutable_devices(3)->mutable_mtu()->set_value(1500);
  const Report report = Seen();
  EXPECT_THAT(GroupsOf(report, "driver"),
              ElementsAre("24.1.0: server2, 1/0", "?: server4, 1/0",
                          "25.2.0: server[0-1,3,5], 4/0"));
  EXPECT_THAT(GroupsOf(report, "CANN"), ElementsAre("8.2.0: server[0-5], 6/0"));
  EXPECT_THAT(GroupsOf(report, "MTU"),
              ElementsAre("1500: server[1,5], 2/2", "4096: server[0-5], 6/46"));
  EXPECT_THAT(GroupsOf(report, "TLS"), IsEmpty());
  EXPECT_THAT(GroupsOf(report, "architecture"), IsEmpty());
}

TEST_F(SeenTest, TellsWhichDevicesAreOnWhichSwitch) {
  for (HostFacts& host : facts_) {
    for (DeviceFacts& device : *host.mutable_devices()) {
      device.clear_lldp();
      if (device.id() > 1) continue;
      SetLeaf(absl::StrCat("leaf-", device.id()),
              absl::StrCat("mac-", device.id()), &device);
    }
  }
  SetLeaf("leaf-1", "mac-1", facts_[3].mutable_devices(0));
  facts_[4].mutable_devices(1)->mutable_lldp()->mutable_value()->set_heard(
      false);
  EXPECT_THAT(PortsOf(Seen()),
              ElementsAre(" 1: server4", "leaf-0 0: server[0-2,4-5]",
                          "leaf-1 0: server3", "leaf-1 1: server[0-3,5]"));
}

TEST_F(SeenTest, SwitchesOfOneNameAreDistinguished) {
  for (HostFacts& host : facts_) {
    for (DeviceFacts& device : *host.mutable_devices()) device.clear_lldp();
    SetLeaf("switch", absl::StrCat("mac-", host.host() == "server0"),
            host.mutable_devices(0));
  }
  EXPECT_THAT(PortsOf(Seen()), ElementsAre("switch (mac-0) 0: server[1-5]",
                                           "switch (mac-1) 0: server0"));
}

TEST_F(SeenTest, SaysNothingOfWhatWasNotAsked) {
  spec_.mutable_servers(1)->set_rack("r01");
  facts_[1] = MakeSilentHost("server1", Missing::NO_ANSWER, "");
  const Report report = BuildReport(spec_, Pointers(facts_), {});
  EXPECT_THAT(GroupsOf(report, "kernel"), SizeIs(1));
  EXPECT_EQ(report.hosts(1).rack(), "r01");
  EXPECT_EQ(report.hosts(2).rack(), "");
  for (HostFacts& host : facts_) {
    const std::string name = host.host();
    host.Clear();
    host.set_host(name);
  }
  EXPECT_EQ(Seen().ByteSizeLong(), 0u) << Seen().DebugString();
}

class LargeSeenTest : public SeenTest {
 protected:
  LargeSeenTest() : SeenTest(1152) {}
};

TEST_F(LargeSeenTest, IsBoundedWhateverHostsSay) {
  size_t n = 0;
  for (HostFacts& host : facts_) {
    const std::string text = absl::StrCat(++n, std::string(500, '<'));
    VersionFacts* const versions = host.mutable_versions();
    versions->mutable_driver()->set_value(text);
    versions->mutable_firmware()->set_value(text);
    versions->mutable_cann()->set_value(text);
    host.mutable_identity()->mutable_os_release()->set_value(text);
    host.mutable_identity()->mutable_kernel_release()->set_value(text);
    for (DeviceFacts& device : *host.mutable_devices()) {
      device.mutable_mtu()->set_value(++n);
      device.mutable_pfc()->set_value(absl::StrCat(n, text));
      SetLeaf(absl::StrCat("leaf", n, text), absl::StrCat(n, text), &device);
    }
  }
  const Report report = Seen();
  const std::vector<std::string> drivers = GroupsOf(report, "driver");
  EXPECT_THAT(drivers, SizeIs(12));
  EXPECT_THAT(drivers[0], HasSubstr("+1141: "));
  EXPECT_THAT(drivers[0], HasSubstr(", 1141/0"));
  EXPECT_EQ(report.switches(0).name().find("leaf"), 0u);
  EXPECT_THAT(PortsOf(report), Contains(ContainsRegex("^[+][0-9]+ 0: ")));
  Report groups = report;
  groups.clear_switches();
  EXPECT_LT(groups.ByteSizeLong(), 30u << 10);
  EXPECT_LT(report.ByteSizeLong(), 300u << 10);
}

TEST_F(LargeSeenTest, IsSmallWhereHostsAgree) {
  for (HostFacts& host : facts_) {
    for (DeviceFacts& device : *host.mutable_devices()) {
      SetLeaf(absl::StrCat("leaf-", device.id()), "", &device);
    }
  }
  const Report report = Seen();
  EXPECT_THAT(GroupsOf(report, "kernel"), SizeIs(1));
  EXPECT_THAT(PortsOf(report), Contains("leaf-3 3: server[0-1151]"));
  EXPECT_THAT(PortsOf(report), Not(Contains(HasSubstr("more"))));
  EXPECT_LT(report.ByteSizeLong(), 2u << 10);
}

}  // namespace
}  // namespace clusterd
