// Reads what `npu-smi info -t health -i N [-c C]` prints:
//   	Health Status                  : OK
//   	Error Code                     : NA
//   	Error Information              : NA
// that is a key padded to its column, " : ", and a value. The key is "Health
// Status" for a chip and "Health" for a card. From the npu-smi source
// (hicann/driver ef377e95, dev_prod/user/npucli) and published captures. Text
// in, value out: runs nothing.
#ifndef DAEMON_HOST_NPU_SMI_NPU_SMI_HEALTH_H_
#define DAEMON_HOST_NPU_SMI_NPU_SMI_HEALTH_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

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

#endif  // DAEMON_HOST_NPU_SMI_NPU_SMI_HEALTH_H_
