// Values as the tool reads and checks them. Addresses are numbers in host byte
// order. Dotted quads are read strictly where the tool validates, loosely (BSD
// short forms) where it only compares.
#ifndef TESTS_SIM_TOOL_DEVICE_VALUES_H_
#define TESTS_SIM_TOOL_DEVICE_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace clusterd::sim {

// Takes only four decimal parts without leading zeros.
std::optional<uint32_t> StrictIpv4(const std::string& text);
// "192.168.261" is 192.168.1.5. 0xffffffff for an invalid address, which is
// also the value of 255.255.255.255.
uint32_t LooseIpv4(const std::string& text);
bool IsIpv6(const std::string& text);
// Ones, then zeros; all ones and all zeros count.
bool IsContiguousMask(uint32_t mask);

inline constexpr int kMinMtu = 68;
inline constexpr int kMaxMtu = 9702;
inline constexpr int kMaxDscp = 63;
inline constexpr int kMaxTrafficClass = 3;

// Digits only; an empty text is 0, as in atoi.
bool IsDigits(const std::string& text);
bool IsMtu(const std::string& text);

inline constexpr size_t kMacAddressChars = 17;
// Six hexadecimal pairs with colons, of a single station as the tool sees it.
bool IsMacAddress(const std::string& text);

// Eight of 0 and 1 with commas: which priorities pause. The tool reads from the
// left and stops at the first mistake, be it a character or one priority more
// than `most`.
enum class PfcBitmap { kGood, kMalformed, kTooMany };
PfcBitmap ReadPfcBitmap(const std::string& text, int most);

inline constexpr int kMinRocePort = 4097;
inline constexpr int kMaxRocePort = 65535;
// Four or five digits, of any value.
bool IsUdpPortText(const std::string& text);
bool IsRocePort(const std::string& text);
// "5000-5003" or "5000,5001,…" for `count` ports, each once, as the tool stores
// them: with commas. nullopt: not such a list.
std::optional<std::string> PortListText(const std::string& text, int count);

// A whole number as strtol takes it: blanks and a sign before it, nothing after
// it; an empty text is 0.
bool IsNumberIn(const std::string& text, long first, long last);
bool IsBandwidth(const std::string& text);

// Values that only the recovery reads.
bool IsSwitch(const std::string& text);
bool IsDscpMap(const std::string& text);
bool IsSpeed(const std::string& text);
bool IsPriorityMap(const std::string& text);
bool IsBufferPlan(const std::string& text);
bool IsPortIdType(const std::string& text);
bool IsFecMode(const std::string& text);
bool IsCnpDscp(const std::string& text);
bool IsBadCodewordLimit(const std::string& text);
bool IsDownFaultTime(const std::string& text);
bool IsCdrDelay(const std::string& text);
bool IsCdrSwitch(const std::string& text);
bool IsMemoryReserve(const std::string& text);
bool IsTsaMap(const std::string& text);
bool IsBandwidthShare(const std::string& text);

}  // namespace clusterd::sim

#endif  // TESTS_SIM_TOOL_DEVICE_VALUES_H_
