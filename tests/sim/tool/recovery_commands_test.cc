// Lines of hccn.conf that cost one device, or every device of a server, its
// values at boot; and the lines that a boot leaves there.
#include <string.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "config/values/hccn_conf_line.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/tool/test_server.h"

namespace clusterd::sim {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// Device 1 of a server, as it should be after a boot.
constexpr char kHealthyConf[] =
    "tls_ca_recovered_1=1\naddress_1=10.0.0.1\nnetmask_1=255.255.255.0\n"
    "netdetect_1=10.0.0.254\n";
constexpr char kRecoverOne[] = "-i 1 -cfg recovery";
constexpr char kSetOne[] = "-i 1 -ip -s address 10.0.0.9 netmask 255.255.255.0";

// Lines that look like a route of some device and do not scan as one.
constexpr const char* kBrokenRoutes[] = {
    "route_address_172.16.0.0_5=gateway_10.0.0.253",
    "route_address_172.16.0.0_netmask_255.255.0.0_5=10.0.0.253",
    "route_address_172.16.0.0_netmask_255.255.0.0=gateway_10.0.0.253",
    "route_address_172.16.0.0_netmask_255.255.0.0_x=gateway_10.0.0.253",
    "route_address_172.16.0.0_netmask_255.255.0.0_5=gateway_10.0.0",
    "route_5=172.16.0.0",
    "route_ipv6_address_x_5=1",
};
// Lines that are not routes, or whose beginning scans.
constexpr const char* kHarmlessRoutes[] = {
    " route_address_172.16.0.0_5=gateway_10.0.0.253",
    "#route_address_172.16.0.0_5=gateway_10.0.0.253",
    "route_address_172.16.0.0_5",
    "route_address_172.16.0.0_netmask_255.255.0.0_5=gateway_10.0.0.253 ",
    "route_address_172.16.0.0_netmask_255.255.0.0_5=gateway_10.0.0.253\r",
    "route_address_172.16.0.0_netmask_255.255.0.0_5=gateway_10.0.0.253=x",
    "IPv6route_address_x_5=1",
};

TEST(StoredRouteTest, BrokenLineOfAnyDeviceFailsEveryAddressChange) {
  for (const char* line : kBrokenRoutes) {
    const TestServer server("", absl::StrCat(kHealthyConf, line, "\n"));
    const ToolRun run = server.Run(kSetOne);
    EXPECT_EQ(run.status, 244) << line;
    EXPECT_EQ(run.err, "Cmd execute failed!\n") << line;
    EXPECT_EQ(server.state().Find("ip.1"), std::nullopt) << line;
  }
  for (const char* line : kHarmlessRoutes) {
    const TestServer server("", absl::StrCat(kHealthyConf, line, "\n"));
    EXPECT_EQ(server.Run(kSetOne).status, 0) << line;
  }
}

TEST(StoredRouteTest, BrokenLineOfAnyDeviceLeavesEveryDeviceWithoutAnAddress) {
  for (const char* line : kBrokenRoutes) {
    const TestServer server(
        "devices=1,2", absl::StrCat(kHealthyConf, "tls_ca_recovered_2=1\n",
                                    "address_2=10.0.0.2\n",
                                    "netmask_2=255.255.255.0\n", line, "\n"));
    const ToolRun run = server.Run("-a -cfg recovery");
    EXPECT_EQ(run.status, 1) << line;
    EXPECT_EQ(run.err,
              "dev:1 recovery fail\ndev:2 recovery fail\n"
              "Command execute failed!\n")
        << line;
    EXPECT_EQ(server.state().Find("ip.1"), std::nullopt) << line;
    EXPECT_EQ(server.state().Find("ip.2"), std::nullopt) << line;
    EXPECT_EQ(server.state().Find("netdetect.1"), std::nullopt) << line;
  }
  for (const char* line : kHarmlessRoutes) {
    const TestServer server("", absl::StrCat(kHealthyConf, line, "\n"));
    EXPECT_EQ(server.Run(kRecoverOne).status, 0) << line;
  }
}

TEST(StoredRouteTest, OnlyAddressesRecoveryAndLinkUpReadIt) {
  const std::string conf = absl::StrCat(kHealthyConf, kBrokenRoutes[0], "\n");
  const TestServer server("ip.1=10.0.0.1;mask.1=255.255.255.0", conf);
  EXPECT_EQ(server.Run("-i 1 -gateway -s gateway 10.0.0.254").status, 0);
  EXPECT_EQ(server.Run("-i 1 -netdetect -s address 10.0.0.254").status, 0);
  EXPECT_EQ(server.Run("-i 1 -link -s up").status, 1);
}

TEST(StoredRouteTest, RouteAboveABrokenLineIsDroppedAllTheSame) {
  const std::string foreign =
      "route_address_172.16.0.0_netmask_255.255.0.0_1=gateway_10.9.0.253\n";
  const TestServer server("", absl::StrCat(foreign, kBrokenRoutes[0], "\n"));
  EXPECT_EQ(server.Run(kSetOne).status, 244);
  EXPECT_EQ(server.conf(), absl::StrCat(kBrokenRoutes[0], "\n"));
  const TestServer below("", absl::StrCat(kBrokenRoutes[0], "\n", foreign));
  EXPECT_EQ(below.Run(kSetOne).status, 244);
  EXPECT_THAT(below.conf(), EndsWith(foreign));
}

TEST(StoredRouteTest, RecoveryGivesRoutesAndDropsThoseOfAnotherSubnet) {
  const std::string good =
      "route_address_172.16.0.0_netmask_255.255.0.0_1=gateway_10.0.0.253\n";
  const std::string foreign =
      "route_address_172.17.0.0_netmask_255.255.0.0_1=gateway_10.9.0.253\n";
  const TestServer server("", absl::StrCat(kHealthyConf, foreign, good));
  EXPECT_EQ(server.Run(kRecoverOne).status, 0);
  EXPECT_EQ(server.state().Find("routes.1"),
            "172.16.0.0 10.0.0.253 255.255.0.0");
  EXPECT_THAT(server.conf(), HasSubstr(good));
  EXPECT_THAT(server.conf(), Not(HasSubstr(foreign)));
}

TEST(RecoveryTest, BlanksAtTheEndBelongToTheValue) {
  for (const char* line :
       {"gateway_1=10.0.0.254\t", "tls_enable_1=0 ", "mtu_1=4200 ",
        "mac_addr_1=6c:b1:58:00:00:01 ", "netdetect_1=10.0.0.254 ",
        "bitmap_1=0,0,0,0,1,0,0,0 "}) {
    const std::string key(line, strchr(line, '=') - line + 1);
    std::string conf = kHealthyConf;
    if (absl::StrContains(conf, key)) conf.resize(conf.find(key));
    const TestServer server("", absl::StrCat(conf, line, "\n"));
    const ToolRun run = server.Run(kRecoverOne);
    EXPECT_EQ(run.status, 1) << line;
    EXPECT_THAT(run.out, HasSubstr("Recovery failed.")) << line;
    // The device has the rest.
    EXPECT_EQ(server.state().Find("ip.1"), "10.0.0.1") << line;
    for (const char* left : {"gateway.1", "tls.1", "mtu.1", "mac.1"}) {
      EXPECT_EQ(server.state().Find(left), std::nullopt) << line;
    }
  }
}

TEST(RecoveryTest, LineThatBreaksOneDeviceShowsInTheStatusOfThatDevice) {
  for (const char* line : {"ip_route_1=x",
                           "ip_rule_1=x",
                           "ip_rule_1=add via 10.0.0.1",
                           "send_arp_status_1=2",
                           "send_arp_period_1=0",
                           "gateway_1=",
                           "gateway_1=10.0.0.300",
                           "mtu_1=67",
                           "mtu_1=15000",
                           "mac_addr_1=x",
                           "arp_1=x",
                           "bitmap_1=1",
                           "roce_port_1=99",
                           "roce_port_1=x",
                           "bw_limit_1=9999",
                           "tc_cfg_1=size 1",
                           "prio_tc_1=0,1,2,4,0,0,0,0",
                           "lldp_portid_type_1=x",
                           "static_speed_1=1",
                           "dscp_tc_1=64:1,",
                           "tls_enable_1=0mtu_2=1500",
                           "xsfp_reset_max_times_1=31"}) {
    const TestServer server(
        "devices=1,2",
        absl::StrCat(kHealthyConf, "tls_ca_recovered_2=1\n", line, "\n"));
    EXPECT_EQ(server.Run(kRecoverOne).status, 1) << line;
    EXPECT_EQ(server.Run("-i 1 -cfg status").out, "config status:FAIL\n")
        << line;
    EXPECT_EQ(server.Run("-i 2 -cfg recovery").status, 0) << line;
    EXPECT_EQ(server.Run("-i 2 -cfg status").out, "config status:SUCCESS\n")
        << line;
  }
}

TEST(RecoveryTest, GoodValuesOfTheSameKeysPass) {
  for (const char* line :
       {"ip_route_1=add 10.1.0.0/24 via 10.0.0.253 dev eth1 table 100",
        "ip_rule_1=add from 10.0.0.1 table 100", "send_arp_status_1=1",
        "send_arp_period_1=3600", "gateway_1=10.9.0.254", "mtu_1=4200",
        "arp_1=-i eth1 -s 10.0.0.9 6c:b1:58:00:00:99", "roce_port_1=4097",
        "roce_port_1=-1", "bw_limit_1=100000", "bw_limit_1=not a limit",
        "prio_tc_1=0,1,2,3,0,0,0,0", "lldp_portid_type_1=ifname",
        "static_speed_1=100000", "dscp_tc_1=33:1,", "tls_enable_1=1",
        "tc_cfg_1=size 6272,0 waterline 100,0"}) {
    const TestServer server("", absl::StrCat(kHealthyConf, line, "\n"));
    EXPECT_EQ(server.Run(kRecoverOne).status, 0) << line;
  }
}

TEST(RecoveryTest, IpRouteThatIsNoneCostsTheAddress) {
  const TestServer server("", absl::StrCat(kHealthyConf, "ip_route_1=x\n"));
  EXPECT_EQ(server.Run(kSetOne).status, 16);
  EXPECT_EQ(server.state().Find("ip.1"), std::nullopt);
  EXPECT_EQ(server.Run(kRecoverOne).status, 1);
  EXPECT_EQ(server.state().Find("ip.1"), std::nullopt);
}

TEST(RecoveryTest, AnnouncementThatIsNoneLeavesTheNewAddressLiveAndTheFileOld) {
  const std::string conf = absl::StrCat(kHealthyConf, "send_arp_status_1=2\n");
  const TestServer server("", conf);
  EXPECT_EQ(server.Run(kSetOne).status, 1);
  EXPECT_EQ(server.state().Find("ip.1"), "10.0.0.9");
  EXPECT_EQ(server.conf(), conf);
}

TEST(RecoveryTest, DhcpKeepsGatewaysRoutesAndAnnouncements) {
  const TestServer server(
      "",
      absl::StrCat(
          kHealthyConf, "udhcpc_enable_1=1\ngateway_1=10.0.0.254\n",
          "route_address_172.16.0.0_netmask_255.255.0.0_1=gateway_10.0.0.253\n",
          "send_arp_status_1=2\n"));
  EXPECT_EQ(server.Run(kRecoverOne).status, 0);
  EXPECT_EQ(server.state().Find("gateway.1"), std::nullopt);
  EXPECT_EQ(server.state().Find("routes.1"), std::nullopt);
  EXPECT_EQ(server.state().Find("ip.1"), "10.0.0.1");
}

TEST(RecoveryTest, FailingItemIsTriedFourTimes) {
  const TestServer server("", absl::StrCat(kHealthyConf, "mtu_1=x\n"));
  EXPECT_EQ(server.Run(kRecoverOne).status, 1);
  const std::string log = server.Read("/var/log/hccn_tool/hccn_config.log");
  const std::vector<std::string> parts = absl::StrSplit(log, "recovery of mtu");
  EXPECT_EQ(parts.size(), 5u) << log;
}

// Values over which the recovery of a device fails, and values that it takes,
// here and by clusterd's table of keys. Lines after the first go with it.
constexpr const char* kBreaking[] = {
    "roce_port_1=0",
    "roce_port_1=4096",
    "roce_port_1=65536",
    "bitmap_1=1,1,1,1,1,0,0,0",
    "mtu_1=67",
    "mtu_1=9703",
    "mtu_1=01500",
    "mac_addr_1=00:00:00:00:00:00",
    "mac_addr_1=01:80:c2:00:00:01",
    "send_arp_period_1=0",
    "send_arp_period_1=3601",
    "send_arp_period_1=x",
    "send_arp_period_1=",
    "prio_tc_1=x",
    "prio_tc_1=0,1,2,4,0,0,0,0",
    "tc_cfg_1=x",
    "bw_limit_1=9999",
    "bw_limit_1=200001",
    "static_speed_1=50000",
    "dscp_tc_1=64:1",
    "dscp_tc_1=33:4",
    "dscp_tc_1=33",
    "lldp_portid_type_1=name",
    "ip_rule_1=  add from 10.0.0.1 table 10",
    "IPv6gateway_1=x",
    "IPv6netdetect_1=x",
    "tsa_1=x",
    "tcbw_1=x",
    "dcqcn_cnp_dscp_1=64",
    "cw_bad_cnt_thd_high_limit_1=15",
    "mem_reserve_1=x",
    "xsfp_reset_max_times_1=31",
    "xsfp_reset_wait_times_1=41",
    "xsfp_reset_max_times_1=x",
    "down_fault_time_1=x",
    "cdr_reset_switch_1=on",
    "scdr_reset_delay_time_1=x",
    "udp_port_mode_1=x",
    "tls_enable_1=2",
    "tls_ca_recovered_1=2",
    "udhcpc_enable_1=disabled",
    "udhcpc_ipv6_enable_1=disabled",
    "IPv6address_1=x\nIPv6netmask_1=64",
    "dcqcn_f_1=256\ndcqcn_alg_mode_1=1",
    "dcqcn_tmp_1=16\ndcqcn_alg_mode_1=1",
    "dcqcn_alp_1=\ndcqcn_alg_mode_1=1",
    "udp_port_mode_1=multi_qp\nmulti_qp_count_1=2",
    "udp_port_mode_1=multi_qp\nmulti_qp_udp_ports_1=5000,5001",
    "udp_port_mode_1=code:nslb_dp",
    "multi_qp_count_1=1\nudp_port_mode_1=multi_qp\n"
    "multi_qp_udp_ports_1=5000,5001",
    "multi_qp_udp_ports_1=5000\nudp_port_mode_1=multi_qp\n"
    "multi_qp_count_1=2",
    "nslb_dp_listen_port_1=9999\nudp_port_mode_1=code:nslb_dp"};
constexpr const char* kTaken[] = {
    "tls_enable_1=01", "tls_enable_1=+1", "tls_enable_1= 0",
    "tls_ca_recovered_1=01", "arp_1=-i eth1  -s 10.0.0.9 6c:b1:58:00:00:09",
    "roce_port_1=-1", "roce_port_1=04791", "udhcpc_enable_1=on",
    "udhcpc_enable_1=0", "dscp_tc_1=33:1,46:2,", "encoding_1=x",
    "tsa_1=0:ets,1:strict", "tcbw_1=0:100", "mem_reserve_1=pdccl:256",
    "down_fault_time_1=3", "cdr_reset_switch_1=enable",
    "bitmap_1=1,1,1,1,0,0,0,0", "static_speed_1=200000", "bw_limit_1=10000",
    "tc_cfg_1=size 6272,0 waterline 100,0", "dcqcn_cnp_dscp_1=63",
    "xsfp_reset_wait_times_1=40", "cw_bad_cnt_thd_high_limit_1=14",
    "scdr_reset_delay_time_1=60", "udhcpc_ipv6_enable_1=on",
    "IPv6gateway_1=fd00::1", "IPv6netdetect_1=fd00::1",
    "IPv6address_1=fd00::5\nIPv6netmask_1=64", "IPv6address_1=x",
    "IPv6netmask_1=x\nIPv6address_1=fd00::5",
    "dcqcn_f_1=255\ndcqcn_alg_mode_1=1", "dcqcn_f_1=256",
    ("udp_port_mode_1=multi_qp\nmulti_qp_count_1=2\n"
     "multi_qp_udp_ports_1=5000,5001"),
    "udp_port_mode_1=code:nslb_dp\nnslb_dp_listen_port_1=16668",
    "multi_qp_count_1=1", "multi_qp_udp_ports_1=x", "nslb_dp_listen_port_1=1",
    // Under DHCP it does not read them.
    "gateway_1=x\nudhcpc_enable_1=0", "arp_1=x\nudhcpc_enable_1=0",
    "send_arp_period_1=0\nudhcpc_enable_1=0",
    "send_arp_status_1=2\nudhcpc_enable_1=0"};

TEST(StoredValueTest, BreaksTheRecoveryOrDoesNot) {
  for (const bool breaks : {true, false}) {
    const auto lines =
        breaks ? absl::MakeConstSpan(kBreaking) : absl::MakeConstSpan(kTaken);
    for (const char* line : lines) {
      // The first line of a key counts.
      const std::string conf = absl::StrCat(line, "\n", kHealthyConf);
      const TestServer server("", conf);
      EXPECT_EQ(server.Run(kRecoverOne).status, breaks ? 1 : 0) << line;
      const std::string first = conf.substr(0, conf.find('\n'));
      EXPECT_EQ(!MayBeRecovered(first, conf) && BreaksRecoveryOf("A2", first),
                breaks)
          << line;
      EXPECT_EQ(server.state().Find("ip.1"), "10.0.0.1") << line;
    }
  }
}

TEST(StoredValueTest, DependsOnTheProduct) {
  const auto status = [](const char* product, const char* line) {
    return TestServer(absl::StrCat("product=", product),
                      absl::StrCat(line, "\n", kHealthyConf))
        .Run(kRecoverOne)
        .status;
  };
  EXPECT_EQ(status("A1-AMP", "bitmap_1=1,1,1,1,1,1,1,1"), 0);
  EXPECT_EQ(status("A3-no-pod", "bitmap_1=1,1,1,1,1,1,1,1"), 1);
  EXPECT_EQ(status("A1-AMP", "encoding_1=x"), 1);
  EXPECT_EQ(status("A1-AMP", "mem_reserve_1=x"), 0);
  EXPECT_EQ(status("A2-board-0x0", "cdr_reset_switch_1=x"), 0);
  EXPECT_EQ(status("A3-9000", "IPv6gateway_1=x"), 0);
}

TEST(StoredValueTest, LongDhcpValueStoresAGatewayAndIsStillDhcpAtBoot) {
  const TestServer server(
      "ip.1=10.0.0.1;mask.1=255.255.255.0",
      absl::StrCat(kHealthyConf, "udhcpc_enable_1=disabled\n"));
  EXPECT_EQ(server.Run("-i 1 -gateway -s gateway 10.0.0.254").status, 0);
  EXPECT_THAT(server.conf(), EndsWith("gateway_1=10.0.0.254\n"));
  EXPECT_EQ(server
                .Run("-i 1 -route -a address 172.16.0.0 netmask 255.255.0.0 "
                     "gateway 10.0.0.253")
                .status,
            0);
  EXPECT_THAT(server.conf(),
              EndsWith("\nroute_address_172.16.0.0_netmask_255.255.0.0_1="
                       "gateway_10.0.0.253\n"));
}

TEST(UdpPortTest, SomeProductsHaveOnePortForAll) {
  for (const char* product : {"A1-SMP", "A1-AMP", "A3-9000"}) {
    const TestServer server(absl::StrCat("product=", product));
    const ToolRun run =
        server.Run("-i 1 -udp -s multi_qp count 2 port 5000-5001");
    EXPECT_EQ(run.status, 3) << product;
    EXPECT_EQ(run.err, "Get unknown option!\n") << product;
    EXPECT_EQ(server.Run("-i 1 -udp -s port 4791").status, 0) << product;
    EXPECT_EQ(server.conf(), "roce_port_1=4791\n") << product;
  }
}

TEST(RecoveryTest, TheDeviceGetsTheValuesOfTheFile) {
  const TestServer server(
      "mtu.1=1500;tls.1=0;bitmap.1=0,0,0,0,0,0,0,0;roce_port.1=-1",
      absl::StrCat(kHealthyConf, "mtu_1=4200\ntls_enable_1=1\n",
                   "bitmap_1=0,0,0,0,1,0,0,0\nroce_port_1=4791\n",
                   "dscp_tc_1=46:2,33:1,\n"));
  EXPECT_EQ(server.Run(kRecoverOne).status, 0);
  EXPECT_EQ(server.state().Find("mtu.1"), "4200");
  EXPECT_EQ(server.state().Find("tls.1"), "1");
  EXPECT_EQ(server.state().Find("bitmap.1"), "0,0,0,0,1,0,0,0");
  EXPECT_EQ(server.state().Find("roce_port.1"), "4791");
  EXPECT_EQ(server.state().Find("dscp_tc.1"), "46:2,33:1,");
}

TEST(UdpPortTest, SaysWhatChoosesThePort) {
  const auto said = [](const char* state) {
    return TestServer(state).Run("-i 1 -udp -g").out;
  };
  const std::string list =
      "UDP port list(based on IP pair):\nno entry has been configured.\n";
  EXPECT_EQ(said("roce_port.1=-1"), "Unknown udp port\n" + list);
  EXPECT_EQ(said("roce_port.1=4791"), "udp_port:4791\nstatus:custom\n" + list);
  EXPECT_EQ(said("udp_mode.1=auto"), "udp_port:Unknown\nstatus:auto\n" + list);
  EXPECT_EQ(said("udp_mode.1=auto;roce_port.1=5000"),
            "udp_port:5000\nstatus:auto\n" + list);
  EXPECT_EQ(said("udp_mode.1=other"), "udp_port:unknown\n");
}

TEST(OpticalTest, IsNotSupportedOnThe9000) {
  EXPECT_EQ(TestServer("product=A3-9000").Run("-i 1 -optical -g").status, 13);
  EXPECT_EQ(TestServer("product=A3-superpod").Run("-i 1 -optical -g").status,
            0);
}

}  // namespace
}  // namespace clusterd::sim
