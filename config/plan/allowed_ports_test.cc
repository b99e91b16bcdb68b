#include "config/plan/allowed_ports.h"

#include <gtest/gtest.h>

#include <string>

namespace clusterd {
namespace {

AllowedPort Port(uint32_t first, uint32_t last, const std::string& protocol,
                 const std::string& source) {
  AllowedPort port;
  port.set_first_port(first);
  port.set_last_port(last);
  port.set_protocol(protocol);
  port.set_source(source);
  return port;
}

AllowedPorts Allowed(const std::vector<AllowedPort>& ports) {
  AllowedFact::Allowed allowed;
  for (const AllowedPort& port : ports) *allowed.add_ports() = port;
  return AllowedPorts(allowed);
}

TEST(AllowedPortsTest, AddsUpRulesForTheSameAddress) {
  const AllowedPorts allowed =
      Allowed({Port(60000, 60007, "tcp", "10.0.0.0/24"),
               Port(60008, 60015, "", "10.0.0.7"), Port(22, 22, "tcp", "")});
  EXPECT_EQ(allowed.For(*Ipv4Address::Parse("10.0.0.7")).ToString(),
            "22,60000-60015");
  EXPECT_EQ(allowed.For(*Ipv4Address::Parse("10.0.0.8")).ToString(),
            "22,60000-60007");
  EXPECT_EQ(allowed.For(*Ipv4Address::Parse("10.1.0.8")).ToString(), "22");
}

TEST(AllowedPortsTest, IgnoresUdpAndSourcesOfAnotherKind) {
  const AllowedPorts allowed =
      Allowed({Port(22, 22, "udp", ""), Port(22, 22, "tcp", "fd00::/8"),
               Port(22, 22, "tcp", "ipset:trusted")});
  EXPECT_TRUE(allowed.For(*Ipv4Address::Parse("10.0.0.7")).empty());
}

TEST(AllowedPortsTest, ContainsASourceOnlyIfARuleHoldsAllOfIt) {
  const AllowedPorts allowed =
      Allowed({Port(60000, 60015, "tcp", "10.0.0.0/24"),
               Port(22, 22, "tcp", "10.0.0.7")});
  EXPECT_TRUE(allowed.Contains(Port(60000, 60003, "tcp", "10.0.0.4/30")));
  EXPECT_FALSE(allowed.Contains(Port(60000, 60016, "tcp", "10.0.0.4/30")));
  EXPECT_FALSE(allowed.Contains(Port(60000, 60003, "tcp", "10.0.0.0/16")));
  EXPECT_TRUE(allowed.Contains(Port(22, 22, "tcp", "10.0.0.7/32")));
  EXPECT_FALSE(allowed.Contains(Port(22, 22, "tcp", "nonsense")));
}

}  // namespace
}  // namespace clusterd
