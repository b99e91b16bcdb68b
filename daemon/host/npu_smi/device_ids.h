// Lists this machine's NPUs, and npu-smi's facts of each: health, memory
// errors, compatibility of driver and firmware, HCCS links, and place in a
// super pod. Ids are read, never counted from 0: a container may see a subset,
// and PCIe cards leave gaps.
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

// Reads the nodes /dev/davinci<N>; without any, `npu-smi info -m` if npu-smi is
// installed. ABSENT if neither names a device.
DeviceIdsFact ReadDeviceIds(const HostAccess& host);

// Returns 3 for "davinci3", a name in /dev; none for any other name.
std::optional<uint32_t> DeviceIdOfNode(absl::string_view name);

// Returns root and path of npu-smi; the codes of FindProgram.
absl::StatusOr<std::string> LocateNpuSmi(const HostPaths& paths);

// A device's numbers in `npu-smi info -t … -i <card> -c <chip>`.
struct ChipPlace {
  uint32_t card = 0;
  uint32_t chip = 0;
};

// Chips by device id.
struct ChipMap {
  std::map<uint32_t, ChipPlace> chips;
  // True if the tool lists physical ids, which are the machine's own.
  bool physical = false;
};

// Parses the output of `npu-smi info -m` (columns shortened):
//   	NPU ID     Chip ID    Chip Logic ID    Chip Name
//   	0          0          0                Ascend 910A
//   	0          1          -                Mcu
// A3 has a column Chip Phy-ID before the name, the id that hccn_tool takes
// (npu-smi source, hicann/driver ef377e95). Possibly empty. Rows of on-board
// controllers, with "-" for a logic id, are omitted. InvalidArgument, quoting
// the line, without the header or for a row that does not match it.
absl::StatusOr<ChipMap> ParseNpuSmiMapping(absl::string_view output);

// Returns the output of npu-smi at argv[0]. Unavailable, quoting it, for a
// failed run; DeadlineExceeded.
absl::StatusOr<std::string> RunNpuSmi(std::vector<std::string> argv,
                                      const HostAccess& host);

// Runs ParseNpuSmiMapping on npu-smi's output; the codes of RunNpuSmi too.
absl::StatusOr<ChipMap> ReadNpuSmiMapping(const std::string& npu_smi,
                                          const HostAccess& host);

// Returns one entry for each id, in their order, with only npu-smi's facts.
// Chips are queried in parallel, each one query at a time; after a timeout a
// chip is not queried again. `locks`, only of npu-smi, separates observations
// and blocks a chip with an unkillable process. `request` gives the generation
// and whether the product is in a super pod (ask_vnic); otherwise the place is
// not a fact. Every fact is
//   ABSENT         npu-smi is not installed
//   NOT_SUPPORTED  it does not know the query, or its ids are not the
//                  machine's, as in some containers
//   TOOL_FAILED    it does not list the chip; all chips if it lists too few
//                  logic ids, which do not show the missing one
//   NOT_QUERIED    for an Ascend 950, whose npu-smi has another command line
// `npu_ids`, if given, gets DeviceIdsFact.npu_ids.
std::vector<DeviceFacts> ReadChips(const HostAccess& host,
                                   const ObserveRequest& request,
                                   const DeviceIdsFact::Ids& ids,
                                   DeviceLocks* locks,
                                   std::vector<uint32_t>* npu_ids = nullptr);

}  // namespace clusterd

#endif  // DAEMON_HOST_NPU_SMI_DEVICE_IDS_H_
