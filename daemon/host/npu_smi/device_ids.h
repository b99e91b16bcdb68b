// Which NPUs this machine has, and what npu-smi tells of each: health, memory
// errors, whether driver and firmware go together, HCCS links, its place in a
// super pod. Ids are read, never counted up from 0: a container may see a
// subset, and PCIe cards leave gaps.
#ifndef DAEMON_HOST_NPU_SMI_DEVICE_IDS_H_
#define DAEMON_HOST_NPU_SMI_DEVICE_IDS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "proto/facts.pb.h"

namespace clusterd {

// From the nodes /dev/davinci<N>; if there are none, from `npu-smi info -m`
// where npu-smi is installed. ABSENT if neither names a device.
DeviceIdsFact ReadDeviceIds(const HostAccess& host);

// 3 for "davinci3", a name in /dev; none for "davinci_manager" and all others.
std::optional<uint32_t> DeviceIdOfNode(absl::string_view name);

// Root and path of npu-smi; the codes of FindProgram.
absl::StatusOr<std::string> LocateNpuSmi(const HostPaths& paths);

// Where `npu-smi info -t … -i <card> -c <chip>` finds a device.
struct ChipPlace {
  uint32_t card = 0;
  uint32_t chip = 0;
};

// By the ids of their devices.
struct ChipMap {
  std::map<uint32_t, ChipPlace> chips;
  // Whether the tool names physical ids, which are the machine's own.
  bool physical = false;
};

// From what `npu-smi info -m` prints (columns shortened):
//   	NPU ID     Chip ID    Chip Logic ID    Chip Name
//   	0          0          0                Ascend 910A
//   	0          1          -                Mcu
// A3 has a column Chip Phy-ID before the name, and hccn_tool wants that one
// (npu-smi source, hicann/driver ef377e95). Possibly empty. Rows of on-board
// controllers, with "-" for a logic id, are left out.
// InvalidArgument, quoting the line, without the header or for a row that does
// not fit it.
absl::StatusOr<ChipMap> ParseNpuSmiMapping(absl::string_view output);

// What npu-smi at argv[0] prints. Unavailable, quoting what it says, for a run
// that failed; DeadlineExceeded.
absl::StatusOr<std::string> RunNpuSmi(std::vector<std::string> argv,
                                      const HostAccess& host);

// The same as ParseNpuSmiMapping, of what this npu-smi prints; the codes of
// RunNpuSmi too.
absl::StatusOr<ChipMap> ReadNpuSmiMapping(const std::string& npu_smi,
                                          const HostAccess& host);

// One for each id, in their order, with only what npu-smi tells. Chips are
// asked in parallel, each one question at a time; one that gave no answer in
// time is asked nothing more. `locks`, of npu-smi alone, keeps two observations
// apart and blocks a chip at which a process that cannot be killed was left.
// Of `request` the generation counts, and whether the product is in a super pod
// (ask_vnic): else its place there is no fact. Every fact is
//   ABSENT         npu-smi is not installed
//   NOT_SUPPORTED  it does not know the question, or numbers devices otherwise
//                  than the machine's ids, as it does in some containers
//   TOOL_FAILED    it does not list the chip; of all where it lists too few by
//                  logic ids, which do not tell the one that is gone
//   NOT_QUERIED    of an Ascend 950, whose npu-smi has another command line
// `npu_ids`, if given, gets DeviceIdsFact.npu_ids.
std::vector<DeviceFacts> ReadChips(const HostAccess& host,
                                   const ObserveRequest& request,
                                   const DeviceIdsFact::Ids& ids,
                                   DeviceLocks* locks,
                                   std::vector<uint32_t>* npu_ids = nullptr);

}  // namespace clusterd

#endif  // DAEMON_HOST_NPU_SMI_DEVICE_IDS_H_
