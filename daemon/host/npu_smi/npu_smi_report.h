// Reads npu-smi's answers of the form
//   	Health Status                  : OK
//   	Error Code                     : NA
// that is a key padded to its column, " : ", and a value. From the npu-smi
// source (hicann/driver ef377e95, dev_prod/user/npucli) and published captures.
// Text in, value out: runs nothing. Every function returns InvalidArgument,
// quoting the line, for a line without a colon, and for a wanted key that is
// missing, repeated or has a value it does not know; other keys are passed
// over.
#ifndef DAEMON_HOST_NPU_SMI_NPU_SMI_REPORT_H_
#define DAEMON_HOST_NPU_SMI_NPU_SMI_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// `npu-smi info -l`: NPU ids in the tool's order. InvalidArgument also if there
// are not as many as "Total Count" says, or one of them twice.
absl::StatusOr<std::vector<uint32_t>> ParseNpuSmiList(absl::string_view output);

struct NpuSmiHealth {
  enum class Status { kOk, kWarning, kAlarm, kCritical };
  Status status = Status::kOk;
  // Hexadecimal, as in "A4025021 8C03A000". Empty: the tool says NA.
  std::vector<std::string> error_codes;
  std::string information;  // Empty: NA, or the tool has no such line.
};

// `npu-smi info -t health -i N [-c C]`. The key is "Health Status" for a chip
// and "Health" for a card.
absl::StatusOr<NpuSmiHealth> ParseNpuSmiHealth(absl::string_view output);

struct NpuSmiSuperPod {
  // Nothing on Ascend 950, which does not print it.
  std::optional<uint64_t> sdid;
  uint64_t size = 0;
  uint64_t id = 0;
  // Nothing where the tool prints a chassis instead.
  std::optional<uint64_t> server_index;
};

// `npu-smi info -t spod-info -i N -c C`.
absl::StatusOr<NpuSmiSuperPod> ParseNpuSmiSuperPod(absl::string_view output);

struct NpuSmiBoard {
  // Empty: the tool prints no such line for a card.
  std::string chip_name;
  // As printed: "0x34".
  uint32_t board_id = 0;
};

// `npu-smi info -t board -i N [-c C]`. The board id must be hexadecimal.
absl::StatusOr<NpuSmiBoard> ParseNpuSmiBoard(absl::string_view output);

}  // namespace clusterd

#endif  // DAEMON_HOST_NPU_SMI_NPU_SMI_REPORT_H_
