// Reads device ids from what `npu-smi info -m` prints (columns shortened):
//   	NPU ID     Chip ID    Chip Logic ID    Chip Name
//   	0          0          0                Ascend 910A
//   	0          1          -                Mcu
// A3 has a column Chip Phy-ID before the name, and hccn_tool wants that one
// (npu-smi source, hicann/driver ef377e95). Text in, values out: runs nothing.
#ifndef DAEMON_HOST_NPU_SMI_MAPPING_H_
#define DAEMON_HOST_NPU_SMI_MAPPING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// Ascending, possibly empty. Rows of on-board controllers, with "-" for a logic
// id, are left out. InvalidArgument, quoting the line, without the header or
// for a row that does not fit it.
absl::StatusOr<std::vector<uint32_t>> ParseNpuSmiMapping(
    absl::string_view output);

}  // namespace clusterd

#endif  // DAEMON_HOST_NPU_SMI_MAPPING_H_
