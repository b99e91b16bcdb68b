#include "config/values/hccn_conf_line.h"

#include <string>

#include "gtest/gtest.h"

namespace clusterd {
namespace {

// Of the records: what the published tool ended with 244 over.
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
}

TEST(IsScannedRouteTest, PassesWhatFollowsAGoodValue) {
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
}

TEST(HccnConfDigestTest, TellsWhichOfEqualKeysIsObeyed) {
  EXPECT_NE(HccnConfDigest("mtu_0=1500\nmtu_0=9000\n"),
            HccnConfDigest("mtu_0=9000\nmtu_0=1500\n"));
}

}  // namespace
}  // namespace clusterd
