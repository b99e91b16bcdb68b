// Turns a recording of a real host into records without the site's addresses
// and names, which may be sent to us. Each is one JSON object a line, in the
// format of tests/testdata/hccn_tool. `replay` runs such a file against a tool.
//
// Replaced, the same by the same in the whole file: IPv4, IPv6 and MAC
// addresses, names of this host and of switches, their domains. Removed: the
// owners of certificates, comments in hccn.conf, texts that people write into
// switches. Kept: shared subnets, host numbers, the ranges that hccn_tool
// refuses, and all other output of the tool.
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
// IPv4 that keeps shared subnets, and the like for IPv6 and MAC. The same key
// gives the same result. Without the key, only trying all keys reverses it.
//
// Kept, because the vendor's tool or a reader treats it specially:
//   0.0.0.0/8, 127.0.0.0/8    unset, loopback
//   255.0.0.0/8 and netmasks  255.255.255.0, 128.0.0.0
//   192.168.0.0/21            ranges that hccn_tool refuses on some products
//   192.0.0.0/16              virtual NICs inside a super pod
//   the last octet            host numbers, e.g. .1 of a gateway, .0, .255
// Private stays private (10/8, 172.16/12, 192.168/16), link-local, multicast
// and class E keep their kind. All others always change.

using Ipv6Bytes = std::array<uint8_t, 16>;
using MacBytes = std::array<uint8_t, 6>;

// 32 bytes of the system's random numbers. Unavailable: the system has none.
absl::StatusOr<std::string> RandomAddressKey();

// Immutable, safe for concurrent use.
class AddressMap {
 public:
  // REQUIRES: `key` is not empty.
  explicit AddressMap(std::string key);

  // Addresses that agree in exactly their first n <= 24 bits get replacements
  // that agree in the same number of bits. 0 in the third octet stays 0, so
  // that a /16 network remains one, except directly below a range listed above.
  Ipv4Address Replace(Ipv4Address address) const;
  // Groups that are zero stay zero, and the first group stays, so that the kind
  // of address is visible; an IPv4-mapped address follows its IPv4 address.
  Ipv6Bytes Replace(const Ipv6Bytes& address) const;
  // The first three bytes identify the maker and stay. Group addresses
  // (broadcast, LLDP's own) and all zeros stay entirely.
  MacBytes Replace(const MacBytes& address) const;

 private:
  bool Flips(uint32_t address, int bit) const;
  std::string Digest(const std::string& text) const;

  std::string key_;
};

// `text` with every address replaced, wherever it is:
//   PING 29.1.137.205                  IPv4, also next to letters, / and :
//   [::ffff:198.18.0.1]:43195          IPv6 with or without IPv4 in it
//   6c:b1:58:00:00:01, 6CB1-5800-0001  MAC, the ways people write it
// Four numbers with dots count as an address even in a version, to be safe.
// More than four numbers are left, unless only the fifth is too large for an
// address (10.0.0.1.4791). An address that the end of the text cuts off loses
// its unfinished part, as hccn_tool cuts long LLDP answers. Linear in the
// length.
std::string ReplaceAddresses(absl::string_view text, const AddressMap& map);

// Parses the output of `clusterd --record`, without runs of npu-smi.
// InvalidArgument if it is not such a recording, or is incomplete.
absl::StatusOr<HostRecording> ParseHostRecording(const std::string& bytes);

// A record per run, by device and then in the order of the runs. The facts give
// product, versions, the host's names and each record's `precondition`.
std::vector<RunRecord> MakeRecords(const HostRecording& recording,
                                   const AddressMap& addresses);

// A device's facts as the state of the simulated hccn_tool, so that it answers
// like the real one:
//   ip.3=10.0.0.4; mask.3=255.255.255.0; gateway.3=10.0.0.254; link.3=1
// Facts that are missing, unset or empty give no key. `lldp_output` is the
// output of `-lldp -g` with its last newline; empty: it was not asked. `hide`
// replaces all other addresses.
std::string DeviceStateText(
    const DeviceFacts& device, absl::string_view lldp_output,
    const std::function<std::string(absl::string_view)>& hide);

// The simulated product nearest to the host, e.g. "A2" or "A2-Box16"; "A2" if
// unknown. The name lacks A1's mode, and whether an A3 server is in a super
// pod: "A1-SMP" and "A3-no-pod" stand for these.
std::string NearestProduct(const HostFacts& facts);

// JSON lines with every field of the format in each line. Internal if a record
// has a string that is not UTF-8; those of MakeRecords never have.
absl::StatusOr<std::string> FormatRecords(
    const std::vector<RunRecord>& records);

// Texts in hccn_tool's output that identify a site, besides addresses: names in
// LLDP answers, certificate owners in `-tls -g`, comments in hccn.conf.
//   System Name TLV
//   	leaf-01
//   	 issuer[/C=CN/O=Example/CN=Example CA]
// Texts that a reader of the output needs are kept: titles, capabilities, the
// switch's own description.

// Replaces names of hosts, switches and domains by numbered ones, e.g.
// "node-07.lab.example" by "host-1": the same name always by the same one. Not
// safe for concurrent use.
class NameMap {
 public:
  // The replacement of `name`, e.g. Alias("switch", "leaf-01") = "switch-1".
  // Names count from 1 within their kind and do not depend on case.
  std::string Alias(const std::string& kind, absl::string_view name);

  // As Alias. Replace then finds in any text the name, its part before the
  // first dot, and the domain after it (as kind "domain"). Skips IPv4
  // addresses, and names of one character or only digits, which would match
  // everywhere.
  void Add(const std::string& kind, absl::string_view name);

  // `text` with every added name replaced, whatever its case, where it is not
  // inside a longer run of letters and digits. The longest name wins.
  std::string Replace(absl::string_view text) const;

 private:
  void AddWord(const std::string& name, const std::string& alias);

  // kind and lower-case name -> alias.
  std::map<std::pair<std::string, std::string>, std::string> aliases_;
  std::map<std::string, int> counts_;
  // Lower-case word to search -> alias, the longest first.
  struct LongestFirst {
    bool operator()(const std::string& a, const std::string& b) const {
      return a.size() != b.size() ? a.size() > b.size() : a < b;
    }
  };
  std::map<std::string, std::string, LongestFirst> words_;
};

// Adds every system name of the LLDP answers in `output` as a "switch".
void CollectSwitchNames(absl::string_view output, NameMap* names);

// Hides names in text with LLDP titles: system and chassis names get their
// alias, port names become "port-N". The bodies of Port Description, VLAN Name
// and unknown titles become "removed". An Ifname, MAC or address stays for
// ReplaceAddresses. In certificate lines the text in brackets becomes
// "removed". Other text is unchanged.
std::string HideToolText(absl::string_view output, NameMap* names);

// Comments become "# removed"; every other line stays.
std::string HideConfComments(absl::string_view conf);

}  // namespace clusterd

#endif  // CLIENT_RECORDING_RECORDING_H_
