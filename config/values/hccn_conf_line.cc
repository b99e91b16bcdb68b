#include "config/values/hccn_conf_line.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values/ipv4.h"
#include "config/values/sha256.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

constexpr char kAddress[] = R"((?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3})"
                            R"((?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d))";

// A whole number as strtol takes it, from `first` to `last`: blanks and a sign
// may stand before it, and a text without digits is 0.
bool IsNumber(absl::string_view value, int64_t first, int64_t last) {
  const std::string text(value);
  char* end = nullptr;
  const int64_t number = strtoll(text.c_str(), &end, 10);
  return end == text.c_str() + text.size() && number >= first && number <= last;
}

template <int64_t first, int64_t last>
bool IsIn(absl::string_view value) {
  return IsNumber(value, first, last);
}
template <int64_t first, int64_t last>
bool IsGivenIn(absl::string_view value) {
  return !value.empty() && IsNumber(value, first, last);
}
template <int64_t first, int64_t last>
bool IsDigitsIn(absl::string_view value) {
  return absl::c_all_of(value, absl::ascii_isdigit) &&
         IsNumber(value, first, last);
}
bool IsAnything(absl::string_view) { return true; }

bool IsAddress(absl::string_view value) {
  return Ipv4Address::Parse(value).ok();
}
bool IsBroadcast(absl::string_view value) { return value == "255.255.255.255"; }
bool IsOwnAddress(absl::string_view value) {
  const auto address = Ipv4Address::Parse(value);
  return address.ok() && !address->IsUnset() && !IsBroadcast(value);
}
bool IsNetmask(absl::string_view value) {
  return Ipv4Interface::Parse("10.0.0.1", value).ok();
}
bool IsDetectAddress(absl::string_view value) {
  return IsAddress(value) && !IsBroadcast(value);
}
bool IsIpv6(absl::string_view value) {
  in6_addr address;
  return inet_pton(AF_INET6, std::string(value).c_str(), &address) == 1;
}

// The tool refuses a "1" as the second digit, and these.
bool IsMacAddress(absl::string_view value) {
  static const LazyRE2 kForm = {
      "[0-9a-fA-F][02-9a-fA-F](?::[0-9a-fA-F]{2}){5}"};
  static const LazyRE2 kRefused = {
      "(?i)00(?::00){5}|ff(?::ff){5}|09:00:2b:00:00:0[45]|"
      "03:00:00:(?:00:00:(?:08|10|40)|00:(?:01|02|04|08|10|20|40):00|40:00:"
      "00)"};
  return HasForm(value, *kForm) && !HasForm(value, *kRefused);
}

bool IsRocePort(absl::string_view value) {
  return absl::StartsWith(value, "-1") || IsDigitsIn<4097, 65535>(value);
}
// Another line gives the number of ports.
bool IsPortList(absl::string_view value) { return value.size() > 8; }

// The tool refuses another form; the tools of A2 and A3 refuse more priorities.
constexpr int kMostPausing = 4;
constexpr char kBitmap[] = "[01](?:,[01]){7}";
bool IsShortBitmap(absl::string_view value) {
  return IsOfForm<kBitmap>(value) &&
         std::count(value.begin(), value.end(), '1') <= kMostPausing;
}

// The tool ignores a limit that is too long.
bool IsBandwidth(absl::string_view value) {
  constexpr size_t kMaxChars = 6;
  return value.size() > kMaxChars || IsDigitsIn<10000, 200000>(value);
}
bool IsSpeed(absl::string_view value) {
  return IsNumber(value, 100000, 100000) || IsNumber(value, 200000, 200000);
}

// "33:1,46:2,"; skips parts shorter than a pair, which has at most 4 bytes.
bool IsDscpMap(absl::string_view value) {
  static const LazyRE2 kPair = {
      R"(\d:0?[0-3]|(?:[0-5]\d|6[0-3]):[0-3]|\d:[0-3][^\d])"};
  for (const absl::string_view pair : absl::StrSplit(value, ',')) {
    if (pair.size() > 1 && !HasForm(pair, *kPair)) return false;
  }
  return true;
}
constexpr char kPriorityMap[] = "[0-3](?:,[0-3]){7}";

// "size 6272,0 waterline 6272,0": bytes of at most eight classes, and marks
// that are not above them.
bool IsBufferPlan(absl::string_view value) {
  constexpr int64_t kLeast = 0x1880, kMost = 14040 * 128;
  const std::vector<absl::string_view> words =
      absl::StrSplit(value, ' ', absl::SkipEmpty());
  if (words.size() < 4 || words[0] != "size" || words[2] != "waterline") {
    return false;
  }
  const std::vector<absl::string_view> sizes = absl::StrSplit(words[1], ',');
  const std::vector<absl::string_view> marks = absl::StrSplit(words[3], ',');
  if (sizes.size() > 8 || marks.size() > sizes.size()) return false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t size = atoll(std::string(sizes[i]).c_str());
    if ((sizes[i] != "0" && !IsNumber(sizes[i], kLeast, kMost)) ||
        (i < marks.size() && !IsNumber(marks[i], 0, size))) {
      return false;
    }
  }
  return true;
}

