// Reads what npu-smi says, whatever it is asked: whether a run failed, and how;
// its lines of data. Texts of the published source (hicann/driver ef377e95,
// dev_prod/user/npucli) and published captures (Ascend/mind-cluster). Runs
// nothing.
#ifndef DAEMON_HOST_NPU_SMI_NPU_SMI_OUTPUT_H_
#define DAEMON_HOST_NPU_SMI_NPU_SMI_OUTPUT_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "daemon/host/command/command_runner.h"

namespace clusterd {

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

#endif  // DAEMON_HOST_NPU_SMI_NPU_SMI_OUTPUT_H_
