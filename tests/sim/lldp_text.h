// A device's LLDP neighbour, in the layout of the text that hccn_tool passes
// on.
#ifndef TESTS_SIM_LLDP_TEXT_H_
#define TESTS_SIM_LLDP_TEXT_H_

#include <string>

namespace clusterd::sim {

struct SwitchPort {
  std::string switch_name;
  std::string port;  // e.g. "400GE1/0/3"
  // Tells switches apart in chassis id and management address, 0 to 254.
  int number = 0;
};

std::string SwitchNeighbourText(const SwitchPort& port);
// Two servers cabled device to device.
std::string NpuNeighbourText(int device);
// A switch that sends more than the tool's 1999 bytes.
std::string LongNeighbourText(int device);

}  // namespace clusterd::sim

#endif  // TESTS_SIM_LLDP_TEXT_H_
