// Turns a recording of a real host into records that may be sent to us:
// one JSON object a line, in the format of tests/testdata/hccn_tool, without
// the site's addresses and names. `replay` runs such a file against a tool.
//
// Replaced, the same by the same in the whole file: IPv4, IPv6 and MAC
// addresses, names of this host and of switches, their domains. Removed: the
// owners of certificates, comments in hccn.conf, texts that people write into
// switches. Kept: which devices share a subnet, host numbers, the ranges that
// hccn_tool refuses, everything that the tool itself says.
#ifndef CLIENT_RECORDING_RECORDING_H_
#define CLIENT_RECORDING_RECORDING_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/recording/address_map.h"
#include "client/recording/run_record.pb.h"
#include "proto/host_recording.pb.h"

namespace clusterd {

// What `clusterd --record` wrote, without runs of npu-smi. InvalidArgument if
// it is not that, or not all of it.
absl::StatusOr<HostRecording> ParseHostRecording(const std::string& bytes);

// One record a run, ordered by device and then as they ran. The facts of the
// recording give product, versions, the host's names and each record's
// `precondition`.
std::vector<RunRecord> MakeRecords(const HostRecording& recording,
                                   const AddressMap& addresses);

// What is known about a device in the words that the simulated hccn_tool takes
// as the state of its devices, to be asked the same as the real one was:
//   ip.3=10.0.0.4; mask.3=255.255.255.0; gateway.3=10.0.0.254; link.3=1
// Facts that are missing, unset or empty give no key. `lldp_output` is what
// `-lldp -g` printed, its last newline included; empty: it was not asked. All
// other addresses are what `hide` makes of them.
std::string DeviceStateText(
    const DeviceFacts& device, absl::string_view lldp_output,
    const std::function<std::string(absl::string_view)>& hide);

// The simulated product nearest to the host, e.g. "A2" or "A2-Box16"; "A2" for
// a host that did not tell. The name alone cannot tell A1's mode, nor whether
// an A3 server is in a super pod: "A1-SMP" and "A3-no-pod" stand for these.
std::string NearestProduct(const HostFacts& facts);

// JSON lines with every field of the format in each line.
// Internal: a record holds a string that is not UTF-8; those of MakeRecords
// never do.
absl::StatusOr<std::string> FormatRecords(
    const std::vector<RunRecord>& records);

// What in the output of hccn_tool says whose cluster it is, besides addresses:
// names in LLDP answers, certificate owners in `-tls -g`, comments in
// hccn.conf.
//   System Name TLV
//   	leaf-01
//   	 issuer[/C=CN/O=Example/CN=Example CA]
// Whatever a reader of the tool's output needs is left as it is: titles,
// capabilities, the switch's own description of itself.

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

#endif  // CLIENT_RECORDING_RECORDING_H_
