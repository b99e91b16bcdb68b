#include "config/values/hccn_conf_line.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

// From the records: the published tool ended with 244 over these.
TEST(IsScannedRouteTest, RefusesEveryRouteThatStopsTheTool) {
  for (const char* line :
       {"route_address_172.16.0.0_5=gateway_10.0.0.253",
        "route_address_172.16.0.0_netmask_255.255.0.0=gateway_10.0.0.253",
        "route_address_172.16.0.0_netmask_255.255.0.0_5=10.0.0.253",
        "route_5=172.16.0.0", "route_ipv6_address_x_5=1",
        "route_=", "route_address_172.16.0.0_netmask_255.255.0.0_5="}) {
    EXPECT_TRUE(IsRouteLine(line)) << line;
    EXPECT_FALSE(IsScannedRoute(line)) << line;
  }
  // Passes what follows a good value.
  const std::string good =
      "route_address_172.16.0.0_netmask_255.255.0.0_5=gateway_10.0.0.253";
  for (const char* ending : {"", " ", "\t", "\r", "=x", " # to the store"}) {
    EXPECT_TRUE(IsScannedRoute(good + ending)) << ending;
  }
}

TEST(IsRouteLineTest, KnowsOnlyWhatTheToolTakesForOne) {
  EXPECT_FALSE(IsRouteLine(" route_5=172.16.0.0"));
  EXPECT_FALSE(IsRouteLine("ip_route_5=x"));
  EXPECT_FALSE(IsRouteLine("route_address_172.16.0.0_netmask_255.255.0.0_5"));
}

TEST(IsToolsOwnLineTest, KnowsWhatTheRecoveryWrites) {
  EXPECT_TRUE(IsToolsOwnLine("xsfp_reset_max_times_0=0"));
  EXPECT_TRUE(IsToolsOwnLine("xsfp_reset_wait_times_15=7"));
  EXPECT_TRUE(IsToolsOwnLine("tls_ca_recovered_3=1"));
  for (const char* line :
       {"#xsfp_reset_max_times_0=0", "xsfp_reset_max_times=0", "tls_enable_3=1",
        "xsfp_reset_max_times_0", "gateway_0=1", ""}) {
    EXPECT_FALSE(IsToolsOwnLine(line)) << line;
  }
}

TEST(IsRecoveredLineTest, KnowsKeysOfDevicesAlone) {
  EXPECT_TRUE(IsRecoveredLine("address_0=10.0.0.1"));
  EXPECT_TRUE(IsRecoveredLine("ip_route_15="));
  for (const char* line :
       {"address=10.0.0.1", "address_00=10.0.0.1", "address_0 =10.0.0.1",
        "#address_0=10.0.0.1", "future_0=1", "xaddress_0=1", "address_0", ""}) {
    EXPECT_FALSE(IsRecoveredLine(line)) << line;
  }
}

struct Values {
  const char* key;
  std::vector<const char*> taken;
  std::vector<const char*> refused;
};

// Values that the recovery takes, and fails over, on some product, by the
// records and the tool's source.
const std::vector<Values>& KeyValues() {
  static const auto* const values = new std::vector<Values>{
      {"address", {"10.0.0.1"}, {"", "10.0.0.300", "10.0.0.1 ", "x"}},
      {"netmask", {"255.255.255.0"}, {"", "255.0.255.0", "\"255.0.0.0\""}},
      {"gateway", {"10.0.0.254"}, {"", "10.0.0.254\t", "x"}},
      {"netdetect", {"10.0.0.254"}, {"", "10.0.0.254 ", "x"}},
      {"mtu", {"68", "1500", "9702"}, {"", "x", "67", "9703", "1500 ", "+150"}},
      {"tls_enable", {"0", "1"}, {"2", "x", "0 ", "0mtu_2=1500"}},
      {"tls_ca_recovered", {"1"}, {"2"}},
      {"roce_port", {"4791"}, {"", "x"}},
      {"bitmap", {"0,0,0,0,1,0,0,0"}, {"1", "2,0,0,0,0,0,0,0"}},
      {"dscp_tc", {"33:3,", "x"}, {"64:0,", "33:4", "33"}},
      {"udhcpc_enable", {"0", "1", "on", ""}, {}},
      {"mac_addr", {"6c:b1:58:00:00:01"}, {"6c:b1:58:00:00:aa:bb"}},
      {"send_arp_status", {"0", "1"}, {"2"}},
      {"send_arp_period", {"1", "60"}, {"x", "0"}},
      {"xsfp_reset_max_times", {"0", "30"}, {"31", "x"}},
      {"prio_tc", {"0,1,2,3,0,1,2,3"}, {""}},
      {"lldp_portid_type", {"mac", "ifname"}, {"", "x"}},
      {"cdr_reset_switch", {"enable", "disable"}, {"1"}},
      {"udp_port_mode", {"multi_qp"}, {"x"}},
      {"encoding", {"rs", "off", "auto"}, {"x"}},
      {"ip_route",
       {"add 10.0.0.0/24 via 10.0.0.253 dev eth0 table 100"},
       {"x", "add 10.0.0.0/24 via 10.0.0.253 dev eth0 table 256"}},
      {"ip_rule", {"add from 10.0.0.1 table 100"}, {"x"}},
      {"arp", {"-i eth0 -s 10.0.0.2 6c:b1:58:00:00:02"}, {"", "x"}}};
  return *values;
}

