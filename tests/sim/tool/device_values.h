// Values of a device that the tool checks before it stores them.
#ifndef TESTS_SIM_TOOL_DEVICE_VALUES_H_
#define TESTS_SIM_TOOL_DEVICE_VALUES_H_

#include <string>

namespace clusterd {
namespace sim {

inline constexpr int kMinMtu = 68;
inline constexpr int kMaxMtu = 9702;

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
