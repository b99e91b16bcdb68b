// What a run of npu-smi brought: whether it failed, and how, from what it said;
// its lines of data; and the health of `npu-smi info -t health -i N [-c C]`:
//   	Health Status                  : OK
//   	Error Code                     : NA
//   	Error Information              : NA
// that is a key padded to its column, " : ", and a value. The key is "Health
// Status" for a chip and "Health" for a card. Texts of the published source
// (hicann/driver ef377e95, dev_prod/user/npucli) and published captures. Runs
// nothing.
#ifndef DAEMON_HOST_NPU_SMI_NPU_SMI_OUTPUT_H_
#define DAEMON_HOST_NPU_SMI_NPU_SMI_OUTPUT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/command/command_runner.h"

namespace clusterd {

// Ok if the run brought data. The message quotes what the tool said. A known
// text counts whatever the status is, on either stream, if it begins a line:
//   There is no NPU card on this server.          NotFound
//   Invalid card id.                              NotFound
//   This device does not support querying hccs.   Unimplemented
//   Error parameter of -i                         InvalidArgument
//   Usage: npu-smi info <watch|proc|…> …          InvalidArgument
// A status other than 0, or a signal, without a known text: Unavailable.
// REQUIRES: the program ended by itself or by a signal, not at a deadline.
absl::Status NpuSmiFailure(const CommandResult& result);

// The lines of `output` that carry data, without blanks at their end. Left out:
// empty lines, and "[WARNING]…", which the tool prints first while
// /etc/ascend_install.info lacks Driver_Install_Status=complete. Views into
// `output`.
std::vector<absl::string_view> NpuSmiDataLines(absl::string_view output);

struct NpuSmiHealth {
  enum class Status { kOk, kWarning, kAlarm, kCritical };
  Status status = Status::kOk;
  // Hexadecimal, as in "A4025021 8C03A000". Empty: the tool says NA.
  std::vector<std::string> error_codes;
  std::string information;  // Empty: NA, or the tool has no such line.
};

// InvalidArgument, quoting the line, for a line without a colon, and for a
// wanted key that is missing, repeated or has a value that is not known; other
// keys are passed over.
absl::StatusOr<NpuSmiHealth> ParseNpuSmiHealth(absl::string_view output);

}  // namespace clusterd

#endif  // DAEMON_HOST_NPU_SMI_NPU_SMI_OUTPUT_H_
