#include "config/rules/job_ports.h"

#include <algorithm>
#include <cstdint>

namespace clusterd {
namespace {

constexpr uint64_t kDefaultBasePort = 60000;
constexpr uint64_t kDefaultPortCount = 32;
constexpr uint64_t kMaxPort = 65535;

}  // namespace

PortSet HcclPorts(const ClusterSpec& spec) {
  const HcclSpec& hccl = spec.hccl();
  const uint64_t base =
      hccl.base_port() == 0 ? kDefaultBasePort : hccl.base_port();
  const uint64_t count =
      hccl.port_count() == 0 ? kDefaultPortCount : hccl.port_count();
  PortSet ports;
  ports.Add(std::min(base, kMaxPort), std::min(base + count - 1, kMaxPort));
  return ports;
}

PortSet JobPorts(const ClusterSpec& spec) {
  PortSet ports = HcclPorts(spec);
  for (const uint32_t port : {spec.rendezvous_port(), spec.ssh_port()}) {
    if (port != 0 && port <= kMaxPort) ports.Add(port, port);
  }
  return ports;
}

}  // namespace clusterd
