// Gateways in hccn.conf and on the devices, and the order of the checks.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/tool/test_server.h"

namespace clusterd::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Devices 1 and 6 with an address.
constexpr char kTwoAddressed[] =
    "ip.1=10.0.0.1;mask.1=255.255.255.0;ip.6=10.0.0.6;mask.6=255.255.255.0;";
constexpr char kSetGatewaySix[] = "-i 6 -gateway -s gateway 10.0.0.254";

TEST(SetGatewayTest, A1KeepsOneLineAndOneLiveGatewayPerGroupOfFour) {
  for (const char* product : {"A1-SMP", "A1-AMP"}) {
    const TestServer server(
        absl::StrCat(kTwoAddressed,
                     "gateway.4=10.0.0.252;gateway.1=10.0.0.250;",
                     "product=", product),
        "gateway_7=10.0.0.251\ngateway_4=10.0.0.252\n# gateway_4=old\n"
        "IPv6gateway_4=fd00::1\ngateway_1=10.0.0.250\n");
    EXPECT_EQ(server.Run(kSetGatewaySix).status, 0) << product;
    EXPECT_EQ(server.conf(),
              "gateway_7=10.0.0.251\ngateway_1=10.0.0.250\n"
              "gateway_6=10.0.0.254\n")
        << product;
    EXPECT_EQ(server.state().Find("gateway.4"), std::nullopt) << product;
    EXPECT_EQ(server.state().Find("gateway.1"), "10.0.0.250") << product;
    EXPECT_EQ(server.state().Find("gateway.6"), "10.0.0.254") << product;
  }
}

TEST(SetGatewayTest, A1TakesALineOfTheGroupEvenForTheSameValue) {
  const TestServer server(
      absl::StrCat(kTwoAddressed, "gateway.6=10.0.0.254;product=A1-SMP"),
      "gateway_5=10.0.0.252\ngateway_6=10.0.0.254\n");
  EXPECT_EQ(server.Run(kSetGatewaySix).status, 0);
  EXPECT_EQ(server.conf(), "gateway_6=10.0.0.254\n");
}

TEST(SetGatewayTest, OtherProductsKeepOneGatewayPerDevice) {
  for (const char* product : {"A2", "A2-board-0x0", "A3-no-pod"}) {
    const TestServer server(
        absl::StrCat(kTwoAddressed, "gateway.4=10.0.0.252;product=", product),
        "gateway_4=10.0.0.252\n");
    EXPECT_EQ(server.Run(kSetGatewaySix).status, 0) << product;
    EXPECT_EQ(server.conf(), "gateway_4=10.0.0.252\ngateway_6=10.0.0.254\n");
    EXPECT_EQ(server.state().Find("gateway.4"), "10.0.0.252") << product;
  }
}

TEST(SetGatewayTest, DhcpLeavesItLiveAndTakesTheStoredOne) {
  const TestServer server(absl::StrCat(kTwoAddressed, "gateway.6=10.0.0.252"),
                          "udhcpc_enable_6=1\ngateway_6=10.0.0.252\n");
  EXPECT_EQ(server.Run(kSetGatewaySix).status, 0);
  EXPECT_EQ(server.conf(), "udhcpc_enable_6=1\n");
  EXPECT_EQ(server.state().Find("gateway.6"), "10.0.0.254");
  EXPECT_EQ(server
                .Run("-i 6 -route -a address 172.16.0.0 netmask 255.255.0.0 "
                     "gateway 10.0.0.253")
                .status,
            0);
  EXPECT_EQ(server.conf(), "udhcpc_enable_6=1\n");
  EXPECT_EQ(server.state().Find("routes.6"),
            "172.16.0.0 10.0.0.253 255.255.0.0");
}

