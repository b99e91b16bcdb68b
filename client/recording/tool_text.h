// What in the output of hccn_tool says whose cluster it is, besides addresses:
// names in LLDP answers, certificate owners in `-tls -g`, comments in
// hccn.conf.
//   System Name TLV
//   	leaf-01
//   	 issuer[/C=CN/O=Example/CN=Example CA]
// Whatever a reader of the tool's output needs is left as it is: titles,
// capabilities, the switch's own description of itself.
#ifndef CLIENT_RECORDING_TOOL_TEXT_H_
#define CLIENT_RECORDING_TOOL_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "client/recording/name_map.h"

namespace clusterd {

// Adds every system name of the LLDP answers in `output` as a "switch".
void CollectSwitchNames(absl::string_view output, NameMap* names);

// In text with LLDP titles: system name and chassis name by their alias, port
// names by "port-N"; the bodies of Port Description, VLAN Name and titles that
// are not known become "removed". An Ifname, MAC or address stays for
// ReplaceAddresses. In certificate lines: what is inside the brackets becomes
// "removed". Other text comes back as it is.
std::string HideToolText(absl::string_view output, NameMap* names);

// Comments become "# removed"; every other line stays.
std::string HideConfComments(absl::string_view conf);

}  // namespace clusterd

#endif  // CLIENT_RECORDING_TOOL_TEXT_H_
