// The `servers` section of cluster.yaml:
//   servers:
//     - hosts: server[0-1]
//       address: 192.168.7.[22-23]
// One entry per group; a group's addresses belong to its hosts in order.
#ifndef CONFIG_SPEC_SERVER_GROUPS_H_
#define CONFIG_SPEC_SERVER_GROUPS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/spec/formula.h"
#include "config/spec/ipv4.h"
#include "config/spec/mistakes.h"
#include "config/spec/yaml_document.h"

namespace clusterd {

inline constexpr size_t kMaxServers = 131072;

struct PlannedServer {
  std::string host;
  // Where it stands among all servers; d is 0.
  Place place;
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
// over kMaxServers servers. `section` is nullptr if it is absent, which is for
// the caller to record.
ServerGroups ReadServerGroups(const YamlNode* section, Mistakes* mistakes);

// The values of a mapping from host to something, by server; nullptr where
// there is none. Records hosts that no group has, with the nearest one that has
// no value, and other servers without a value. `subject` opens messages.
// REQUIRES: node.kind == YamlNode::Kind::kMap.
std::vector<const YamlNode*> ValuesByServer(const YamlNode& node,
                                            absl::string_view subject,
                                            const ServerGroups& groups,
                                            Mistakes* mistakes);

}  // namespace clusterd

#endif  // CONFIG_SPEC_SERVER_GROUPS_H_
