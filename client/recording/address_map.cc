#include "client/recording/address_map.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cassert>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

// Bits of an IPv4 address that are replaced; the rest is the host number.
constexpr int kReplacedBits = 24;

struct KeptRange {
  uint32_t network;
  int length;
  // The addresses inside stay, too; else only the way to the range does.
  bool inside;
};

constexpr KeptRange kKeptRanges[] = {
    {0x00000000, 8, true},    // 0.0.0.0/8
    {0x7f000000, 8, true},    // 127.0.0.0/8
    {0xff000000, 8, true},    // 255.0.0.0/8
    {0xc0a80000, 21, true},   // 192.168.0.0/21
    {0xc0000000, 16, true},   // 192.0.0.0/16
    {0x0a000000, 8, false},   // 10.0.0.0/8
    {0xac100000, 12, false},  // 172.16.0.0/12
    {0xc0a80000, 16, false},  // 192.168.0.0/16
    {0xa9fe0000, 16, false},  // 169.254.0.0/16
    {0xe0000000, 4, false},   // 224.0.0.0/4
    {0xf0000000, 4, false},   // 240.0.0.0/4
};

// The first `bits` bits of `address`, the others 0.
uint32_t Prefix(uint32_t address, int bits) {
  return bits == 0 ? 0 : address & (~uint32_t{0} << (32 - bits));
}

bool Shares(uint32_t address, const KeptRange& range, int bits) {
  return Prefix(address, bits) == Prefix(range.network, bits);
}

// Whether the first `bits` bits of `address` can still lead into a kept range.
bool LeadsToKeptRange(uint32_t address, int bits) {
  for (const KeptRange& range : kKeptRanges) {
    if (bits < range.length && Shares(address, range, bits)) return true;
  }
  return false;
}

bool StaysEntirely(uint32_t address) {
  for (const KeptRange& range : kKeptRanges) {
    if (range.inside && Shares(address, range, range.length)) return true;
  }
  // Ones, then zeros, and more than one bit of them can only be a netmask.
  const uint32_t zeros = ~address;
  return (zeros & (zeros + 1)) == 0 && address >= 0x80000000;
}

}  // namespace

absl::StatusOr<std::string> RandomAddressKey() {
  std::string key(32, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(key.data()),
                 static_cast<int>(key.size())) != 1) {
    return absl::UnavailableError(
        "recording: the system has no random numbers for the key that hides "
        "addresses");
  }
  return key;
}

AddressMap::AddressMap(std::string key) : key_(std::move(key)) {
  assert(!key_.empty());
}

std::string AddressMap::Digest(const std::string& text) const {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest,
       &size);
  return std::string(reinterpret_cast<const char*>(digest), size);
}

bool AddressMap::Flips(uint32_t address, int bit) const {
  if (LeadsToKeptRange(address, bit)) return false;
  // The first free bit always changes, so that no address keeps its value.
  if (bit == 0 || LeadsToKeptRange(address, bit - 1)) return true;
  const bool third_octet_is_zero_so_far =
      bit >= 16 && Prefix(address, bit) == Prefix(address, 16);
  if (third_octet_is_zero_so_far) return false;
  const uint32_t prefix = Prefix(address, bit);
  return (Digest(absl::StrCat("ipv4 ", bit, " ", prefix))[0] & 1) != 0;
}

Ipv4Address AddressMap::Replace(Ipv4Address address) const {
  const uint32_t bits = address.bits();
  if (StaysEntirely(bits)) return address;
  uint32_t replaced = bits;
  for (int bit = 0; bit < kReplacedBits; ++bit) {
    if (Flips(bits, bit)) replaced ^= uint32_t{1} << (31 - bit);
  }
  return Ipv4Address(replaced);
}

Ipv6Bytes AddressMap::Replace(const Ipv6Bytes& address) const {
  Ipv6Bytes replaced = address;
  // ::, ::1, and IPv4 in the last four bytes of ::ffff:0:0/96.
  int leading_zeros = 0;
  while (leading_zeros < 16 && address[leading_zeros] == 0) ++leading_zeros;
  if (leading_zeros >= 15) return replaced;
  if (leading_zeros == 10 && address[10] == 0xff && address[11] == 0xff) {
    const uint32_t bits = uint32_t{address[12]} << 24 |
                          uint32_t{address[13]} << 16 |
                          uint32_t{address[14]} << 8 | address[15];
    const uint32_t ipv4 = Replace(Ipv4Address(bits)).bits();
    for (int i = 0; i < 4; ++i) replaced[12 + i] = ipv4 >> (24 - 8 * i) & 0xff;
    return replaced;
  }
  std::string prefix = "ipv6 ";
  for (int at = 0; at < 16; at += 2) {
    prefix.append(reinterpret_cast<const char*>(&address[at]), 2);
    if (at == 0 || (address[at] == 0 && address[at + 1] == 0)) continue;
    const std::string digest = Digest(prefix);
    replaced[at] = static_cast<uint8_t>(digest[0]);
    replaced[at + 1] = static_cast<uint8_t>(digest[1]);
    if (replaced[at] == address[at] && replaced[at + 1] == address[at + 1]) {
      replaced[at + 1] ^= 1;
    }
  }
  return replaced;
}

MacBytes AddressMap::Replace(const MacBytes& address) const {
  MacBytes replaced = address;
  const bool is_group = (address[0] & 1) != 0;
  if (is_group || address == MacBytes{}) return replaced;
  const std::string digest = Digest(
      "mac " + std::string(reinterpret_cast<const char*>(address.data()), 6));
  for (int i = 3; i < 6; ++i) replaced[i] = static_cast<uint8_t>(digest[i]);
  if (replaced == address) replaced[5] ^= 1;
  return replaced;
}

}  // namespace clusterd