// "0:VALUE,2:VALUE": classes 0 to 3, each at most once.
template <const char* form>
bool IsClassMap(absl::string_view value) {
  std::string seen;
  for (const absl::string_view part : absl::StrSplit(value, ',')) {
    if (!IsOfForm<form>(part) || absl::StrContains(seen, part[0])) return false;
    seen += part[0];
  }
  return true;
}
constexpr char kTsa[] = "[0-3]:(?:ets|strict)";
constexpr char kShare[] = R"([0-3]:(?:100|\d{1,2}))";
constexpr char kMemoryReserve[] = "pdccl:(?:|0|2|4|8|16|32|64|128|256|512)";

// "add 10.1.0.0/16 via 10.20.0.1 dev eth0 table 100".
bool HasTable(absl::string_view value) {
  constexpr absl::string_view kTable = " table ";
  const size_t at = value.find(kTable);
  return at == value.npos ||
         atoll(std::string(value.substr(at + kTable.size())).c_str()) <= 255;
}
bool IsIpRoute(absl::string_view value) {
  static const LazyRE2 kForm = {R"((?s)add \s*[+-]?\d.*)", RE2::Latin1};
  return HasForm(value, *kForm) && HasTable(value);
}
bool IsIpRule(absl::string_view value) {
  return (absl::StartsWith(value, "add from ") ||
          absl::StartsWith(value, "add to ")) &&
         HasTable(value);
}
constexpr char kNeighbour[] = R"((?s)-i\s*eth\s*[+-]?\d.*)";

constexpr char kSwitch[] = "0|1";
constexpr char kPortId[] = "mac|ifname";
constexpr char kCdr[] = "enable|disable";
constexpr char kPortMode[] = "multi_qp|code:nslb_dp";
constexpr char kFec[] = "rs|off|auto";

// NPU series whose tool reads a key; one bit each.
enum Series { kA1 = 1, kA2 = 2, kA3 = 4, kEvery = kA1 | kA2 | kA3 };

// Keys over whose values the recovery of their device fails, with their valid
// form and length. The recovery reads some only if the device has a line with
// another key, or, with DHCP, has none.
constexpr char kDhcp[] = "udhcpc_enable";
constexpr struct {
  absl::string_view keys;
  size_t max_chars;
  bool (*taken)(absl::string_view value);
  int series = kEvery;
  absl::string_view other = "";
} kRecoveredKeys[] = {
    {"address", 19, IsOwnAddress},
    {"netmask", 19, IsNetmask},
    {"gateway", 19, IsAddress, kEvery, kDhcp},
    {"netdetect", 19, IsDetectAddress},
    {"IPv6gateway/IPv6netdetect", 45, IsIpv6},
    {"IPv6address", 45, IsIpv6, kEvery, "IPv6netmask"},
    {"IPv6netmask", 45, IsAnything, kEvery, "IPv6address"},
    {"udhcpc_enable/udhcpc_ipv6_enable", 3, IsAnything},
    {"mac_addr", 17, IsMacAddress},
    {"mtu", 4, IsDigitsIn<68, 9702>},
    {"dscp_tc", 383, IsDscpMap},
    {"static_speed", 6, IsSpeed},
    {"bw_limit", 383, IsBandwidth},
    {"roce_port", 5, IsRocePort},
    {"bitmap", 15, IsShortBitmap},
    {"tc_cfg", 383, IsBufferPlan},
    {"prio_tc", 15, IsOfForm<kPriorityMap>},
    {"encoding", 4, IsOfForm<kFec>, kA1},
    {"dcqcn_cnp_dscp", 29, IsGivenIn<0, 63>},
    {"dcqcn_f/dcqcn_al/dcqcn_cnp_time", 29, IsGivenIn<0, 255>, kEvery,
     "dcqcn_alg_mode"},
    {"dcqcn_g_shift/dcqcn_tkp/dcqcn_tmp/dcqcn_alp_shift", 29, IsGivenIn<0, 15>,
     kEvery, "dcqcn_alg_mode"},
    {"dcqcn_ai/dcqcn_alp", 29, IsGivenIn<0, 65535>, kEvery, "dcqcn_alg_mode"},
    // Only for A+K boards; no fact identifies the board.
    {"xsfp_reset_max_times", 2, IsIn<0, 30>, kA2},
    {"xsfp_reset_wait_times", 2, IsIn<0, 40>, kA2},
    {"tls_enable", 29, IsGivenIn<0, 1>},
    {"tls_ca_recovered", 29, IsIn<0, 1>},
    {"lldp_portid_type", 9, IsOfForm<kPortId>},
    {"cw_bad_cnt_thd_high_limit", 2, IsIn<3, 14>},
    {"down_fault_time", 383, IsIn<0, 3>},
    {"scdr_reset_delay_time", 383, IsIn<0, 60>, kA2 | kA3},
    {"cdr_reset_switch", 7, IsOfForm<kCdr>, kA2 | kA3},
    {"tsa", 127, IsClassMap<kTsa>, kA2 | kA3},
    {"tcbw", 127, IsClassMap<kShare>, kA2 | kA3},
    {"udp_port_mode", 19, IsOfForm<kPortMode>, kA2 | kA3},
    {"multi_qp_count", 2, IsGivenIn<2, 32>, kA2 | kA3, "udp_port_mode"},
    {"multi_qp_udp_ports", 199, IsPortList, kA2 | kA3, "udp_port_mode"},
    {"nslb_dp_listen_port", 199, IsIn<10000, 57999>, kA2 | kA3,
     "udp_port_mode"},
    {"mem_reserve", 383, IsOfForm<kMemoryReserve>, kA2 | kA3},
    {"ip_rule", 383, IsIpRule},
    {"ip_route", 383, IsIpRoute},
    {"arp", 383, IsOfForm<kNeighbour>, kEvery, kDhcp},
    {"send_arp_period", 5, IsIn<1, 3600>, kEvery, kDhcp},
    {"send_arp_status", 5, IsOfForm<kSwitch>, kEvery, kDhcp},
};
using KeyRow = std::remove_reference_t<decltype(kRecoveredKeys[0])>;

