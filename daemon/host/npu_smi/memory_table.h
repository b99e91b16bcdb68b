// Reads from the table of `npu-smi info` how much memory of each chip is in use
// and which processes it lists there:
//   | NPU   Name       | Health        | Power(W)    Temp(C)  …               |
//   | Chip  Phy-ID     | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-…  |
//   | 0     Ascend910  | OK            | 182.0       36       …               |
//   | 0     0          | 0000:9D:00.0  | 0     0 / 0          3412 / 65536    |
//   | NPU   Chip       | Process id    | Process name | Process memory(MB)    |
//   | 0     0          | 139667        | python       | 30780                 |
// Widths differ between releases (97 to 118 columns): cells end at a bar, words
// at blanks. A card without HBM, such as a 310P, has Memory-Usage alone, and
// ids of NPUs go to 32896 (vllm-ascend issue 2712).
#ifndef DAEMON_HOST_NPU_SMI_MEMORY_TABLE_H_
#define DAEMON_HOST_NPU_SMI_MEMORY_TABLE_H_

#include <cstdint>
#include <map>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/facts.pb.h"

namespace clusterd {

// By NPU and chip, as `npu-smi info -m` numbers them. Chips whose memory is no
// number ("-") are left out. InvalidArgument, quoting the line, for one that it
// does not know, a table without headers, or a device without its second row.
absl::StatusOr<std::map<std::pair<uint32_t, uint32_t>, DeviceMemory>>
ParseNpuSmiMemory(absl::string_view output);

}  // namespace clusterd

#endif  // DAEMON_HOST_NPU_SMI_MEMORY_TABLE_H_
