// Reads what npu-smi says: whether a run failed, and how; its lines of data;
// and what it answers about one chip: lines of a key padded to its column, " :
// ", and a value. `npu-smi info -t health -i N -c C`; the key is "Health" for a
// card:
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
// not known; other keys are passed over. Codes, information and lane modes may
// be missing, and those of several lines are taken together.
#ifndef DAEMON_HOST_NPU_SMI_CHIP_ANSWERS_H_
#define DAEMON_HOST_NPU_SMI_CHIP_ANSWERS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/command/command_runner.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Codes stand as "80E18401" or "0x80E18401", in either case. A code of another
// form, and a line without a colon, is InvalidArgument beside OK. Beside any
// other health the code is kept as it is, and the line passed over.
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

// Memory in use by NPU and chip, as `npu-smi info -m` numbers them, from the
// table of `npu-smi info`:
//   | 0     Ascend910  | OK            | 182.0       36       …               |
//   | 0     0          | 0000:9D:00.0  | 0     0 / 0          3412 / 65536    |
//   | 0     0          | 139667        | python       | 30780                 |
// Widths differ between releases. A card without HBM, such as a 310P, shows its
// only memory, and ids of NPUs go to 32896 (vllm-ascend issue 2712). Chips
// without numbers are left out; InvalidArgument where no chip has any.
absl::StatusOr<std::map<std::pair<uint32_t, uint32_t>, DeviceMemory>>
ParseNpuSmiMemory(absl::string_view output);

// Ok if the run brought data. The message quotes what the tool said. A known
// text counts whatever the status is, on either stream, if it begins a line:
//   There is no NPU card on this server.          NotFound
//   Invalid card id.                              NotFound
//   Failed to query "ecc" result.                 Unavailable
//   This device does not support querying hccs.   Unimplemented
//   Error parameter of -i                         InvalidArgument
//   Usage: npu-smi info <watch|proc|…> …          InvalidArgument
//   dcmi model initialized failed, because the device is used. ret is -8020
//                                                 Unavailable
//   … ret is -8005, -8020 or -9005; drvErr=87     Unavailable
//   DrvMngGetConsoleLogLevel failed. (…)          Unavailable
// To the last three it adds who may own the devices, and the mounts that bring
// the same when they are missing (vllm-ascend issue 2698).
// A status other than 0, or a signal, without a known text: Unavailable.
// REQUIRES: the program ended by itself or by a signal, not at a deadline.
absl::Status NpuSmiFailure(const CommandResult& result);

// The lines of `output` that carry data, without blanks at their end. Left out:
// empty lines, and "[WARNING]…", which the tool prints first while
// /etc/ascend_install.info lacks Driver_Install_Status=complete. Views into
// `output`.
std::vector<absl::string_view> NpuSmiDataLines(absl::string_view output);

}  // namespace clusterd

#endif  // DAEMON_HOST_NPU_SMI_CHIP_ANSWERS_H_