TEST(LeaseTest, StoresThatItIsOnAndReleasesTheLine) {
  const TestServer server(
      absl::StrCat(kTwoAddressed, "lease.6=10.9.0.7 255.255.0.0"),
      "# udhcpc_enable_6=0\nmtu_6=1500\n");
  EXPECT_EQ(server.Run("-i 6 -udhcpc -a timeout 5 quit").status, 0);
  EXPECT_EQ(server.conf(),
            "# udhcpc_enable_6=0\nmtu_6=1500\nudhcpc_enable_6=on\n");
  EXPECT_EQ(server.state().Find("ip.6"), "10.9.0.7");
  EXPECT_EQ(server.state().Find("mask.6"), "255.255.0.0");
  // From then on a gateway is not stored.
  EXPECT_EQ(server.Run("-i 6 -gateway -s gateway 10.9.0.254").status, 0);
  EXPECT_THAT(server.conf(), Not(HasSubstr("gateway_6")));
  EXPECT_EQ(server.Run("-i 6 -udhcpc -r").status, 0);
  EXPECT_EQ(server.conf(), "# udhcpc_enable_6=0\nmtu_6=1500\n");
}

TEST(LeaseTest, StoresNothingWithoutALeaseOrWithWrongWords) {
  const TestServer server(kTwoAddressed);
  EXPECT_EQ(server.Run("-i 6 -udhcpc -a").status, 1);
  EXPECT_EQ(server.Run("-i 6 -udhcpc -a timeout").status, 4);
  EXPECT_EQ(server.Run("-i 6 -udhcpc -a timeout 301").status, 1);
  EXPECT_EQ(server.Run("-i 6 -udhcpc -a soon").status, 3);
  EXPECT_EQ(server.Run("-i 6 -udhcpc -r now").status, 4);
  EXPECT_EQ(server.Run("-i 6 -udhcpc -g").status, 3);
  EXPECT_EQ(server.conf(), "");
  EXPECT_EQ(server.state().Find("ip.6"), "10.0.0.6");
}

TEST(AddRouteTest, RepeatedKeywordIsNoRoute) {
  const ToolRun run = TestServer(kTwoAddressed)
                          .Run(
                              "-i 1 -route -a address 172.16.0.0 address "
                              "172.16.0.0 gateway 10.0.0.254");
  EXPECT_EQ(run.status, 3);
}

TEST(DscpToTcTest, IsKeptPerValueAndListed) {
  const TestServer server("", "dscp_tc_1=33:1,\n");
  EXPECT_EQ(server.Run("-i 1 -dscp_to_tc -s dscp 10 tc 2").status, 0);
  EXPECT_EQ(server.conf(), "dscp_tc_1=33:1,10:2,\n");
  EXPECT_EQ(server.Run("-i 1 -dscp_to_tc -g dscp 10").out,
            "dscp      tc\n  10       2\n");
  EXPECT_EQ(server.Run("-i 1 -dscp_to_tc -s dscp 64 tc 1").status, 9);
  EXPECT_EQ(server.Run("-i 1 -dscp_to_tc -s dscp 1 tc 4").status, 10);
}

TEST(HccnConfWriteTest, ReaderWithoutTheLockMayFindTheFileEmpty) {
  // Longer than any test: the write continues when the key is removed.
  const TestServer server(absl::StrCat(kTwoAddressed, "conf_empty.ms=3600000"),
                          "mtu_1=1500\n");
  std::thread writer(
      [&server] { server.Run("-i 1 -netdetect -s address 10.0.0.254"); });
  while (!server.conf().empty()) std::this_thread::yield();
  EXPECT_EQ(server.conf(), "");
  // A reader that asks for the lock learns that the file is being written.
  const std::string path = server.root() + "/etc/hccn.conf";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_NE(flock(fd, LOCK_SH | LOCK_NB), 0);
  StateFile(server.StatePath()).Update([](DeviceState& state) {
    state.Erase("conf_empty.ms");
  });
  EXPECT_EQ(flock(fd, LOCK_SH), 0);
  close(fd);
  writer.join();
  EXPECT_EQ(server.conf(), "mtu_1=1500\nnetdetect_1=10.0.0.254\n");
}

}  // namespace
}  // namespace clusterd::sim
