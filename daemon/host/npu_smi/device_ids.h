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
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/command/command_runner.h"
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

// Parses npu-smi's output: a run's failure, its lines of data, and the answers
// about one chip: lines of a key padded to its column, " : ", and a value.
// `npu-smi info -t health -i N -c C`; the key is "Health" for a card:
//   	Health Status                  : OK
//   	Error Code                     : NA
//   	Error Information              : NA
// `-t ecc`, `-t board` (of a card: without -c) and `-t hccs`, among others:
//   	HBM Double Bit Error Count               : 0
//   	Compatibility                  : OK
//   	hccs health status             : OK
//   	hccs lane mode                 : [4                    4         ]
// Texts are from the published source (hicann/driver ef377e95,
// dev_prod/user/npucli), captures, and manuals that daemon/docs/vendor-tool.md
// names. Runs nothing. InvalidArgument, quoting the line: a line without a
// colon, or a wanted key that is missing, repeated or has an unknown value;
// other keys are skipped. Codes, information and lane modes may be missing, and
// several lines of them are joined.

// Codes have the form "80E18401" or "0x80E18401", in either case. With OK
// another form, or a line without a colon, is InvalidArgument. With any other
// health the code is kept unchanged, and the line skipped.
absl::StatusOr<ChipHealth> ParseNpuSmiHealth(absl::string_view output);

// Sums single and double bit pages. The tool subtracts unsigned numbers for the
// pages to come: a negative result, printed as one over 2^31, counts as none.
absl::StatusOr<MemoryErrors> ParseNpuSmiEcc(absl::string_view output);

// "OK", "NOK", "UNKNOWN" or "NOT SUPPORT". Unimplemented: the tool prints no
// such line for this board.
absl::StatusOr<std::string> ParseNpuSmiCompatibility(absl::string_view output);

// Some builds begin the keys with "xlink" instead of "hccs"; captures of some
// releases have no lane mode.
absl::StatusOr<HccsLinks> ParseNpuSmiHccs(absl::string_view output);

// Parses `-t spod-info` of Atlas A3; an Ascend 950 prints no SDID:
//   	SDID                           : 16777216
//   	Super Pod Size                 : 384
//   	Super Pod ID                   : 0
//   	Server Index                   : 4
absl::StatusOr<SuperPodPlace> ParseNpuSmiSuperPod(absl::string_view output);

// Returns the memory in use by NPU and chip, numbered as in `npu-smi info -m`,
// from the table of `npu-smi info`:
//   | 0     Ascend910  | OK            | 182.0       36       …               |
//   | 0     0          | 0000:9D:00.0  | 0     0 / 0          3412 / 65536    |
//   | 0     0          | 139667        | python       | 30780                 |
// Widths differ between releases. A card without HBM, such as a 310P, shows its
// only memory, and NPU ids go up to 32896 (vllm-ascend issue 2712). Chips
// without numbers are omitted; InvalidArgument if none has any.
absl::StatusOr<std::map<std::pair<uint32_t, uint32_t>, DeviceMemory>>
ParseNpuSmiMemory(absl::string_view output);

// Ok if the run printed data. The message quotes the tool. A known text at the
// beginning of a line counts with any status, on either stream:
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
// The last three messages add the possible owners of the devices, and the
// mounts whose absence has the same effect (vllm-ascend issue 2698).
// A status other than 0, or a signal, without a known text: Unavailable.
// REQUIRES: the program ended without a deadline.
absl::Status NpuSmiFailure(const CommandResult& result);

// Returns the lines of data as views into `output`, without trailing blanks.
// Omits empty lines, and "[WARNING]…", which the tool prints first while
// /etc/ascend_install.info lacks Driver_Install_Status=complete.
std::vector<absl::string_view> NpuSmiDataLines(absl::string_view output);

}  // namespace clusterd

#endif  // DAEMON_HOST_NPU_SMI_DEVICE_IDS_H_
