#include "tests/sim/lldp_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace clusterd::sim {

std::string SwitchNeighbourText(const SwitchPort& port) {
  return absl::StrFormat(
      "Chassis ID TLV\n\tMAC: 00:e0:fc:00:00:%02x\n"
      "Port ID TLV\n\tIfname: %s\n"
      "Time to Live TLV\n\t120\n"
      "System Name TLV\n\t%s\n"
      "System Description TLV\n\tVersatile Routing Platform Software\n"
      "VRP (R) software, Version 8.211 (simulated)\n\n"
      "System Capabilities TLV\n\tEnabled capabilities: Bridge, Router\n"
      "Management Address TLV\n\tIPv4: 10.254.0.%d\n"
      "Maximum Frame Size TLV\n\t9216\n"
      "End of LLDPDU TLV",
      port.number, port.port, port.switch_name, port.number);
}

std::string NpuNeighbourText(int device) {
  return absl::StrFormat(
      "Chassis ID TLV\n\tMAC: 6c:b1:58:01:00:%02x\n"
      "Port ID TLV\n\tMAC: 6c:b1:58:01:00:%02x\n"
      "Time to Live TLV\n\t120\n"
      "System Description TLV\n\tAscendNPU\n"
      "End of LLDPDU TLV",
      device, device);
}

std::string LongNeighbourText(int device) {
  std::string text =
      absl::StrCat("Chassis ID TLV\n\tMAC: 00:e0:fc:00:01:0", device % 10,
                   "\nPort ID TLV\n\tIfname: 400GE1/0/1\n"
                   "System Name TLV\n\tleaf-long\n");
  for (int vlan = 1; text.size() < 2400; ++vlan) {
    absl::StrAppend(&text, "VLAN Name TLV\n\tVID ", vlan, ": Name rail-", vlan,
                    "\n");
  }
  return text + "End of LLDPDU TLV";
}

}  // namespace clusterd::sim
