#include "config/plan/allowed_ports.h"

#include <algorithm>

namespace clusterd {

AllowedPorts::AllowedPorts(const AllowedFact::Allowed& allowed) {
  for (const AllowedPort& port : allowed.ports()) {
    if (!port.protocol().empty() && port.protocol() != "tcp") continue;
    const uint32_t first = port.first_port();
    const uint32_t last = port.last_port();
    if (first > last || last > 65535) continue;
    if (port.source().empty()) {
      anywhere_.Add(first, last);
      continue;
    }
    const auto address = Ipv4Address::Parse(port.source());
    const auto subnet = Ipv4Subnet::Parse(port.source());
    if (address.ok()) {
      exact_[*address].Add(first, last);
    } else if (subnet.ok() && subnet->prefix_length() == 32) {
      exact_[subnet->network()].Add(first, last);
    } else if (subnet.ok()) {
      subnets_[*subnet].Add(first, last);
    }
  }
}

PortSet AllowedPorts::For(Ipv4Address address) const {
  PortSet ports = anywhere_;
  const auto exact = exact_.find(address);
  if (exact != exact_.end()) ports.Add(exact->second);
  for (const auto& [subnet, opened] : subnets_) {
    if (subnet.Contains(address)) ports.Add(opened);
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
  if (source->prefix_length() == 32) {
    return For(source->network()).Contains(wanted);
  }
  PortSet open = anywhere_;
  for (const auto& [subnet, opened] : subnets_) {
    if (subnet.prefix_length() <= source->prefix_length() &&
        subnet.Contains(source->network())) {
      open.Add(opened);
    }
  }
  return open.Contains(wanted);
}

std::vector<Ipv4Subnet> CoverExactly(std::vector<Ipv4Address> addresses) {
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()),
                  addresses.end());
  std::vector<Ipv4Subnet> blocks;
  for (size_t i = 0; i < addresses.size();) {
    // The largest aligned block from here on of which every address is there.
    const uint32_t first = addresses[i].bits();
    int prefix = 32;
    uint64_t size = 1;
    while (prefix > 0) {
      const uint64_t doubled = size * 2;
      if (first % doubled != 0 || i + doubled > addresses.size()) break;
      const uint64_t last = first + doubled - 1;
      if (addresses[i + doubled - 1].bits() != last) break;
      size = doubled;
      --prefix;
    }
    blocks.push_back(Ipv4Subnet(addresses[i], prefix));
    i += size;
  }
  return blocks;
}

}  // namespace clusterd
