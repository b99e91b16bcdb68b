// Values as the tool reads and checks them. Addresses are numbers in host byte
// order; dotted quads are read in two ways, strictly where the tool validates,
// loosely (BSD short forms) where it only compares.
#ifndef TESTS_SIM_TOOL_DEVICE_VALUES_H_
#define TESTS_SIM_TOOL_DEVICE_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace clusterd {
namespace sim {

// Four decimal parts without leading zeros, nothing else.
std::optional<uint32_t> StrictIpv4(const std::string& text);
// "192.168.261" is 192.168.1.5. 0xffffffff for what is no address, which is
// also the value of 255.255.255.255.
uint32_t LooseIpv4(const std::string& text);
// Ones, then zeros; all ones and all zeros count.
bool IsContiguousMask(uint32_t mask);

inline constexpr int kMinMtu = 68;
inline constexpr int kMaxMtu = 9702;
inline constexpr int kMaxDscp = 63;
inline constexpr int kMaxTrafficClass = 3;

// Digits only; no digit at all is 0, as atoi has it.
bool IsDigits(const std::string& text);
bool IsMtu(const std::string& text);

inline constexpr size_t kMacAddressChars = 17;
// Six hexadecimal pairs with colons, of a single station.
bool IsMacAddress(const std::string& text);
// Eight of 0 and 1 with commas: which priorities pause.
bool IsPfcBitmap(const std::string& text);

}  // namespace sim
}  // namespace clusterd

#endif  // TESTS_SIM_TOOL_DEVICE_VALUES_H_
