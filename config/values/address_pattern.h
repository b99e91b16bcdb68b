// Addresses and subnets by pattern, so that a thousand servers need three
// lines:
//   192.168.7.[22-23]           a list: one per server of the group, or per
//                               device; several brackets are every combination
//   10.1.0.1 + n                counted on from an address by a formula
//   192.168.[100-103].0/24      one subnet per device
//   10.20.0.0/24 + g            the g-th subnet of that size from there
// A result that leaves IPv4 is refused, never wrapped. And the integer formulas
// themselves, over the place of a server and a device:
//   101 + 10*n        1 + 8*n + d%4        (n+1) % servers
// Text in, values out.
#ifndef CONFIG_VALUES_ADDRESS_PATTERN_H_
#define CONFIG_VALUES_ADDRESS_PATTERN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/values/ipv4.h"

namespace clusterd {

// The values of the letters of a formula.
struct FormulaInputs {
  int64_t n = 0;        // Index of the server in the spec, from 0.
  int64_t d = 0;        // Id of the device.
  int64_t i = 0;        // Index of the server in its group, from 0.
  int64_t g = 0;        // Index of the group of servers, from 0.
  int64_t servers = 1;  // The spec's number of servers.
  // The number at the end of the server's name, 7 for node07: unlike n and i it
  // stays when another server is removed.
  int64_t name = kNoNumber;
  static constexpr int64_t kNoNumber = -1;
};

// 7 for "node07" and "node07.rack2.example"; kNoNumber unless the name, up to
// its first dot, ends in a number of at most 18 digits.
int64_t NumberInName(absl::string_view host);

class Formula {
 public:
  // The formula 0.
  Formula() = default;

  // Decimal numbers, the letters of FormulaInputs, + - * / % and parentheses,
  // with the usual precedence; / and % as in C++. InvalidArgument, quoting the
  // wrong part, at most 256 bytes and 32 levels of parentheses or signs.
  static absl::StatusOr<Formula> Parse(absl::string_view text);

  // InvalidArgument for a division by zero, for what leaves 64 bits, and for
  // `name` where the name has no number.
  absl::StatusOr<int64_t> Evaluate(const FormulaInputs& inputs) const;

  // True if it counts servers (n, i): removing one changes those after it.
  bool CountsByIndex() const;

 private:
  std::string text_ = "0";
};

// Addresses one pattern may list.
inline constexpr size_t kMaxPatternAddresses = 1 << 20;

class AddressPattern {
 public:
  // InvalidArgument, quoting the part that is wrong: not four octets, octets
  // over 255 or with leading zeros, a malformed formula, over
  // kMaxPatternAddresses addresses.
  static absl::StatusOr<AddressPattern> Parse(absl::string_view text);
  // Parses subnets, whose formula counts in whole subnets. InvalidArgument also
  // for a prefix length outside 1 to 30 and for host bits that are set.
  static absl::StatusOr<AddressPattern> ParseSubnets(absl::string_view text);

  // The number of addresses in the list, at least 1.
  size_t size() const { return bases_.size(); }
  // True if the text counts on with "+": one address serves many places.
  bool has_formula() const { return has_formula_; }
  bool CountsByIndex() const { return offset_.CountsByIndex(); }
  // The prefix length of the subnets; 32 for addresses.
  int prefix_length() const { return prefix_length_; }

  // Address `k` of the list, or the only one whatever `k` is; of a subnet its
  // first. InvalidArgument if the formula leads out of IPv4. REQUIRES: size()
  // == 1 || k < size().
  absl::StatusOr<Ipv4Address> At(size_t k, const FormulaInputs& inputs) const;

 private:
  // Parses `text`, which is for messages.
  static absl::StatusOr<AddressPattern> ParseList(absl::string_view text,
                                                  absl::string_view quad,
                                                  int prefix_length,
                                                  absl::string_view offset);

  std::string text_;
  std::vector<Ipv4Address> bases_;
  bool has_formula_ = false;
  Formula offset_;
  int prefix_length_ = 32;
};

// The address whose host bits are `host_part`. InvalidArgument if that is not a
// host's address: outside the subnet, all zeros (the network's own address) or
// all ones (broadcast).
absl::StatusOr<Ipv4Address> HostAddress(const Ipv4Subnet& subnet,
                                        int64_t host_part);

// OK if a device or server of any product can have the address in a network of
// that prefix length. InvalidArgument, with the reason, for 0.x, for loopback,
// multicast, class E, and for the network and broadcast address. hccn_tool
// takes all of these but 0.0.0.0 and 255.255.255.255 (hccn_tool source,
// hicann/driver ef377e95, tool_ops.c). Prefix lengths over 30 have no such two
// addresses, which are then not checked.
absl::Status CheckUsableAddress(Ipv4Address address, int prefix_length);

}  // namespace clusterd

#endif  // CONFIG_VALUES_ADDRESS_PATTERN_H_
