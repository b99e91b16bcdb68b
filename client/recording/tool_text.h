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

#include <map>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace clusterd {

// Replaces names of hosts, switches and domains by numbered ones, e.g.
// "node-07.lab.example" by "host-1": the same name always by the same.
// Not safe for concurrent use.
class NameMap {
 public:
  // The replacement of `name`, e.g. Alias("switch", "leaf-01") = "switch-1".
  // Names count from 1 within their kind and do not depend on case.
  std::string Alias(const std::string& kind, absl::string_view name);

  // As Alias, and Replace then finds the name in any text: as written, its part
  // before the first dot, and the domain behind it (as kind "domain"). A name
  // of one character or of digits only is not looked for (it would hit
  // everything), nor is an IPv4 address.
  void Add(const std::string& kind, absl::string_view name);

  // `text` with every added name replaced, whatever its case, where it is not
  // inside a longer run of letters and digits. The longest name wins.
  std::string Replace(absl::string_view text) const;

 private:
  void AddWord(const std::string& name, const std::string& alias);

  // kind and lower-case name -> alias.
  std::map<std::pair<std::string, std::string>, std::string> aliases_;
  std::map<std::string, int> counts_;
  // Lower-case word -> alias, to look for; the longest first.
  struct LongestFirst {
    bool operator()(const std::string& a, const std::string& b) const {
      return a.size() != b.size() ? a.size() > b.size() : a < b;
    }
  };
  std::map<std::string, std::string, LongestFirst> words_;
};

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
