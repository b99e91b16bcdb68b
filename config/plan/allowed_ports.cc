#include "config/plan/allowed_ports.h"

#include <algorithm>

namespace clusterd {

AllowedPorts::AllowedPorts(const AllowedFact::Allowed& allowed) {
  for (const AllowedPort& port : allowed.ports()) {
    if (!port.protocol().empty() && port.protocol() != "tcp") continue;
    const uint32_t first = port.first_port();
    const uint32_t last = port.last_port();
    if (first > last || last > 65535) continue;
    const auto address = Ipv4Address::Parse(port.source());
    const auto subnet = Ipv4Subnet::Parse(port.source());
    if (port.source().empty()) {
      ports_[Ipv4Subnet()].Add(first, last);
    } else if (address.ok()) {
      ports_[Ipv4Subnet(*address, 32)].Add(first, last);
    } else if (subnet.ok()) {
      ports_[*subnet].Add(first, last);
    }
  }
}

PortSet AllowedPorts::OfAll(const Ipv4Subnet& source) const {
  PortSet ports;
  for (int prefix = 0; prefix <= source.prefix_length(); ++prefix) {
    const auto around = ports_.find(Ipv4Subnet(source.network(), prefix));
    if (around != ports_.end()) ports.Add(around->second);
  }
  return ports;
}

bool AllowedPorts::Contains(const AllowedPort& port) const {
  const auto source = Ipv4Subnet::Parse(port.source());
  if (!source.ok() || port.first_port() > port.last_port() ||
      port.last_port() > 65535) {
    return false;
  }
  PortSet wanted;
  wanted.Add(port.first_port(), port.last_port());
  return OfAll(*source).Contains(wanted);
}

std::vector<Ipv4Subnet> CoverExactly(std::vector<Ipv4Address> addresses) {
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()),
                  addresses.end());
  std::vector<Ipv4Subnet> blocks;
  for (size_t i = 0; i < addresses.size();) {
    // The largest aligned block from here on of which every address is there.
    const uint64_t first = addresses[i].bits();
    uint64_t size = 1;
    int prefix = 32;
    while (prefix > 0 && first % (size * 2) == 0 &&
           i + size * 2 <= addresses.size() &&
           addresses[i + size * 2 - 1].bits() == first + size * 2 - 1) {
      size *= 2;
      --prefix;
    }
    blocks.push_back(Ipv4Subnet(addresses[i], prefix));
    i += size;
  }
  return blocks;
}

}  // namespace clusterd
