// The kind of server that the tool believes it runs on, and the addresses that
// it therefore refuses. Board and mainboard ids, reserved ranges and the scope
// of the duplicate check are those of the published classic tool (hicann/driver
// ef377e95, tool_ops.c, tool_ops_ext.c, ds_net.h).
#ifndef TESTS_SIM_TOOL_PRODUCT_H_
#define TESTS_SIM_TOOL_PRODUCT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/sim/tool/device_state.h"

namespace clusterd::sim {

struct Product {
  // The compile-time flavours of the tool. kA2Default is the published build
  // without the product's command list: no -ping, -speed and the like.
  enum class Build { kA1, kA2, kA2Default, kA3 };

  std::string name = "A2";
  Build build = Build::kA2;
  // A1 only.
  bool smp = false;
  int board_id = 0x30;
  int mainboard_id = 0x3;
  int server_id = 1023;
  std::vector<int> devices = {0, 1, 2, 3, 4, 5, 6, 7};
};

// Products by name: A1-SMP, A1-AMP, A2, A2-board-0x0, A2-Box16, A2-PCIe-card,
// A2-default-build, A3-no-pod, A3-superpod, A3-9000. False: no such product.
bool FindProduct(const std::string& name, Product* product);

// The state's `product` (A2 if it names none), changed by its keys board_id,
// mainboard_id, server_id and devices ("0-7" or "1,4").
Product ProductOf(const DeviceState& state);

// By mainboard id, for any build. 9000 counts as A3.
bool IsA3(const Product& product);
bool Is9000(const Product& product);
// True if its server is inside a super pod.
bool InSuperPod(const Product& product);
bool HasDevice(const Product& product, int device);

// True if the tool keeps `address` for itself on this product.
bool IsReserved(const Product& product, uint32_t address);

// Devices whose address, and whose vNIC, the tool compares with a new address
// of `device`.
std::vector<int> DevicesCompared(const Product& product, int device);
std::vector<int> VnicsCompared(const Product& product, int device);

// Devices in the order of their ids. A new gateway of `device` replaces that of
// the lowest one with a stored gateway. On A1 servers it is the group of four,
// otherwise only the device.
std::vector<int> GatewayGroup(const Product& product, int device);

// Priorities that may pause at once.
int MaxPausing(const Product& product);

// A+K boards: recovery notes how optical modules are reset (hicann/driver
// 999c25d7, the header of tool_recovery; 05354178, tool_ops_ext.c).
bool NotesModuleResets(const Product& product);
// Boards with a retimer between device and module (tool_ext.c).
bool HasRetimer(const Product& product);
// Two devices may share a module; whether the first four lanes are this one's.
bool HasFrontLanes(const Product& product, int device);

struct Vnic {
  std::string address;
  std::string netmask;
};
// The device's virtual NIC unless the state says otherwise.
Vnic DefaultVnic(const Product& product, int device);

}  // namespace clusterd::sim

#endif  // TESTS_SIM_TOOL_PRODUCT_H_
