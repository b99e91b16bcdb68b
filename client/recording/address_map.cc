#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/recording/recording.h"
#include "config/values/text_form.h"
#include "config/words/message.h"

namespace clusterd {
namespace {

// Bits of an IPv4 address that are replaced; the rest is the host number.
constexpr int kReplacedBits = 24;

struct KeptRange {
  uint32_t network;
  int length;
  // True if addresses inside are kept, too; otherwise only the prefix is.
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

// Addresses with these first `bits` bits may still be in a kept range.
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
  // A run of several ones, then zeros, can only be a netmask.
  const uint32_t zeros = ~address;
  return (zeros & (zeros + 1)) == 0 && address >= 0x80000000;
}

// A match at the beginning of a piece of text; 0 bytes: no match.
struct Match {
  size_t bytes = 0;
  std::string replacement;
};

// Bytes at the beginning of `text` that are among these.
size_t RunOf(absl::string_view text, absl::string_view among) {
  return std::min(text.size(), text.find_first_not_of(among));
}

bool StartsWithAlnum(absl::string_view text) {
  return !text.empty() && absl::ascii_isalnum(text[0]);
}

Match MatchMac(absl::string_view text, const AddressMap& map) {
  static const LazyRE2 kForms = {R"((?i)([\da-f]{2}(?::[\da-f]{2}){5}|)"
                                 R"([\da-f]{2}(?:-[\da-f]{2}){5}|)"
                                 R"([\da-f]{4}(?:-[\da-f]{4}){2}|)"
                                 R"([\da-f]{4}(?:\.[\da-f]{4}){2}|)"
                                 R"([\da-f]{12}))"};
  // The longest form has 17 characters.
  re2::StringPiece rest(text.data(), std::min<size_t>(text.size(), 17));
  std::string found;
  if (!RE2::Consume(&rest, *kForms, &found) ||
      StartsWithAlnum(text.substr(found.size()))) {
    return {};
  }
  std::string bytes = absl::HexStringToBytes(
      absl::StrReplaceAll(found, {{":", ""}, {"-", ""}, {".", ""}}));
  MacBytes mac;
  absl::c_copy(bytes, mac.begin());
  absl::c_copy(map.Replace(mac), bytes.begin());
  std::string replaced = absl::BytesToHexString(bytes);
  if (absl::c_any_of(found, absl::ascii_isupper)) {
    absl::AsciiStrToUpper(&replaced);
  }
  auto digit = replaced.begin();
  for (char& c : found) {
    if (absl::ascii_isxdigit(c)) c = *digit++;
  }
  return {found.size(), found};
}

Match MatchIpv6(absl::string_view text, const AddressMap& map) {
  // The longest form has 45 characters.
  size_t bytes = RunOf(text.substr(0, 46), "0123456789abcdefABCDEF:.");
  if (absl::c_count(text.substr(0, bytes), ':') < 2) return {};
  for (; bytes >= 3; --bytes) {
    if (absl::ascii_isalnum(text[bytes - 1]) &&
        StartsWithAlnum(text.substr(bytes))) {
      continue;
    }
    Ipv6Bytes address;
    const std::string candidate(text.substr(0, bytes));
    if (inet_pton(AF_INET6, candidate.c_str(), address.data()) != 1) continue;
    address = map.Replace(address);
    char buffer[INET6_ADDRSTRLEN];
    inet_ntop(AF_INET6, address.data(), buffer, sizeof(buffer));
    return {bytes, buffer};
  }
  return {};
}

// 0 to 255, leading zeros allowed. -1: any other text.
int Octet(absl::string_view part) {
  int value = 0;
  return part.size() <= 3 && absl::SimpleAtoi(part, &value) && value <= 255
             ? value
             : -1;
}

Match MatchIpv4(absl::string_view text, const AddressMap& map) {
  const size_t run = RunOf(text, "0123456789.");
  size_t bytes = run;
  while (text[bytes - 1] == '.') --bytes;
  std::vector<absl::string_view> parts =
      absl::StrSplit(text.substr(0, bytes), '.');
  const bool is_cut =
      run == text.size() && (parts.size() == 2 || parts.size() == 3);
  if (is_cut) {
    bytes = run;
    parts.back() = "0";  // It may be incomplete.
  } else if (parts.size() == 5 && Octet(parts[4]) < 0) {
    bytes -= parts[4].size() + 1;
    parts.pop_back();
  }
  bool is_address = is_cut || parts.size() == 4;
  uint32_t address = 0;
  for (size_t i = 0; is_address && i < 4; ++i) {
    const int octet = i < parts.size() ? Octet(parts[i]) : 0;
    is_address = is_cut || octet >= 0;
    address = address << 8 | static_cast<uint32_t>(std::max(octet, 0));
  }
  // Skip the text that was read.
  if (!is_address) return {bytes, std::string(text.substr(0, bytes))};
  std::vector<std::string> replaced =
      absl::StrSplit(map.Replace(Ipv4Address(address)).ToString(), '.');
  replaced.resize(parts.size());
  if (is_cut) replaced.back() = "0";
  return {bytes, absl::StrJoin(replaced, ".")};
}

// Keeps 8 characters of a MAC or IPv6 address that the end of the text cut.
Match MatchCutTail(absl::string_view text) {
  static const LazyRE2 kForm = {R"([[:xdigit:]][[:xdigit:]:]{8,44})"};
  if (!HasForm(text, *kForm) || absl::c_count(text, ':') < 3) return {};
  return {text.size(), std::string(text.substr(0, 8))};
}

Match MatchAny(absl::string_view text, bool after_alnum,
               const AddressMap& map) {
  if (!after_alnum) {
    Match match = MatchMac(text, map);
    if (match.bytes == 0) match = MatchIpv6(text, map);
    if (match.bytes == 0) match = MatchCutTail(text);
    if (match.bytes > 0) return match;
  }
  if (!text.empty() && absl::ascii_isdigit(text[0])) {
    return MatchIpv4(text, map);
  }
  return {};
}

}  // namespace

absl::StatusOr<std::string> RandomAddressKey() {
  std::string key(32, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(key.data()),
                 static_cast<int>(key.size())) != 1) {
    return UnavailableWords("msg-record-no-random-numbers");
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
    uint32_t ipv4 = 0;
    std::memcpy(&ipv4, &address[12], sizeof(ipv4));
    ipv4 = htonl(Replace(Ipv4Address(ntohl(ipv4))).bits());
    std::memcpy(&replaced[12], &ipv4, sizeof(ipv4));
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

std::string ReplaceAddresses(absl::string_view text, const AddressMap& map) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const bool after_alnum = at > 0 && absl::ascii_isalnum(text[at - 1]);
    const Match match = MatchAny(text.substr(at), after_alnum, map);
    if (match.bytes == 0) {
      out += text[at];
      ++at;
      continue;
    }
    absl::StrAppend(&out, match.replacement);
    at += match.bytes;
  }
  return out;
}

}  // namespace clusterd
