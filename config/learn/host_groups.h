// The `servers` of a cluster.yaml that is written: hosts in the order in which
// a folded hostlist expands, in groups whose addresses count on by one.
#ifndef CONFIG_LEARN_HOST_GROUPS_H_
#define CONFIG_LEARN_HOST_GROUPS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "config/learn/address_layout.h"
#include "config/learn/seen_cluster.h"

namespace clusterd {

// Hosts without an address that others can reach are left out, with a note.
// InvalidArgument, naming them, if two have one name or address, or if none is
// left. They point into `hosts`.
absl::StatusOr<std::vector<const SeenHost*>> OrderHosts(
    absl::Span<const SeenHost> hosts, std::vector<std::string>* notes);

// The YAML of `servers`. `placed` gets each host's place in it, without
// addresses of devices. REQUIRES: hosts from OrderHosts.
std::string GroupHosts(absl::Span<const SeenHost* const> hosts,
                       std::vector<PlacedServer>* placed);

// As YAML has it: a name "null" is read as nothing there.
std::string NameText(const std::string& name);

// "[a, b]", in lines of eight.
std::string ListText(const std::vector<std::string>& items);

}  // namespace clusterd

#endif  // CONFIG_LEARN_HOST_GROUPS_H_
