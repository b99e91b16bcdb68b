// Dotted quads the two ways the tool reads them: strictly where it validates,
// loosely (BSD short forms) where it only compares. Addresses are numbers in
// host byte order.
#ifndef TESTS_SIM_TOOL_IPV4_TEXT_H_
#define TESTS_SIM_TOOL_IPV4_TEXT_H_

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

}  // namespace sim
}  // namespace clusterd

#endif  // TESTS_SIM_TOOL_IPV4_TEXT_H_
