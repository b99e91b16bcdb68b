// What a firewall lets in, to ask it about addresses and ports, and what rules
// it takes to let hosts in.
#ifndef CONFIG_PLAN_ALLOWED_PORTS_H_
#define CONFIG_PLAN_ALLOWED_PORTS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "config/values/ipv4.h"
#include "config/values/port_set.h"
#include "proto/facts.pb.h"

namespace clusterd {

// TCP only. Sources that are no IPv4 address or subnet let in none of our
// hosts, so they are left out. Immutable.
class AllowedPorts {
 public:
  explicit AllowedPorts(const AllowedFact::Allowed& allowed);

  // Ports that this address may reach.
  PortSet For(Ipv4Address address) const {
    return OfAll(Ipv4Subnet(address, 32));
  }

  // Whether every address of the source may reach every port. Only rules for
  // the whole source count.
  bool Contains(const AllowedPort& port) const;

 private:
  // What every address of the source may reach.
  PortSet OfAll(const Ipv4Subnet& source) const;

  std::map<Ipv4Subnet, PortSet> ports_;  // By their source.
};

// The fewest subnets that hold exactly these addresses and no other, sorted:
// 1,152 hosts in a row need a handful of rules, not 1,152. Repeated addresses
// count once.
std::vector<Ipv4Subnet> CoverExactly(std::vector<Ipv4Address> addresses);

}  // namespace clusterd

#endif  // CONFIG_PLAN_ALLOWED_PORTS_H_
