// The `servers` of cluster.yaml:
//   servers:
//     - hosts: server[0-1]
//       address: 192.168.7.[22-23]
// One entry per group; a group's addresses belong to its hosts in order.
#ifndef CONFIG_SPEC_SERVER_GROUPS_H_
#define CONFIG_SPEC_SERVER_GROUPS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/spec/mistakes.h"
#include "config/spec/yaml_document.h"
#include "config/values/address_pattern.h"
#include "config/values/ipv4.h"

namespace clusterd {

inline constexpr size_t kMaxServers = 131072;

struct PlannedServer {
  std::string host;
  // Where it stands among all servers; d is 0.
  FormulaInputs inputs;
  // Unset if it could not be read.
  Ipv4Address address;
  // Of the address in the file.
  TextPosition position;
};

struct ServerGroups {
  // In the order of the file. Host names are unique and IsHostName.
  std::vector<PlannedServer> servers;
  // Whether every group could be read: else a host may be missing here.
  bool complete = true;
};

// Records what is wrong: no servers, malformed hostlists, hosts that stand in
// two groups, more or fewer addresses than hosts, addresses no server can have,
// over kMaxServers servers. `node` is nullptr if it is absent, which is for the
// caller to record.
ServerGroups ReadServerGroups(const YamlNode* node, Mistakes* mistakes);

// The values of a mapping from host to something, by server; nullptr where
// there is none. Records hosts that no group has, with the nearest one that has
// no value, and other servers without a value. REQUIRES: value.Is(kMap).
std::vector<const YamlNode*> ValuesByServer(const YamlValue& value,
                                            const ServerGroups& groups);

// The addresses that the pattern `value` gives its owners, in their order: by
// where a server stands, or with `d` one of its devices. Records what is wrong;
// then only the addresses before that are there. A pattern that lists some must
// list one for each owner; `each` says so in the message: "one per host".
std::vector<Ipv4Address> ReadAddressPattern(
    const YamlValue& value, absl::Span<const PlannedServer> owners,
    absl::string_view each);

// Records that `value` has so many addresses and not one for each owner.
void AddWrongCount(const YamlValue& value, size_t addresses, size_t owners,
                   absl::string_view each);

}  // namespace clusterd

#endif  // CONFIG_SPEC_SERVER_GROUPS_H_
