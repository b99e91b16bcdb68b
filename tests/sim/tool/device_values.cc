#include "tests/sim/tool/device_values.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace clusterd::sim {

std::optional<uint32_t> StrictIpv4(const std::string& text) {
  in_addr address;
  if (inet_pton(AF_INET, text.c_str(), &address) != 1) return std::nullopt;
  return ntohl(address.s_addr);
}

uint32_t LooseIpv4(const std::string& text) {
  return ntohl(inet_addr(text.c_str()));
}

bool IsIpv6(const std::string& text) {
  in6_addr address;
  return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

bool IsContiguousMask(uint32_t mask) {
  const uint32_t rest = ~mask;
  return (rest & (rest + 1)) == 0;
}

bool IsDigits(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c); });
}

bool IsMtu(const std::string& text) {
  if (!IsDigits(text) || text.size() > 5) return false;
  const int size = atoi(text.c_str());
  return size >= kMinMtu && size <= kMaxMtu;
}

bool IsMacAddress(const std::string& text) {
  if (text.size() != kMacAddressChars) return false;
  for (size_t i = 0; i < kMacAddressChars; ++i) {
    const unsigned char c = text[i];
    if (i % 3 == 2 ? c != ':' : !std::isxdigit(c)) return false;
  }
  // The tool takes a "1" there for a group address, and knows these besides.
  if (text[1] == '1') return false;
  constexpr const char* kRefused[] = {
      "09:00:2b:00:00:04", "09:00:2b:00:00:05", "03:00:00:00:00:08",
      "03:00:00:00:00:10", "03:00:00:00:00:40", "03:00:00:00:01:00",
      "03:00:00:00:02:00", "03:00:00:00:04:00", "03:00:00:00:08:00",
      "03:00:00:00:10:00", "03:00:00:00:20:00", "03:00:00:00:40:00",
      "03:00:00:40:00:00", "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff",
  };
  return std::none_of(std::begin(kRefused), std::end(kRefused),
                      [&](const char* address) {
                        return absl::EqualsIgnoreCase(text, address);
                      });
}

PfcBitmap ReadPfcBitmap(const std::string& text, int most) {
  constexpr size_t kChars = 15;
  if (text.size() != kChars) return PfcBitmap::kMalformed;
  int on = 0;
  for (size_t i = 0; i < kChars; ++i) {
    const bool good =
        i % 2 == 1 ? text[i] == ',' : text[i] == '0' || text[i] == '1';
    if (!good) return PfcBitmap::kMalformed;
    if (text[i] == '1' && ++on > most) return PfcBitmap::kTooMany;
  }
  return PfcBitmap::kGood;
}

bool IsUdpPortText(const std::string& text) {
  return IsDigits(text) && text.size() >= 4 && text.size() <= 5;
}

bool IsRocePort(const std::string& text) {
  return IsUdpPortText(text) && IsNumberIn(text, kMinRocePort, kMaxRocePort);
}

std::optional<std::string> PortListText(const std::string& text, int count) {
  constexpr size_t kMinChars = 9;
  if (text.size() < kMinChars) return std::nullopt;
  std::vector<std::string> ports = absl::StrSplit(text, ',');
  long first = 0, last = 0;
  if (ports.size() == 1 &&
      sscanf(text.c_str(), "%ld-%ld", &first, &last) == 2) {
    if (first < kMinRocePort || last > kMaxRocePort || last <= first ||
        last - first + 1 != count) {
      return std::nullopt;
    }
    ports.clear();
    for (; first <= last; ++first) ports.push_back(absl::StrCat(first));
  }
  std::set<long> seen;
  for (std::string& port : ports) {
    const long number = atol(port.c_str());
    if (!IsNumberIn(port, kMinRocePort, kMaxRocePort) ||
        !seen.insert(number).second) {
      return std::nullopt;
    }
    port = absl::StrCat(number);
  }
  if (static_cast<int>(ports.size()) != count) return std::nullopt;
  return absl::StrJoin(ports, ",");
}

bool IsNumberIn(const std::string& text, long first, long last) {
  char* end = nullptr;
  const long number = strtol(text.c_str(), &end, 10);
  return *end == '\0' && number >= first && number <= last;
}

bool IsSwitch(const std::string& text) {
  return !text.empty() && IsNumberIn(text, 0, 1);
}

