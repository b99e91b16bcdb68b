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
#ifndef CLIENT_RECORDING_ADDRESS_MAP_H_
#define CLIENT_RECORDING_ADDRESS_MAP_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/values/ipv4.h"

namespace clusterd {

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

}  // namespace clusterd

#endif  // CLIENT_RECORDING_ADDRESS_MAP_H_
