// Asks npu-smi about every chip of this machine: health, memory errors, whether
// driver and firmware go together, HCCS links, its place in a super pod.
#ifndef DAEMON_HOST_NPU_SMI_CHIP_OBSERVER_H_
#define DAEMON_HOST_NPU_SMI_CHIP_OBSERVER_H_

#include <cstdint>
#include <vector>

#include "daemon/host/files/file_reader.h"
#include "daemon/host/hccn/device_locks.h"
#include "proto/facts.pb.h"

namespace clusterd {

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

#endif  // DAEMON_HOST_NPU_SMI_CHIP_OBSERVER_H_
