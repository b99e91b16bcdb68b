// Finds the pattern of cluster.yaml that most device addresses follow:
//   - device: 0-7
//     subnet: 10.20.0.0/24
//     host: 1 + 8*(name - 1) + d
// By majority at every step, so that single devices that do not follow it do
// not hide it. Servers are counted by the number in their names, by their
// index, or by group and index in the group; into one subnet, or so many to
// each of several.
#ifndef CONFIG_LEARN_ADDRESS_LAYOUT_H_
#define CONFIG_LEARN_ADDRESS_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/learn/seen_cluster.h"
#include "config/values/address_pattern.h"
#include "config/values/ipv4.h"
#include "proto/spec.pb.h"

namespace clusterd {

// A server's place in the file, and the addresses of its devices in the order
// of the ids; unset if not known, or if none is set.
struct PlacedServer {
  FormulaInputs inputs;
  std::vector<std::optional<Ipv4Interface>> addresses;
};

struct AddressLayout {
  std::string rails;  // Lines of YAML below `devices:`.
  size_t explained = 0;
};

// The layouts that explain at least one address, the best first; on a tie the
// one whose addresses stay when a server is removed, then the simplest.
// REQUIRES: every server has as many addresses as there are ids.
std::vector<AddressLayout> FindLayouts(absl::Span<const PlacedServer> servers,
                                       absl::Span<const uint32_t> ids);

// The `servers` of a cluster.yaml to be written: hosts in the order in which a
// folded hostlist expands, in groups with consecutive addresses. Hosts without
// an address that others can reach are left out, with a note. InvalidArgument,
// naming them, if two have the same name or address, or if none is left. They
// point into `hosts`.
absl::StatusOr<std::vector<const SeenHost*>> OrderHosts(
    absl::Span<const SeenHost> hosts, std::vector<FindingValue>* notes);

// The YAML of `servers`. `placed` gets each host's place in it, without
// addresses of devices. REQUIRES: hosts from OrderHosts.
std::string GroupHosts(absl::Span<const SeenHost* const> hosts,
                       std::vector<PlacedServer>* placed);

// Rails in words: "devices 0-7 in 10.20.0.0/24, host part 1 + n; devices 8 …".
FindingValue PatternWords(absl::string_view rails);

// The addresses that a file plans, for its reader: lines of comments, "#
// Devices of node01: 10.20.0.1 to 10.20.0.8", of the first and last server.
std::string DeviceComments(const ClusterSpec& spec);

// "[a, b]", in lines of eight.
std::string ListText(const std::vector<std::string>& items);

// Initial plans without known addresses, the best first: `rails` as above for
// as many servers, in networks that are often free.
std::vector<std::string> ExampleRails(const ProductProfile& profile,
                                      absl::Span<const uint32_t> ids,
                                      size_t servers);

// The file with the part below `devices:` as a comment to be completed.
std::string AsExample(const std::string& yaml);

}  // namespace clusterd

#endif  // CONFIG_LEARN_ADDRESS_LAYOUT_H_
