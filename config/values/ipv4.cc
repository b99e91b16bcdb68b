#include "config/values/ipv4.h"

#include <algorithm>

#include "absl/base/macros.h"
#include "absl/numeric/bits.h"
#include "absl/strings/match.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/values/value_error.h"

namespace clusterd {
namespace {

uint32_t MaskOf(int prefix_length) {
  return prefix_length == 0 ? 0 : ~uint32_t{0} << (32 - prefix_length);
}

// Moves `at` behind an octet; false: there is none, or the text is wrong.
inline bool TakeOctet(const char** at, const char* end, uint32_t* bits) {
  uint32_t octet = 0;
  const char* const first = *at;
  for (; *at != end; ++*at) {
    const uint32_t digit = static_cast<uint8_t>(**at) - uint32_t{'0'};
    if (digit > 9) break;
    // A zero leads, or it is too large.
    if (octet == 0 && *at != first) return false;
    octet = octet * 10 + digit;
    if (octet > 255) return false;
  }
  *bits = *bits << 8 | octet;
  return *at != first;
}

}  // namespace

// As strict as inet_pton, and faster: a report of a large cluster reads and
// writes half a million addresses.
absl::StatusOr<Ipv4Address> Ipv4Address::Parse(absl::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  uint32_t bits = 0;
  bool good = TakeOctet(&at, end, &bits);
  for (int octets = 1; good && octets < 4; ++octets) {
    good = at != end && *at++ == '.' && TakeOctet(&at, end, &bits);
  }
  if (good && at == end) return Ipv4Address(bits);
  if (absl::StrContains(text, ':')) {
    return WrongValue("value-ipv6", text);
  }
  return WrongValue("value-ipv4", text);
}

std::string Ipv4Address::ToString() const {
  char text[sizeof("255.255.255.255")];
  char* end = text;
  for (int shift = 24; shift >= 0; shift -= 8) {
    const uint32_t octet = bits_ >> shift & 255;
    if (octet >= 100) *end++ = static_cast<char>('0' + octet / 100);
    if (octet >= 10) *end++ = static_cast<char>('0' + octet / 10 % 10);
    *end++ = static_cast<char>('0' + octet % 10);
    if (shift > 0) *end++ = '.';
  }
  return std::string(text, end);
}

Ipv4Subnet::Ipv4Subnet(Ipv4Address address, int prefix_length)
    : network_(address.bits() & MaskOf(prefix_length)),
      prefix_length_(prefix_length) {
  ABSL_ASSERT(prefix_length >= 0 && prefix_length <= 32);
}

absl::StatusOr<Ipv4Subnet> Ipv4Subnet::Parse(absl::string_view text) {
  static const LazyRE2 kForm = {R"(([^/]*)/(\d{1,2}))"};
  absl::string_view quad;
  int prefix_length = 0;
  if (!HasForm(text, *kForm, &quad, &prefix_length) || prefix_length > 32) {
    return WrongValue("value-subnet-prefix", text, "0-32");
  }
  ASSIGN_OR_RETURN(const Ipv4Address address, Ipv4Address::Parse(quad));
  const Ipv4Subnet subnet(address, prefix_length);
  if (subnet.network() == address) return subnet;
  return WrongValue("value-subnet-host-bits", text, subnet.ToString());
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

std::vector<Ipv4Subnet> CoverExactly(std::vector<Ipv4Address> addresses) {
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()),
                  addresses.end());
  std::vector<Ipv4Subnet> blocks;
  for (size_t i = 0; i < addresses.size();) {
    // The largest aligned block from here on of which every address is there.
    const uint64_t first = addresses[i].bits();
    uint64_t size = 1;
    int prefix = 32;
    while (prefix > 0 && first % (size * 2) == 0 &&
           i + size * 2 <= addresses.size() &&
           addresses[i + size * 2 - 1].bits() == first + size * 2 - 1) {
      size *= 2;
      --prefix;
    }
    blocks.push_back(Ipv4Subnet(addresses[i], prefix));
    i += size;
  }
  return blocks;
}

absl::StatusOr<int> ParseNetmask(absl::string_view text) {
  absl::StatusOr<Ipv4Address> mask = Ipv4Address::Parse(text);
  if (!mask.ok()) {
    return WrongValue("value-netmask", text);
  }
  const int prefix_length = absl::countl_one(mask->bits());
  if (MaskOf(prefix_length) == mask->bits()) return prefix_length;
  return WrongValue("value-netmask-hole", text);
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
