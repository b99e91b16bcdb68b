#include "config/values/ipv4.h"

#include "absl/base/macros.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

uint32_t MaskOf(int prefix_length) {
  return prefix_length == 0 ? 0 : ~uint32_t{0} << (32 - prefix_length);
}

}  // namespace

absl::StatusOr<Ipv4Address> Ipv4Address::Parse(absl::string_view text) {
  uint32_t bits = 0;
  int octets = 0;
  for (const absl::string_view octet : absl::StrSplit(text, '.')) {
    uint32_t value = 0;
    const bool leading_zero = octet.size() > 1 && octet[0] == '0';
    if (++octets > 4 || leading_zero || !ParseDigits(octet, &value) ||
        value > 255) {
      octets = 0;
      break;
    }
    bits = bits << 8 | value;
  }
  if (octets == 4) return Ipv4Address(bits);
  return absl::InvalidArgumentError(absl::StrCat(
      "address \"", text, "\" is not IPv4, expected four numbers 0-255"));
}

std::string Ipv4Address::ToString() const {
  return absl::StrCat(bits_ >> 24, ".", bits_ >> 16 & 255, ".",
                      bits_ >> 8 & 255, ".", bits_ & 255);
}

Ipv4Subnet::Ipv4Subnet(Ipv4Address address, int prefix_length)
    : network_(address.bits() & MaskOf(prefix_length)),
      prefix_length_(prefix_length) {
  ABSL_ASSERT(prefix_length >= 0 && prefix_length <= 32);
}

absl::StatusOr<Ipv4Subnet> Ipv4Subnet::Parse(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('/', 1));
  int prefix_length = 0;
  if (parts.second.size() > 2 || !ParseDigits(parts.second, &prefix_length) ||
      prefix_length > 32) {
    return absl::InvalidArgumentError(
        absl::StrCat("subnet \"", text,
                     "\" has no prefix length 0-32, "
                     "expected e.g. 192.168.100.0/24"));
  }
  ASSIGN_OR_RETURN(const Ipv4Address address, Ipv4Address::Parse(parts.first));
  const Ipv4Subnet subnet(address, prefix_length);
  if (subnet.network() != address) {
    return absl::InvalidArgumentError(
        absl::StrCat("subnet \"", text, "\" has host bits set, expected ",
                     subnet.ToString()));
  }
  return subnet;
}

Ipv4Address Ipv4Subnet::netmask() const {
  return Ipv4Address(MaskOf(prefix_length_));
}

Ipv4Address Ipv4Subnet::broadcast() const {
  return Ipv4Address(network_.bits() | ~MaskOf(prefix_length_));
}

bool Ipv4Subnet::Contains(Ipv4Address address) const {
  return (address.bits() & MaskOf(prefix_length_)) == network_.bits();
}

bool Ipv4Subnet::Overlaps(const Ipv4Subnet& other) const {
  return prefix_length_ <= other.prefix_length_ ? Contains(other.network_)
                                                : other.Contains(network_);
}

std::string Ipv4Subnet::ToString() const {
  return absl::StrCat(network_.ToString(), "/", prefix_length_);
}

absl::StatusOr<int> ParseNetmask(absl::string_view text) {
  absl::StatusOr<Ipv4Address> mask = Ipv4Address::Parse(text);
  if (!mask.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "netmask \"", text, "\" is not IPv4, expected e.g. 255.255.255.0"));
  }
  for (int prefix_length = 0; prefix_length <= 32; ++prefix_length) {
    if (MaskOf(prefix_length) == mask->bits()) return prefix_length;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "netmask \"", text, "\" has a hole, expected ones and then zeros"));
}

absl::StatusOr<Ipv4Interface> Ipv4Interface::Parse(absl::string_view address,
                                                   absl::string_view netmask) {
  ASSIGN_OR_RETURN(const Ipv4Address parsed, Ipv4Address::Parse(address));
  ASSIGN_OR_RETURN(const int prefix_length, ParseNetmask(netmask));
  return Ipv4Interface(parsed, prefix_length);
}

std::string Ipv4Interface::ToString() const {
  return absl::StrCat(address_.ToString(), "/", prefix_length_);
}

}  // namespace clusterd
