// Asks npu-smi about every chip of this machine: health, memory errors, whether
// driver and firmware go together, HCCS links, its place in a super pod.
#ifndef DAEMON_HOST_NPU_SMI_CHIP_OBSERVER_H_
#define DAEMON_HOST_NPU_SMI_CHIP_OBSERVER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/hccn/device_locks.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Reads what npu-smi answers about one chip: lines of a key padded to its
// column, " : ", and a value. `npu-smi info -t health -i N -c C`; the key is
// "Health" for a card:
//   	Health Status                  : OK
//   	Error Code                     : NA
//   	Error Information              : NA
// `-t ecc`, `-t board` (of a card: without -c) and `-t hccs`, among others:
//   	HBM Double Bit Error Count               : 0
//   	Compatibility                  : OK
//   	hccs health status             : OK
//   	hccs lane mode                 : [4                    4         ]
// Texts of the published source (hicann/driver ef377e95, dev_prod/user/npucli)
// and of captures and manuals that daemon/docs/vendor-tool.md names. Runs
// nothing. All return InvalidArgument, quoting the line, for a line without a
// colon, and for a wanted key that is missing, repeated or has a value that is
// not known; other keys are passed over.
absl::StatusOr<ChipHealth> ParseNpuSmiHealth(absl::string_view output);

// Single and double bit pages are summed. The tool subtracts two unsigned
// numbers for the pages to come: a negative result, which it prints as one over
// 2^31, counts as none.
absl::StatusOr<MemoryErrors> ParseNpuSmiEcc(absl::string_view output);

// "OK", "NOK", "UNKNOWN" or "NOT SUPPORT". Unimplemented: the tool prints no
// such line for this board.
absl::StatusOr<std::string> ParseNpuSmiCompatibility(absl::string_view output);

// In some builds the keys begin with "xlink" instead of "hccs"; captures of
// some releases have no lane mode.
absl::StatusOr<HccsLinks> ParseNpuSmiHccs(absl::string_view output);

// `-t spod-info` of Atlas A3; an Ascend 950 prints no SDID:
//   	SDID                           : 16777216
//   	Super Pod Size                 : 384
//   	Super Pod ID                   : 0
//   	Server Index                   : 4
absl::StatusOr<SuperPodPlace> ParseNpuSmiSuperPod(absl::string_view output);

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
std::vector<DeviceFacts> ReadChips(const HostAccess& host,
                                   const ObserveRequest& request,
                                   const DeviceIdsFact::Ids& ids,
                                   DeviceLocks* locks);

}  // namespace clusterd

#endif  // DAEMON_HOST_NPU_SMI_CHIP_OBSERVER_H_
