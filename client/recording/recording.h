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

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/recording/run_record.pb.h"
#include "config/values/ipv4.h"
#include "proto/host_recording.pb.h"

namespace clusterd {

// Replaces addresses by others that behave the same: a keyed permutation of
// IPv4 that keeps who shares a subnet with whom, and the like for IPv6 and MAC.
// The same key gives the same replacement; without the key the way back is to
// try all keys.
//
// What stays as it is, because the vendor's tool or a reader treats it
// specially:
//   0.0.0.0/8, 127.0.0.0/8    unset, loopback
//   255.0.0.0/8 and netmasks  255.255.255.0, 128.0.0.0
//   192.168.0.0/21            ranges that hccn_tool refuses on some products
//   192.0.0.0/16              virtual NICs inside a super pod
//   the last octet            host numbers, e.g. .1 of a gateway, .0, .255
// Private stays private (10/8, 172.16/12, 192.168/16), link-local, multicast
// and class E stay what they are. Everything else changes for certain.

using Ipv6Bytes = std::array<uint8_t, 16>;
using MacBytes = std::array<uint8_t, 6>;

// 32 bytes of the system's random numbers. Unavailable: it has none.
absl::StatusOr<std::string> RandomAddressKey();

// Immutable, safe for concurrent use.
class AddressMap {
 public:
  // REQUIRES: `key` is not empty.
  explicit AddressMap(std::string key);

  // Two addresses that agree in their first n <= 24 bits are replaced by two
  // that agree in exactly as many. 0 in the third octet stays 0, so that a /16
  // network remains one, except right below a range listed above.
  Ipv4Address Replace(Ipv4Address address) const;
  // Groups that are zero stay zero, and the first group stays, so that the kind
  // of address can be seen; an IPv4-mapped address follows its IPv4 address.
  Ipv6Bytes Replace(const Ipv6Bytes& address) const;
  // The first three bytes name the maker and stay. Group addresses (broadcast,
  // LLDP's own) and all zeros stay entirely.
  MacBytes Replace(const MacBytes& address) const;

 private:
  bool Flips(uint32_t address, int bit) const;
  std::string Digest(const std::string& text) const;

  std::string key_;
};

// `text` with every address replaced, wherever it stands:
//   PING 29.1.137.205                  IPv4, also next to letters, / and :
//   [::ffff:198.18.0.1]:43195          IPv6 with or without IPv4 in it
//   6c:b1:58:00:00:01, 6CB1-5800-0001  MAC, the ways people write it
// Four numbers with dots are an address even where they are a version; hiding
// too much is the safe side. Numbers with more dots are left, unless only the
// fifth is too large for an address (10.0.0.1.4791). An address that the end of
// the text cuts off loses its unfinished part, as hccn_tool cuts long LLDP
// answers. Linear in the length.
std::string ReplaceAddresses(absl::string_view text, const AddressMap& map);

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