// Lines that those of device 5 above require.
constexpr char kOthers[] =
    "multi_qp_count_5=2\nmulti_qp_udp_ports_5=5000,5001\n";

TEST(MayBeRecoveredTest, KnowsTheValuesOfEveryKey) {
  for (const Values& row : KeyValues()) {
    for (const char* value : row.taken) {
      const std::string line = absl::StrCat(row.key, "_5=", value);
      EXPECT_TRUE(IsRecoveredLine(line)) << line;
      EXPECT_TRUE(MayBeRecovered(line, kOthers)) << line;
    }
    for (const char* value : row.refused) {
      const std::string line = absl::StrCat(row.key, "_5=", value);
      EXPECT_FALSE(MayBeRecovered(line, kOthers)) << line;
    }
  }
}

TEST(MayBeRecoveredTest, JudgesWhatIsReadBesideTheOtherLinesOfTheDevice) {
  const auto fails = [](const char* line, const char* file) {
    return !MayBeRecovered(line, file);
  };
  EXPECT_TRUE(fails("dcqcn_f_5=256", "mtu_5=1500\ndcqcn_alg_mode_5=1\n"));
  EXPECT_FALSE(fails("dcqcn_f_5=256", "dcqcn_alg_mode_3=1\n"));
  EXPECT_FALSE(fails("dcqcn_f_5=256", "xdcqcn_alg_mode_5=1\n"));
  EXPECT_TRUE(fails("udp_port_mode_5=multi_qp", "multi_qp_count_5=2\n"));
  EXPECT_TRUE(fails("gateway_5=x", "udhcpc_enable_3=1\n"));
  EXPECT_FALSE(fails("gateway_5=x", "udhcpc_enable_5=\n"));
  const char kRoute[] =
      "route_address_10.1.0.0_netmask_255.255.0.0_5=gateway_10.0.0.300";
  EXPECT_TRUE(fails(kRoute, ""));
  EXPECT_FALSE(fails(kRoute, "udhcpc_enable_5=on\n"));
}

TEST(BreaksRecoveryOfTest, DependsOnTheProductWhereItsToolReadsTheKey) {
  const auto broken = [](const char* line) {
    std::string series;
    for (const char* each : {"A1", "A2", "A3"}) {
      if (BreaksRecoveryOf(each, line)) series += each;
    }
    return series;
  };
  EXPECT_EQ(broken("mtu_5=x"), "A1A2A3");
  EXPECT_EQ(broken("encoding_5=x"), "A1");
  EXPECT_EQ(broken("xsfp_reset_max_times_5=31"), "A2");
  EXPECT_EQ(broken("udp_port_mode_5=x"), "A2A3");
  // Five priorities are one too many for two products.
  EXPECT_EQ(broken("bitmap_5=1,1,1,1,1,0,0,0"), "A2A3");
  EXPECT_TRUE(BreaksRecoveryOf("", "encoding_5=x"));
}

TEST(HccnConfDigestTest, IsThatOfWhatPeopleSet) {
  const std::string file = "address_0=10.0.0.1\ngateway_0=10.0.0.254\n";
  const std::string digest = HccnConfDigest(file);
  EXPECT_EQ(HccnConfDigest(file + "xsfp_reset_max_times_0=0\n"
                                  "xsfp_reset_wait_times_0=7\n"),
            digest);
  // Written again, with the same value.
  EXPECT_EQ(HccnConfDigest("gateway_0=10.0.0.254\naddress_0=10.0.0.1\n"),
            digest);
  EXPECT_NE(HccnConfDigest("address_0=10.0.0.2\ngateway_0=10.0.0.254\n"),
            digest);
  EXPECT_NE(HccnConfDigest("address_0=10.0.0.1\n"), digest);
  EXPECT_NE(HccnConfDigest(file + "# mine\n"), digest);
  EXPECT_NE(HccnConfDigest(file + "mtu_1=9000\n"), digest);
  // Tells which of equal keys is obeyed.
  EXPECT_NE(HccnConfDigest("mtu_0=1500\nmtu_0=9000\n"),
            HccnConfDigest("mtu_0=9000\nmtu_0=1500\n"));
}

}  // namespace
}  // namespace clusterd
