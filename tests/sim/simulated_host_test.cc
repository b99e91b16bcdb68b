#include "tests/sim/simulated_host.h"

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/host_folder.h"
#include "tests/sim/test_folder.h"
#include "tests/sim/tool/run_tool.h"
#include "tests/sim/tool/terminal.h"
#include "tests/support/wait/telling.h"

namespace clusterd::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ClusterSpec TwoServers(const std::string& product = "atlas-training") {
  ClusterSpec spec;
  spec.set_product(product);
  spec.mutable_hccl()->set_base_port(60000);
  spec.mutable_hccl()->set_port_count(32);
  spec.mutable_kernel()->set_somaxconn(65535);
  spec.mutable_kernel()->set_tcp_max_syn_backlog(65535);
  for (int i = 0; i < 2; ++i) {
    ServerSpec* server = spec.add_servers();
    server->set_host(absl::StrCat("server", i));
    server->set_address(absl::StrCat("192.168.7.", 22 + i));
    for (int id = 0; id < 8; ++id) {
      DeviceSpec* device = server->add_devices();
      device->set_id(id);
      device->set_address(absl::StrCat("192.168.", 100 + id % 4, ".",
                                       100 + 2 * i + (id < 4 ? 1 : 0)));
      device->set_netmask("255.255.255.0");
      device->set_detect_address(absl::StrCat("192.168.", 100 + id % 4, ".1"));
    }
  }
  return spec;
}

class SimulatedHostTest : public ::testing::Test {
 protected:
  SimulatedHostOptions Options(std::vector<std::string> faults = {},
                               const std::string& host = "server0") {
    SimulatedHostOptions options;
    options.root = folder_.path() + "/" + host;
    options.tool = "/bin/true";
    options.host = host;
    options.faults = std::move(faults);
    return options;
  }
  HostFolder Host(const std::string& host = "server0") {
    return HostFolder(folder_.path() + "/" + host);
  }
  std::string Ask(const std::string& line) {
    FakeTerminal terminal;
    RunTool(absl::StrSplit(line, ' '), ServerBelow(Host().root(), 0, 0),
            &terminal);
    return terminal.out() + terminal.err();
  }

  const TestFolder folder_;
};

TEST_F(SimulatedHostTest, ServersDifferWhereRealOnesDo) {
  const ClusterSpec spec = TwoServers();
  ASSERT_TRUE(CreateSimulatedHost(spec, Options()).ok());
  ASSERT_TRUE(CreateSimulatedHost(spec, Options({}, "server1")).ok());
  for (const char* path : {"etc/machine-id", "proc/sys/kernel/random/boot_id",
                           "proc/sys/kernel/hostname", "etc/hccn.conf"}) {
    EXPECT_NE(Host().Read(path), Host("server1").Read(path)) << path;
  }
  EXPECT_NE(Host().state().Read().Find("lldp.0"),
            Host("server1").state().Read().Find("lldp.0"));
  EXPECT_NE(Host().state().Read().Find("mac.0"),
            Host("server1").state().Read().Find("mac.0"));
}

TEST_F(SimulatedHostTest, PciEntriesTellTheSeries) {
  ASSERT_TRUE(CreateSimulatedHost(TwoServers("atlas-a3"), Options()).ok());
  int npus = 0, others = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           Host().Path("sys/bus/pci/devices"))) {
    const std::string device = Host().Read(absl::StrCat(
        "sys/bus/pci/devices/", entry.path().filename().string(), "/device"));
    ++(device == "0xd803\n" ? npus : others);
  }
  EXPECT_EQ(npus, 8);
  EXPECT_EQ(others, 1);
}

TEST_F(SimulatedHostTest, BadFaultWritesNothing) {
  EXPECT_THAT(
      CreateSimulatedHost(TwoServers(),
                          Options({"3:link=DOWN", "3:lnk=DOWN", "8:link=UP"})),
      Fails(absl::StatusCode::kInvalidArgument,
            testing::AllOf(HasText("3:lnk=DOWN"), HasText("8:link=UP"))));
  EXPECT_FALSE(std::filesystem::exists(Host().root()));
}

TEST_F(SimulatedHostTest, ServerForNamespacesKeepsItsFaultsUntilItHasThem) {
  SimulatedHostOptions options = Options({"3:link=DOWN", "host:listen=60003"});
  options.namespaces = true;
  ASSERT_TRUE(CreateSimulatedHost(TwoServers(), options).ok());
  EXPECT_EQ(Host().Read("var/lib/hccn_sim/faults"),
            "3:link=DOWN\nhost:listen=60003\n");
  EXPECT_TRUE(Host().Exists("var/lib/hccn_sim/simhost"));
  EXPECT_EQ(Ask("-i 3 -link -g"), "link status: UP\n");
  EXPECT_THAT(Host().Read("proc/net/tcp"), Not(HasSubstr(":EA63")));
}

TEST_F(SimulatedHostTest, UnknownHostNamesTheKnownOnes) {
  EXPECT_THAT(CreateSimulatedHost(TwoServers(), Options({}, "server9")),
              Fails(absl::StatusCode::kNotFound, HasText("server0 server1")));
}

TEST_F(SimulatedHostTest, FolderInUseIsRefused) {
  ASSERT_TRUE(Host().Write("etc/hosts", "kept").ok());
  EXPECT_TRUE(
      absl::IsFailedPrecondition(CreateSimulatedHost(TwoServers(), Options())));
  EXPECT_EQ(Host().Read("etc/hosts"), "kept");
}

TEST_F(SimulatedHostTest, FaultsCanBeAddedLater) {
  ASSERT_TRUE(CreateSimulatedHost(TwoServers(), Options({"3:link=DOWN"})).ok());
  EXPECT_EQ(Ask("-i 3 -link -g"), "link status: DOWN\n");
  ASSERT_TRUE(AddFaults(Host().root(), {"3:link=UP", "4:busy=1"}).ok());
  EXPECT_EQ(Ask("-i 3 -link -g"), "link status: UP\n");
  EXPECT_EQ(Ask("-i 4 -link -g"), "hccn_tool is busy, please try again.\n");
  EXPECT_TRUE(absl::IsInvalidArgument(AddFaults(Host().root(), {"9:link=UP"})));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(AddFaults("/nonexistent", {"3:link=UP"})));
}

TEST(ToolProductOfTest, FollowsProductAndMode) {
  const char* const kProducts[][3] = {
      {"atlas-training", "", "A1-SMP"},
      {"atlas-training", "amp", "A1-AMP"},
      {"atlas-a2", "amp", "A2"},
      {"atlas-a3", "amp", "A3-no-pod"},
      {"atlas-a3-superpod", "amp", "A3-superpod"}};
  for (const auto& [product, mode, tool] : kProducts) {
    ClusterSpec spec;
    spec.set_product(product);
    spec.set_mode(mode);
    EXPECT_EQ(ToolProductOf(spec, ServerSpec()), tool) << product;
  }
}

}  // namespace
}  // namespace clusterd::sim