bool IsDscpMap(const std::string& text) {
  constexpr size_t kMaxPairChars = 4;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    if (part.size() <= 1) continue;
    unsigned char dscp = 0, traffic_class = 0;
    // The tool ignores the text after the two numbers.
    if (part.size() > kMaxPairChars ||
        sscanf(std::string(part).c_str(), "%hhu:%hhu", &dscp, &traffic_class) !=
            2 ||
        dscp > kMaxDscp || traffic_class > kMaxTrafficClass) {
      return false;
    }
  }
  return true;
}

bool IsSpeed(const std::string& text) {
  return IsNumberIn(text, 100000, 100000) || IsNumberIn(text, 200000, 200000);
}

bool IsBandwidth(const std::string& text) {
  return IsDigits(text) && IsNumberIn(text, 10000, 200000);
}

// "0,1,2,3,0,0,0,0": a class for each priority.
bool IsPriorityMap(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ',');
  return parts.size() == 8 &&
         std::all_of(parts.begin(), parts.end(), [](const std::string& part) {
           return part.size() == 1 && part[0] >= '0' && part[0] <= '3';
         });
}

// "size 6272,… waterline 6272,…".
bool IsBufferPlan(const std::string& text) {
  constexpr long kMinBytes = 0x1880, kMaxBytes = 14040 * 128;
  const std::vector<std::string> words =
      absl::StrSplit(text, ' ', absl::SkipEmpty());
  if (words.size() < 4 || words[0] != "size" || words[2] != "waterline") {
    return false;
  }
  const std::vector<std::string> sizes = absl::StrSplit(words[1], ',');
  const std::vector<std::string> lines = absl::StrSplit(words[3], ',');
  if (sizes.size() > 8 || lines.size() > sizes.size()) return false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != "0" && !IsNumberIn(sizes[i], kMinBytes, kMaxBytes)) {
      return false;
    }
    if (i < lines.size() && !IsNumberIn(lines[i], 0, atol(sizes[i].c_str()))) {
      return false;
    }
  }
  return true;
}

bool IsPortIdType(const std::string& text) {
  return text == "mac" || text == "ifname";
}

bool IsFecMode(const std::string& text) {
  return text == "rs" || text == "off" || text == "auto";
}

bool IsCnpDscp(const std::string& text) {
  return !text.empty() && IsNumberIn(text, 0, kMaxDscp);
}

bool IsBadCodewordLimit(const std::string& text) {
  return IsNumberIn(text, 3, 14);
}

bool IsDownFaultTime(const std::string& text) { return IsNumberIn(text, 0, 3); }

bool IsCdrDelay(const std::string& text) { return IsNumberIn(text, 0, 60); }

bool IsCdrSwitch(const std::string& text) {
  return text == "enable" || text == "disable";
}

bool IsMemoryReserve(const std::string& text) {
  constexpr char kType[] = "pdccl:";
  constexpr long kMaxMegabytes = 512;
  if (!absl::StartsWith(text, kType)) return false;
  const std::string size = text.substr(sizeof(kType) - 1);
  const long megabytes = atol(size.c_str());
  return IsNumberIn(size, 0, kMaxMegabytes) && megabytes != 1 &&
         (megabytes & (megabytes - 1)) == 0;
}

namespace {

// "0:VALUE,1:VALUE": classes 0 to 3, each at most once.
bool IsClassMap(const std::string& text,
                bool (*is_value)(const std::string& value)) {
  std::set<int> seen;
  for (const std::string& part :
       std::vector<std::string>(absl::StrSplit(text, ','))) {
    const std::pair<std::string, std::string> pair =
        absl::StrSplit(part, absl::MaxSplits(':', 1));
    int index = -1;
    if (pair.first.empty() || pair.second.empty() ||
        sscanf(part.c_str(), "%d", &index) != 1 || index < 0 ||
        index > kMaxTrafficClass || !seen.insert(index).second ||
        !is_value(pair.second)) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool IsTsaMap(const std::string& text) {
  return IsClassMap(text, [](const std::string& value) {
    return value == "ets" || value == "strict";
  });
}

bool IsBandwidthShare(const std::string& text) {
  return IsClassMap(
      text, [](const std::string& value) { return IsNumberIn(value, 0, 100); });
}

}  // namespace clusterd::sim
