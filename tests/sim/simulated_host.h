// Builds the root folder of one healthy server of a cluster spec: the simulated
// hccn_tool, npu-smi, hccn.conf, version files, device nodes, PCI entries,
// kernel values, sysctl.d, LLDP neighbours. Then its faults. With that folder
// as the root of the host's files it is a server on a shared kernel. In a
// network and mount namespace (namespaces.sh) the kernel values are real ones.
#ifndef TESTS_SIM_SIMULATED_HOST_H_
#define TESTS_SIM_SIMULATED_HOST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/spec.pb.h"

namespace clusterd::sim {

struct SimulatedHostOptions {
  // Must not exist, or be empty.
  std::string root;
  // Program that stands in for hccn_tool; of the generation that the product
  // has, unless that is to be wrong.
  std::string tool;
  std::string host;
  // Written as in fault.h.
  std::vector<std::string> faults;
  // Before the faults, adds those of OtherClusterFaults.
  bool of_other_cluster = false;
  // The folder is for namespaces.sh, which then makes the server so inside.
  // Without it the server runs side by side with others.
  bool namespaces = false;
  // Text of the first line of etc/clusterd/simulation.
  std::string marker = "shared kernel";
};

// NotFound if the spec does not have the host; InvalidArgument with every
// mistake of the faults; FailedPrecondition if the folder is in use or cannot
// be written. On the first two nothing has been written.
absl::Status CreateSimulatedHost(const ClusterSpec& spec,
                                 const SimulatedHostOptions& options);

// Adds faults to a server that CreateSimulatedHost made. InvalidArgument as
// above, without any change.
absl::Status AddFaults(const std::string& root,
                       const std::vector<std::string>& faults);

// Versions that every simulated server runs.
inline constexpr char kDriverVersion[] = "23.0.7";
inline constexpr char kFirmwareVersion[] = "7.1.0.11.220";
inline constexpr char kCannVersion[] = "8.5.0";

// Settings that another cluster has left on a device of a server; empty: none.
// A spec is unlikely to name the address: no command clears it, so a device
// without one keeps the first. On A1 servers a gateway is one for four devices,
// so there is none.
struct OtherSettings {
  std::string address;
  std::string netmask;
  std::string gateway;
};
OtherSettings OtherSettingsOf(const ClusterSpec& spec, int server,
                              const DeviceSpec& device);

// The faults that give a healthy server of that number such settings, no detect
// address, MTU 1500, and a kernel's own parameters. On an Ascend 950 clusterd
// sets no device, so those stay as the spec has them.
std::vector<std::string> OtherClusterFaults(const ClusterSpec& spec,
                                            int server);

// True if the servers of the spec have the tool of ascend950/run_tool_950.h.
bool HasAscend950Tool(const ClusterSpec& spec);

// The product of tool/product.h of a server of the spec; "ascend-950", which is
// not one of them, if HasAscend950Tool.
std::string ToolProductOf(const ClusterSpec& spec, const ServerSpec& server);

}  // namespace clusterd::sim

#endif  // TESTS_SIM_SIMULATED_HOST_H_
