#include "client/recording/address_text.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace clusterd {
namespace {

// What one matcher found at the beginning of a piece of text; 0 bytes: nothing.
struct Match {
  size_t bytes = 0;
  std::string replacement;
};

size_t RunOf(absl::string_view text, absl::string_view punctuation,
             bool (*is_body)(unsigned char)) {
  size_t at = 0;
  while (at < text.size() &&
         (is_body(text[at]) ||
          punctuation.find(text[at]) != absl::string_view::npos)) {
    ++at;
  }
  return at;
}

bool StartsWithAlnum(absl::string_view text) {
  return !text.empty() && absl::ascii_isalnum(text[0]);
}

// 12 hexadecimal digits in groups of `group`, with `separator` between them.
Match MatchMacForm(absl::string_view text, size_t group, char separator,
                   const AddressMap& map) {
  const size_t separators = separator == '\0' ? 0 : 12 / group - 1;
  const size_t bytes = 12 + separators;
  if (text.size() < bytes || StartsWithAlnum(text.substr(bytes))) return {};
  std::string digits;
  for (size_t at = 0; at < bytes; ++at) {
    const bool at_separator = separators > 0 && at % (group + 1) == group;
    if (at_separator ? text[at] != separator
                     : !absl::ascii_isxdigit(text[at])) {
      return {};
    }
    if (!at_separator) digits += text[at];
  }
  MacBytes mac;
  for (size_t i = 0; i < mac.size(); ++i) {
    mac[i] =
        static_cast<uint8_t>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  }
  std::string replaced;
  for (const uint8_t byte : map.Replace(mac)) {
    absl::StrAppendFormat(&replaced, "%02x", byte);
  }
  const bool upper = std::any_of(digits.begin(), digits.end(), [](char c) {
    return absl::ascii_isupper(static_cast<unsigned char>(c));
  });
  if (upper) absl::AsciiStrToUpper(&replaced);
  Match match{bytes, ""};
  for (size_t i = 0; i < replaced.size(); ++i) {
    if (separators > 0 && i > 0 && i % group == 0) {
      match.replacement += separator;
    }
    match.replacement += replaced[i];
  }
  return match;
}

Match MatchMac(absl::string_view text, const AddressMap& map) {
  if (text.empty() || !absl::ascii_isxdigit(text[0])) return {};
  for (const auto& [group, separator] : {std::pair<size_t, char>{2, ':'},
                                         {2, '-'},
                                         {4, '-'},
                                         {4, '.'},
                                         {12, '\0'}}) {
    Match match = MatchMacForm(text, group, separator, map);
    if (match.bytes > 0) return match;
  }
  return {};
}

Match MatchIpv6(absl::string_view text, const AddressMap& map) {
  // The longest form has 45 characters.
  size_t bytes = RunOf(text.substr(0, 46), ":.",
                       [](unsigned char c) { return absl::ascii_isxdigit(c); });
  const absl::string_view run = text.substr(0, bytes);
  if (std::count(run.begin(), run.end(), ':') < 2) return {};
  for (; bytes >= 3; --bytes) {
    if (absl::ascii_isalnum(text[bytes - 1]) &&
        StartsWithAlnum(text.substr(bytes))) {
      continue;
    }
    in6_addr parsed;
    const std::string candidate(text.substr(0, bytes));
    if (inet_pton(AF_INET6, candidate.c_str(), &parsed) != 1) continue;
    Ipv6Bytes address;
    std::memcpy(address.data(), &parsed, address.size());
    address = map.Replace(address);
    char buffer[INET6_ADDRSTRLEN];
    std::memcpy(&parsed, address.data(), address.size());
    inet_ntop(AF_INET6, &parsed, buffer, sizeof(buffer));
    return {bytes, buffer};
  }
  return {};
}

// 0 to 255, leading zeros allowed. -1: something else.
int Octet(absl::string_view part) {
  if (part.empty() || part.size() > 3) return -1;
  int value = 0;
  for (const char c : part) value = value * 10 + (c - '0');
  return value <= 255 ? value : -1;
}

// Network part of an address of which only `parts` are known, the last perhaps
// in part.
std::string CutIpv4(const std::vector<absl::string_view>& parts,
                    const AddressMap& map) {
  uint32_t bits = 0;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    bits |= static_cast<uint32_t>(std::max(0, Octet(parts[i]))) << (24 - 8 * i);
  }
  const std::string replaced = map.Replace(Ipv4Address(bits)).ToString();
  std::vector<std::string> known = absl::StrSplit(replaced, '.');
  known.resize(parts.size() - 1);
  std::string text;
  for (const std::string& part : known) absl::StrAppend(&text, part, ".");
  return absl::StrCat(text, "0");
}

Match MatchIpv4(absl::string_view text, const AddressMap& map) {
  const size_t run =
      RunOf(text, ".", [](unsigned char c) { return absl::ascii_isdigit(c); });
  size_t bytes = run;
  while (bytes > 0 && text[bytes - 1] == '.') --bytes;
  std::vector<absl::string_view> parts =
      absl::StrSplit(text.substr(0, bytes), '.');
  const bool ends_the_text = run == text.size();
  if (ends_the_text && (parts.size() == 2 || parts.size() == 3)) {
    return {run, CutIpv4(parts, map)};
  }
  if (parts.size() == 5 && Octet(parts[4]) < 0) {
    bytes -= parts[4].size() + 1;
    parts.pop_back();
  }
  // What was looked at is not looked at again.
  Match match{bytes, std::string(text.substr(0, bytes))};
  if (parts.size() != 4) return match;
  uint32_t address = 0;
  for (const absl::string_view part : parts) {
    const int octet = Octet(part);
    if (octet < 0) return match;
    address = address << 8 | static_cast<uint32_t>(octet);
  }
  match.replacement = map.Replace(Ipv4Address(address)).ToString();
  return match;
}

// A MAC or IPv6 address cut off by the end of the text: only its first 8
// characters stay.
Match MatchCutTail(absl::string_view text) {
  if (text.empty() || text.size() >= 46 || !absl::ascii_isxdigit(text[0])) {
    return {};
  }
  const size_t run =
      RunOf(text, ":", [](unsigned char c) { return absl::ascii_isxdigit(c); });
  if (run != text.size() || run <= 8 ||
      std::count(text.begin(), text.end(), ':') < 3) {
    return {};
  }
  return {run, std::string(text.substr(0, 8))};
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
