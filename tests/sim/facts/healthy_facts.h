// A healthy cluster in memory: a spec with a valid address plan for any product
// and size, and its hosts' facts. Tests break one thing of it; benchmarks and
// the simulated fleet use it as it is.
#ifndef TESTS_SIM_FACTS_HEALTHY_FACTS_H_
#define TESTS_SIM_FACTS_HEALTHY_FACTS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/message.h"
#include "proto/facts.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// Servers that MakeSpec can give addresses to.
inline constexpr int kMaxSpecServers = 100000;

// A spec named "test" with hosts server0, server1, … at 172.16.0.1 and on, and
// the address plan that the product asks for:
// | subnet plan | addresses of server s |
// |-------------|--------------------------------------------------------------|
// | pairs       | up to 126 servers 192.168.(100+i%4).0/24 as the vendor's | |
// | example spreads them; above, one /11 of 10.0.0.0/8 a rail    | | shared |
// /24 subnets of 10.0.0.0/8 filled one after the other         | | per server
// | a /27 of 10.0.0.0/8 for each                                 | | free | as
// shared                                                    | The last usable
// address of a subnet is the gateway and detect address of its devices. A
// product without fixed ids gets devices 1 and 4. REQUIRES: a known product and
// mode ("" for the default one), 0 <= servers <= kMaxSpecServers.
ClusterSpec MakeSpec(absl::string_view product, absl::string_view mode,
                     int servers);

// The place of device `device` of the cluster's server number `server`: 48
// servers a pod. The SDID has, from its top bit on, server index, chip, die and
// device (DCMI reference of Atlas A3, dcmi_get_spod_node_status).
SuperPodPlace MakeSuperPodPlace(uint32_t server, uint32_t device);

// The host's report if everything were as the spec says: every fact that a rule
// reads has a value. It sets `simulation`.
HostFacts MakeHealthyHost(const ClusterSpec& spec, const ServerSpec& server);

// The same for every server of the spec, in its order.
std::vector<HostFacts> MakeHealthyFacts(const ClusterSpec& spec);

// The rank table of a job that takes the planned devices; of version 1.2 with
// the places of healthy facts. Its entries are named by the hosts' addresses,
// or "node_0" and on.
std::string MakeRankTable(const ClusterSpec& spec, bool by_address = true,
                          absl::string_view version = "1.0");

// The facts of a host of which nothing is known.
HostFacts MakeSilentHost(absl::string_view host, Missing::Reason reason,
                         absl::string_view detail);

// Pointers to all, as Judge takes them. `facts` must outlive them.
std::vector<const HostFacts*> Pointers(const std::vector<HostFacts>& facts);

// Merges a text of the message's fields into it; a fact that is a value becomes
// missing where the text says so. REQUIRES: it can be parsed.
void Patch(absl::string_view text, google::protobuf::Message* message);

}  // namespace clusterd

#endif  // TESTS_SIM_FACTS_HEALTHY_FACTS_H_
