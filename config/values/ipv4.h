// IPv4 addresses, netmasks and the pair of both, as device IPs are written:
//   address 192.168.100.101 netmask 255.255.255.0
// Strict: four decimal octets, no leading zeros, no spaces. Values are cheap to
// copy and immutable.
#ifndef CONFIG_VALUES_IPV4_H_
#define CONFIG_VALUES_IPV4_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

class Ipv4Address {
 public:
  constexpr Ipv4Address() = default;  // 0.0.0.0
  // Host byte order: 10.0.0.1 is 0x0a000001.
  constexpr explicit Ipv4Address(uint32_t bits) : bits_(bits) {}

  // InvalidArgument, quoting the text, unless it is a dotted quad.
  static absl::StatusOr<Ipv4Address> Parse(absl::string_view text);

  constexpr uint32_t bits() const { return bits_; }
  std::string ToString() const;

  constexpr bool IsUnset() const { return bits_ == 0; }              // 0.0.0.0
  constexpr bool IsLoopback() const { return bits_ >> 24 == 127; }   // 127/8
  constexpr bool IsMulticast() const { return bits_ >> 28 == 0xe; }  // 224/4
  constexpr bool IsClassE() const { return bits_ >> 28 == 0xf; }     // 240/4

  friend constexpr bool operator==(Ipv4Address a, Ipv4Address b) {
    return a.bits_ == b.bits_;
  }
  friend constexpr bool operator!=(Ipv4Address a, Ipv4Address b) {
    return a.bits_ != b.bits_;
  }
  friend constexpr bool operator<(Ipv4Address a, Ipv4Address b) {
    return a.bits_ < b.bits_;
  }
  template <typename H>
  friend H AbslHashValue(H h, Ipv4Address a) {
    return H::combine(std::move(h), a.bits_);
  }

 private:
  uint32_t bits_ = 0;
};

// A subnet: network address and prefix length, e.g. 192.168.100.0/24.
class Ipv4Subnet {
 public:
  constexpr Ipv4Subnet() = default;  // 0.0.0.0/0
  // Host bits of `address` are dropped. REQUIRES: prefix_length <= 32.
  Ipv4Subnet(Ipv4Address address, int prefix_length);

  // "192.168.100.0/24". InvalidArgument, quoting the text, if it is malformed
  // or if host bits are set.
  static absl::StatusOr<Ipv4Subnet> Parse(absl::string_view text);

  Ipv4Address network() const { return network_; }
  int prefix_length() const { return prefix_length_; }
  Ipv4Address netmask() const;
  // The last address: host bits all one.
  Ipv4Address broadcast() const;
  bool Contains(Ipv4Address address) const;
  bool Overlaps(const Ipv4Subnet& other) const;
  std::string ToString() const;

  friend bool operator==(const Ipv4Subnet& a, const Ipv4Subnet& b) {
    return a.network_ == b.network_ && a.prefix_length_ == b.prefix_length_;
  }
  friend bool operator<(const Ipv4Subnet& a, const Ipv4Subnet& b) {
    return a.network_ != b.network_ ? a.network_ < b.network_
                                    : a.prefix_length_ < b.prefix_length_;
  }

 private:
  Ipv4Address network_;
  int prefix_length_ = 0;
};

// The fewest subnets that hold exactly these addresses, sorted: 1,152 hosts in
// a row need a handful of rules, not 1,152. Repeated addresses count once.
std::vector<Ipv4Subnet> CoverExactly(std::vector<Ipv4Address> addresses);

// Prefix length of a netmask, 0 to 32. InvalidArgument, quoting the text, if it
// is not a dotted quad or has a hole ("255.0.255.0").
absl::StatusOr<int> ParseNetmask(absl::string_view text);

// An address with its subnet, e.g. 10.20.0.17/24.
class Ipv4Interface {
 public:
  constexpr Ipv4Interface() = default;
  // REQUIRES: prefix_length <= 32.
  Ipv4Interface(Ipv4Address address, int prefix_length)
      : address_(address), prefix_length_(prefix_length) {}

  // From the two words of `hccn_tool -ip`. InvalidArgument as the two parsers.
  static absl::StatusOr<Ipv4Interface> Parse(absl::string_view address,
                                             absl::string_view netmask);

  Ipv4Address address() const { return address_; }
  int prefix_length() const { return prefix_length_; }
  Ipv4Subnet subnet() const { return Ipv4Subnet(address_, prefix_length_); }
  std::string ToString() const;

  friend bool operator==(const Ipv4Interface& a, const Ipv4Interface& b) {
    return a.address_ == b.address_ && a.prefix_length_ == b.prefix_length_;
  }
  friend bool operator!=(const Ipv4Interface& a, const Ipv4Interface& b) {
    return !(a == b);
  }

 private:
  Ipv4Address address_;
  int prefix_length_ = 0;
};

}  // namespace clusterd

#endif  // CONFIG_VALUES_IPV4_H_
