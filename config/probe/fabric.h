// What can be probed: one port for each device of a cluster, or one for each
// host, with its place in the network. Plans, results and culprits name ports
// by their index here. Holds no facts of the tool and no text: the caller fills
// it from a ClusterView and from LLDP.
#ifndef CONFIG_PROBE_FABRIC_H_
#define CONFIG_PROBE_FABRIC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/values/ipv4.h"

namespace clusterd {

// Stands for an unknown or absent index.
inline constexpr int kNoIndex = -1;

// Networks that fail independently of each other.
enum class ProbePlane : uint8_t {
  kRoce,  // Device addresses: `hccn_tool -i N -ping`.
  // Virtual NICs inside a super pod: `hccn_tool -i N -hccs_ping`, since -ping
  // does not use that network (hccn_tool source, tool_cmd.c; HCCL user guide).
  kHccs,
  kHost,  // TCP dials between hosts.
};

// Why a port or a pair of ports is not probed.
enum class WhyNotProbed : uint8_t {
  // Known causes. Each explains every failure of its port.
  kPortDown,
  kNoAddress,
  kTlsDiffers,
  kInUse,       // By a job.
  kHostSilent,  // Its clusterd gave no facts, so it can run nothing.
  // No cause of a failure.
  kAlone,  // No other port of its rail can be probed.
  // Inside one super pod devices talk over HCCS; see ProbeFabric.
  kInsideSuperPod,
  // The two dies of one A3 card do not reach each other over RoCE (field
  // reports; ping may fail there although RDMA works).
  kSameCard,
  // Two hosts cabled without a switch connect only equal device ids.
  kDirectOtherIndex,
  // Both ends have one address, so the probe would reach its own device. Seen
  // with vNICs of servers whose identity was never set.
  kSameAddress,
  kPingLimit,     // Its device has sent as many pings as it may.
  kFewWitnesses,  // Fewer than two good ports under its leaf.
  kWholeLeaf,     // Another port stands for its leaf, of which none is good.
};

absl::string_view WhyNotProbedName(WhyNotProbed why);

// True for those that explain every failure of the port.
bool IsKnownCause(WhyNotProbed why);

struct ProbePort {
  int host = 0;          // Index in ProbeFabric::hosts.
  bool is_host = false;  // In a fabric of hosts, which has no devices.
  uint32_t device = 0;   // hccn_tool's id.
  // Only ports of one rail are probed with each other. Mostly the device id; 0
  // in a fabric of hosts. At most 4095.
  int rail = 0;
  // Index in ProbeFabric::leaves of the switch at the other end of its cable.
  // kNoIndex: unknown. Such ports count as one leaf for each rail.
  int leaf = kNoIndex;
  int card = kNoIndex;         // Dies of one card of a host have the same.
  int super_pod = kNoIndex;    // Any number; equal within a pod.
  int direct_peer = kNoIndex;  // The port at the end of a cable without switch.
  Ipv4Address address;         // Unset: none. Of a host, the job's interface.
  Ipv4Address vnic;            // Unset: none.
  // Set: a known cause, or a reason of the caller not to probe this port.
  std::optional<WhyNotProbed> excluded;
};

struct ProbeFabric {
  std::vector<std::string> hosts;
  std::vector<std::string> leaves;
  std::vector<ProbePort> ports;
  // Jobs use RoCE inside a super pod too (HCCL_INTER_HCCS_DISABLE=TRUE).
  bool roce_inside_super_pods = false;
};

// A fabric of hosts: port i is hosts[i], all in one rail under one leaf.
// REQUIRES: as many addresses as hosts.
ProbeFabric MakeHostFabric(std::vector<std::string> hosts,
                           absl::Span<const Ipv4Address> addresses);

// Why nothing may be sent to or from the port in that plane; nullopt: it may.
// A port of no super pod has no address in kHccs.
std::optional<WhyNotProbed> WhyPortNotProbed(const ProbePort& port,
                                             ProbePlane plane);

// Why the two, which may be probed, are not probed with each other.
std::optional<WhyNotProbed> WhyPairNotProbed(const ProbeFabric& fabric, int a,
                                             int b, ProbePlane plane);

// Ports of one plane by their leaf and rail. In kHccs a super pod takes the
// place of a leaf. Linear, but for one sort. Does not point into the fabric.
class PlaneIndex {
 public:
  // Ports of one leaf and rail, ascending.
  struct Domain {
    int leaf = 0;  // Index of PlaneIndex, see FabricLeaf().
    int rail = 0;
    int begin = 0;  // Of its ports, in sorted order.
    int end = 0;
    int size() const { return end - begin; }
  };

  // Leaves out ports that may not be probed.
  PlaneIndex(const ProbeFabric& fabric, ProbePlane plane);

  // By rail, then leaf.
  const std::vector<Domain>& domains() const { return domains_; }
  absl::Span<const int> PortsOf(const Domain& domain) const {
    return absl::MakeConstSpan(sorted_).subspan(domain.begin, domain.size());
  }
  absl::Span<const int> ports() const { return sorted_; }
  // kNoIndex: the port is left out.
  int DomainOf(int port) const { return domain_of_[port]; }
  int leaf_count() const { return leaf_count_; }
  int rail_count() const { return rail_count_; }
  // The index in ProbeFabric::leaves, or the super pod; kNoIndex: unknown.
  int FabricLeaf(int leaf) const;
  int unknown_leaf_ports() const { return unknown_leaf_ports_; }

 private:
  std::vector<Domain> domains_;
  std::vector<int> sorted_;
  std::vector<int> domain_of_;  // By port.
  std::vector<int> pods_;       // kHccs: super pods by leaf.
  int known_leaves_ = 0;
  int leaf_count_ = 0;
  int rail_count_ = 0;
  int unknown_leaf_ports_ = 0;
};

}  // namespace clusterd

#endif  // CONFIG_PROBE_FABRIC_H_