// The row of the line's key; nullptr: no line with such a key.
const KeyRow* RowOf(absl::string_view line) {
  static const auto* const rows = [] {
    auto* made = new absl::flat_hash_map<absl::string_view, const KeyRow*>();
    for (const auto& row : kRecoveredKeys) {
      for (const auto key : absl::StrSplit(row.keys, '/')) (*made)[key] = &row;
    }
    return made;
  }();
  static const LazyRE2 kLine = {R"((?s)(\w+)_(?:0|[1-9]\d?)=.*)", RE2::Latin1};
  absl::string_view key;
  if (!HasForm(line, *kLine, &key)) return nullptr;
  const auto found = rows->find(key);
  return found == rows->end() ? nullptr : found->second;
}

absl::string_view ValueOf(absl::string_view line) {
  return line.substr(HccnConfKeyOf(line).size() + 1);
}

}  // namespace

absl::string_view HccnConfKeyOf(absl::string_view line) {
  return line.substr(0, line.find('='));
}

bool IsToolsOwnLine(absl::string_view line) {
  static const LazyRE2 kForm = {
      R"((?:xsfp_reset_(?:max|wait)_times|tls_ca_recovered)_\d+)"};
  return absl::StrContains(line, '=') && HasForm(HccnConfKeyOf(line), *kForm);
}

bool IsRouteLine(absl::string_view line) {
  return absl::StartsWith(line, "route_") && absl::StrContains(line, '=');
}

bool IsScannedRoute(absl::string_view line) {
  static const LazyRE2 kForm = {
      R"((?s)route_address_\d+\.\d+\.\d+\.\d+_netmask_\d+\.\d+\.\d+\.\d+)"
      R"(_\d+=gateway_\d+\.\d+\.\d+\.\d+.*)",
      RE2::Latin1};
  return HasForm(line, *kForm);
}

bool IsRecoveredLine(absl::string_view line) {
  return RowOf(line) != nullptr || IsScannedRoute(line);
}

bool MayBeRecovered(absl::string_view line, absl::string_view file) {
  static const auto* const route = new RE2(
      absl::StrCat("(?s)route_address_", kAddress, "_netmask_", kAddress,
                   R"(_\d+=gateway_)", kAddress, R"((?:\D.*)?)"),
      RE2::Latin1);
  const KeyRow* const row = RowOf(line);
  const absl::string_view key = HccnConfKeyOf(line), value = ValueOf(line);
  const auto has = [&](absl::string_view other) {
    const std::string start =
        absl::StrCat("\n", other, key.substr(key.rfind('_')), "=");
    return absl::StrContains(file, start) || absl::StartsWith(file, &start[1]);
  };
  if (row == nullptr) return HasForm(line, *route) || has(kDhcp);
  // No value has a "=": two lines were joined.
  if (value.size() > row->max_chars || absl::StrContains(value, '=') ||
      !row->taken(value)) {
    return !row->other.empty() && has(row->other) == (row->other == kDhcp);
  }
  if (row->taken != IsOfForm<kPortMode>) return true;
  return value == "multi_qp"
             ? has("multi_qp_count") && has("multi_qp_udp_ports")
             : has("nslb_dp_listen_port");
}

bool BreaksRecoveryOf(absl::string_view npu_series, absl::string_view line) {
  const KeyRow* const row = RowOf(line);
  if (row == nullptr || npu_series.empty()) return true;
  const int series = npu_series == "A1" ? kA1 : npu_series == "A2" ? kA2 : kA3;
  const bool allowed_there = row->taken == IsShortBitmap && series == kA1 &&
                             IsOfForm<kBitmap>(ValueOf(line));
  return (row->series & series) != 0 && !allowed_there;
}

std::string HccnConfDigest(absl::string_view text) {
  std::vector<absl::string_view> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!line.empty() && !IsToolsOwnLine(line)) lines.push_back(line);
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](absl::string_view a, absl::string_view b) {
                     return HccnConfKeyOf(a) < HccnConfKeyOf(b);
                   });
  return Sha256Hex(absl::StrJoin(lines, "\n"));
}

}  // namespace clusterd
